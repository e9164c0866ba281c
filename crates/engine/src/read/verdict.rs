//! Waiting for the gate. Looking at artifacts happens beside the request; most of it is over soon
//! enough to be waited for, so that the answer to an accept or a complete says what was found.

use protocol::codec;
use protocol::handoff::event::Verdict;
use protocol::handoff::state::{Checks, Stage};
use protocol::handoff::workq::WorkqStatus;
use protocol::handoff::{Handoff, Status};
use protocol::ledger::Stream;
use protocol::step::{self, Refused, State};
use protocol::time::Span;

use crate::Engine;
use crate::ports::store::StoreError;
use crate::road::submit::Done;

/// Longer than hashing a few megabytes takes, shorter than any client's patience. What takes longer
/// is answered with the state it waits in, and the event stream tells how it ended.
pub const VERDICT_WAIT_MAX: Span = Span::from_millis(3_000);

/// The newest entries that are searched for the verdict.
const RECENT_ENTRIES: usize = 8;

impl Engine {
    /// The outcome with the verdict, if there is one soon.
    pub async fn with_verdict(&self, stream: &Stream, mut done: Done) -> Result<Done, StoreError> {
        self.wait_while(stream, is_being_checked).await?;
        // Newest first: the last result counts.
        for kept in self.read().history(stream, u64::MAX, RECENT_ENTRIES).await? {
            let entry = kept.entry;
            if entry.position < done.position {
                break;
            }
            let text = entry.body.text().unwrap_or_default();
            let Ok(step::Event::Handoff(event)) = codec::decode(&entry.name, entry.version, text)
            else {
                continue;
            };
            let Some(Verdict { status, passed, failed, refused }) = event.verdict() else {
                continue;
            };
            done.position = entry.position;
            let outcome = &mut done.outcome;
            outcome.status = status.or(outcome.status).or(Some(Status::Validating));
            (outcome.passed, outcome.failed) = (passed.to_vec(), failed.to_vec());
            outcome.refused = refused.map(|(reason, detail)| Refused {
                code: reason.as_str().to_owned(),
                detail: detail.to_owned(),
            });
            break;
        }
        Ok(done)
    }

    /// The outcome with what the work queue answered, if it answers soon.
    pub async fn with_workq(&self, stream: &Stream, mut done: Done) -> Result<Done, StoreError> {
        self.wait_while(stream, |handoff| handoff.workq_status() == WorkqStatus::Pending).await?;
        if let Some(State::Handoff(handoff)) = self.read().current(stream).await?.as_deref() {
            done.outcome.workq = handoff.workq_status();
        }
        Ok(done)
    }

    /// Waits while `is_so` is true of the handoff, for at most [`VERDICT_WAIT_MAX`].
    async fn wait_while(
        &self,
        stream: &Stream,
        is_so: impl Fn(&Handoff) -> bool,
    ) -> Result<(), StoreError> {
        let mut bell = self.ledger().newest_bell();
        let over = self.clock.sleep(VERDICT_WAIT_MAX);
        tokio::pin!(over);
        loop {
            // The bell is looked at before the state is read: an entry in between rings it again.
            bell.borrow_and_update();
            match self.read().current(stream).await?.as_deref() {
                Some(State::Handoff(handoff)) if is_so(handoff) => {}
                Some(_) | None => return Ok(()),
            }
            tokio::select! {
                () = &mut over => return Ok(()),
                rung = bell.changed() => rung.map_err(|_| StoreError::Closed)?,
            }
        }
    }
}

fn is_being_checked(handoff: &Handoff) -> bool {
    let Handoff::Made(made) = handoff else { return false };
    let checks = match &made.stage {
        Stage::Validating(validating) => validating.checks,
        Stage::Completing(completing) => completing.checks,
        Stage::Proposed(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => return false,
    };
    match checks {
        Checks::Running => true,
        Checks::Unavailable | Checks::Passed => false,
    }
}
