//! How much a caller and a teamspace may write in a minute. A customer may write as much as a
//! person types. The limits of members and teamspaces keep one of them from filling the disk.

use std::num::{NonZeroU32, NonZeroU64};

use protocol::caller::{Caller, Principal};

use crate::http::shared::problem::Problem;
use crate::rate::{RateLimit, RateLimiter, RetryAfter};

/// What may be written in a minute; 0 is no limit. A caller that was quiet may write this much at
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimits {
    pub customer_requests_per_minute: u32,
    pub customer_kib_per_minute: u32,
    pub member_kib_per_minute: u32,
    pub teamspace_kib_per_minute: u32,
}

impl WriteLimits {
    /// No limits, for tests and benchmarks that measure something else.
    pub const NONE: WriteLimits = WriteLimits {
        customer_requests_per_minute: 0,
        customer_kib_per_minute: 0,
        member_kib_per_minute: 0,
        teamspace_kib_per_minute: 0,
    };
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self {
            customer_requests_per_minute: 240,
            customer_kib_per_minute: 16 * 1024,
            member_kib_per_minute: 256 * 1024,
            teamspace_kib_per_minute: 1024 * 1024,
        }
    }
}

#[derive(Debug)]
pub struct Quotas {
    customer_requests: Option<RateLimiter>,
    customer_kib: Option<RateLimiter>,
    member_kib: Option<RateLimiter>,
    teamspace_kib: Option<RateLimiter>,
}

impl Quotas {
    pub fn new(limits: WriteLimits) -> Self {
        let limiter = |per_minute: u32| {
            let per_minute = NonZeroU32::new(per_minute)?;
            Some(RateLimiter::new(RateLimit { per_minute, burst: per_minute }))
        };
        Self {
            customer_requests: limiter(limits.customer_requests_per_minute),
            customer_kib: limiter(limits.customer_kib_per_minute),
            member_kib: limiter(limits.member_kib_per_minute),
            teamspace_kib: limiter(limits.teamspace_kib_per_minute),
        }
    }

    /// Takes a write of so many bytes from the shares of the caller and of its teamspace.
    pub fn take(&self, caller: &Caller, n_bytes: usize, now_ms: u64) -> Result<(), Problem> {
        if let (Principal::Customer(_), Some(requests)) =
            (&caller.principal, &self.customer_requests)
        {
            let own = (&caller.teamspace, &caller.principal);
            let taken = requests.check(&own, now_ms);
            taken.map_err(|retry| reached("customer_requests_per_minute", retry))?;
        }
        self.take_kib(caller, kib(n_bytes as u64), now_ms)
    }

    /// Takes what a body has beyond its announced length.
    pub fn take_more(&self, caller: &Caller, n_bytes: usize, now_ms: u64) -> Result<(), Problem> {
        match n_bytes {
            0 => Ok(()),
            _ => self.take_kib(caller, kib(n_bytes as u64), now_ms),
        }
    }

    /// Takes what has come of something that is not complete.
    pub fn take_kib(&self, caller: &Caller, n_kib: u64, now_ms: u64) -> Result<(), Problem> {
        let (own_kib, name) = self.own_kib(caller);
        if let Some(own_kib) = own_kib {
            let own = (&caller.teamspace, &caller.principal);
            let taken = own_kib.check_many(&own, n_kib, now_ms);
            taken.map_err(|retry| reached(name, retry))?;
        }
        if let Some(teamspace_kib) = &self.teamspace_kib {
            let taken = teamspace_kib.check_many(&caller.teamspace, n_kib, now_ms);
            taken.map_err(|retry| reached("teamspace_kib_per_minute", retry))?;
        }
        Ok(())
    }

