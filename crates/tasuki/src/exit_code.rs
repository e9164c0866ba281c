//! What the process's exit code means. Scripts rely on these.

/// It worked.
pub const OK: u8 = 0;
/// It failed, or a check such as `audit verify` found something.
pub const FAILED: u8 = 1;
/// The command line or the configuration is invalid.
pub const USAGE: u8 = 2;
/// The server refused: the answer's `code` says why.
pub const REFUSED: u8 = 3;
/// No server could be reached, or it did not answer.
pub const UNREACHABLE: u8 = 4;
/// The data folder is in use by another server.
pub const IN_USE: u8 = 5;
