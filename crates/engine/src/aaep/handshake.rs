//! The messages of listeners: subscribing, changing terms, closing, and answers. Every transport
//! passes them in here, and sends back the result.

mod token;

use aaep::capabilities::Capabilities;
use aaep::event::Boundary;
use aaep::handshake::{
    Accepted, ClarificationReply, Close, ConfirmationReply, Handshake, Producer, Reason, Rejected,
    Renegotiate, Request, Response as Said,
};
use aaep::negotiate::{self, Admission, Offer};
use aaep::{EXTENSION_CONTEXT, VERSION};
use protocol::agent::Kind;
use protocol::caller::{Caller, Principal};
use protocol::conversation::state::conversation_of;
use protocol::ids::SubscriptionId;
use protocol::ledger::{Stream, Subject};
use protocol::rejection::Rejection;
use protocol::session::{Answer, Given, Response};
use protocol::step::{Command, State};
use protocol::subscription::{self, Open, REASON_BYTES_MAX};
use serde_json::Number;

use crate::aaep::Listeners;
use crate::aaep::listening::subscription_stream;
use crate::ports::store::StoreError;
use crate::road::submit::SubmitError;

/// The producer that listeners are told of.
#[derive(Debug, Clone, Default)]
pub struct Host {
    pub producer: Producer,
    pub manifest_uri: Option<String>,
    /// The manifest as a compact JWS, if there is a key.
    pub signed_manifest: Option<String>,
}

/// How often terms are computed again because another request changed them meanwhile.
const TRIES_MAX: usize = 4;

