//! What a teamspace uses, and each principal in it.

use std::collections::HashMap;

use protocol::caller::Principal;
use protocol::quota::{Limits, Measure, Quota, SetQuotas, Thing, Whose};
use protocol::rejection::Rejection;
use protocol::time::{Span, Time};

use super::share::{KIB, Share};

/// Principals of a teamspace that are counted one by one: about 3 MB. Past it those that use
/// nothing are forgotten; of those that do not fit, only the quotas of the teamspace hold.
pub const PRINCIPALS_MAX: usize = 20_000;

/// Looking for those that use nothing takes a while.
const FORGET_EVERY: Span = Span::from_minutes(1);

/// A body of this size is never refused: it may be one that ends something.
const SMALL_BODY_BYTES: usize = 1024;

#[derive(Debug)]
pub struct TeamspaceUsage {
    pub limits: Limits,
    /// Those that were set for this teamspace.
    pub set: SetQuotas,
    pub whole: Share,
    pub principals: Principals,
}

#[derive(Debug, Default)]
pub struct Principals {
    pub shares: HashMap<Principal, Share>,
    forgot_at: Option<Time>,
}

/// Something open, and whose it is besides the teamspace's.
pub type Owned = (Thing, Option<Principal>);

/// What one change writes.
#[derive(Debug)]
pub struct Written {
    pub principal: Principal,
    pub n_entries: u64,
    pub n_bytes: u64,
    pub opened: Option<Owned>,
    pub freed: Option<Owned>,
    /// Whether it can be refused, and is taken from the shares of a minute and a day.
    pub is_limited: bool,
}

/// Bytes that are to be stored, and what other open uploads will need.
#[derive(Debug, Clone, Copy)]
pub struct RoomFor {
    pub n_bytes: u64,
    /// Those of the same principal.
    pub own_open: u64,
    /// Those of the whole teamspace.
    pub all_open: u64,
}

/// The quota of what a principal sends in a minute.
fn sent_quota(principal: &Principal) -> Option<Quota> {
    match Whose::of(principal)? {
        Whose::Customer => Some(Quota::CustomerKibPerMinute),
        Whose::Member | Whose::Teamspace => Some(Quota::MemberKibPerMinute),
    }
}

impl TeamspaceUsage {
    pub fn new(limits: Limits) -> Self {
        let (whole, principals) = (Share::default(), Principals::default());
        Self { limits, set: SetQuotas::new(), whole, principals }
    }

    /// Only customers, who are people, are limited in their requests.
    pub fn take_request(&mut self, principal: &Principal, now: Time) -> Result<(), Rejection> {
        let own = self.principals.share(principal, now);
        if let (Some(Whose::Customer), Some(own)) = (Whose::of(principal), own) {
            let quota = Quota::CustomerRequestsPerMinute;
            own.requests = own.requests.after(&self.limits, quota, 1, now)?;
        }
        Ok(())
    }

    /// A small body is never refused; a part of one counts as small by what has come so far.
    pub fn take_body(
        &mut self,
        principal: &Principal,
        n_bytes: usize,
        n_so_far: usize,
        now: Time,
    ) -> Result<(), Rejection> {
        let Self { limits, whole, principals, .. } = self;
        let n_kib = (n_bytes as u64).div_ceil(KIB);
        let Some(quota) = sent_quota(principal) else { return Ok(()) };
        let mut own = principals.share(principal, now);
        let own_sent = own.as_ref().map(|own| own.sent.after(limits, quota, n_kib, now));
        let whole_sent = whole.sent.after(limits, Quota::TeamspaceKibPerMinute, n_kib, now);
        let taken = own_sent.transpose().and_then(|own_sent| Ok((own_sent, whole_sent?)));
        match taken {
            Ok((own_sent, whole_sent)) => {
                whole.sent = whole_sent;
                if let (Some(own), Some(own_sent)) = (&mut own, own_sent) {
                    own.sent = own_sent;
                }
                Ok(())
            }
            Err(_) if n_so_far <= SMALL_BODY_BYTES => Ok(()),
            Err(reached) => Err(reached),
        }
    }

