//! Reading `shells.json`: migration of older schemas, fallback to earlier generations, in memory only.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::files::read_plain;
use crate::error::{Error, Result};
use crate::model::{LARGEST, Layout, Pane, RawText, SCHEMA_VERSION, Shell, State, Tombstone, Window, is_id};

/// The records as they were read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The records, in the present schema.
    pub state: State,
    /// Where they came from.
    pub source: Source,
    /// What a person should know: a fallback, a newer version, an unreadable record.
    pub notices: Vec<String>,
    /// Whether this program may write over the file.
    pub writable: bool,
}

/// Where the records came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// No file was ever written.
    Nothing,
    /// `shells.json`, in the present schema.
    Current,
    /// `shells.json`, of this older version.
    Older(u64),
    /// `shells.json` can't be read: an earlier generation stands in, or nothing where there is none that can be read.
    Fallback(Option<PathBuf>),
}

pub(super) fn current(dir: &Path) -> PathBuf {
    dir.join("shells.json")
}

/// The earlier generations that exist, the newest first.
pub(super) fn generations(dir: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs_err::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let number: u32 = name.strip_prefix("shells.json.")?.parse().ok()?;
            Some((number, dir.join(name)))
        })
        .collect();
    found.sort_unstable();
    found
}

pub(super) fn load(dir: &Path) -> Result<Loaded> {
    let path = current(dir);
    let why = match read_plain(&path) {
        Ok(bytes) => match parse(&bytes) {
            Ok(loaded) => return Ok(loaded),
            Err(why) => why,
        },
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            if generations(dir).is_empty() {
                return Ok(Loaded { state: State::default(), source: Source::Nothing, notices: Vec::new(), writable: true });
            }
            "it is missing".to_owned()
        }
        // No damage, but records that are there and can't be read now: whoever went on would write over them.
        Err(error) => {
            return Err(Error::failed("state_unreadable", format!("cannot read the records: {error}"))
                .hint("give the file back to your user, mode 0600"));
        }
    };
    for (_, earlier) in generations(dir) {
        if let Some(mut loaded) = fs_err::read(&earlier).ok().and_then(|bytes| parse(&bytes).ok()) {
            loaded.notices.insert(0, format!("{}: {why}; the records come from {}", path.display(), earlier.display()));
            loaded.source = Source::Fallback(Some(earlier));
            return Ok(loaded);
        }
    }
    let notice = format!("{}: {why}; no earlier generation can be read either", path.display());
    Ok(Loaded { state: State::default(), source: Source::Fallback(None), notices: vec![notice], writable: true })
}

/// Reads one file. The error says what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> std::result::Result<Loaded, String> {
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    // What this version wrote, as nearly always. As text, so that it is seen once, and not for each string, that it is UTF-8.
    let state = std::str::from_utf8(bytes).ok().and_then(|text| serde_json::from_str::<State>(text).ok());
    if let Some(mut state) = state.filter(|state| state.version == SCHEMA_VERSION) {
        complete(&mut state);
        let notices = unreadable_notice(&state).into_iter().collect();
        return Ok(Loaded { state, source: Source::Current, notices, writable: true });
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON ({error})"))?;
    let Value::Object(mut object) = value else { return Err("it holds no JSON object".to_owned()) };
    let version = match object.get("version") {
        Some(version) => version.as_u64().filter(|&version| version > 0).ok_or("its version is not a number")?,
        None => return Err("it has no version".to_owned()),
    };
    let mut notices = Vec::new();
    let mut unreadable = Vec::new();
    let shells = records(&mut object, "shells", &mut unreadable)?;
    let tombstones = records(&mut object, "tombstones", &mut unreadable)?;
    if let Some(Value::Array(kept)) = object.remove("unreadableShells") {
        unreadable.extend(kept);
    }
    object.insert("version".into(), SCHEMA_VERSION.into());
    // What is wrong in these costs no record: they are found out again by the next look.
    let rest = serde_json::from_value::<State>(Value::Object(object.clone())).or_else(|_| {
        for key in ["generation", "bootstrap", "socket", "hostName"] {
            object.remove(key);
        }
        serde_json::from_value(Value::Object(object))
    });
    let mut state = rest.map_err(|error| format!("it is not a record of shells ({error})"))?;
    state.shells = shells;
    state.tombstones = tombstones;
    state.unreadable = unreadable;
    complete(&mut state);
    notices.extend(unreadable_notice(&state));
    let writable = version <= SCHEMA_VERSION;
    if !writable {
        state.version = version;
        notices.push(format!("the records are of schema version {version}, newer than {SCHEMA_VERSION}: read-only; update sidecar"));
    }
    let source = if version < SCHEMA_VERSION { Source::Older(version) } else { Source::Current };
    Ok(Loaded { state, source, notices, writable })
}

fn unreadable_notice(state: &State) -> Option<String> {
    let number = state.unreadable.len();
    (number > 0).then(|| format!("{number} records can't be read by this version; they are kept as they are"))
}

