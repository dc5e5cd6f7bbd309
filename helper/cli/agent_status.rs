//! `sidecar agent status`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::agent::program;
use super::output::{colours, columns, directory, paint, print, print_json, print_notices, shown};
use super::own_path;
use crate::agents::integration::Integration;
use crate::error::Result;
use crate::model::{RawText, ResumeLine};
use crate::shells::{AgentState, PaneAgent};
use crate::tmux::shell_line;

pub(super) fn status(context: &Context, json: bool) -> Result<ExitCode> {
    let helper = own_path()?;
    let listing =
        context.shells().agents(&|agent| Some(Integration::of(agent).ok().flatten()?.status(&helper, program(agent).as_deref())))?;
    if json {
        let rows: Vec<Value> = listing.rows.iter().map(row_json).collect();
        print_json(&json!({ "schemaVersion": 1, "notices": listing.notices, "agents": rows }));
    } else {
        print_notices(&listing.notices);
        print(&text(&listing.rows));
    }
    Ok(ExitCode::SUCCESS)
}

fn row_json(row: &PaneAgent) -> Value {
    json!({
        "shell": row.shell,
        "place": row.place,
        "pane": row.pane,
        "tmuxPane": row.tmux,
        "kind": row.kind,
        "id": row.id,
        "state": row.state.word(),
        "reason": row.reason,
        "detail": row.detail,
        "hint": row.hint,
        "workDir": row.work_dir,
        "resume": row.line.as_ref().map(line),
    })
}

fn text(rows: &[PaneAgent]) -> String {
    if rows.is_empty() {
        return "No agent runs in a pane, and none could come back.\n".to_owned();
    }
    let cells = |row: &PaneAgent| {
        let colour = if row.state == AgentState::NotCaptured { "33" } else { "32" };
        let state = paint(&row.state.word().replace('_', " "), colour, colours());
        let detail = if row.detail.is_empty() { String::new() } else { format!("; {}", shown(&row.detail)) };
        [shown(&row.place), shown(&row.title), format!("{state}{detail}")]
    };
    let mut out = String::new();
    for (row, cells) in rows.iter().zip(columns(rows.iter().map(cells).collect())) {
        out.push_str(&format!("{}\n", cells.join("   ")));
        if !row.hint.is_empty() {
            out.push_str(&format!("    to do: {}\n", shown(&row.hint)));
        }
        if let Some(dir) = &row.work_dir {
            out.push_str(&format!("    in {}\n", directory(dir)));
        }
        if let Some(words) = &row.line {
            out.push_str(&format!("    {}\n", shown(&line(words))));
        }
    }
    out
}

/// A line for a shell.
fn line(resume: &ResumeLine) -> String {
    let quoted = |words: &[RawText]| {
        let words: Vec<_> = words.iter().map(RawText::display).collect();
        shell_line(&words.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    };
    // An assignment is none if its name is quoted.
    let variable = resume.variable.iter().map(|(name, value)| format!("{name}={} ", quoted(std::slice::from_ref(value))));
    format!("cd {} && {}{}", quoted(std::slice::from_ref(&resume.dir)), variable.collect::<String>(), quoted(&resume.words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_quoted_where_a_shell_would_read_it_otherwise() {
        let words = ["claude", "--append-system-prompt=two words; $(x)", "--name=it's", "--resume", "id"];
        let resume = ResumeLine {
            dir: "/w/a b".into(),
            variable: Some(("CLAUDE_CONFIG_DIR".into(), "/c".into())),
            without: Vec::new(),
            program: None,
            words: words.map(RawText::from).to_vec(),
        };
        assert_eq!(
            line(&resume),
            r"cd '/w/a b' && CLAUDE_CONFIG_DIR=/c claude '--append-system-prompt=two words; $(x)' '--name=it'\''s' --resume id"
        );
    }
}
