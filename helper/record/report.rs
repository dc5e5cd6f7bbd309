//! A report of an agent's hook: which pane it comes from, and what it changes there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::binding::{bind, end};
use super::{journal, now, record};
use crate::agents::catalog::{Agent, Catalog};
use crate::agents::daemon::{self, Unclear, Viewer, Wanted, is_shared, moves, whose, works_here};
use crate::agents::evidence::{begun_in, config_dir, folder_at, folder_of, thread_name};
use crate::agents::flags::Run;
use crate::agents::lineage::{AgentProcess, above, conversations, pids_above};
use crate::agents::payload::{Event, Payload, is_normal};
use crate::agents::place::{self, Place};
use crate::agents::process;
use crate::model::{Binding, BoundProcess, Generation, Pane, RawText, ResumeState, Source, State};
use crate::store::{Config, Level, Store};
use crate::tmux::{LivePane, Server};

/// The agent waits for its hook; so each wait within it is a part of a second.
const ANSWER_LIMIT: Duration = Duration::from_millis(400);
const LOCK_LIMIT: Duration = Duration::from_millis(500);

/// What a report makes of a pane's binding.
#[derive(Clone, Debug, PartialEq)]
enum Decision {
    /// The pane is bound to this from now on.
    Bind(Box<Binding>),
    /// The user ended what it is bound to.
    End,
    /// Nothing, and why.
    Ignore(&'static str),
}

/// Decides by what the pane is bound to, and what it would be bound to by this report. Pure.
fn decide(event: Event, old: Option<&Binding>, new: &Binding) -> Decision {
    let of_process = old.filter(|old| old.process == new.process);
    let same = old.is_some_and(|old| old.is_same(new));
    let prompted = |prompted| Decision::Bind(Box::new(Binding { prompted, ..new.clone() }));
    match event {
        Event::Quit if same && of_process.is_some() => Decision::End,
        Event::Quit => Decision::Ignore("the pane is bound to another conversation"),
        Event::Start { prompted: before } => prompted(before),
        Event::Prompt => prompted(true),
        // What comes late must not bring back what a later event has left.
        Event::Activity if of_process.is_some_and(|old| !same || old.ended.is_some()) => Decision::Ignore("another event was faster"),
        Event::Activity if of_process.is_some_and(|old| old.prompted && (new.transcript.is_none() || old.transcript == new.transcript)) => {
            Decision::Ignore("it tells nothing new")
        }
        Event::Activity => prompted(true),
    }
}

/// A pane that a report was found to come from.
struct Found {
    server: Server,
    generation: Generation,
    pane: LivePane,
    agent: AgentProcess,
}

/// Takes a report of an agent of this kind. What is not recorded, and why, goes to the log.
pub fn report(kind: &str, text: &[u8], config: &Config) {
    let (catalog, _) = Catalog::with(&config.agents);
    let Some(agent) = catalog.get(kind) else { return };
    let payload = Payload::parse(text);
    let here = Server::of_environment();
    let event = payload.check(agent).map_err(str::to_owned);
    let done = event.and_then(|event| {
        let found = find(&catalog, agent, &payload, here.as_ref())?;
        let what = write(agent, &payload, event, &found, config);
        log(Some(&found.server), kind, &payload, &what);
        Ok(())
    });
    if let Err(why) = done {
        log(here.as_ref(), kind, &payload, &Err(why));
    }
}

fn log(server: Option<&Server>, kind: &str, payload: &Payload, what: &Result<String, String>) {
    let Some(store) = server.and_then(|server| Store::of(server.socket()).ok()).filter(Store::exists) else { return };
    let message = match what {
        Ok(done) => format!("{} {}: {done}", payload.event, payload.id),
        Err(why) => format!("{} {}: not recorded: {why}", payload.event, payload.id),
    };
    store.log(Level::Info, &format!("report {kind}"), &message);
}

/// Finds the pane.
fn find(catalog: &Catalog, agent: &Agent, payload: &Payload, here: Option<&Server>) -> Result<Found, String> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let chain = above(catalog, own);
    // Whether it is a shared server's is told without one, and that one's environment says nothing.
    if matches!(place::of(&agent.kind, &chain, &[]), Ok(Place::Shared)) {
        return find_shared(catalog, agent, payload);
    }
    let (server, generation, panes) = ask(here)?;
    let pids: Vec<i32> = panes.iter().map(|pane| pane.pid).collect();
    let Place::Pane { pane, agent: process } = place::of(&agent.kind, &chain, &pids)? else { return Err("no pane".to_owned()) };
    if agent.kind == "claude" && is_unattended() {
        return Err("nobody sits at it".to_owned());
    }
    let hint = std::env::var("TMUX_PANE").unwrap_or_default();
    let none_at = |descriptor| process::is_terminal(process.pid, descriptor) == Some(false);
    if none_at(1) || (agent.headless_pipe && none_at(0)) {
        return Err("nobody sits at it: it reads or writes no terminal".to_owned());
    }
    let pane = panes.into_iter().find(|live| live.pid == pane).ok_or("no pane")?;
    if !hint.is_empty() && hint != pane.id {
        // The tree is right: variables are handed down, ancestors are not.
        if let Ok(store) = Store::of(server.socket()) {
            store.log(
                Level::Info,
                &format!("report {}", agent.kind),
                &format!("its environment names the pane {hint}, it runs in {}", pane.id),
            );
        }
    }
    Ok(Found { server, generation, pane, agent: *process })
}

