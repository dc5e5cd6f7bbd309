//! The hooks that the plugin sets, as tmux commands.

use crate::model::Offer;
use crate::tmux::{HOOK_INDEX, LOOK_COMES, OFFER, announce_look, arg, double_hash, shell_word};

/// Events after which the helper looks. What has no hook, or one that fires at each keystroke (the active pane, a name that
/// tmux itself changes), is the timer's.
const LOOK_AFTER: &[&str] = &[
    "session-created",
    "session-renamed",
    "window-linked",
    "window-unlinked",
    "window-layout-changed",
    "after-split-window",
    "client-attached",
    // `new-session` attaches without `client-attached`.
    "client-session-changed",
    "client-detached",
];

/// The hook by which a message is shown to the next client; sidecar.tmux uses it too.
pub(super) const MESSAGE_HOOK: &str = "client-session-changed[8421]";

/// Events at which a client comes, who may be shown the start-up offer. A new session attaches without the first.
const CLIENT_COMES: &[&str] = &["client-attached", "client-session-changed"];

/// Every event that we have a hook for.
fn events() -> impl Iterator<Item = &'static str> {
    LOOK_AFTER.iter().copied().chain(["window-renamed", "session-closed"])
}

/// The commands that take every hook out.
pub(super) fn unset() -> String {
    let ours = events().map(|event| format!("{event}[{HOOK_INDEX}]")).chain([MESSAGE_HOOK.to_owned()]);
    ours.map(|hook| format!("set-hook -gu {hook}\n")).collect()
}

/// Whether one of our hooks is missing in what `show-hooks -g` and `show-hooks -gw` print.
pub(super) fn is_missing(shown: &str) -> bool {
    missing(shown).next().is_some()
}

/// Our hooks that are missing there.
pub(super) fn missing(shown: &str) -> impl Iterator<Item = &'static str> {
    events().filter(|event| !shown.lines().any(|line| line.starts_with(&format!("{event}[{HOOK_INDEX}]"))))
}

/// The helper that our hooks call, in what is shown there: the word behind the text of [`call`]. `None` also for a path that had to be
/// quoted.
pub(super) fn helper_in(shown: &str) -> Option<String> {
    let ours = shown.lines().find(|line| line.split(' ').next().is_some_and(|hook| hook.ends_with(&format!("[{HOOK_INDEX}]"))))?;
    let text = without_octals(ours);
    let (helper, rest) = text.split_once("|| true' '")?.1.split_once('\'')?;
    (helper.starts_with('/') && rest.starts_with(" 'hook'") && !helper.contains(['\\', '#'])).then(|| helper.to_owned())
}

/// Text with `\047` and its like, behind as many backslashes as the levels of quotes have made of one, as the characters that they
/// stand for; what is not ASCII stays as it is.
fn without_octals(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                out.truncate(out.trim_end_matches('\\').len());
                out.push(char::from(code));
                out.push_str(&part[3..]);
            }
            None => {
                out.push('\\');
                out.push_str(part);
            }
        }
    }
    out
}

/// A helper call as text for `run-shell`: silent and successful whatever happens, since tmux shows what a hook prints, and its
/// exit code, over the user's pane. `words` are put in single quotes; they may hold formats of plain values.
///
/// tmux 3.5 hands the text to the user's shell, whatever that is: only plain words, then, and `/bin/sh` does the rest.
pub(super) fn call(helper: &str, words: &[&str]) -> String {
    let words: String = words.iter().map(|word| format!(" '{word}'")).collect();
    format!("/bin/sh -c '\"$0\" \"$@\" >/dev/null 2>&1 || true' {}{words}", shell_word(helper))
}

/// The commands that set every hook.
pub(super) fn set(helper: &str) -> String {
    let mut script = String::new();
    for event in LOOK_AFTER {
        let offer = if CLIENT_COMES.contains(event) { format!(" ; {}", offer(helper)) } else { String::new() };
        script.push_str(&set_hook(event, &format!("{}{offer}", look(helper, &["hook", event]))));
    }
    // tmux renames windows by itself all the time; only a name that the user gave is worth a look.
    let renamed = format!("if-shell -F \"#{{automatic-rename}}\" \"\" {}", arg(look(helper, &["hook", "window-renamed"]).as_bytes()));
    script.push_str(&set_hook("window-renamed", &renamed));
    // Waited for: the end of the last session ends the server, and of jobs in the background only some would get through.
    let told = call(&literal(helper), &["hook", "session-closed", "#{hook_session}", "#{S:x}", "#{pid}", "#{start_time}"]);
    let closed = format!("run-shell {} ; {}", arg(told.as_bytes()), look(helper, &["hook", "session-gone"]));
    script.push_str(&set_hook("session-closed", &closed));
    script
}

