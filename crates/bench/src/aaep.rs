//! How many AAEP events one core checks in a second, within this process: the schemas, the rules of
//! the specification and the order of the session. The limit is the bare parse of the same bytes,
//! which keeps nothing. [`listeners`] and [`streams`] measure a server: what delivery to many
//! listeners costs, and how much many streams slow down other callers.

pub mod line;
pub mod listeners;
pub mod stage;
pub mod streams;

use std::collections::HashSet;
use std::hint::black_box;

use aaep::event::Event;
use aaep::machine::{Session, Used, Weak};
use aaep::read::read;
use aaep::{CONTEXT, VERSION};
use anyhow::{Result, anyhow};
use protocol::time::Time;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::load::now;
use super::report::{Bar, at_least, median};

/// The required rate.
pub const EVENTS_PER_SECOND_MIN: f64 = 200_000.0;

/// The size of an event with its summaries.
const EVENT_BYTES: usize = 700;

/// Events of one session. What a session keeps grows with it.
const SESSION_EVENTS: usize = 1_000;

/// A session begins, changes its state, says something and ends.
const SESSION_EVENTS_MIN: usize = 4;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct AaepPlan {
    /// Of one session, in each round.
    pub n_events: usize,
    pub n_rounds: usize,
}

/// Everything, as it is printed. Rates are events a second, medians of all rounds.
#[derive(Debug, Clone, Serialize)]
pub struct AaepReport {
    pub version: &'static str,
    pub events: usize,
    pub bytes_per_event: usize,
    pub rounds: usize,
    /// Schemas, words and order.
    pub checked_per_second: f64,
    /// `serde_json` reads the same bytes and keeps nothing (`IgnoredAny`): the limit.
    pub parsed_per_second: f64,
    /// `serde_json` builds a tree (`Value`), as a validator of trees must first.
    pub tree_per_second: f64,
    /// Checked against parsed; 1 means that the check costs nothing beyond the parse.
    pub of_limit: f64,
    pub bars: Vec<Bar>,
}

/// Checks sessions in turns with the bare parse, so that both run under the same machine load.
pub fn run(plan: &AaepPlan) -> Result<AaepReport> {
    if plan.n_events < SESSION_EVENTS_MIN || plan.n_rounds == 0 {
        return Err(anyhow!(
            "expected --events of {SESSION_EVENTS_MIN} or more, and at least one round"
        ));
    }
    let texts = session(plan.n_events.min(SESSION_EVENTS));
    for text in &texts {
        read(text).map_err(|flaws| anyhow!("an event of the bench is wrong: {}", flaws[0]))?;
    }
    let (mut checked, mut parsed, mut trees) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.n_rounds {
        checked.push(rate(&texts, plan, check_all)?);
        parsed.push(rate(&texts, plan, |texts| parse_all::<IgnoredAny>(texts))?);
        trees.push(rate(&texts, plan, |texts| parse_all::<Value>(texts))?);
    }
    let checked = median(checked.into_iter());
    let parsed = median(parsed.into_iter());
    Ok(AaepReport {
        version: env!("CARGO_PKG_VERSION"),
        events: plan.n_events,
        bytes_per_event: texts.iter().map(String::len).sum::<usize>() / texts.len(),
        rounds: plan.n_rounds,
        checked_per_second: checked,
        parsed_per_second: parsed,
        tree_per_second: median(trees.into_iter()),
        of_limit: checked / parsed,
        bars: vec![at_least(
            "events checked a second, on one core".to_owned(),
            EVENTS_PER_SECOND_MIN,
            checked,
        )],
    })
}

/// Events a second, over as many sessions as are needed.
fn rate(texts: &[String], plan: &AaepPlan, work: impl Fn(&[String]) -> Result<()>) -> Result<f64> {
    let n_sessions = plan.n_events.div_ceil(texts.len());
    let started = now();
    for _ in 0..n_sessions {
        work(texts)?;
    }
    Ok((n_sessions * texts.len()) as f64 / started.elapsed().as_secs_f64())
}

fn check_all(texts: &[String]) -> Result<()> {
    let mut followed = Followed::default();
    for text in texts {
        let event = read(text).map_err(|flaws| anyhow!("{}", flaws[0]))?;
        followed.follow(&event)?;
        black_box(&event);
    }
    Ok(())
}

