//! Matching the rules of a graph against a message. The regexes of a graph, which a tenant wrote,
//! and the message, which a customer wrote, decide how long that takes. Cheap graphs are matched at
//! once. All others are matched in the lane of their teamspace, for a limited time.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use protocol::conversation::graph::TurnAnswer;
use protocol::conversation::turn_asked::TurnAsked;
use protocol::graph::Ready;
use protocol::ids::TeamspaceId;

use crate::heavy_lanes::HeavyLanes;
use crate::ports::clock::Stopwatch;

/// States of regexes times bytes of text that may be compared at once: a few milliseconds at worst,
/// and microseconds as a rule.
const AT_ONCE_WORK_MAX: usize = 400_000;

/// How long a message is matched at once, before it goes to the lane.
const AT_ONCE_SECONDS_MAX: f64 = 0.002;

/// How long a message is matched in the lane. It is looked at between groups of regexes, so the
/// last group may exceed it.
pub const LANE_SECONDS_MAX: f64 = 0.1;

/// How long a message waits for the lane. After that the defaults of the graph decide.
const WAIT_MAX: Duration = Duration::from_millis(250);

/// A teamspace may keep a core busy with matching for a fifth of the time.
const REST_FACTOR: f64 = 4.0;

#[derive(Debug)]
pub struct Matching(HeavyLanes);

impl Default for Matching {
    fn default() -> Self {
        Self(HeavyLanes::new(REST_FACTOR, WAIT_MAX))
    }
}

/// An answer, and whether the time was spent before all rules were matched.
#[derive(Debug)]
pub struct Matched {
    pub answer: TurnAnswer,
    pub is_spent: bool,
}

impl Matching {
    /// Asks the graph. It always answers: if the time is spent, by its defaults.
    pub async fn ask(
        &self,
        teamspace: &TeamspaceId,
        asked: &TurnAsked,
        graph: Arc<Ready>,
    ) -> Matched {
        if graph.compiled().work_at_once(&asked.text) <= AT_ONCE_WORK_MAX {
            let matched = matched_within(asked, Arc::clone(&graph), AT_ONCE_SECONDS_MAX);
            if !matched.is_spent {
                return matched;
            }
        }
        let work = {
            let (asked, graph) = (asked.clone(), Arc::clone(&graph));
            move || matched_within(&asked, graph, LANE_SECONDS_MAX)
        };
        match self.0.run(teamspace, work).await {
            Ok(matched) => matched,
            // Rules in front of the first regex still count.
            Err(_) => Matched { answer: asked.answered_by(graph, &|| true), is_spent: true },
        }
    }
}

fn matched_within(asked: &TurnAsked, graph: Arc<Ready>, seconds: f64) -> Matched {
    let watch = Stopwatch::start();
    let was_spent = Cell::new(false);
    let answer = asked.answered_by(graph, &|| {
        let is_spent = was_spent.get() || watch.seconds() > seconds;
        was_spent.set(is_spent);
        is_spent
    });
    Matched { answer, is_spent: was_spent.get() }
}