/// Claude Code tells its hooks so; the arguments of old versions are lost.
fn is_unattended() -> bool {
    let is = |name: &str, test: &dyn Fn(&str) -> bool| std::env::var(name).is_ok_and(|value| test(&value));
    is("CLAUDE_CODE_ENTRYPOINT", &|value| value != "cli") || is("CLAUDE_CODE_SESSION_ATTENDED", &|value| value == "0")
}

/// Asks the server whose pid stands in `TMUX` for its panes.
fn ask(server: Option<&Server>) -> Result<(Server, Generation, Vec<LivePane>), String> {
    let server = server.ok_or("it runs in no tmux")?;
    let (generation, panes) = server.panes(ANSWER_LIMIT).map_err(|failure| failure.to_string())?;
    server.check_is_ours(generation.pid).map_err(|error| error.message)?;
    Ok((server.clone(), generation, panes))
}

/// The programs that may show a conversation of a shared server's, and where they stand.
#[derive(Default)]
struct Viewers {
    servers: Vec<(RawText, Server, Generation, Vec<LivePane>)>,
    all: Vec<Viewer>,
    /// The process of each, and its server and its pane among that one's; `None` outside tmux.
    places: Vec<(AgentProcess, Option<(usize, usize)>)>,
}

/// Why the conversation that this process of a shared server's shows can't be told; `None` if it can.
pub fn why_unclear(catalog: &Catalog, agent: &Agent, pid: i32) -> Option<Unclear> {
    let found = viewers(catalog, agent);
    let at = found.places.iter().position(|(process, _)| process.pid == pid)?;
    daemon::why_unclear(&found.all, at)
}

/// The configuration directory that this process's environment names.
fn own_folder(agent: &Agent) -> Option<PathBuf> {
    folder_at(agent, std::env::var_os(&agent.home.variable).map(|set| PathBuf::from(set).into()).as_ref())
}

/// The directory that a program works in; `None` where that can't be told.
fn works_in(agent: &Agent, process: &AgentProcess, folder: Option<&Path>) -> Option<RawText> {
    let own = process::directory(process.pid).map(RawText::from)?;
    let here = works_here(process)
        || match &process.run {
            // One that was begun elsewhere goes on there.
            Run::Conversation(Some(id)) => begun_in(agent, folder?, id).is_some_and(|begun| begun == own) && !moves(process),
            _ => false,
        };
    here.then_some(own)
}

