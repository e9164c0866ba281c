//! The server's own events: it tells listeners how a conversation changes hands, withdraws the
//! questions that were asked in it before, and carries out what agents request there (see
//! [`crate::aaep::session_handoffs`]). It follows the ledger. The
//! ids of its events are derived from the entry, so an entry is told once, however often the loop
//! reads it.
//!
//! In a teamspace without subscriptions it announces nothing.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use protocol::caller::Caller;
use protocol::conversation::{Conversation, Event as ConversationEvent};
use protocol::entry_names::changes_sides;
use protocol::ids::{AgentId, ConversationId, SessionId, TeamspaceId};
use protocol::ledger::{Entry, Stream, Subject};
use protocol::narrator::{self, Cause, HandoverRequest, QueuePlace};
use protocol::rejection::Rejection;
use protocol::session::event::Said;
use protocol::session::questions::asking_prefix;
use protocol::session::state::handed_key;
use protocol::session::{self, ANNOUNCED_EVENTS_MAX};
use protocol::step::{Command, Event, State};
use protocol::subscription::LISTENERS;
use protocol::time::Span;
use protocol::{codec, transfer};
use tokio::sync::watch;

use crate::Engine;
use crate::aaep::Sessions;
use crate::aaep::announce::session_stream;
use crate::aaep::session_handoffs::may_request;
use crate::ledger::announced::changes_sides;
use crate::ledger::backlog::Done;
use crate::ledger::durable_follower::{self, Begins, Loop};
use crate::ledger::feed::Followed;
use crate::ports::store::{StoreError, StoreReads};
use crate::road::submit::SubmitError;

/// The pause is too short to be noticed.
const LOOP: Loop = Loop {
    name: "voice",
    begins: Begins::AfterTheNewest,
    pause: Span::from_millis(20),
    wants: may_need_action,
};

/// The most sessions of one conversation that are searched for open questions and unused accepts.
/// Questions of further sessions are withdrawn at their session's next event, or time out.
const ASKING_SESSIONS_MAX: usize = 256;

/// One entry is at most four events; so many always fit.
const TOLD_AT_ONCE: usize = ANNOUNCED_EVENTS_MAX - 4;

pub(crate) async fn run(engine: Engine, stopped: watch::Receiver<bool>) {
    durable_follower::run(&engine, LOOP, stopped, || engine.sessions().speak_as_it_happens()).await;
}

/// The events about one transfer or route, collected over consecutive entries.
struct Announcement {
    teamspace: TeamspaceId,
    session: SessionId,
    /// `None` before it has begun.
    state: Option<String>,
    events: Vec<Said>,
}

