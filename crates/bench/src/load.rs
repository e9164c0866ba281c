//! The load: callers that each do one transition after the other, and their measurements.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use engine::ports::clock::{Clock, SystemClock};
use protocol::time::Span;

use super::usage::{Process, Usage};

/// A caller. It has one request under way at a time.
pub trait Walker: Send + 'static {
    /// Takes one handoff from its proposal to its end, and notes every transition.
    fn walk(&mut self, meter: &mut Meter) -> impl Future<Output = Result<()>> + Send;
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub warm_up: Duration,
    pub measured: Duration,
}

/// The measurements of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Bytes that the process wrote to disk, from `/proc`: everything, not only the rows.
    pub bytes_per_transition: Option<f64>,
    pub cpu_us_per_transition: Option<f64>,
    pub resident_mib: Option<f64>,
    pub peak_mib: Option<f64>,
}

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const OVER: u8 = 2;

/// One caller's measurements.
#[derive(Debug)]
pub struct Meter {
    phase: Arc<AtomicU8>,
    latencies_us: Vec<u32>,
}

impl Meter {
    /// Notes nothing.
    pub fn idle() -> Self {
        Self { phase: Arc::new(AtomicU8::new(WARMING)), latencies_us: Vec::new() }
    }

    /// Runs one transition, and counts it if it ends within the window.
    pub async fn time<T>(&mut self, transition: impl Future<Output = Result<T>>) -> Result<T> {
        let started = now();
        let done = transition.await?;
        if self.phase.load(Ordering::Relaxed) == MEASURING {
            self.latencies_us
                .push(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
        Ok(done)
    }

    fn is_over(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == OVER
    }
}

/// Lets the callers walk until the window is over. `process` is the one whose use is measured.
pub async fn drive<W: Walker>(walkers: Vec<W>, window: Window, process: Process) -> Result<Seen> {
    let phase = Arc::new(AtomicU8::new(WARMING));
    let mut tasks = Vec::with_capacity(walkers.len());
    for mut walker in walkers {
        let mut meter = Meter { phase: Arc::clone(&phase), latencies_us: Vec::new() };
        tasks.push(tokio::spawn(async move {
            while !meter.is_over() {
                walker.walk(&mut meter).await?;
            }
            anyhow::Ok(meter.latencies_us)
        }));
    }
    sleep(window.warm_up).await;
    process.forget_peak();
    let before = process.usage();
    let started = now();
    phase.store(MEASURING, Ordering::Relaxed);
    sleep(window.measured).await;
    phase.store(OVER, Ordering::Relaxed);
    let elapsed = started.elapsed();
    let after = process.usage();
    let mut latencies_us = Vec::new();
    for task in tasks {
        latencies_us.extend(task.await.context("a caller ended in a panic")??);
    }
    Ok(sum_up(latencies_us, elapsed, before, after))
}

fn sum_up(
    mut latencies_us: Vec<u32>,
    elapsed: Duration,
    before: Option<Usage>,
    after: Option<Usage>,
) -> Seen {
    latencies_us.sort_unstable();
    let n_transitions = latencies_us.len().max(1) as f64;
    let percentile = |hundredths: usize| {
        let at = latencies_us.len() * hundredths / 100;
        latencies_us.get(at).or(latencies_us.last()).map_or(0.0, |us| f64::from(*us) / 1_000.0)
    };
    let each = |of: fn(&Usage) -> u64| {
        let (before, after) = (before.as_ref()?, after.as_ref()?);
        Some(of(after).saturating_sub(of(before)) as f64 / n_transitions)
    };
    let mib = |of: fn(&Usage) -> u64| after.as_ref().map(|usage| of(usage) as f64 / 1_048_576.0);
    Seen {
        per_second: latencies_us.len() as f64 / elapsed.as_secs_f64(),
        p50_ms: percentile(50),
        p99_ms: percentile(99),
        bytes_per_transition: each(|usage| usage.written_bytes),
        cpu_us_per_transition: each(|usage| usage.cpu_us),
        resident_mib: mib(|usage| usage.resident_bytes),
        peak_mib: mib(|usage| usage.peak_bytes),
    }
}

/// For measuring only; nothing is decided by it.
#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
pub fn now() -> Instant {
    Instant::now()
}

pub async fn sleep(duration: Duration) {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    SystemClock.sleep(Span::from_millis(millis)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_rates_are_those_of_the_sample() {
        let latencies_us = (1..=100).map(|ms| ms * 1_000).rev().collect();
        let usage = |cpu_us, written_bytes| {
            let (resident_bytes, peak_bytes) = (1_048_576, 2_097_152);
            Some(Usage { cpu_us, written_bytes, resident_bytes, peak_bytes })
        };
        let seen = sum_up(latencies_us, Duration::from_secs(2), usage(5, 0), usage(105, 900));
        assert_eq!((seen.per_second, seen.p50_ms, seen.p99_ms), (50.0, 51.0, 100.0));
        assert_eq!(seen.cpu_us_per_transition, Some(1.0));
        assert_eq!(seen.bytes_per_transition, Some(9.0));
        assert_eq!((seen.resident_mib, seen.peak_mib), (Some(1.0), Some(2.0)));
    }

    #[test]
    fn nothing_seen_is_no_division_by_zero() {
        let seen = sum_up(Vec::new(), Duration::from_secs(1), None, None);
        assert_eq!((seen.per_second, seen.p99_ms, seen.peak_mib), (0.0, 0.0, None));
    }
}
