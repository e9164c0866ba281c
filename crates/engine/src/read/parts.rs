//! What a caller may know of the delegated parts of a handoff. A part has readers of its own; a
//! caller that may not read it learns its id from no answer about the whole.

use protocol::caller::Caller;
use protocol::handoff::Handoff;
use protocol::handoff::derive::may_reopen_parts;
use protocol::handoff::state::Stage;
use protocol::handoff::waits::{self, Wait};
use protocol::ids::HandoffId;
use protocol::step::State;

use crate::ports::store::StoreError;
use crate::read::Access;
use crate::read::reading::handoff_stream;

impl Access<'_> {
    /// The parts that have not ended, as far as the caller may read them.
    pub async fn open_parts(
        self,
        caller: &Caller,
        handoff: &Handoff,
    ) -> Result<Vec<HandoffId>, StoreError> {
        let Handoff::Made(made) = handoff else { return Ok(Vec::new()) };
        let mut readable = Vec::new();
        for part in &made.delegations.open {
            let stream = handoff_stream(&caller.teamspace, *part);
            if Box::pin(self.may_read_stream(caller, &stream)).await? {
                readable.push(*part);
            }
        }
        Ok(readable)
    }

    /// What a handoff waits for. A wait stays when the caller may read none of its parts. A
    /// rejected part is not proposed again if its whole forbids that, which only readers of the
    /// whole are told.
    pub async fn waits(self, caller: &Caller, handoff: &Handoff) -> Result<Vec<Wait>, StoreError> {
        let mut all = waits::waits(handoff);
        if all.iter().any(|wait| !wait.parts.is_empty()) {
            let readable = self.open_parts(caller, handoff).await?;
            for wait in &mut all {
                wait.parts.retain(|part| readable.contains(part));
            }
        }
        if let Handoff::Made(made) = handoff
            && let (Stage::Rejected { .. }, Some(whole)) = (&made.stage, made.terms.parent)
            && self.is_known_to_forbid_parts(caller, whole).await?
        {
            all = waits::of_last_round(made);
        }
        Ok(all)
    }

    async fn is_known_to_forbid_parts(
        self,
        caller: &Caller,
        whole: HandoffId,
    ) -> Result<bool, StoreError> {
        let stream = handoff_stream(&caller.teamspace, whole);
        if !Box::pin(self.may_read_stream(caller, &stream)).await? {
            return Ok(false);
        }
        let state = self.engine.read().current(&stream).await?;
        let whole = state.as_deref().and_then(State::as_handoff);
        Ok(!matches!(whole, Some(Handoff::Made(made)) if may_reopen_parts(made)))
    }
}
