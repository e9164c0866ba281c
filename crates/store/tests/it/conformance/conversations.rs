//! Conversations in lists, and their transcripts by number.

use engine::ports::store::{Commit, ConversationFilter, List, ListOf, Sequenced, StoreReads};
use protocol::callback::Callback;
use protocol::conversation::Status;
use protocol::conversation::state::{Closed, Conversation, Setup, Transcript, Turn};
use protocol::ids::{ConversationId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{NumberedEvent, State};
use protocol::time::Span;
use protocol::transfer::Transfer;
use serde_json::{Value, json};

use super::fixture::{Place, Track, handoff_id, teamspace};
use crate::support::{id, start};

const TEAMSPACES: [&str; 2] = ["default", "other"];
const HOLDERS: [&str; 3] = ["alice", "bob", "carol"];

pub async fn conversations_are_listed_by_holder_and_status(place: Place) {
    let mut made: Vec<(Stream, Conversation)> = Vec::new();
    for number in 0..36usize {
        let name = TEAMSPACES[number / 2 % 2];
        let mut track = track(name, number);
        let first = conversation(number, HOLDERS[0], Status::Open);
        place.store.commit(track.next(state(&first), 1)).await.expect("it is new");
        let status = if number.is_multiple_of(5) { Status::Closed } else { Status::Open };
        let moved = conversation(number, HOLDERS[number % 3], status);
        place.store.commit(track.next(state(&moved), 1)).await.expect("it continues");
        made.push((track.stream, moved));
    }
    let holders = [None, Some("alice"), Some("bob"), Some("carol"), Some("nobody")];
    let statuses = [None, Some(Status::Open), Some(Status::Closed)];
    for name in TEAMSPACES {
        for (holder, status) in holders.iter().flat_map(|one| statuses.map(|two| (*one, two))) {
            let filter = ConversationFilter { holder: holder.map(id), asked: None, status };
            let is_wanted = |(stream, it): &&(Stream, Conversation)| {
                stream.teamspace.as_str() == name
                    && holder.is_none_or(|holder| it.holder.as_str() == holder)
                    && status.is_none_or(|status| it.status() == status)
            };
            let expected: Vec<_> =
                made.iter().rev().filter(is_wanted).map(|(stream, _)| stream.clone()).collect();
            assert_eq!(pages(&place, name, &ListOf::Conversations(filter)).await, expected);
        }
    }
    for (stream, it) in &made {
        let found = place.store.load(stream).await.unwrap().expect("it is there");
        assert_eq!(serde_json::from_str::<State>(&found.state_text).unwrap(), state(it));
    }
}

/// Waiting conversations are in the order of their places; an answered one is not listed any more.
pub async fn those_who_wait_are_listed_by_queue_and_place(place: Place) {
    let mut made: Vec<(String, String, i64, Stream)> = Vec::new();
    for number in 0..24usize {
        let (name, queue) = (TEAMSPACES[number % 2], ["first", "second"][number / 2 % 2]);
        let order = [7, 3, 5][number % 3];
        let mut track = track(name, number);
        let mut it = conversation(number, queue, Status::Open);
        it.transfer = Some(Box::new(transfer(queue, order, json!("queued"))));
        place.store.commit(track.next(state(&it), 1)).await.expect("it is new");
        if number.is_multiple_of(5) {
            let stage = json!({ "connected": { "claim": { "agent": "hana" } } });
            it.transfer = Some(Box::new(transfer(queue, order, stage)));
            place.store.commit(track.next(state(&it), 1)).await.expect("it continues");
        } else {
            made.push((name.to_owned(), queue.to_owned(), order, track.stream));
        }
    }
    made.sort_by_key(|(name, queue, order, stream)| {
        (name.clone(), queue.clone(), *order, stream.subject.id())
    });
    let mut queues = Vec::new();
    for name in TEAMSPACES.map(|name| name.parse::<TeamspaceId>().expect("a teamspace")) {
        let (store, mut last) = (&place.store, None);
        while let Some(next) = store.waiting_queues(&name, last.as_ref(), 1).await.unwrap().pop() {
            queues.push((name.clone(), next.clone()));
            last = Some(next);
        }
    }
    let shown: Vec<_> = queues.iter().map(|(name, queue)| format!("{name} {queue}")).collect();
    assert_eq!(shown, ["default first", "default second", "other first", "other second"]);
    for (name, queue) in &queues {
        let here = made.iter().filter(|it| it.0 == name.as_str() && it.1 == queue.as_str());
        let here: Vec<_> = here.collect();
        let listed = place.store.waiting(name, queue, None, 100).await.unwrap();
        let listed: Vec<_> = listed.into_iter().map(|row| row.stream).collect();
        assert_eq!(listed, here.iter().map(|it| it.3.clone()).collect::<Vec<_>>());
        for (n_before, (_, _, order, stream)) in here.iter().enumerate() {
            let Subject::Conversation(id) = stream.subject else { panic!("a conversation") };
            let after = Some((serde_json::from_value(json!(order)).expect("a place"), id));
            let rest = place.store.waiting(name, queue, after, 2).await.unwrap();
            let rest: Vec<_> = rest.into_iter().map(|row| row.stream).collect();
            let wanted = here.iter().skip(n_before + 1).take(2).map(|it| it.3.clone());
            assert_eq!(rest, wanted.collect::<Vec<_>>());
        }
        assert_eq!(place.store.n_waiting(name, queue, None).await.unwrap(), here.len());
        for (n_before, (_, _, order, stream)) in here.into_iter().enumerate() {
            let Subject::Conversation(id) = stream.subject else { panic!("a conversation") };
            let order = serde_json::from_value(json!(order)).expect("a place");
            let found = place.store.n_waiting(name, queue, Some((order, id))).await.unwrap();
            assert_eq!(found, n_before);
        }
    }
}

fn transfer(queue: &str, order: i64, stage: Value) -> Transfer {
    let limits = json!({ "ring": "30s", "hold": "10m", "wait": "1h", "gives_up_at": start() });
    let terms = json!({
        "requested_by": "operator:root", "requested_at": start(), "kind": "bot_to_human",
        "priority": 0, "wanted": {}, "previous": "alice",
    });
    let transfer = json!({
        "id": "01938c2e-0000-7000-9000-000000000001", "terms": terms, "queue": queue,
        "order": order, "limits": limits, "stage": stage, "n_legs": 0,
    });
    serde_json::from_value(transfer).expect("a transfer")
}

/// Callbacks are in order of their due time; a settled one is not listed any more.
pub async fn callbacks_are_listed_by_queue_and_when(place: Place) {
    let mut made: Vec<(Stream, Option<Callback>)> = Vec::new();
    for number in 0..24usize {
        let mut track = track(TEAMSPACES[number % 2], number);
        let minutes = [7, 3, 5][number % 3];
        let callback = Callback {
            queue: id(["first", "second"][number / 2 % 2]),
            by: "operator:root".to_owned(),
            asked_at: start(),
            contact: "c".to_owned(),
            note: String::new(),
            not_before: (number % 4 != 0).then(|| start().plus(Span::from_minutes(minutes))),
        };
        let mut it = conversation(number, "alice", Status::Open);
        it.callback = Some(Box::new(callback.clone()));
        place.store.commit(track.next(state(&it), 1)).await.expect("it is new");
        let is_settled = number.is_multiple_of(5);
        if is_settled {
            it.callback = None;
            place.store.commit(track.next(state(&it), 1)).await.expect("it continues");
        }
        made.push((track.stream, (!is_settled).then_some(callback)));
    }
    for name in TEAMSPACES {
        let (mut queues, mut last) = (Vec::new(), None);
        let store = &place.store;
        while let Some(next) =
            store.calling_queues(&teamspace(name), last.as_ref(), 1).await.unwrap().pop()
        {
            queues.push(next.to_string());
            last = Some(next);
        }
        assert_eq!(queues, ["first", "second"]);
    }
    for (name, queue) in TEAMSPACES.iter().flat_map(|name| [(name, "first"), (name, "second")]) {
        let of_queue = made.iter().filter_map(|(stream, callback)| {
            let is_here = stream.teamspace.as_str() == *name;
            let callback = callback.as_ref().filter(|it| is_here && it.queue == id(queue))?;
            Some((callback.due(), stream.subject.id(), stream.clone()))
        });
        let mut expected: Vec<_> = of_queue.collect();
        expected.sort();
        for limit in [2, 50] {
            let teamspace = teamspace(name);
            let listed = place.store.callbacks(&teamspace, &id(queue), limit).await;
            let listed: Vec<_> =
                listed.expect("a list can be read").into_iter().map(|it| it.stream).collect();
            let wanted = expected.iter().take(limit).map(|(_, _, stream)| stream.clone());
            assert_eq!(listed, wanted.collect::<Vec<_>>(), "{name} {queue}");
        }
    }
    assert!(
        place.store.callbacks(&teamspace("default"), &id("third"), 9).await.unwrap().is_empty()
    );
}

/// Not every entry is a line, a commit may have several lines, and two streams alternate.
pub async fn a_transcript_is_read_by_numbers(place: Place) {
    let mut tracks = [track("default", 1), track("default", 2), track("other", 1)];
    let mut expected = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..20u64 {
        for (index, track) in tracks.iter_mut().enumerate() {
            let it = conversation(1 + index % 2, "alice", Status::Open);
            let n_entries = 1 + (round as usize + index) % 3;
            let first = expected[index].len() as u64 + 1;
            // In a commit of three entries the first is not a line.
            let lines = (usize::from(n_entries == 3)..n_entries).zip(first..);
            let transcript: Vec<_> =
                lines.map(|(event, number)| NumberedEvent { number, event }).collect();
            let commit = Commit { transcript, ..track.next(state(&it), n_entries) };
            for line in &commit.transcript {
                expected[index].push(commit.entries[line.event].clone());
            }
            place.store.commit(commit).await.expect("it continues");
        }
    }
    for (known, expected) in tracks.iter().zip(&expected) {
        for (after, limit) in [(0, 1_000), (0, 3), (7, 5), (expected.len(), 5), (1_000, 5)] {
            let lines = read(&place, &known.stream, after as u64, limit).await;
            let wanted: Vec<_> = expected.iter().skip(after).take(limit).cloned().collect();
            assert_eq!(lines.into_iter().map(|line| line.entry).collect::<Vec<_>>(), wanted);
        }
        assert!(read(&place, &known.stream, u64::MAX, 5).await.is_empty());
    }
    assert!(read(&place, &track("other", 2).stream, 0, 5).await.is_empty());
}

pub async fn what_was_erased_keeps_its_number(place: Place) {
    let mut track = track("default", 1);
    let it = conversation(1, "alice", Status::Open);
    let transcript =
        (0..3).map(|event| NumberedEvent { number: event as u64 + 1, event }).collect();
    let commit = Commit { transcript, ..track.next(state(&it), 3) };
    place.store.commit(commit).await.expect("it is new");
    let before = read(&place, &track.stream, 0, 9).await;
    let erasing = Commit { erase: Some(2), ..track.next(state(&it), 1) };
    place.store.commit(erasing).await.expect("it continues");
    let after = read(&place, &track.stream, 0, 9).await;
    assert_eq!((&after[0], &after[2]), (&before[0], &before[2]));
    assert_eq!((after.len(), after[1].seq), (3, before[1].seq));
    assert_eq!(after[1].entry.body.text(), None);
}

async fn read(place: &Place, stream: &Stream, after: u64, limit: usize) -> Vec<Sequenced> {
    place.store.transcript(stream, after, limit).await.expect("a transcript can be read")
}

async fn pages(place: &Place, name: &str, of: &ListOf) -> Vec<Stream> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let list = List { teamspace: teamspace(name), of: of.clone(), before, limit: 4 };
        let page = place.store.list(list).await.expect("a list can be read");
        assert!(page.len() <= 4);
        let Some(last) = page.last() else { return found };
        before = Some(last.row);
        found.extend(page.into_iter().map(|listed| listed.stream));
    }
}

