//! Effects under a lease: no worker does what another holds, and no wanted effect is lost.

use std::collections::HashMap;

use engine::ports::outbox::{Claim, Claimed, OutboxList, OutboxWrite};
use engine::ports::store::{Store, StoreWrites};
use protocol::handoff::Status;
use protocol::ledger::Subject;
use protocol::step::EffectKind;
use protocol::time::Time;

use super::fixture::{Place, Track, effect, handoff_id, later, teamspace};

/// A handoff that wants effects from its first minute on.
async fn wanting(place: &Place, number: u32, names: &[&str]) -> Track {
    wanting_in("default", place, number, names).await
}

async fn wanting_in(teamspace: &str, place: &Place, number: u32, names: &[&str]) -> Track {
    let mut track = Track::new(teamspace, Subject::Handoff(handoff_id(number)));
    let mut commit = track.step(Status::Draft);
    commit.begin = names.iter().map(|name| effect(name)).collect();
    place.store.commit(commit).await.unwrap();
    track
}

async fn claim(store: &dyn Store, now: Time, until: Time, limit: usize) -> Vec<Claimed> {
    store.claim(looks(now, until, limit)).await.unwrap()
}

/// As many looks as are asked for, whichever teamspace they are of.
fn looks(now: Time, until: Time, limit: usize) -> Claim {
    Claim {
        now,
        until,
        kind: EffectKind::Look,
        limit,
        per_teamspace: limit,
        running: HashMap::new(),
        after: None,
    }
}

fn names(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|one| one.effect.name.as_ref()).collect()
}

pub async fn an_effect_is_claimed_by_one_at_a_time(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look"]).await;
    wanting(&place, 2, &["look"]).await;
    assert!(claim(store, later(0), later(5), 10).await.is_empty(), "nothing is due yet");
    let first = claim(store, later(1), later(5), 1).await;
    let second = claim(store, later(1), later(5), 10).await;
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_ne!(first[0].stream, second[0].stream);
    assert_eq!((first[0].attempt, second[0].attempt), (1, 1));
    assert!(claim(store, later(4), later(9), 10).await.is_empty(), "both are held");
}

pub async fn effects_are_claimed_and_released_by_their_kind(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look", "looks", "deliver/1/1", "deliverable/1"]).await;
    let of = |kind| Claim { kind, ..looks(later(1), later(9), 9) };
    let turns = store.claim(of(EffectKind::Deliver)).await.unwrap();
    assert_eq!(names(&turns), ["deliver/1/1"]);
    assert_eq!(names(&store.claim(of(EffectKind::Look)).await.unwrap()), ["look"]);
    // The holder of the turns is gone; the other one is not.
    store.write_outbox(OutboxWrite::Release { kind: EffectKind::Deliver }).await.unwrap();
    assert!(store.claim(of(EffectKind::Look)).await.unwrap().is_empty());
    let again = store.claim(of(EffectKind::Deliver)).await.unwrap();
    assert_eq!((names(&again), again[0].attempt), (vec!["deliver/1/1"], 2));
}

/// `flood` has most of the work, and the oldest.
pub async fn teamspaces_take_turns(place: Place) {
    let store = &*place.store;
    for number in 1..=9 {
        wanting_in("flood", &place, number, &["look"]).await;
    }
    for (number, teamspace) in [(10, "able"), (11, "zest"), (12, "zest")] {
        wanting_in(teamspace, &place, number, &["look"]).await;
    }
    let of = |claimed: Vec<Claimed>| -> Vec<String> {
        claimed.iter().map(|one| one.stream.teamspace.to_string()).collect()
    };
    let claim = async |limit: usize, n_running: usize, after: &str| {
        let running = [(teamspace("flood"), n_running)].into();
        let after = (!after.is_empty()).then(|| teamspace(after));
        let claim = Claim { per_teamspace: 3, running, after, ..looks(later(1), later(9), limit) };
        of(store.claim(claim).await.unwrap())
    };
    assert_eq!(claim(1, 0, "").await, ["able"]);
    assert_eq!(claim(2, 0, "able").await, ["flood", "zest"]);
    assert_eq!(claim(9, 1, "flood").await, ["zest", "flood", "flood"], "three at once at most");
    assert_eq!(claim(9, 3, "flood").await, [""; 0]);
    assert_eq!(claim(9, 2, "zest").await, ["flood"]);
}