/// The command that has the helper look in the background. A storm of events starts one process: while a look is on its way, it
/// will see what the others came for.
pub(super) fn look(helper: &str, words: &[&str]) -> String {
    let run = format!("{} ; {}", announce_look(), background(helper, words));
    format!("if-shell -F \"#{{{LOOK_COMES}}}\" \"\" {}", arg(run.as_bytes()))
}

/// The command that calls the helper in the background.
pub(super) fn background(helper: &str, words: &[&str]) -> String {
    format!("run-shell -b {}", arg(call(&literal(helper), words).as_bytes()))
}

/// The command that has the client which just came shown the start-up offer, if it waits.
fn offer(helper: &str) -> String {
    let run = background(helper, &["hook", "offer", "#{client_name}"]);
    format!("if-shell -F \"#{{==:#{{{OFFER}}},{}}}\" {}", Offer::Pending.word(), arg(run.as_bytes()))
}

/// `run-shell` expands formats; in the helper's path they are literal.
fn literal(helper: &str) -> String {
    String::from_utf8(double_hash(helper.as_bytes())).unwrap_or_default()
}

fn set_hook(event: &str, command: &str) -> String {
    format!("set-hook -g {event}[{HOOK_INDEX}] {}\n", arg(command.as_bytes()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test runs the texts as tmux does")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_call_is_silent_and_its_words_are_quoted() {
        assert_eq!(
            call("/p/sidecar", &["hook", "x", "#{hook_session}"]),
            r#"/bin/sh -c '"$0" "$@" >/dev/null 2>&1 || true' '/p/sidecar' 'hook' 'x' '#{hook_session}'"#
        );
        assert!(call("/it's", &[]).ends_with(r"'/it'\''s'"));
    }

    /// tmux hands the text to `/bin/sh`, and 3.5 to the user's shell.
    #[test]
    fn a_call_does_the_same_in_every_shell() {
        let dir = tempfile::tempdir().unwrap();
        let helper = dir.path().join("it's a $(helper) \"`x`\"");
        // It tells its words in a file, prints and fails: none of that may come through.
        std::fs::write(&helper, "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.words\"\necho out\necho err >&2\nexit 3\n").unwrap();
        std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o700)).unwrap();
        let words = ["hook", "session-closed", "$3", "xx", "#{pid} * ;"];
        let text = call(helper.to_str().unwrap(), &words);
        for shell in ["sh", "dash", "bash", "zsh", "fish"] {
            let output = match std::process::Command::new(shell).arg("-c").arg(&text).output() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                output => output.unwrap(),
            };
            assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{shell}: {output:?}");
            let told = dir.path().join("it's a $(helper) \"`x`\".words");
            assert_eq!(std::fs::read_to_string(&told).unwrap(), format!("{}\n", words.join("\n")), "{shell}");
            std::fs::remove_file(told).unwrap();
        }
    }

    #[test]
    fn the_helper_is_read_back_from_what_tmux_shows() {
        // As tmux prints it, and as it was set.
        let shown = |helper: &str| {
            let words = format!("/bin/sh -c '\"$0\"' >/dev/null 2>&1 || true' {helper} 'hook' 'session-created'").replace('\'', r"\\047");
            format!("session-created[3] x\nsession-created[8420] if-shell -F \"#{{X}}\" '' \"run-shell -b \\\"{words}\\\"\"")
        };
        assert_eq!(helper_in(&shown("'/p q/é/sidecar'")).as_deref(), Some("/p q/é/sidecar"));
        assert_eq!(helper_in(&set("/p q/sidecar")).as_deref(), None, "that is no list of hooks");
        for none in ["'/it'\\''s'", "'/p##(x)/sidecar'", "'sidecar'", ""] {
            assert_eq!(helper_in(&shown(none)), None, "{none}");
        }
        assert_eq!(missing(&shown("'/x'")).count(), events().count() - 1);
        assert!(is_missing("") && helper_in("").is_none());
    }

    #[test]
    fn every_hook_has_our_slot_and_no_other() {
        let script = set("/p #(x)/sidecar");
        assert!(script.lines().count() > 8);
        for line in script.lines() {
            assert!(line.starts_with("set-hook -g ") && line.contains("[8420] "), "{line}");
            assert!(line.contains("##(x)"), "the path is no format: {line}");
        }
    }
}
