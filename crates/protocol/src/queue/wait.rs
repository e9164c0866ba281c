//! How long it may take. People forgive a wait that was announced and not one that was denied, so
//! this is a range, rounded up, never nothing, and not said at all when nobody could know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Below this the ends are whole minutes, above it they are multiples of five.
const FINE_MAX: Span = Span::from_minutes(10);
const FINE: Span = Span::from_minutes(1);
const COARSE: Span = Span::from_minutes(5);

/// What is further away than this is no estimate any more.
pub const WAIT_MAX: Span = Span::from_hours(24);

/// So many assignments count as much as the model does. A quarter of an hour has about as many in a
/// small team.
const TRUSTED_ASSIGNMENTS: f64 = 10.0;

/// Waits scatter about as widely as they are long: the ends of the range, of the middle.
const LOW_SHARE: f64 = 0.75;
const HIGH_SHARE: f64 = 1.5;

/// What is known of a queue at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Conversations that the agents on shift can have at once, all together.
    pub slots: u32,
    /// How long one usually lasts.
    pub handle_time: Option<Span>,
    /// How many were given to somebody lately, and during how long a time.
    pub n_assigned: u32,
    pub during: Span,
}

/// Between these two, both at least a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EstimatedWait {
    pub from: Span,
    pub to: Span,
}

/// The wait of whoever stands at this place; the first is 1. None if nobody is on shift, or if
/// nothing is known of how long one takes, or if it is more than a day.
///
/// The model, place × handle time ÷ slots, is blended with what was measured, place ÷ throughput;
/// the more was measured, the more it counts.
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

/// To the next whole minute, or five; nothing becomes one minute.
fn rounded_up(ms: f64) -> Span {
    // The cast saturates, and waits beyond a day were turned away.
    let ms = ms.ceil() as i64;
    let step = if ms <= FINE_MAX.as_millis() { FINE } else { COARSE }.as_millis();
    Span::from_millis(
        ms.max(1).div_euclid(step) * step + if ms.max(1) % step == 0 { 0 } else { step },
    )
}
