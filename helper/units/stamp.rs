//! How a file is known as ours and unedited, whichever version wrote it: it tells the checksum of its other lines. Pure.

use crate::store::fnv1a;

const WORDS: &str = "Written by sidecar; an edited file is left alone. checksum: ";

/// The text with a stamp as its line number `line`, between these comment marks.
pub(super) fn stamped(text: &str, line: usize, (open, close): (&str, &str)) -> String {
    let mark = format!("{open}{WORDS}{:016x}{close}", fnv1a(text.as_bytes()));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(line, &mark);
    lines.join("\n") + "\n"
}

/// Whether a text is as some version of this program wrote it.
pub(super) fn is_unedited(text: &str) -> bool {
    let Some((place, mark)) = text.lines().enumerate().find(|(_, line)| line.contains(WORDS)) else { return false };
    let told = mark.split(WORDS).nth(1).and_then(|rest| rest.get(..16)).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let rest: String = text.lines().enumerate().filter(|(at, _)| *at != place).map(|(_, line)| format!("{line}\n")).collect();
    told == Some(fnv1a(rest.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_edit_shows() {
        let text = "<?xml?>\n<a>\n<b/>\n</a>\n";
        let stamped = stamped(text, 1, ("<!-- ", " -->"));
        assert!(stamped.starts_with("<?xml?>\n<!-- Written by sidecar") && is_unedited(&stamped), "{stamped}");
        for edited in
            [stamped.replace("<b/>", "<c/>"), stamped.clone() + "# mine\n", stamped.replace("checksum: ", "checksum: 0"), text.to_owned()]
        {
            assert!(!is_unedited(&edited), "{edited}");
        }
        assert!(!is_unedited("") && !is_unedited(WORDS) && !is_unedited(&format!("{WORDS}é")));
    }
}
