//! Token buckets: how often one principal, tenant or address may call.
//!
//! A bucket is one number, the moment at which it will be full again, so a bucket that is full
//! need not be kept at all. It must not read a clock (the time is an argument), nor know who the
//! callers are: a key is only hashed.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Mutex, MutexGuard};

/// Buckets remembered at once, over all shards. At 16 bytes and the slack of a hash table this is
/// about 2 MB. A full bucket is not stored, so only recent callers count. Past the maximum the
/// fuller half of a shard is dropped: a caller with a single call gets its token back, and a caller
/// close to its limit is kept.
pub const KEYS_MAX: usize = 65_536;

/// A lock is held for tens of nanoseconds; with sixteen locks even 64 cores hardly contend.
const N_SHARDS: usize = 16;

const KEYS_PER_SHARD_MAX: usize = KEYS_MAX / N_SHARDS;

const NANOS_PER_MS: u64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_MINUTE: u64 = 60 * NANOS_PER_SECOND;

/// How fast a bucket refills and how much it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub per_minute: NonZeroU32,
    pub burst: NonZeroU32,
}

/// The caller has no token left; the next one is there after this many whole seconds, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAfter {
    pub seconds: u64,
}

#[derive(Debug)]
pub struct RateLimiter {
    token_nanos: u64,
    bucket_nanos: u64,
    // Seeded at random, so a caller cannot choose keys that share a bucket with another caller's.
    hasher: RandomState,
    shards: [Mutex<Shard>; N_SHARDS],
}

impl RateLimiter {
    pub fn new(limit: RateLimit) -> Self {
        let token_nanos = (NANOS_PER_MINUTE / u64::from(limit.per_minute.get())).max(1);
        Self {
            token_nanos,
            bucket_nanos: token_nanos.saturating_mul(u64::from(limit.burst.get())),
            hasher: RandomState::new(),
            shards: Default::default(),
        }
    }

    /// A limit per hour, for rare actions.
    pub fn per_hour(tokens: NonZeroU32) -> Self {
        let token_nanos = 60 * NANOS_PER_MINUTE / u64::from(tokens.get());
        let bucket_nanos = 60 * NANOS_PER_MINUTE;
        let (hasher, shards) = (RandomState::new(), Default::default());
        Self { token_nanos, bucket_nanos, hasher, shards }
    }

    /// How many tokens of `key` are left.
    pub fn left(&self, key: &(impl Hash + ?Sized), now_ms: u64) -> u64 {
        let (hash, shard) = self.shard_of(key);
        let now = now_ms.saturating_mul(NANOS_PER_MS);
        let missing = self.full_at(&shard, hash, now) - now;
        self.bucket_nanos.saturating_sub(missing) / self.token_nanos
    }

    /// Takes one token of `key`, or says when to retry.
    ///
    /// `now_ms` may be any clock as long as it is always the same one. If it jumps back, no caller
    /// is refused longer than an empty bucket takes to refill.
    pub fn check(&self, key: &(impl Hash + ?Sized), now_ms: u64) -> Result<(), RetryAfter> {
        self.check_many(key, 1, now_ms)
    }

    /// Takes several tokens or none. More tokens than a bucket holds are always refused.
    pub fn check_many(
        &self,
        key: &(impl Hash + ?Sized),
        n: u64,
        now_ms: u64,
    ) -> Result<(), RetryAfter> {
        let (hash, mut shard) = self.shard_of(key);
        let now = now_ms.saturating_mul(NANOS_PER_MS);
        let before = self.full_at(&shard, hash, now);
        let after = self.take(n, before, now);
        // Stored on refusal too: `before` may be newer than the stored value, see `full_at`.
        shard.remember(hash, after.unwrap_or(before), now);
        after.map(|_| ())
    }

    /// Returns a token that [`check`](Self::check) took for something that did not happen.
    pub fn give_back(&self, key: &(impl Hash + ?Sized), now_ms: u64) {
        self.give_back_many(key, NonZeroU64::MIN, now_ms);
    }

