//! The outbox loop. An effect is a row that the state of its stream wants. Here it is claimed under
//! a lease and carried out by an adapter, and its result comes back as an ordinary command. The row
//! is removed by the commit after which the state no longer wants it.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use protocol::caller::Caller;
use protocol::handoff;
use protocol::handoff::artifact::Seen;
use protocol::handoff::package::Artifact;
use protocol::handoff::workq::{Answer, Answered};
use protocol::ids::TeamspaceId;
use protocol::ledger::Subject;
use protocol::step::{self, Command, Effect, EffectKind, State, Work};
use protocol::time::Span;
use protocol::wake::UrlUse;
use tokio::sync::{oneshot, watch};
use tokio::task::{self, JoinError, JoinSet};

use crate::Engine;
use crate::loops::Outbox;
use crate::loops::outbox_pools::{LEASE, Pool, Rings};
use crate::ports::adapter::{Adapter, CallFailure, FailureCause};
use crate::ports::outbox::{Claimed, OutboxList, OutboxWrite, Outstanding};
use crate::ports::store::{StoreError, StoreWrites};
use crate::read::query::LIST_ROWS_MAX;
use crate::road::submit::SubmitError;

/// The loop looks at least this often, because postponed effects ring no bell.
const LOOK_EVERY: Span = Span::from_millis(1_000);

/// How often a claim is renewed while the work goes on.
const RENEW_EVERY: Span = Span::from_millis(20_000);

/// After the first failure; doubled with each that follows.
const RETRY_AFTER_MIN: Span = Span::from_millis(1_000);

/// A store that is down for a day is tried every five minutes.
const RETRY_AFTER_MAX: Span = Span::from_millis(300_000);

/// An effect that failed this often is given up until an operator revives it: with the pauses
/// above, after some two days.
pub const ATTEMPTS_MAX: u32 = 600;

/// The adapter, for looks at artifacts that are not in the outbox.
#[derive(Default)]
pub(crate) struct CurrentAdapter {
    pub(crate) adapter: OnceLock<Arc<dyn Adapter>>,
    asked: tokio::sync::Mutex<()>,
}

impl CurrentAdapter {
    pub fn set(&self, adapter: Arc<dyn Adapter>) {
        // Loops are started once; should they be started again, the first adapter stays.
        let _ = self.adapter.set(adapter);
    }
}

pub(crate) async fn run(
    engine: Engine,
    kind: EffectKind,
    adapter: Arc<dyn Adapter>,
    mut stopped: watch::Receiver<bool>,
) {
    tokio::select! {
        biased;
        () = engine.ledger().until_not_behind() => {}
        // A claim is a write, and the result of an effect could not be recorded.
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => return,
    }
    // The process that held these claims is gone, and a customer may be waiting.
    if let Err(error) = engine.store.write_outbox(OutboxWrite::Release { kind }).await {
        tracing::warn!(%error, "what was being done outside waits for its leases to run out");
    }
    let mut pool = Pool::new(kind);
    let mut running = JoinSet::new();
    loop {
        while let Some(ended) = running.try_join_next_with_id() {
            report(ended, &mut pool);
        }
        match engine.outbox().claim(&pool).await {
            Ok(claimed) => {
                for one in claimed {
                    let teamspace = one.stream.teamspace.clone();
                    let since = engine.clock.now();
                    let (engine, adapter) = (engine.clone(), Arc::clone(&adapter));
                    let (stop, stopped) = oneshot::channel();
                    let task = running.spawn(async move {
                        engine.outbox().carry_out_until(&one, &*adapter, stopped).await
                    });
                    pool.begin(task.id(), teamspace, since, stop);
                }
            }
            Err(error) => tracing::error!(%error, "the outbox could not be looked at"),
        }
        tokio::select! {
            Some(ended) = running.join_next_with_id() => report(ended, &mut pool),
            () = engine.outbox_bells.of(kind).notified() => {}
            () = engine.clock.sleep(LOOK_EVERY) => {}
            // Effects that are not done are carried out after the next start.
            () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => return,
        }
    }
}

type Ended = (task::Id, Result<(), StoreError>);

fn report(ended: Result<Ended, JoinError>, pool: &mut Pool) {
    match ended {
        Ok((task, result)) => {
            pool.end(task);
            if let Err(error) = result {
                tracing::error!(%error, "an effect could not be written down");
            }
        }
        Err(error) => {
            pool.end(error.id());
            tracing::error!(%error, "an effect did not end cleanly");
        }
    }
}

