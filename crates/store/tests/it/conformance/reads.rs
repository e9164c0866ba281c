//! Reading: pages, positions beyond the end, deadlines, documents, tokens, the seal.

use engine::ports::store::{
    HandoffFilter, List, ListOf, READ_BYTES_MAX, Sealed, StoreReads, StoreWrites,
};
use protocol::graph::{Graph, Saved};
use protocol::handoff::Status;
use protocol::ids::TokenId;
use protocol::ledger::Subject;
use protocol::step::{Document, State};
use protocol::teamspace::{Configuration, Teamspace};

use super::fixture::{
    Place, Track, agent, deadline, forks, free, handoff, handoff_id, later, scope, teamspace, token,
};

pub async fn an_empty_store_answers_nothing(place: Place) {
    let store = &place.store;
    let nobody = Track::handoff(1).stream;
    assert_eq!(store.newest().await.unwrap(), 0);
    assert_eq!(store.entries(0, 10).await.unwrap(), []);
    assert!(store.load(&nobody).await.unwrap().is_none());
    assert_eq!(store.history(&nobody, u64::MAX, 10).await.unwrap(), []);
    assert_eq!(store.document(&nobody, "package").await.unwrap(), None);
    assert_eq!(store.hold(&teamspace("default"), "task/t1").await.unwrap(), free());
    assert_eq!(store.outcome(&scope("default", "agent:barry", "k")).await.unwrap(), None);
    assert_eq!(store.token_stream("secret").await.unwrap(), None);
    assert_eq!(store.due(later(1_000_000), 10).await.unwrap(), []);
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_eq!(store.sealed().await.unwrap(), None);
    for of in [ListOf::Handoffs(HandoffFilter::default()), ListOf::Agents, ListOf::Tokens] {
        let list = List { teamspace: teamspace("default"), of, before: None, limit: 10 };
        assert!(store.list(list).await.unwrap().is_empty());
    }
}

pub async fn entries_are_read_in_pages(place: Place) {
    let mut track = Track::handoff(1);
    let state = handoff(handoff_id(1), "t1", Status::Proposed);
    place.store.commit(track.next(state, 10)).await.unwrap();
    let seqs = async |after, limit| -> Vec<u64> {
        let page = place.store.entries(after, limit).await.unwrap();
        page.iter().map(|kept| kept.seq).collect()
    };
    assert_eq!(seqs(0, 4).await, [1, 2, 3, 4]);
    assert_eq!(seqs(4, 4).await, [5, 6, 7, 8]);
    assert_eq!(seqs(8, 4).await, [9, 10]);
    assert_eq!(seqs(9, 1).await, [10]);
    assert!(seqs(0, 0).await.is_empty());
}

pub async fn places_beyond_the_end_are_answered(place: Place) {
    let store = &place.store;
    let mut track = Track::handoff(1);
    store.commit(track.step(Status::Proposed)).await.unwrap();
    for after in [1, 2, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        assert_eq!(store.entries(after, usize::MAX).await.unwrap(), [], "after {after}");
    }
    assert_eq!(store.history(&track.stream, u64::MAX, usize::MAX).await.unwrap().len(), 1);
    for before in [None, Some(u64::MAX), Some(u64::MAX / 2)] {
        let of = ListOf::Handoffs(HandoffFilter::default());
        let list = List { teamspace: teamspace("default"), of, before, limit: usize::MAX };
        assert_eq!(store.list(list).await.unwrap().len(), 1, "before {before:?}");
    }
}

pub async fn history_is_read_backwards_in_pages(place: Place) {
    let store = &place.store;
    let (mut one, mut two) = (Track::handoff(1), Track::handoff(2));
    for _ in 0..5 {
        store.commit(one.next(handoff(handoff_id(1), "t1", Status::Draft), 2)).await.unwrap();
        store.commit(two.step(Status::Draft)).await.unwrap();
    }
    let positions = async |track: &Track, before, limit| -> Vec<u64> {
        let page = store.history(&track.stream, before, limit).await.unwrap();
        assert!(page.iter().all(|kept| kept.entry.stream == track.stream));
        page.iter().map(|kept| kept.entry.position).collect()
    };
    assert_eq!(positions(&one, u64::MAX, 4).await, [10, 9, 8, 7]);
    assert_eq!(positions(&one, 7, 4).await, [6, 5, 4, 3]);
    assert_eq!(positions(&one, 3, 4).await, [2, 1]);
    assert!(positions(&one, 1, 4).await.is_empty());
    assert!(positions(&one, 0, 4).await.is_empty());
    assert_eq!(positions(&two, 100, 3).await, [5, 4, 3]);
    let newest = store.history(&one.stream, u64::MAX, 1).await.unwrap();
    assert_eq!(newest[0].entry.hash, one.head);
}

