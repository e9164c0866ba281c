//! Snapshots: the server's stored state of each stream, compared with the state that its entries
//! give.

use std::collections::{HashSet, VecDeque};

use engine::ports::store::StoreError;
use protocol::audit::{Auditor, End, EntryPlace};
use protocol::conversation::Conversation;
use protocol::handoff::Handoff;
use protocol::ledger::{Entry, Stream};
use protocol::message::Message;
use protocol::row_mac::{self, Mac, RowKey};
use protocol::step::State;
use protocol::time::Time;
use protocol::transfer::Transfer;
use store::sqlite::{
    Columns, ConversationColumns, HandoffColumns, MessageColumns, ReadOnly, SnapshotPlace,
    SnapshotRow,
};

use super::derived_rows;
use super::report::Findings;

/// The snapshots that are still to come, by the last entry that each knows.
#[derive(Debug)]
pub struct Snapshots<'d> {
    database: &'d ReadOnly,
    /// Without it, MACs are not checked.
    key: Option<&'d RowKey>,
    places: VecDeque<SnapshotPlace>,
    /// Streams whose snapshots are wrong or in the wrong place. They were reported already.
    doubtful: HashSet<Stream>,
}

impl<'d> Snapshots<'d> {
    pub fn of(database: &'d ReadOnly, key: Option<&'d RowKey>) -> Result<Self, StoreError> {
        let places = database.snapshot_places()?.into();
        Ok(Self { database, key, places, doubtful: HashSet::new() })
    }

    /// After an entry was pushed: compares the snapshot that ends with it, if one does.
    pub fn check(
        &mut self,
        seq: i64,
        entry: &Entry,
        auditor: &mut Auditor,
        findings: &mut Findings,
    ) {
        while let Some(place) = self.places.front().copied()
            && place.last_seq <= seq
        {
            self.places.pop_front();
            if place.last_seq < seq {
                self.stray(place, findings);
                continue;
            }
            let number = u64::try_from(seq).unwrap_or_default();
            let found = match self.database.snapshot_row(place) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => {
                    let what = format_args!("the snapshot that ends here cannot be read: {error}");
                    findings.about(EntryPlace::of(number, entry), what);
                    auditor.settle(&entry.stream);
                    self.doubtful.insert(entry.stream.clone());
                    continue;
                }
            };
            if found.stream != entry.stream {
                let Stream { teamspace, subject } = &found.stream;
                let what = format_args!("the snapshot of {subject} in {teamspace} ends here");
                findings.about(EntryPlace::of(number, entry), what);
                self.doubtful.insert(found.stream);
                continue;
            }
            let Some(end) = auditor.settle(&entry.stream) else { continue };
            let what = self.difference(&found, &end, entry);
            if let Some(what) = what {
                findings.about(EntryPlace::of(number, entry), what);
                self.doubtful.insert(entry.stream.clone());
            }
        }
    }

    fn difference(&self, found: &SnapshotRow, end: &End, entry: &Entry) -> Option<String> {
        let stream = &entry.stream;
        if let Some(what) = difference(found, end, entry.at) {
            return Some(what);
        }
        if self.key.is_some_and(|key| found.mac != Some(mac_of(found, key))) {
            return Some("the snapshot of the stream was not written by the server".to_owned());
        }
        let own = State::from_text(&found.state_text);
        let state = match (&end.state, self.key) {
            (Some(state), _) => state,
            // A state that has an erased entry behind it cannot be computed. Its MAC vouches for
            // it.
            (None, Some(_)) => match &own {
                Ok(own) if !is_found_by(own, &found.columns) => return Some(other_columns()),
                Ok(own) => own,
                Err(_) => return Some("the snapshot of the stream cannot be read".to_owned()),
            },
            (None, None) => return None,
        };
        match derived_rows::difference(self.database, stream, state) {
            Ok(difference) => difference,
            Err(error) => Some(format!("what is remembered of it cannot be read: {error}")),
        }
    }

    /// After the last entry: no snapshot may be left over, and no stream may lack one. Returns the
    /// streams whose snapshots are wrong.
    pub fn finish(mut self, auditor: &Auditor, findings: &mut Findings) -> HashSet<Stream> {
        while let Some(place) = self.places.pop_front() {
            self.stray(place, findings);
        }
        for (stream, seq) in auditor.unsettled() {
            if !self.doubtful.insert(stream.clone()) {
                continue;
            }
            let Stream { teamspace, subject } = stream;
            let what =
                format_args!("no snapshot of {subject} in {teamspace} ends with its last entry");
            findings.about(EntryPlace::Range { first: seq, last: seq }, what);
        }
        self.doubtful
    }

    fn stray(&mut self, place: SnapshotPlace, findings: &mut Findings) {
        let of = match self.database.snapshot_row(place) {
            Ok(Some(row)) => {
                let of = format!("{} in {}", row.stream.subject, row.stream.teamspace);
                self.doubtful.insert(row.stream);
                of
            }
            Ok(None) | Err(_) => "a stream that cannot be read".to_owned(),
        };
        let what = format!("the snapshot of {of} ends with this entry, which is not there");
        match u64::try_from(place.last_seq) {
            Ok(seq) => findings.about(EntryPlace::Range { first: seq, last: seq }, what),
            Err(_) => findings.general(format_args!("entry {}: {what}", place.last_seq)),
        }
    }
}

