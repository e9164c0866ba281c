//! Shares, what they refuse, and how much is remembered.

use std::collections::BTreeSet;

use protocol::quota::{SetQuotas, Thing};
use protocol::time::Span;

use super::teamspace::PRINCIPALS_MAX;
use super::*;

fn caller(teamspace: &str, principal: Principal) -> Caller {
    let teamspace = teamspace.parse().expect("a teamspace");
    Caller { teamspace, principal, roles: BTreeSet::new(), session: String::new() }
}

fn customer(name: &str) -> Caller {
    caller("acme", Principal::Customer(name.parse().expect("a name")))
}

fn agent(name: &str) -> Caller {
    caller("acme", Principal::Agent(name.parse().expect("a name")))
}

fn at(seconds: i64) -> Time {
    Time::from_millis(1_000_000 + seconds * 1_000)
}

fn with(set: &[(Quota, u32)]) -> Arc<Usage> {
    let set: SetQuotas = set.iter().copied().collect();
    Arc::new(Usage::new(Limits::NONE.with(&set)))
}

fn refused_by(taken: Result<(), Rejection>) -> Option<Quota> {
    let rejection = taken.err()?;
    Quota::named(rejection.field().expect("it names the quota"))
}

#[test]
fn each_caller_and_each_teamspace_has_a_share() {
    let usage = with(&[
        (Quota::CustomerRequestsPerMinute, 3),
        (Quota::CustomerKibPerMinute, 10),
        (Quota::MemberKibPerMinute, 100),
        (Quota::TeamspaceKibPerMinute, 250),
    ]);
    let send = |caller: &Caller, kib: usize, seconds: i64| {
        refused_by(usage.send(caller, kib * 1024, at(seconds)))
    };
    for _ in 0..3 {
        assert_eq!(send(&customer("ana"), 1, 0), None);
    }
    assert_eq!(send(&customer("ana"), 1, 0), Some(Quota::CustomerRequestsPerMinute));
    assert_eq!(send(&customer("eva"), 11, 0), Some(Quota::CustomerKibPerMinute));
    assert_eq!(send(&agent("bob"), 100, 0), None);
    assert_eq!(send(&agent("bob"), 2, 0), Some(Quota::MemberKibPerMinute));
    assert_eq!(send(&agent("bob"), 1, 0), None, "a small one may end something");
    assert_eq!(send(&agent("carol"), 100, 0), None);
    assert_eq!(send(&agent("dora"), 60, 0), Some(Quota::TeamspaceKibPerMinute));
    let operator = caller("acme", Principal::Operator("olga".parse().expect("a name")));
    assert_eq!(send(&operator, 500, 0), None, "operators are not refused");
    let elsewhere = caller("other", Principal::Agent("bob".parse().expect("a name")));
    assert_eq!(send(&elsewhere, 100, 0), None, "another teamspace has its own");
    assert_eq!(send(&agent("bob"), 90, 60), None, "a minute later");
    assert_eq!(refused_by(with(&[]).send(&customer("ana"), 1 << 30, at(0))), None);
}

#[test]
fn a_refusal_says_when_it_is_free_again() {
    let usage = with(&[(Quota::CustomerRequestsPerMinute, 2)]);
    let ana = customer("ana");
    let refused = (0..3).find_map(|_| usage.send(&ana, 1, at(0)).err());
    let retry_after = Span::from_millis(30_000);
    let quota = Quota::CustomerRequestsPerMinute;
    assert_eq!(refused, Some(Rejection::QuotaReached { quota, limit: 2, retry_after }));
    assert!(usage.send(&ana, 1, at(30)).is_ok(), "waited as told");
}

#[test]
fn what_is_more_than_the_whole_quota_is_not_told_to_wait() {
    let quota = Quota::MemberKibPerMinute;
    let usage = with(&[(quota, 2)]);
    let refused = usage.send(&agent("bob"), 3 * 1024, at(0)).err();
    assert_eq!(refused, Some(Rejection::LargerThanQuota { quota, limit: 2 }));
    assert!(usage.send(&agent("bob"), 2 * 1024, at(0)).is_ok(), "it took nothing");
}

fn written(name: &str, n_bytes: u64) -> Written {
    let principal = agent(name).principal;
    let opened = Some((Thing::Handoff, Some(principal.clone())));
    Written { principal, n_entries: 1, n_bytes, opened, freed: None, is_limited: true }
}

#[test]
fn what_was_not_committed_is_taken_back() {
    let set = [
        (Quota::MemberHandoffs, 1),
        (Quota::MemberStoredMib, 1),
        (Quota::MemberEntriesPerMinute, 1),
    ];
    let usage = with(&set);
    let teamspace: TeamspaceId = "acme".parse().expect("a teamspace");
    let take = || {
        let mut known = usage.lock();
        usage.teamspace(&mut known, &teamspace).take(&written("bob", 1024 * 1024), at(0))
    };
    let used = || {
        let used = usage.of_principal(&teamspace, &agent("bob").principal, at(0));
        used.iter().filter(|one| one.limit.is_some()).map(|one| one.used).collect::<Vec<_>>()
    };
    assert_eq!(refused_by(take()), None);
    assert_eq!(used(), [1, 1, 1]);
    assert_eq!(refused_by(take()), Some(Quota::MemberHandoffs));
    let reservation = Reservation::new(
        Arc::clone(&usage),
        teamspace.clone(),
        written("bob", 1024 * 1024),
        None,
        None,
    );
    drop(reservation);
    assert_eq!(used(), [0, 0, 0]);
    assert_eq!(refused_by(take()), None, "all of it fits again");
}

#[test]
fn principals_beyond_the_maximum_share_the_quotas_of_the_teamspace() {
    let set = [(Quota::CustomerRequestsPerMinute, 1), (Quota::TeamspaceKibPerMinute, 1 << 20)];
    let usage = with(&set);
    let n_known = || usage.lock().values().map(|it| it.principals.shares.len()).sum::<usize>();
    for number in 0..PRINCIPALS_MAX + 5 {
        assert_eq!(refused_by(usage.send(&customer(&format!("c{number}")), 1, at(0))), None);
    }
    assert_eq!(n_known(), PRINCIPALS_MAX);
    let last = customer(&format!("c{PRINCIPALS_MAX}"));
    assert_eq!(refused_by(usage.send(&last, 1, at(0))), None, "it is not counted by itself");
    let known = refused_by(usage.send(&customer("c0"), 1, at(0)));
    assert_eq!(known, Some(Quota::CustomerRequestsPerMinute), "those before it are");
    // Two minutes later all shares are full again, and are forgotten for a new one.
    assert_eq!(refused_by(usage.send(&customer("new"), 1, at(120))), None);
    assert_eq!(n_known(), 1);
}

#[test]
fn what_all_teamspaces_use_is_added_up() {
    let usage = with(&[]);
    for (teamspace, n_bytes) in [("a", 3), ("b", 2), ("c", 1), ("d", 1)] {
        let teamspace = teamspace.parse().expect("a teamspace");
        let actor = "agent:bob".to_owned();
        usage.count_stored(&StoredCount { teamspace, actor, n_bytes: n_bytes << 20 });
    }
    let total = usage.total(at(0));
    let stored = total.iter().find(|one| one.quota == Quota::TeamspaceStoredMib);
    assert_eq!(stored.map(|one| one.used), Some(7));
}