/// Finds them in every server.
fn viewers(catalog: &Catalog, agent: &Agent) -> Viewers {
    let Viewers { mut servers, all: mut viewers, mut places } = Viewers::default();
    let folder = own_folder(agent);
    // Another folder has a shared server of its own.
    let is_of_it = |process: &AgentProcess| folder.is_none() || folder_of(agent, process.pid).is_none_or(|own| Some(own) == folder);
    for process in conversations(catalog, &agent.kind).into_iter().filter(is_shared).filter(is_of_it) {
        let variable = process::variable(process.pid, "TMUX").unwrap_or_default();
        if !servers.iter().any(|(known, ..)| *known == variable) {
            if let Ok((server, generation, panes)) = ask(Server::of_variable(&variable.display()).as_ref()) {
                servers.push((variable.clone(), server, generation, panes));
            }
        }
        let parents: Vec<i32> = std::iter::once(process.pid).chain(pids_above(process.pid)).collect();
        let place = servers.iter().position(|(known, ..)| *known == variable).and_then(|server| {
            let panes = &servers[server].3;
            Some((server, panes.iter().position(|pane| parents.contains(&pane.pid))?))
        });
        let mut viewer = Viewer {
            argv_id: if let Run::Conversation(id) = &process.run { id.clone() } else { None },
            dir: works_in(agent, &process, folder.as_deref()),
            since: process::epoch_ms(process.start_time),
            ..Viewer::default()
        };
        if let Some((server, pane)) = place {
            let (_, server, generation, panes) = &servers[server];
            viewer.title.clone_from(&panes[pane].title);
            if let Some(bound) = bound(server, generation, &panes[pane], &process) {
                // A hook told where it works, wherever it was resumed.
                viewer.dir = viewer.dir.or(bound.dir.filter(|_| bound.source == Source::Hook));
                viewer.bound = Some(bound.id);
            }
        }
        viewers.push(viewer);
        places.push((process, place));
    }
    Viewers { servers, all: viewers, places }
}

/// Finds the pane of a conversation that a shared server runs, by all the programs that may show it.
fn find_shared(catalog: &Catalog, agent: &Agent, payload: &Payload) -> Result<Found, String> {
    let Viewers { mut servers, all: viewers, mut places } = viewers(catalog, agent);
    let name = own_folder(agent).and_then(|folder| thread_name(&folder, &payload.id));
    let wanted = Wanted { id: &payload.id, dir: &payload.dir, name: name.as_deref() };
    let at = whose(wanted, &viewers).map_err(|unclear| unclear.to_string())?;
    let (process, place) = places.swap_remove(at);
    let (server, pane) = place.ok_or("it is shown outside tmux")?;
    let (_, server, generation, mut panes) = servers.swap_remove(server);
    Ok(Found { server, generation, pane: panes.swap_remove(pane), agent: process })
}

/// What a pane is bound to since this process began.
fn bound(server: &Server, generation: &Generation, pane: &LivePane, agent: &AgentProcess) -> Option<Binding> {
    let mut state = Store::of(server.socket()).ok().filter(Store::exists)?.load().ok()?.state;
    let (_, pane) = recorded(&mut state, generation, pane)?;
    let bound = pane.agent.as_ref()?;
    let own = bound.process.as_ref()?;
    (own.pid == agent.pid && own.start_time == agent.start_time).then(|| bound.clone())
}

/// The record of a living pane, and the id of its shell.
fn recorded<'a>(state: &'a mut State, generation: &Generation, pane: &LivePane) -> Option<(String, &'a mut Pane)> {
    // A restore tags a pane before a look has seen it; a pane that no look has tagged yet is known by its live id.
    let is = |own: &Pane, lives: bool| if pane.tag.is_empty() { lives && own.tmux == pane.id } else { own.id == pane.tag };
    for shell in &mut state.shells {
        let lives = shell.lives_in(generation);
        let windows = shell.windows.iter_mut().filter(|window| !window.linked);
        if let Some(pane) = windows.flat_map(|window| &mut window.panes).find(|own| is(own, lives)) {
            return Some((shell.id.clone(), pane));
        }
    }
    None
}