impl Sessions<'_> {
    /// Announces all that is due, and carries out what was requested. Returns how many entries
    /// needed action. For programs without loops, and for tests.
    pub async fn speak_due(self) -> Result<usize, SubmitError> {
        let mut follower = self.engine.follow_durably(LOOP).await?;
        let mut n_heeded = 0;
        loop {
            let turn = follower.available().await?;
            if turn.is_empty() {
                return Ok(n_heeded);
            }
            let done = self.speak_of(&turn).await?;
            n_heeded += done.n_writes;
            follower.done(done).await?;
        }
    }

    async fn speak_as_it_happens(self) -> Result<Infallible, SubmitError> {
        let mut follower = self.engine.follow_durably(LOOP).await?;
        loop {
            let turn = follower.next().await?;
            let done = self.speak_of(&turn).await?;
            follower.done(done).await?;
        }
    }

    async fn speak_of(self, turn: &[Arc<Followed>]) -> Result<Done, SubmitError> {
        let mut done = Done::default();
        let mut telling = None;
        for followed in turn {
            let sequenced = &followed.sequenced;
            let n_heeded = match &sequenced.entry.stream.subject {
                Subject::Conversation(id) => {
                    let n_withdrawn = self.withdraw_questions(&sequenced.entry, *id).await?;
                    n_withdrawn + self.tell_of(&sequenced.entry, &mut telling).await?
                }
                Subject::Session(_) => self.carry_out_requests(sequenced).await?,
                Subject::Handoff(_)
                | Subject::Agent(_)
                | Subject::Token(_)
                | Subject::Graph(_)
                | Subject::Subscription(_)
                | Subject::File(_)
                | Subject::Webhook(_)
                | Subject::Question(_)
                | Subject::Message(_)
                | Subject::Teamspace
                | Subject::Ledger => 0,
            };
            if !done.goes_on_after(n_heeded) {
                break;
            }
        }
        self.say_told(telling.take()).await?;
        Ok(done)
    }

    /// Withdraws the questions of agents that have lost the conversation.
    async fn withdraw_questions(
        self,
        entry: &Entry,
        conversation: ConversationId,
    ) -> Result<usize, SubmitError> {
        if !withdraws(entry) {
            return Ok(0);
        }
        let (teamspace, prefix) = (&entry.stream.teamspace, asking_prefix(conversation));
        let asking = self.engine.store.held(teamspace, &prefix, ASKING_SESSIONS_MAX).await?;
        let caller = Caller::system(teamspace.clone());
        for key in &asking {
            let Ok(session) = key[prefix.len()..].parse() else { continue };
            let stream = session_stream(&caller, &session);
            let command = Command::Session(session::Command::Withdraw);
            match self.engine.submit(&caller, stream, command, None).await {
                Ok(_) => {}
                // One session must not stop the loop; its next event or a deadline withdraws it.
                Err(error @ (SubmitError::Rejected(_) | SubmitError::Contended)) => {
                    tracing::error!(%session, ?error, "questions are not withdrawn yet");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(asking.len())
    }

    /// Adds the events about an entry to those about the entries before it.
    async fn tell_of(
        self,
        entry: &Entry,
        telling: &mut Option<Announcement>,
    ) -> Result<usize, SubmitError> {
        let Some((conversation, event)) = self.happened(entry).await? else { return Ok(0) };
        let Some(session) = narrator::session_of(conversation.id, &event, &entry.hash) else {
            return Ok(0);
        };
        let teamspace = &entry.stream.teamspace;
        let is_same = |it: &Announcement| it.teamspace == *teamspace && it.session == session;
        let goes_on =
            telling.as_ref().is_some_and(|it| is_same(it) && it.events.len() < TOLD_AT_ONCE);
        if !goes_on {
            self.say_told(telling.take()).await?;
            let Some(state) = self.state_of_telling(teamspace, &session).await? else {
                return Ok(0);
            };
            let teamspace = teamspace.clone();
            *telling = Some(Announcement { teamspace, session, state, events: Vec::new() });
        }
        let telling = telling.as_mut().expect("it was begun just now");
        let names = self.names(teamspace, narrator::named(&event)).await?;
        let asked = self.asked_for(teamspace, &conversation, &event).await?;
        let (hash, actor) = (&entry.hash, entry.actor.as_ref());
        let (at, asked) = (entry.at, asked.as_ref());
        let conversation = conversation.as_ref();
        let line = self.line_of(teamspace, conversation, &event).await?;
        let cause = Cause { conversation, at, hash, actor, names: &names, asked, line };
        if let Some(told) = cause.told(&event, telling.state.as_deref()) {
            telling.events.extend(told.events.into_iter().filter_map(Said::new));
            telling.state = Some(told.state);
        }
        Ok(1)
    }

    /// What happened in a conversation, if it is to be announced and there is a listener.
    async fn happened(
        self,
        entry: &Entry,
    ) -> Result<Option<(Arc<Conversation>, ConversationEvent)>, StoreError> {
        // An erased entry is not announced.
        let (true, Some(text)) = (is_told(entry), entry.body.text()) else { return Ok(None) };
        if self.engine.store.held(&entry.stream.teamspace, LISTENERS, 1).await?.is_empty() {
            return Ok(None);
        }
        let event = match codec::decode(&entry.name, entry.version, text) {
            Ok(Event::Conversation(event)) => event,
            Ok(_) => return Ok(None),
            Err(error) => {
                tracing::error!(stream = %entry.stream.subject, %error, "undecodable entry");
                return Ok(None);
            }
        };
        match self.engine.read().current(&entry.stream).await?.as_deref() {
            Some(State::Conversation(conversation)) => Ok(Some((conversation.clone(), event))),
            Some(_) | None => Ok(None),
        }
    }

    /// Where a transfer that was put into a queue waits, if it still does.
    async fn line_of(
        self,
        teamspace: &TeamspaceId,
        conversation: &Conversation,
        event: &ConversationEvent,
    ) -> Result<Option<QueuePlace>, StoreError> {
        let ConversationEvent::Transfer(transfer::Event::Queued(queued)) = event else {
            return Ok(None);
        };
        let waits = conversation.waiting_transfer();
        let waits = waits.filter(|it| it.id == queued.transfer && it.queue == queued.queue);
        let Some(transfer) = waits else { return Ok(None) };
        let place =
            self.engine.queues().place_in_line(teamspace, conversation.id, transfer).await?;
        Ok(place.map(|(place, wait)| QueuePlace { place: place as u64, wait }))
    }

    /// The state of one of our sessions, `Some(None)` before its start; `None` if it is over.
    async fn state_of_telling(
        self,
        teamspace: &TeamspaceId,
        session: &SessionId,
    ) -> Result<Option<Option<String>>, StoreError> {
        let subject = Subject::Session(session.clone());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        Ok(match self.session(&stream).await? {
            Some(session) if session.is_open() => Some(Some(session.machine.state().to_owned())),
            Some(_) => None,
            None => Some(None),
        })
    }

    pub(crate) async fn names(
        self,
        teamspace: &TeamspaceId,
        ids: Vec<&AgentId>,
    ) -> Result<BTreeMap<AgentId, String>, StoreError> {
        let mut names = BTreeMap::new();
        for id in ids {
            if let Some(agent) = self.engine.agent(teamspace, id.clone()).await? {
                names.insert(id.clone(), agent.identity().agent_name);
            }
        }
        Ok(names)
    }

    /// The request in a session that led to a change of hands.
    async fn asked_for(
        self,
        teamspace: &TeamspaceId,
        conversation: &Conversation,
        event: &ConversationEvent,
    ) -> Result<Option<HandoverRequest>, StoreError> {
        let Some(number) = event.number() else { return Ok(None) };
        let hold = self.engine.store.hold(teamspace, &handed_key(conversation.id, number)).await?;
        Ok(hold.value.as_deref().and_then(HandoverRequest::parse))
    }

    async fn say_told(self, telling: Option<Announcement>) -> Result<(), SubmitError> {
        let Some(Announcement { teamspace, session, events, .. }) = telling else { return Ok(()) };
        if events.is_empty() {
            return Ok(());
        }
        self.say_ourselves(&Caller::system(teamspace), &session, events).await
    }

    /// Records events of the server. An event that was recorded before, even with another text, is
    /// not repeated.
    pub(crate) async fn say_ourselves(
        self,
        caller: &Caller,
        session: &SessionId,
        events: Vec<Said>,
    ) -> Result<(), SubmitError> {
        let several = events.len() > 1;
        match self.announce(caller, session, events.clone()).await {
            Err(SubmitError::Rejected(_)) if several => {
                for event in events {
                    let said = self.announce(caller, session, vec![event]).await;
                    pass_over_refused(session, said.map(|_| ()))?;
                }
                Ok(())
            }
            said => pass_over_refused(session, said.map(|_| ())),
        }
    }
}

fn may_need_action(entry: &Entry) -> bool {
    match &entry.stream.subject {
        Subject::Conversation(_) => is_told(entry) || withdraws(entry),
        Subject::Session(_) => may_request(entry),
        Subject::Handoff(_)
        | Subject::Agent(_)
        | Subject::Token(_)
        | Subject::Graph(_)
        | Subject::Subscription(_)
        | Subject::File(_)
        | Subject::Webhook(_)
        | Subject::Question(_)
        | Subject::Message(_)
        | Subject::Teamspace
        | Subject::Ledger => false,
    }
}

/// Whether an entry is announced where there are listeners.
fn is_told(entry: &Entry) -> bool {
    changes_sides(&entry.name) || entry.name == "callback.asked"
}

/// Whether an agent may have lost the conversation.
fn withdraws(entry: &Entry) -> bool {
    changes_sides(&entry.name) || entry.name == "conversation.closed"
}

/// A refusal must not stop the loop.
fn pass_over_refused(
    session: &SessionId,
    said: Result<(), SubmitError>,
) -> Result<(), SubmitError> {
    match said {
        Err(SubmitError::Rejected(rejection)) => {
            // Names and states may have changed since it was said.
            let was_said = if let Rejection::EventRefused { flaws, .. } = &rejection {
                flaws.iter().any(|flaw| flaw.rule == "tasuki.event_id")
            } else {
                false
            };
            if !was_said {
                tracing::error!(%session, error = %rejection, "an announcement was refused");
            }
            Ok(())
        }
        other => other,
    }
}
