//! What a graph says about a holder that is silent: how long it may be, who is asked then, and by
//! which further words a bot promises a transfer.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::graph_problem::{GraphProblem, ProblemCode, Site};
use super::limits::KEYWORD_BYTES_MAX;
use crate::conversation::answer_within::{
    ANSWER_WITHIN_MAX, ANSWER_WITHIN_OFF, is_allowed, limit_expected,
};
use crate::form;
use crate::hidden::is_blank;
use crate::ids::{self, AgentId};
use crate::time::Span;

/// A customer who has waited for so many bots wants a person.
pub const FALLBACKS_MAX: usize = 8;

/// Bots of one graph promise in a few words of their own.
pub const PROMISES_MAX: usize = 64;

/// What happens when a bot that holds a conversation is silent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SilenceRules {
    /// How long a bot has to answer a customer: `0s` for no limit. When absent, as the teamspace
    /// says. A bot with a limit of its own has that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(ANSWER_WITHIN_OFF, ANSWER_WITHIN_MAX))]
    pub answer_within: Option<Span>,
    /// Who gets the conversation then, in this order. When all were tried: the queue of the graph,
    /// or the teamspace's default queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, FALLBACKS_MAX))]
    pub fallback: Vec<FallbackStep>,
    /// Further words by which a bot tells a customer that it transfers them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = promises)]
    pub promises: Vec<String>,
}

/// One fallback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FallbackStep {
    /// A worker, or a system agent that supervises.
    Agent(#[schemars(transform = ids::name_form)] String),
    /// People of a queue.
    Queue(#[schemars(transform = ids::name_form)] String),
}

fn promises(schema: &mut Schema) {
    form::items(0, PROMISES_MAX)(schema);
    form::each(form::text(KEYWORD_BYTES_MAX))(schema);
}

impl FallbackStep {
    pub fn as_str(&self) -> &str {
        match self {
            FallbackStep::Agent(id) | FallbackStep::Queue(id) => id,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            FallbackStep::Agent(_) => "agent",
            FallbackStep::Queue(_) => "queue",
        }
    }
}

impl SilenceRules {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn problems(&self) -> Vec<GraphProblem> {
        let at = |path: &str| Site::graph(&format!("silence.{path}"));
        let mut problems = Vec::new();
        if self.answer_within.is_some_and(|limit| !is_allowed(limit)) {
            let code = ProblemCode::SchemaInvalid;
            problems.push(at("answer_within").problem(code, limit_expected()));
        }
        let counts = [
            (self.fallback.len(), FALLBACKS_MAX, "fallback"),
            (self.promises.len(), PROMISES_MAX, "promises"),
        ];
        let too_many = counts.into_iter().filter(|(count, max, _)| count > max);
        problems.extend(too_many.map(|(_, max, field)| {
            at(field).problem(ProblemCode::TooLarge, format!("at most {max}"))
        }));
        for (index, step) in self.fallback.iter().enumerate() {
            let site = at(&format!("fallback[{index}].{}", step.name()));
            if let Err(error) = step.as_str().parse::<AgentId>() {
                problems.push(site.problem(ProblemCode::SchemaInvalid, error.expected));
            }
            if self.fallback[..index].contains(step) {
                let expected = "each agent and queue once";
                problems.push(site.problem(ProblemCode::SchemaInvalid, expected));
            }
        }
        for (index, words) in self.promises.iter().enumerate() {
            if is_blank(words) || words.len() > KEYWORD_BYTES_MAX {
                let expected = format!("1 to {KEYWORD_BYTES_MAX} bytes of text");
                let site = at(&format!("promises[{index}]"));
                problems.push(site.problem(ProblemCode::SchemaInvalid, expected));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::AgentGraph;

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let many = |one: &str, n: usize| vec![one; n].join(",");
        for (silence, expected) in [
            (r#"{}"#.to_owned(), ""),
            (r#"{"answer_within":"45s","fallback":[{"agent":"b"},{"queue":"q"}]}"#.to_owned(), ""),
            (r#"{"answer_within":"0s","promises":["over to you"]}"#.to_owned(), ""),
            (r#"{"answer_within":"500ms"}"#.to_owned(), "silence.answer_within"),
            (r#"{"answer_within":"25h"}"#.to_owned(), "silence.answer_within"),
            (r#"{"fallback":[{"agent":"No"}]}"#.to_owned(), "silence.fallback[0].agent"),
            (
                r#"{"fallback":[{"queue":"q"},{"queue":"q"}]}"#.to_owned(),
                "silence.fallback[1].queue",
            ),
            (r#"{"promises":[" "]}"#.to_owned(), "silence.promises[0]"),
            (
                format!(r#"{{"promises":[{}]}}"#, many("\"over\"", PROMISES_MAX + 1)),
                "silence.promises",
            ),
        ] {
            let graph = format!(
                r#"{{"entry":"a","silence":{silence},
                     "nodes":[{{"id":"a","kind":"specialist","agent":"bob"}}]}}"#
            );
            let read = AgentGraph::read(graph.as_bytes());
            let first = read.err().and_then(|problems| problems.into_iter().next());
            assert_eq!(first.map(|it| it.field).unwrap_or_default(), expected, "{silence}");
        }
    }
}