fn track(name: &str, number: usize) -> Track {
    Track::new(name, Subject::Conversation(conversation_id(number)))
}

pub fn conversation_id(number: usize) -> ConversationId {
    let id = handoff_id(u32::try_from(number).expect("a small number"));
    id.to_string().parse().expect("an id")
}

pub fn state(conversation: &Conversation) -> State {
    State::Conversation(std::sync::Arc::new(conversation.clone()))
}

pub fn conversation(number: usize, holder: &str, status: Status) -> Conversation {
    let setup = Setup {
        opened_by: "agent:shop".to_owned(),
        customer: Default::default(),
        topology: Default::default(),
        graph: None,
        attributes: Default::default(),
        customer_queues: Vec::new(),
        signals: Default::default(),
        hops_max: 8,
    };
    Conversation {
        id: conversation_id(number),
        setup: setup.into(),
        opened_at: start(),
        holder: id(holder),
        epoch: 1,
        transcript: Transcript::default(),
        shared: Default::default(),
        turn: Turn::default(),
        held: vec![id(holder)],
        signals: Default::default(),
        told: Default::default(),
        wait: Default::default(),
        closed: match status {
            Status::Open => None,
            Status::Closed => Some(Closed { at: start() }),
        },
        transfer: None,
        callback: None,
    }
}
