//! One commit at a time: the checks, the writes, and that a refusal writes nothing.

use engine::ports::store::{CommitError, KeyedOutcome, StoreError, StoreReads};
use protocol::handoff::Status;
use protocol::ledger::{Body, GENESIS, Subject};
use protocol::step::Document;

use super::fixture::{
    Place, Track, deadline, free, handoff, handoff_id, held, hold, keyed, later, recorded, scope,
    teamspace,
};

pub async fn a_commit_is_seen_whole(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    let mut commit = track.next(handoff(handoff_id(1), "t1", Status::Proposed), 2);
    commit.arm = vec![deadline("soon", 5)];
    commit.holds = vec![hold("task/t1", free(), held(Some("h"), "[]"))];
    commit.document = Some(Document { hash: "package".to_owned(), text: "{}".to_owned() });
    commit.key = keyed("k", "done");
    let (entries, state_text) = (commit.entries.clone(), commit.state_text.clone());
    assert_eq!(store.commit(commit).await.unwrap().last_seq, 2);

    let ledger = place.ledger().await;
    assert_eq!(ledger.iter().map(|kept| kept.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(ledger.into_iter().map(|kept| kept.entry).collect::<Vec<_>>(), entries);
    let snapshot = store.load(&track.stream).await.unwrap().unwrap();
    assert_eq!(snapshot.state_text, state_text);
    assert_eq!((snapshot.position, snapshot.last_seq), (2, 2));
    assert_eq!((snapshot.head, snapshot.at), (track.head, later(2)));
    assert_eq!(store.hold(&teamspace("default"), "task/t1").await.unwrap(), held(Some("h"), "[]"));
    assert_eq!(store.document(&track.stream, "package").await.unwrap().as_deref(), Some("{}"));
    assert_eq!(
        store.outcome(&scope("default", "agent:barry", "k")).await.unwrap(),
        Some(recorded("done"))
    );
    assert_eq!(store.next_due().await.unwrap(), Some(later(5)));
    assert_eq!(store.newest().await.unwrap(), 2);
}

pub async fn a_commit_on_an_old_position_is_refused(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    store.commit(track.step(Status::Proposed)).await.unwrap();
    let before = place.ledger().await;
    for wrong in [Track { position: 0, head: GENESIS, ..track.clone() }, {
        Track { position: 5, ..track.clone() }
    }] {
        let mut wrong = wrong;
        let mut commit = wrong.step(Status::Accepted);
        commit.arm = vec![deadline("never", 1)];
        commit.holds = vec![hold("task/t1", free(), held(Some("h"), "[]"))];
        commit.key = keyed("k", "done");
        assert!(matches!(store.commit(commit).await, Err(CommitError::Moved)));
    }
    assert_eq!(place.ledger().await, before);
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.hold(&teamspace("default"), "task/t1").await.unwrap(), free());
    store.commit(track.step(Status::Accepted)).await.unwrap();
}

/// Two writers continued from different entries at the same position: the one whose predecessor was
/// not written must be refused, or the chain would break.
pub async fn a_commit_on_another_past_is_refused(place: Place) {
    let store = &place.store;
    let mut written = Track::handoff(1);
    store.commit(written.step(Status::Proposed)).await.unwrap();
    let mut other = written.clone();
    let mut lost = other.step(Status::Rejected);
    lost.entries[0].actor = "agent:other".into();
    lost.entries[0] = lost.entries[0].clone().chained(&written.head);
    other.head = lost.entries[0].hash;
    store.commit(written.step(Status::Accepted)).await.unwrap();
    let built_on_the_lost_one = other.step(Status::Closed);
    assert_eq!(built_on_the_lost_one.expected_position, written.position);
    assert!(matches!(store.commit(built_on_the_lost_one).await, Err(CommitError::Moved)));
    assert_eq!(place.ledger().await.len(), 2);
}

pub async fn a_hold_is_compared_before_it_is_written(place: Place) {
    let store = &place.store;
    let (mut first, mut second) = (Track::handoff(1), Track::handoff(2));
    let key = "task/t1";
    let mut take = first.step(Status::Proposed);
    take.holds = vec![hold(key, free(), held(Some("one"), "[1]"))];
    store.commit(take).await.unwrap();

    let mut late = second.clone().step(Status::Proposed);
    late.holds = vec![hold(key, free(), held(Some("two"), "[2]"))];
    match store.commit(late).await {
        Err(CommitError::HoldTaken { key: taken, current }) => {
            assert_eq!((taken.as_str(), current), (key, held(Some("one"), "[1]")));
        }
        other => panic!("expected a taken hold, got {other:?}"),
    }
    assert!(store.load(&second.stream).await.unwrap().is_none());
    assert_eq!(store.newest().await.unwrap(), 1);

    let mut release = first.step(Status::Completed);
    release.holds = vec![hold(key, held(Some("one"), "[1]"), held(None, "[1,2]"))];
    store.commit(release).await.unwrap();
    let mut stale = second.clone().step(Status::Proposed);
    stale.holds = vec![hold(key, held(None, "[1]"), held(Some("two"), "[1]"))];
    match store.commit(stale).await {
        Err(CommitError::HoldTaken { current, .. }) => assert_eq!(current, held(None, "[1,2]")),
        other => panic!("the value is compared, too; got {other:?}"),
    }
    let mut again = second.step(Status::Proposed);
    again.holds = vec![hold(key, held(None, "[1,2]"), held(Some("two"), "[1,2]"))];
    store.commit(again).await.unwrap();
    assert_eq!(store.hold(&teamspace("default"), key).await.unwrap(), held(Some("two"), "[1,2]"));
}

pub async fn holds_of_one_commit_stand_or_fall_together(place: Place) {
    let store = &place.store;
    let mut first = Track::handoff(1);
    let mut take = first.step(Status::Proposed);
    take.holds = vec![hold("b", free(), held(Some("one"), "x"))];
    store.commit(take).await.unwrap();
    let mut second = Track::handoff(2).step(Status::Draft);
    second.holds =
        vec![hold("a", free(), held(Some("two"), "x")), hold("b", free(), held(Some("two"), "x"))];
    assert!(matches!(store.commit(second).await, Err(CommitError::HoldTaken { .. })));
    assert_eq!(store.hold(&teamspace("default"), "a").await.unwrap(), free());
}

pub async fn holds_belong_to_a_teamspace(place: Place) {
    let store = &place.store;
    for name in ["default", "other"] {
        let mut track = Track::new(name, Subject::Handoff(handoff_id(name.len() as u32)));
        let mut take = track.step(Status::Proposed);
        take.holds = vec![hold("task/t1", free(), held(Some(name), "[]"))];
        store.commit(take).await.unwrap();
        let current = store.hold(&teamspace(name), "task/t1").await.unwrap();
        assert_eq!(current, held(Some(name), "[]"));
    }
    assert_eq!(store.hold(&teamspace("third"), "task/t1").await.unwrap(), free());
}

pub async fn a_used_key_answers_what_was_recorded(place: Place) {
    let store = &place.store;
    let mut first = Track::handoff(1).step(Status::Proposed);
    first.key = keyed("k", "the first answer");
    store.commit(first).await.unwrap();
    let mut second = Track::handoff(2).step(Status::Draft);
    second.key = keyed("k", "the second answer");
    match store.commit(second).await {
        Err(CommitError::KeyUsed(kept)) => assert_eq!(kept, recorded("the first answer")),
        other => panic!("expected a used key, got {other:?}"),
    }
    assert_eq!(store.newest().await.unwrap(), 1);
}

pub async fn a_key_belongs_to_a_caller_in_a_teamspace(place: Place) {
    let store = &place.store;
    let scopes = [
        scope("default", "agent:barry", "k"),
        scope("default", "agent:tim", "k"),
        scope("other", "agent:barry", "k"),
        scope("default", "agent:barry", "l"),
    ];
    for (number, scope) in (1..).zip(&scopes) {
        let mut commit = Track::handoff(number).step(Status::Draft);
        let recorded = recorded(&number.to_string());
        commit.key = Some(KeyedOutcome { scope: scope.clone(), recorded, at: later(0) });
        store.commit(commit).await.unwrap();
    }
    for (number, scope) in (1..).zip(&scopes) {
        let kept = store.outcome(scope).await.unwrap();
        assert_eq!(kept, Some(recorded(&number.to_string())));
    }
    assert_eq!(store.outcome(&scope("third", "agent:barry", "k")).await.unwrap(), None);
}

pub async fn a_used_key_counts_before_a_moved_stream(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    let mut commit = track.step(Status::Proposed);
    commit.key = keyed("k", "done");
    let retry = commit.clone();
    store.commit(commit).await.unwrap();
    store.commit(track.step(Status::Accepted)).await.unwrap();
    assert!(matches!(store.commit(retry).await, Err(CommitError::KeyUsed(_))));
}

pub async fn a_refused_commit_uses_no_key(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    store.commit(track.step(Status::Proposed)).await.unwrap();
    let mut moved = Track::handoff(1).step(Status::Accepted);
    moved.key = keyed("k", "never");
    assert!(store.commit(moved).await.is_err());
    assert_eq!(store.outcome(&scope("default", "agent:barry", "k")).await.unwrap(), None);
    let mut taken = track.clone().step(Status::Accepted);
    taken.key = keyed("k", "never");
    taken.holds = vec![hold("task/t1", held(None, "x"), free())];
    assert!(store.commit(taken).await.is_err());
    assert_eq!(store.outcome(&scope("default", "agent:barry", "k")).await.unwrap(), None);
}

pub async fn an_erased_body_leaves_its_commitment(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    store.commit(track.next(handoff(handoff_id(1), "t1", Status::Proposed), 3)).await.unwrap();
    let before = place.ledger().await;
    for n_entries in [4, 5] {
        let mut commit = track.step(Status::Proposed);
        commit.erase = Some(2);
        store.commit(commit).await.unwrap();
        let after = place.ledger().await;
        assert_eq!(after.len(), n_entries);
        assert_eq!([&after[0], &after[2]], [&before[0], &before[2]]);
        let commitment = before[1].entry.body.commitment();
        assert_eq!(after[1].entry.body, Body::Erased { commitment });
        let mut head = GENESIS;
        for kept in &after {
            assert_eq!(kept.entry.hash, kept.entry.expected_hash(&head), "the chain holds");
            head = kept.entry.hash;
        }
    }
    let history = store.history(&track.stream, 3, 1).await.unwrap();
    assert_eq!(history[0].entry.body.text(), None);
}

pub async fn an_erased_proposal_takes_its_document_along(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    let mut propose = track.step(Status::Proposed);
    propose.document = Some(Document { hash: "package".to_owned(), text: "{}".to_owned() });
    store.commit(propose).await.unwrap();
    store.commit(track.step(Status::Accepted)).await.unwrap();
    for (position, document) in [(2, Some("{}")), (1, None)] {
        let mut erase = track.step(Status::Accepted);
        erase.erase = Some(position);
        store.commit(erase).await.unwrap();
        assert_eq!(store.document(&track.stream, "package").await.unwrap().as_deref(), document);
        let n_bytes = document.map_or(0, |text: &str| text.len() as u64);
        assert_eq!(store.document_bytes(1).await.unwrap(), n_bytes);
        assert_eq!(store.document_bytes(2).await.unwrap(), 0, "an entry without a document");
    }
}

pub async fn a_position_that_is_not_there_cannot_be_erased(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    store.commit(track.step(Status::Proposed)).await.unwrap();
    for position in [0, 2, 3, u64::MAX] {
        let mut commit = track.clone().step(Status::Proposed);
        commit.erase = Some(position);
        let refused = store.commit(commit).await;
        let is_named = matches!(refused, Err(CommitError::Failed(StoreError::Corrupt(_))));
        assert!(is_named, "position {position}: {refused:?}");
    }
    assert_eq!(store.newest().await.unwrap(), 1);
    store.commit(track.step(Status::Accepted)).await.unwrap();
}

pub async fn streams_of_two_teamspaces_may_have_one_name(place: Place) {
    let store = &place.store;
    let mut tracks =
        ["default", "other"].map(|name| Track::new(name, Subject::Handoff(handoff_id(1))));
    for track in &mut tracks {
        store.commit(track.step(Status::Draft)).await.unwrap();
        store.commit(track.step(Status::Draft)).await.unwrap();
    }
    for track in &tracks {
        let snapshot = store.load(&track.stream).await.unwrap().unwrap();
        assert_eq!((snapshot.position, snapshot.head), (2, track.head));
        let history = store.history(&track.stream, u64::MAX, 10).await.unwrap();
        assert_eq!(history.len(), 2);
        assert!(history.iter().all(|kept| kept.entry.stream == track.stream));
    }
}

/// A hold goes from one stream to another: the second commit is compared with the result of the
/// first.
pub async fn commits_of_several_streams_are_written_together(place: Place) {
    let store = &place.store;
    let (mut first, mut second) = (Track::handoff(1), Track::handoff(2));
    let key = "task/t1";
    let mut take = first.step(Status::Proposed);
    take.holds = vec![hold(key, free(), held(Some("one"), "[1]"))];
    store.commit(take).await.unwrap();

    let mut release = first.step(Status::Closed);
    release.holds = vec![hold(key, held(Some("one"), "[1]"), held(None, "[1]"))];
    release.key = keyed("k", "done");
    let mut begin = second.step(Status::Proposed);
    begin.holds = vec![hold(key, held(None, "[1]"), held(Some("two"), "[1]"))];
    begin.arm = vec![deadline("soon", 5)];
    let expected: Vec<_> = [&release, &begin].map(|commit| commit.entries[0].clone()).to_vec();
    assert_eq!(store.commit_together(vec![release, begin]).await.unwrap().last_seq, 3);
    let ledger = place.ledger().await;
    assert_eq!(ledger.iter().map(|kept| kept.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(ledger.into_iter().skip(1).map(|kept| kept.entry).eq(expected));
    assert_eq!(store.hold(&teamspace("default"), key).await.unwrap(), held(Some("two"), "[1]"));
    assert_eq!(store.next_due().await.unwrap(), Some(later(5)));
    store.commit_together(vec![first.step(Status::Closed)]).await.unwrap();
}

pub async fn commits_of_several_streams_fail_together(place: Place) {
    let store = &place.store;
    let (mut first, mut second) = (Track::handoff(1), Track::handoff(2));
    store.commit(first.step(Status::Proposed)).await.unwrap();
    store.commit(second.step(Status::Draft)).await.unwrap();
    let before = place.ledger().await;
    let mut moving = first.clone().step(Status::Accepted);
    moving.key = keyed("k", "done");
    moving.arm = vec![deadline("never", 1)];
    moving.holds = vec![hold("task/t1", free(), held(Some("one"), "[1]"))];

    let stale = Track { position: 0, head: GENESIS, ..second.clone() }.step(Status::Rejected);
    let moved = store.commit_together(vec![moving.clone(), stale]).await;
    assert!(matches!(moved, Err(CommitError::Moved)), "{moved:?}");
    let mut blocked = second.clone().step(Status::Rejected);
    blocked.holds = vec![hold("task/t1", free(), held(Some("two"), "[1]"))];
    let taken = store.commit_together(vec![moving.clone(), blocked]).await;
    assert!(matches!(taken, Err(CommitError::HoldTaken { .. })), "{taken:?}");

    assert_eq!(place.ledger().await, before);
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.hold(&teamspace("default"), "task/t1").await.unwrap(), free());
    assert_eq!(store.outcome(&scope("default", "agent:barry", "k")).await.unwrap(), None);
    store.commit_together(vec![moving, second.step(Status::Rejected)]).await.unwrap();
    assert_eq!(place.ledger().await.len(), 4);
}
