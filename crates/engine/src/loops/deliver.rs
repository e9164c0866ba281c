//! Delivers what was said in a conversation to the endpoint of its holder: at least once, in order,
//! and never to a former holder. The holder's answer counts for the epoch of the delivery.

use std::future::Future;
use std::pin::Pin;

use protocol::caller::{Caller, Principal};
use protocol::conversation::command::Say;
use protocol::conversation::part::Part;
use protocol::conversation::turn_delivery::{TranscriptLine, Turn};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::step::{self, Command};
use protocol::time::{Span, Time};
use protocol::{canonical, codec, conversation};

use crate::loops::Outbox;
use crate::loops::destinations::CallFailure;
use crate::loops::outbox::Adapter;
use crate::ports::outbox::Claimed;
use crate::ports::store::{Sequenced, StoreError, StoreReads};
use crate::road::submit::{Key, SubmitError};

/// A customer waits for an answer, so even an endpoint that was down for an hour is retried four
/// times a minute.
const RETRY_AFTER_MAX: Span = Span::from_millis(15_000);

/// Where to deliver, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub url: String,
    pub teamspace: TeamspaceId,
    pub agent: AgentId,
    /// The same for each try.
    pub id: String,
    /// When it is tried.
    pub at: Time,
    pub body: String,
}

/// The result: the agent's answer, if it gives one at once, or what went wrong.
pub type Answered = Pin<Box<dyn Future<Output = Result<Option<Vec<Part>>, CallFailure>> + Send>>;

impl Outbox<'_> {
    /// Delivers to the holder, and records the result.
    pub(crate) async fn carry_out_delivery(
        self,
        claimed: &Claimed,
        turn: &Turn,
        adapter: &dyn Adapter,
    ) -> Result<(), StoreError> {
        let told = match self.hand_over(claimed, turn, adapter).await? {
            Ok(Some(parts)) => self.say_answer(claimed, turn, parts).await?,
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        };
        let Turn { epoch, through, .. } = *turn;
        let command = match &told {
            Ok(()) => conversation::Command::Delivered { epoch, through },
            Err(failure) => {
                let detail = failure.detail.clone();
                conversation::Command::NotDelivered { epoch, through, detail }
            }
        };
        let caller = Caller::system(claimed.stream.teamspace.clone());
        let command = Command::Conversation(command);
        let submitted = self.engine.submit(&caller, claimed.stream.clone(), command, None).await;
        let failure = match (submitted, told) {
            (Ok(_), Ok(())) => CallFailure::refused(""),
            (Ok(_), Err(failure)) => failure,
            (Err(SubmitError::Store(error)), _) => return Err(error),
            (Err(rejected), _) => CallFailure::refused(rejected.to_string()),
        };
        // Once it is done, the state no longer wants it, and there is no row to write to.
        if self.work(claimed).await?.is_none() {
            return Ok(());
        }
        let again = self.again_within(RETRY_AFTER_MAX, claimed, failure);
        self.engine.store.write_outbox(again).await
    }

    async fn hand_over(
        self,
        claimed: &Claimed,
        turn: &Turn,
        adapter: &dyn Adapter,
    ) -> Result<Result<Option<Vec<Part>>, CallFailure>, StoreError> {
        let stream = &claimed.stream;
        let agent = self.engine.agent(&stream.teamspace, turn.agent.clone()).await?;
        let Some(url) = agent.and_then(|agent| agent.endpoint) else {
            return Ok(Err(CallFailure::refused("the agent has no endpoint any more")));
        };
        let n_lines = usize::try_from(turn.through - turn.after).unwrap_or_default();
        let mut lines: Vec<TranscriptLine> = Vec::new();
        while lines.len() < n_lines {
            let after = turn.after + lines.len() as u64;
            let page = self.engine.store.transcript(stream, after, n_lines - lines.len()).await?;
            if page.is_empty() {
                break;
            }
            lines.extend((after + 1..).zip(page).map(line));
        }
        // There is nothing to tell.
        if lines.iter().all(TranscriptLine::is_between_people) {
            return Ok(Ok(None));
        }
        let at = self.engine.clock.now();
        let call = match self.engine.destinations.begin(&stream.teamspace, &url, at) {
            Ok(call) => call,
            Err(failure) => return Ok(Err(failure)),
        };
        let delivery = Delivery {
            url,
            teamspace: stream.teamspace.clone(),
            agent: turn.agent.clone(),
            id: turn.id(),
            at,
            body: turn.body(&stream.teamspace, at, &lines),
        };
        let answered = self.while_renewing(claimed, adapter.deliver(delivery)).await;
        call.end(&answered, self.engine.clock.now());
        Ok(answered)
    }

    /// Records the agent's immediate answer as if the agent had sent it in a request. The
    /// idempotency key is the same for every delivery of the turn, so the answer is recorded once.
    async fn say_answer(
        self,
        claimed: &Claimed,
        turn: &Turn,
        parts: Vec<Part>,
    ) -> Result<Result<(), CallFailure>, StoreError> {
        let teamspace = claimed.stream.teamspace.clone();
        let caller = Caller {
            roles: self.engine.access().roles_of(&teamspace, &turn.agent).await?,
            teamspace,
            principal: Principal::Agent(turn.agent.clone()),
            session: "endpoint".to_owned(),
        };
        let say = Say { parts, epoch: Some(turn.epoch), in_reply_to: turn.in_reply_to };
        let command = Command::Conversation(conversation::Command::Say(say));
        let text = format!("delivery/{}", turn.id());
        let key = Key { fingerprint: canonical::sha256(&[text.as_bytes()]), text };
        match self.engine.submit(&caller, claimed.stream.clone(), command, Some(key)).await {
            Ok(_) => Ok(Ok(())),
            Err(SubmitError::Store(error)) => Err(error),
            Err(error) => {
                let detail = format!("what the agent answered is refused: {error}");
                Ok(Err(CallFailure::refused(detail)))
            }
        }
    }
}

fn line((number, line): (u64, Sequenced)) -> TranscriptLine {
    let entry = &line.entry;
    let text = entry.body.text();
    let event = text.and_then(|text| codec::decode(&entry.name, entry.version, text).ok());
    let event = match event {
        Some(step::Event::Conversation(event)) => Some(event),
        Some(
            step::Event::Handoff(_)
            | step::Event::Agent(_)
            | step::Event::Token(_)
            | step::Event::Message(_)
            | step::Event::Teamspace(_)
            | step::Event::Graph(_)
            | step::Event::Subscription(_)
            | step::Event::Webhook(_)
            | step::Event::Session(_)
            | step::Event::Erased(_)
            | step::Event::Forked(_),
        )
        | None => None,
    };
    TranscriptLine { number, at: entry.at, actor: entry.actor.to_string(), event }
}
