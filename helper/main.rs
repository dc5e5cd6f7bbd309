//! The `sidecar` program.

fn main() -> std::process::ExitCode {
    sidecar::cli::main()
}