/// The records of one list; what can't be read goes to `unreadable`. A list that is no list means damage.
fn records<T: serde::de::DeserializeOwned>(
    object: &mut Map<String, Value>,
    key: &str,
    unreadable: &mut Vec<Value>,
) -> std::result::Result<Vec<T>, String> {
    match object.remove(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => Ok(values
            .into_iter()
            .filter_map(|value| match T::deserialize(&value) {
                Ok(record) => Some(record),
                Err(_) => {
                    unreadable.push(value);
                    None
                }
            })
            .collect()),
        Some(_) => Err(format!("its {key:?} is not a list")),
    }
}

/// Fills what older schemas left out: v1 had shells alone, v2 added tombstones, and both may lack windows, panes and ids.
fn complete(state: &mut State) {
    let mut taken: HashSet<String> = HashSet::new();
    let shells = state.shells.iter_mut().chain(state.tombstones.iter_mut().map(|tombstone: &mut Tombstone| &mut tombstone.shell));
    for (number, shell) in shells.enumerate() {
        complete_shell(shell, number);
        if !taken.insert(shell.id.clone()) {
            // One id is one shell; the second keeps everything else.
            let base: String = shell.id.chars().take(24).collect();
            let mut free = (number..=number + taken.len()).map(|number| format!("{base}-{number}"));
            shell.id = free.find(|id| !taken.contains(id)).unwrap_or(base);
            taken.insert(shell.id.clone());
        }
    }
}

/// Whether an id stands twice in a shell's own windows and panes, as nothing that this program wrote.
fn has_doubles(shell: &Shell) -> bool {
    let mut ids: Vec<&str> =
        shell.own_windows().map(|window| window.id.as_str()).chain(shell.panes().map(|pane| pane.id.as_str())).collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}

