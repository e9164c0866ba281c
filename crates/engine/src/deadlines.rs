//! The deadline loop. A deadline that passes becomes a command and is decided like any other; if it
//! no longer applies, nothing happens. Armed deadlines are in the store, so a restart loses none.

use protocol::agent;
use protocol::caller::Caller;
use protocol::conversation;
use protocol::handoff;
use protocol::handoff::command::SlaStage;
use protocol::handoff::derive;
use protocol::ledger::Subject;
use protocol::message;
use protocol::session;
use protocol::step::Command;
use protocol::subscription;
use protocol::time::Span;
use protocol::transfer;
use tokio::sync::watch;

use crate::Engine;
use crate::port::{Due, StoreError};
use crate::submit::SubmitError;

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
        if self.behind().is_some() {
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
        let at = due.deadline.due;
        let elapse = match due.stream.subject {
            Subject::Handoff(_) => {
                let (name, is_warning) = match due.deadline.name.strip_prefix(derive::WARN) {
                    Some(name) => (name, true),
                    None => (due.deadline.name.as_ref(), false),
                };
                let Ok(stage) = name.parse::<SlaStage>() else { return Ok(()) };
                Command::Handoff(match is_warning {
                    true => handoff::Command::Warn { stage, at },
                    false => handoff::Command::Elapse { stage, due: at },
                })
            }
            Subject::Message(_) => Command::Message(message::Command::Elapse { due: at }),
            Subject::Subscription(_) => {
                Command::Subscription(subscription::Command::Elapse { due: at })
            }
            Subject::Agent(_) => Command::Agent(agent::Command::Elapse { due: at }),
            Subject::Conversation(_) => {
                let elapse = transfer::Command::Elapse { due: at };
                Command::Conversation(conversation::Command::Transfer(elapse))
            }
            Subject::Session(_) => {
                let audience = self.audience(&due.stream, at).await?;
                Command::Session(session::Command::Elapse { due: at, audience })
            }
            Subject::Token(_) | Subject::Teamspace | Subject::Graph(_) | Subject::Ledger => {
                return Ok(());
            }
        };
        let caller = Caller::system(due.stream.teamspace.clone());
        self.submit(&caller, due.stream.clone(), elapse, None).await.map(|_| ())
    }
}
