//! The slow lane: a runtime whose threads have a lower priority. While several teamspaces call,
//! the connections of one that uses more than its share of the processor run there, so that the
//! others need not wait for it. A server that has nothing else to do serves it as fast as before.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use engine::ports::clock::Stopwatch;
use engine::slow_thread;
use protocol::ids::TeamspaceId;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};

use crate::large_bodies::Size;

/// What a teamspace may use of each processor before the rest runs in the slow lane, while others
/// call.
const SHARE: f64 = 0.125;

/// The same before a large body. Several of them at once would use up the other share before the
/// first of them is counted.
const LARGE_SHARE: f64 = SHARE / 4.0;

/// What was used counts for about this long.
const REMEMBERED_SECONDS: f64 = 1.0;

/// For so long after another teamspace has called, it is expected to call again.
const OTHERS_SECONDS: f64 = 60.0;

/// One that used less than this lately is forgotten if there are too many.
const FORGOTTEN_SECONDS: f64 = 0.000_5;

/// How long a connection stays in the slow lane before it is decided again.
const STAY: Duration = Duration::from_secs(1);

/// Teamspaces and addresses that are counted. Past it, those that used nothing lately are
/// forgotten.
const OWNERS_MAX: usize = 4_096;

/// Who uses how much of the processor.
#[derive(Debug)]
pub struct SlowLane {
    runtimes: Option<Runtimes>,
    n_processors: f64,
    clock: Stopwatch,
    used: Mutex<Used>,
}

#[derive(Debug, Clone)]
pub struct Runtimes {
    /// Where everything runs that is not slow.
    pub fast: Handle,
    pub slow: Handle,
}

/// Whose work is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    Teamspace(TeamspaceId),
    /// Of a connection, until a request says its teamspace.
    Address(Option<IpAddr>),
}

#[derive(Debug, Default)]
struct Used {
    owners: HashMap<Owner, Recent>,
    /// The two teamspaces that called last, and when.
    callers: VecDeque<(Owner, f64)>,
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
            n_processors: n_processors as f64,
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
        let work = run(Arc::clone(self), Owner::Teamspace(teamspace), Box::pin(talk));
        // The caller may be in the slow lane itself, and the talk may outlast its stay there.
        match &self.runtimes {
            Some(Runtimes { fast, .. }) => fast.spawn(work).abort_handle(),
            None => tokio::spawn(work).abort_handle(),
        }
    }

    /// Whether the work of an owner belongs here at present.
    fn is_for(&self, owner: &Owner, size: Size) -> bool {
        self.is_beyond_share(&mut self.lock(), owner, size, 0.0)
    }

    /// Adds what an owner used. Whether its work now belongs here.
    fn count(&self, owner: &Owner, size: Size, seconds: f64) -> bool {
        let mut used = self.lock();
        used.note_call(owner, self.clock.seconds());
        self.is_beyond_share(&mut used, owner, size, seconds)
    }

    fn is_beyond_share(&self, used: &mut Used, owner: &Owner, size: Size, seconds: f64) -> bool {
        let now = self.clock.seconds();
        let has_others = used.has_others(owner, now);
        let recent = used.of(owner, now);
        (recent.seconds, recent.at) = (recent.at(now) + seconds, now);
        self.runtimes.is_some() && has_others && recent.seconds > self.share_seconds(size)
    }

    fn share_seconds(&self, size: Size) -> f64 {
        let share = match size {
            Size::Small => SHARE,
            Size::Large { .. } => LARGE_SHARE,
        };
        share * self.n_processors * REMEMBERED_SECONDS
    }

    #[cfg(test)]
    pub fn note_call(&self, teamspace: &TeamspaceId) {
        self.count(&Owner::Teamspace(teamspace.clone()), Size::Small, 0.0);
    }

    /// Whether another teamspace called lately, so that the shares count.
    pub fn has_others(&self, teamspace: &TeamspaceId) -> bool {
        let owner = Owner::Teamspace(teamspace.clone());
        self.runtimes.is_some() && self.lock().has_others(&owner, self.clock.seconds())
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().expect("nothing panics in here")
    }
}

impl Used {
    fn note_call(&mut self, owner: &Owner, now: f64) {
        match owner {
            Owner::Teamspace(_) => {}
            Owner::Address(_) => return,
        }
        if let Some((_, at)) = self.callers.iter_mut().find(|(caller, _)| caller == owner) {
            *at = now;
            return;
        }
        if self.callers.len() == 2 {
            // The one that was silent for longer.
            let is_first = self.callers[0].1 < self.callers[1].1;
            self.callers.remove(usize::from(!is_first));
        }
        self.callers.push_back((owner.clone(), now));
    }

    fn has_others(&self, owner: &Owner, now: f64) -> bool {
        self.callers.iter().any(|(caller, at)| caller != owner && now - at < OTHERS_SECONDS)
    }

    fn of(&mut self, owner: &Owner, now: f64) -> &mut Recent {
        if !self.owners.contains_key(owner) {
            if self.owners.len() >= OWNERS_MAX {
                self.owners.retain(|_, recent| recent.at(now) > FORGOTTEN_SECONDS);
            }
            self.owners.insert(owner.clone(), Recent::default());
        }
        self.owners.get_mut(owner).expect("it was just made")
    }
}

