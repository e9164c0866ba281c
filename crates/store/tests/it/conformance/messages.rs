//! Messages: lists by every filter, inboxes, their counts, and the cursors of followers.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::store::{
    Commit, CommitError, InboxCounts, InboxStatus, List, ListOf, MessageFilter, OldestMessages,
    Snapshot, StoreReads, StoreWrites,
};
use protocol::ids::MessageId;
use protocol::ledger::{Stream, Subject};
use protocol::message::event::Sent;
use protocol::message::{Delivery, Kind, Message};
use protocol::step::State;
use protocol::time::Time;
use serde_json::json;

use super::fixture::{Place, Track, handoff_id, later, teamspace};
use crate::support::id;

const TEAMSPACES: [&str; 2] = ["default", "other"];
const AGENTS: [&str; 3] = ["barry", "tim", "zoe"];
const KINDS: [Kind; 2] = [Kind::StatusUpdate, Kind::KnowledgeQuery];

struct Made {
    stream: Stream,
    message: Message,
}

pub async fn messages_are_listed_by_every_filter_and_page(place: Place) {
    let made = make(&place).await;
    let mut n_found = 0;
    let parties: [&[&str]; 4] = [&[], &["barry"], &["tim", "zoe"], &["nobody"]];
    let statuses = [None, Some(Delivery::Pending), Some(Delivery::Read)];
    for choice in 0..16_u32 {
        let wants = |bit: u32| choice & (1 << bit) != 0;
        for (names, status) in
            parties.iter().flat_map(|names| statuses.map(|status| (names, status)))
        {
            let filter = MessageFilter {
                parties: names.iter().map(|name| id(name)).collect(),
                thread_id: wants(0).then(|| "thread-1".parse().unwrap()),
                kind: wants(1).then_some(KINDS[0]),
                topic: wants(2).then(|| "builds".parse().unwrap()),
                since: wants(3).then(|| later(10)),
                until: wants(3).then(|| later(40)),
                status,
            };
            n_found += check(&place, &made, &filter).await;
        }
    }
    assert!(n_found > 200, "the filters find something: {n_found}");
}

async fn check(place: &Place, made: &[Made], filter: &MessageFilter) -> usize {
    let is_wanted = |message: &Message| {
        let sent = &message.sent;
        let is_party = |name| message.recipients.contains_key(name) || sent.from == *name;
        let own = filter.parties.first().and_then(|name| message.recipients.get(name));
        filter.parties.iter().all(is_party)
            && filter.thread_id.as_ref().is_none_or(|thread| *thread == sent.thread_id)
            && filter.kind.is_none_or(|kind| kind == sent.kind)
            && filter.topic.is_none_or_eq(&sent.topic)
            && filter.since.is_none_or(|since| message.created_at >= since)
            && filter.until.is_none_or(|until| message.created_at < until)
            && filter.status.is_none_or(|status| *own.unwrap_or(&message.status()) == status)
    };
    let mut n_found = 0;
    for name in TEAMSPACES {
        let expected = streams(made, name, is_wanted);
        let of = ListOf::Messages(filter.clone());
        for size in [1, 3, 100] {
            assert_eq!(pages(place, name, &of, size).await, expected, "{filter:?} by {size}");
        }
        n_found += expected.len();
    }
    n_found
}

/// Whether a filter is unset or matches.
trait Asks<T> {
    fn is_none_or_eq(&self, found: &Option<T>) -> bool;
}

impl<T: PartialEq> Asks<T> for Option<T> {
    fn is_none_or_eq(&self, found: &Option<T>) -> bool {
        self.is_none() || self == found
    }
}

pub async fn an_inbox_has_what_its_owner_was_sent(place: Place) {
    let made = make(&place).await;
    for (name, agent) in TEAMSPACES.into_iter().flat_map(|name| AGENTS.map(|agent| (name, agent))) {
        let agent = id(agent);
        let status_of = |message: &Message| message.recipients.get(&agent).copied();
        let of = |status| ListOf::Inbox { agent: agent.clone(), status };
        let open = streams(&made, name, |one| status_of(one).is_some_and(Delivery::is_in_inbox));
        assert!(!open.is_empty());
        for size in [1, 3, 100] {
            assert_eq!(pages(&place, name, &of(InboxStatus::Open), size).await, open);
        }
        let mut counts = BTreeMap::new();
        for status in Delivery::ALL {
            let only = streams(&made, name, |one| status_of(one) == Some(status));
            counts.insert(status, only.len());
            assert_eq!(pages(&place, name, &of(InboxStatus::Only(status)), 2).await, only);
        }
        let counted = place.store.inbox_counts(&teamspace(name), &agent).await.unwrap();
        let expected = InboxCounts {
            pending: counts[&Delivery::Pending],
            delivered: counts[&Delivery::Delivered],
            read: counts[&Delivery::Read],
        };
        assert_eq!(counted, expected);
    }
}

pub async fn a_message_is_found_in_its_teamspace(place: Place) {
    let made = make(&place).await;
    for one in &made {
        let found = place.store.load(&one.stream).await.unwrap().expect("it is there");
        let state: State = serde_json::from_str(&found.state_text).unwrap();
        assert_eq!(state, State::Message(one.message.clone()));
        let teamspace = teamspace("third");
        let elsewhere = Stream { teamspace, subject: one.stream.subject.clone() };
        assert!(place.store.load(&elsewhere).await.unwrap().is_none());
    }
}

