//! What systemd's logind does to a tmux server at a logout.

use std::path::{Path, PathBuf};

use super::Finding;
use super::facts::{Facts, Logind};
use crate::agents::process;

/// The folders of its configuration; what stands in an earlier one takes the place of a file of that name in a later one.
const FOLDERS: &[&str] = &["/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd"];

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    facts.logind.as_ref().map(finding).into_iter().collect()
}

fn finding(logind: &Logind) -> Finding {
    const ID: &str = "logout";
    let is_in = |unit: &str| logind.group.as_deref().map(|group| group.contains(unit));
    // Of a server that does not run it is taken that it starts in a session, as most do.
    let (in_session, in_manager) = (is_in("/session-").unwrap_or(true), is_in("/user@").unwrap_or(false));
    if logind.kills && in_session && !in_manager {
        return Finding::problem(
            ID,
            "systemd ends the tmux server when you log out (KillUserProcesses=yes)",
            "its sessions can be restored then, but what runs in them is gone",
            "start tmux by `systemd-run --user --scope tmux`, and run `loginctl enable-linger`",
        );
    }
    if in_manager && !logind.lingers {
        return Finding::note(
            ID,
            "the tmux server belongs to your systemd user manager, which ends at your last logout",
            "its sessions can be restored then, but what runs in them is gone",
            "loginctl enable-linger",
        );
    }
    Finding::ok(ID, "a logout does not end the tmux server")
}

/// What is set on this machine for the user; `None` where no systemd runs.
pub(super) fn read(server: Option<i32>) -> Option<Logind> {
    if !Path::new("/run/systemd/system").is_dir() {
        return None;
    }
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten()?.name;
    let texts: Vec<String> = files().into_iter().filter_map(|path| fs_err::read_to_string(path).ok()).collect();
    let lingers = Path::new("/var/lib/systemd/linger").join(&user).exists();
    Some(Logind { kills: kills(&texts, &user), lingers, group: server.and_then(process::control_group) })
}

/// The main file, then the drop-ins by their names.
fn files() -> Vec<PathBuf> {
    let main = FOLDERS.iter().map(|folder| Path::new(folder).join("logind.conf")).find(|path| path.is_file());
    let mut parts = std::collections::BTreeMap::new();
    for folder in FOLDERS {
        let entries = fs_err::read_dir(Path::new(folder).join("logind.conf.d")).into_iter().flatten();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|end| end == "conf")) {
            parts.entry(path.file_name().map(ToOwned::to_owned)).or_insert(path);
        }
    }
    main.into_iter().chain(parts.into_values()).collect()
}

/// Whether these files, in this order, have a logout end what the user's sessions started. A file as it was installed tells in comments
/// what its system was built with.
fn kills(texts: &[String], user: &str) -> bool {
    let set = |key: &str| texts.iter().flat_map(|text| text.lines()).filter_map(|line| value(line, key)).next_back();
    let built_in = texts.iter().flat_map(|text| text.lines()).find_map(|line| value(line.strip_prefix('#')?, "KillUserProcesses"));
    let yes = set("KillUserProcesses").or(built_in).is_some_and(|word| matches!(word, "yes" | "true" | "on" | "1" | "y" | "t"));
    let names = |key: &str, default: &'static str| set(key).unwrap_or(default).split_whitespace().any(|name| name == user);
    let only = set("KillOnlyUsers").is_none_or(str::is_empty) || names("KillOnlyUsers", "");
    yes && only && !names("KillExcludeUsers", "root")
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    Some(line.trim().strip_prefix(key)?.trim_start().strip_prefix('=')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_and_comments_tell_what_is_built_in() {
        for (texts, expected) in [
            (&[][..], false),
            (&["[Login]\n#KillUserProcesses=no\n"], false),
            (&["[Login]\n#KillUserProcesses=yes\n"], true),
            (&["[Login]\nKillUserProcesses = yes\n"], true),
            (&["[Login]\nKillUserProcesses=yes\n", "KillUserProcesses=no"], false),
            (&["#KillUserProcesses=yes", "[Login]\nKillUserProcesses=0"], false),
            (&["KillUserProcesses=yes\nKillExcludeUsers=root me"], false),
            (&["KillUserProcesses=yes\nKillOnlyUsers=you"], false),
            (&["KillUserProcesses=yes\nKillOnlyUsers=you me"], true),
        ] {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(kills(&texts, "me"), expected, "{texts:?}");
            assert!(!kills(&texts, "root") || texts[0].contains("Exclude"), "root is excluded by default");
        }
    }
}