/// Changes the record; gives what was done.
fn write(agent: &Agent, payload: &Payload, event: Event, found: &Found, config: &Config) -> Result<String, String> {
    let store = Store::of(found.server.socket()).map_err(|error| error.message)?;
    if !store.exists() {
        return Err("nothing is recorded of this server".to_owned());
    }
    let new = binding(agent, payload, found);
    let held = store.lock(LOCK_LIMIT).map_err(|error| error.message)?;
    let mut loaded = store.load().map_err(|error| error.message)?;
    let mut state = loaded.state.clone();
    if recorded(&mut state, &found.generation, &found.pane).is_none() {
        // It came before the first look.
        record(&found.server, &store, config, &held).map_err(|error| error.message)?;
        loaded = store.load().map_err(|error| error.message)?;
        state = loaded.state.clone();
    }
    let (shell, pane) = recorded(&mut state, &found.generation, &found.pane).ok_or("its pane is not recorded")?;
    // A resume that fails may tell of a new, empty conversation first, which must not stand for the one that was asked for.
    let on_trial = store.resume(&pane.id).filter(|resume| resume.state == ResumeState::Starting && resume.id != new.id);
    if event == (Event::Start { prompted: false }) && on_trial.and_then(|resume| resume.holder).is_some_and(|holder| process::runs(&holder))
    {
        return Err("its pane is to resume another conversation, and has not yet".to_owned());
    }
    let process = new.process.clone();
    let before = pane.agent.clone();
    match decide(event, pane.agent.as_ref(), &new) {
        Decision::Ignore(why) => return Err(why.to_owned()),
        Decision::Bind(new) => bind(pane, *new),
        Decision::End => {
            let process = process.ok_or("its process is unknown")?;
            end(pane, &payload.id, &process, now());
        }
    }
    let entry = journal::change(before.as_ref(), pane, &shell, &found.generation, now());
    let what = entry.as_ref().map_or_else(|| "seen again".to_owned(), |entry| entry.what.clone());
    let done = format!("{} {what}", pane.id);
    store.save(&held, &loaded, &state, now()).map_err(|error| error.message)?;
    store.add_to_journal(&held, entry.as_slice()).map_err(|error| error.message)?;
    Ok(done)
}