    /// The reverse of [`take_body`](Self::take_body).
    pub fn give_back_body(&mut self, principal: &Principal, n_bytes: usize) {
        let Self { limits, whole, principals, .. } = self;
        let n_kib = (n_bytes as u64).div_ceil(KIB);
        let Some(quota) = sent_quota(principal) else { return };
        whole.sent = whole.sent.before(limits, Quota::TeamspaceKibPerMinute, n_kib);
        if let Some(own) = principals.shares.get_mut(principal) {
            own.sent = own.sent.before(limits, quota, n_kib);
        }
    }

    /// Counts a change, unless a quota refuses it.
    pub fn take(&mut self, written: &Written, now: Time) -> Result<(), Rejection> {
        if written.is_limited {
            if let Some(opened) = &written.opened {
                self.check_open(opened)?;
            }
            self.take_rates(written, now)?;
        }
        self.whole.stored_bytes += written.n_bytes;
        self.store_of(&written.principal, written.n_bytes, now);
        self.count(written.opened.as_ref(), |n| n.saturating_add(1), now);
        self.count(written.freed.as_ref(), |n| n.saturating_sub(1), now);
        Ok(())
    }

    /// The reverse of [`take`](Self::take): it was not committed.
    pub fn take_back(&mut self, written: &Written) {
        let now = Time::from_millis(0);
        self.count(written.opened.as_ref(), |n| n.saturating_sub(1), now);
        self.count(written.freed.as_ref(), |n| n.saturating_add(1), now);
        self.unstore(Some(&written.principal), written.n_bytes);
        let (Some(rates), true) = (Rates::of(&written.principal), written.is_limited) else {
            return;
        };
        let Self { limits, whole, principals, .. } = self;
        let n_entries = written.n_entries;
        whole.entries = whole.entries.before(limits, Quota::TeamspaceEntriesPerMinute, n_entries);
        if let Some(own) = principals.shares.get_mut(&written.principal) {
            own.entries = own.entries.before(limits, rates.entries, n_entries);
            if let Some(daily) = rates.daily {
                own.daily = own.daily.before(limits, daily, written.n_bytes.div_ceil(KIB));
            }
        }
    }

    /// Adds bytes that an actor has written.
    pub fn store(&mut self, actor: &str, n_bytes: u64) {
        self.whole.stored_bytes += n_bytes;
        let Ok(principal) = actor.parse::<Principal>() else { return };
        self.store_of(&principal, n_bytes, Time::from_millis(0));
    }

    /// Customers are limited by what they write in a day.
    fn store_of(&mut self, principal: &Principal, n_bytes: u64, now: Time) {
        if let Some(Whose::Member) = Whose::of(principal)
            && let Some(own) = self.principals.share(principal, now)
        {
            own.stored_bytes += n_bytes;
        }
    }

    pub fn unstore(&mut self, principal: Option<&Principal>, n_bytes: u64) {
        self.whole.stored_bytes = self.whole.stored_bytes.saturating_sub(n_bytes);
        let own = principal.and_then(|principal| self.principals.shares.get_mut(principal));
        if let Some(own) = own {
            own.stored_bytes = own.stored_bytes.saturating_sub(n_bytes);
        }
    }

    /// Counts something that is open, or not any more.
    pub fn count(&mut self, one: Option<&Owned>, next: impl Fn(u32) -> u32, now: Time) {
        let Some((thing, owner)) = one else { return };
        let counted = |share: &mut Share| {
            let n = &mut share.open[*thing as usize];
            *n = next(*n);
        };
        counted(&mut self.whole);
        if let Some(owner) = owner {
            self.principals.share(owner, now).map(counted);
        }
    }

