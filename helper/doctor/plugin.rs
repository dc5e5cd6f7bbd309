//! The plugin in its server: the helper, hooks, timer and keys; and the user's choices.

use super::facts::{Facts, Live};
use super::{Finding, Mend};
use crate::plugin::{Does, Standing};

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![helper(facts)];
    found.extend(on_path(facts));
    if let Some(live) = &facts.live {
        found.extend(chosen(live));
        found.extend(current(live));
        match &live.plugin {
            Some(plugin) => found.extend(loaded(plugin)),
            None => found.push(Finding::problem(
                "plugin",
                "how the plugin stands in the server could not be asked",
                "it may not record",
                "sidecar plugin load",
            )),
        }
    }
    found.extend(config(facts));
    found
}

/// The helper that the hooks call, else this one.
fn helper(facts: &Facts) -> Finding {
    const ID: &str = "helper";
    let version = facts.own.version.as_deref().unwrap_or_default();
    let own = format!("sidecar {version} at {}", facts.own.path);
    let called = facts.live.as_ref().and_then(|live| Some((live.plugin.as_ref()?.helper.as_ref()?, live.helper_runs?)));
    match called {
        Some((path, false)) => {
            Finding::problem(ID, format!("the hooks call {path}, which can't be run"), "nothing is recorded", "sidecar plugin load")
                .mended_by(Mend::Load)
        }
        Some((path, true)) if !facts.live.as_ref().is_some_and(|live| live.helper_is_own) => Finding::note(
            ID,
            format!("this is {own}; the hooks call {path}"),
            "two versions may take turns in writing the records",
            "use the same for both: `sidecar plugin link` makes ~/.local/bin/sidecar a link",
        ),
        Some(_) => Finding::ok(ID, format!("{own}; the hooks call it")),
        None => Finding::ok(ID, own),
    }
}

fn on_path(facts: &Facts) -> Option<Finding> {
    const ID: &str = "helper_on_path";
    let other = facts.on_path.as_ref()?;
    Some(match &other.version {
        Some(version) if *version == facts.own.version.clone().unwrap_or_default() => {
            Finding::ok(ID, format!("{} on PATH is of the same version", other.path))
        }
        version => Finding::note(
            ID,
            match version {
                Some(version) => format!("{} on PATH is of version {version}", other.path),
                None => format!("{} on PATH does not run", other.path),
            },
            "a `sidecar` that you type is another one than this",
            "update it, or take it away",
        ),
    })
}

fn chosen(live: &Live) -> Option<Finding> {
    const ID: &str = "helper_option";
    let (path, runs) = live.chosen_helper.as_ref()?;
    Some(if *runs {
        Finding::ok(ID, format!("@sidecar-helper is {path}"))
    } else {
        Finding::problem(
            ID,
            format!("@sidecar-helper is {path}, which can't be run"),
            "the plugin is not loaded at the next start",
            "take the option out of tmux.conf, or mend it",
        )
    })
}

fn current(live: &Live) -> Option<Finding> {
    const ID: &str = "helper_build";
    Some(if live.is_current? {
        Finding::ok(ID, "the plugin's helper is of its present sources")
    } else {
        Finding::note(
            ID,
            "the plugin's helper is older than its sources",
            "the build after the last update failed, or has not ended; the log is ~/.local/state/sidecar/build.log",
            "scripts/build in the plugin's folder",
        )
    })
}

fn loaded(plugin: &Standing) -> Vec<Finding> {
    const LOAD: &str = "sidecar plugin load";
    if !plugin.loaded {
        let why = "nothing of this server is recorded";
        return vec![Finding::problem("plugin", "the plugin is not loaded in the server", why, LOAD).mended_by(Mend::Load)];
    }
    let hooks = match plugin.missing_hooks.as_slice() {
        [] => Finding::ok("hooks", "every hook is in its place"),
        missing => Finding::problem(
            "hooks",
            format!("hooks are missing: {}", missing.join(", ")),
            "what they tell is recorded later, by the timer, or not at all; another plugin's `set-hook -g` takes them",
            LOAD,
        )
        .mended_by(Mend::Load),
    };
    let timer = if plugin.timer_runs {
        Finding::ok("timer", "the timer runs")
    } else {
        Finding::problem("timer", "the timer has stopped", "a changed directory or program is not recorded", LOAD).mended_by(Mend::Load)
    };
    let keys = plugin.keys.iter().map(|key| {
        let id = format!("key_{}", key.verb);
        match &key.does {
            Does::Ours => Finding::ok(id, format!("prefix {} {}", key.key, key.verb)),
            Does::Nothing => {
                Finding::problem(id, format!("prefix {} does nothing", key.key), format!("it should open the menu that {}", key.verb), LOAD)
                    .mended_by(Mend::Load)
            }
            Does::Other(command) => Finding::note(
                id,
                format!("prefix {} does something else: {command}", key.key),
                format!("no key opens the menu that {}", key.verb),
                format!("in tmux.conf: set -g {} KEY (or none)", key.option),
            ),
        }
    });
    [Finding::ok("plugin", "the plugin is loaded"), hooks, timer].into_iter().chain(keys).collect()
}

fn config(facts: &Facts) -> Vec<Finding> {
    const ID: &str = "config";
    let problem = |wrong: &String| Finding::problem(ID, wrong, "it does not do what it is meant to do", "mend it where it stands");
    match facts.warnings.as_slice() {
        [] => vec![Finding::ok(ID, "the settings make sense")],
        wrong => wrong.iter().map(problem).collect(),
    }
}
