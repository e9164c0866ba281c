//! Estimates a wait. People forgive an announced wait but not a wait that was understated, so the
//! result is a range, rounded up, and never zero. There is none if too little is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Below this the bounds are whole minutes, above it they are multiples of five.
const FINE_MAX: Span = Span::from_minutes(10);
const FINE: Span = Span::from_minutes(1);
const COARSE: Span = Span::from_minutes(5);

/// A longer wait is not estimated.
pub const WAIT_MAX: Span = Span::from_hours(24);

/// With this many assignments, the measurement weighs as much as the model. A small team has about
/// as many in a quarter of an hour.
const TRUSTED_ASSIGNMENTS: f64 = 10.0;

/// The bounds of the range, as shares of its middle. Waits scatter about as widely as they are
/// long.
const LOW_SHARE: f64 = 0.75;
const HIGH_SHARE: f64 = 1.5;

/// The current throughput of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Conversations that all agents on shift together can have at once.
    pub slots: u32,
    /// How long a conversation usually lasts.
    pub handle_time: Option<Span>,
    /// How many items were recently assigned, and in how long a time.
    pub n_assigned: u32,
    pub during: Span,
}

/// A range; both bounds are at least a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EstimatedWait {
    pub from: Span,
    pub to: Span,
}

/// The wait at this place in the queue; the first is 1. `None` if no agent is on shift, if neither
/// the handle time nor the throughput is known, or if it is more than a day.
///
/// The model, place × handle time ÷ slots, is blended with the measurement, place ÷ throughput.
/// More assignments give the measurement more weight.
pub fn estimate(place: u32, flow: &Flow) -> Option<EstimatedWait> {
    if flow.slots == 0 {
        return None;
    }
    let place = f64::from(place.max(1));
    let handle_ms = flow.handle_time.map(Span::as_millis).filter(|ms| *ms > 0);
    let modelled = handle_ms.map(|ms| place * ms as f64 / f64::from(flow.slots));
    let is_measured = flow.n_assigned > 0 && flow.during.as_millis() > 0;
    let n_assigned = f64::from(flow.n_assigned);
    let measured = is_measured.then(|| place * flow.during.as_millis() as f64 / n_assigned);
    let middle = match (modelled, measured) {
        (Some(modelled), Some(measured)) => {
            let trust = n_assigned / (n_assigned + TRUSTED_ASSIGNMENTS);
            measured * trust + modelled * (1.0 - trust)
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return None,
    };
    if middle * LOW_SHARE > WAIT_MAX.as_millis() as f64 {
        return None;
    }
    let from = rounded_up(middle * LOW_SHARE);
    let to = rounded_up(middle * HIGH_SHARE);
    let step = if from < FINE_MAX { FINE } else { COARSE };
    let one_more = Span::from_millis(from.as_millis() + step.as_millis());
    Some(EstimatedWait { from, to: to.max(one_more) })
}

/// Rounds up to whole minutes, or to five; zero becomes one minute.
fn rounded_up(ms: f64) -> Span {
    // The cast saturates, and waits beyond a day were excluded before.
    let ms = ms.ceil() as i64;
    let step = if ms <= FINE_MAX.as_millis() { FINE } else { COARSE }.as_millis();
    Span::from_millis(
        ms.max(1).div_euclid(step) * step + if ms.max(1) % step == 0 { 0 } else { step },
    )
}
