//! The one thread that opens, reads and hashes, beside the server's work and below its priority.
//!
//! Work comes in slices, so that calls take turns and a dropped call ends with its current slice.
//! Timeouts need no clock here: the caller waits between slices, and its own timer fires.

use std::panic::{self, AssertUnwindSafe};
use std::{io, thread};

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

/// The buffer alignment that reading past the system's cache needs, on any disk.
const BUFFER_ALIGNMENT: usize = 4_096;

/// Each call has at most one slice in the queue; a call that finds the queue full waits.
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
                // The caller notices a panic because no answer comes; other calls still need the
                // thread.
                let _ = panic::catch_unwind(AssertUnwindSafe(|| slice(buffer)));
            }
        })?;
        Ok(Self { slices })
    }

    /// Runs one slice of work on the thread, with a buffer of undefined content. The slice is
    /// skipped if the call was dropped before.
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

/// Makes the calling thread run only while no other thread wants its core. A low niceness is not
/// enough: such a thread still finishes its time slice. A sandbox may refuse the idle policy; then
/// the thread runs at normal priority.
fn step_back() {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let set = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    if let Err(error) = set {
        tracing::debug!(?error, "artifacts are read at the server's priority");
    }
}