    /// The same for several tokens.
    pub fn give_back_many(&self, key: &(impl Hash + ?Sized), n: NonZeroU64, now_ms: u64) {
        let (hash, mut shard) = self.shard_of(key);
        let now = now_ms.saturating_mul(NANOS_PER_MS);
        let given = self.token_nanos.saturating_mul(n.get());
        let fuller = self.full_at(&shard, hash, now).saturating_sub(given);
        // A bucket that is full is not remembered.
        match fuller > now {
            true => shard.remember(hash, fuller, now),
            false => drop(shard.full_at.remove(&hash)),
        }
    }

    /// What [`check`](Self::check) would say, without taking the token. For limits on failures:
    /// look before the attempt, take a token only when it failed.
    pub fn peek(&self, key: &(impl Hash + ?Sized), now_ms: u64) -> Result<(), RetryAfter> {
        let (hash, shard) = self.shard_of(key);
        let now = now_ms.saturating_mul(NANOS_PER_MS);
        self.take(1, self.full_at(&shard, hash, now), now).map(|_| ())
    }

    /// Buckets remembered now, for the metrics.
    pub fn n_keys(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).full_at.len()).sum()
    }

    fn shard_of(&self, key: &(impl Hash + ?Sized)) -> (u64, MutexGuard<'_, Shard>) {
        let hash = self.hasher.hash_one(key);
        (hash, lock(&self.shards[hash as usize % N_SHARDS]))
    }

    /// At most the time of an empty bucket: a later moment was stored before the clock went back.
    fn full_at(&self, shard: &Shard, hash: u64, now: u64) -> u64 {
        let empty = now.saturating_add(self.bucket_nanos);
        shard.full_at.get(&hash).map_or(now, |remembered| (*remembered).clamp(now, empty))
    }

    fn take(&self, n: u64, full_at: u64, now: u64) -> Result<u64, RetryAfter> {
        let after = full_at.saturating_add(self.token_nanos.saturating_mul(n));
        let empty = now.saturating_add(self.bucket_nanos);
        if after <= empty {
            return Ok(after);
        }
        Err(RetryAfter { seconds: (after - empty).div_ceil(NANOS_PER_SECOND) })
    }
}

#[derive(Debug, Default)]
struct Shard {
    full_at: HashMap<u64, u64>,
}

impl Shard {
    fn remember(&mut self, hash: u64, full_at: u64, now: u64) {
        if self.full_at.len() >= KEYS_PER_SHARD_MAX && !self.full_at.contains_key(&hash) {
            self.forget_the_fullest(now);
        }
        self.full_at.insert(hash, full_at);
    }