pub async fn history_is_read_forwards_in_pages(place: Place) {
    let store = &place.store;
    let (mut one, mut two) = (Track::handoff(1), Track::handoff(2));
    for _ in 0..5 {
        store.commit(one.next(handoff(handoff_id(1), "t1", Status::Draft), 2)).await.unwrap();
        store.commit(two.step(Status::Draft)).await.unwrap();
    }
    let positions = async |track: &Track, from, limit| -> Vec<u64> {
        let page = store.history_from(&track.stream, from, limit).await.unwrap();
        assert!(page.iter().all(|kept| kept.entry.stream == track.stream));
        page.iter().map(|kept| kept.entry.position).collect()
    };
    assert_eq!(positions(&one, 0, 4).await, [1, 2, 3, 4]);
    assert_eq!(positions(&one, 5, 4).await, [5, 6, 7, 8]);
    assert_eq!(positions(&one, 9, 4).await, [9, 10]);
    assert_eq!(positions(&two, 3, 9).await, [3, 4, 5]);
    assert!(positions(&one, 11, 4).await.is_empty());
}

/// Large bodies make short pages, but no page is empty before the end.
pub async fn a_read_is_bounded_in_bytes(place: Place) {
    let store = &place.store;
    let (mut track, mut size) = (Track::handoff(1), READ_BYTES_MAX / 4);
    for _ in 0..6 {
        let mut commit = track.step(Status::Draft);
        let text = format!("{{\"x\":\"{}\"}}", "x".repeat(size));
        track.replace_body(&mut commit, text);
        store.commit(commit).await.unwrap();
        size = size * 3 / 2;
    }
    let stream = &track.stream;
    let mut after = 0;
    let mut lengths = Vec::new();
    loop {
        let page = store.entries(after, 99).await.unwrap();
        let from = store.history_from(stream, after + 1, 99).await.unwrap();
        assert_eq!(page, from);
        let Some(last) = page.last() else { break };
        after = last.seq;
        lengths.push(page.len());
    }
    assert_eq!(lengths, [2, 1, 1, 1, 1]);
    let newest = store.history(stream, u64::MAX, 99).await.unwrap();
    assert_eq!(newest.len(), 1);
}

pub async fn deadlines_are_due_in_their_order(place: Place) {
    let store = &place.store;
    let mut tracks: Vec<Track> = (1..=3).map(Track::handoff).collect();
    for (track, minutes) in tracks.iter_mut().zip([30, 10, 20]) {
        let mut commit = track.step(Status::Draft);
        commit.arm = vec![deadline("first", minutes), deadline("second", minutes + 5)];
        store.commit(commit).await.unwrap();
    }
    let due = async |minutes, limit| -> Vec<(u64, String)> {
        let due = store.due(later(minutes), limit).await.unwrap();
        let shown = due.iter().map(|due| {
            let minutes = due.deadline.due.since(later(0)).as_millis() / 60_000;
            (u64::try_from(minutes).unwrap(), due.deadline.name.to_string())
        });
        shown.collect()
    };
    assert_eq!(due(9, 10).await, []);
    assert_eq!(due(10, 10).await, [(10, "first".to_owned())]);
    let order = [10, 15, 20, 25, 30, 35];
    assert_eq!(due(100, 10).await.iter().map(|(at, _)| *at).collect::<Vec<_>>(), order);
    assert_eq!(due(100, 2).await.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [10, 15]);
    assert_eq!(store.next_due().await.unwrap(), Some(later(10)));

    let mut commit = tracks[1].step(Status::Draft);
    commit.disarm = vec![deadline("first", 10)];
    commit.arm = vec![deadline("first", 40)];
    store.commit(commit).await.unwrap();
    let order = [15, 20, 25, 30, 35, 40];
    assert_eq!(due(100, 10).await.iter().map(|(at, _)| *at).collect::<Vec<_>>(), order);
    let found = store.due(later(15), 10).await.unwrap();
    assert_eq!(found[0].stream, tracks[1].stream);
    assert_eq!(store.next_due().await.unwrap(), Some(later(15)));
}

