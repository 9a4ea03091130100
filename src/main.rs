//! The `vademecum` program; the command line is in `vademecum::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    vademecum::cli::main()
}