/// What is wrong with a snapshot that can be seen without the states before it: its MAC, the entry
/// that it ends with, and the rows that follow from it.
pub fn row_problem(
    database: &ReadOnly,
    place: SnapshotPlace,
    key: &RowKey,
) -> Result<Option<String>, StoreError> {
    let Some(found) = database.snapshot_row(place)? else { return Ok(None) };
    let Stream { teamspace, subject } = &found.stream;
    let of = |what: &str| Some(format!("the snapshot of {subject} in {teamspace} {what}"));
    if found.mac != Some(mac_of(&found, key)) {
        return Ok(of("was not written by the server"));
    }
    // The stream may have gone on since its place was listed.
    let last_seq = database.load(&found.stream)?.map(|it| it.last_seq);
    if !database.ends_with(last_seq.unwrap_or_default(), &found.head)? {
        return Ok(of("does not end with its newest entry"));
    }
    let Ok(state) = State::from_text(&found.state_text) else { return Ok(of("cannot be read")) };
    let difference = derived_rows::difference(database, &found.stream, &state)?;
    Ok(difference.map(|what| format!("{subject} in {teamspace}: {what}")))
}

fn mac_of(found: &SnapshotRow, key: &RowKey) -> Mac {
    let SnapshotRow { stream, position, head, at, state_text, .. } = found;
    let (position, at) = (*position, *at);
    key.of_snapshot(row_mac::SnapshotRow { stream, position, head, at, state_text })
}

fn other_columns() -> String {
    "the snapshot of the stream has other columns than follow from its state".to_owned()
}

/// The state as the first releases stored it: without what an owner said about the work when it
/// began, without whether a verifier was asked, and without since when a worker has a claim. Their
/// snapshots are still in that form.
fn as_first_kept(state: &State) -> State {
    let mut state = state.clone();
    if let State::Handoff(handoff) = &mut state
        && let Handoff::Made(made) = handoff.as_mut()
    {
        made.work_state = None;
        made.verifier_asked = false;
    }
    if let State::Question(question) = &mut state
        && let Some(claim) = &mut question.continuation.claim
    {
        claim.since = None;
    }
    state
}

fn difference(found: &SnapshotRow, end: &End, at: Time) -> Option<String> {
    let differs = |what: &str| Some(format!("the snapshot of the stream has {what}"));
    if found.position != end.position {
        return differs("another position");
    }
    if found.head != end.hash {
        return differs("another hash");
    }
    if found.at != at {
        return differs("another time");
    }
    // A state that has an erased entry behind it cannot be computed, so it cannot be compared.
    let state = end.state.as_deref()?;
    let is_same = State::from_text(&found.state_text)
        .is_ok_and(|found| found == *state || found == as_first_kept(state));
    if !is_same {
        return differs("another state than follows from the entries");
    }
    if !is_found_by(state, &found.columns) {
        return Some(other_columns());
    }
    None
}

