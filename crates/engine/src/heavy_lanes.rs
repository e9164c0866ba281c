//! Heavy work, such as compiling and matching what a tenant wrote. It runs on threads for blocking
//! work: one piece of work of a teamspace at a time, and few in all. The teamspaces take turns, and
//! a teamspace whose work took long waits before its next turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protocol::ids::TeamspaceId;
use tokio::sync::Semaphore;

use crate::ports::clock::{Stopwatch, pause};

/// Work that runs at the same time. The other cores stay free.
const AT_WORK_MAX: usize = 1;

/// Lanes that are kept. Past it, those that neither work nor rest are forgotten.
const LANES_MAX: usize = 1_024;

#[derive(Debug)]
pub struct HeavyLanes {
    lanes: Mutex<HashMap<TeamspaceId, Arc<Lane>>>,
    at_work: Arc<Semaphore>,
    /// A lane rests this many times as long as it worked.
    rest_factor: f64,
    /// How long work waits for its lane.
    wait_max: Duration,
}

/// The last work, while the lane rests from it. The work that runs holds the lock.
type Lane = tokio::sync::Mutex<Option<Rest>>;

/// Real time, whatever the server's clock says: the work took real time.
#[derive(Debug)]
struct Rest {
    since: Stopwatch,
    seconds: f64,
}

impl Rest {
    fn seconds_left(&self) -> f64 {
        self.seconds - self.since.seconds()
    }

    async fn end(&self) {
        let left = self.seconds_left();
        if left > 0.0 {
            pause(Duration::from_secs_f64(left)).await;
        }
    }
}

/// There is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotDone {
    /// The work was not begun: the teamspace has too much of it.
    NoTurn,
    /// The work has panicked.
    Panicked,
}

impl HeavyLanes {
    pub fn new(rest_factor: f64, wait_max: Duration) -> Self {
        let at_work = Arc::new(Semaphore::new(AT_WORK_MAX));
        Self { lanes: Mutex::default(), at_work, rest_factor, wait_max }
    }

    /// Runs the work when it is the teamspace's turn. It goes on even if the caller is gone.
    pub async fn run<T: Send + 'static>(
        &self,
        teamspace: &TeamspaceId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotDone> {
        let lane = self.lane(teamspace);
        let turn = async {
            let rest = lane.lock_owned().await;
            if let Some(rest) = rest.as_ref() {
                rest.end().await;
            }
            // Each teamspace waits here with one piece of work at most, so they take turns.
            (rest, Arc::clone(&self.at_work).acquire_owned().await)
        };
        let (mut rest, permit) = tokio::select! {
            biased;
            turn = turn => turn,
            () = pause(self.wait_max) => return Err(NotDone::NoTurn),
        };
        let rest_factor = self.rest_factor;
        let running = tokio::task::spawn_blocking(move || {
            let watch = Stopwatch::start();
            let result = work();
            let seconds = watch.seconds() * rest_factor;
            *rest = Some(Rest { since: Stopwatch::start(), seconds });
            drop(permit);
            result
        });
        running.await.map_err(|_| NotDone::Panicked)
    }

    fn lane(&self, teamspace: &TeamspaceId) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= LANES_MAX && !lanes.contains_key(teamspace) {
            lanes.retain(|_, lane| {
                let is_in_use = Arc::strong_count(lane) > 1;
                let is_over = |rest: &Rest| rest.seconds_left() <= 0.0;
                is_in_use || lane.try_lock().is_ok_and(|rest| !rest.as_ref().is_none_or(is_over))
            });
        }
        Arc::clone(lanes.entry(teamspace.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a name")
    }

    fn busy() {
        let watch = Stopwatch::start();
        while watch.seconds() < 0.02 {
            std::hint::spin_loop();
        }
    }

    /// Lets a flood wait first. `None` for work that got no turn.
    async fn order(lanes: Arc<HeavyLanes>, n_flood: usize) -> Vec<Option<&'static str>> {
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut running = tokio::task::JoinSet::new();
        for name in std::iter::repeat_n("flood", n_flood).chain(["other"]) {
            let (lanes, order) = (lanes.clone(), order.clone());
            running.spawn(async move {
                let done = lanes.run(&teamspace(name), busy).await;
                order.lock().unwrap().push(done.ok().map(|()| name));
            });
            tokio::task::yield_now().await;
        }
        running.join_all().await;
        let order = order.lock().unwrap();
        order.clone()
    }

    #[tokio::test]
    async fn teamspaces_take_turns() {
        let lanes = HeavyLanes::new(0.0, Duration::from_mins(1));
        let order = order(Arc::new(lanes), 20).await;
        let at = order.iter().position(|name| *name == Some("other")).expect("it had a turn");
        assert!(at <= 2, "{order:?}");
        assert_eq!(order.len(), 21);
    }

    /// Many other teamspaces do not shorten the rest of one.
    #[tokio::test]
    async fn a_lane_that_rests_is_kept() {
        let lanes = HeavyLanes::new(1e6, Duration::from_millis(1));
        lanes.run(&teamspace("flood"), busy).await.expect("it has a turn");
        for number in 0..LANES_MAX + 9 {
            lanes.lane(&teamspace(&format!("other-{number}")));
        }
        assert_eq!(lanes.run(&teamspace("flood"), busy).await, Err(NotDone::NoTurn));
        assert!(lanes.lanes.lock().unwrap().len() <= LANES_MAX);
    }

    #[tokio::test]
    async fn a_flood_of_one_teamspace_is_cut_off() {
        let lanes = HeavyLanes::new(4.0, Duration::from_millis(250));
        let order = order(Arc::new(lanes), 20).await;
        let n_done = |name| order.iter().filter(|it| **it == Some(name)).count();
        assert_eq!(n_done("other"), 1, "{order:?}");
        assert!(n_done("flood") < 6, "a fifth of the time and no more: {order:?}");
    }
}
