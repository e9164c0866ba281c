//! A command that changes several streams: all of them in one commit, or none. The turns of the
//! streams are taken one after the other. This cannot deadlock: a command takes the turn of an
//! existing part before that of its parent, never the other way round, and no other command knows
//! a stream that this command creates.

use std::collections::VecDeque;

use protocol::ledger::Stream;
use protocol::rejection::Rejection;
use protocol::step::{self, Change, Command, Context, HoldWrite};
use protocol::time::Time;

use crate::Engine;
use crate::loops::outbox_pools::Rings;
use crate::ports::store::StoreError;
use crate::road::holds::AssumedHolds;
use crate::road::pending_commit::PendingCommit;
use crate::road::slots::{Durability, Latest, StreamTurn};
use crate::road::submit::{Attempt, Next, Submission, SubmitError};
use crate::usage::Reservation;

/// The stream that was asked, with its turn taken and the command decided.
pub struct First {
    pub turn: StreamTurn,
    pub latest: Latest,
    pub change: Change,
    pub now: Time,
}

/// A stream that moves along.
struct Other {
    stream: Stream,
    command: Command,
    turn: StreamTurn,
    latest: Latest,
    now: Time,
}

impl Engine {
    pub(crate) async fn attempt_multi_stream(
        &self,
        asked: &Submission<'_>,
        mut first: First,
        holds: &AssumedHolds,
    ) -> Result<Attempt, SubmitError> {
        let mut written = first.change.holds.clone();
        let mut others = Vec::new();
        let mut changes = Vec::new();
        for (subject, command) in std::mem::take(&mut first.change.then) {
            let stream = Stream { teamspace: asked.stream.teamspace.clone(), subject };
            let other = self.take_turn(stream, command, first.now).await?;
            let stepped = self.step_along(asked, &other, &written).await?;
            match stepped {
                Ok(change) => {
                    // Without an event no commit compares this stream: its state must be durable.
                    let is_sure = !change.events.is_empty()
                        || other.latest.settled().await == Durability::Durable;
                    if !is_sure {
                        return Ok(Attempt::Again);
                    }
                    written.extend(change.holds.iter().cloned());
                    changes.push(change);
                    others.push(other);
                }
                Err(rejection) => {
                    other.turn.put(other.latest.clone());
                    first.turn.put(first.latest.clone());
                    let all = others.iter().map(|other| &other.latest).chain([&other.latest]);
                    for latest in all {
                        if latest.settled().await != Durability::Durable {
                            return Ok(Attempt::Again);
                        }
                    }
                    drop(first.turn);
                    return self.refuse(asked, rejection, &first.latest, holds).await;
                }
            }
        }
        match self.admit_all(asked, &first, &others, &changes) {
            Ok(reservations) => {
                let others = others.into_iter().zip(changes).collect();
                self.write_together(asked, first, others, reservations).await
            }
            Err(rejection) => {
                first.turn.put(first.latest.clone());
                drop((first.turn, others));
                self.refuse(asked, rejection, &first.latest, holds).await
            }
        }
    }

    /// Counts all changes against the quotas of the caller, in their order, or none. Which of them
    /// may be refused depends on what was asked.
    fn admit_all(
        &self,
        asked: &Submission<'_>,
        first: &First,
        others: &[Other],
        changes: &[Change],
    ) -> Result<VecDeque<Box<Reservation>>, Rejection> {
        let others = others.iter().zip(changes).filter(|(_, change)| !change.events.is_empty());
        let others = others.map(|(other, change)| (&other.latest, change, other.now));
        let all = std::iter::once((&first.latest, &first.change, first.now)).chain(others);
        all.map(|(latest, change, now)| self.admit(asked, latest, change, now)).collect()
    }

    async fn take_turn(
        &self,
        stream: Stream,
        command: Command,
        now: Time,
    ) -> Result<Other, StoreError> {
        let turn = self.slots.of(&stream).turn().await;
        let latest = match turn.latest() {
            Some(latest) if latest.is_usable() => latest,
            Some(_) | None => self.load_latest(&stream).await?,
        };
        let now = now.max(latest.at);
        Ok(Other { stream, command, turn, latest, now })
    }

    async fn step_along(
        &self,
        asked: &Submission<'_>,
        other: &Other,
        written: &[HoldWrite],
    ) -> Result<Result<Change, Rejection>, StoreError> {
        let state = other.latest.state.as_deref();
        let needs = step::needs(state, &other.command);
        let mut facts = self.facts(asked.caller, &other.stream, needs).await?;
        let keys = step::holds(asked.caller, &other.stream, state, &other.command);
        let before = |key: &str| written.iter().rfind(|write| write.key == key);
        let known = |key: &str| before(key).map(|write| write.next.clone());
        facts.holds = self.read_holds(&other.stream, keys, known).await?;
        let context = Context { caller: asked.caller, now: other.now, facts: &facts };
        Ok(step::step(&other.stream, state, &other.command, context))
    }

    async fn write_together(
        &self,
        asked: &Submission<'_>,
        first: First,
        others: Vec<(Other, Change)>,
        mut reservations: VecDeque<Box<Reservation>>,
    ) -> Result<Attempt, SubmitError> {
        let begin = others.iter().flat_map(|(_, change)| &change.begin);
        let outside = Rings::of(first.change.begin.iter().chain(begin));
        let mut reserved = || reservations.pop_front().expect("every change was admitted");
        let First { turn: first_turn, latest, change, now } = first;
        let next = Next { latest: &latest, change, now, reservation: reserved() };
        let prepared = self.prepare(asked, &first_turn, next);
        first_turn.put(prepared.next);
        let (mut commits, mut notifiers) = (vec![prepared.commit], vec![prepared.notifier]);
        let mut turns = Vec::new();
        for (other, change) in others {
            assert!(change.then.is_empty(), "what moves along asks nothing of others");
            if change.events.is_empty() {
                other.turn.put(other.latest);
                continue;
            }
            let along =
                Submission { stream: &other.stream, command: &other.command, key: None, ..*asked };
            let Other { latest, now, .. } = &other;
            let next = Next { latest, change, now: *now, reservation: reserved() };
            let prepared = self.prepare(&along, &other.turn, next);
            other.turn.put(prepared.next);
            commits.push(prepared.commit);
            notifiers.push(prepared.notifier);
            turns.push(other.turn);
        }
        let receipt = self.store.commit_together(commits);
        drop((first_turn, turns));
        let written = PendingCommit::of_several(receipt, notifiers).settle().await;
        self.outbox_bells.ring(outside);
        self.settle(asked, prepared.done, written)
    }
}