/// Whether the columns beside a state are those that follow from it.
fn is_found_by(state: &State, columns: &Columns) -> bool {
    match (state, columns) {
        (State::Handoff(handoff), Columns::Handoff(columns)) => *columns == columns_of(handoff),
        (State::Agent(_), Columns::Stream { kind, secret_hash }) => {
            kind == "agent" && secret_hash.is_none()
        }
        (State::Token(token), Columns::Stream { kind, secret_hash }) => {
            kind == "token" && secret_hash.as_ref() == Some(&token.secret_hash)
        }
        (State::Ledger(_), Columns::Stream { kind, secret_hash }) => {
            kind == "ledger" && secret_hash.is_none()
        }
        (State::Teamspace(_), Columns::Stream { kind, secret_hash }) => {
            kind == "teamspace" && secret_hash.is_none()
        }
        (State::Graph(_), Columns::Stream { kind, secret_hash }) => {
            kind == "graph" && secret_hash.is_none()
        }
        (State::Subscription(_), Columns::Stream { kind, secret_hash }) => {
            kind == "subscription" && secret_hash.is_none()
        }
        (State::Session(_), Columns::Stream { kind, secret_hash }) => {
            kind == "session" && secret_hash.is_none()
        }
        (State::File(_), Columns::Stream { kind, secret_hash }) => {
            kind == "file" && secret_hash.is_none()
        }
        (State::Webhook(_), Columns::Stream { kind, secret_hash }) => {
            kind == "webhook" && secret_hash.is_none()
        }
        (State::Question(_), Columns::Stream { kind, secret_hash }) => {
            kind == "question" && secret_hash.is_none()
        }
        (State::Message(message), Columns::Message(columns)) => {
            *columns == message_columns_of(message)
        }
        (State::Message(message), Columns::Stream { kind, secret_hash }) => {
            message.purged && kind == "message" && secret_hash.is_none()
        }
        (State::Conversation(conversation), Columns::Conversation(columns)) => {
            *columns == conversation_columns_of(conversation)
        }
        (
            State::Handoff(_),
            Columns::Stream { .. } | Columns::Message(_) | Columns::Conversation(_),
        )
        | (State::Message(_), Columns::Handoff(_) | Columns::Conversation(_))
        | (
            State::Conversation(_),
            Columns::Stream { .. } | Columns::Handoff(_) | Columns::Message(_),
        )
        | (
            State::Agent(_)
            | State::Token(_)
            | State::Ledger(_)
            | State::Teamspace(_)
            | State::Graph(_)
            | State::Subscription(_)
            | State::Session(_)
            | State::File(_)
            | State::Webhook(_)
            | State::Question(_),
            Columns::Handoff(_) | Columns::Message(_) | Columns::Conversation(_),
        ) => false,
    }
}

fn conversation_columns_of(conversation: &Conversation) -> ConversationColumns {
    let transfer = conversation.open_transfer();
    let waiting = transfer.and_then(Transfer::waiting);
    ConversationColumns {
        holder: conversation.holder.to_string(),
        status: conversation.status().as_str().to_owned(),
        opened_at: conversation.opened_at.as_millis(),
        waits_in: waiting.as_ref().map(|waiting| waiting.queue.to_string()),
        waits_order: waiting.as_ref().map(|waiting| waiting.order.as_millis()),
        asked: transfer.and_then(Transfer::asked).map(ToString::to_string),
        calls_in: conversation.callback.as_ref().map(|callback| callback.queue.to_string()),
        calls_at: conversation.callback.as_ref().map(|callback| callback.due().as_millis()),
    }
}

fn message_columns_of(message: &Message) -> MessageColumns {
    MessageColumns {
        thread_id: message.sent.thread_id.to_string(),
        from_agent: message.sent.from.to_string(),
        kind: message.sent.kind.to_string(),
        topic: message.sent.topic.as_ref().map(ToString::to_string),
        status: message.status().to_string(),
        created_at: message.created_at.as_millis(),
    }
}

fn columns_of(handoff: &Handoff) -> HandoffColumns {
    HandoffColumns {
        thread_id: handoff.thread_id().to_string(),
        task_id: handoff.task_id().map(ToString::to_string),
        from_agent: handoff.from().to_string(),
        to_agent: handoff.to().map(ToString::to_string),
        title: handoff.title().map(str::to_owned),
        status: handoff.status().to_string(),
        initiated_at: handoff.initiated_at().as_millis(),
        resolved_at: handoff.resolved_at().map(Time::as_millis),
        document_hash: Some(handoff.document_hash().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A question that a worker has claimed.
    fn claimed() -> Value {
        let at = "2026-02-25T06:13:20.000Z";
        json!({ "Question": {
            "id": "01938c2e-0000-7000-8000-000000000001",
            "asked": {
                "asker": "bot", "to": "hana", "to_kind": "person", "text": "Refund order 7?",
                "wants": "approve", "hash": "54", "until": at,
            },
            "asked_at": at,
            "state": { "Answered": {
                "by": "agent:hana", "at": at, "given": { "decision": "approve" }, "note": null,
            } },
            "continuation": {
                "epoch": 1,
                "claim": { "by": "bot", "since": at, "until": at, "lapsed": true },
                "finished": null,
            },
            "erased": false,
        } })
    }

    #[test]
    fn a_claim_as_the_first_releases_kept_it_is_the_same_state() {
        let read = |state: &Value| State::from_text(&state.to_string()).unwrap();
        let (now, mut before) = (claimed(), claimed());
        let claim = before.pointer_mut("/Question/continuation/claim").unwrap();
        claim.as_object_mut().unwrap().remove("since").unwrap();
        assert_ne!(read(&before), read(&now));
        assert_eq!(read(&before), as_first_kept(&read(&now)));
    }
}
