//! Sends the producer of a session the result of its question, at the producer's endpoint: as the
//! AAEP reply for it, with the token that the producer chose. It is sent at least once, with the
//! same id each time.

use aaep::event::Decision;
use aaep::handshake::{ClarificationReply, ConfirmationReply, Handshake, Response};
use aaep::machine::Outcome;
use aaep::stamp::stamp;
use protocol::caller::Caller;
use protocol::ids::SessionId;
use protocol::session::{self, Given, Response as Answered};
use protocol::step::{Command, Tell};
use protocol::time::Time;
use serde_json::json;

use crate::aaep::sessions::Question;
use crate::loops::Outbox;
use crate::ports::adapter::{Adapter, CallFailure, Delivery};
use crate::ports::outbox::Claimed;
use crate::ports::store::{StoreError, StoreWrites};
use crate::road::submit::SubmitError;

/// The type of what is sent.
const DECIDED: &str = "session.decided";

impl Outbox<'_> {
    /// Tells the producer, and records that it was told.
    pub(crate) async fn carry_out_decision(
        self,
        claimed: &Claimed,
        tell: &Tell,
        adapter: &dyn Adapter,
    ) -> Result<(), StoreError> {
        if let Err(failure) = self.hand_over_decision(claimed, tell, adapter).await? {
            return self.engine.store.write_outbox(self.again_later(claimed, failure)).await;
        }
        let caller = Caller::system(claimed.stream.teamspace.clone());
        let reply_token = tell.reply_token.clone();
        let command = Command::Session(session::Command::Deliver { reply_token });
        // The commit that records the delivery also removes the row of the outbox.
        match self.engine.submit(&caller, claimed.stream.clone(), command, None).await {
            Ok(_) => Ok(()),
            Err(SubmitError::Store(error)) => Err(error),
            Err(error) => {
                let failure = CallFailure::refused(error.to_string());
                self.engine.store.write_outbox(self.again_later(claimed, failure)).await
            }
        }
    }

    async fn hand_over_decision(
        self,
        claimed: &Claimed,
        tell: &Tell,
        adapter: &dyn Adapter,
    ) -> Result<Result<(), CallFailure>, StoreError> {
        let stream = &claimed.stream;
        // Without a question, or an endpoint, there is nothing more to tell.
        let Some(question) = self.engine.sessions().question(stream, &tell.reply_token).await?
        else {
            return Ok(Ok(()));
        };
        let at = self.engine.clock.now();
        let Some(body) = body(tell, at, &question) else { return Ok(Ok(())) };
        let agent = self.engine.agent(&stream.teamspace, tell.agent.clone()).await?;
        let Some(url) = agent.and_then(|agent| agent.endpoint) else { return Ok(Ok(())) };
        let call = match self.engine.destinations.begin(&stream.teamspace, &url, at) {
            Ok(call) => call,
            Err(failure) => return Ok(Err(failure)),
        };
        let delivery = Delivery {
            url,
            teamspace: stream.teamspace.clone(),
            agent: tell.agent.clone(),
            id: id(&tell.session, &tell.reply_token, &question),
            at,
            body,
        };
        let answered = self.while_renewing(claimed, adapter.deliver(delivery)).await;
        call.end(&answered, self.engine.clock.now());
        // The producer's response to a decision is not used.
        Ok(answered.map(|_| ()))
    }
}

/// The same id for each try, and for no other decision. An accept may be withdrawn after it was
/// delivered.
fn id(session: &SessionId, reply_token: &str, question: &Question) -> String {
    let is_lost = matches!(question, Question::Lost { .. });
    format!("{session}_{reply_token}{}", if is_lost { "_withdrawn" } else { "" })
}

