//! A stand-in for an agent, for what the real ones can't be made to do: to fail, to be slow, to stand at any question. Its program is a
//! copy of bash by another name, which the start-up files of the user's shell alone find; it writes down how it was started, and shows
//! whether another one has the same conversation open.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::support::{World, wait_for, wait_or_tell};

/// What it does. `$3…` is what an agent is given: flags, `--resume`, the id, which is the last.
const SCRIPT: &str = r#"here=$1; shift
for id; do :; done
echo "$$ $PWD|$(env | grep -E '^(FAKE|CLAUDE)' | sort | tr '\n' ' ')|$*" >>"$here/starts"
[ -e "$here/fail" ] && { rm -f "$here/fail"; echo "error: no luck today"; exit 3; }
[ -e "$here/fail-always" ] && { echo "error: no luck ever"; exit 3; }
[ -e "$here/slow" ] && while [ -e "$here/slow" ]; do sleep 0.05; done
mkdir "$here/open-$id" 2>/dev/null || echo "$id" >>"$here/twice"
trap 'rmdir "$here/open-$id"' EXIT
trap 'exit 129' HUP TERM
if [ -e "$here/dialog-$id" ]; then
  stty -icanon -echo
  printf '\033[?1049h\033[H'; cat "$here/dialog-$id"
  while IFS= read -rn1 key && echo "$key" >>"$here/keys-$id"; do [ -e "$here/dialog-stays" ] || break; done
  stty sane; printf '\033[?1049l'
fi
echo "this is $id"
while read -r line; do [ "$line" = bye ] && exit 0; [ "$line" = crash ] && exit 7; done
"#;

pub struct FakeAgent<'a> {
    pub world: &'a World,
    pub here: PathBuf,
}

impl<'a> FakeAgent<'a> {
    /// Puts it into a world whose shells find it by their start-up files.
    pub fn new(world: &'a World) -> Self {
        Self::with(world, &json!({}))
    }

    /// The same, with these keys in the `restore` group of `config.json`.
    pub fn with(world: &'a World, restore: &Value) -> Self {
        let (here, bin) = (world.folder("fake"), world.folder("fake bin"));
        assert!(world.command("cp").arg("/bin/bash").arg(bin.join("fake")).status().unwrap().success());
        let script = here.join("script");
        std::fs::write(&script, SCRIPT).unwrap();
        let home = world.home();
        // The shell's own tmux must be the server's.
        let tmux = world.tmux_program().parent().map(|folder| format!("'{}':", folder.display())).filter(|path| path.len() > 3);
        let tmux = tmux.unwrap_or_default();
        let posix = format!("PATH='{}':{tmux}$PATH; export PATH; PS1='$ '\n", bin.display());
        for file in [".profile", ".bash_profile", ".bashrc", ".zshrc"] {
            std::fs::write(home.join(file), &posix).unwrap();
        }
        let config = home.parent().unwrap().join("config");
        std::fs::create_dir_all(config.join("fish")).unwrap();
        std::fs::write(config.join("fish/config.fish"), format!("set -x PATH '{}' $PATH\n", bin.display())).unwrap();
        let agent = json!({
            "title": "Fake",
            "programs": ["fake"],
            "resume": [script, here, "{flags}", "--resume", "{id}"],
            "home": { "variable": "FAKE_HOME", "folder": ".fake" },
            "transcripts": "talks/{id}.jsonl",
            "scrub": ["FAKE_INHERITED"],
            "dialogs": claudes_dialogs(),
            "flags": { "keep": ["--model <model>", "--verbose"], "id": ["--resume <id>"], "secret": ["--token <token>"] },
        });
        std::fs::create_dir_all(config.join("sidecar")).unwrap();
        std::fs::write(config.join("sidecar/config.json"), json!({ "restore": restore, "agents": { "fake": agent } }).to_string()).unwrap();
        Self { world, here }
    }

    /// A conversation's id in this world alone: live processes are looked for on the whole machine.
    pub fn id(&self, name: &str) -> String {
        let world = self.world.home().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        format!("{name}-{world}")
    }

    pub fn transcript(&self, id: &str) {
        let folder = self.world.home().join(".fake/talks");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{id}.jsonl")), "{}\n").unwrap();
    }

    /// A transcript that was begun in this directory.
    pub fn transcript_in(&self, id: &str, dir: &Path) {
        self.transcript(id);
        std::fs::write(self.world.home().join(format!(".fake/talks/{id}.jsonl")), json!({ "cwd": dir }).to_string() + "\n").unwrap();
    }

