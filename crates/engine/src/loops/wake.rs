//! Calling the recipients of critical messages: one effect each, tried for some minutes. A
//! recipient that cannot be reached by then is given up, and the status tells the sender so.

use protocol::caller::Caller;
use protocol::message;
use protocol::step::{Command, Wake};

use crate::loops::Outbox;
use crate::ports::adapter::{Adapter, CallFailure, WakeCall};
use crate::ports::outbox::Claimed;
use crate::ports::store::{StoreError, StoreWrites};
use crate::road::submit::SubmitError;

/// With the pauses of the outbox some four minutes. By then a critical message is no longer of use,
/// or was delivered in another way.
pub const ATTEMPTS_MAX: u32 = 8;

impl Outbox<'_> {
    /// Calls, and records the result: that the call was taken, or that it was tried often enough.
    pub(crate) async fn carry_out_wake(
        self,
        claimed: &Claimed,
        wake: Wake,
        adapter: &dyn Adapter,
    ) -> Result<(), StoreError> {
        let agent = wake.agent.clone();
        let command = match self.call(claimed, wake, adapter).await? {
            Ok(()) => message::Command::Woken { agent },
            Err(failure) if claimed.attempt < ATTEMPTS_MAX => {
                return self.engine.store.write_outbox(self.again_later(claimed, failure)).await;
            }
            Err(failure) => message::Command::NotWoken { agent, detail: failure.detail },
        };
        let caller = Caller::system(claimed.stream.teamspace.clone());
        let command = Command::Message(command);
        // The commit that records the result also removes the row of the outbox.
        match self.engine.submit(&caller, claimed.stream.clone(), command, None).await {
            Ok(_) => Ok(()),
            Err(SubmitError::Store(error)) => Err(error),
            Err(error) => {
                let failure = CallFailure::refused(error.to_string());
                self.engine.store.write_outbox(self.again_later(claimed, failure)).await
            }
        }
    }

    async fn call(
        self,
        claimed: &Claimed,
        wake: Wake,
        adapter: &dyn Adapter,
    ) -> Result<Result<(), CallFailure>, StoreError> {
        let teamspace = claimed.stream.teamspace.clone();
        let agent = self.engine.agent(&teamspace, wake.agent.clone()).await?;
        let Some(url) = agent.and_then(|agent| agent.wake_url) else {
            return Ok(Err(CallFailure::refused("the agent is not called any more")));
        };
        let at = self.engine.clock.now();
        let running = match self.engine.destinations.begin(&teamspace, &url, at) {
            Ok(running) => running,
            // Counted like a call that failed: a critical message is of use for minutes only.
            Err(failure) => return Ok(Err(CallFailure::refused(failure.detail))),
        };
        let call = WakeCall { url, teamspace, wake, at };
        let taken = self.while_renewing(claimed, adapter.wake(call)).await;
        running.end(&taken, self.engine.clock.now());
        Ok(taken)
    }
}
