//! Many commits at once: they are decided in order, each by itself, and numbered without a gap.

use engine::ports::store::{CommitError, StoreReads};
use protocol::handoff::Status;
use protocol::ledger::Subject;

use super::fixture::{Place, Track, agent, free, held, hold};

const N_COMMITS: u32 = 300;

/// All are queued before the first is answered, so that a store that commits in groups has them in
/// one.
pub async fn one_conflict_in_a_group_fails_alone(place: Place) {
    let store = &place.store;
    let mut receipts = Vec::new();
    for number in 0..N_COMMITS {
        let mut commit = Track::handoff(number).step(Status::Draft);
        match number % 3 {
            0 => {}
            // The first commit gets it; the others of its kind conflict.
            1 => commit.holds = vec![hold("task/hot", free(), held(Some("first"), "[]"))],
            _ => commit.expected_position = 9,
        }
        receipts.push(store.commit(commit));
    }
    let mut n_written = 0;
    for (number, receipt) in (0..N_COMMITS).zip(receipts) {
        match (number % 3, receipt.await) {
            (0, Ok(committed)) | (1, Ok(committed)) => {
                assert!(number % 3 == 0 || number == 1, "only the first gets the hold");
                n_written += 1;
                assert_eq!(committed.last_seq, n_written, "numbers follow the line");
            }
            (1, Err(CommitError::HoldTaken { current, .. })) => {
                assert_eq!(current, held(Some("first"), "[]"));
            }
            (2, Err(CommitError::Moved)) => {}
            (_, other) => panic!("commit {number}: {other:?}"),
        }
    }
    let ledger = place.ledger().await;
    assert_eq!(ledger.len() as u64, n_written);
    for (seq, kept) in (1..).zip(&ledger) {
        assert_eq!(kept.seq, seq);
    }
}

pub async fn commits_are_decided_in_the_order_of_their_lines(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    let receipts: Vec<_> =
        (0..N_COMMITS).map(|_| store.commit(track.step(Status::Draft))).collect();
    for (seq, receipt) in (1..).zip(receipts) {
        assert_eq!(receipt.await.unwrap().last_seq, seq);
    }
}

pub async fn a_dropped_receipt_takes_nothing_back(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    for _ in 0..N_COMMITS {
        drop(store.commit(track.step(Status::Draft)));
    }
    store.commit(track.step(Status::Draft)).await.unwrap();
    assert_eq!(store.newest().await.unwrap(), u64::from(N_COMMITS) + 1);
}

pub async fn sequence_numbers_have_no_gaps_and_readers_never_see_one(place: Place) {
    const N_WRITERS: u32 = 8;
    const N_EACH: u64 = 40;
    let total = u64::from(N_WRITERS) * N_EACH * 2;
    let mut writers = Vec::new();
    for number in 0..N_WRITERS {
        let store = place.store.clone();
        writers.push(tokio::spawn(async move {
            let name = format!("w{number}");
            let subject = Subject::Agent(name.parse().unwrap());
            let mut track = Track::new("default", subject);
            for _ in 0..N_EACH {
                let committed = store.commit(track.next(agent(&name), 2)).await.unwrap();
                let newest = store.newest().await.unwrap();
                assert!(newest >= committed.last_seq, "what is answered is visible");
            }
        }));
    }
    let mut seen = 0;
    while seen < total {
        for kept in place.store.entries(seen, 64).await.unwrap() {
            seen += 1;
            assert_eq!(kept.seq, seen, "an entry is visible only after all before it");
        }
        tokio::task::yield_now().await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(place.store.newest().await.unwrap(), total);
}
