//! A handoff that an agent requests in a session becomes a command on the conversation that the
//! session is bound to, as if the agent had sent the command itself: same rights, same rules, same
//! limits. The result is recorded in the session. The command has an idempotency key, so it takes
//! effect once, even if the server stops in between.

use aaep::event::{HandoffRequest, Payload};
use aaep::read::read;
use protocol::caller::{Caller, Principal};
use protocol::conversation::{self, Conversation, Event as ConversationEvent};
use protocol::ids::SessionId;
use protocol::ledger::{Entry, Stream, Subject};
use protocol::narrator::{self, Cause, HandoverRequest};
use protocol::session::event::{Handover, HandoverOutcome, Said};
use protocol::session::handover::{self, Goal, To};
use protocol::session::{self, Session};
use protocol::step::{Command, State};
use protocol::{canonical, codec, step, transfer};

use crate::aaep::Sessions;
use crate::aaep::sessions::events_of;
use crate::ports::store::{Sequenced, StoreError, StoreReads};
use crate::road::submit::{Done, Key, SubmitError};

/// Entries of a conversation that are read at a time on the way back to an epoch.
const PAGE: usize = 16;

/// How many entries are searched for the epoch. Nearly every entry names it.
const ENTRIES_MAX: usize = 256;

/// A request, its session, and the entry that carries it.
struct Requested<'a> {
    entry: &'a Sequenced,
    session: &'a Session,
    conversation: &'a Conversation,
    event_id: &'a str,
    request: &'a HandoffRequest<'a>,
}