fn parse_all<'t, T: serde::Deserialize<'t>>(texts: &'t [String]) -> Result<()> {
    for text in texts {
        black_box(serde_json::from_str::<T>(text)?);
    }
    Ok(())
}

/// A session and the ids that it used, which are rows of the store in a server.
#[derive(Default)]
struct Followed {
    session: Session,
    used: HashSet<Used>,
    uses: Vec<Used>,
}

impl Followed {
    fn follow(&mut self, event: &Event<'_>) -> Result<()> {
        let Followed { session, used, uses } = self;
        session
            .follow(event, Time::from_millis(0), Weak::Allowed, &|id| used.contains(id), uses)
            .map_err(|flaw| anyhow!("the session of the bench is wrong: {flaw}"))?;
        used.extend(uses.drain(..));
        Ok(())
    }
}

/// The names that the events carry.
#[derive(Debug, Clone, Copy)]
pub struct Names<'n> {
    pub session: &'n str,
    pub agent: &'n str,
}

const NAMES: Names<'static> =
    Names { session: "sess_2c91a7b4d23f1e88", agent: "retirement-planner" };

/// A session of tools and their results, with a sentence of output now and then.
fn session(n_events: usize) -> Vec<String> {
    session_of(NAMES, n_events)
}

fn session_of(names: Names<'_>, n_events: usize) -> Vec<String> {
    let mut position = 0;
    let last = n_events - 1;
    (0..n_events)
        .map(|index| {
            let call = format!("call_{}", index / 3);
            let (name, mut event) = match index {
                0 => ("session.started", json!({"requested_by": "user:bench"})),
                1 => ("state.changed", json!({"from_state": "idle", "to_state": "thinking"})),
                _ if index == last => ("session.completed", json!({"duration_ms": 30_000})),
                // An invoked tool must be completed before the session is.
                _ if index % 3 == 0 && index + 2 < last => (
                    "tool.invoked",
                    json!({"tool": "fetch_balance", "tool_call_id": call,
                        "args_summary": "account checking-7821", "risk_level": "low"}),
                ),
                _ if index % 3 == 1 && index > 3 && index + 1 < last => (
                    "tool.completed",
                    json!({"tool": "fetch_balance", "tool_call_id": call, "status": "success",
                        "duration_ms": 1_885}),
                ),
                _ => (
                    "output.streaming",
                    json!({"position": position, "complete": index + 1 == last,
                        "coalesce_hint": "sentence",
                        "content_type": "text/plain"}),
                ),
            };
            let long = if name == "output.streaming" { "chunk" } else { "summary_normal" };
            event[long] = json!("");
            let empty = written(names, index, name, &event).len();
            let sentence = "Your plan is on its way, and nothing has to be done by you. ";
            let text: String =
                sentence.chars().cycle().take(EVENT_BYTES.saturating_sub(empty).max(1)).collect();
            if long == "chunk" {
                position += text.len();
            }
            event[long] = json!(text);
            written(names, index, name, &event)
        })
        .collect()
}

/// Fields in the order in which producers write them, which a map would not keep.
pub(super) fn written(names: Names<'_>, index: usize, name: &str, payload: &Value) -> String {
    let Names { session, agent } = names;
    let (minutes, seconds, millis) = (index / 60_000 % 60, index / 1_000 % 60, index % 1_000);
    let payload = payload.to_string();
    format!(
        "{{\"@context\":\"{CONTEXT}\",\"aaep_version\":\"{VERSION}\",\
         \"type\":\"aaep:agent.{name}\",\
         \"event_id\":\"evt_{index:032x}\",\"session_id\":\"{session}\",\
         \"sequence_number\":{index},\
         \"timestamp\":\"2026-05-24T14:{minutes:02}:{seconds:02}.{millis:03}Z\",\
         \"producer\":{{\"agent_id\":\"{agent}\",\"agent_version\":\"1.4.2\"}},\
         \"verbosity\":\"normal\",\"urgency\":\"normal\",\
         \"localization_hints\":{{\"primary_language\":\"en-US\"}},{}",
        &payload[1..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_the_bench_is_good() {
        let report = run(&AaepPlan { n_events: 50, n_rounds: 1 }).unwrap();
        assert_eq!((report.events, report.bars.len()), (50, 1));
        assert!((690..=720).contains(&report.bytes_per_event), "{}", report.bytes_per_event);
        assert!(report.of_limit > 0.0);
        assert!(run(&AaepPlan { n_events: 0, n_rounds: 1 }).is_err());
    }
}
