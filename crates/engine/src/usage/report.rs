//! The usage as people and metrics see it.

use std::sync::atomic::Ordering;

use protocol::caller::Principal;
use protocol::ids::TeamspaceId;
use protocol::quota::{Limits, Quota, SetQuotas, Whose};
use protocol::time::Time;

use super::Usage;
use super::share::Share;
use super::teamspace::TeamspaceUsage;

/// Principals of a teamspace that are shown, those that store most first.
pub const SHOWN_PRINCIPALS_MAX: usize = 100;

/// How much of a quota is used, both in the unit of its setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    pub quota: Quota,
    pub used: u64,
    /// `None` if there is no limit.
    pub limit: Option<u64>,
    /// Whether the limit was set for the teamspace.
    pub is_set: bool,
}

/// What a principal uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedBy {
    pub principal: Principal,
    pub used: Vec<Used>,
}

/// Refusals since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    pub by_quota: Vec<(Quota, u64)>,
    pub for_disk: u64,
}

impl Usage {
    pub fn of_teamspace(&self, teamspace: &TeamspaceId, now: Time) -> Vec<Used> {
        let mut known = self.lock();
        let teamspace = self.teamspace(&mut known, teamspace);
        teamspace.used(&teamspace.whole, Whose::Teamspace, now)
    }

    pub fn of_principal(
        &self,
        teamspace: &TeamspaceId,
        principal: &Principal,
        now: Time,
    ) -> Vec<Used> {
        let Some(whose) = Whose::of(principal) else { return Vec::new() };
        let mut known = self.lock();
        let teamspace = self.teamspace(&mut known, teamspace);
        let share = teamspace.principals.shares.get(principal).copied().unwrap_or_default();
        teamspace.used(&share, whose, now)
    }

    /// The principals that use most, at most [`SHOWN_PRINCIPALS_MAX`].
    pub fn principals(&self, teamspace: &TeamspaceId, now: Time) -> Vec<UsedBy> {
        let known = self.lock();
        let Some(teamspace) = known.get(teamspace) else { return Vec::new() };
        let mut shares: Vec<_> = teamspace.principals.shares.iter().collect();
        let most = |(principal, share): &(&Principal, &Share)| {
            let n_open: u32 = share.open.iter().sum();
            (std::cmp::Reverse((share.stored_bytes, n_open)), principal.to_string())
        };
        shares.sort_by_cached_key(most);
        let shown = shares.into_iter().take(SHOWN_PRINCIPALS_MAX);
        let used = shown.filter_map(|(principal, share)| {
            let used = teamspace.used(share, Whose::of(principal)?, now);
            Some(UsedBy { principal: principal.clone(), used })
        });
        used.collect()
    }

    /// What all teamspaces use together.
    pub fn total(&self, now: Time) -> Vec<Used> {
        let mut total =
            TeamspaceUsage::new(Limits::NONE).used(&Share::default(), Whose::Teamspace, now);
        for usage in self.lock().values() {
            for (sum, one) in total.iter_mut().zip(usage.used(&usage.whole, Whose::Teamspace, now))
            {
                sum.used += one.used;
            }
        }
        total
    }

    /// The quotas that were set for a teamspace.
    pub fn set_for(&self, teamspace: &TeamspaceId) -> SetQuotas {
        self.lock().get(teamspace).map(|it| it.set.clone()).unwrap_or_default()
    }

    pub fn refusals(&self) -> Refusals {
        let count = |quota: Quota| self.refused[quota as usize].load(Ordering::Relaxed);
        Refusals {
            by_quota: Quota::ALL.into_iter().map(|quota| (quota, count(quota))).collect(),
            for_disk: self.refused_for_disk.load(Ordering::Relaxed),
        }
    }

    /// Whether what was stored before the start is still being counted.
    pub fn is_counting(&self) -> bool {
        self.is_counting.load(Ordering::Relaxed)
    }
}

impl TeamspaceUsage {
    fn used(&self, share: &Share, whose: Whose, now: Time) -> Vec<Used> {
        let quotas = Quota::ALL.into_iter().filter(|quota| quota.whose() == whose);
        let used = quotas.map(|quota| Used {
            quota,
            used: share.used(&self.limits, quota, now),
            limit: self.limits.of(quota),
            is_set: self.set.contains_key(&quota),
        });
        used.collect()
    }
}
