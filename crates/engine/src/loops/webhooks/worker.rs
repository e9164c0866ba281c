//! The worker of one webhook: it reads the ledger from its cursor on, posts what the webhook wants
//! and its owner may read, and tries again what failed before it goes on.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use protocol::caller::Caller;
use protocol::ids::WebhookId;
use protocol::ledger::Stream;
use protocol::sealed_cursor::{Purpose, Scope};
use protocol::step::{Command, State};
use protocol::time::{Span, Time};
use protocol::webhook::{self, PauseCause, SET_ASIDE_MAX, SetAside, Terms, Webhook};
use tokio::sync::{Semaphore, watch};

use super::post::Posting;
use super::{Failing, Status, Worker};
use crate::Engine;
use crate::ledger::feed::Followed;
use crate::ports::adapter::{Adapter, CallFailure, FailureCause};
use crate::ports::store::{StoreError, StoreWrites};
use crate::road::submit::SubmitError;

/// After the first failure; doubled with each that follows.
const RETRY_AFTER_MIN: Span = Span::from_millis(1_000);

/// An endpoint that is down for a day is tried every five minutes.
const RETRY_AFTER_MAX: Span = Span::from_minutes(5);

/// A webhook that fails for this long is paused. Nothing is lost: it goes on where it was.
pub const GIVE_UP_AFTER: Span = Span::from_hours(3 * 24);

/// A delivery that the endpoint refuses this often because of its content is set aside.
pub const REFUSALS_MAX: u32 = 5;

/// The cursor is written after so many deliveries, or after this time: that many may be repeated
/// after a crash.
const CURSOR_EVERY: u32 = 64;
const CURSOR_AFTER: Span = Span::from_millis(1_000);

/// And after so many entries that the webhook does not want.
const CURSOR_ENTRIES: u64 = 4_096;

/// Deliveries in a row, before others have their turn.
const TURN_DELIVERIES: u32 = 16;

pub(super) struct Serving {
    pub engine: Engine,
    pub adapter: Arc<dyn Adapter>,
    pub stream: Stream,
    pub id: WebhookId,
    pub worker: Arc<Worker>,
    pub places: Arc<Semaphore>,
    pub stopped: watch::Receiver<bool>,
}

/// How far a webhook has come.
struct DeliveryProgress {
    round: u32,
    seq: u64,
    /// What the store has.
    written: u64,
    /// Deliveries since then.
    n_unwritten: u32,
    /// Failed tries of the next delivery.
    n_failed: u32,
    /// How often it was refused for its content.
    n_refused: u32,
    failing_since: Option<Time>,
    /// When the next delivery is tried again, as long as the terms stay.
    retry: Option<(Time, Terms)>,
}

/// What to do next.
enum Next {
    /// There may be more.
    Now,
    /// Nothing to deliver.
    Wait,
    /// Nothing until it is resumed.
    Paused,
    /// Nothing to deliver, and the cursor is to be written soon.
    WaitAndWrite,
    Later(Span),
    End,
}

