//! The slow lane: a runtime whose threads have a lower priority. While several teamspaces call,
//! the connections of one that uses more than its share of the processor run there, so that the
//! others need not wait for it. A server that has nothing else to do serves it as fast as before.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use engine::ports::clock::Stopwatch;
use engine::slow_thread;
use protocol::ids::TeamspaceId;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};

/// What a teamspace may use of each processor before the rest runs in the slow lane, while others
/// call.
const SHARE: f64 = 0.125;

/// What was used counts for about this long.
const REMEMBERED_SECONDS: f64 = 1.0;

/// For so long after another teamspace has called, it is expected to call again.
const OTHERS_SECONDS: f64 = 60.0;

/// One that used less than this lately is forgotten if there are too many.
const FORGOTTEN_SECONDS: f64 = 0.000_5;

/// The body of a request that is large.
const LARGE_BYTES: u64 = 64 * 1024;

/// How long a connection stays in the slow lane before it is decided again.
const STAY: Duration = Duration::from_secs(1);

/// Teamspaces that are counted. Past it, those that used nothing lately are forgotten.
const TEAMSPACES_MAX: usize = 4_096;

/// Who uses how much of the processor.
#[derive(Debug)]
pub struct SlowLane {
    runtimes: Option<Runtimes>,
    share_seconds: f64,
    clock: Stopwatch,
    used: Mutex<Used>,
}

#[derive(Debug, Clone)]
pub struct Runtimes {
    /// Where everything runs that is not slow.
    pub fast: Handle,
    pub slow: Handle,
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
    /// Without runtimes everything runs where it is.
    pub fn new(runtimes: Option<Runtimes>) -> Arc<Self> {
        let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            runtimes,
            #[expect(clippy::cast_precision_loss, reason = "a machine has few processors")]
            share_seconds: SHARE * n_processors as f64 * REMEMBERED_SECONDS,
            clock: Stopwatch::start(),
            used: Mutex::default(),
        })
    }

    /// Starts a socket or a stream of a teamspace, which runs until it ends.
    pub fn spawn(
        self: &Arc<Self>,
        teamspace: TeamspaceId,
        talk: impl Future<Output = ()> + Send + 'static,
    ) -> AbortHandle {
        let work = run(Arc::clone(self), Some(teamspace), Box::pin(talk));
        // The caller may be in the slow lane itself, and the talk may outlast its stay there.
        match &self.runtimes {
            Some(Runtimes { fast, .. }) => fast.spawn(work).abort_handle(),
            None => tokio::spawn(work).abort_handle(),
        }
    }

    /// Whether the work of a teamspace belongs here at present.
    fn is_for(&self, teamspace: &TeamspaceId, size: Size) -> bool {
        self.count(teamspace, size, 0.0)
    }

    /// Adds what a teamspace used. Whether its work now belongs here.
    fn count(&self, teamspace: &TeamspaceId, size: Size, seconds: f64) -> bool {
        if self.runtimes.is_none() {
            return false;
        }
        let now = self.clock.seconds();
        let mut used = self.lock();
        if used.last.as_ref() != Some(teamspace) {
            used.changed_at = used.last.is_some().then_some(now);
            used.last = Some(teamspace.clone());
        }
        let has_others = used.changed_at.is_some_and(|at| now - at < OTHERS_SECONDS);
        let recent = match used.teamspaces.get_mut(teamspace) {
            Some(recent) => recent,
            None => used.insert(teamspace, now),
        };
        *recent = Recent { seconds: recent.at(now) + seconds, at: now };
        has_others && (size == Size::Large || recent.seconds > self.share_seconds)
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().expect("nothing panics in here")
    }
}

