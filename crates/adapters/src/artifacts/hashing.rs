//! The one thread that opens, reads and hashes, beside the server's work and below its priority.
//!
//! Work comes in slices, so that calls take turns, a dropped call is over with the slice it is in,
//! and time limits need no clock here: between slices the caller waits, and its timer sees it.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use protocol::handoff::artifact::Finding;
use thread_priority::ThreadPriority;
use thread_priority::unix::{
    NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use tokio::sync::{mpsc, oneshot};

use super::unavailable;

/// Large enough that a read costs little beside hashing what it brought, small enough to stay in
/// the cache of one core.
const BUFFER_BYTES: usize = 256 * 1024;

/// What reading past the cache of the system asks of a buffer, on any disk.
const BUFFER_ALIGNMENT: usize = 4_096;

/// Each call has one slice in line at most; a call that finds the line full waits in front of it.
const SLICES_WAITING_MAX: usize = 16;

type Slice = Box<dyn FnOnce(&mut [u8]) + Send>;

/// A handle to the thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Hashing {
    slices: mpsc::Sender<Slice>,
}

impl Hashing {
    pub fn start() -> io::Result<Self> {
        let (slices, mut waiting) = mpsc::channel::<Slice>(SLICES_WAITING_MAX);
        thread::Builder::new().name("artifacts".to_owned()).spawn(move || {
            step_back();
            let mut buffer = vec![0; BUFFER_BYTES + BUFFER_ALIGNMENT];
            let aligned = buffer.as_ptr().align_offset(BUFFER_ALIGNMENT);
            let buffer = &mut buffer[aligned..][..BUFFER_BYTES];
            while let Some(slice) = waiting.blocking_recv() {
                // The caller learns of a panic from the answer that does not come; the others
                // still need the thread.
                let _ = panic::catch_unwind(AssertUnwindSafe(|| slice(buffer)));
            }
        })?;
        Ok(Self { slices })
    }

    /// Does one slice of work on the thread, with a buffer whose content means nothing. It is not
    /// begun if the caller is gone by then.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut [u8]) -> T + Send + 'static,
    ) -> Result<T, Finding> {
        let failed = || unavailable("the thread that reads artifacts failed");
        let (answer, answered) = oneshot::channel();
        let slice = Box::new(move |buffer: &mut [u8]| {
            if !answer.is_closed() {
                let _ = answer.send(work(buffer));
            }
        });
        self.slices.send(slice).await.map_err(|_| failed())?;
        answered.await.map_err(|_| failed())
    }
}

/// Makes the calling thread run only while nobody else on its core wants to. Being merely nice is
/// not enough: a nice thread is still let finish what it is at. A sandbox may refuse it, and then
/// the thread competes as an equal.
fn step_back() {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let set = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    if let Err(error) = set {
        tracing::debug!(?error, "artifacts are read at the server's priority");
    }
}