/// `flood` has most of them, and the earliest.
pub async fn when_too_many_are_due_teamspaces_take_turns(place: Place) {
    let store = &place.store;
    for (number, teamspace, minutes) in
        (1..=60).map(|it| (it, "flood", 1)).chain([(61, "other", 2), (62, "third", 3)])
    {
        let mut track = Track::new(teamspace, Subject::Handoff(handoff_id(number)));
        let mut commit = track.step(Status::Draft);
        commit.arm = vec![deadline("first", minutes)];
        store.commit(commit).await.unwrap();
    }
    let due = async |minutes, limit| -> Vec<String> {
        let due = store.due(later(minutes), limit).await.unwrap();
        due.iter().map(|due| due.stream.teamspace.to_string()).collect()
    };
    assert_eq!(due(9, 5).await, ["flood", "other", "third", "flood", "flood"]);
    assert_eq!(due(2, 3).await, ["flood", "other", "flood"]);
    assert_eq!(due(9, 99).await.len(), 62);
}

pub async fn a_document_is_found_while_it_is_current(place: Place) {
    let store = &place.store;
    let (mut one, mut two) = (Track::handoff(1), Track::handoff(2));
    let document =
        |hash: &str, text: &str| Some(Document { hash: hash.to_owned(), text: text.to_owned() });
    let find = async |track: &Track, hash: &str| store.document(&track.stream, hash).await.unwrap();
    let mut draft = one.step(Status::Draft);
    draft.document = document("a", "first");
    store.commit(draft).await.unwrap();
    assert_eq!(find(&one, "a").await.as_deref(), Some("first"));
    assert_eq!(find(&one, "b").await, None);
    assert_eq!(find(&two, "a").await, None);

    let mut propose = one.step(Status::Proposed);
    propose.document = document("b", "second");
    store.commit(propose).await.unwrap();
    assert_eq!(find(&one, "a").await, None, "the draft gave way to the package");
    assert_eq!(find(&one, "b").await.as_deref(), Some("second"));
    store.commit(one.step(Status::Accepted)).await.unwrap();
    assert_eq!(find(&one, "b").await.as_deref(), Some("second"));

    let mut same = two.step(Status::Draft);
    same.document = document("b", "of another stream");
    store.commit(same).await.unwrap();
    assert_eq!(find(&one, "b").await.as_deref(), Some("second"));
    assert_eq!(find(&two, "b").await.as_deref(), Some("of another stream"));
}

pub async fn a_graph_has_the_text_of_its_last_entry(place: Place) {
    let store = &place.store;
    let subject = Subject::Graph("support".parse().unwrap());
    let (mut one, mut two) = (Track::new("red", subject.clone()), Track::new("blue", subject));
    let find = async |track: &Track, hash: &str| store.document(&track.stream, hash).await.unwrap();
    for (version, hash) in [(1, "a"), (2, "b")] {
        for track in [&mut one, &mut two] {
            let text = format!("{hash} of {}", track.stream.teamspace);
            let mut save = track.next(graph(version, false), 1);
            save.document = Some(Document { hash: hash.to_owned(), text });
            store.commit(save).await.unwrap();
        }
    }
    assert_eq!(find(&one, "a").await, None, "there is a newer version");
    assert_eq!(find(&one, "b").await.as_deref(), Some("b of red"));
    store.commit(one.next(graph(2, true), 1)).await.unwrap();
    assert_eq!(find(&one, "b").await, None, "it was removed");
    assert_eq!(find(&two, "b").await.as_deref(), Some("b of blue"));
    let list = async |name: &str| {
        let list = List { teamspace: teamspace(name), of: ListOf::Graphs, before: None, limit: 9 };
        let rows = store.list(list).await.unwrap();
        rows.into_iter().map(|row| row.stream).collect::<Vec<_>>()
    };
    assert_eq!(list("red").await, [one.stream]);
    assert_eq!(list("green").await, []);
}