impl Used {
    fn insert(&mut self, teamspace: &TeamspaceId, now: f64) -> &mut Recent {
        if self.teamspaces.len() >= TEAMSPACES_MAX {
            self.teamspaces.retain(|_, recent| recent.at(now) > FORGOTTEN_SECONDS);
        }
        self.teamspaces.entry(teamspace.clone()).or_default()
    }
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

thread_local! {
    /// What a request said while its connection was polled, for the one who polls it.
    static SAID: RefCell<Option<(TeamspaceId, Size)>> = const { RefCell::new(None) };
}

/// Says whose request it is. If it belongs in the slow lane, its connection goes on there.
pub async fn identify(lane: &SlowLane, teamspace: &TeamspaceId, size: Size) {
    SAID.set(Some((teamspace.clone(), size)));
    if !slow_thread::is_slow() && lane.is_for(teamspace, size) {
        tokio::task::yield_now().await;
    }
}

/// Work in the slow lane. It ends when the one who waits for it does.
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

/// Runs a connection, a socket or a stream until it ends, for as long as need be in the slow lane.
/// A connection may not know its teamspace yet: each of its requests says it.
pub async fn run(lane: Arc<SlowLane>, teamspace: Option<TeamspaceId>, talk: Talk) {
    let Some(Runtimes { slow, .. }) = lane.runtimes.clone() else {
        return talk.await;
    };
    let mut talk = MeteredTalk { lane, teamspace, size: Size::Unknown, talk };
    loop {
        if talk.turn(|is_slow| is_slow).await {
            return;
        }
        while talk.is_slow() {
            let staying = slow.spawn(async move {
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

struct MeteredTalk {
    lane: Arc<SlowLane>,
    teamspace: Option<TeamspaceId>,
    /// Of its latest request.
    size: Size,
    talk: Talk,
}

impl MeteredTalk {
    fn is_slow(&self) -> bool {
        self.teamspace.as_ref().is_some_and(|one| self.lane.is_for(one, self.size))
    }

    /// Whether it has ended, or else shall go on elsewhere. Every piece is counted at once:
    /// thousands of streams may wake together.
    async fn turn(&mut self, is_left: impl Fn(bool) -> bool) -> bool {
        poll_fn(|context| {
            SAID.take();
            let stopwatch = Stopwatch::start();
            let polled = self.talk.as_mut().poll(context);
            let seconds = stopwatch.seconds();
            if let Some((teamspace, size)) = SAID.take() {
                (self.teamspace, self.size) = (Some(teamspace), size);
            }
            let is_slow = match &self.teamspace {
                Some(teamspace) => self.lane.count(teamspace, self.size, seconds),
                None => false,
            };
            match polled {
                Poll::Ready(()) => Poll::Ready(true),
                Poll::Pending if is_left(is_slow) => Poll::Ready(false),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Runtime;
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a teamspace")
    }

    fn this_thread() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
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
            let runtimes = Runtimes { fast: Handle::current(), slow: runtime.handle().clone() };
            Self { lane: SlowLane::new(Some(runtimes)), runtime: Some(runtime) }
        }

        /// The thread on which a request of a teamspace is answered.
        async fn answers_on(&self, name: &'static str, size: Size) -> String {
            let (lane, (answer, answered)) = (Arc::clone(&self.lane), oneshot::channel());
            let talk = async move {
                identify(&lane, &teamspace(name), size).await;
                answer.send(this_thread()).expect("it is waited for");
            };
            run(Arc::clone(&self.lane), None, Box::pin(talk)).await;
            answered.await.expect("an answer")
        }

        fn use_up(&self, name: &str) {
            self.lane.count(&teamspace(name), Size::Unknown, 1_000.0);
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
        world.use_up("busy");
        assert_ne!(world.answers_on("busy", Size::Unknown).await, "slow", "it is alone");
        assert_ne!(world.answers_on("calm", Size::Unknown).await, "slow");
        assert_eq!(world.answers_on("busy", Size::Unknown).await, "slow");
        assert_ne!(world.answers_on("calm", Size::Unknown).await, "slow");
        assert_eq!(world.answers_on("calm", Size::Large).await, "slow");
        let none = World { lane: SlowLane::new(None), runtime: None };
        none.use_up("calm");
        none.use_up("busy");
        assert_ne!(none.answers_on("busy", Size::Unknown).await, "slow", "there is no such lane");
    }

    #[tokio::test]
    async fn a_connection_moves_when_its_teamspace_has_used_its_share_and_returns_later() {
        let world = World::new();
        world.lane.count(&teamspace("calm"), Size::Unknown, 0.0);
        let (threads, mut seen) = mpsc::channel(1);
        let talk = async move {
            while threads.send(this_thread()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        world.lane.spawn(teamspace("busy"), talk);
        assert_ne!(seen.recv().await.expect("it runs"), "slow");
        world.lane.count(&teamspace("busy"), Size::Unknown, 10.0 * world.lane.share_seconds);
        while seen.recv().await.expect("it runs") != "slow" {}
        // What it used is forgotten with time.
        while seen.recv().await.expect("it runs") == "slow" {}
    }

    #[tokio::test]
    async fn what_begins_in_the_slow_lane_does_not_stay_there() {
        let world = World::new();
        let (lane, (answer, answered)) = (Arc::clone(&world.lane), oneshot::channel());
        let slow = world.runtime.as_ref().expect("a runtime").handle().clone();
        let begun = slow.spawn(async move {
            let talk = async { answer.send(this_thread()).expect("it is waited for") };
            lane.spawn(teamspace("calm"), talk);
        });
        begun.await.expect("no panic");
        assert_ne!(answered.await.expect("an answer"), "slow");
    }
}