/// What the pane would be bound to by this report.
fn binding(agent: &Agent, payload: &Payload, found: &Found) -> Binding {
    let process = &found.agent;
    let config_dir = config_dir(agent, process.pid);
    let folder = folder_at(agent, config_dir.as_ref());
    let dir = process::directory(process.pid).map(RawText::from);
    // Codex works where its conversation did, or where its arguments say, and its process stays where it was started.
    let told = (agent.kind == "codex" && is_normal(&payload.dir)).then(|| RawText::from(payload.dir.as_str()));
    let mut flags = process.kept.clone();
    if let Some(flags) = flags.as_mut().filter(|_| told.is_some()) {
        // It is resumed there, where a relative one would lead elsewhere.
        flags.retain(|flag| !flag.as_bytes().starts_with(b"--cd="));
    }
    let launched = std::env::var("CLAUDE_PROJECT_DIR").ok().filter(|dir| agent.kind == "claude" && is_normal(dir));
    Binding {
        kind: agent.kind.clone(),
        id: payload.id.clone(),
        transcript: folder.and_then(|folder: std::path::PathBuf| payload.transcript_in(Path::new(&folder))),
        flags,
        launch_dir: launched.map(|dir| RawText::from(dir.as_str())).or_else(|| dir.clone()),
        dir: told.or(dir),
        config_dir,
        program: process.program.clone(),
        process: Some(BoundProcess { pid: process.pid, start_time: process.start_time, generation: found.generation.clone() }),
        source: Source::Hook,
        reported: now(),
        ..Binding::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BindingEnd, EndReason, Seen, Shell, Window};

    fn generation(life: i32) -> Generation {
        Generation { boot: "b".into(), pid: life, start_time: 1, process_start: None }
    }

    fn bound(id: &str, pid: i32) -> Binding {
        let process = BoundProcess { pid, start_time: 1, generation: generation(1) };
        Binding { kind: "claude".into(), id: id.into(), process: Some(process), transcript: Some("/t".into()), ..Binding::default() }
    }

    #[test]
    fn each_event_has_its_effect_and_a_late_one_has_none() {
        let prompted = |id, pid| Binding { prompted: true, ..bound(id, pid) };
        let ended = |id, pid| Binding { ended: Some(BindingEnd { reason: EndReason::User, at: 1 }), ..prompted(id, pid) };
        let start = Event::Start { prompted: false };
        for (why, event, old, new, wanted) in [
            ("a first start", start, None, bound("a", 1), Some(Some(false))),
            ("a start after /clear", start, Some(prompted("a", 1)), bound("b", 1), Some(Some(false))),
            ("a resume", Event::Start { prompted: true }, Some(ended("a", 1)), bound("a", 2), Some(Some(true))),
            ("a prompt", Event::Prompt, Some(bound("a", 1)), bound("a", 1), Some(Some(true))),
            ("a prompt in another one", Event::Prompt, Some(prompted("a", 1)), bound("b", 1), Some(Some(true))),
            ("a tool, where nothing was known", Event::Activity, None, bound("a", 1), Some(Some(true))),
            ("a tool, where another process was", Event::Activity, Some(prompted("b", 2)), bound("a", 1), Some(Some(true))),
            ("a tool that proves the prompt", Event::Activity, Some(bound("a", 1)), bound("a", 1), Some(Some(true))),
            ("a tool again", Event::Activity, Some(prompted("a", 1)), bound("a", 1), None),
            ("a tool of one that was left", Event::Activity, Some(bound("b", 1)), bound("a", 1), None),
            ("a tool of one that was ended", Event::Activity, Some(ended("a", 1)), bound("a", 1), None),
            ("an end", Event::Quit, Some(prompted("a", 1)), bound("a", 1), Some(None)),
            ("an end of another one", Event::Quit, Some(prompted("b", 1)), bound("a", 1), None),
            ("an end of an earlier process", Event::Quit, Some(prompted("a", 2)), bound("a", 1), None),
            ("an end of nothing", Event::Quit, None, bound("a", 1), None),
        ] {
            let got = match decide(event, old.as_ref(), &new) {
                Decision::Bind(new) => Some(Some(new.prompted)),
                Decision::End => Some(None),
                Decision::Ignore(_) => None,
            };
            assert_eq!(got, wanted, "{why}");
        }
    }

    #[test]
    fn a_pane_is_known_by_its_tag_and_by_a_live_id_of_this_life_alone() {
        let shell = |id: &str, life, tmux: &str| Shell {
            id: format!("sh-{id}"),
            seen: Some(Seen { at: 1, generation: generation(life), session: "$1".into() }),
            windows: vec![Window {
                panes: vec![Pane { id: format!("pn-{id}"), tmux: tmux.into(), ..Pane::default() }],
                ..Window::default()
            }],
            ..Shell::default()
        };
        let mut state = State { shells: vec![shell("0001", 2, "%1"), shell("0002", 1, "%1"), shell("0003", 1, "%2")], ..State::default() };
        for (id, tag, wanted) in [
            ("%1", "", Some("sh-0002")),
            ("%2", "", Some("sh-0003")),
            ("%3", "", None),
            ("%1", "pn-0001", Some("sh-0001")),
            ("%1", "pn-0009", None),
        ] {
            let pane = LivePane { id: id.into(), pid: 1, title: String::new(), tag: tag.into() };
            let found = recorded(&mut state, &generation(1), &pane).map(|(shell, _)| shell);
            assert_eq!(found.as_deref(), wanted, "{id} {tag}");
        }
    }
}
