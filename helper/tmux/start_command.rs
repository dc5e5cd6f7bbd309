//! What a pane was started with: the default command, one of its own, or one of Sidecar's.

use super::quote::words_from_shown;
use crate::model::{RawText, Run};

/// Longest command that is kept, in bytes; what is longer counts as none rather than being cut.
const MAX_RUN: usize = 16 * 1024;

/// `$0` of every shell that Sidecar starts in a pane: it tells them from the user's own.
pub const OWN_SHELL: &str = "sidecar-pane";

/// Looks whether the helper is there before it becomes it, so that the pane has a shell whatever became of the helper.
const START: &str = "if \"$1\" pane --help >/dev/null 2>&1 </dev/null; then exec \"$@\"; fi
printf 'sidecar: cannot run %s, so here is a shell\\n' \"$1\"
exec \"${SHELL:-/bin/sh}\"";

/// The command of a pane that Sidecar starts: `words` are a subcommand of the helper and opaque ids, nothing that was recorded.
pub fn own_command<'a>(helper: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&["/bin/sh", "-c", START, OWN_SHELL, helper], words].concat()
}

/// Whether a pane's own process, by its words, is one that Sidecar started, and not yet the shell that is left in the end.
pub fn is_launching(argv: &[RawText]) -> bool {
    let word = |at: usize| argv.get(at).map_or(&b""[..], RawText::as_bytes);
    let is_own_shell = argv.iter().any(|word| word.as_bytes() == OWN_SHELL.as_bytes());
    is_own_shell || matches!((word(1), word(2)), (b"pane", b"start") | (b"agent", b"resume"))
}

/// Whether a process, by its words, is still the start of a pane: nothing but Sidecar's own words stands there yet.
pub fn is_starting(argv: &[RawText]) -> bool {
    let word = |at: usize| argv.get(at).map_or(&b""[..], RawText::as_bytes);
    // The helper itself, or the shell that looks whether it is there.
    [1, 5].iter().any(|&at| (word(at), word(at + 1)) == (b"pane", b"start"))
}

/// What a pane was started with, as tmux shows it.
pub(super) enum Start {
    /// The default command, or the default shell, which counts as none.
    Default,
    /// One of Sidecar's own.
    Own,
    /// A command of its own.
    Run(Run),
}

/// Reads `#{pane_start_command}`, with its session's `default-command` and `default-shell`.
pub(super) fn read(shown: &[u8], default_command: &[u8], default_shell: &[u8]) -> Start {
    if shown.is_empty() || shown.len() > MAX_RUN {
        return Start::Default;
    }
    // What can't be read is for people to read.
    let words = words_from_shown(shown).unwrap_or_else(|| vec![shown.to_vec()]);
    let name = |word: &[u8]| word.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_owned();
    let is_shell = |word: &[u8]| word == default_shell || word == name(default_shell);
    match words.as_slice() {
        [line] if line == default_command || is_shell(line) => Start::Default,
        [line] => Start::Run(Run::Line(line.as_slice().into())),
        [sh, _, _, own, ..] if sh == b"/bin/sh" && own == OWN_SHELL.as_bytes() => Start::Own,
        words => Start::Run(Run::Words(words.iter().map(|word| word.as_slice().into()).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_that_starts_is_told_from_one_whose_program_runs() {
        let words = |words: &[&str]| words.iter().map(|&word| word.into()).collect::<Vec<RawText>>();
        assert!(is_starting(&words(&own_command("/opt/x", &["pane", "start", "pn-1"]))));
        assert!(is_starting(&words(&["/opt/x", "pane", "start", "pn-1"])));
        for other in [&["/bin/sh", "-ic", "…", OWN_SHELL, "/opt/x", "/dir", "vim", "", ""][..], &["-sh"], &[]] {
            assert!(!is_starting(&words(other)), "{other:?}");
        }
    }

    #[test]
    fn a_command_of_its_own_is_told_from_the_rest() {
        let kind = |shown: &str| match read(shown.as_bytes(), b"exec \"$SHELL\" -l", b"/usr/bin/zsh") {
            Start::Default => "default".to_owned(),
            Start::Own => "own".to_owned(),
            Start::Run(run) => serde_json::to_string(&run).unwrap(),
        };
        for (shown, wanted) in [
            ("", "default"),
            (r#""exec \"\$SHELL\" -l""#, "default"),
            ("/usr/bin/zsh", "default"),
            ("zsh", "default"),
            ("/bin/bash", r#""/bin/bash""#),
            ("htop", r#""htop""#),
            ("/bin/sh -c x sidecar-pane /opt/sidecar pane start pn-1", "own"),
            ("sh -c x sidecar-pane", r#"["sh","-c","x","sidecar-pane"]"#),
            (r#""broken"#, r#""\"broken""#),
        ] {
            assert_eq!(kind(shown), wanted, "{shown}");
        }
        assert_eq!(kind(&format!("\"{}\"", "x".repeat(MAX_RUN))), "default");
    }

    #[test]
    fn what_sidecar_starts_is_known_again() {
        let texts = |words: &[&str]| words.iter().map(|&word| RawText::from(word)).collect::<Vec<_>>();
        let waits = ["/bin/sh", "-ic", "script", OWN_SHELL, "/opt/x", "/", "vim", "vim"];
        for (words, launching) in [
            (&own_command("/opt/x", &["pane", "start", "pn-1"])[..], true),
            (&["/opt/x", "pane", "start", "pn-1"], true),
            (&["/opt/x", "agent", "resume", "pn-1"], true),
            (&["/usr/bin/fish", "-lic", "exec $argv", "/bin/sh", "-ic", "script", OWN_SHELL], true),
            (&waits, true),
            (&["-bash"], false),
            (&[], false),
            (&["vim", "pane"], false),
            (&["/opt/x", "pane", "ended"], false),
        ] {
            assert_eq!(is_launching(&texts(words)), launching, "{words:?}");
        }
    }
}
