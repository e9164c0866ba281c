//! Recorded outcomes: the answer to a command is stored with it under the caller's key, so that a
//! retry gets the same answer.

use protocol::caller::Caller;
use protocol::json;
use protocol::time::Time;

use crate::Engine;
use crate::ports::store::{KeyScope, KeyedOutcome, RecordedOutcome, StoreError};
use crate::road::submit::{Attempt, Done, Key, Submission, SubmitError, scope};

/// About what the text of an outcome takes.
const OUTCOME_BYTES: usize = 384;

impl Engine {
    /// The answer to an earlier request with this key, if there was one.
    pub async fn done_before(
        &self,
        caller: &Caller,
        key: &Key,
    ) -> Result<Option<Done>, SubmitError> {
        let scope = scope(caller, key);
        let Some(recorded) = self.store.outcome(&scope).await? else { return Ok(None) };
        self.replay(&scope, key, &recorded).map(Some)
    }

    /// The recorded answer, if the key was used before.
    pub(super) async fn recorded(
        &self,
        asked: &Submission<'_>,
    ) -> Result<Option<Attempt>, SubmitError> {
        let Some(key) = asked.key else { return Ok(None) };
        let scope = asked.scope(key);
        match self.store.outcome(&scope).await? {
            Some(recorded) => {
                self.replay(&scope, key, &recorded).map(|done| Some(Attempt::Done(done)))
            }
            None => Ok(None),
        }
    }

    pub(super) fn keyed_outcome(
        &self,
        scope: KeyScope,
        key: &Key,
        done: &Done,
        at: Time,
    ) -> KeyedOutcome {
        let outcome = json::text_of(done, OUTCOME_BYTES);
        let mut recorded = RecordedOutcome { fingerprint: key.fingerprint, outcome, mac: None };
        recorded.mac = self.outcome_mac(&scope, &recorded);
        KeyedOutcome { scope, recorded, at }
    }

    #[inline(never)] // It reads every kind of outcome: one copy is enough.
    pub(super) fn replay(
        &self,
        scope: &KeyScope,
        key: &Key,
        recorded: &RecordedOutcome,
    ) -> Result<Done, SubmitError> {
        self.check_outcome(scope, recorded)?;
        if recorded.fingerprint != key.fingerprint {
            return Err(SubmitError::KeyReused);
        }
        serde_json::from_str(&recorded.outcome)
            .map_err(|error| StoreError::Corrupt(format!("a recorded outcome: {error}")).into())
    }
}
