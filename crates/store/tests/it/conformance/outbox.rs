//! Effects under a lease: no worker does what another holds, and no wanted effect is lost.

use engine::ports::store::{Claim, Claimed, EffectNames, OutboxWrite, Store};
use protocol::handoff::Status;
use protocol::time::Time;

use super::fixture::{Place, Track, effect, later, teamspace};

/// A handoff that wants effects from its first minute on.
async fn wanting(place: &Place, number: u32, names: &[&str]) -> Track {
    let mut track = Track::handoff(number);
    let mut commit = track.step(Status::Draft);
    commit.begin = names.iter().map(|name| effect(name)).collect();
    place.store.commit(commit).await.unwrap();
    track
}

async fn claim(store: &dyn Store, now: Time, until: Time, limit: usize) -> Vec<Claimed> {
    store.claim(Claim { now, until, limit, names: EffectNames::Without("deliver/") }).await.unwrap()
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

pub async fn effects_are_claimed_and_released_by_what_their_names_begin_with(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look", "deliver/1/1", "deliver"]).await;
    let with = |names| Claim { now: later(1), until: later(9), limit: 9, names };
    let turns = store.claim(with(EffectNames::With("deliver/"))).await.unwrap();
    assert_eq!(names(&turns), ["deliver/1/1"]);
    let rest = store.claim(with(EffectNames::Without("deliver/"))).await.unwrap();
    assert_eq!(rest.len(), 2);
    // The holder of the turns is gone; the other one is not.
    let release = OutboxWrite::Release { names: EffectNames::With("deliver/") };
    store.write_outbox(release).await.unwrap();
    assert!(store.claim(with(EffectNames::Without("deliver/"))).await.unwrap().is_empty());
    let again = store.claim(with(EffectNames::With("deliver/"))).await.unwrap();
    assert_eq!((names(&again), again[0].attempt), (vec!["deliver/1/1"], 2));
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
    let lying = store.outstanding(&teamspace("default"), 10).await.unwrap();
    assert_eq!((lying.len(), lying[0].attempts, lying[0].due), (1, 2, Some(later(1))));
    assert_eq!(claim(store, later(9), later(10), 1).await.len(), 1);
}

pub async fn an_effect_that_failed_comes_back_when_it_is_due(place: Place) {
    let store = &*place.store;
    wanting(&place, 1, &["look"]).await;
    let claimed = claim(store, later(1), later(2), 1).await.remove(0);
    let error = "no answer".to_owned();
    let put_off = OutboxWrite::PutOff { claimed, due: later(7), error };
    store.write_outbox(put_off).await.unwrap();
    assert!(claim(store, later(6), later(9), 1).await.is_empty());
    let lying = store.outstanding(&teamspace("default"), 10).await.unwrap();
    assert_eq!(lying[0].error.as_deref(), Some("no answer"));
    assert_eq!(claim(store, later(7), later(9), 1).await[0].attempt, 2);
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
        store.write_outbox(OutboxWrite::Revive { teamspace, now: later(20) }).await.unwrap();
        let revived = claim(store, later(20), later(21), 1).await;
        assert_eq!(revived.is_empty(), elsewhere);
    }
}

pub async fn an_effect_ends_with_the_commit_that_says_so(place: Place) {
    let store = &*place.store;
    let mut track = wanting(&place, 1, &["look", "tell"]).await;
    assert_eq!(names(&claim(store, later(1), later(2), 10).await), ["look", "tell"]);
    let mut commit = track.step(Status::Draft);
    commit.end = vec![effect("look")];
    commit.begin = vec![effect("move")];
    store.commit(commit).await.unwrap();
    assert_eq!(names(&claim(store, later(9), later(10), 10).await), ["tell", "move"]);
    assert!(store.outstanding(&teamspace("other"), 10).await.unwrap().is_empty());
}