/// A type, a time and the data, like every body sent to endpoints. `None` while the question is
/// open.
fn body(tell: &Tell, now: Time, question: &Question) -> Option<String> {
    let Tell { agent, session, reply_token } = tell;
    let mut data = json!({ "agent": agent, "session_id": session, "reply_token": reply_token });
    match question {
        Question::Answered { answer, outcome, at } => {
            let subscription = answer.subscription_id.clone();
            let reply = Reply { reply_token, subscription, at: *at };
            let reply = match &answer.given {
                Given::Decision(decision) => reply.decided(*decision, Some(answer)),
                Given::Response(response) => reply.responded(response.clone(), Some(answer)),
            };
            data["status"] = "answered".into();
            data["outcome"] = json!(outcome);
            data["answered_by"] = answer.by.as_str().into();
            data["settled_at"] = stamp(*at).into();
            if let Some(until) = answer.expires_at {
                data["expires_at"] = stamp(until).into();
            }
            if let Some(claimed) = &answer.decided_by {
                data["decided_by"] = claimed.as_str().into();
            }
            data["reply"] = json!(reply);
        }
        Question::TimedOut { outcome, default_response, at } => {
            data["status"] = "timed_out".into();
            data["outcome"] = json!(outcome);
            data["settled_at"] = stamp(*at).into();
            let reply = Reply { reply_token, subscription: None, at: *at };
            let reply = match (outcome, default_response) {
                (Outcome::Accepted, _) => Some(reply.decided(Decision::Accept, None)),
                (Outcome::Rejected, _) => Some(reply.decided(Decision::Reject, None)),
                (Outcome::Answered | Outcome::Unanswered | Outcome::Withdrawn, Some(default)) => {
                    Some(reply.responded(Answered::Text(default.clone()), None))
                }
                // A clarification without an answer, and without a default from its producer.
                (Outcome::Answered | Outcome::Unanswered | Outcome::Withdrawn, None) => None,
            };
            if let Some(reply) = reply {
                data["reply"] = json!(reply);
            }
        }
        Question::Lost { at } => {
            data["status"] = "withdrawn".into();
            data["outcome"] = json!(Outcome::Withdrawn);
            data["settled_at"] = stamp(*at).into();
        }
        Question::Open { .. } | Question::Withdrawn | Question::Erased { .. } => return None,
    }
    let body = json!({ "type": DECIDED, "timestamp": now.to_string(), "data": data });
    Some(body.to_string())
}

/// The fields that all replies have.
struct Reply<'a> {
    reply_token: &'a str,
    subscription: Option<String>,
    at: Time,
}

/// Stands for the subscription if the answer came without one, or if there was no answer.
const NO_SUBSCRIPTION: &str = "sub_none";

impl Reply<'_> {
    /// The token identifies who decided; what they say about themselves is beside the reply.
    fn decided(self, decision: Decision, answer: Option<&session::event::Answered>) -> Handshake {
        Handshake::ConfirmationReply(ConfirmationReply {
            reply_token: self.reply_token.to_owned(),
            decision,
            subscription_id: self.subscription.unwrap_or_else(|| NO_SUBSCRIPTION.to_owned()),
            timestamp: stamp(self.at),
            decided_by: answer.map(|answer| answer.by.clone()),
            decision_rationale: answer.and_then(|answer| answer.rationale.clone()),
            modified_action: answer.and_then(|answer| answer.modified_action.clone()),
            correlation_id: None,
        })
    }

    fn responded(self, response: Answered, answer: Option<&session::event::Answered>) -> Handshake {
        Handshake::ClarificationReply(ClarificationReply {
            reply_token: self.reply_token.to_owned(),
            response: match response {
                Answered::YesNo(yes) => Response::Truth(yes),
                Answered::Number(number) => Response::Number(number),
                Answered::Text(text) => Response::Text(text),
            },
            subscription_id: self.subscription.unwrap_or_else(|| NO_SUBSCRIPTION.to_owned()),
            timestamp: stamp(self.at),
            decided_by: answer.map(|answer| answer.by.clone()),
            confidence: answer.and_then(|answer| answer.confidence.as_ref()?.as_f64()),
            correlation_id: None,
        })
    }
}
