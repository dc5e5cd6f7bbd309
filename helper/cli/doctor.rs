//! `sidecar doctor`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::args::DoctorArgs;
use super::output::{colours, for_this_server, pad, paint, print, print_json, shown};
use super::{Context, lasting_path, own_path};
use crate::doctor::{Doctor, Finding, Level};
use crate::error::Result;

pub(super) fn doctor(context: &Context, options: &DoctorArgs) -> Result<ExitCode> {
    let (helper, lasting) = (own_path()?, lasting_path()?);
    let doctor = Doctor { server: &context.server, store: &context.store, config: &context.config, helper: &helper, lasting: &lasting };
    let found = doctor.findings(options.fix);
    if options.json {
        let findings: Vec<Value> = found.iter().map(finding_json).collect();
        print_json(&json!({ "schemaVersion": 1, "findings": findings }));
    } else {
        print(&text(&found, options.fix));
    }
    let well = found.iter().all(|finding| finding.level != Level::Problem);
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn finding_json(finding: &Finding) -> Value {
    let or_null = |text: &str| if text.is_empty() { Value::Null } else { for_this_server(text).into() };
    json!({
        "id": finding.id,
        "level": finding.level.word(),
        "what": finding.what,
        "why": or_null(&finding.why),
        "fix": or_null(&finding.fix),
        "fixed": finding.fixed,
    })
}

fn text(found: &[Finding], fix: bool) -> String {
    let colours = colours();
    let mut out = String::new();
    for finding in found {
        let (word, colour) = match finding.level {
            _ if finding.fixed => ("mended", "32"),
            Level::Ok => ("ok", "32"),
            Level::Note => ("note", "33"),
            Level::Problem => ("problem", "31"),
        };
        out.push_str(&format!("{}   {}\n", paint(&pad(word, 7), colour, colours), shown(&finding.what)));
        for (label, text) in [("", &finding.why), ("to do: ", &finding.fix)] {
            if !text.is_empty() {
                out.push_str(&format!("          {label}{}\n", shown(&for_this_server(text))));
            }
        }
    }
    if !fix && found.iter().any(|finding| finding.mend.is_some()) {
        out.push_str(&format!("\n{}\n", for_this_server("sidecar doctor --fix mends what it can without risk")));
    }
    out
}
