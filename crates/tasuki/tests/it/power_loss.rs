//! The state after a power failure: a harness that records every write of a process, and builds the
//! disks that a power cut at any moment could have left behind.
//!
//! A `kill -9` proves nothing about power loss, because the page cache survives it. Here a process
//! runs under a preloaded recorder ([`record`]); its log ([`Log`]) is replayed up to a cut; what
//! was synced by then is on the disk, of the rest any subset of sectors and names may be. For each
//! such image [`check_images`] asks a closure whether everything acknowledged before the cut is
//! still there.
//!
//! To use it:
//! 1. `record(&mut command, root, log)` before spawning; `root` is empty and is all that counts.
//! 2. Drive the process; for each answer keep `Ack::received(…)`.
//! 3. Kill it, when idle, and assert that `Log::read(log, root)?.unrecorded(root)?` is empty:
//!    then nothing slipped past the recorder.
//! 4. `check_images(&log, &acks, n_images, seed, |image, acks| …)`; assert on the [`Report`],
//!    also on its `reached`, for a run that never tore a write has proved little.
//!
//! The modules, in reading order. Only `server_images` and `file_images` know the server.

mod record;

mod log;

mod disk;

mod images;

mod random;

mod verify;

mod file_images;
mod model_test;
mod self_test;
mod server_images;

pub use log::Log;
pub use random::Random;
pub use record::{compile, monotonic_ns, record};
pub use verify::{Ack, Reached, Report, check_images};