    fn check_open(&self, (thing, owner): &Owned) -> Result<(), Rejection> {
        let check = |share: &Share, whose: Whose| match open_quota(whose, *thing) {
            Some(quota) => share.check_open(&self.limits, quota, *thing),
            None => Ok(()),
        };
        let owner = owner.as_ref();
        let own = owner.and_then(|owner| self.principals.shares.get(owner));
        if let (Some(own), Some(whose)) = (own, owner.and_then(Whose::of)) {
            check(own, whose)?;
        }
        check(&self.whole, Whose::Teamspace)
    }

    /// Whether bytes could be stored now. Takes nothing.
    pub fn check_room(
        &mut self,
        principal: &Principal,
        room: RoomFor,
        now: Time,
    ) -> Result<(), Rejection> {
        let RoomFor { n_bytes, own_open, all_open } = room;
        self.whole.check_stored(&self.limits, Quota::TeamspaceStoredMib, all_open, n_bytes)?;
        let written = |n_entries, n_bytes| {
            let (principal, opened, freed) = (principal.clone(), None, None);
            Written { principal, n_entries, n_bytes, opened, freed, is_limited: true }
        };
        let (open, new) = (written(0, own_open), written(1, n_bytes));
        self.take(&open, now)?;
        let checked = self.take(&new, now).inspect(|()| self.take_back(&new));
        self.take_back(&open);
        checked
    }

    /// Entries in a minute and bytes in a day, and whether there is room for the bytes. All is
    /// checked before anything is taken.
    fn take_rates(&mut self, written: &Written, now: Time) -> Result<(), Rejection> {
        let Self { limits, whole, principals, .. } = self;
        let Some(rates) = Rates::of(&written.principal) else { return Ok(()) };
        let (n_entries, n_bytes) = (written.n_entries, written.n_bytes);
        whole.check_stored(limits, Quota::TeamspaceStoredMib, 0, n_bytes)?;
        let quota = Quota::TeamspaceEntriesPerMinute;
        let whole_entries = whole.entries.after(limits, quota, n_entries, now)?;
        if let Some(own) = principals.share(&written.principal, now) {
            if let Some(stored) = rates.stored {
                own.check_stored(limits, stored, 0, n_bytes)?;
            }
            let entries = own.entries.after(limits, rates.entries, n_entries, now)?;
            if let Some(daily) = rates.daily {
                own.daily = own.daily.after(limits, daily, n_bytes.div_ceil(KIB), now)?;
            }
            own.entries = entries;
        }
        whole.entries = whole_entries;
        Ok(())
    }
}

/// The quotas that every change of a principal is held against.
struct Rates {
    entries: Quota,
    daily: Option<Quota>,
    stored: Option<Quota>,
}

impl Rates {
    fn of(principal: &Principal) -> Option<Self> {
        match Whose::of(principal)? {
            Whose::Customer => Some(Self {
                entries: Quota::CustomerEntriesPerMinute,
                daily: Some(Quota::CustomerMibPerDay),
                stored: None,
            }),
            Whose::Member | Whose::Teamspace => Some(Self {
                entries: Quota::MemberEntriesPerMinute,
                daily: None,
                stored: Some(Quota::MemberStoredMib),
            }),
        }
    }
}

fn open_quota(whose: Whose, thing: Thing) -> Option<Quota> {
    Quota::of(whose, Measure::Open(thing))
}

impl Principals {
    /// The share of a principal, made if there is room. The server itself has none.
    pub fn share(&mut self, principal: &Principal, now: Time) -> Option<&mut Share> {
        Whose::of(principal)?;
        if !self.shares.contains_key(principal) {
            if self.shares.len() >= PRINCIPALS_MAX {
                self.forget_unused(now);
            }
            if self.shares.len() >= PRINCIPALS_MAX {
                return None;
            }
            self.shares.insert(principal.clone(), Share::default());
        }
        self.shares.get_mut(principal)
    }

    fn forget_unused(&mut self, now: Time) {
        if self.forgot_at.is_some_and(|at| now.since(at) < FORGET_EVERY) {
            return;
        }
        self.forgot_at = Some(now);
        self.shares.retain(|_, share| !share.is_unused(now));
    }
}
