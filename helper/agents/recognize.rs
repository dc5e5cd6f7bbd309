//! Which agent a process is: by its arguments and its executable, never by a title.

use std::ffi::OsStr;
use std::path::Path;

use wildmatch::WildMatch;

use super::catalog::{Agent, Catalog, Script};
use crate::model::RawText;

/// Programs that run scripts; their file names may end with a version (`python3.11`).
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "deno", "python", "ruby"];

/// What the process table tells of a process. Each part may be unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process<'a> {
    /// Its words.
    pub argv: Option<&'a [RawText]>,
    /// The file that it runs.
    pub exe: Option<&'a Path>,
    /// Its name in the kernel, of at most 15 bytes.
    pub comm: Option<&'a str>,
}

/// An agent's process.
#[derive(Clone, Debug)]
pub struct Recognized<'a> {
    /// Which agent.
    pub agent: &'a Agent,
    /// The words behind the program's name; `None` where they are lost, which is not the same as none.
    pub args: Option<&'a [RawText]>,
    /// The script that an interpreter runs, where it is one.
    pub script: Option<&'a RawText>,
    /// It only waits for the agent itself, its child of the same arguments.
    pub wrapper: bool,
}

/// The agent that this process is.
pub fn recognize<'a>(catalog: &'a Catalog, process: Process<'a>) -> Option<Recognized<'a>> {
    catalog.agents().iter().find_map(|agent| recognize_as(agent, process))
}

/// The agent that ran with these words, where nothing else is known of its process any more.
pub fn by_words<'a>(catalog: &'a Catalog, argv: &'a [RawText]) -> Option<Recognized<'a>> {
    let first = argv.first()?;
    recognize(catalog, Process { argv: Some(argv), exe: Some(first.as_path()), comm: None })
}

fn recognize_as<'a>(agent: &'a Agent, process: Process<'a>) -> Option<Recognized<'a>> {
    let named = |name: &OsStr| agent.programs.iter().any(|program| name == program.as_str());
    let tells = |name: &OsStr| !agent.shared_name && named(name);
    let comm_fits = process.comm.is_some_and(|comm| named(OsStr::new(comm)));
    let own = |args| Some(Recognized { agent, args, script: None, wrapper: false });
    let Some(exe) = process.exe.map(without_deleted) else {
        // The file is hidden where a process has made itself undumpable; both of its names must fit then.
        let (first, rest) = process.argv?.split_first()?;
        return if comm_fits && tells(file_name(first)) { own(Some(rest)) } else { None };
    };
    let Some(argv) = process.argv else {
        return if comm_fits && is_native(agent, &exe) { own(None) } else { None };
    };
    let (first, rest) = argv.split_first()?;
    if is_native(agent, &exe) {
        // One file may be many programs, told by the name that it is called by.
        return if named(file_name(first)) || exe == first.as_path() { own(Some(rest)) } else { None };
    }
    if !is_interpreter(&exe) {
        return None;
    }
    if tells(file_name(first)) && rest.iter().all(RawText::is_empty) {
        // A script that calls itself so overwrites all of its words.
        return (agent.script == Script::Agent).then_some(Recognized { agent, args: None, script: None, wrapper: false });
    }
    let at = rest.iter().position(|word| !word.as_bytes().starts_with(b"-"))?;
    let script = &rest[at];
    let fits = tells(file_name(script)) || agent.scripts.iter().any(|pattern| WildMatch::new(pattern).matches(&script.display()));
    let wrapper = agent.script == Script::Wrapper;
    fits.then_some(Recognized { agent, args: Some(&rest[at + 1..]), script: Some(script), wrapper })
}

fn is_native(agent: &Agent, exe: &Path) -> bool {
    let name = exe.file_name().unwrap_or_default();
    let path = exe.display().to_string();
    (!agent.shared_name && agent.programs.iter().any(|program| name == program.as_str()))
        || agent.executables.iter().any(|pattern| WildMatch::new(pattern).matches(&path))
}

fn is_interpreter(exe: &Path) -> bool {
    let name = exe.file_name().unwrap_or_default().to_string_lossy();
    INTERPRETERS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-'))
}

fn file_name(word: &RawText) -> &OsStr {
    word.as_path().file_name().unwrap_or_default()
}

