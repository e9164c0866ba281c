//! The endpoints that the server calls. Each has a limit of calls at once, and a circuit breaker:
//! an endpoint that fails again and again is left alone for a while, then tried with one call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use protocol::ids::TeamspaceId;
use protocol::time::{Span, Time};

use crate::ports::adapter::{CallFailure, FailureCause};

/// Calls of one endpoint at once, so that a slow one leaves places for the others.
pub const CALLS_OF_A_DESTINATION_MAX: usize = 16;

/// After this many failed calls in a row the endpoint is left alone.
pub const FAILURES_BEFORE_PAUSE: u32 = 5;

/// The first pause; doubled with each failure that follows.
const PAUSE_MIN: Span = Span::from_millis(5_000);

/// An endpoint that is down is tried at least this often: a customer waits for an answer.
pub const PAUSE_MAX: Span = Span::from_millis(15_000);

/// `Retry-After` is honoured up to this.
pub const RETRY_AFTER_MAX: Span = Span::from_minutes(60);

/// A probe whose result is not heard of by then is followed by another.
const PROBE_MAX: Span = Span::from_millis(60_000);

/// How soon an effect is tried again whose endpoint has no place left.
const NO_PLACE_PAUSE: Span = Span::from_millis(1_000);

/// Endpoints with failures that are remembered for a teamspace. Beyond this, those that are not
/// paused are forgotten.
const FAILING_OF_A_TEAMSPACE_MAX: usize = 256;

/// An endpoint of a teamspace. The same URL in two teamspaces is two destinations, so that one
/// teamspace does not pause the calls of another.
type Destination = (TeamspaceId, String);

#[derive(Debug, Default)]
pub(crate) struct Destinations(Mutex<HashMap<Destination, Condition>>);

/// Forgotten when there is nothing to remember.
#[derive(Debug, Default, PartialEq, Eq)]
struct Condition {
    n_running: usize,
    /// Failed calls in a row.
    n_failed: u32,
    last_failure: String,
    paused_until: Option<Time>,
}

/// A call that is being made.
#[derive(Debug)]
pub(crate) struct RunningCall {
    destinations: Arc<Destinations>,
    destination: Destination,
}

impl Destinations {
    /// Begins a call, unless the endpoint has enough of them or is to be left alone.
    pub fn begin(
        self: &Arc<Self>,
        teamspace: &TeamspaceId,
        url: &str,
        now: Time,
    ) -> Result<RunningCall, CallFailure> {
        let destination = (teamspace.clone(), url.to_owned());
        let mut conditions = self.0.lock().expect("nothing panics in here");
        let condition = conditions.entry(destination.clone()).or_default();
        if let Some(until) = condition.paused_until.filter(|until| *until > now) {
            let last = &condition.last_failure;
            let detail = format!("{last}; it is left alone for a while");
            return Err(CallFailure::not_tried(detail, until.since(now)));
        }
        if condition.n_running >= CALLS_OF_A_DESTINATION_MAX {
            let detail = "the agent is being told as much as it may be at once";
            return Err(CallFailure::not_tried(detail, NO_PLACE_PAUSE));
        }
        if condition.paused_until.is_some() {
            // This call is the probe; the others wait for its result.
            condition.paused_until = Some(now.plus(PROBE_MAX));
        }
        condition.n_running += 1;
        Ok(RunningCall { destinations: Arc::clone(self), destination })
    }
}

impl RunningCall {
    /// Remembers the result for the calls that follow.
    pub fn end<T>(self, result: &Result<T, CallFailure>, now: Time) {
        let mut conditions = self.destinations.0.lock().expect("nothing panics in here");
        let Some(condition) = conditions.get_mut(&self.destination) else { return };
        match result {
            Err(failure) if failure.cause == FailureCause::Down => {
                condition.n_failed = condition.n_failed.saturating_add(1);
                condition.last_failure = failure.detail.clone();
                let asked = failure.retry_after.map(|asked| now.plus(asked));
                let paused = pause(condition.n_failed).map(|pause| now.plus(pause));
                condition.paused_until = paused.max(asked);
                if condition.n_failed == 1 {
                    forget_surplus(&mut conditions, &self.destination, now);
                }
            }
            Ok(_) | Err(_) => {
                condition.n_failed = 0;
                condition.last_failure.clear();
                condition.paused_until = None;
            }
        }
    }
}

