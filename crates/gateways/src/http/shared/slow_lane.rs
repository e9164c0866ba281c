//! The slow lane: a runtime whose threads have a lower priority. While several teamspaces call,
//! what one of them does beyond its share of the processor runs there, so that the others need not
//! wait for it. A server that has nothing else to do serves it as fast as before.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::Response;
use engine::ports::clock::Stopwatch;
use protocol::ids::TeamspaceId;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::Span;
use tracing::instrument::{Instrument, Instrumented};

/// What a teamspace may use of each processor before the rest runs in the slow lane, while others
/// call.
const SHARE: f64 = 0.125;

/// What was used counts for about this long.
const REMEMBERED_SECONDS: f64 = 1.0;

/// For so long after another teamspace has called, it is expected to call again.
const OTHERS_SECONDS: f64 = 60.0;

/// Work is counted in pieces of at least this length, or when it ends.
const PIECE_SECONDS: f64 = 0.000_5;

/// The body of a request that is large.
const LARGE_BYTES: u64 = 64 * 1024;

/// How long a socket stays in the slow lane before it is decided again.
const STAY: Duration = Duration::from_secs(1);

/// Teamspaces that are counted. Past it, those that used nothing lately are forgotten.
const TEAMSPACES_MAX: usize = 4_096;

/// Who uses how much of the processor.
#[derive(Debug)]
pub struct SlowLane {
    runtime: Option<Handle>,
    share_seconds: f64,
    clock: Stopwatch,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    teamspaces: HashMap<TeamspaceId, Recent>,
    /// Who called last, and when another than the one before did.
    last: Option<TeamspaceId>,
    changed_at: Option<f64>,
}

/// Seconds of work, of which old ones count less.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    seconds: f64,
    at: f64,
}

impl Recent {
    fn at(self, now: f64) -> f64 {
        self.seconds * ((self.at - now) / REMEMBERED_SECONDS).exp()
    }
}

impl SlowLane {
    /// Without a runtime everything runs where it is.
    pub fn new(runtime: Option<Handle>) -> Arc<Self> {
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            runtime,
            #[expect(clippy::cast_precision_loss, reason = "a machine has few processors")]
            share_seconds: SHARE * n_processors as f64 * REMEMBERED_SECONDS,
            clock: Stopwatch::start(),
            used: Mutex::default(),
        })
    }

    /// Whether the work of a teamspace belongs here at present.
    fn is_for(&self, teamspace: &TeamspaceId, size: Size) -> bool {
        if self.runtime.is_none() {
            return false;
        }
        let now = self.clock.seconds();
        let used = self.lock();
        let has_others = used.changed_at.is_some_and(|at| now - at < OTHERS_SECONDS);
        let recent = used.teamspaces.get(teamspace).map_or(0.0, |recent| recent.at(now));
        has_others && (size == Size::Large || recent > self.share_seconds)
    }

    fn count(&self, teamspace: &TeamspaceId, seconds: f64) {
        let now = self.clock.seconds();
        let mut used = self.lock();
        if used.last.as_ref() != Some(teamspace) {
            used.changed_at = used.last.is_some().then_some(now);
            used.last = Some(teamspace.clone());
        }
        if let Some(recent) = used.teamspaces.get_mut(teamspace) {
            *recent = Recent { seconds: recent.at(now) + seconds, at: now };
            return;
        }
        if used.teamspaces.len() >= TEAMSPACES_MAX {
            used.teamspaces.retain(|_, recent| recent.at(now) > PIECE_SECONDS);
        }
        used.teamspaces.insert(teamspace.clone(), Recent { seconds, at: now });
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().expect("nothing panics in here")
    }
}

/// What a request said while it was polled, for the one who polls it.
#[derive(Debug, Default)]
struct Said {
    teamspace: Option<TeamspaceId>,
    is_slow: bool,
}

thread_local! {
    static SAID: RefCell<Said> = RefCell::default();
}