impl Sessions<'_> {
    /// Carries out the requests in the events of an entry. Returns how many there were.
    pub(crate) async fn carry_out_requests(self, entry: &Sequenced) -> Result<usize, SubmitError> {
        let mut n_requested = 0;
        for placed in events_of(entry) {
            let Ok(event) = read(placed.said.text()) else { continue };
            let Payload::HandoffRequested(request) = &event.payload else { continue };
            n_requested += self.carry_out(entry, &event.envelope.event_id, request).await?;
        }
        Ok(n_requested)
    }

    async fn carry_out(
        self,
        entry: &Sequenced,
        event_id: &str,
        request: &HandoffRequest<'_>,
    ) -> Result<usize, SubmitError> {
        let stream = &entry.entry.stream;
        let Some(session) = self.session(stream).await? else { return Ok(0) };
        let Some(id) = session.conversation.filter(|_| !narrator::is_ours(&session.id)) else {
            return Ok(0);
        };
        let subject = Subject::Conversation(id);
        let of = Stream { teamspace: stream.teamspace.clone(), subject };
        let state = self.engine.read().current(&of).await?;
        let Some(State::Conversation(conversation)) = state.as_deref() else { return Ok(0) };
        let conversation = conversation.as_ref();
        let asked = Requested { entry, session: &session, conversation, event_id, request };
        let handover = self.request(&of, &asked).await?;
        let is_refused = matches!(handover.outcome, HandoverOutcome::Refused { .. });
        let command = Command::Session(session::Command::HandOver(handover.clone()));
        let caller = Caller::system(stream.teamspace.clone());
        self.engine.submit(&caller, stream.clone(), command, None).await?;
        if is_refused {
            self.tell_refused(&caller, &asked, handover).await?;
        }
        Ok(1)
    }

    /// Asks the conversation, as the producer.
    async fn request(self, of: &Stream, asked: &Requested<'_>) -> Result<Handover, SubmitError> {
        let Requested { entry, session, conversation, event_id, request } = *asked;
        let named = match request.target_uri.as_deref().and_then(handover::target) {
            Some(id) => self.engine.agent(&of.teamspace, id).await?,
            None => None,
        };
        let Goal { to, is_unknown } = handover::goal(request, named.as_ref(), conversation);
        let epoch = self.epoch_before(of, entry.seq, conversation).await?;
        let text = handover::request_key(&session.id, event_id);
        let command = match &to {
            To::Queue(queue) => {
                let request = handover::transfer(request, queue.clone(), epoch, text.clone());
                let transfer = handover::transfer_id(&session.id, event_id, entry.entry.at);
                let request = Box::new(request);
                conversation::Command::Transfer(transfer::Command::Request { transfer, request })
            }
            To::Agent(agent) => {
                let route = handover::route(request, agent.clone(), epoch);
                conversation::Command::Route(Box::new(route))
            }
        };
        let caller = Caller {
            roles: self.engine.access().roles_of(&of.teamspace, &session.producer).await?,
            teamspace: of.teamspace.clone(),
            principal: Principal::Agent(session.producer.clone()),
            session: session.id.to_string(),
        };
        let key = Key { fingerprint: canonical::sha256(&[text.as_bytes()]), text };
        let submitted = self
            .engine
            .submit(&caller, of.clone(), Command::Conversation(command), Some(key))
            .await;
        let code = match submitted {
            Ok(done) => return self.handover_result(of, asked, &done, (&to, is_unknown)).await,
            Err(SubmitError::Rejected(rejection)) => rejection.code().to_ascii_lowercase(),
            Err(SubmitError::KeyReused) => "idempotency_key_reused".to_owned(),
            Err(error) => return Err(error),
        };
        let event_id = event_id.to_owned();
        let outcome = HandoverOutcome::Refused { code };
        Ok(Handover { event_id, outcome, transfer: None, to: None, number: None })
    }

    /// The outcome as the conversation reports it: a loop between agents ends with a person.
    async fn handover_result(
        self,
        of: &Stream,
        asked: &Requested<'_>,
        done: &Done,
        (to, is_unknown): (&To, bool),
    ) -> Result<Handover, SubmitError> {
        let number = done.outcome.number;
        let line = match number.and_then(|number| number.checked_sub(1)) {
            Some(after) => self.engine.transcript(of, after, 1).await?.pop(),
            None => None,
        };
        let happened = line.as_ref().and_then(event_of);
        let mut handover = Handover {
            event_id: asked.event_id.to_owned(),
            outcome: HandoverOutcome::Requested,
            transfer: None,
            to: done.outcome.holder.clone(),
            number,
        };
        let is_elsewhere = is_unknown || matches!(to, To::Agent(_));
        let requested = |transfer| match is_elsewhere {
            true => (HandoverOutcome::DefaultQueue, Some(transfer)),
            false => (HandoverOutcome::Requested, Some(transfer)),
        };
        let (outcome, transfer) = match happened {
            Some(ConversationEvent::Routed(_)) => (HandoverOutcome::Routed, None),
            Some(ConversationEvent::Transfer(event)) => requested(event.transfer()),
            // It was requested before; the conversation has the outcome.
            Some(_) | None => match asked.conversation.transfer.as_deref() {
                Some(transfer) => requested(transfer.id),
                None => (HandoverOutcome::Requested, None),
            },
        };
        handover.outcome = outcome;
        handover.transfer = transfer;
        Ok(handover)
    }

    /// The epoch in which the producer asked: that of the last entry before its own that says one.
    async fn epoch_before(
        self,
        of: &Stream,
        seq: u64,
        conversation: &Conversation,
    ) -> Result<u64, StoreError> {
        let mut before = u64::MAX;
        let mut n_read = 0;
        while n_read < ENTRIES_MAX {
            let page = self.engine.store.history(of, before, PAGE).await?;
            n_read += page.len();
            let earlier = page.iter().filter(|line| line.seq < seq);
            if let Some(epoch) = earlier.filter_map(event_of).find_map(|event| event.epoch()) {
                return Ok(epoch);
            }
            match page.last() {
                Some(oldest) => before = oldest.entry.position,
                None => break,
            }
        }
        Ok(conversation.epoch)
    }

    /// Tells the listeners that heard the request that it was refused.
    async fn tell_refused(
        self,
        caller: &Caller,
        asked: &Requested<'_>,
        handover: Handover,
    ) -> Result<(), SubmitError> {
        let session: SessionId = narrator::refusal_session(&asked.session.id, asked.event_id);
        let holder = &asked.conversation.holder;
        let names = self.names(&caller.teamspace, vec![holder]).await?;
        let entry = &asked.entry.entry;
        // An entry may request several.
        let hash = canonical::sha256(&[&entry.hash, asked.event_id.as_bytes()]);
        let of = HandoverRequest { session: asked.session.id.clone(), handover };
        let cause = Cause {
            conversation: asked.conversation,
            at: entry.at,
            hash: &hash,
            actor: &entry.actor,
            names: &names,
            asked: Some(&of),
            line: None,
        };
        let told = cause.refused(&session, holder, &of);
        let events: Vec<Said> = told.events.into_iter().filter_map(Said::new).collect();
        self.say_ourselves(caller, &session, events).await
    }
}

/// Whether an entry may carry a request. Nearly none does, and reading all of them would cost as
/// much as recording them did.
pub(crate) fn may_request(entry: &Entry) -> bool {
    let text = entry.body.text().unwrap_or_default();
    // A letter of the name may be written as an escape.
    entry.name == "session.announced"
        && (text.contains("handoff.requested") || text.contains("\\u00"))
}

fn event_of(line: &Sequenced) -> Option<ConversationEvent> {
    let entry = &line.entry;
    match codec::decode(&entry.name, entry.version, entry.body.text()?) {
        Ok(step::Event::Conversation(event)) => Some(event),
        Ok(_) | Err(_) => None,
    }
}