    /// Starts it at a prompt, in a directory; its arguments don't say that the id is one, and it prints it.
    #[track_caller]
    pub fn begin(&self, session: &str, dir: &Path, id: &str) {
        let [script, here, dir] = [&self.here.join("script"), &self.here, dir].map(|path| path.display().to_string());
        self.world.press(&format!("={session}:"), &[&format!("cd '{dir}' && fake {script} {here} --verbose {id}"), "Enter"]);
        self.wait_there(session, id);
    }

    /// A binding to a conversation that has a transcript.
    pub fn binding(&self, id: &str) -> Value {
        self.transcript(id);
        json!({
            "kind": "fake", "id": id, "source": "hook", "reported": sidecar::record::now(), "prompted": true,
            "flags": ["--model=a  b", "--verbose"],
        })
    }

    /// Binds the first pane of a session.
    pub fn bind(&self, session: &str, id: &str) {
        let binding = self.binding(id);
        self.world.set_pane(session, &json!({ "agent": binding }));
    }

    /// How it was started so far: directory, variables, words; the words from the folder on.
    pub fn starts(&self) -> Vec<(String, String, String)> {
        let text = std::fs::read_to_string(self.here.join("starts")).unwrap_or_default();
        let start = |line: &str| {
            let (place, words) = line.rsplit_once('|')?;
            let (dir, variables) = place.split_once(' ')?.1.rsplit_once('|')?;
            Some((dir.to_owned(), variables.trim().to_owned(), words.to_owned()))
        };
        text.lines().filter_map(start).collect()
    }

    /// The ids that it was started with, in order.
    pub fn ids(&self) -> Vec<String> {
        self.starts().iter().map(|(.., words)| words.rsplit(' ').next().unwrap().to_owned()).collect()
    }

    /// Whether two of them had one conversation open.
    pub fn was_twice(&self) -> bool {
        self.here.join("twice").exists()
    }

    pub fn set(&self, mode: &str) {
        std::fs::write(self.here.join(mode), "").unwrap();
    }

    /// Has it draw this on the alternate screen, and wait for a key, before it goes on with that conversation.
    pub fn ask(&self, id: &str, dialog: &str) {
        std::fs::write(self.here.join(format!("dialog-{id}")), dialog).unwrap();
    }

    /// The keys that were pressed there.
    pub fn keys(&self, id: &str) -> String {
        std::fs::read_to_string(self.here.join(format!("keys-{id}"))).unwrap_or_default().replace('\n', "")
    }

    /// The words that start it with a conversation, for a pane of its own.
    pub fn words(&self, id: &str) -> Vec<String> {
        let program = self.here.parent().unwrap().join("fake bin/fake");
        let words = [program.as_path(), &self.here.join("script"), &self.here].map(|path| path.display().to_string());
        words.into_iter().chain(["--resume".to_owned(), id.to_owned()]).collect()
    }

    pub fn unset(&self, mode: &str) {
        std::fs::remove_file(self.here.join(mode)).unwrap();
    }

    /// Waits until a pane shows its conversation.
    #[track_caller]
    pub fn wait_there(&self, session: &str, id: &str) {
        self.world.wait_shown(&format!("={session}:"), &format!("this is {id}"));
    }

    /// Waits for the state of a pane's resume, and gives all of it.
    #[track_caller]
    pub fn wait_state(&self, session: &str, state: &str) -> Value {
        let pane = self.world.pane_id(session);
        let read = || {
            let file = self.world.store()?.join(format!("resumes/{pane}.json"));
            serde_json::from_str::<Value>(&std::fs::read_to_string(file).ok()?).ok()
        };
        let told = || format!("{state} in {session}: {:?}\n{}\n{}", read(), self.world.screen(&format!("={session}:")), self.world.log());
        wait_or_tell(told, || read().filter(|resume| resume["state"] == state))
    }
}

fn claudes_dialogs() -> Value {
    let table: Value = serde_json::from_str(include_str!("../../helper/agents/catalog/agents.json")).unwrap();
    table["claude"]["dialogs"].clone()
}

/// The agents of a restore's only document, by place.
pub fn agents(document: &Value) -> Vec<Value> {
    let outcomes = document["outcomes"].as_array().unwrap();
    outcomes.iter().flat_map(|outcome| outcome["agents"].as_array().unwrap().clone()).collect()
}

/// Waits until a process is gone, whoever its parent is.
#[track_caller]
pub fn wait_dead(pid: i32) {
    wait_for("the end of a process", || sidecar::agents::process::start_time(pid).is_none().then_some(()));
}
