//! The `tasuki` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    tasuki::cli::run()
}
