//! How long a connection may take to send the head of a request.
//!
//! hyper has one timeout for both the silence between two requests and the time a head takes once
//! it has begun. We want the first long, so that callers can keep their connections, and the
//! second short. hyper asks its timer for a new sleep whenever it starts to wait for a head, so a
//! timer that knows whether bytes have arrived can tell the two apart. It must not know about
//! sockets or handlers.
//!
//! The waits of a connection run on the runtime's timer and not on the `Clock` port: they measure
//! the network, and no outcome of a handoff depends on them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;

use super::spare_sleep::{LentSleep, SpareSleep};

/// Flags that the parts of one connection share. They run in one task, so the flags need no memory
/// ordering between them.
#[derive(Debug, Default)]
pub(super) struct Activity {
    heard: AtomicBool,
    /// Requests whose head has arrived.
    n_requests: AtomicU64,
    body_announced: AtomicBool,
    /// The number of the request whose head has two lengths, counted from one; 0 if there is none.
    ambiguous: AtomicU64,
}

impl Activity {
    /// Bytes arrived.
    pub(super) fn hear(&self) {
        self.heard.store(true, Ordering::Relaxed);
    }

    /// A whole head arrived, and perhaps announced a body.
    pub(super) fn begin_request(&self, body_announced: bool) {
        // A head that was read together with the one before it is not noted as bytes of its own.
        self.hear();
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        self.body_announced.store(body_announced, Ordering::Relaxed);
    }

    /// The head of this request, counted from one, has both `Content-Length` and
    /// `Transfer-Encoding`. It may have been read together with requests before it.
    pub(super) fn doubt(&self, n_request: u64) {
        self.ambiguous.store(n_request, Ordering::Relaxed);
    }

    /// Whether the latest request is the one with two lengths.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.ambiguous.load(Ordering::Relaxed) == self.n_requests.load(Ordering::Relaxed)
    }

    /// Whether the latest request came with a body, which may still be on its way.
    pub(super) fn body_announced(&self) -> bool {
        self.body_announced.load(Ordering::Relaxed)
    }

    /// Whether this is a kept connection on which nothing has arrived since the last answer.
    pub(super) fn is_resting(&self) -> bool {
        self.has_served() && !self.heard.load(Ordering::Relaxed)
    }

    fn has_served(&self) -> bool {
        self.n_requests.load(Ordering::Relaxed) > 0
    }

    fn rest(&self) {
        self.heard.store(false, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(super) struct HeadTimer {
    pub(super) activity: Arc<Activity>,
    pub(super) head_read_max: Duration,
    pub(super) keep_alive_max: Duration,
    pub(super) spare: Arc<SpareSleep>,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    /// hyper computes `deadline` from the head timeout. It holds for the first head of a
    /// connection, silence included; later heads may be waited for longer.
    ///
    /// The next head may already have begun, in the bytes hyper read together with the last
    /// request. We do not see that and allow it the long wait, which its sender could have had
    /// by staying silent.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let waits_for_first_byte = self.activity.has_served();
        let deadline = if waits_for_first_byte {
            self.activity.rest();
            deadline - self.head_read_max + self.keep_alive_max
        } else {
            deadline
        };
        Box::pin(HeadSleep {
            activity: Arc::clone(&self.activity),
            head_read_max: self.head_read_max,
            waits_for_first_byte,
            sleep: self.spare.sleep_until(deadline),
        })
    }

    fn now(&self) -> Instant {
        TokioTimer::new().now()
    }
}

struct HeadSleep {
    activity: Arc<Activity>,
    head_read_max: Duration,
    waits_for_first_byte: bool,
    sleep: LentSleep,
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.waits_for_first_byte && !self.activity.is_resting() {
            self.waits_for_first_byte = false;
            let head_read_max = self.head_read_max;
            self.sleep.restart(head_read_max);
        }
        Pin::new(&mut self.sleep).poll(context)
    }
}
