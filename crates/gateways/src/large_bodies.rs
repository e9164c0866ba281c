//! The pace of large bodies. While several teamspaces call, each may send only so much in large
//! bodies: the store takes a few milliseconds for a megabyte, and all callers wait for the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use engine::ports::clock::{Stopwatch, pause};
use protocol::caller::{Caller, Principal};
use protocol::ids::TeamspaceId;

use crate::slow_lane::SlowLane;

/// The body of a request that is large.
const LARGE_BYTES: u64 = 16 * 1024;

/// What a body counts as at most, and one of unknown length: the longest that is read by default.
const COUNTED_BYTES_MAX: u64 = 1024 * 1024;

/// What a teamspace may send in large bodies before it has to wait, while others call.
const LARGE_BYTES_AT_ONCE: f64 = 4.0 * 1024.0 * 1024.0;

/// How fast it may go on then.
const LARGE_BYTES_PER_SECOND: f64 = 1024.0 * 1024.0;

/// What customers leave of it to the members of their teamspace.
const KEPT_FOR_MEMBERS: f64 = LARGE_BYTES_AT_ONCE / 2.0;

/// How long a large body may have to wait; otherwise its request is refused.
const LARGE_WAIT_SECONDS_MAX: f64 = 5.0;

/// Teamspaces that are counted. Past it, those whose bodies are paid for are forgotten.
const TEAMSPACES_MAX: usize = 4_096;

/// What is known of the work of a request before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Small,
    /// It has a large body, or one of unknown length.
    Large {
        n_bytes: u64,
    },
}

impl Size {
    pub fn of(headers: &HeaderMap) -> Self {
        if headers.contains_key(header::TRANSFER_ENCODING) {
            return Size::Large { n_bytes: COUNTED_BYTES_MAX };
        }
        let Some(length) = headers.get(header::CONTENT_LENGTH) else { return Size::Small };
        let n_bytes = length.to_str().ok().and_then(|text| text.parse().ok());
        // A longer one is refused before it is read.
        match n_bytes.unwrap_or(COUNTED_BYTES_MAX).min(COUNTED_BYTES_MAX) {
            ..=LARGE_BYTES => Size::Small,
            n_bytes => Size::Large { n_bytes },
        }
    }

    fn seconds(self) -> f64 {
        match self {
            Size::Small => 0.0,
            #[expect(clippy::cast_precision_loss, reason = "it is at most a megabyte")]
            Size::Large { n_bytes } => n_bytes as f64 / LARGE_BYTES_PER_SECOND,
        }
    }
}

/// Who sends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Member,
    Customer,
}

impl Sender {
    fn of(caller: &Caller) -> Self {
        match caller.principal {
            Principal::Customer(_) => Self::Customer,
            Principal::Agent(_) | Principal::Operator(_) | Principal::System => Self::Member,
        }
    }

    fn wait_seconds_max(self) -> f64 {
        match self {
            Self::Member => LARGE_WAIT_SECONDS_MAX,
            Self::Customer => -KEPT_FOR_MEMBERS / LARGE_BYTES_PER_SECOND,
        }
    }
}

/// Its teamspace sent too much in large bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooMuch {
    pub retry_seconds: f64,
}

/// How much each teamspace sent in large bodies.
#[derive(Debug)]
pub struct LargeBodies {
    lane: Arc<SlowLane>,
    clock: Stopwatch,
    /// When all large bodies so far are paid for.
    paid_at: Mutex<HashMap<TeamspaceId, f64>>,
}

impl LargeBodies {
    /// The lane knows which teamspaces call.
    pub fn new(lane: Arc<SlowLane>) -> Self {
        Self { lane, clock: Stopwatch::start(), paid_at: Mutex::default() }
    }

    /// Waits until a request may send its body.
    pub async fn wait(&self, caller: &Caller, size: Size) -> Result<(), TooMuch> {
        let wait = self.wait_seconds(&caller.teamspace, Sender::of(caller), size)?;
        if wait > 0.0 {
            let teamspace = &caller.teamspace;
            let mut place = Place { bodies: self, teamspace, size, is_used: false };
            pause(Duration::from_secs_f64(wait)).await;
            place.is_used = true;
        }
        Ok(())
    }

    fn wait_seconds(
        &self,
        teamspace: &TeamspaceId,
        sender: Sender,
        size: Size,
    ) -> Result<f64, TooMuch> {
        if size == Size::Small || !self.lane.has_others(teamspace) {
            return Ok(0.0);
        }
        let now = self.clock.seconds();
        let mut all = self.lock();
        let paid_at = all.get(teamspace).map_or(now, |at| at.max(now));
        let wait = paid_at - now - LARGE_BYTES_AT_ONCE / LARGE_BYTES_PER_SECOND;
        let too_long = wait - sender.wait_seconds_max();
        if too_long > 0.0 {
            return Err(TooMuch { retry_seconds: too_long.max(1.0) });
        }
        if all.len() >= TEAMSPACES_MAX {
            all.retain(|_, paid_at| *paid_at > now);
        }
        all.insert(teamspace.clone(), paid_at + size.seconds());
        Ok(wait.max(0.0))
    }

