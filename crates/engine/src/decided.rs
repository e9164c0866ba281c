//! Telling the producer of a session at its endpoint what became of a question: as the reply that
//! AAEP has for it, with the token that the producer chose. At least once, with the same id each
//! time.

use protocol::aaep::event::Decision;
use protocol::aaep::handshake::{ClarificationReply, ConfirmationReply, Handshake, Response};
use protocol::aaep::machine::Outcome;
use protocol::aaep::stamp::stamp;
use protocol::caller::Caller;
use protocol::ids::SessionId;
use protocol::session::{self, Given, Response as Answered};
use protocol::step::{Command, Tell};
use protocol::time::Time;
use serde_json::{Value, json};

use crate::Engine;
use crate::deliver::Delivery;
use crate::outbox::Adapter;
use crate::port::{Claimed, StoreError};
use crate::sessions::Question;
use crate::submit::SubmitError;

impl Engine {
    /// Tells the producer, and records that it was told.
    pub(crate) async fn carry_out_decision(
        &self,
        claimed: &Claimed,
        tell: &Tell,
        adapter: &dyn Adapter,
    ) -> Result<(), StoreError> {
        if let Err(detail) = self.hand_over_decision(claimed, tell, adapter).await? {
            return self.store.write_outbox(self.again_later(claimed, detail)).await;
        }
        let caller = Caller::system(claimed.stream.teamspace.clone());
        let reply_token = tell.reply_token.clone();
        let command = Command::Session(session::Command::Deliver { reply_token });
        // The row goes with the commit that says so.
        match self.submit(&caller, claimed.stream.clone(), command, None).await {
            Ok(_) => Ok(()),
            Err(SubmitError::Store(error)) => Err(error),
            Err(error) => {
                self.store.write_outbox(self.again_later(claimed, error.to_string())).await
            }
        }
    }

    async fn hand_over_decision(
        &self,
        claimed: &Claimed,
        tell: &Tell,
        adapter: &dyn Adapter,
    ) -> Result<Result<(), String>, StoreError> {
        let stream = &claimed.stream;
        // Without a question, or an endpoint, there is nothing more to tell.
        let Some(question) = self.question(stream, &tell.reply_token).await? else {
            return Ok(Ok(()));
        };
        let Some(body) = body(&tell.session, &tell.reply_token, &question) else {
            return Ok(Ok(()));
        };
        let agent = self.agent(&stream.teamspace, tell.agent.clone()).await?;
        let Some(url) = agent.and_then(|agent| agent.endpoint) else { return Ok(Ok(())) };
        let delivery = Delivery {
            url,
            teamspace: stream.teamspace.clone(),
            agent: tell.agent.clone(),
            id: id(&tell.session, &tell.reply_token),
            at: self.clock.now(),
            body,
        };
        // What a producer answers to a decision is for nobody.
        Ok(self.while_renewing(claimed, adapter.deliver(delivery)).await.map(|_| ()))
    }
}

/// The same for each try, and for nothing else.
fn id(session: &SessionId, reply_token: &str) -> String {
    format!("{session}_{reply_token}")
}

/// The reply, with what only we know of it in our extension; nothing while it is open.
fn body(session: &SessionId, reply_token: &str, question: &Question) -> Option<String> {
    let (mut body, status, at, more) = match question {
        Question::Answered { answer, outcome, at } => {
            let more = json!({
                "answered_by": answer.by, "event_id": answer.event_id, "outcome": outcome,
            });
            let subscription = answer.subscription_id.clone();
            let reply = Reply { reply_token, subscription, at: *at };
            let decided_by = answer.decided_by.clone();
            let reply = match &answer.given {
                Given::Decision(decision) => {
                    reply.decided(*decision, decided_by, answer.rationale.clone())
                }
                Given::Response(response) => reply.responded(response.clone(), decided_by),
            };
            (json!(reply), "answered", *at, more)
        }
        Question::TimedOut { outcome, at } => {
            let reply = Reply { reply_token, subscription: None, at: *at };
            let reply = match outcome {
                Outcome::Accepted => json!(reply.decided(Decision::Accept, None, None)),
                Outcome::Rejected => json!(reply.decided(Decision::Reject, None, None)),
                // A clarification without an answer; what counts instead, its producer said.
                Outcome::Answered | Outcome::Unanswered | Outcome::Withdrawn => {
                    json!({ "type": SETTLED, "reply_token": reply_token })
                }
            };
            (reply, "timed_out", *at, json!({ "outcome": outcome }))
        }
        Question::Open { .. } | Question::Withdrawn | Question::Erased { .. } => return None,
    };
    let mut ours = json!({ "session_id": session, "status": status, "settled_at": stamp(at) });
    if let (Value::Object(ours), Value::Object(more)) = (&mut ours, more) {
        ours.extend(more);
    }
    body["extensions"] = json!({ "tasuki": ours });
    Some(body.to_string())
}

/// What all replies have.
struct Reply<'a> {
    reply_token: &'a str,
    subscription: Option<String>,
    at: Time,
}

/// What AAEP has no message for: nobody answered what was asked.
const SETTLED: &str = "tasuki:question.settled";

/// Who answered without a subscription, or nobody did.
const NO_SUBSCRIPTION: &str = "sub_none";

impl Reply<'_> {
    fn decided(
        self,
        decision: Decision,
        decided_by: Option<String>,
        decision_rationale: Option<String>,
    ) -> Handshake {
        Handshake::ConfirmationReply(ConfirmationReply {
            reply_token: self.reply_token.to_owned(),
            decision,
            subscription_id: self.subscription.unwrap_or_else(|| NO_SUBSCRIPTION.to_owned()),
            timestamp: stamp(self.at),
            decided_by,
            decision_rationale,
            modified_action: None,
            correlation_id: None,
        })
    }

    fn responded(self, response: Answered, decided_by: Option<String>) -> Handshake {
        Handshake::ClarificationReply(ClarificationReply {
            reply_token: self.reply_token.to_owned(),
            response: match response {
                Answered::YesNo(yes) => Response::Truth(yes),
                Answered::Number(number) => Response::Number(number),
                Answered::Text(text) => Response::Text(text),
            },
            subscription_id: self.subscription.unwrap_or_else(|| NO_SUBSCRIPTION.to_owned()),
            timestamp: stamp(self.at),
            decided_by,
            confidence: None,
            correlation_id: None,
        })
    }
}
