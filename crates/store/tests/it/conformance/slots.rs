//! Slots: keys that are listed together, and at most as many taken as an agent may hold.

use std::sync::Arc;

use engine::Engine;
use engine::ports::store::{CommitError, Store, StoreReads};
use protocol::agent::{Command, Kind, Profile, slot_key, slot_prefix};
use protocol::handoff::Status;
use protocol::ledger::Subject;
use protocol::step;

use super::fixture::{Place, Track, free, handoff_id, held, hold, teamspace};
use crate::support::{agent_stream, default_teamspace, engine_on, id, operator};

pub async fn occupied_keys_are_found_by_their_prefix(place: Place) {
    let store = &place.store;
    let occupied = held(Some("h"), "x");
    let keys = ["slot/a/1", "slot/a/10", "slot/a/2", "slot/a-b/1", "slot/aa/1", "slot/a"];
    let mut first = Track::handoff(1);
    let mut take = first.step(Status::Proposed);
    take.holds = keys.map(|key| hold(key, free(), occupied.clone())).into();
    take.holds.push(hold("slot/a/3", free(), held(None, "left")));
    take.holds.push(hold("slot/a/é", free(), occupied.clone()));
    store.commit(take).await.unwrap();
    let mut other = Track::new("other", Subject::Handoff(handoff_id(2)));
    let mut take = other.step(Status::Proposed);
    take.holds = vec![hold("slot/a/7", free(), occupied.clone())];
    store.commit(take).await.unwrap();
    for (of, prefix, limit, expected) in [
        ("default", "slot/a/", 9, vec!["slot/a/1", "slot/a/10", "slot/a/2", "slot/a/é"]),
        ("default", "slot/a/", 2, vec!["slot/a/1", "slot/a/10"]),
        ("default", "slot/aa/", 9, vec!["slot/aa/1"]),
        ("default", "slot/b/", 9, vec![]),
        ("other", "slot/a/", 9, vec!["slot/a/7"]),
        ("third", "slot/a/", 9, vec![]),
    ] {
        let found = store.held(&teamspace(of), prefix, limit).await.unwrap();
        assert_eq!(found, expected, "{of} {prefix}");
    }
}

pub async fn the_slot_that_is_found_is_free(place: Place) {
    let (engine, _) = engine_on(place.store.clone());
    register(&engine, Kind::Human, Some(2)).await;
    let mut track = Track::handoff(1);
    for (next, expected) in [(None, Some(1)), (Some((1, true)), Some(2)), (Some((2, true)), None)]
        .into_iter()
        .chain([(Some((1, false)), Some(1)), (Some((1, true)), None), (Some((2, false)), Some(2))])
    {
        if let Some((k, is_taken)) = next {
            let mut commit = track.step(Status::Proposed);
            let key = slot_key(&id("ann"), k);
            let was = place.store.hold(&default_teamspace(), &key).await.unwrap();
            commit.holds = vec![hold(&key, was, held(is_taken.then_some("h"), "x"))];
            place.store.commit(commit).await.unwrap();
        }
        assert_eq!(free_slot(&engine).await, expected, "{next:?}");
    }
    // Both are taken again; then fewer are allowed, and then more.
    let mut commit = track.step(Status::Proposed);
    let key = slot_key(&id("ann"), 2);
    commit.holds = vec![hold(&key, held(None, "x"), held(Some("h"), "x"))];
    place.store.commit(commit).await.unwrap();
    for (capacity, expected) in [(1, None), (2, None), (3, Some(3))] {
        register(&engine, Kind::Human, Some(capacity)).await;
        assert_eq!(free_slot(&engine).await, expected, "{capacity}");
    }
    let nobody = engine.free_slot(&default_teamspace(), id("nobody")).await.unwrap();
    assert_eq!(nobody, None, "an unknown agent has no slots");
}

pub async fn no_race_overruns_a_capacity(place: Place) {
    let (engine, _) = engine_on(place.store.clone());
    register(&engine, Kind::Human, None).await;
    let takers =
        (1..=40).map(|number| tokio::spawn(take_slot(place.store.clone(), engine.clone(), number)));
    let mut n_taken = 0;
    for taker in takers.collect::<Vec<_>>() {
        n_taken += usize::from(taker.await.unwrap());
    }
    let occupied = place.store.held(&default_teamspace(), &slot_prefix(&id("ann")), 99).await;
    assert_eq!((n_taken, occupied.unwrap().len()), (3, 3));
}

/// Finds a free slot and takes it; repeats until it has one or there is none.
async fn take_slot(store: Arc<dyn Store>, engine: Engine, number: u32) -> bool {
    loop {
        let Some(k) = free_slot(&engine).await else { return false };
        let mut commit = Track::handoff(number).step(Status::Draft);
        let holder = handoff_id(number).to_string();
        commit.holds = vec![hold(&slot_key(&id("ann"), k), free(), held(Some(&holder), "x"))];
        match store.commit(commit).await {
            Ok(_) => return true,
            Err(CommitError::HoldTaken { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn free_slot(engine: &Engine) -> Option<u16> {
    engine.free_slot(&default_teamspace(), id("ann")).await.expect("the store works")
}

async fn register(engine: &Engine, kind: Kind, capacity: Option<u16>) {
    let profile = Profile { capacity, ..Profile::default() };
    let command = step::Command::Agent(Command::Register { kind, profile });
    let done = engine.submit(&operator(), agent_stream("ann"), command, None).await;
    done.expect("an operator may register an agent");
}