fn complete_shell(shell: &mut Shell, number: usize) {
    if !is_id(&shell.id) {
        if !shell.id.is_empty() {
            shell.extra.entry("formerId").or_insert_with(|| shell.id.clone().into());
        }
        shell.id = format!("sh-old-{number}");
    }
    if shell.session.is_empty() {
        shell.session.clone_from(&shell.name);
    }
    if shell.name.is_empty() {
        shell.name.clone_from(&shell.session);
    }
    if shell.made_as.is_empty() {
        shell.made_as.clone_from(&shell.session);
    }
    if shell.windows.is_empty() {
        shell.windows.push(Window { active: true, automatic_rename: true, ..Window::default() });
    }
    let inherited: RawText = shell.work_dir.clone();
    let doubled = has_doubles(shell);
    let (mut windows_taken, mut panes_taken) = (HashSet::new(), HashSet::new());
    for (at, window) in shell.windows.iter_mut().enumerate() {
        // tmux's own bounds: what lies beyond was never seen in one.
        window.index = window.index.min(Window::LAST_INDEX);
        window.width = window.width.min(LARGEST);
        window.height = window.height.min(LARGEST);
        window.layout = window.layout.take().filter(Layout::is_sane);
        // One id is one window, but for its further places.
        if !is_id(&window.id) || (doubled && !window.linked && !windows_taken.insert(window.id.clone())) {
            window.id = format!("wn-{}-{at}", shell.id.chars().take(24).collect::<String>());
        }
        if window.panes.is_empty() && !window.linked {
            window.panes.push(Pane { active: true, ..Pane::default() });
        }
        for (within, pane) in window.panes.iter_mut().enumerate() {
            if !is_id(&pane.id) || (doubled && !panes_taken.insert(pane.id.clone())) {
                pane.id = format!("pn-{}-{at}-{within}", shell.id.chars().take(24).collect::<String>());
            }
            if pane.dir.is_empty() {
                pane.dir.clone_from(&inherited);
            }
        }
    }
    if shell.work_dir.is_empty() {
        let first = shell.panes().next().map(|pane| pane.dir.clone());
        shell.work_dir = first.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::EndReason;

    #[test]
    fn version_1_is_read_with_what_it_lacks_filled_in_and_what_is_unknown_kept() {
        let loaded =
            parse(br#"{"version":1,"theme":"dark","shells":[{"id":"sh-1234","session":"web","workDir":"/w","colour":7}]}"#).unwrap();
        assert_eq!(loaded.source, Source::Older(1));
        let shell = &loaded.state.shells[0];
        assert_eq!((shell.name.as_str(), shell.made_as.as_str(), shell.windows.len()), ("web", "web", 1));
        assert_eq!(shell.panes().next().unwrap().dir, RawText::from("/w"));
        assert_eq!(shell.extra["colour"], 7);
        assert_eq!(loaded.state.extra["theme"], "dark");
        assert_eq!(loaded.state.version, SCHEMA_VERSION);
    }

    #[test]
    fn version_2_keeps_its_tombstones() {
        let loaded =
            parse(br#"{"version":2,"shells":[],"tombstones":[{"reason":"forgotten","deletedAt":5,"why":"x","shell":{"name":"old"}}]}"#)
                .unwrap();
        let tombstone = &loaded.state.tombstones[0];
        assert_eq!((tombstone.reason.word(), tombstone.deleted_at, tombstone.shell.session.as_str()), ("forgotten", 5, "old"));
        assert_eq!(tombstone.extra["why"], "x");
    }

    #[test]
    fn a_newer_version_is_listed_and_never_written() {
        let loaded = parse(br#"{"version":9,"shells":[{"id":"sh-1234","session":"a"}]}"#).unwrap();
        assert!(!loaded.writable);
        assert_eq!((loaded.state.version, loaded.state.shells.len()), (9, 1));
        assert!(loaded.notices[0].contains("version 9"), "{:?}", loaded.notices);
    }

    #[test]
    fn one_bad_record_costs_no_other() {
        let loaded = parse(br#"{"version":3,"shells":[{"id":7},{"id":"sh-1234","session":"a"},"x"]}"#).unwrap();
        assert_eq!((loaded.state.shells.len(), loaded.state.unreadable.len()), (1, 2));
        let again = parse(&serde_json::to_vec(&loaded.state).unwrap()).unwrap();
        assert_eq!(again.state, loaded.state);
    }

    #[test]
    fn damage_is_told_apart_from_records() {
        for bad in [&b""[..], b"\0\0\0\0", b"{", b"[]", b"{}", br#"{"version":0}"#, br#"{"version":"3"}"#, br#"{"version":3,"shells":{}}"#]
        {
            assert!(parse(bad).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
        assert!(parse(br#"{"version":3,"generation":"x","shells":[]}"#).is_ok());
    }

    #[test]
    fn a_binding_in_any_form_is_read_as_far_as_it_can_be_and_written_back_whole() {
        let panes = serde_json::json!([
            {"id": "pn-0001", "agent": {"kind": "claude", "id": "a1", "ended": {"reason": "died", "at": 5}, "mood": 7}},
            {"id": "pn-0002", "agent": {"kind": "codex", "id": 7, "ended": "yesterday"}, "history": [{"id": "old"}, 3]},
            {"id": "pn-0003", "agent": "claude", "history": {"id": "old"}},
            {"id": "pn-0004", "agent": null},
        ]);
        let loaded = parse(
            &serde_json::to_vec(&serde_json::json!({"version": 3, "shells": [{"id": "sh-1234", "windows": [{"panes": panes}]}]})).unwrap(),
        )
        .unwrap();
        assert!(loaded.state.unreadable.is_empty());
        let panes: Vec<&Pane> = loaded.state.shells[0].panes().collect();
        let bindings: Vec<_> = panes.iter().filter_map(|pane| pane.agent.as_ref()).collect();
        assert_eq!(
            bindings.iter().map(|one| (one.kind.as_str(), one.id.as_str())).collect::<Vec<_>>(),
            [("claude", "a1"), ("codex", ""), ("", "")]
        );
        assert_eq!(bindings[0].ended.as_ref().unwrap().reason, EndReason::Died);
        assert_eq!(bindings[0].extra["mood"], 7);
        assert_eq!(bindings[1].ended.as_ref().unwrap().reason, EndReason::User, "what may have been ended is not opened again");
        assert_eq!(bindings[1].extra["former"], serde_json::json!({"id": 7, "ended": "yesterday"}));
        assert_eq!(bindings[2].extra["former"], "claude");
        assert_eq!(panes.iter().map(|pane| pane.history.len()).collect::<Vec<_>>(), [0, 2, 1, 0]);
        let again = parse(&serde_json::to_vec(&loaded.state).unwrap()).unwrap();
        assert_eq!(again.state, loaded.state);
    }

    #[test]
    fn an_id_given_twice_stays_two_shells() {
        let loaded = parse(br#"{"version":3,"shells":[{"id":"sh-1234","session":"a"},{"id":"sh-1234","session":"b"}]}"#).unwrap();
        assert_ne!(loaded.state.shells[0].id, loaded.state.shells[1].id);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z#$\\\\é]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(
                    (
                        proptest::sample::select(vec![
                            "id", "name", "session", "workDir", "windows", "panes", "index", "policy", "agent", "history", "kind", "ended",
                            "zz"
                        ]),
                        inner
                    ),
                    0..5
                )
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        /// Whatever an old file holds, reading it, writing it and reading it again is one and the same, and no record is lost.
        #[test]
        fn migration_loses_nothing_and_is_done_once(version in 1..=3_u64, shells in proptest::collection::vec(any_json(), 0..5)) {
            let file = serde_json::json!({ "version": version, "shells": shells, "kept": { "a": 1 } });
            let loaded = parse(&serde_json::to_vec(&file).unwrap()).unwrap();
            prop_assert_eq!(loaded.state.shells.len() + loaded.state.unreadable.len(), shells.len());
            prop_assert_eq!(&loaded.state.extra["kept"]["a"], 1);
            let again = parse(&serde_json::to_vec(&loaded.state).unwrap()).unwrap();
            prop_assert_eq!(again.state, loaded.state);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
