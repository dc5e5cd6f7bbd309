//! Words as the managers read them. Pure.

/// A word of a unit's setting. `dollar` is what stands for `$`: the program's own path and variables take it as it is, other words of a
/// command line doubled (systemd.service(5)).
fn unit_word(text: &str, dollar: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            '$' => out.push_str(dollar),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                out.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// A command line for `ExecStart=`. systemd takes no program with a quote or a backslash in its path, and a shell any.
pub(super) fn command_line(words: &[String]) -> String {
    let by_shell = words.first().is_some_and(|program| program.contains(['"', '\'', '\\']));
    let shell = ["/bin/sh", "-c", "exec \"$0\" \"$@\""].into_iter().filter(|_| by_shell);
    let words = shell.chain(words.iter().map(String::as_str)).enumerate();
    words.map(|(at, word)| unit_word(word, if at == 0 { "$" } else { "$$" })).collect::<Vec<_>>().join(" ")
}

/// A variable for `Environment=`.
pub(super) fn variable(name: &str, value: &str) -> String {
    unit_word(&format!("{name}={value}"), "$")
}

/// Text of an XML element; control characters, which XML 1.0 can't hold, are left out.
pub(super) fn xml(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n'));
    kept.map(|c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        c => c.to_string(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let line = |words: &[&str]| command_line(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(line(&["/a b/$x", "save", "a\"b\\c%h$HOME\n"]), r#""/a b/$x" "save" "a\"b\\c%%h$$HOME\x0a""#);
        assert_eq!(line(&["/it's/$x"]), r#""/bin/sh" "-c" "exec \"$$0\" \"$$@\"" "/it's/$$x""#);
        assert_eq!(variable("A", "/x $y é"), "\"A=/x $y é\"");
        assert_eq!(xml("<a & b>\u{1b}"), "&lt;a &amp; b&gt;");
    }
}
