//! Webhooks: events of the ledger go to the URLs that members gave, in order, at least once. Each
//! webhook has a worker with a cursor of its own, so one that is down delays no other, and nothing
//! waits in memory: a worker that is behind reads the ledger again.

mod post;
mod status;
mod worker;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::ids::{TeamspaceId, WebhookId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State;
use protocol::time::Span;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;

use crate::Engine;
use crate::ports::adapter::Adapter;
use crate::ports::store::{ListOf, StoreError};
use crate::read::query::LIST_ROWS_MAX;

pub use post::TEST;
pub use status::{Attempt, Failing, Status};

/// Deliveries of all webhooks at once.
pub const DELIVERIES_MAX: usize = 64;

/// And of one teamspace.
pub const DELIVERIES_OF_A_TEAMSPACE_MAX: usize = 8;

/// The webhooks could not be listed; the store may have recovered by then.
const RETRY_AFTER: Span = Span::from_millis(1_000);

/// The webhooks of a running server.
#[derive(Debug)]
pub(crate) struct Webhooks {
    known: Mutex<HashMap<TeamspaceId, TeamspaceWorkers>>,
    /// Spares the lock on a server without webhooks.
    n_known: AtomicUsize,
    /// Webhooks of which entries were committed.
    changed: Mutex<Vec<Stream>>,
    bell: Notify,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct TeamspaceWorkers {
    workers: HashMap<WebhookId, Arc<Worker>>,
    places: Arc<Semaphore>,
}

/// What others know of a worker.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// There may be something to deliver.
    news: Notify,
    /// The webhook itself changed, or a token of its teamspace did.
    changed: Notify,
    is_changed: AtomicBool,
    status: Mutex<Status>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            n_known: AtomicUsize::new(0),
            changed: Mutex::default(),
            bell: Notify::new(),
            places: Arc::new(Semaphore::new(DELIVERIES_MAX)),
        }
    }
}

impl Webhooks {
    /// Wakes the workers that committed entries of these streams concern. Called on the thread that
    /// wrote them.
    pub fn wake<'e>(&self, streams: impl Iterator<Item = &'e Stream> + Clone) {
        let is_webhook = |stream: &&Stream| matches!(stream.subject, Subject::Webhook(_));
        let mut changed = streams.clone().filter(is_webhook).peekable();
        if changed.peek().is_some() {
            self.changed.lock().expect("nothing panics in here").extend(changed.cloned());
            self.bell.notify_one();
        }
        if self.n_known.load(Ordering::Acquire) == 0 {
            return;
        }
        let known = self.lock();
        for stream in streams {
            let Some(own) = known.get(&stream.teamspace) else { continue };
            for worker in own.workers.values() {
                // It may be the token that the webhook was made with.
                if matches!(stream.subject, Subject::Token(_)) {
                    worker.ring_changed();
                }
                worker.news.notify_one();
            }
        }
    }

    /// How a webhook does, if a worker of this server serves it.
    pub fn status(&self, stream: &Stream) -> Option<Status> {
        let worker = self.worker(stream)?;
        Some(worker.status.lock().expect("nothing panics in here").clone())
    }

    /// Remembers an attempt that a caller asked for.
    fn note(&self, stream: &Stream, attempt: &Attempt) {
        if let Some(worker) = self.worker(stream) {
            worker.status.lock().expect("nothing panics in here").note(attempt.clone());
        }
    }

    fn worker(&self, stream: &Stream) -> Option<Arc<Worker>> {
        let Subject::Webhook(id) = stream.subject else { return None };
        Some(Arc::clone(self.lock().get(&stream.teamspace)?.workers.get(&id)?))
    }

    fn take_changed(&self) -> Vec<Stream> {
        std::mem::take(&mut *self.changed.lock().expect("nothing panics in here"))
    }

    /// The worker of a webhook, if it is new; one that exists is told to look again.
    fn add(&self, teamspace: &TeamspaceId, id: WebhookId) -> Option<(Arc<Worker>, Arc<Semaphore>)> {
        let mut known = self.lock();
        let own = known.entry(teamspace.clone()).or_insert_with(|| TeamspaceWorkers {
            workers: HashMap::new(),
            places: Arc::new(Semaphore::new(DELIVERIES_OF_A_TEAMSPACE_MAX)),
        });
        if let Some(worker) = own.workers.get(&id) {
            worker.ring_changed();
            return None;
        }
        let worker = Arc::<Worker>::default();
        own.workers.insert(id, Arc::clone(&worker));
        self.n_known.fetch_add(1, Ordering::Release);
        Some((worker, Arc::clone(&own.places)))
    }

    fn remove(&self, teamspace: &TeamspaceId, id: WebhookId) {
        let mut known = self.lock();
        let Some(own) = known.get_mut(teamspace) else { return };
        if own.workers.remove(&id).is_some() {
            self.n_known.fetch_sub(1, Ordering::Release);
        }
        if own.workers.is_empty() {
            known.remove(teamspace);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TeamspaceId, TeamspaceWorkers>> {
        self.known.lock().expect("nothing panics in here")
    }
}

impl Worker {
    fn ring_changed(&self) {
        self.is_changed.store(true, Ordering::Release);
        self.changed.notify_one();
    }
}

pub(crate) async fn run(engine: Engine, adapter: Arc<dyn Adapter>, stopped: watch::Receiver<bool>) {
    let (mut workers, mut stopping) = (JoinSet::new(), stopped.clone());
    let supervising = async {
        // A worker writes: a webhook that fails for days is paused on the record.
        engine.ledger().until_not_behind().await;
        while let Err(error) = engine.webhooks.begin_all(&engine).await {
            tracing::error!(%error, "the webhooks could not be listed");
            engine.clock.sleep(RETRY_AFTER).await;
        }
        loop {
            for stream in engine.webhooks.take_changed() {
                let Subject::Webhook(id) = stream.subject else { continue };
                if let Some((worker, places)) = engine.webhooks.add(&stream.teamspace, id) {
                    let serving = worker::Serving {
                        engine: engine.clone(),
                        adapter: Arc::clone(&adapter),
                        stream,
                        id,
                        worker,
                        places,
                        stopped: stopped.clone(),
                    };
                    workers.spawn(serving.run());
                }
            }
            while let Some(ended) = workers.try_join_next() {
                if let Err(error) = ended {
                    tracing::error!(%error, "a webhook did not end cleanly");
                }
            }
            engine.webhooks.bell.notified().await;
        }
    };
    tokio::select! {
        _ = supervising => {}
        _ = stopping.wait_for(|stopped| *stopped) => {}
    }
    // They write down how far they have come.
    while workers.join_next().await.is_some() {}
}

impl Webhooks {
    /// Finds the webhooks that exist, as if each had just changed.
    async fn begin_all(&self, engine: &Engine) -> Result<(), StoreError> {
        let mut after: Option<TeamspaceId> = None;
        loop {
            let page = engine.read().teamspaces(after.as_ref(), LIST_ROWS_MAX).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            for teamspace in &page {
                let mut before = None;
                loop {
                    let read = engine.read();
                    let webhooks =
                        read.list(teamspace, ListOf::Webhooks, before, LIST_ROWS_MAX).await?;
                    let open = webhooks.items.into_iter().filter(|item| {
                        let webhook = State::as_webhook(&item.state);
                        webhook.is_some_and(|webhook| !webhook.removed)
                    });
                    let streams = open.map(|item| item.stream);
                    self.changed.lock().expect("nothing panics in here").extend(streams);
                    before = webhooks.next;
                    if before.is_none() {
                        break;
                    }
                }
            }
        }
    }
}
