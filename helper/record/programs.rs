//! Programs by their names: those of `restore.programs`, whose argv is recorded and which are started again, and agents.

use crate::model::{Program, RawText, Run};

/// The argv to record of the program in front of a pane: empty unless it has one of these names.
///
/// The first word tells the name, by which a later restore looks whether the program is still one of them; where only the
/// executable has it, that one is the first word.
pub(super) fn recorded_argv(program: Option<&Program>, programs: &[String]) -> Vec<RawText> {
    let Some(Program { argv, executable }) = program else { return Vec::new() };
    let Some((first, rest)) = argv.split_first() else { return Vec::new() };
    match [first, executable].into_iter().find(|name| is_named(name, programs)) {
        Some(first) => std::iter::once(first).chain(rest).cloned().collect(),
        None => Vec::new(),
    }
}

/// Whether the base name of a program, as its first word gives it, is one of these.
pub fn is_named(program: &RawText, programs: &[String]) -> bool {
    program.as_path().file_name().is_some_and(|name| programs.iter().any(|listed| name == listed.as_str()))
}

/// Whether a command does nothing but start one of these programs.
pub(super) fn only_starts(run: &Run, programs: &[String]) -> bool {
    match run {
        Run::Words(words) => words.first().is_some_and(|program| is_named(program, programs)),
        Run::Line(line) => {
            let line = line.display();
            let program = line.split_ascii_whitespace().find(|word| *word != "exec");
            !line.contains([';', '&', '|', '<', '>', '`', '$', '(', '\n'])
                && program.is_some_and(|program| is_named(&program.into(), programs))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_user_named_is_recorded() {
        let listed = ["vim".to_owned(), "htop".to_owned()];
        let argv = |executable: &str, argv: &[&str]| {
            let program = Program { argv: argv.iter().map(|&word| word.into()).collect(), executable: executable.into() };
            recorded_argv(Some(&program), &listed).iter().map(|word| word.display().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(argv("/usr/bin/vim.basic", &["vim", "", "a b"]), ["vim", "", "a b"]);
        assert_eq!(argv("/usr/bin/vim.basic", &["/opt/bin/vim"]), ["/opt/bin/vim"]);
        assert_eq!(argv("/usr/bin/htop", &["[top]", "-d"]), ["/usr/bin/htop", "-d"]);
        for (executable, words) in [
            ("/usr/bin/sudo", &["sudo", "vim", "x"][..]),
            ("/usr/bin/mysql", &["mysql", "-psecret"]),
            ("/usr/bin/vim.basic", &["vimdiff"]),
            ("/usr/bin/vim", &[]),
        ] {
            assert_eq!(argv(executable, words), [""; 0], "{words:?}");
        }
    }

    #[test]
    fn a_command_that_only_starts_an_agent_is_told_from_one_that_does_more() {
        let agents = ["claude".to_owned()];
        for (run, only) in [
            (Run::Line("claude --resume 5".into()), true),
            (Run::Line("exec /opt/bin/claude".into()), true),
            (Run::Words(vec!["/opt/bin/claude".into(), "a; b".into()]), true),
            (Run::Line("cd /x; claude".into()), false),
            (Run::Line("claude && make".into()), false),
            (Run::Line("".into()), false),
            (Run::Words(vec!["env".into(), "claude".into()]), false),
        ] {
            assert_eq!(only_starts(&run, &agents), only, "{run:?}");
        }
    }
}
