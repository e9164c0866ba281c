//! Which agent answers a turn of a conversation: an agent graph, written as data.
//!
//! A graph has routers, which choose, and specialists, which answer. A router's rules are tried in
//! order, and the first match says where the turn goes next; so every turn ends at exactly one
//! specialist, or with a person. Nothing here depends on conversations, agents of the directory, or
//! a clock: a turn and a graph go in, a [`Routed`] comes out. Read in this order:
//!
//! 1. [`graph`]: the document. [`read`] and [`check`]: report all its problems at once.
//! 2. [`compiled`]: a document made ready, and the decision. [`decision`]: its record.
//! 3. [`intent`]: what a turn is about, in one word.
//! 4. [`words`]: what counts as a word, in any script. [`regexes`]: many patterns at once.

pub mod check;
pub mod compiled;
pub mod cost;
pub mod decision;
pub mod graph;
pub mod graph_problem;
pub mod intent;
pub mod language;
pub mod limits;
pub mod read;
pub mod regexes;
pub mod silence;
pub mod spent;
pub mod words;

pub use compiled::{Compiled, Turn};
pub use decision::{AgentGraphSnapshot, Hop, RouteDecision, Routed, Target};
pub use graph::{AgentGraph, HUMAN, Node, NodeKind, Rule};
pub use graph_problem::{GraphProblem, ProblemCode};
pub use intent::{IntentClassification, IntentClassifier};

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