fn graph(version: u64, removed: bool) -> State {
    let saved = Saved {
        version,
        hash: String::new(),
        size_bytes: 1,
        n_routers: 0,
        n_specialists: 1,
        n_rules: 0,
        n_signals: 0,
    };
    State::Graph(Graph { saved, removed })
}

pub async fn a_token_is_found_by_its_secret(place: Place) {
    let store = &place.store;
    let id: TokenId = "01938c2e-0000-7000-8000-000000000001".parse().unwrap();
    let mut track = Track::new("other", Subject::Token(id));
    store.commit(track.next(token(id, "hash"), 1)).await.unwrap();
    assert_eq!(store.token_stream("hash").await.unwrap(), Some(track.stream.clone()));
    assert_eq!(store.token_stream("other").await.unwrap(), None);
    store.commit(track.next(token(id, "hash"), 1)).await.unwrap();
    assert_eq!(store.token_stream("hash").await.unwrap(), Some(track.stream));
}

pub async fn the_ledger_has_a_stream_of_its_own(place: Place) {
    let store = &place.store;
    let mut track = Track::new("default", Subject::Ledger);
    for number in 1..3 {
        let state = forks(number);
        store.commit(track.next(state.clone(), 1)).await.unwrap();
        let found = store.load(&track.stream).await.unwrap().unwrap();
        assert_eq!((found.position, found.head), (track.position, track.head));
        assert_eq!(serde_json::from_str::<State>(&found.state_text).unwrap(), state);
    }
    assert_eq!(store.history(&track.stream, 9, 9).await.unwrap().len(), 2);
    for of in [ListOf::Agents, ListOf::Tokens, ListOf::Handoffs(Default::default())] {
        let teamspace = track.stream.teamspace.clone();
        let list = List { teamspace, of, before: None, limit: 9 };
        assert!(store.list(list).await.unwrap().is_empty());
    }
}

pub async fn teamspaces_have_a_stream_each_and_are_found_by_name(place: Place) {
    let store = &place.store;
    let named = |names: &[&str]| names.iter().map(|name| teamspace(name)).collect::<Vec<_>>();
    assert_eq!(store.teamspaces(None, 9).await.unwrap(), []);
    for name in ["red", "blue"] {
        let mut track = Track::new(name, Subject::Teamspace);
        let configured = |revision| {
            let configuration = Configuration { name: name.to_owned(), ..Default::default() };
            State::Teamspace(Teamspace { configuration, revision })
        };
        for revision in 1..3 {
            store.commit(track.next(configured(revision), 1)).await.unwrap();
        }
        let found = store.load(&track.stream).await.unwrap().unwrap();
        assert_eq!(serde_json::from_str::<State>(&found.state_text).unwrap(), configured(2));
        assert_eq!(store.history(&track.stream, 9, 9).await.unwrap().len(), 2);
    }
    let mut track = Track::new("green", Subject::Agent("barry".parse().unwrap()));
    store.commit(track.next(agent("barry"), 1)).await.unwrap();
    assert_eq!(store.teamspaces(None, 9).await.unwrap(), named(&["blue", "green", "red"]));
    assert_eq!(store.teamspaces(None, 2).await.unwrap(), named(&["blue", "green"]));
    let after = teamspace("green");
    assert_eq!(store.teamspaces(Some(&after), 2).await.unwrap(), named(&["red"]));
    let after = teamspace("grey");
    assert_eq!(store.teamspaces(Some(&after), 0).await.unwrap(), []);
    assert_eq!(store.teamspaces(Some(&after), 2).await.unwrap(), named(&["red"]));
}

pub async fn the_seal_is_replaced(place: Place) {
    let store = &place.store;
    // After a fork it is smaller than before.
    for size in [1, 3, 2] {
        let sealed = Sealed { size, edge: vec![7; 32], note: format!("note {size}") };
        store.seal(sealed.clone()).await.unwrap();
        assert_eq!(store.sealed().await.unwrap(), Some(sealed));
    }
}
