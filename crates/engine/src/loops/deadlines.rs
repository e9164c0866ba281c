//! The deadline loop. A deadline that passes becomes a command and is decided like any other; if it
//! no longer applies, nothing happens. Armed deadlines are in the store, so a restart loses none.

use protocol::caller::Caller;
use protocol::step;
use protocol::time::Span;
use tokio::sync::watch;

use crate::Engine;
use crate::ports::store::{Due, StoreError};
use crate::road::submit::SubmitError;

/// The loop looks at least this often, so that a deadline armed meanwhile, or a clock that jumped,
/// is noticed soon; limits are minutes, so a second is soon.
const LOOK_EVERY: Span = Span::from_millis(1_000);

/// One round's work. Overdue rows beyond it come up in the next round, which follows at once.
const ROUND_DEADLINES_MAX: usize = 256;

pub(crate) async fn run(engine: Engine, mut stopped: watch::Receiver<bool>) {
    loop {
        match engine.fire_due_deadlines().await {
            Ok(fired) if fired == ROUND_DEADLINES_MAX => continue,
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "the deadlines could not be looked at"),
        }
        tokio::select! {
            () = engine.clock.sleep(LOOK_EVERY) => {}
            () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => return,
        }
    }
}

impl Engine {
    /// Decides every deadline that is due now, up to one round's worth. Returns how many there
    /// were.
    pub async fn fire_due_deadlines(&self) -> Result<usize, StoreError> {
        if self.ledger().behind().is_some() {
            // Deadlines are decided once, late, when the ledger accepts writes again.
            return Ok(0);
        }
        let due = self.store.due(self.clock.now(), ROUND_DEADLINES_MAX).await?;
        for one in &due {
            match self.fire(one).await {
                Ok(()) => {}
                Err(SubmitError::Store(error)) => return Err(error),
                Err(error) => tracing::error!(
                    stream = %one.stream.subject,
                    deadline = %one.deadline.name,
                    %error,
                    "a deadline could not be decided"
                ),
            }
        }
        Ok(due.len())
    }

    async fn fire(&self, due: &Due) -> Result<(), SubmitError> {
        let Some(elapse) = step::elapsed(&due.stream.subject, &due.deadline) else { return Ok(()) };
        let caller = Caller::system(due.stream.teamspace.clone());
        self.submit(&caller, due.stream.clone(), elapse, None).await.map(|_| ())
    }
}
