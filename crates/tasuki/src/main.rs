//! The `tasuki` executable.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests allocate on one thread and free on another, which costs a third of the processor time
/// with the default allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    tasuki::cli::run()
}
