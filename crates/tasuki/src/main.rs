//! The `tasuki` executable.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests allocate on one thread and free on another, which the usual allocator pays for with a
/// third of the processor.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    tasuki::cli::run()
}