impl Serving {
    pub async fn run(self) {
        let mut stopped = self.stopped.clone();
        let mut progress = None;
        let serving = async {
            let mut is_write_due = false;
            loop {
                self.worker.is_changed.store(false, Ordering::Release);
                if std::mem::take(&mut is_write_due)
                    && let Some(progress) = &mut progress
                    && let Err(error) = self.write_down(progress).await
                {
                    tracing::warn!(%error, webhook = %self.id, "its cursor was not written");
                }
                let next = match self.serve(&mut progress).await {
                    Ok(next) => next,
                    Err(error) => {
                        tracing::error!(%error, webhook = %self.id, "a webhook fell behind");
                        Next::Later(RETRY_AFTER_MIN)
                    }
                };
                self.status().is_caught_up = matches!(next, Next::Wait | Next::WaitAndWrite);
                match next {
                    Next::Now => tokio::task::yield_now().await,
                    Next::End => return,
                    Next::Paused => self.worker.changed.notified().await,
                    Next::Wait => tokio::select! {
                        () = self.worker.news.notified() => {}
                        () = self.worker.changed.notified() => {}
                    },
                    Next::WaitAndWrite => tokio::select! {
                        () = self.worker.news.notified() => {}
                        () = self.worker.changed.notified() => {}
                        () = self.engine.clock.sleep(CURSOR_AFTER) => is_write_due = true,
                    },
                    Next::Later(pause) => tokio::select! {
                        () = self.engine.clock.sleep(pause) => {}
                        () = self.worker.changed.notified() => {}
                    },
                }
            }
        };
        tokio::select! {
            () = serving => {}
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        if let Some(progress) = &mut progress
            && let Err(error) = self.write_down(progress).await
        {
            tracing::warn!(%error, webhook = %self.id, "some events will be delivered again");
        }
        self.engine.webhooks.remove(&self.stream.teamspace, self.id);
    }

    /// Delivers what there is, until something changes or fails.
    async fn serve(&self, progress: &mut Option<DeliveryProgress>) -> Result<Next, SubmitError> {
        let state = self.engine.read().current(&self.stream).await?;
        let Some(webhook) = state.as_deref().and_then(State::as_webhook) else {
            return Ok(Next::End);
        };
        if webhook.removed {
            return Ok(Next::End);
        }
        if webhook.paused.is_some() {
            self.status().failing = None;
            if let Some(progress) = progress {
                progress.retry = None;
            }
            return Ok(Next::Paused);
        }
        let Some(reader) = self.engine.access().webhook_reader(&self.stream, webhook).await? else {
            let detail = "the token that it was made with is not valid any more";
            self.pause(PauseCause::TokenEnded, detail).await?;
            return Ok(Next::Now);
        };
        if progress.as_ref().is_none_or(|progress| progress.round != webhook.round) {
            *progress = Some(self.begin(webhook).await?);
        }
        let Some(progress) = progress else { return Ok(Next::Wait) };
        // A token of the teamspace may have changed, or the webhook's own record.
        let now = self.engine.clock.now();
        if let Some((at, terms)) = &progress.retry
            && *terms == webhook.terms
            && now < *at
        {
            return Ok(Next::Later(at.since(now)));
        }
        progress.retry = None;
        self.deliver_page(webhook, &reader, progress).await
    }

    async fn deliver_page(
        &self,
        webhook: &Webhook,
        reader: &Caller,
        progress: &mut DeliveryProgress,
    ) -> Result<Next, SubmitError> {
        let _of_teamspace = self.places.acquire().await.expect("it is never closed");
        let _of_all = self.engine.webhooks.places.acquire().await.expect("it is never closed");
        let mut follower = self.engine.ledger().follow(progress.seq);
        let page = follower.available().await?;
        if page.is_empty() {
            let is_written = progress.n_unwritten == 0;
            return Ok(if is_written { Next::Wait } else { Next::WaitAndWrite });
        }
        let mut n_delivered = 0;
        for followed in &page {
            let entry = &followed.sequenced.entry;
            let is_wanted = entry.stream.teamspace == self.stream.teamspace
                && webhook.terms.wants(entry, followed.event())
                && self.engine.access().may_read_event(reader, entry, followed.event()).await?;
            if is_wanted {
                if let Some(next) = self.deliver(webhook, followed, progress).await? {
                    self.write_down(progress).await?;
                    return Ok(next);
                }
                n_delivered += 1;
            }
            progress.seq = followed.seq();
            let is_changed = self.worker.is_changed.load(Ordering::Acquire);
            if is_changed || n_delivered >= TURN_DELIVERIES {
                break;
            }
        }
        let is_far = progress.seq - progress.written >= CURSOR_ENTRIES;
        if progress.n_unwritten >= CURSOR_EVERY || is_far {
            self.write_down(progress).await?;
        }
        Ok(Next::Now)
    }

    /// Delivers one event. `None` if the next one may follow.
    async fn deliver(
        &self,
        webhook: &Webhook,
        followed: &Followed,
        progress: &mut DeliveryProgress,
    ) -> Result<Option<Next>, SubmitError> {
        let event = followed.cursor(self.engine.cursor_key()).to_owned();
        let failure = match self.post(webhook, followed).await {
            Ok(()) => {
                (progress.n_failed, progress.n_refused) = (0, 0);
                progress.failing_since = None;
                progress.n_unwritten += 1;
                self.status().failing = None;
                return Ok(None);
            }
            Err(failure) => failure,
        };
        progress.n_failed += u32::from(failure.cause != FailureCause::NotTried);
        let now = self.engine.clock.now();
        let since = *progress.failing_since.get_or_insert(now);
        let entry = &followed.sequenced.entry;
        if failure.is_gone() {
            self.pause(PauseCause::Gone, &failure.detail).await?;
            return Ok(Some(Next::Now));
        }
        progress.n_refused += u32::from(failure.is_about_content());
        if failure.is_about_content() && progress.n_refused >= REFUSALS_MAX {
            if webhook.set_aside.len() >= SET_ASIDE_MAX {
                self.pause(PauseCause::SetAside, &failure.detail).await?;
                return Ok(Some(Next::Now));
            }
            let (name, attempts) = (entry.name.to_string(), progress.n_failed);
            let aside = SetAside { event, name, attempts, detail: failure.detail };
            self.submit(webhook::Command::SetAside(aside)).await?;
            (progress.n_failed, progress.n_refused) = (0, 0);
            progress.failing_since = None;
            self.status().failing = None;
            return Ok(None);
        }
        if entry.at.max(webhook.since).max(since).plus(GIVE_UP_AFTER) <= now {
            self.pause(PauseCause::Failing, &failure.detail).await?;
            return Ok(Some(Next::Now));
        }
        let pause = self.pause_after(progress.n_failed, &failure);
        let (attempts, next_at, detail) = (progress.n_failed, now.plus(pause), failure.detail);
        progress.retry = Some((next_at, webhook.terms.clone()));
        self.status().failing = Some(Failing { since, attempts, next_at, detail });
        Ok(Some(Next::Later(pause)))
    }

    fn pause_after(&self, n_failed: u32, failure: &CallFailure) -> Span {
        let doublings = n_failed.saturating_sub(1).min(20);
        let pause = (RETRY_AFTER_MIN.as_millis() << doublings).min(RETRY_AFTER_MAX.as_millis());
        let asked = failure.retry_after.map_or(0, Span::as_millis);
        // Up to a quarter more, so that webhooks that failed together are not tried together.
        let jitter = i64::from(self.engine.ids.bytes()[0]) * pause / 1_024;
        Span::from_millis(pause.max(asked) + jitter)
    }

    async fn post(&self, webhook: &Webhook, followed: &Followed) -> Result<(), CallFailure> {
        let posting = Posting::of(&self.engine, &self.stream, webhook, followed);
        let (attempt, result) = self.engine.post(&*self.adapter, posting).await;
        self.status().note(attempt);
        result
    }

    /// Where to begin: at the cursor in the store, or where the webhook itself says.
    async fn begin(&self, webhook: &Webhook) -> Result<DeliveryProgress, StoreError> {
        let round = webhook.round;
        let written = self.engine.store.place(&self.name(round)).await?;
        let seq = match written {
            0 => {
                let scope = Scope { teamspace: &self.stream.teamspace, purpose: Purpose::Events };
                let after = self.engine.cursor_key().open(scope, &webhook.after);
                match (after, webhook.after.is_empty()) {
                    (Some(after), _) => after.sequence,
                    (None, true) => 0,
                    (None, false) => self.engine.store.newest().await?,
                }
            }
            written => written,
        };
        let (n_unwritten, n_failed, n_refused) = (0, 0, 0);
        let (failing_since, retry) = (None, None);
        Ok(DeliveryProgress {
            round,
            seq,
            written,
            n_unwritten,
            n_failed,
            n_refused,
            failing_since,
            retry,
        })
    }

    async fn write_down(&self, progress: &mut DeliveryProgress) -> Result<(), StoreError> {
        if progress.seq != progress.written {
            self.engine.store.write_place(&self.name(progress.round), progress.seq).await?;
            progress.written = progress.seq;
            progress.n_unwritten = 0;
        }
        Ok(())
    }

    /// Under which the store keeps the cursor.
    fn name(&self, round: u32) -> String {
        format!("webhook/{}/{}/{round}", self.stream.teamspace, self.id)
    }

    async fn pause(&self, cause: PauseCause, detail: &str) -> Result<(), SubmitError> {
        self.submit(webhook::Command::Pause { cause, detail: detail.to_owned() }).await
    }

    async fn submit(&self, command: webhook::Command) -> Result<(), SubmitError> {
        let caller = Caller::system(self.stream.teamspace.clone());
        let command = Command::Webhook(command);
        self.engine.submit(&caller, self.stream.clone(), command, None).await.map(|_| ())
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.worker.status.lock().expect("nothing panics in here")
    }
}