/// Past the limit, forgets the failures of the endpoints of a teamspace that are not paused.
fn forget_surplus(conditions: &mut HashMap<Destination, Condition>, new: &Destination, now: Time) {
    let is_surplus = |destination: &Destination, it: &Condition| {
        destination.0 == new.0 && destination != new && it.n_running == 0 && it.n_failed > 0
    };
    let failing = conditions.iter().filter(|(destination, it)| is_surplus(destination, it));
    if failing.count() >= FAILING_OF_A_TEAMSPACE_MAX {
        conditions.retain(|destination, it| {
            !is_surplus(destination, it) || it.paused_until.is_some_and(|until| until > now)
        });
    }
}

/// How long an endpoint is left alone after failures in a row.
fn pause(n_failed: u32) -> Option<Span> {
    let doublings = n_failed.checked_sub(FAILURES_BEFORE_PAUSE)?.min(20);
    let pause = PAUSE_MIN.as_millis() << doublings;
    Some(Span::from_millis(pause.min(PAUSE_MAX.as_millis())))
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut conditions = self.destinations.0.lock().expect("nothing panics in here");
        let Some(condition) = conditions.get_mut(&self.destination) else { return };
        condition.n_running = condition.n_running.saturating_sub(1);
        if *condition == Condition::default() {
            conditions.remove(&self.destination);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teamspace() -> TeamspaceId {
        "acme".parse().expect("a teamspace")
    }

    const URL: &str = "https://bot.example/turns";

    struct Stage {
        destinations: Arc<Destinations>,
        now: Time,
    }

    impl Stage {
        fn new() -> Self {
            Self { destinations: Arc::default(), now: Time::from_millis(1_000_000) }
        }

        /// Calls, or says for how many seconds the endpoint is left alone.
        fn call(&self, url: &str, result: &Result<(), CallFailure>) -> Result<(), i64> {
            let begun = self.destinations.begin(&teamspace(), url, self.now);
            begun.map(|call| call.end(result, self.now)).map_err(|failure| {
                assert_eq!(failure.cause, FailureCause::NotTried);
                failure.retry_after.expect("it says for how long").as_millis() / 1_000
            })
        }

        fn wait(&mut self, seconds: i64) {
            self.now = self.now.plus(Span::from_millis(seconds * 1_000));
        }
    }

    fn down() -> Result<(), CallFailure> {
        Err(CallFailure::down("it is down"))
    }

    #[test]
    fn an_endpoint_that_is_down_is_left_alone_then_tried_once() {
        let mut stage = Stage::new();
        for _ in 0..FAILURES_BEFORE_PAUSE {
            assert_eq!(stage.call(URL, &down()), Ok(()));
        }
        for pause in [5, 10, 15, 15] {
            assert_eq!(stage.call(URL, &down()), Err(pause));
            assert_eq!(stage.call("https://other.example", &Ok(())), Ok(()), "others are called");
            stage.wait(pause);
            let now = stage.now;
            let probe = stage.destinations.begin(&teamspace(), URL, now);
            assert!(stage.call(URL, &Ok(())).is_err(), "one at a time");
            probe.expect("it is tried").end(&down(), now);
        }
        stage.wait(15);
        assert_eq!(stage.call(URL, &Ok(())), Ok(()));
        assert_eq!(stage.call(URL, &Ok(())), Ok(()));
        assert!(stage.destinations.0.lock().unwrap().is_empty(), "nothing is left to remember");
    }

    #[test]
    fn an_endpoint_that_answers_is_not_down() {
        let stage = Stage::new();
        for _ in 0..3 * FAILURES_BEFORE_PAUSE {
            let refused = Err(CallFailure::refused("the endpoint answered 400"));
            assert_eq!(stage.call(URL, &refused), Ok(()));
        }
    }

    #[test]
    fn an_endpoint_that_asks_to_be_left_alone_is_left_alone() {
        let mut stage = Stage::new();
        let busy =
            CallFailure { retry_after: Some(Span::from_minutes(2)), ..CallFailure::down("") };
        assert_eq!(stage.call(URL, &Err(busy)), Ok(()));
        stage.wait(119);
        assert_eq!(stage.call(URL, &Ok(())), Err(1));
        stage.wait(1);
        assert_eq!(stage.call(URL, &Ok(())), Ok(()));
    }

    #[test]
    fn a_slow_endpoint_has_so_many_calls_at_once() {
        let stage = Stage::new();
        let begin = |url| stage.destinations.begin(&teamspace(), url, stage.now);
        let running: Vec<_> = (0..CALLS_OF_A_DESTINATION_MAX).map(|_| begin(URL)).collect();
        assert!(running.iter().all(Result::is_ok));
        assert!(begin(URL).is_err());
        assert!(begin("https://other.example").is_ok());
        drop(running);
        assert!(begin(URL).is_ok());
    }
}