    fn give_back(&self, teamspace: &TeamspaceId, size: Size) {
        if let Some(paid_at) = self.lock().get_mut(teamspace) {
            *paid_at -= size.seconds();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TeamspaceId, f64>> {
        self.paid_at.lock().expect("nothing panics in here")
    }
}

/// The place of a request that waits. One that is given up is free for others.
struct Place<'b> {
    bodies: &'b LargeBodies,
    teamspace: &'b TeamspaceId,
    size: Size,
    is_used: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_used {
            self.bodies.give_back(self.teamspace, self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::task::{Context, Poll, Waker};

    use tokio::runtime::Handle;

    use super::*;
    use crate::slow_lane::Runtimes;

    const LARGE: Size = Size::Large { n_bytes: COUNTED_BYTES_MAX };

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a teamspace")
    }

    /// What callers are told, after some teamspaces have called.
    struct World {
        lane: Arc<SlowLane>,
        bodies: LargeBodies,
    }

    impl World {
        fn new() -> Self {
            let runtimes = Runtimes { fast: Handle::current(), slow: Handle::current() };
            let lane = SlowLane::new(Some(runtimes));
            Self { bodies: LargeBodies::new(Arc::clone(&lane)), lane }
        }

        fn wait(&self, name: &str, sender: Sender) -> Result<f64, TooMuch> {
            self.bodies.wait_seconds(&teamspace(name), sender, LARGE)
        }

        /// How many bodies are taken at once.
        fn n_taken(&self, name: &str, sender: Sender) -> usize {
            (0..).take_while(|_| self.wait(name, sender) == Ok(0.0)).count()
        }
    }

    #[tokio::test]
    async fn large_bodies_beside_others_wait_and_then_are_refused() {
        let world = World::new();
        let n_at_once = (LARGE_BYTES_AT_ONCE / COUNTED_BYTES_MAX as f64) as usize;
        world.lane.note_call(&teamspace("busy"));
        for _ in 0..10 * n_at_once {
            assert_eq!(world.wait("busy", Sender::Member), Ok(0.0), "it is alone");
        }
        world.lane.note_call(&teamspace("calm"));
        let n_taken = world.n_taken("busy", Sender::Customer);
        assert!((1..n_at_once).contains(&n_taken), "the rest is for members: {n_taken}");
        for _ in n_taken..n_at_once {
            assert_eq!(world.wait("busy", Sender::Member), Ok(0.0));
        }
        let mut waits = Vec::new();
        let retry = loop {
            match world.wait("busy", Sender::Member) {
                Ok(seconds) => waits.push(seconds),
                Err(refused) => break refused.retry_seconds,
            }
        };
        assert!(waits.is_sorted() && waits.len() > 4, "{waits:?}");
        assert!(waits.iter().all(|seconds| *seconds <= LARGE_WAIT_SECONDS_MAX), "{waits:?}");
        assert!((1.0..2.0).contains(&retry), "{retry}");
        assert_eq!(world.wait("calm", Sender::Member), Ok(0.0));
        let small = world.bodies.wait_seconds(&teamspace("busy"), Sender::Member, Size::Small);
        assert_eq!(small, Ok(0.0));
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_while_it_waits_leaves_its_place_to_others() {
        let world = World::new();
        for name in ["busy", "calm"] {
            world.lane.note_call(&teamspace(name));
        }
        world.n_taken("busy", Sender::Member);
        let caller = Caller {
            teamspace: teamspace("busy"),
            principal: Principal::System,
            roles: BTreeSet::new(),
            session: String::new(),
        };
        let mut waiting = Vec::new();
        let is_refused = loop {
            let mut one = Box::pin(world.bodies.wait(&caller, LARGE));
            match one.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => waiting.push(one),
                Poll::Ready(result) => break result.is_err(),
            }
        };
        assert!(is_refused && waiting.len() > 2, "{}", waiting.len());
        waiting.pop();
        assert!(world.wait("busy", Sender::Member).is_ok(), "one was given up");
    }

    #[tokio::test]
    async fn teamspaces_that_owe_nothing_are_forgotten() {
        let world = World::new();
        for name in ["busy", "calm"] {
            world.lane.note_call(&teamspace(name));
        }
        for number in 0..TEAMSPACES_MAX {
            world.bodies.lock().insert(teamspace(&format!("old-{number}")), 0.0);
        }
        assert_eq!(world.wait("busy", Sender::Member), Ok(0.0));
        assert_eq!(world.bodies.lock().len(), 1);
    }

    #[test]
    fn what_a_head_says_counts_only_up_to_what_is_read() {
        let size = |name: header::HeaderName, value: &str| {
            Size::of(&HeaderMap::from_iter([(name, value.parse().expect("a value"))]))
        };
        let of_length = |length: u64| size(header::CONTENT_LENGTH, &length.to_string());
        assert_eq!(of_length(LARGE_BYTES), Size::Small);
        assert_eq!(of_length(20_000), Size::Large { n_bytes: 20_000 });
        for length in [COUNTED_BYTES_MAX, 1_000_000_000_000, u64::MAX] {
            assert_eq!(of_length(length), LARGE);
        }
        assert_eq!(size(header::TRANSFER_ENCODING, "chunked"), LARGE);
    }
}
