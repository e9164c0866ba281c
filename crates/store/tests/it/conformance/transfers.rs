//! What happened to transfers, folded from their entries, and when people were last rung.

use engine::ports::store::Commit;
use engine::ports::transfers::{TransferFilter, TransferList, TransferRow, TransfersOf};
use protocol::conversation::state::Conversation;
use protocol::ids::{AgentId, TransferId};
use protocol::ledger::{Body, Entry, Subject};
use protocol::step::State;
use protocol::time::Time;
use protocol::transfer::{Record, Status};
use serde_json::{Value, json};

use super::conversations::{conversation, conversation_id, state};
use super::fixture::{Place, Track, later, teamspace};
use crate::support::id;

const TEAMSPACES: [&str; 2] = ["default", "other"];
const QUEUES: [&str; 2] = ["care", "tax"];
const PEOPLE: [&str; 3] = ["hana", "ivan", "olga"];

/// Forty transfers in twenty conversations, in all states.
async fn made(place: &Place) -> Vec<(usize, TransferRow)> {
    let mut rows = Vec::new();
    for number in 0..40usize {
        let which = number / 4 * 2 + number % 2;
        let (name, queue) = (TEAMSPACES[number % 2], QUEUES[number / 2 % 2]);
        let person = PEOPLE[number % 3];
        let mut track = Track::new(name, Subject::Conversation(conversation_id(which)));
        track.resume(place).await;
        let all = events(queue, person);
        let wanted = &all[..1 + number % all.len()];
        let events: Vec<_> = wanted.iter().map(|(name, body)| (*name, body.clone())).collect();
        let at = later(i64::try_from(number / 3).expect("a small number"));
        let commit = track.tell(
            &conversation(which, "bob", protocol::conversation::Status::Open),
            number,
            events,
            at,
        );
        let first_seq = place.store.newest().await.unwrap() + 1;
        let entries = commit.entries.clone();
        place.store.commit(commit).await.expect("it continues");
        rows.push((number, row(first_seq, which, &entries)));
    }
    rows
}

fn row(seq: u64, which: usize, entries: &[Entry]) -> TransferRow {
    use protocol::transfer::Event;
    use protocol::transfer::record::recorded;
    let mut record = None;
    for entry in entries {
        let event = recorded(entry).expect("an event of a transfer");
        if let Event::Requested(it) = &event {
            record = Some(Record::requested(it, entry.at));
        } else {
            record.as_mut().expect("requested").apply(&event, &entry.actor, entry.at);
        }
    }
    let record = record.expect("requested");
    TransferRow { row: seq, conversation: conversation_id(which), record }
}

pub async fn transfers_are_listed_by_every_filter_and_page(place: Place) {
    let made = made(&place).await;
    let statuses = [None, Some(Status::Queued), Some(Status::Connected), Some(Status::Completed)];
    for choice in 0..128_usize {
        let wants = |bit: u32| choice & (1 << bit) != 0;
        let filter = TransferFilter {
            status: statuses[choice % 4],
            queue: wants(2).then(|| id(QUEUES[0])),
            agent: wants(3).then(|| id(PEOPLE[1])),
            conversation: wants(4).then(|| conversation_id(4)),
            since: wants(5).then(|| later(3)),
            until: wants(6).then(|| later(9)),
        };
        for (index, name) in TEAMSPACES.iter().enumerate() {
            let own = made.iter().filter(|(number, _)| number % 2 == index);
            let mut expected: Vec<_> =
                own.map(|(_, row)| row.clone()).filter(|row| filter.matches(row)).collect();
            expected.reverse();
            let of = TransfersOf::Matching(filter.clone());
            assert_eq!(pages(&place, name, &of).await, expected, "{filter:?}");
        }
    }
    for (index, name) in TEAMSPACES.iter().enumerate() {
        let own = || made.iter().filter(|(number, _)| number % 2 == index).map(|(_, row)| row);
        let (since, until) = (later(2), later(7));
        let in_time = |row: &&TransferRow| (since..until).contains(&row.record.requested_at);
        let expected: Vec<_> = own().filter(in_time).cloned().collect();
        assert_eq!(pages(&place, name, &TransfersOf::Requested { since, until }).await, expected);
        for queue in QUEUES {
            let waits = |row: &&TransferRow| {
                row.record.waiting_since.is_some() && row.record.queue == id(queue)
            };
            let longest = own().filter(waits).map(|row| row.record.waiting_since).min().flatten();
            let of = TransfersOf::WaitingIn(id(queue));
            let first = listed(&place, name, &of, None, 1).await.pop();
            assert_eq!(first.and_then(|row| row.record.waiting_since), longest);
        }
        for row in own() {
            let of = TransfersOf::One(row.record.transfer);
            assert_eq!(listed(&place, name, &of, None, 9).await, std::slice::from_ref(row));
            let other = TEAMSPACES[1 - index];
            assert!(listed(&place, other, &of, None, 9).await.is_empty());
        }
    }
}

