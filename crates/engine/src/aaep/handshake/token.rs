//! The token of an answer: which question it names, and to whom it was given out.

use aaep::handshake::Handshake;
use aaep::read;
use protocol::caller::Caller;
use protocol::ids::{AgentId, SessionId, SubscriptionId};
use protocol::ledger::{Stream, Subject};
use protocol::session::Given;
use protocol::session::reply_token::Put;
use protocol::step::Event;
use protocol::subscription::{self, OPEN_MAX};
use protocol::{codec, session};

use crate::aaep::Listeners;
use crate::ports::store::{StoreError, StoreReads};
use crate::road::submit::SubmitError;

/// The question behind a token.
pub(super) struct AskedQuestion {
    pub session: SessionId,
    pub producer_token: String,
}

/// The question that a token names. It does not prove that the caller was given the token.
struct Named {
    stream: Stream,
    session: SessionId,
    producer: String,
    event_id: String,
    producer_token: String,
}

impl Listeners<'_> {
    /// An answer to an agent. It counts on the subscription that its token was given out for,
    /// whatever the answer itself says: a known subscription of the listener, or one from before
    /// the server started.
    pub async fn reply_on(
        self,
        caller: &Caller,
        agent: &AgentId,
        known: &[SubscriptionId],
        mut reply: Handshake,
    ) -> Result<(), SubmitError> {
        let (token, subscription_id) = match &mut reply {
            Handshake::ConfirmationReply(it) => (&it.reply_token, &mut it.subscription_id),
            Handshake::ClarificationReply(it) => (&it.reply_token, &mut it.subscription_id),
            Handshake::Request(_)
            | Handshake::Accepted(_)
            | Handshake::Rejected(_)
            | Handshake::Renegotiate(_)
            | Handshake::Close(_) => return Ok(()),
        };
        let named = self.named(caller, token).await?;
        let found = match named.filter(|named| *named.producer == *agent.as_str()) {
            Some(named) => self.given_out_for(caller, token, &named, known).await?,
            None => None,
        };
        let Some(id) = found else {
            tracing::debug!(caller = %caller.principal, "an answer belongs to no question");
            return Ok(());
        };
        *subscription_id = id.to_string();
        self.reply(caller, &reply).await
    }

    /// The question that a token was given out for, if it was given to this very listener.
    pub(super) async fn asked(
        self,
        caller: &Caller,
        token: &str,
        subscription: &str,
        given: &Given,
    ) -> Result<Option<AskedQuestion>, StoreError> {
        let Ok(id) = subscription.parse() else { return Ok(None) };
        let Some(listens) = self.subscription(caller, &id).await? else { return Ok(None) };
        let can_answer = match given {
            Given::Decision(_) => listens.honored.supports_confirmation_reply,
            Given::Response(_) => listens.honored.supports_clarification_reply,
        };
        if can_answer != Some(true) {
            return Ok(None);
        }
        let Some(named) = self.named(caller, token).await? else { return Ok(None) };
        if !self.is_given_to(caller, token, &named, &id) {
            return Ok(None);
        }
        // A caller that no longer takes part may not answer.
        let may_hear = match self.engine.sessions().session(&named.stream).await? {
            Some(session) => self.may_hear(caller, &session).await?,
            None => false,
        };
        let Named { session, producer_token, .. } = named;
        Ok(may_hear.then_some(AskedQuestion { session, producer_token }))
    }

    /// The subscription of a listener for which a token was given out.
    async fn given_out_for(
        self,
        caller: &Caller,
        token: &str,
        named: &Named,
        known: &[SubscriptionId],
    ) -> Result<Option<SubscriptionId>, StoreError> {
        if let Some(id) = known.iter().find(|id| self.is_given_to(caller, token, named, id)) {
            return Ok(Some(id.clone()));
        }
        let prefix = subscription::slot_prefix(&caller.principal);
        let slots =
            self.engine.store.held(&caller.teamspace, &prefix, usize::from(OPEN_MAX)).await?;
        for slot in slots {
            let hold = self.engine.store.hold(&caller.teamspace, &slot).await?;
            let id = hold.holder.and_then(|id| id.parse().ok());
            if let Some(id) = id.filter(|id| self.is_given_to(caller, token, named, id)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Reads the question of the caller's teamspace that a token names.
    async fn named(self, caller: &Caller, token: &str) -> Result<Option<Named>, StoreError> {
        let Some(place) = self.engine.reply_key.place(token).filter(|place| place.sequence > 0)
        else {
            return Ok(None);
        };
        let page = self.engine.store.entries(place.sequence - 1, 1).await?;
        let Some(found) = page.first().filter(|found| found.seq == place.sequence) else {
            return Ok(None);
        };
        let entry = &found.entry;
        let (Subject::Session(session), Some(text)) = (&entry.stream.subject, entry.body.text())
        else {
            return Ok(None);
        };
        if entry.stream.teamspace != caller.teamspace {
            return Ok(None);
        }
        let decoded = codec::decode(&entry.name, entry.version, text);
        let Ok(Event::Session(session::Event::Announced(announced))) = decoded else {
            return Ok(None);
        };
        let said = usize::try_from(place.index).ok().and_then(|index| announced.events.get(index));
        let Some(event) = said.and_then(|said| read::read(said.text()).ok()) else {
            return Ok(None);
        };
        let Some(producer_token) = event.payload.reply_token().map(str::to_owned) else {
            return Ok(None);
        };
        Ok(Some(Named {
            stream: entry.stream.clone(),
            session: session.clone(),
            producer: event.envelope.agent_id.to_string(),
            event_id: event.envelope.event_id.to_string(),
            producer_token,
        }))
    }

    /// Whether a token was given out for this question on this subscription of the caller.
    fn is_given_to(
        self,
        caller: &Caller,
        token: &str,
        named: &Named,
        subscription: &SubscriptionId,
    ) -> bool {
        let put = Put {
            session: &named.stream,
            event_id: &named.event_id,
            subscription,
            listener: &caller.principal.to_string(),
        };
        self.engine.reply_key.is_genuine(token, put)
    }
}
