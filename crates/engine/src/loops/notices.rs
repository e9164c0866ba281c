//! The notice loop: the server tells agents what happened to their handoffs, and people whose
//! customers wait for a reply. It follows the ledger.
//! The id of a notice is derived from the entry that causes it, so an entry causes one notice,
//! however often the loop reads it.

use std::convert::Infallible;
use std::sync::Arc;

use protocol::caller::Caller;
use protocol::codec;
use protocol::handoff;
use protocol::handoff::notices::{Notice, sent};
use protocol::handoff::waits::Waiter;
use protocol::ids::{MessageId, TeamspaceId};
use protocol::ledger::{Entry, Stream, Subject};
use protocol::message::{self, notice};
use protocol::step::{Command, Event, State};
use protocol::time::Span;
use tokio::sync::watch;
use uuid::Builder;

use crate::Engine;
use crate::ledger::backlog::Done;
use crate::ledger::durable_follower::{self, Begins, Loop};
use crate::ledger::feed::Followed;
use crate::ports::store::StoreError;
use crate::road::submit::{Key, SubmitError};

/// A notice may take as long as the pause.
const LOOP: Loop = Loop {
    name: "notices",
    begins: Begins::AtTheFirstEntry,
    pause: Span::from_millis(50),
    wants: may_cause_a_notice,
};

pub(crate) async fn run(engine: Engine, stopped: watch::Receiver<bool>) {
    durable_follower::run(&engine, LOOP, stopped, || engine.tell_as_it_happens()).await;
    // If the server stops right after a rejection, its notice is still sent. A notice that fails is
    // sent after the next start.
    if engine.ledger().behind().is_none()
        && let Err(error) = engine.send_due_notices().await
    {
        tracing::warn!(%error, "some notices wait for the next start");
    }
}

impl Engine {
    /// Sends every notice that is due and returns how many there were. For programs without loops,
    /// and for tests.
    pub async fn send_due_notices(&self) -> Result<usize, SubmitError> {
        let mut follower = self.follow_durably(LOOP).await?;
        let mut n_sent = 0;
        loop {
            let turn = follower.available().await?;
            if turn.is_empty() {
                return Ok(n_sent);
            }
            let done = self.tell_all(&turn).await?;
            n_sent += done.n_writes;
            follower.done(done).await?;
        }
    }

    async fn tell_as_it_happens(&self) -> Result<Infallible, SubmitError> {
        let mut follower = self.follow_durably(LOOP).await?;
        loop {
            let turn = follower.next().await?;
            let done = self.tell_all(&turn).await?;
            follower.done(done).await?;
        }
    }

    async fn tell_all(&self, turn: &[Arc<Followed>]) -> Result<Done, SubmitError> {
        let mut done = Done::default();
        for followed in turn {
            let n_sent = self.tell(&followed.sequenced.entry).await?;
            if !done.goes_on_after(n_sent) {
                break;
            }
        }
        Ok(done)
    }

    /// Returns how many were told of it.
    async fn tell(&self, entry: &Entry) -> Result<usize, SubmitError> {
        let Some(outgoing) = self.notice(entry).await? else { return Ok(0) };
        let id = notice_id(entry);
        let teamspace = entry.stream.teamspace.clone();
        let caller = Caller::system(teamspace.clone());
        let stream = Stream { teamspace, subject: Subject::Message(id) };
        let command = Command::Message(message::Command::Send(Box::new(outgoing)));
        let key = Key { text: format!("notice-{id}"), fingerprint: entry.hash };
        match self.submit(&caller, stream, command, Some(key)).await {
            Ok(_) => Ok(1),
            Err(error @ (SubmitError::Store(_) | SubmitError::Contended)) => Err(error),
            // It was sent so long ago that its idempotency key has expired.
            Err(SubmitError::Rejected(protocol::rejection::Rejection::AlreadyExists {
                ..
            })) => Ok(0),
            Err(error) => {
                tracing::error!(stream = %entry.stream.subject, %error, "a notice was refused");
                Ok(0)
            }
        }
    }

    async fn notice(&self, entry: &Entry) -> Result<Option<message::Outgoing>, StoreError> {
        // An erased entry causes no notice.
        let Some(text) = entry.body.text() else { return Ok(None) };
        let event = match codec::decode(&entry.name, entry.version, text) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(stream = %entry.stream.subject, %error, "undecodable entry");
                return Ok(None);
            }
        };
        match (&entry.stream.subject, event) {
            (Subject::Handoff(id), Event::Handoff(event)) => {
                let state = self.read().current(&entry.stream).await?;
                let handoff = state.as_deref().and_then(State::as_handoff);
                let Some(handoff) = handoff else { return Ok(None) };
                let is_muted = self.is_muted(&entry.stream.teamspace, &event).await?;
                Ok(notice::of(*id, &event, handoff).filter(|_| !is_muted))
            }
            (Subject::Conversation(id), Event::Conversation(event)) => {
                Ok(notice::of_conversation(*id, &event))
            }
            (_, _) => Ok(None),
        }
    }

    /// Whether the agent that would be sent a message does not want this kind.
    async fn is_muted(
        &self,
        teamspace: &TeamspaceId,
        event: &handoff::Event,
    ) -> Result<bool, StoreError> {
        let Some(Notice { kind, to: Waiter::Agent(to), .. }) = sent(event) else {
            return Ok(false);
        };
        let agent = self.agent(teamspace, to).await?;
        Ok(agent.is_some_and(|agent| agent.notices.muted.contains(&kind)))
    }
}

fn may_cause_a_notice(entry: &Entry) -> bool {
    matches!(entry.stream.subject, Subject::Handoff(_) | Subject::Conversation(_))
        && notice::CAUSES.contains(&entry.name.as_ref())
}

/// A UUIDv7 of the entry's own time and hash.
fn notice_id(entry: &Entry) -> MessageId {
    let mut tail = [0; 10];
    tail.copy_from_slice(&entry.hash[..10]);
    let millis = u64::try_from(entry.at.as_millis()).unwrap_or(0);
    MessageId::new(Builder::from_unix_timestamp_millis(millis, &tail).into_uuid())
}