    /// Returns what [`take_kib`](Self::take_kib) took for something that is counted otherwise.
    pub fn give_back_kib(&self, caller: &Caller, n_kib: u64, now_ms: u64) {
        let (Some(n_kib), (own_kib, _)) = (NonZeroU64::new(n_kib), self.own_kib(caller)) else {
            return;
        };
        if let Some(own_kib) = own_kib {
            own_kib.give_back_many(&(&caller.teamspace, &caller.principal), n_kib, now_ms);
        }
        if let Some(teamspace_kib) = &self.teamspace_kib {
            teamspace_kib.give_back_many(&caller.teamspace, n_kib, now_ms);
        }
    }

    fn own_kib(&self, caller: &Caller) -> (Option<&RateLimiter>, &'static str) {
        match &caller.principal {
            Principal::Customer(_) => (self.customer_kib.as_ref(), "customer_kib_per_minute"),
            Principal::Agent(_) | Principal::Operator(_) | Principal::System => {
                (self.member_kib.as_ref(), "member_kib_per_minute")
            }
        }
    }
}

/// In whole KiB, rounded up.
pub fn kib(n_bytes: u64) -> u64 {
    n_bytes.div_ceil(1024)
}

fn reached(quota: &'static str, retry: RetryAfter) -> Problem {
    let detail =
        format!("{quota}: what may be written in a minute is used up; nothing was changed");
    Problem::new("quota_reached", detail).field(quota).retry_after(retry.seconds)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn caller(teamspace: &str, principal: Principal) -> Caller {
        let teamspace = teamspace.parse().expect("a teamspace");
        Caller { teamspace, principal, roles: BTreeSet::new(), session: String::new() }
    }

    fn field(taken: Result<(), Problem>) -> Option<String> {
        taken.err().and_then(|problem| problem.field)
    }

    #[test]
    fn each_caller_and_each_teamspace_has_a_share() {
        let quotas = Quotas::new(WriteLimits {
            customer_requests_per_minute: 3,
            customer_kib_per_minute: 10,
            member_kib_per_minute: 100,
            teamspace_kib_per_minute: 250,
        });
        let id = |name: &str| name.parse().expect("a name");
        let customer = |name: &str| caller("acme", Principal::Customer(id(name)));
        let agent = |name: &str| caller("acme", Principal::Agent(id(name)));
        let take = |caller: &Caller, kib: usize, now_s: u64| {
            field(quotas.take(caller, kib * 1024, now_s * 1_000))
        };
        for _ in 0..3 {
            assert_eq!(take(&customer("ana"), 1, 0), None);
        }
        let named = |quota: &str| Some(quota.to_owned());
        assert_eq!(take(&customer("ana"), 1, 0), named("customer_requests_per_minute"));
        assert_eq!(take(&customer("eva"), 11, 0), named("customer_kib_per_minute"));
        assert_eq!(take(&agent("bob"), 100, 0), None);
        assert_eq!(take(&agent("bob"), 1, 0), named("member_kib_per_minute"));
        assert_eq!(take(&agent("carol"), 100, 0), None);
        assert_eq!(take(&agent("dora"), 60, 0), named("teamspace_kib_per_minute"));
        let elsewhere = caller("other", Principal::Agent(id("bob")));
        assert_eq!(take(&elsewhere, 100, 0), None, "another teamspace has its own");
        assert_eq!(take(&agent("bob"), 90, 60), None, "a minute later");
        quotas.give_back_kib(&agent("bob"), 90, 60_000);
        assert_eq!(take(&agent("bob"), 90, 60), None, "it was given back");
        let free = Quotas::new(WriteLimits::NONE);
        assert_eq!(field(free.take(&customer("ana"), 1 << 30, 0)), None);
    }

    #[test]
    fn a_refusal_says_when_it_is_free_again() {
        let limits = WriteLimits { customer_requests_per_minute: 2, ..WriteLimits::NONE };
        let quotas = Quotas::new(limits);
        let ana = caller("acme", Principal::Customer("ana".parse().expect("a name")));
        let taken: Vec<_> = (0..3).map(|_| quotas.take(&ana, 1, 0)).collect();
        let problem = taken.into_iter().find_map(Result::err).expect("the third is too many");
        assert_eq!((problem.code, problem.retry_after_s), ("quota_reached", Some(30)));
    }
}
