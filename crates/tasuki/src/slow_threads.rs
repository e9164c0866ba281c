//! The threads of the slow lane. Their priority is lower, so that what runs there gives way to
//! everything else that the server does.

use std::io;

use engine::slow_thread;
use gateways::slow_lane::Runtimes;
use tokio::runtime::{Builder, Handle, Runtime};

/// Ends its threads when it is dropped.
#[derive(Debug)]
pub struct SlowThreads(Option<Runtime>);

impl SlowThreads {
    /// One less than there are processors: a thread that wakes finds one that is free at once, and
    /// need not wait until the system takes it from a slow one.
    pub fn start() -> io::Result<Self> {
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads(n_processors.saturating_sub(1).max(1));
        threads.thread_name("slow").on_thread_start(slow_thread::give_way).enable_all();
        Ok(Self(Some(threads.build()?)))
    }

    /// These threads, beside those of the caller.
    pub fn runtimes(&self) -> Option<Runtimes> {
        let slow = self.0.as_ref().map(Runtime::handle).cloned()?;
        Some(Runtimes { fast: Handle::current(), slow })
    }
}

impl Drop for SlowThreads {
    fn drop(&mut self) {
        // A runtime cannot be waited for within another.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