impl Outbox<'_> {
    /// The effects of a teamspace that are not done yet, at most [`LIST_ROWS_MAX`].
    pub async fn outstanding(
        self,
        teamspace: &TeamspaceId,
        list: OutboxList,
    ) -> Result<Vec<Outstanding>, StoreError> {
        self.engine.store.outstanding(teamspace, list, LIST_ROWS_MAX).await
    }

    /// Looks at artifacts that are not proposed yet. One look at a time: a caller that experiments
    /// must not delay the verification of proposed artifacts. `None` while another look is running,
    /// and for an engine without loops.
    pub async fn look(self, reader: &Caller, artifacts: Vec<Artifact>) -> Option<Vec<Seen>> {
        let _turn = self.engine.outside.asked.try_lock().ok()?;
        let adapter = self.engine.outside.adapter.get()?;
        let looked = self.engine.files().look(&reader.teamspace, artifacts, Some(reader));
        let (mut seen, others) = looked.await;
        seen.extend(adapter.look(others).await);
        Some(seen)
    }

    /// Why a URL is never called as this server is set up. An engine without loops knows nothing.
    pub fn objection(self, url: &str, url_use: UrlUse) -> Option<String> {
        self.engine.outside.adapter.get()?.objection(url, url_use)
    }

    /// Carries out effects that are due now, one after the other, as many as run at once in a
    /// server. Returns how many there were. For programs without loops, and for tests.
    pub async fn carry_out_due(self, adapter: &dyn Adapter) -> Result<usize, StoreError> {
        let mut claimed = Vec::new();
        for kind in EffectKind::ALL {
            claimed.extend(self.claim(&Pool::new(kind)).await?);
        }
        for one in &claimed {
            self.carry_out(one, adapter).await?;
        }
        Ok(claimed.len())
    }

    /// Retries what was given up of a teamspace: every effect, or one.
    pub async fn revive_outbox(
        self,
        teamspace: &TeamspaceId,
        only: Option<(Subject, Effect)>,
    ) -> Result<(), StoreError> {
        let (teamspace, now) = (teamspace.clone(), self.engine.clock.now());
        self.engine.store.write_outbox(OutboxWrite::Revive { teamspace, only, now }).await?;
        self.engine.outbox_bells.ring(Rings::ALL);
        Ok(())
    }

    async fn claim(self, pool: &Pool) -> Result<Vec<Claimed>, StoreError> {
        match pool.claim(self.engine.clock.now()) {
            Some(claim) => self.engine.store.claim(claim).await,
            None => Ok(Vec::new()),
        }
    }

    /// Carries out an effect, unless it is stopped to make room.
    async fn carry_out_until(
        self,
        claimed: &Claimed,
        adapter: &dyn Adapter,
        stopped: oneshot::Receiver<()>,
    ) -> Result<(), StoreError> {
        tokio::select! {
            done = self.carry_out(claimed, adapter) => done,
            Ok(()) = stopped => {
                let failure = CallFailure::down("it was slow, and others were waiting");
                self.engine.store.write_outbox(self.again_later(claimed, failure)).await
            }
        }
    }

    async fn carry_out(self, claimed: &Claimed, adapter: &dyn Adapter) -> Result<(), StoreError> {
        let Some(work) = self.work(claimed).await? else {
            let error = "there is nothing left to do".to_owned();
            return self.engine.store.write_outbox(put_away(claimed, error)).await;
        };
        let (command, failure) = match work {
            Work::Look { looked, artifacts } => {
                let teamspace = &claimed.stream.teamspace;
                let looking = async {
                    let looked = self.engine.files().look(teamspace, artifacts, None);
                    let (mut seen, others) = looked.await;
                    seen.extend(adapter.look(others).await);
                    seen
                };
                let seen = self.while_renewing(claimed, looking).await;
                let failure = seen.iter().find_map(|one| one.finding.detail()).map(str::to_owned);
                (handoff::Command::Verified { looked, seen }, failure)
            }
            Work::Transfer { package_hash, way, transfer } => {
                let answers = self.while_renewing(claimed, adapter.transfer(transfer)).await;
                for answered in &answers {
                    tell_degraded(claimed, answered);
                }
                (handoff::Command::WorkqAnswered { package_hash, way, answers }, None)
            }
            Work::Wake(wake) => return self.carry_out_wake(claimed, wake, adapter).await,
            Work::Deliver(turn) => return self.carry_out_delivery(claimed, &turn, adapter).await,
            Work::Tell(tell) => return self.carry_out_decision(claimed, &tell, adapter).await,
            Work::Remove => return self.carry_out_removal(claimed).await,
        };
        let caller = Caller::system(claimed.stream.teamspace.clone());
        let command = Command::Handoff(command);
        let submitted = self.engine.submit(&caller, claimed.stream.clone(), command, None).await;
        let error = match submitted {
            Ok(_) => failure.unwrap_or_default(),
            Err(SubmitError::Store(error)) => return Err(error),
            Err(error) => error.to_string(),
        };
        // Once it is done, the state no longer wants it, and there is no row to write to.
        if self.work(claimed).await?.is_none() {
            return Ok(());
        }
        let failure = CallFailure::down(error);
        self.engine.store.write_outbox(self.again_later(claimed, failure)).await
    }

    async fn carry_out_removal(self, claimed: &Claimed) -> Result<(), StoreError> {
        let Subject::File(file) = &claimed.stream.subject else { return Ok(()) };
        let deleted = self.engine.files().delete(&claimed.stream.teamspace, file).await;
        match deleted {
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::error!(%error, %file, "a file could not be deleted");
                let failure = CallFailure::down("the folder of the files failed");
                self.engine.store.write_outbox(self.again_later(claimed, failure)).await
            }
        }
    }

    /// The work for a claimed effect, if the stream still wants it.
    pub(crate) async fn work(self, claimed: &Claimed) -> Result<Option<Work>, StoreError> {
        let Some(state) = self.engine.read().current(&claimed.stream).await? else {
            return Ok(None);
        };
        let document = match state.as_ref() {
            State::Handoff(handoff) => {
                self.engine.read().document(&claimed.stream, handoff.document_hash()).await?
            }
            State::Message(_) | State::Conversation(_) | State::Session(_) | State::File(_) => None,
            State::Agent(_)
            | State::Token(_)
            | State::Ledger(_)
            | State::Teamspace(_)
            | State::Graph(_)
            | State::Subscription(_)
            | State::Webhook(_)
            | State::Question(_) => {
                return Ok(None);
            }
        };
        Ok(step::work(&state, &claimed.effect.name, document.as_deref()))
    }

    pub(crate) async fn while_renewing<T>(
        self,
        claimed: &Claimed,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.engine.clock.sleep(RENEW_EVERY) => {
                    let until = self.engine.clock.now().plus(LEASE);
                    let renew = OutboxWrite::Renew { claimed: claimed.clone(), until };
                    if let Err(error) = self.engine.store.write_outbox(renew).await {
                        tracing::warn!(%error, "a lease could not be renewed");
                    }
                }
            }
        }
    }

    pub(crate) fn again_later(self, claimed: &Claimed, failure: CallFailure) -> OutboxWrite {
        self.again_within(RETRY_AFTER_MAX, claimed, failure)
    }

    /// The same, with another limit for the pause.
    pub(crate) fn again_within(
        self,
        pause_max: Span,
        claimed: &Claimed,
        failure: CallFailure,
    ) -> OutboxWrite {
        let CallFailure { detail: error, cause, retry_after, status: _ } = failure;
        let is_try = cause != FailureCause::NotTried;
        if is_try && claimed.attempt >= ATTEMPTS_MAX {
            return put_away(claimed, error);
        }
        let doublings = claimed.attempt.saturating_sub(1).min(20);
        let pause = RETRY_AFTER_MIN.as_millis() << doublings;
        let pause = pause.min(pause_max.as_millis());
        let pause = match retry_after {
            Some(asked) if is_try => pause.max(asked.as_millis()),
            Some(asked) => asked.as_millis(),
            None => pause,
        };
        // Up to a quarter more, so that effects that failed together are not retried together.
        let jitter = i64::from(self.engine.ids.bytes()[0]) * pause / 1_024;
        let due = self.engine.clock.now().plus(Span::from_millis(pause + jitter));
        OutboxWrite::PutOff { claimed: claimed.clone(), due, error, is_try }
    }
}

fn tell_degraded(claimed: &Claimed, answered: &Answered) {
    if let Answer::Degraded { reason, detail } = &answered.answer {
        let (stream, reason) = (&claimed.stream.subject, reason.as_str());
        tracing::warn!(%stream, reason, detail, "an item of the work queue is orphaned");
    }
}

fn put_away(claimed: &Claimed, error: String) -> OutboxWrite {
    OutboxWrite::GiveUp { claimed: claimed.clone(), error }
}
