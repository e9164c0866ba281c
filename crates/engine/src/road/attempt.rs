//! The road: load, step, commit, and again if the state has changed. Every change takes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::caller::Caller;
use protocol::file::references::names_files;
use protocol::json;
use protocol::ledger::{Body, Entry, GENESIS, Stream};
use protocol::rejection::Rejection;
use protocol::row_mac::SnapshotRow;
use protocol::step::{self, Change, Command, Context, Facts, Needs, Outcome, State};
use protocol::time::Time;
use tracing::Instrument;

use crate::Engine;
use crate::loops::outbox_pools::Rings;
use crate::ports::store::{Commit, CommitError, Committed, StoreError};
use crate::road::holds::AssumedHolds;
use crate::road::multi_stream::First;
use crate::road::pending_commit::PendingCommit;
use crate::road::slots::{CommitNotifier, Durability, Latest, StreamTurn};
use crate::road::submit::{Attempt, Done, Key, Next, Submission, SubmitError, Submitted};
use crate::usage::Reservation;

/// A conflict means that another command made progress, so a few tries are enough. More mean that
/// something is wrong, and the caller is told.
const ATTEMPTS_MAX: usize = 32;

/// About what the text of a state takes.
const STATE_BYTES: usize = 2_048;

impl Engine {
    /// Decides a command and makes it durable. `Ok` means that it is in the ledger.
    pub fn submit<'a>(
        &'a self,
        caller: &'a Caller,
        stream: Stream,
        command: Command,
        key: Option<Key>,
    ) -> Submitted<'a> {
        Box::pin(self.submit_assuming(caller, stream, command, key, AssumedStream::Unknown))
    }

    /// The same for a stream whose id was just made: it cannot exist yet, which spares a read.
    /// Should it exist all the same, the store notices, as it compares at commit.
    pub fn submit_new<'a>(
        &'a self,
        caller: &'a Caller,
        stream: Stream,
        command: Command,
        key: Option<Key>,
    ) -> Submitted<'a> {
        Box::pin(self.submit_assuming(caller, stream, command, key, AssumedStream::Absent))
    }

    /// The result that a command would have on a stream that does not exist yet. Nothing is
    /// changed, and the real command may find another state.
    pub async fn try_out(
        &self,
        caller: &Caller,
        stream: Stream,
        command: Command,
    ) -> Result<Outcome, SubmitError> {
        let needs = step::needs(None, &command);
        let mut facts = self.facts(caller, &stream, needs).await?;
        let keys = step::holds(caller, &stream, None, &command);
        facts.holds = self.read_holds(&stream, keys, |_| None).await?;
        let context = Context { caller, now: self.clock.now(), facts: &facts };
        match step::step(&stream, None, &command, context) {
            Ok(change) => {
                self.usage.check(caller, &command, &change, context.now)?;
                Ok(change.outcome)
            }
            Err(no) => Err(self.access().withheld(caller, &stream.teamspace, no).await?.into()),
        }
    }

    async fn submit_assuming(
        &self,
        caller: &Caller,
        stream: Stream,
        command: Command,
        key: Option<Key>,
        assumed: AssumedStream,
    ) -> Result<Done, SubmitError> {
        let asked = &Submission { caller, stream: &stream, command: &command, key: key.as_ref() };
        let span = tracing::debug_span!(
            "submit",
            command = asked.command.name(),
            stream = asked.stream.subject.kind(),
            outcome = tracing::field::Empty,
        );
        let result = self.attempt_until_settled(asked, assumed).instrument(span.clone()).await;
        span.record("outcome", outcome_code(&result));
        match &result {
            Ok(_) => {}
            Err(SubmitError::Rejected(rejection)) => {
                self.counts.rejected.fetch_add(1, Ordering::Relaxed);
                self.usage.note(rejection);
            }
            Err(SubmitError::KeyReused) => {
                self.counts.rejected.fetch_add(1, Ordering::Relaxed);
            }
            Err(SubmitError::Contended | SubmitError::Behind(_) | SubmitError::Store(_)) => {
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        result
    }

    async fn attempt_until_settled(
        &self,
        asked: &Submission<'_>,
        mut assumed: AssumedStream,
    ) -> Result<Done, SubmitError> {
        self.ledger().check_may_write(asked.command)?;
        let freed = if let Command::Erase { position, .. } = asked.command {
            Box::pin(self.ledger().stored_at(asked.stream, *position)).await?
        } else {
            None
        };
        let mut holds = AssumedHolds::Free;
        for _ in 0..ATTEMPTS_MAX {
            let assumed = std::mem::replace(&mut assumed, AssumedStream::Unknown);
            match self.attempt(asked, assumed, &holds).await? {
                Attempt::Done(done) => {
                    if let Some((actor, n_bytes)) = freed {
                        self.usage.free(&asked.stream.teamspace, &actor, n_bytes);
                    }
                    return Ok(done);
                }
                Attempt::Again => {}
                Attempt::AgainReading { told } => holds = AssumedHolds::Read { told },
            }
            self.counts.retried.fetch_add(1, Ordering::Relaxed);
        }
        Err(SubmitError::Contended)
    }

    /// This future is kept small, because thousands of requests wait at once. The decision is a
    /// function of its own, and rare paths are boxed.
    async fn attempt(
        &self,
        asked: &Submission<'_>,
        assumed: AssumedStream,
        holds: &AssumedHolds,
    ) -> Result<Attempt, SubmitError> {
        let turn = self.slots.of(asked.stream).turn().await;
        let decided = {
            let latest = match (turn.latest(), assumed) {
                (Some(latest), _) if latest.is_usable() => latest,
                (None, AssumedStream::Absent) => Latest::absent(),
                (Some(_) | None, _) => Box::pin(self.load_latest(asked.stream)).await?,
            };
            let needs = step::needs(latest.state.as_deref(), asked.command);
            if needs == Needs::default() && matches!(holds, AssumedHolds::Free) {
                self.decide(asked, &turn, latest, &Facts::default())
            } else {
                let state = latest.state.as_deref();
                let mut facts = Box::pin(self.known_facts(asked, state, needs, holds)).await?;
                // An entry gives up its files once, so an earlier erasure must be durable first.
                if facts.entry.as_deref().is_some_and(names_files) {
                    if latest.settled().await != Durability::Durable {
                        return Ok(Attempt::Again);
                    }
                    let needs = step::needs(state, asked.command);
                    facts = Box::pin(self.known_facts(asked, state, needs, holds)).await?;
                }
                self.decide(asked, &turn, latest, &facts)
            }
        };
        match decided {
            Decided::Together(latest, change, now) => {
                let first = First { turn, latest, change: *change, now };
                Box::pin(self.attempt_multi_stream(asked, first, holds)).await
            }
            Decided::PendingCommit(pending, done, rings) => {
                drop(turn);
                let written = pending.settle().await;
                self.outbox_bells.ring(rings);
                self.settle(asked, done, written)
            }
            Decided::Nothing(latest, outcome) => {
                drop(turn);
                Box::pin(self.leave(asked, &latest, outcome)).await
            }
            Decided::Refused(latest, rejection) => {
                drop(turn);
                Box::pin(self.refuse(asked, rejection, &latest, holds)).await
            }
        }
    }

    /// The facts that a command is decided on besides its stream. They are boxed: they are large,
    /// and not needed while a request waits for the store.
    async fn known_facts(
        &self,
        asked: &Submission<'_>,
        state: Option<&State>,
        needs: Needs,
        holds: &AssumedHolds,
    ) -> Result<Box<Facts>, StoreError> {
        let mut facts = self.facts(asked.caller, asked.stream, needs).await?;
        if let AssumedHolds::Read { told } = holds {
            let keys = step::holds(asked.caller, asked.stream, state, asked.command);
            let mut told = told.as_ref();
            if let Some((key, hold)) = told
                && !self.follows(&asked.stream.teamspace, key, hold).await?
            {
                told = None;
            }
            let known = |key: &str| told.filter(|(it, _)| it == key).map(|(_, hold)| hold.clone());
            facts.holds = self.read_holds(asked.stream, keys, known).await?;
        }
        Ok(Box::new(facts))
    }

    /// Steps, and puts the commit in line at the store. The next command steps on the result.
    fn decide(
        &self,
        asked: &Submission<'_>,
        turn: &StreamTurn,
        latest: Latest,
        facts: &Facts,
    ) -> Decided {
        // Time never runs backwards within a stream, whatever the clock does.
        let now = self.clock.now().max(latest.at);
        let context = Context { caller: asked.caller, now, facts };
        match step::step(asked.stream, latest.state.as_deref(), asked.command, context) {
            Ok(change) if !change.then.is_empty() => {
                Decided::Together(latest, Box::new(change), now)
            }
            Ok(change) if !change.events.is_empty() => {
                let reservation = match self.admit(asked, &latest, &change, now) {
                    Ok(reservation) => reservation,
                    Err(rejection) => {
                        turn.put(latest.clone());
                        return Decided::Refused(latest, rejection);
                    }
                };
                let rings = Rings::of(&change.begin);
                let next = Next { latest: &latest, change, now, reservation };
                let prepared = self.prepare(asked, turn, next);
                // Before the commit can finish: after it, no reader may see the old state.
                turn.put(prepared.next);
                let receipt = self.store.commit(prepared.commit);
                Decided::PendingCommit(
                    PendingCommit::new(receipt, prepared.notifier),
                    prepared.done,
                    rings,
                )
            }
            Ok(change) => {
                turn.put(latest.clone());
                Decided::Nothing(latest, change.outcome)
            }
            Err(rejection) => {
                turn.put(latest.clone());
                Decided::Refused(latest, rejection)
            }
        }
    }

    /// Answers a command that changes nothing. The answer counts only if the state that the
    /// decision saw is durable.
    async fn leave(
        &self,
        asked: &Submission<'_>,
        latest: &Latest,
        outcome: Outcome,
    ) -> Result<Attempt, SubmitError> {
        if latest.settled().await != Durability::Durable {
            return Ok(Attempt::Again);
        }
        let done =
            Done { subject: asked.stream.subject.to_string(), position: latest.position, outcome };
        let recorded = self.recorded(asked).await?;
        Ok(recorded.unwrap_or(Attempt::Done(done)))
    }

    /// A refusal counts only if its facts are true: the state must have become durable, holds that
    /// were only assumed must be read, and a retry of a command that succeeded is not refused.
    pub(crate) async fn refuse(
        &self,
        asked: &Submission<'_>,
        rejection: Rejection,
        latest: &Latest,
        holds: &AssumedHolds,
    ) -> Result<Attempt, SubmitError> {
        if latest.settled().await != Durability::Durable {
            return Ok(Attempt::Again);
        }
        if let Some(recorded) = self.recorded(asked).await? {
            return Ok(recorded);
        }
        let state = latest.state.as_deref();
        let keys = || step::holds(asked.caller, asked.stream, state, asked.command);
        if matches!(holds, AssumedHolds::Free) && !keys().is_empty() {
            return Ok(Attempt::AgainReading { told: None });
        }
        Err(self.access().withheld(asked.caller, &asked.stream.teamspace, rejection).await?.into())
    }

    /// Counts a change against the quotas of the caller.
    pub(crate) fn admit(
        &self,
        asked: &Submission<'_>,
        latest: &Latest,
        change: &Change,
        now: Time,
    ) -> Result<Box<Reservation>, Rejection> {
        self.usage.admit(asked.caller, asked.command, latest.state.as_deref(), change, now)
    }

    pub(crate) async fn load_latest(&self, stream: &Stream) -> Result<Latest, StoreError> {
        match self.store.load(stream).await? {
            Some(snapshot) => {
                let state = self.read().snapshot_state(stream, &snapshot).await?;
                let state = Some(Arc::new(state));
                Ok(Latest::durable(state, snapshot.position, snapshot.head, snapshot.at))
            }
            None => Ok(Latest::absent()),
        }
    }

    pub(crate) fn prepare(
        &self,
        asked: &Submission<'_>,
        turn: &StreamTurn,
        next: Next<'_>,
    ) -> Prepared {
        let Next { latest, change, now, reservation } = next;
        let actor: Arc<str> = asked.caller.principal.to_string().into();
        let mut head = latest.head;
        let mut position = latest.position;
        let mut entries = Vec::with_capacity(change.events.len());
        for recorded in change.events {
            position += 1;
            let entry = Entry {
                stream: asked.stream.clone(),
                position,
                name: recorded.name.into(),
                version: recorded.version,
                actor: Arc::clone(&actor),
                at: now,
                body: Body::Kept { salt: self.ids.salt(), text: recorded.body },
                hash: GENESIS,
            }
            .chained(&head);
            head = entry.hash;
            entries.push(entry);
        }
        let (notifier, status) = turn.notifier(reservation);
        let state = Arc::new(change.state);
        let next = Latest { state: Some(Arc::clone(&state)), position, head, at: now, status };
        let done = Done { subject: asked.stream.subject.text(), position, outcome: change.outcome };
        let key = asked.key.map(|key| self.keyed_outcome(asked.scope(key), key, &done, now));
        let state_text = json::text_of(state.as_ref(), STATE_BYTES);
        let (stream, head) = (asked.stream, &head);
        let row = SnapshotRow { stream, position, head, at: now, state_text: &state_text };
        let mac = self.snapshot_mac(row);
        let commit = Commit {
            stream: asked.stream.clone(),
            expected_position: latest.position,
            expected_head: latest.head,
            entries,
            state_text,
            mac,
            state,
            disarm: change.disarm,
            arm: change.arm,
            end: change.end,
            begin: change.begin,
            holds: change.holds,
            document: change.document,
            erase: change.erase,
            transcript: change.transcript,
            key,
        };
        Prepared { commit, next, done, notifier }
    }

    pub(crate) fn settle(
        &self,
        asked: &Submission<'_>,
        done: Done,
        written: Result<Committed, CommitError>,
    ) -> Result<Attempt, SubmitError> {
        match written {
            Ok(_) => {
                self.counts.committed.fetch_add(1, Ordering::Relaxed);
                self.is_disk_full.store(false, Ordering::Relaxed);
                if asked.command.is_escalation() {
                    self.counts.escalated.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Attempt::Done(done))
            }
            Err(CommitError::Moved) => Ok(Attempt::Again),
            // Which of several is free is read anew.
            Err(CommitError::HoldTaken { key, .. }) if step::is_slot(&key) => Ok(Attempt::Again),
            Err(CommitError::HoldTaken { key, current }) => {
                Ok(Attempt::AgainReading { told: Some((key, current)) })
            }
            Err(CommitError::KeyUsed(recorded)) => {
                let key = asked.key.expect("only a keyed commit can meet a used key");
                self.replay(&asked.scope(key), key, &recorded).map(Attempt::Done)
            }
            Err(CommitError::Failed(error)) => {
                if matches!(error, StoreError::Full) {
                    self.is_disk_full.store(true, Ordering::Relaxed);
                }
                Err(error.into())
            }
        }
    }
}

/// What is assumed about a stream that is not in memory.
enum AssumedStream {
    Unknown,
    Absent,
}

pub(crate) struct Prepared {
    pub commit: Commit,
    pub next: Latest,
    pub done: Done,
    pub notifier: CommitNotifier,
}

/// The result of a step.
enum Decided {
    PendingCommit(PendingCommit, Done, Rings),
    /// Other streams must move along.
    Together(Latest, Box<Change>, Time),
    Nothing(Latest, Outcome),
    Refused(Latest, Rejection),
}

/// The outcome for a trace: a stable code, never a text from the caller.
fn outcome_code(result: &Result<Done, SubmitError>) -> &str {
    match result {
        Ok(done) => done.outcome.refused.as_ref().map_or("done", |refused| &refused.code),
        Err(SubmitError::Rejected(rejection)) => rejection.code(),
        Err(SubmitError::KeyReused) => "idempotency_key_reused",
        Err(SubmitError::Contended) => "contended",
        Err(SubmitError::Behind(_)) => "ledger_behind_checkpoint",
        Err(SubmitError::Store(_)) => "store_failed",
    }
}
