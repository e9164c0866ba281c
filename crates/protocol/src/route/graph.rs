//! The graph document: nodes, their rules, and the limits.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::intent::{INTENTS_MAX, IntentPatterns};
use super::limits::{KEYWORD_BYTES_MAX, LABEL_BYTES_MAX, REGEX_BYTES_MAX};
use super::silence::SilenceRules;
use crate::signal::EscalationRules;
use crate::{form, ids};

/// No customer chooses from more.
pub const CUSTOMER_QUEUES_MAX: usize = 16;

/// The target of a turn that a person should answer. No node may have this name.
pub const HUMAN: &str = "human";

/// The largest graphs that were asked for have a thousand specialists.
pub const NODES_MAX: usize = 2_000;

/// Rules of all routers together. Twice the ten thousand that the benchmarks use.
pub const RULES_MAX: usize = 20_000;

/// Keywords of all rules together, which bounds the memory of the compiled graph.
pub const KEYWORDS_MAX: usize = 50_000;

/// Entries of one list within a rule. A rule with a longer list is unreadable.
pub const RULE_ITEMS_MAX: usize = 64;

/// Regexes of all rules together. Unlike keywords, each one costs time, so there are fewer.
pub const REGEXES_MAX: usize = 256;

/// A description or a reason is shown on one line.
pub const GRAPH_TEXT_BYTES_MAX: usize = 500;

/// Routers that one turn may pass. Three levels are usual; more than this is a loop.
pub const HOPS_MAX: u32 = 32;

/// How the turns of a conversation are routed, and to which agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentGraph {
    /// The node where every turn begins.
    pub entry: String,
    /// How many routers a turn may pass before a person takes it. Required if routers form a cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(1, HOPS_MAX))]
    pub max_hops: Option<u32>,
    /// The intents of the built-in classifier. Without any, intents come from another classifier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, INTENTS_MAX))]
    pub intents: Vec<IntentPatterns>,
    /// When a person is called, whatever the routers decide.
    #[serde(default, skip_serializing_if = "EscalationRules::is_empty")]
    pub signals: EscalationRules,
    /// What happens when a bot is silent.
    #[serde(default, skip_serializing_if = "SilenceRules::is_empty")]
    pub silence: SilenceRules,
    /// The queue whose people are asked; when absent, the teamspace's default queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = ids::name_form)]
    pub queue: Option<String>,
    /// The queues that customers may name; none when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = customer_queues)]
    pub customer_queues: Vec<String>,
    #[schemars(transform = form::items(0, NODES_MAX))]
    pub nodes: Vec<Node>,
}

/// A router or a specialist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    #[schemars(transform = ids::name_form)]
    pub id: String,
    pub kind: NodeKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line_or_none(GRAPH_TEXT_BYTES_MAX))]
    pub description: Option<String>,
    /// Of a specialist: the agent that then holds the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = ids::name_form)]
    pub agent: Option<String>,
    /// Of a router: tried in order; the first match decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Of a router: where a turn goes if no rule matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Chooses the next node.
    Router,
    /// Answers.
    Specialist,
}

/// Conditions, all of which must hold, and where the turn goes then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A node's id, or `human`.
    pub goto: String,
    /// Why, for people who read it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line_or_none(GRAPH_TEXT_BYTES_MAX))]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Keywords>,
    /// Matches anywhere in the text. `(?i)` at its beginning ignores case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::bytes_from(1, REGEX_BYTES_MAX))]
    pub regex: Option<String>,
    /// One of these; `es` also stands for `es-MX`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = languages)]
    pub language: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<IntentCondition>,
    /// Conditions by attribute name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = form::names(RULE_ITEMS_MAX, form::text(LABEL_BYTES_MAX)))]
    pub attributes: BTreeMap<String, AttributeCondition>,
}

fn customer_queues(schema: &mut Schema) {
    form::items(0, CUSTOMER_QUEUES_MAX)(schema);
    form::each(ids::name_form)(schema);
}

fn languages(schema: &mut Schema) {
    form::items(0, RULE_ITEMS_MAX)(schema);
    let expected = LANGUAGE_EXPECTED.to_owned();
    form::each(form::patterned("^[A-Za-z0-9-]+$", LABEL_BYTES_MAX, expected))(schema);
}

fn keywords(schema: &mut Schema) {
    form::items(0, RULE_ITEMS_MAX)(schema);
    form::each(form::text(KEYWORD_BYTES_MAX))(schema);
}

pub(super) const LANGUAGE_EXPECTED: &str = "a language tag such as `es` or `es-MX`";

/// Whole words, or several in a row, in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keywords {
    /// At least one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = keywords)]
    pub any: Vec<String>,
    /// Each of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = keywords)]
    pub all: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentCondition {
    #[schemars(transform = form::text(LABEL_BYTES_MAX))]
    pub label: String,
    /// From 0 to 1; intents with less confidence do not match.
    #[serde(default)]
    #[schemars(transform = form::range(0.0, 1.0))]
    pub min_confidence: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttributeCondition {
    Equals(Scalar),
    OneOf(#[schemars(transform = form::items(1, RULE_ITEMS_MAX))] Vec<Scalar>),
    /// Whether the attribute is present.
    Exists(bool),
}

/// A value of an attribute. Text, numbers and booleans are compared as text, so that `7` from one
/// system and `"7"` from another are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scalar(String);

impl Scalar {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A single value as text; `None` for lists, objects and `null`.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self(text.clone())),
            Value::Bool(flag) => Some(Self(flag.to_string())),
            Value::Number(number) => Some(Self(match number.as_f64() {
                // A double is written without trailing zeros: 7.0 is 7.
                Some(double) if number.is_f64() => double.to_string(),
                Some(_) | None => number.to_string(),
            })),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::of(&value).ok_or_else(|| D::Error::custom("expected text, a number, true or false"))
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

impl Rule {
    /// Whether a rule has no condition. It would always match; that is what `default` is for.
    pub fn is_empty(&self) -> bool {
        let has_keywords = self
            .keywords
            .as_ref()
            .is_some_and(|words| !words.any.is_empty() || !words.all.is_empty());
        !has_keywords
            && self.regex.is_none()
            && self.language.is_empty()
            && self.intent.is_none()
            && self.attributes.is_empty()
    }
}

impl Node {
    /// Where a turn can go from here, with the index of the rule; the default comes last.
    pub fn ways(&self) -> impl Iterator<Item = (Option<usize>, &str)> {
        let rules = self.rules.iter().enumerate().map(|(index, rule)| (Some(index), &*rule.goto));
        rules.chain(self.default.as_deref().map(|to| (None, to)))
    }
}

impl AgentGraph {
    pub fn n_rules(&self) -> usize {
        self.nodes.iter().map(|node| node.rules.len()).sum()
    }
}