/// Every third message is purged, including the newest, whose row may be reused by the next one.
pub async fn a_purged_message_is_in_no_list_and_keeps_its_place(place: Place) {
    let mut made = make(&place).await;
    let mut kept = Vec::new();
    for (number, one) in made.drain(..).enumerate() {
        if number % 3 != 2 {
            kept.push(one);
            continue;
        }
        let found = place.store.load(&one.stream).await.unwrap().expect("it is there");
        let Snapshot { position, head, .. } = found;
        let mut track = Track { stream: one.stream.clone(), position, head };
        let purged = Message { purged: true, ..one.message };
        let state = State::Message(purged);
        let commit = Commit { erase: Some(1), ..track.next(state.clone(), 1) };
        place.store.commit(commit).await.expect("it continues");
        let found = place.store.load(&one.stream).await.unwrap().expect("it has its place");
        assert_eq!(serde_json::from_str::<State>(&found.state_text).unwrap(), state);
        let again = Track::new(one.stream.teamspace.as_str(), one.stream.subject.clone());
        let refused = place.store.commit({ again }.next(state, 1)).await.unwrap_err();
        assert!(matches!(refused, CommitError::Moved), "{refused}");
    }
    for (name, agent) in TEAMSPACES.into_iter().flat_map(|name| AGENTS.map(|agent| (name, agent))) {
        let agent = id(agent);
        let takes_part =
            |one: &Message| one.recipients.contains_key(&agent) || one.sent.from == agent;
        let filter = MessageFilter { parties: vec![agent.clone()], ..MessageFilter::default() };
        let expected = streams(&kept, name, takes_part);
        assert_eq!(pages(&place, name, &ListOf::Messages(filter), 3).await, expected);
        let pending = |one: &Message| one.recipients.get(&agent) == Some(&Delivery::Pending);
        let counted = place.store.inbox_counts(&teamspace(name), &agent).await.unwrap();
        assert_eq!(counted.pending, streams(&kept, name, pending).len());
    }
    let all = kept.iter().map(|one| one.stream.clone()).collect::<Vec<_>>();
    assert_eq!(oldest(&place, None).await, all);
    for name in TEAMSPACES {
        let mut newest_first = streams(&kept, name, |_| true);
        let of = ListOf::Messages(MessageFilter::default());
        assert_eq!(pages(&place, name, &of, 3).await, newest_first);
        newest_first.reverse();
        assert_eq!(oldest(&place, Some(name)).await, newest_first);
    }
}

async fn oldest(place: &Place, name: Option<&str>) -> Vec<Stream> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let oldest = OldestMessages { teamspace: name.map(teamspace), after, limit: 5 };
        let page = place.store.oldest_messages(oldest).await.expect("they can be read");
        assert!(page.len() <= 5);
        let Some(last) = page.last() else { return found };
        after = last.row;
        found.extend(page.into_iter().map(|listed| listed.stream));
    }
}

pub async fn a_follower_finds_its_place_again(place: Place) {
    assert_eq!(place.store.place("notices").await.unwrap(), 0);
    for seq in [3, 7] {
        place.store.write_place("notices", seq).await.unwrap();
        assert_eq!(place.store.place("notices").await.unwrap(), seq);
    }
    assert_eq!(place.store.place("others").await.unwrap(), 0);
}

fn streams(made: &[Made], name: &str, are: impl Fn(&Message) -> bool) -> Vec<Stream> {
    let newest_first = made.iter().rev().filter(|one| one.stream.teamspace.as_str() == name);
    newest_first.filter(|one| are(&one.message)).map(|one| one.stream.clone()).collect()
}

async fn pages(place: &Place, name: &str, of: &ListOf, size: usize) -> Vec<Stream> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let list = List { teamspace: teamspace(name), of: of.clone(), before, limit: size };
        let page = place.store.list(list).await.expect("a list can be read");
        assert!(page.len() <= size);
        let Some(last) = page.last() else { return found };
        before = Some(last.row);
        found.extend(page.into_iter().map(|listed| listed.stream));
    }
}

/// All parties and statuses mixed. Each message changes its status once, which must not change its
/// place.
async fn make(place: &Place) -> Vec<Made> {
    let mut made = Vec::new();
    for number in 0..48usize {
        let name = TEAMSPACES[number / 2 % 2];
        let id = handoff_id(u32::try_from(number).expect("a small number"));
        let id: MessageId = id.to_string().parse().expect("an id");
        let mut track = Track::new(name, Subject::Message(id));
        let fresh = message(id, number, Delivery::Pending);
        place.store.commit(track.next(State::Message(fresh), 1)).await.expect("it is new");
        let moved = message(id, number, Delivery::ALL[number / 4 % 5]);
        let state = State::Message(moved.clone());
        place.store.commit(track.next(state, 1)).await.expect("it continues");
        made.push(Made { stream: track.stream, message: moved });
    }
    made
}

/// To one agent, or to two of which one may be its sender.
fn message(number_id: MessageId, number: usize, status: Delivery) -> Message {
    let from = AGENTS[number % 3];
    let mut to = vec![AGENTS[(number + 1) % 3]];
    if number.is_multiple_of(4) {
        to.push(AGENTS[(number / 4 + number) % 3]);
    }
    to.dedup();
    let mut sent = json!({
        "version": "1.0.0", "from": from, "to": to, "thread_id": format!("thread-{}", number % 2),
        "type": KINDS[number / 3 % 2], "priority": "normal", "payload": {},
    });
    if number.is_multiple_of(5) {
        sent["topic"] = json!("builds");
    }
    let recipients = to.iter().map(|name| (id(name), Delivery::Pending));
    let mut recipients: BTreeMap<_, _> = recipients.collect();
    recipients.insert(id(to[0]), status);
    let created_at: Time = later(i64::try_from(number).expect("a small number"));
    let sent: Sent = serde_json::from_value(sent).expect("what was sent");
    let sent = sent.into();
    let (id, updated_at, woken, purged) = (number_id, created_at, BTreeSet::new(), false);
    Message { id, sent, created_at, updated_at, recipients, woken, purged }
}
