//! The `tasuki` executable.

use std::process::ExitCode;

// Requests allocate on one thread and free on another, which costs a third of the processor time
// with the default allocator. The crate replaces `malloc` in the whole executable. Named as the
// global allocator it would look at the alignment of each block, which costs a twentieth more.
#[cfg(target_os = "linux")]
use mimalloc as _;

#[cfg(not(target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tasuki::cli::run()
}
