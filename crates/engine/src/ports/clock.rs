//! The only place that reads a clock or waits for one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use protocol::time::{Span, Time};
use tokio::sync::watch;

/// Server time. Implementations may jump in either direction; nothing that decides relies on time
/// only moving forward.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Time;

    /// Completes when `span` has passed on this clock.
    fn sleep(&self, span: Span) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock of the server")]
    fn now(&self) -> Time {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one clock of the server")]
    fn sleep(&self, span: Span) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let millis = u64::try_from(span.as_millis()).unwrap_or(0);
        Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
    }
}

/// Waits in real time, for what is limited in real time.
#[expect(clippy::disallowed_methods, reason = "this is the one clock of the server")]
pub async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Measures how long something takes, for metrics, rests and time limits.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the one clock of the server")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Lets the calling thread rest for as long as it has been at work, and not longer than `most`.
    #[expect(clippy::disallowed_methods, reason = "this is the one clock of the server")]
    pub fn rest(self, most: Duration) {
        std::thread::sleep(self.0.elapsed().min(most));
    }
}

/// A clock that a test moves.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Time>,
    moved: watch::Sender<Time>,
}

impl ManualClock {
    pub fn starting_at(now: Time) -> Self {
        Self { now: Mutex::new(now), moved: watch::channel(now).0 }
    }

    pub fn set(&self, now: Time) {
        *self.now.lock().expect("nothing panics while holding the clock") = now;
        self.moved.send_replace(now);
    }

    pub fn advance(&self, span: Span) {
        self.set(self.now().plus(span));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        *self.now.lock().expect("nothing panics while holding the clock")
    }

    fn sleep(&self, span: Span) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let until = self.now().plus(span);
        let mut moved = self.moved.subscribe();
        Box::pin(async move {
            // A dropped clock never moves again, so nothing more can happen on it.
            let _ = moved.wait_for(|now| *now >= until).await;
        })
    }
}