pub async fn the_last_ring_of_each_person_is_known(place: Place) {
    let made = made(&place).await;
    for (index, name) in TEAMSPACES.iter().enumerate() {
        let rung = made.iter().filter(|(number, row)| number % 2 == index && row.record.rings > 0);
        let mut expected: Vec<(AgentId, Time)> = Vec::new();
        for (number, row) in rung {
            let (person, at) = (id(PEOPLE[number % 3]), row.record.requested_at);
            match expected.iter_mut().find(|(known, _)| *known == person) {
                Some((_, last)) => *last = at.max(*last),
                None => expected.push((person, at)),
            }
        }
        expected.sort();
        let (mut found, mut after) = (Vec::new(), None);
        let name = teamspace(name);
        while let Some(next) = place.store.last_rings(&name, after.as_ref(), 1).await.unwrap().pop()
        {
            after = Some(next.0.clone());
            found.push(next);
        }
        assert_eq!(found, expected);
    }
    assert!(place.store.last_rings(&teamspace("third"), None, 9).await.unwrap().is_empty());
}

async fn pages(place: &Place, name: &str, of: &TransfersOf) -> Vec<TransferRow> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = listed(place, name, of, after, 3).await;
        let Some(last) = page.last() else { return found };
        after = Some(last.row);
        found.extend(page);
    }
}

async fn listed(
    place: &Place,
    name: &str,
    of: &TransfersOf,
    after: Option<u64>,
    limit: usize,
) -> Vec<TransferRow> {
    let list = TransferList { teamspace: teamspace(name), of: of.clone(), after, limit };
    place.store.transfers(list).await.expect("a list can be read")
}

/// A transfer from its request to its rating.
fn events(queue: &str, person: &str) -> Vec<(&'static str, Value)> {
    let limits = json!({ "ring": "30s", "hold": "10m", "wait": "1h", "gives_up_at": later(60) });
    vec![
        (
            "transfer.requested",
            json!({ "queue": queue, "number": 1, "epoch": 2, "by": "agent:bob",
                "kind": "bot_to_human", "priority": 0, "wanted": {}, "limits": limits }),
        ),
        ("transfer.queued", json!({ "queue": queue, "epoch": 2, "order": 0, "limits": limits })),
        ("transfer.ringing", json!({ "leg": 0, "agent": person, "until": later(1) })),
        (
            "transfer.connected",
            json!({ "leg": 0, "agent": person, "epoch": 3, "number": 2, "kind": "bot_to_human" }),
        ),
        ("transfer.over", json!({ "outcome": "completed", "to": "bob", "epoch": 4, "number": 3 })),
        ("transfer.rated", json!({ "score": 5 })),
    ]
}

impl Track {
    /// Goes on at the end of the stream, if there is one.
    async fn resume(&mut self, place: &Place) {
        if let Some(snapshot) = place.store.load(&self.stream).await.expect("a read") {
            (self.position, self.head) = (snapshot.position, snapshot.head);
        }
    }

    /// A commit of events of one transfer, all at one time.
    fn tell(
        &mut self,
        it: &Conversation,
        number: usize,
        events: Vec<(&'static str, Value)>,
        at: Time,
    ) -> Commit {
        let before = self.head;
        let state: State = state(it);
        let mut commit = self.next(state, events.len());
        let transfer: TransferId =
            format!("01938c2e-0000-7000-9000-{number:012}").parse().expect("a UUID");
        let mut head = before;
        for (entry, (name, mut body)) in commit.entries.iter_mut().zip(events) {
            body["transfer"] = transfer.to_string().into();
            body["holder"] = "care".into();
            let body = Body::Kept { salt: [7; 16], text: body.to_string() };
            let next = Entry { name: name.into(), body, at, ..entry.clone() };
            *entry = next.chained(&head);
            head = entry.hash;
        }
        self.head = head;
        commit
    }
}
