//! What one principal, or a whole teamspace, uses.

use protocol::quota::{Limits, Measure, Quota, Thing};
use protocol::rejection::Rejection;
use protocol::time::{Span, Time};

const NANOS_PER_MS: u64 = 1_000_000;
const MINUTE_NANOS: u64 = 60_000 * NANOS_PER_MS;
const DAY_NANOS: u64 = 24 * 60 * MINUTE_NANOS;

pub const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    pub requests: Bucket,
    pub sent: Bucket,
    pub entries: Bucket,
    pub daily: Bucket,
    pub stored_bytes: u64,
    pub open: [u32; Thing::ALL.len()],
}

/// A share of a minute or a day that refills steadily: the moment at which it is full again. A
/// caller that was quiet may use all of it at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bucket {
    full_at: u64,
}

impl Bucket {
    /// The bucket once so much is taken, or when that is possible.
    pub fn after(
        self,
        limits: &Limits,
        quota: Quota,
        n: u64,
        now: Time,
    ) -> Result<Bucket, Rejection> {
        let Some(size) = limits.counted(quota) else { return Ok(self) };
        let (token, now) = (token_nanos(quota, size), nanos(now));
        let empty = now.saturating_add(token.saturating_mul(size));
        let full_at = self.full_at.clamp(now, empty).saturating_add(token.saturating_mul(n));
        if full_at <= empty {
            return Ok(Bucket { full_at });
        }
        let limit = limits.of(quota).unwrap_or(size);
        if n > size {
            return Err(Rejection::LargerThanQuota { quota, limit });
        }
        let wait_ms = (full_at - empty).div_ceil(NANOS_PER_MS);
        let retry_after = Span::from_millis(i64::try_from(wait_ms).unwrap_or(i64::MAX));
        Err(Rejection::QuotaReached { quota, limit, retry_after })
    }

    /// The bucket as if so much had not been taken.
    pub fn before(self, limits: &Limits, quota: Quota, n: u64) -> Bucket {
        let Some(size) = limits.counted(quota) else { return self };
        let taken = token_nanos(quota, size).saturating_mul(n);
        Bucket { full_at: self.full_at.saturating_sub(taken) }
    }

    /// How much is taken now, rounded up.
    pub fn used(self, limits: &Limits, quota: Quota, now: Time) -> u64 {
        let Some(size) = limits.counted(quota) else { return 0 };
        let missing = self.full_at.saturating_sub(nanos(now));
        missing.div_ceil(token_nanos(quota, size)).min(size)
    }

    fn is_full(self, now: Time) -> bool {
        self.full_at <= nanos(now)
    }
}

impl Share {
    /// Whether it can be forgotten.
    pub fn is_unused(&self, now: Time) -> bool {
        let buckets = [self.requests, self.sent, self.entries, self.daily];
        self.stored_bytes == 0
            && self.open.iter().all(|n| *n == 0)
            && buckets.into_iter().all(|bucket| bucket.is_full(now))
    }

    /// Refuses what would not fit beside what is stored and what uploads have reserved.
    pub fn check_stored(
        &self,
        limits: &Limits,
        quota: Quota,
        reserved: u64,
        n_bytes: u64,
    ) -> Result<(), Rejection> {
        let Some(limit_kib) = limits.counted(quota) else { return Ok(()) };
        let taken = self.stored_bytes.saturating_add(reserved);
        if taken.saturating_add(n_bytes) <= limit_kib * KIB {
            return Ok(());
        }
        let (limit, used) = (limits.of(quota).unwrap_or_default(), taken / MIB);
        Err(Rejection::QuotaFull { quota, limit, used })
    }

    /// Refuses one more than may be open.
    pub fn check_open(&self, limits: &Limits, quota: Quota, thing: Thing) -> Result<(), Rejection> {
        let Some(limit) = limits.of(quota) else { return Ok(()) };
        let used = u64::from(self.open[thing as usize]);
        if used < limit { Ok(()) } else { Err(Rejection::QuotaFull { quota, limit, used }) }
    }

    /// What of a quota is used, in the unit of its setting, rounded up.
    pub fn used(&self, limits: &Limits, quota: Quota, now: Time) -> u64 {
        match quota.measure() {
            Measure::Requests => self.requests.used(limits, quota, now),
            Measure::Sent => self.sent.used(limits, quota, now),
            Measure::Entries => self.entries.used(limits, quota, now),
            Measure::Daily => self.daily.used(limits, quota, now).div_ceil(MIB / KIB),
            Measure::Stored => self.stored_bytes.div_ceil(MIB),
            Measure::Open(thing) => u64::from(self.open[thing as usize]),
        }
    }
}

/// How long one unit takes to refill.
fn token_nanos(quota: Quota, size: u64) -> u64 {
    let period = match quota.measure() {
        Measure::Requests | Measure::Sent | Measure::Entries => MINUTE_NANOS,
        Measure::Daily => DAY_NANOS,
        Measure::Stored | Measure::Open(_) => unreachable!("these do not refill"),
    };
    (period / size).max(1)
}

fn nanos(now: Time) -> u64 {
    now.as_millis().unsigned_abs().saturating_mul(NANOS_PER_MS)
}
