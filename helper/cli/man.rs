//! `sidecar man`: the manual's pages, made of the same definitions as the help.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use super::args::Cli;
use super::output::print;
use crate::error::{Error, Result};

/// Prints sidecar(1), or writes it and a page for each command into a folder.
pub(super) fn man(out: Option<&Path>) -> Result<ExitCode> {
    let failed =
        |error: &std::io::Error, dir: &Path| Error::failed("not_written", format!("cannot write the manual to {}: {error}", dir.display()));
    match out {
        Some(dir) => {
            fs_err::create_dir_all(dir)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
                .map_err(|error| failed(&error, dir))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(|error| failed(&error, Path::new("standard output")))?;
            print(&String::from_utf8_lossy(&page));
        }
    }
    Ok(ExitCode::SUCCESS)
}
