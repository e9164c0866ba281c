//! Delivers what was said in a conversation to the endpoint of its holder: at least once, in order,
//! and never to a former holder. The holder's answer counts for the epoch of the delivery.

use protocol::caller::{Caller, Principal};
use protocol::conversation::command::TurnAnswer;
use protocol::conversation::transcript_line::TranscriptLine;
use protocol::conversation::turn_delivery::Turn;
use protocol::step::Command;
use protocol::time::Span;
use protocol::tools::transcript::HISTORY_LINES_MAX;
use protocol::{canonical, conversation};

use crate::loops::Outbox;
use crate::ports::adapter::{Adapter, CallFailure, Delivery};
use crate::ports::outbox::Claimed;
use crate::ports::store::{StoreError, StoreWrites};
use crate::road::submit::{Key, SubmitError};

/// A customer waits for an answer, so even an endpoint that was down for an hour is retried four
/// times a minute.
const RETRY_AFTER_MAX: Span = Span::from_millis(15_000);

impl Outbox<'_> {
    /// Delivers to the holder, and records the result.
    pub(crate) async fn carry_out_delivery(
        self,
        claimed: &Claimed,
        turn: &Turn,
        adapter: &dyn Adapter,
    ) -> Result<(), StoreError> {
        let told = match self.hand_over(claimed, turn, adapter).await? {
            Ok(Some(answer)) => self.obey(claimed, turn, answer).await?,
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
    ) -> Result<Result<Option<TurnAnswer>, CallFailure>, StoreError> {
        let stream = &claimed.stream;
        let agent = self.engine.agent(&stream.teamspace, turn.agent.clone()).await?;
        let form = agent.as_ref().and_then(|agent| agent.endpoint_history);
        let Some(url) = agent.and_then(|agent| agent.endpoint) else {
            return Ok(Err(CallFailure::refused("the agent has no endpoint any more")));
        };
        let lines = self.engine.lines(stream, turn.after, turn.through).await?;
        // There is nothing to tell.
        if lines.iter().all(TranscriptLine::is_between_people) {
            return Ok(Ok(None));
        }
        let history = match form {
            Some(form) => {
                let read = self.engine.read();
                let (id, through) = (turn.conversation, turn.through);
                let history = read.model_history(stream, id, through, form, HISTORY_LINES_MAX);
                Some((form, history.await?))
            }
            None => None,
        };
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
            body: turn.body(&stream.teamspace, at, &lines, history.as_ref()),
        };
        let answered = self.while_renewing(claimed, adapter.deliver(delivery)).await;
        call.end(&answered, self.engine.clock.now());
        Ok(answered)
    }

    /// Carries out the agent's immediate answer as if the agent had sent it in a request. The
    /// idempotency key is the same for every delivery of the turn, so the answer counts once.
    async fn obey(
        self,
        claimed: &Claimed,
        turn: &Turn,
        answer: TurnAnswer,
    ) -> Result<Result<(), CallFailure>, StoreError> {
        let command = answer.command(turn.epoch, turn.in_reply_to);
        let teamspace = claimed.stream.teamspace.clone();
        let caller = Caller {
            roles: self.engine.access().roles_of(&teamspace, &turn.agent).await?,
            teamspace,
            principal: Principal::Agent(turn.agent.clone()),
            session: "endpoint".to_owned(),
        };
        let command = Command::Conversation(command);
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
