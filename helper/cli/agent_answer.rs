//! `sidecar agent answer`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::Context;
use super::args::AnswerArgs;
use super::output::{colours, paint, print, print_json, print_notices, shown, table};
use crate::error::{Exit, Result};
use crate::model::Answer;
use crate::shells::{AnswerRow, AnswerStatus};

pub(super) fn answer(context: &Context, options: &AnswerArgs) -> Result<ExitCode> {
    let answers = context.shells().answer(options.choice.map_or(Answer::Full, Answer::Choice), options.dry_run)?;
    if options.json {
        let panes: Vec<Value> = answers.rows.iter().map(row_json).collect();
        print_json(&json!({ "schemaVersion": 1, "dryRun": options.dry_run, "notices": answers.notices, "panes": panes }));
    } else {
        print_notices(&answers.notices);
        print(&text(&answers.rows));
    }
    let failed = answers.rows.iter().any(|row| row.status == AnswerStatus::Failed);
    Ok(if failed { Exit::Failed.into() } else { ExitCode::SUCCESS })
}

fn row_json(row: &AnswerRow) -> Value {
    json!({
        "place": row.place,
        "pane": row.pane,
        "tmux": row.tmux,
        "kind": row.kind,
        "dialog": row.dialog,
        "status": row.status.word(),
        "choice": row.choice,
        "reason": row.reason,
        "detail": row.detail,
    })
}

fn text(rows: &[AnswerRow]) -> String {
    if rows.is_empty() {
        return "Nothing to answer: no agent waits at a question.\n".to_owned();
    }
    let cells = |row: &AnswerRow| {
        let colour = match row.status {
            AnswerStatus::Answered | AnswerStatus::WouldAnswer => "32",
            AnswerStatus::Waiting => "33",
            AnswerStatus::Failed => "31",
        };
        let status = paint(&row.status.word().replace('_', " "), colour, colours());
        let choice = row.choice.map(|choice| format!("{choice}, ")).unwrap_or_default();
        let last = format!("{status}: {choice}{}", shown(&row.detail));
        [shown(&row.place), shown(&row.title), row.dialog.replace('_', " "), last]
    };
    table(rows.iter().map(cells).collect())
}