/// What is known of the work of a request before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Unknown,
    /// It has a large body, or one of unknown length. Several of them at once would use up the
    /// share before the first of them is counted.
    Large,
}

impl Size {
    pub fn of(headers: &HeaderMap) -> Self {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok());
        let is_small = |text: &str| text.parse().is_ok_and(|n_bytes: u64| n_bytes <= LARGE_BYTES);
        match headers.contains_key(header::TRANSFER_ENCODING) || !length.is_none_or(is_small) {
            true => Size::Large,
            false => Size::Unknown,
        }
    }
}

/// Says whose request it is. If it belongs in the slow lane, it goes on there.
pub async fn identify(lane: &SlowLane, teamspace: &TeamspaceId, size: Size) {
    let is_slow = lane.is_for(teamspace, size);
    SAID.set(Said { teamspace: Some(teamspace.clone()), is_slow });
    if is_slow {
        let mut was_polled = false;
        poll_fn(|context| {
            if std::mem::replace(&mut was_polled, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// The future that axum makes of an `async fn`. It is already boxed, so it can be polled without
/// pinning it again.
pub type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A request whose work is counted, and which goes on in the slow lane if it says so.
pub struct MeteredRequest {
    lane: Arc<SlowLane>,
    work: Instrumented<Answering>,
    teamspace: Option<TeamspaceId>,
    /// Work that is not counted yet.
    seconds: f64,
}

impl MeteredRequest {
    pub fn new(lane: Arc<SlowLane>, work: Instrumented<Answering>) -> Self {
        Self { lane, work, teamspace: None, seconds: 0.0 }
    }

    pub fn span(&self) -> &Span {
        self.work.span()
    }

    fn count(&mut self, is_over: bool) {
        if let Some(teamspace) = &self.teamspace
            && (is_over || self.seconds >= PIECE_SECONDS)
        {
            self.lane.count(teamspace, std::mem::take(&mut self.seconds));
        }
    }

    /// Puts the rest of the work in the slow lane.
    fn slow_down(&mut self) {
        let Some(runtime) = &self.lane.runtime else { return };
        let work = std::mem::replace(self.work.inner_mut(), Box::pin(pending()));
        let (lane, work) = (Arc::clone(&self.lane), work.instrument(self.work.span().clone()));
        let rest = Self { lane, work, teamspace: self.teamspace.take(), seconds: 0.0 };
        *self.work.inner_mut() = Box::pin(Running(runtime.spawn(rest)));
    }
}

impl Future for MeteredRequest {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response> {
        let stopwatch = Stopwatch::start();
        let polled = Pin::new(&mut self.work).poll(context);
        self.seconds += stopwatch.seconds();
        let said = SAID.take();
        if said.teamspace.is_some() {
            self.teamspace = said.teamspace;
        }
        self.count(polled.is_ready());
        if polled.is_pending() && said.is_slow {
            self.slow_down();
            return Pin::new(&mut self.work).poll(context);
        }
        polled
    }
}

/// Work in the slow lane. It ends when its request does.
struct Running<T>(JoinHandle<T>);

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match std::task::ready!(Pin::new(&mut self.0).poll(context)) {
            Ok(output) => Poll::Ready(output),
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The runtime has ended, and with it the server.
            Err(_) => Poll::Pending,
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type Talk = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs a socket or a stream until it ends, for as long as need be in the slow lane.
pub async fn run(lane: Arc<SlowLane>, teamspace: TeamspaceId, talk: Talk) {
    let mut talk = MeteredTalk { lane, teamspace, talk };
    loop {
        match talk.lane.runtime.clone().filter(|_| talk.is_slow()) {
            None => {
                if talk.turn(MeteredTalk::is_slow).await {
                    return;
                }
            }
            Some(runtime) => {
                let staying = runtime.spawn(async move {
                    let stay = tokio::time::timeout(STAY, talk.turn(|_| false)).await;
                    (talk, stay.is_ok())
                });
                let (stayed, is_over) = Running(staying).await;
                if is_over {
                    return;
                }
                talk = stayed;
            }
        }
    }
}

struct MeteredTalk {
    lane: Arc<SlowLane>,
    teamspace: TeamspaceId,
    talk: Talk,
}

impl MeteredTalk {
    fn is_slow(&self) -> bool {
        self.lane.is_for(&self.teamspace, Size::Unknown)
    }

    /// Whether it has ended, or else shall go on elsewhere. Every piece is counted at once:
    /// thousands of streams may wake together.
    async fn turn(&mut self, is_left: impl Fn(&Self) -> bool) -> bool {
        poll_fn(|context| {
            let stopwatch = Stopwatch::start();
            let polled = self.talk.as_mut().poll(context);
            self.lane.count(&self.teamspace, stopwatch.seconds());
            match polled {
                Poll::Ready(()) => Poll::Ready(true),
                Poll::Pending if is_left(self) => Poll::Ready(false),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tokio::runtime::Runtime;

    use super::*;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a teamspace")
    }

    /// A lane whose threads are called `slow`.
    struct World {
        lane: Arc<SlowLane>,
        runtime: Option<Runtime>,
    }

    impl World {
        fn new() -> Self {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(1).thread_name("slow").enable_all().build();
            let runtime = runtime.expect("a runtime");
            Self { lane: SlowLane::new(Some(runtime.handle().clone())), runtime: Some(runtime) }
        }

        /// The thread on which a request of a teamspace is answered.
        async fn answers_on(&self, name: &'static str, size: Size) -> String {
            let lane = Arc::clone(&self.lane);
            let work: Answering = Box::pin(async move {
                identify(&lane, &teamspace(name), size).await;
                let thread = std::thread::current().name().unwrap_or_default().to_owned();
                Response::new(Body::from(thread))
            });
            let response =
                MeteredRequest::new(Arc::clone(&self.lane), work.instrument(Span::none())).await;
            let body = axum::body::to_bytes(response.into_body(), 100).await.expect("a body");
            String::from_utf8(body.to_vec()).expect("a name")
        }
    }

    impl Drop for World {
        fn drop(&mut self) {
            if let Some(runtime) = self.runtime.take() {
                runtime.shutdown_background();
            }
        }
    }

    #[tokio::test]
    async fn only_one_that_uses_more_than_its_share_beside_others_is_slow() {
        let world = World::new();
        world.lane.count(&teamspace("busy"), 1_000.0);
        assert_ne!(world.answers_on("busy", Size::Unknown).await, "slow", "it is alone");
        assert_ne!(world.answers_on("calm", Size::Unknown).await, "slow");
        assert_eq!(world.answers_on("busy", Size::Unknown).await, "slow");
        assert_ne!(world.answers_on("calm", Size::Unknown).await, "slow");
        assert_eq!(world.answers_on("calm", Size::Large).await, "slow");
        let none = World { lane: SlowLane::new(None), runtime: None };
        none.lane.count(&teamspace("calm"), 1.0);
        none.lane.count(&teamspace("busy"), 1_000.0);
        assert_ne!(none.answers_on("busy", Size::Unknown).await, "slow", "there is no such lane");
    }

    #[tokio::test]
    async fn a_socket_moves_when_it_has_used_its_share() {
        let world = World::new();
        world.lane.count(&teamspace("calm"), 0.001);
        let (threads, mut seen) = tokio::sync::mpsc::channel(1);
        let lane = Arc::clone(&world.lane);
        let talk = Box::pin(async move {
            loop {
                let thread = std::thread::current().name().unwrap_or_default().to_owned();
                lane.count(&teamspace("busy"), 1_000.0);
                let at_work = Stopwatch::start();
                while at_work.seconds() < 2.0 * PIECE_SECONDS {}
                if threads.send(thread).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
        let work = run(Arc::clone(&world.lane), teamspace("busy"), talk);
        let until_slow = async { while seen.recv().await.is_some_and(|it| it != "slow") {} };
        tokio::select! {
            () = work => unreachable!("it goes on"),
            () = until_slow => {}
        }
    }
}