thread_local! {
    /// What a request said while its connection was polled, for the one who polls it.
    static SAID: RefCell<Option<(Owner, Size)>> = const { RefCell::new(None) };
}

/// Says whose request it is. If it belongs in the slow lane, its connection goes on there.
pub async fn identify(lane: &SlowLane, teamspace: &TeamspaceId, size: Size) {
    let owner = Owner::Teamspace(teamspace.clone());
    let is_slow = lane.is_for(&owner, size);
    SAID.set(Some((owner, size)));
    if is_slow && !slow_thread::is_slow() {
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
/// Each request of a connection says to which teamspace it belongs from then on.
pub async fn run(lane: Arc<SlowLane>, owner: Owner, talk: Talk) {
    let Some(Runtimes { slow, .. }) = lane.runtimes.clone() else {
        return talk.await;
    };
    let mut talk = MeteredTalk { lane, owner, size: Size::Small, talk };
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
    owner: Owner,
    /// Of its latest request.
    size: Size,
    talk: Talk,
}

impl MeteredTalk {
    fn is_slow(&self) -> bool {
        self.lane.is_for(&self.owner, self.size)
    }

    /// Whether it has ended, or else shall go on elsewhere. Every piece is counted at once:
    /// thousands of streams may wake together.
    async fn turn(&mut self, is_left: impl Fn(bool) -> bool) -> bool {
        poll_fn(|context| {
            SAID.take();
            let stopwatch = Stopwatch::start();
            let polled = self.talk.as_mut().poll(context);
            let seconds = stopwatch.seconds();
            if let Some(said) = SAID.take() {
                (self.owner, self.size) = said;
            }
            let is_slow = self.lane.count(&self.owner, self.size, seconds);
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
    use engine::ports::clock::pause;
    use tokio::runtime::Runtime;
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a teamspace")
    }

    const LARGE: Size = Size::Large { n_bytes: 20_000 };

    fn owner(name: &str) -> Owner {
        Owner::Teamspace(teamspace(name))
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
            run(Arc::clone(&self.lane), Owner::Address(None), Box::pin(talk)).await;
            answered.await.expect("an answer")
        }

        fn use_up(&self, name: &str) {
            self.lane.count(&owner(name), Size::Small, 1_000.0);
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
        assert_ne!(world.answers_on("busy", Size::Small).await, "slow", "it is alone");
        assert_ne!(world.answers_on("calm", Size::Small).await, "slow");
        assert_eq!(world.answers_on("busy", Size::Small).await, "slow");
        assert_ne!(world.answers_on("calm", Size::Small).await, "slow");
        assert_ne!(world.answers_on("calm", LARGE).await, "slow");
        let half = world.lane.share_seconds(Size::Small) / 2.0;
        world.lane.count(&owner("calm"), Size::Small, half);
        assert_ne!(world.answers_on("calm", Size::Small).await, "slow");
        assert_eq!(world.answers_on("calm", LARGE).await, "slow");
        let none = World { lane: SlowLane::new(None), runtime: None };
        none.use_up("calm");
        none.use_up("busy");
        assert_ne!(none.answers_on("busy", Size::Small).await, "slow", "there is no such lane");
    }

    #[tokio::test]
    async fn a_connection_moves_when_its_teamspace_has_used_its_share_and_returns_later() {
        let world = World::new();
        world.lane.count(&owner("calm"), Size::Small, 0.0);
        let (threads, mut seen) = mpsc::channel(1);
        let talk = async move {
            while threads.send(this_thread()).await.is_ok() {
                pause(Duration::from_millis(1)).await;
            }
        };
        world.lane.spawn(teamspace("busy"), talk);
        assert_ne!(seen.recv().await.expect("it runs"), "slow");
        world.lane.count(&owner("busy"), Size::Small, 10.0 * world.lane.share_seconds(Size::Small));
        while seen.recv().await.expect("it runs") != "slow" {}
        // What it used is forgotten with time.
        while seen.recv().await.expect("it runs") == "slow" {}
    }

    #[tokio::test]
    async fn a_teamspace_is_alone_if_the_others_called_long_ago_or_only_within_the_server() {
        let world = World::new();
        let has_others = |name: &str, seconds: f64| {
            world.lane.lock().has_others(&owner(name), world.lane.clock.seconds() + seconds)
        };
        world.lane.is_for(&owner("default"), Size::Small);
        assert!(!has_others("alone", 0.0), "no teamspace called");
        for name in ["first", "second", "third", "first"] {
            world.lane.count(&owner(name), Size::Small, 0.0);
        }
        assert!(has_others("alone", 0.0) && has_others("first", 0.0) && has_others("third", 0.0));
        assert!(!has_others("first", OTHERS_SECONDS + 1.0));
    }

    #[tokio::test]
    async fn an_address_whose_connections_say_no_teamspace_has_a_share_too() {
        let world = World::new();
        let address = Owner::Address(Some([192, 0, 2, 1].into()));
        let is_slow = |owner: &Owner| world.lane.is_for(owner, Size::Small);
        world.lane.count(&address, Size::Small, 1_000.0);
        assert!(!is_slow(&address), "no teamspace calls");
        world.use_up("alone");
        assert!(is_slow(&address));
        assert!(!is_slow(&owner("alone")), "no other teamspace calls");
        assert!(!is_slow(&Owner::Address(Some([192, 0, 2, 2].into()))));
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