impl Listeners<'_> {
    /// A new subscription, or why there is none.
    pub async fn subscribe(
        self,
        caller: &Caller,
        host: &Host,
        request: Request,
    ) -> Result<Result<Accepted, Rejected>, SubmitError> {
        let offer = self.offer(caller, host).await?;
        let mut capabilities = request.capabilities;
        if capabilities.languages.is_none() {
            capabilities.languages = self.own_language(caller).await?.map(|own| vec![own]);
        }
        let agreed = negotiate::version(&request.aaep_version)
            .and_then(|version| Ok((version, negotiate::negotiate(&capabilities, &offer)?)));
        let (version, honored) = match agreed {
            Ok(agreed) => agreed,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        let id = self.engine.new_subscription_id();
        let open = Open {
            subscriber_id: request.subscriber_id,
            subscriber_name: request.subscriber_name,
            version: version.to_owned(),
            honored: honored.clone(),
        };
        let command = Command::Subscription(subscription::Command::Open(Box::new(open)));
        match self.engine.submit(caller, subscription_stream(caller, &id), command, None).await {
            Ok(_) => Ok(Ok(accepted(host, &id, honored))),
            Err(SubmitError::Rejected(
                rejection @ (Rejection::TooManySubscriptions { .. }
                | Rejection::QuotaReached { .. }
                | Rejection::LargerThanQuota { .. }
                | Rejection::QuotaFull { .. }
                | Rejection::StorageReserved),
            )) => Ok(Err(Rejected::because(Reason::RateLimit, rejection.to_string()))),
            Err(SubmitError::Rejected(rejection @ Rejection::NotAllowed { .. })) => {
                Ok(Err(Rejected::because(Reason::AuthorizationDenied, rejection.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    /// The language of a customer, as its conversation knows it.
    async fn own_language(self, caller: &Caller) -> Result<Option<String>, StoreError> {
        let Principal::Customer(name) = &caller.principal else { return Ok(None) };
        let Some(id) = conversation_of(name) else { return Ok(None) };
        let subject = Subject::Conversation(id);
        let stream = Stream { teamspace: caller.teamspace.clone(), subject };
        let state = self.engine.read().current(&stream).await?;
        let conversation = state.as_deref().and_then(State::as_conversation);
        Ok(conversation.and_then(|it| it.setup.customer.language.clone()))
    }

    /// Changes the terms. If no terms can be agreed, the subscription ends.
    pub async fn renegotiate(
        self,
        caller: &Caller,
        host: &Host,
        asked: &Renegotiate,
    ) -> Result<Result<Accepted, Rejected>, SubmitError> {
        let id = known_id(&asked.subscription_id)?;
        let offer = self.offer(caller, host).await?;
        for _ in 0..TRIES_MAX {
            let current = self.subscription(caller, &id).await?.ok_or_else(no_such)?;
            let before = current.honored;
            let honored = match negotiate::renegotiate(&before, &asked.capabilities, &offer) {
                Ok(honored) => honored,
                Err(refusal) => {
                    let code = serde_json::to_value(refusal.reason_code);
                    let code = code.ok().and_then(|code| code.as_str().map(str::to_owned));
                    let message = refusal.message.clone();
                    self.end_subscription(caller, &id, code.unwrap_or_default(), message).await?;
                    return Ok(Err(refusal.into()));
                }
            };
            let agree = subscription::Command::Agree {
                before: Box::new(before),
                honored: Box::new(honored.clone()),
            };
            let stream = subscription_stream(caller, &id);
            match self.engine.submit(caller, stream, Command::Subscription(agree), None).await {
                Ok(_) => return Ok(Ok(accepted(host, &id, honored))),
                Err(SubmitError::Rejected(Rejection::AlreadyExists { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Err(SubmitError::Contended)
    }

    /// The listener ends its subscription.
    pub async fn close(self, caller: &Caller, close: &Close) -> Result<(), SubmitError> {
        let id = known_id(&close.subscription_id)?;
        let code = close.reason_code.clone().unwrap_or_else(|| "closed".to_owned());
        let message = close.reason_message.clone().unwrap_or_default();
        self.end_subscription(caller, &id, code, message).await
    }

    async fn end_subscription(
        self,
        caller: &Caller,
        id: &SubscriptionId,
        code: String,
        message: String,
    ) -> Result<(), SubmitError> {
        for (field, text) in [("reason_code", &code), ("reason_message", &message)] {
            if text.len() > REASON_BYTES_MAX {
                let expected = format!("at most {REASON_BYTES_MAX} bytes");
                let field = field.to_owned();
                return Err(Rejection::SchemaInvalid { field, expected }.into());
            }
        }
        let close = Command::Subscription(subscription::Command::Close { code, message });
        self.engine.submit(caller, subscription_stream(caller, id), close, None).await.map(|_| ())
    }

    /// Records an answer. Whether it counted is on the record; the sender is not told.
    pub async fn reply(self, caller: &Caller, reply: &Handshake) -> Result<(), SubmitError> {
        let (token, subscription, answer) = match reply {
            Handshake::ConfirmationReply(it) => {
                (&it.reply_token, &it.subscription_id, confirmed(it))
            }
            Handshake::ClarificationReply(it) => {
                (&it.reply_token, &it.subscription_id, clarified(it))
            }
            Handshake::Request(_)
            | Handshake::Accepted(_)
            | Handshake::Rejected(_)
            | Handshake::Renegotiate(_)
            | Handshake::Close(_) => return Ok(()),
        };
        let Some(asked) = self.asked(caller, token, subscription, &answer.given).await? else {
            tracing::debug!(caller = %caller.principal, "an answer belongs to no question");
            return Ok(());
        };
        let answer = Answer { reply_token: asked.producer_token, ..answer };
        self.engine.sessions().answer(caller, &asked.session, answer).await.map(|_| ())
    }

    async fn offer(self, caller: &Caller, host: &Host) -> Result<Offer, StoreError> {
        let may_answer = match &caller.principal {
            Principal::Operator(_) | Principal::Customer(_) => true,
            Principal::System => false,
            Principal::Agent(id) => {
                let agent = self.engine.agent(&caller.teamspace, id.clone()).await?;
                agent.is_some_and(|agent| agent.kind == Kind::Human)
            }
        };
        Ok(Offer {
            admission: Admission::Welcome,
            rate_max: None,
            languages: Vec::new(),
            is_language_required: false,
            boundaries: Boundary::ALL.to_vec(),
            levels: vec![1, 2, 3],
            extensions: vec![EXTENSION_CONTEXT.to_owned()],
            may_confirm: may_answer,
            may_clarify: may_answer,
            can_sign: host.signed_manifest.is_some(),
            exclude: Vec::new(),
        })
    }
}

fn confirmed(reply: &ConfirmationReply) -> Answer {
    Answer {
        reply_token: reply.reply_token.clone(),
        given: Given::Decision(reply.decision),
        decided_by: reply.decided_by.clone(),
        rationale: reply.decision_rationale.clone(),
        modified_action: reply.modified_action.clone(),
        confidence: None,
        subscription_id: Some(reply.subscription_id.clone()),
    }
}

fn clarified(reply: &ClarificationReply) -> Answer {
    let response = match &reply.response {
        Said::Truth(yes) => Response::YesNo(*yes),
        Said::Number(number) => Response::Number(number.clone()),
        Said::Text(text) => Response::Text(text.clone()),
    };
    Answer {
        reply_token: reply.reply_token.clone(),
        given: Given::Response(response),
        decided_by: reply.decided_by.clone(),
        rationale: None,
        modified_action: None,
        confidence: reply.confidence.and_then(Number::from_f64),
        subscription_id: Some(reply.subscription_id.clone()),
    }
}

fn accepted(host: &Host, id: &SubscriptionId, honored: Capabilities) -> Accepted {
    let wants_signed = honored.accept_signed_manifests_only == Some(true);
    Accepted {
        subscription_id: id.to_string(),
        aaep_version: VERSION.to_owned(),
        producer: host.producer.clone(),
        honored_capabilities: honored,
        manifest_uri: host.manifest_uri.clone(),
        signed_manifest: host.signed_manifest.clone().filter(|_| wants_signed),
        negotiation_notes: None,
    }
}

fn known_id(text: &str) -> Result<SubscriptionId, SubmitError> {
    text.parse().map_err(|_| no_such())
}

fn no_such() -> SubmitError {
    Rejection::NotFound { what: "subscription" }.into()
}
