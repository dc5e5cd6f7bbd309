//! `sidecar session status --all-servers`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::{Cli, StatusArgs};
use super::output::{colours, columns, paint, print, print_json, shown};
use super::session::{server_words, status_json};
use super::when::as_of;
use crate::error::{Error, Exit, Result};
use crate::model::{Action, Plan, ServerReport, ServerState, count};
use crate::restore::{Asked, Source};
use crate::store::{Config, Store};

/// One server of the list.
struct Row {
    store: Store,
    host_name: Option<String>,
    plan: Plan,
    notices: Vec<String>,
}

pub(super) fn status(cli: &Cli, options: &StatusArgs) -> Result<ExitCode> {
    if cli.socket_name.is_some() || cli.socket_path.is_some() {
        return Err(Error::failed("usage", "--all-servers shows every server: -L and -S choose one").exit(Exit::Usage));
    }
    let config = Config::read();
    let as_of = as_of(options.as_of.as_deref())?;
    if let Some(name) = as_of.snapshot {
        return Err(Error::failed("usage", format!("--as-of {name}: a snapshot is that of one server, and --all-servers shows many"))
            .exit(Exit::Usage));
    }
    let asked = Asked { agents: true, as_of: as_of.time };
    let stores = Store::all()?;
    // A server that hangs keeps nobody but itself waiting.
    let rows: Vec<Row> = std::thread::scope(|scope| {
        let row = |store: &Store| row(store, &config, asked);
        let begun: Vec<_> = stores.iter().map(|store| scope.spawn(move || row(store))).collect();
        begun.into_iter().filter_map(|row| row.join().ok()).collect()
    });
    if options.json {
        let servers: Vec<Value> = rows.iter().map(|row| row_json(row, &config)).collect();
        print_json(&json!({ "schemaVersion": 1, "servers": servers }));
    } else {
        print(&text(&rows));
    }
    Ok(ExitCode::SUCCESS)
}

/// Records that can't be read are told of, and keep no other server from being shown.
fn row(store: &Store, config: &Config, asked: Asked) -> Row {
    let store = store.clone();
    match Source::situation(&store, config) {
        Ok(situation) => {
            let notices = situation.notices.iter().chain(&config.warnings).cloned().collect();
            Row { host_name: situation.state.host_name.clone(), plan: situation.plan_for(asked), notices, store }
        }
        Err(error) => {
            let (state, detail, last_seen) = (ServerState::Unknown, Some(error.message), store.last_look());
            let server = ServerReport { socket: String::new(), state, pid: None, version: None, detail, last_seen };
            Row { host_name: None, plan: Plan { server, steps: Vec::new() }, notices: Vec::new(), store }
        }
    }
}

fn row_json(row: &Row, config: &Config) -> Value {
    let mut document = status_json(&row.plan, &config.resume_agents, &row.notices);
    document["host"] = row.store.host_key().into();
    document["hostName"] = row.host_name.clone().into();
    document["thisHost"] = row.store.is_of_this_host().into();
    document["store"] = row.store.name().into();
    document
}

/// How many shells wait to be restored, or to be taken over.
fn waiting(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| step.action.makes() || step.action == Action::Refuse).count()
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "Nothing is recorded of any server.\n".to_owned();
    }
    let colours = colours();
    let mut out = format!("{} · {}\n\n", paint("SERVERS", "1", colours), count(rows.len(), "server"));
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let host = match &row.host_name {
                _ if row.store.is_of_this_host() => "this host".to_owned(),
                Some(name) if !name.is_empty() => shown(name),
                _ => "another host".to_owned(),
            };
            let waiting = match waiting(&row.plan) {
                0 => "nothing waits".to_owned(),
                1 => "1 shell waits".to_owned(),
                number => format!("{number} shells wait"),
            };
            [row.store.name(), host, waiting, server_words(&row.plan)]
        })
        .collect();
    for (row, cells) in rows.iter().zip(columns(cells)) {
        out.push_str(&format!("  {}\n", cells.join("   ")));
        let detail = row.plan.server.detail.as_ref().filter(|_| row.store.is_of_this_host());
        out.extend(detail.into_iter().chain(&row.notices).map(|said| format!("    {}\n", paint(&shown(said), "33", colours))));
    }
    out.push_str(
        "\n  one server's shells:   sidecar -L NAME session status\n  take them over here:   sidecar session restore --from HOST/SERVER\n",
    );
    out
}