pub async fn a_lease_that_ran_out_is_claimed_again(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look"]).await;
    let old = claim(store, later(1), later(2), 1).await.remove(0);
    store.write_outbox(OutboxWrite::Renew { claimed: old.clone(), until: later(3) }).await.unwrap();
    assert!(claim(store, later(2), later(9), 1).await.is_empty(), "it was renewed");
    let new = claim(store, later(3), later(9), 1).await.remove(0);
    assert_eq!(new.attempt, 2);
    // The former holder has no effect any more.
    let error = "late".to_owned();
    store.write_outbox(OutboxWrite::GiveUp { claimed: old.clone(), error }).await.unwrap();
    store.write_outbox(OutboxWrite::Renew { claimed: old, until: later(99) }).await.unwrap();
    let lying = store.outstanding(&teamspace("default"), OutboxList::All, 10).await.unwrap();
    assert_eq!((lying.len(), lying[0].attempts, lying[0].due), (1, 2, Some(later(1))));
    assert_eq!(claim(store, later(9), later(10), 1).await.len(), 1);
}

pub async fn an_effect_that_failed_comes_back_when_it_is_due(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look"]).await;
    let claimed = claim(store, later(1), later(2), 1).await.remove(0);
    let error = "no answer".to_owned();
    let put_off = OutboxWrite::PutOff { claimed, due: later(7), error, is_try: true };
    store.write_outbox(put_off).await.unwrap();
    assert!(claim(store, later(6), later(9), 1).await.is_empty());
    let lying = store.outstanding(&teamspace("default"), OutboxList::All, 10).await.unwrap();
    assert_eq!(lying[0].error.as_deref(), Some("no answer"));
    let claimed = claim(store, later(7), later(9), 1).await.remove(0);
    assert_eq!(claimed.attempt, 2);
    let error = "paused".to_owned();
    let put_off = OutboxWrite::PutOff { claimed, due: later(10), error, is_try: false };
    store.write_outbox(put_off).await.unwrap();
    assert_eq!(claim(store, later(10), later(11), 1).await[0].attempt, 2, "it was not tried");
}

pub async fn what_is_given_up_stays_until_it_is_revived(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look"]).await;
    let claimed = claim(store, later(1), later(2), 1).await.remove(0);
    let error = "gone".to_owned();
    store.write_outbox(OutboxWrite::GiveUp { claimed, error }).await.unwrap();
    assert!(claim(store, later(9_999), later(10_000), 1).await.is_empty());
    for elsewhere in [true, false] {
        let teamspace = teamspace(if elsewhere { "other" } else { "default" });
        store
            .write_outbox(OutboxWrite::Revive { teamspace, only: None, now: later(20) })
            .await
            .unwrap();
        let revived = claim(store, later(20), later(21), 1).await;
        assert_eq!(revived.is_empty(), elsewhere);
    }
}

pub async fn one_effect_of_several_is_revived(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look/1", "look/2", "look/3"]).await;
    for claimed in claim(store, later(1), later(2), 2).await {
        let error = "gone".to_owned();
        store.write_outbox(OutboxWrite::GiveUp { claimed, error }).await.unwrap();
    }
    let listed = async |list| {
        let listed = store.outstanding(&teamspace("default"), list, 9).await.unwrap();
        listed.into_iter().map(|one| one.effect.name.into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(OutboxList::All).await, ["look/1", "look/2", "look/3"]);
    assert_eq!(listed(OutboxList::GivenUp).await, ["look/1", "look/2"]);
    let subject = Subject::Handoff(handoff_id(1));
    for (subject, name) in [
        (subject.clone(), "look/9"),
        (Subject::Handoff(handoff_id(2)), "look/2"),
        (subject, "look/2"),
    ] {
        let (teamspace, only) = (teamspace("default"), Some((subject, effect(name))));
        let revive = OutboxWrite::Revive { teamspace, only, now: later(20) };
        store.write_outbox(revive).await.unwrap();
    }
    assert_eq!(listed(OutboxList::GivenUp).await, ["look/1"]);
}

pub async fn an_effect_ends_with_the_commit_that_says_so(place: Place) {
    let store = &*place.store;
    let mut track = wanting(&place, 1, &["look/1", "look/2"]).await;
    assert_eq!(names(&claim(store, later(1), later(2), 10).await), ["look/1", "look/2"]);
    let mut commit = track.step(Status::Draft);
    commit.end = vec![effect("look/1")];
    commit.begin = vec![effect("look/3")];
    store.commit(commit).await.unwrap();
    assert_eq!(names(&claim(store, later(9), later(10), 10).await), ["look/2", "look/3"]);
    assert!(store.outstanding(&teamspace("other"), OutboxList::All, 10).await.unwrap().is_empty());
}
