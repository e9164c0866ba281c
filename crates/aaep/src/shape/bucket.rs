//! The rate limit of a subscription: a token bucket.

use base::time::Time;

/// Times are in microseconds, so that high rates are exact; the clock is in milliseconds.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// The time that one event takes at the even pace.
    interval: i64,
    /// How far ahead of the even pace a burst may run.
    ahead: i64,
    /// When the even pace would allow the next event.
    even: i64,
}

const MICROS_PER_SECOND: i64 = 1_000_000;

/// The share of a second's events that may come at once. At small rates each event comes alone. So
/// in any time with room for five events, and in any second of more than ten, there are at most 1.2
/// times as many as the rate allows.
const BURST_PART: u32 = 10;

impl Bucket {
    /// A bucket that is full at first.
    pub fn new(per_second: u32) -> Self {
        let per_second = per_second.max(1);
        // Rounded up: never faster.
        let interval = (MICROS_PER_SECOND as u32).div_ceil(per_second).into();
        let burst = (per_second / BURST_PART).max(1);
        Self { interval, ahead: interval * i64::from(burst - 1), even: 0 }
    }

    pub fn allows(&self, now: Time) -> bool {
        micros(now) >= self.even - self.ahead
    }

    /// One event goes out.
    pub fn take(&mut self, now: Time) {
        self.even = self.even.max(micros(now)) + self.interval;
    }

    /// How many events may go out now.
    pub fn available(&self, now: Time) -> usize {
        let spare = micros(now) + self.ahead - self.even.max(micros(now));
        if spare < 0 { 0 } else { (spare / self.interval + 1) as usize }
    }

    /// When the next event may go out.
    pub fn next_at(&self) -> Time {
        // Rounded up to milliseconds.
        Time::from_millis((self.even - self.ahead).max(0).saturating_add(999) / 1000)
    }
}

fn micros(time: Time) -> i64 {
    time.as_millis() * 1000
}