/// The kernel appends this to a file that was replaced, as an update does.
pub(super) fn without_deleted(exe: &Path) -> std::borrow::Cow<'_, Path> {
    match exe.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(path) => Path::new(path).to_owned().into(),
        None => exe.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kind, the arguments if they are known, and whether it is a wrapper.
    type Known = Option<(String, Option<Vec<String>>, bool)>;

    fn known(exe: Option<&str>, comm: &str, argv: Option<&[&str]>) -> Known {
        let catalog = Catalog::built_in();
        let argv: Option<Vec<RawText>> = argv.map(|words| words.iter().map(|&word| RawText::from(word)).collect());
        let process = Process { argv: argv.as_deref(), exe: exe.map(Path::new), comm: Some(comm) };
        let found = recognize(&catalog, process)?;
        let args = found.args.map(|args| args.iter().map(|word| word.display().into_owned()).collect());
        Some((found.agent.kind.clone(), args, found.wrapper))
    }

    #[test]
    fn agents_are_known_in_every_form_they_come_in() {
        let package = "/usr/lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
        let is = |kind: &str, args: Option<&[&str]>, wrapper| {
            Some((kind.to_owned(), args.map(|args| args.iter().map(|&arg| arg.to_owned()).collect()), wrapper))
        };
        for (exe, comm, argv, wanted) in [
            // The npm package's native program, the native installation, and one that was updated while it ran.
            (
                Some("/n/@anthropic-ai/claude-code/bin/claude.exe"),
                "claude",
                Some(&["claude", "-c"][..]),
                is("claude", Some(&["-c"]), false),
            ),
            (Some("/home/me/.local/share/claude/versions/2.1.332"), "claude", Some(&["claude"]), is("claude", Some(&[]), false)),
            (Some("/n/claude (deleted)"), "claude", Some(&["/n/claude", "x"]), is("claude", Some(&["x"]), false)),
            // A script, before and after it overwrote its words.
            (Some("/usr/bin/node"), "node", Some(&["node", "--no-warnings", "/usr/bin/claude", "-c"]), is("claude", Some(&["-c"]), false)),
            (Some("/usr/bin/node"), "claude", Some(&["claude", "", "", ""]), is("claude", None, false)),
            (Some("/usr/bin/node"), "node", Some(&["node", "/x/@anthropic-ai/claude-code/cli.js"]), is("claude", Some(&[]), false)),
            // Codex: the wrapper, its native child, and a release file.
            (Some("/usr/bin/node"), "node", Some(&["node", "/usr/bin/codex", "resume"]), is("codex", Some(&["resume"]), true)),
            (Some(package), "codex", Some(&[package, "resume"]), is("codex", Some(&["resume"]), false)),
            (Some("/opt/codex-x86_64-unknown-linux-musl"), "codex", Some(&["codex"]), is("codex", Some(&[]), false)),
            // Too long a command line, and a hidden executable.
            (Some("/n/claude"), "claude", None, is("claude", None, false)),
            (None, "codex", Some(&["codex", "-m", "x"]), is("codex", Some(&["-m", "x"]), false)),
        ] {
            assert_eq!(known(exe, comm, argv), wanted, "{exe:?} {argv:?}");
        }
    }

    #[test]
    fn agents_whose_names_others_have_are_known_by_their_paths_alone() {
        let qwen = "/x/@qwen-code/qwen-code";
        let node = Some("/usr/bin/node");
        for (kind, exe, comm, argv) in [
            ("qwen", node, "node", &["node", "/n/.bin/qwen", "-y"][..]),
            ("qwen", node, "node", &["node", "--expose-gc", &format!("{qwen}/cli.js"), "-y"]),
            ("amp", Some("/n/@ampcode/cli/bin/amp.exe"), "amp", &["/n/.bin/amp", "-y"]),
            ("droid", Some("/n/node_modules/droid/bin/droid"), "droid", &["droid", "-y"]),
            ("crush", Some("/opt/homebrew/Cellar/crush/0.96.1/bin/crush"), "crush", &["crush", "-y"]),
            ("goose", Some("/opt/homebrew/Cellar/block-goose-cli/1.50.0/bin/goose"), "goose", &["goose", "-y"]),
            ("cursor", Some("/h/cursor-agent/versions/1/node"), "node", &["cursor-agent", "/h/cursor-agent/versions/1/index.js", "-y"]),
        ] {
            assert_eq!(known(exe, comm, Some(argv)), Some((kind.to_owned(), Some(vec!["-y".to_owned()]), false)), "{kind}");
        }
        // Other programs of these names, such as the goose that migrates databases.
        for name in ["amp", "crush", "droid", "goose", "pi", "agent"] {
            let path = format!("/usr/local/bin/{name}");
            assert_eq!(known(Some(&path), name, Some(&[name, "up"])), None, "{name}");
            assert_eq!(known(Some(&path), name, Some(&[&path, "up"])), None, "{name}");
            assert_eq!(known(Some(&path), name, None), None, "{name}");
            assert_eq!(known(None, name, Some(&[name, "up"])), None, "{name}");
            assert_eq!(known(node, "node", Some(&["node", &path, "up"])), None, "{name}");
            assert_eq!(known(node, name, Some(&[name, "", ""])), None, "{name}");
        }
        assert!(!Catalog::built_in().program_names().contains(&"goose".to_owned()));
    }

    #[test]
    fn the_words_of_a_record_tell_an_agent_too() {
        let catalog = Catalog::built_in();
        let kind = |words: &[&str]| {
            let argv: Vec<RawText> = words.iter().map(|&word| RawText::from(word)).collect();
            by_words(&catalog, &argv).map(|found| found.agent.kind.clone())
        };
        assert_eq!(kind(&["claude", "-c"]).as_deref(), Some("claude"));
        assert_eq!(kind(&["node", "/usr/bin/codex", "resume"]).as_deref(), Some("codex"));
        for other in [&[][..], &[""], &["vim", "claude"], &["node", "x.js", "claude"]] {
            assert_eq!(kind(other), None);
        }
    }

    #[test]
    fn what_only_looks_like_an_agent_is_none() {
        for (exe, comm, argv) in [
            (Some("/usr/bin/sleep"), "claude", Some(&["claude", "100"][..])),
            (Some("/bin/bash"), "bash", Some(&["claude"])),
            (Some("/usr/bin/vim"), "vim", Some(&["vim", "claude"])),
            (Some("/usr/bin/node"), "node", Some(&["node", "server.js", "claude"])),
            (Some("/usr/bin/node"), "codex", Some(&["codex", "", ""])),
            (Some("/n/claude"), "rg", Some(&["rg", "--files"])),
            (Some("/n/codex"), "codex", Some(&["codex-linux-sandbox", "x"])),
            (Some("/n/codex-code-mode-host"), "codex-code-mode", Some(&["codex-code-mode-host"])),
            (Some("/usr/bin/node"), "claude", None),
            (Some("/n/claude"), "node", None),
            (None, "bash", Some(&["claude"])),
            (None, "claude", None),
        ] {
            assert_eq!(known(exe, comm, argv), None, "{exe:?} {argv:?}");
        }
    }
}