    /// Keeps at most half of the maximum, so that the next scan comes only after as many
    /// insertions.
    fn forget_the_fullest(&mut self, now: u64) {
        self.full_at.retain(|_, full_at| *full_at > now);
        let n_kept_max = KEYS_PER_SHARD_MAX / 2;
        let Some(n_over) = self.full_at.len().checked_sub(n_kept_max).filter(|n| *n > 0) else {
            return;
        };
        // The hash breaks ties, so exactly `n_over` go even if all buckets are equally full.
        let mut fullest: Vec<_> = self.full_at.iter().map(|(hash, at)| (*at, *hash)).collect();
        let (_, threshold, _) = fullest.select_nth_unstable(n_over - 1);
        let threshold = *threshold;
        self.full_at.retain(|hash, at| (*at, *hash) > threshold);
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().expect("nothing panics while a shard is locked")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One token per second, three at once.
    fn limiter() -> RateLimiter {
        limiter_of(60, 3)
    }

    fn limiter_of(per_minute: u32, burst: u32) -> RateLimiter {
        RateLimiter::new(RateLimit {
            per_minute: NonZeroU32::new(per_minute).expect("a rate"),
            burst: NonZeroU32::new(burst).expect("a burst"),
        })
    }

    #[test]
    fn several_tokens_are_taken_together_or_not_at_all() {
        let limiter = limiter();
        assert_eq!(limiter.check_many("alice", 2, 0), Ok(()));
        assert_eq!(limiter.check_many("alice", 2, 0), Err(RetryAfter { seconds: 1 }));
        assert_eq!(limiter.left("alice", 0), 1, "a refusal takes none");
        assert_eq!(limiter.check_many("alice", 2, 1_000), Ok(()));
    }

    #[test]
    fn a_bucket_gives_its_burst_then_its_rate() {
        // (time in ms, key, expected seconds to wait; 0 is admitted)
        let script = [
            (10_000, "ada", 0),
            (10_000, "ada", 0),
            (10_000, "ada", 0),
            (10_000, "ada", 1),
            (10_000, "bob", 0),
            (10_999, "ada", 1),
            (11_000, "ada", 0),
            (11_000, "ada", 1),
            (60_000, "ada", 0),
            (60_000, "ada", 0),
            (60_000, "ada", 0),
            (60_000, "ada", 1),
        ];
        let limiter = limiter();
        for (row, (now_ms, key, expected)) in script.into_iter().enumerate() {
            let seconds = limiter.check(key, now_ms).err().map_or(0, |after| after.seconds);
            assert_eq!(seconds, expected, "row {row}: {key} at {now_ms} ms");
        }
    }

    #[test]
    fn waiting_as_long_as_told_is_long_enough() {
        for (per_minute, burst) in [(1, 1), (7, 2), (60, 3), (600, 1), (u32::MAX, 1)] {
            let limiter = limiter_of(per_minute, burst);
            let mut now_ms = 5_000;
            for _ in 0..50 {
                if let Err(after) = limiter.check("ada", now_ms) {
                    assert!(after.seconds >= 1);
                    now_ms += after.seconds * 1_000;
                    limiter.check("ada", now_ms).expect("waited as told");
                }
            }
        }
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_and_no_more() {
        let limiter = limiter();
        limiter.give_back("ada", 0);
        for _ in 0..3 {
            limiter.check("ada", 0).expect("the burst");
        }
        limiter.give_back("ada", 0);
        limiter.check("ada", 0).expect("what was given back");
        assert_eq!(limiter.check("ada", 0), Err(RetryAfter { seconds: 1 }));
    }

    #[test]
    fn peeking_takes_nothing() {
        let limiter = limiter();
        for _ in 0..10 {
            limiter.peek("ada", 0).expect("nothing was taken");
        }
        for _ in 0..3 {
            limiter.check("ada", 0).expect("the burst");
        }
        assert_eq!(limiter.peek("ada", 0), Err(RetryAfter { seconds: 1 }));
    }

    #[test]
    fn a_clock_that_jumps_back_costs_at_most_one_refill() {
        let limiter = limiter();
        let later_ms = 100_000_000;
        for _ in 0..3 {
            limiter.check("ada", later_ms).expect("the burst");
        }
        assert_eq!(limiter.check("ada", 1_000), Err(RetryAfter { seconds: 1 }));
        limiter.check("ada", 2_000).expect("one token came back");
        limiter.check("ada", 2_000).expect_err("and only one");
    }

    #[test]
    fn a_flood_of_keys_neither_grows_the_table_nor_frees_the_exhausted() {
        let limiter = limiter();
        for _ in 0..3 {
            limiter.check("mallory", 0).expect("the burst");
        }
        for stranger in 0..(KEYS_MAX as u64 * 3) {
            limiter.check(&stranger, 0).expect("a stranger's first call");
        }
        assert!(limiter.n_keys() <= KEYS_MAX, "{} keys", limiter.n_keys());
        limiter.check("mallory", 0).expect_err("still remembered");
    }

    #[test]
    fn idle_buckets_go_first() {
        let limiter = limiter_of(60, 1);
        let idle = 0..(KEYS_MAX as u64 * 3 / 4);
        for key in idle {
            limiter.check(&key, 0).expect("a first call");
        }
        let later_ms = 3_600_000;
        let busy = KEYS_MAX as u64..(KEYS_MAX as u64 * 11 / 8);
        for key in busy.clone() {
            limiter.check(&key, later_ms).expect("a first call");
        }
        let n_forgotten = busy.filter(|key| limiter.peek(key, later_ms).is_ok()).count();
        assert_eq!(n_forgotten, 0, "of {} remembered", limiter.n_keys());
    }

    #[test]
    fn calls_at_the_same_time_share_one_bucket() {
        let limiter = limiter_of(60, 1_000);
        let n_admitted: usize = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| (0..500).filter(|_| limiter.check("ada", 0).is_ok()).count())
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().expect("no panic")).sum()
        });
        assert_eq!(n_admitted, 1_000);
    }
}
