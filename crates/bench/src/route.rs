//! How long it takes to decide which agent answers a turn, within this process. The graph is the
//! worst required case: one router with all the rules, so that none can be skipped.

use std::collections::BTreeMap;
use std::hint::black_box;

use anyhow::{Result, anyhow};
use protocol::route::graph::{
    AttributeCondition, IntentCondition, Keywords, NODES_MAX, REGEXES_MAX, RULES_MAX, Scalar,
};
use protocol::route::intent::{IntentPatterns, Pattern};
use protocol::route::words::TEXT_BYTES_MAX;
use protocol::route::{AgentGraph, Compiled, Node, NodeKind, Rule, Turn};
use serde::Serialize;

use super::load::now;
use super::report::{Bar, at_most};

/// A decision precedes every answer; next to the time that a model takes, it should not be
/// noticeable.
pub const DECISION_MS_MAX: f64 = 1.0;

/// The caches of the automatons are full after this many decisions.
const WARM_UP_DECISIONS: usize = 200;

/// The longest text that counts as typed. A pasted page is measured too, but has no bar.
const TYPED_BYTES_MAX: usize = 1_024;

/// One rule in so many has a regex, up to what a graph may have.
const RULES_PER_REGEX: usize = 50;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct RoutePlan {
    pub n_rules: usize,
    pub n_agents: usize,
    pub n_decisions: usize,
}

/// Everything, as it is printed.
#[derive(Debug, Clone, Serialize)]
pub struct RouteReport {
    pub version: &'static str,
    pub rules: usize,
    pub agents: usize,
    pub regexes: usize,
    /// From the document to the first decision.
    pub compiled_ms: f64,
    pub limit_ms: f64,
    pub measured: Vec<Row>,
    pub bars: Vec<Bar>,
}

/// One kind of turn.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub turn: &'static str,
    pub bytes: usize,
    pub decisions: usize,
    pub p50_us: f64,
    pub p99_us: f64,
    /// The 99th percentile against the limit; below 1 is within it.
    pub p99_of_limit: f64,
}

/// Compiles the graph and decides.
pub fn run(plan: &RoutePlan) -> Result<RouteReport> {
    if plan.n_agents == 0 || plan.n_agents >= NODES_MAX {
        return Err(anyhow!("--agents: expected 1 to {}", NODES_MAX - 1));
    }
    if plan.n_rules < plan.n_agents || plan.n_rules > RULES_MAX || plan.n_decisions == 0 {
        return Err(anyhow!(
            "expected at least one decision, and --rules from --agents to {RULES_MAX}"
        ));
    }
    let graph = graph(plan);
    let regexes = graph.nodes.iter().flat_map(|node| &node.rules);
    let regexes = regexes.filter(|rule| rule.regex.is_some()).count();
    let started = now();
    let compiled = Compiled::new(graph).map_err(|problems| anyhow!("{}", problems[0]))?;
    let compiled_ms = started.elapsed().as_secs_f64() * 1_000.0;
    let measured: Vec<Row> =
        turns().into_iter().map(|(name, texts)| measure(&compiled, name, &texts, plan)).collect();
    let bar = |row: &Row| {
        let what = format!("p99 of a decision, {}", row.turn);
        at_most(what, DECISION_MS_MAX, " ms", row.p99_us / 1_000.0)
    };
    Ok(RouteReport {
        version: env!("CARGO_PKG_VERSION"),
        rules: plan.n_rules,
        agents: plan.n_agents,
        regexes,
        compiled_ms,
        limit_ms: DECISION_MS_MAX,
        bars: measured.iter().filter(|row| row.bytes <= TYPED_BYTES_MAX).map(bar).collect(),
        measured,
    })
}

fn measure(graph: &Compiled, turn: &'static str, texts: &[String], plan: &RoutePlan) -> Row {
    let attributes = BTreeMap::from([("tier".to_owned(), "wood".to_owned())]);
    let decide = |text: &String| {
        let intent = graph.classify(text);
        let intent = intent.as_ref().map(|found| (found.label.as_str(), found.confidence));
        black_box(graph.route(&Turn {
            text,
            language: Some("pt"),
            intent,
            attributes: &attributes,
        }))
    };
    for text in texts.iter().cycle().take(WARM_UP_DECISIONS.min(plan.n_decisions)) {
        decide(text);
    }
    let mut taken_us: Vec<f64> = Vec::with_capacity(plan.n_decisions);
    for text in texts.iter().cycle().take(plan.n_decisions) {
        let started = now();
        decide(text);
        taken_us.push(started.elapsed().as_secs_f64() * 1e6);
    }
    taken_us.sort_by(f64::total_cmp);
    let at =
        |hundredths: usize| taken_us[(taken_us.len() * hundredths / 100).min(taken_us.len() - 1)];
    Row {
        turn,
        bytes: texts.iter().map(String::len).sum::<usize>() / texts.len(),
        decisions: plan.n_decisions,
        p50_us: at(50),
        p99_us: at(99),
        p99_of_limit: at(99) / 1_000.0 / DECISION_MS_MAX,
    }
}

/// A made-up word, so that rules differ and texts can be made to hit or miss them.
fn word(number: usize) -> String {
    let syllables = ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru"];
    let mut word = String::new();
    let mut rest = number;
    for _ in 0..5 {
        word.push_str(syllables[rest % 10]);
        rest /= 10;
    }
    word
}

/// Mostly keywords, and some of every other rule.
fn graph(plan: &RoutePlan) -> AgentGraph {
    let mut n_regexes = 0;
    let rule = |index: usize| {
        let goto = format!("s{}", index % plan.n_agents);
        let keywords = |any: Vec<String>, all: Vec<String>| Some(Keywords { any, all });
        let (one, other) = (word(index * 2), word(index * 2 + 1));
        let mut rule = Rule { goto, ..Rule::default() };
        match index % RULES_PER_REGEX {
            0 if n_regexes < REGEXES_MAX - 1 => {
                n_regexes += 1;
                rule.regex = Some(format!(r"(?i)\b{one}\s+#?\d{{4,6}}\b"));
            }
            1..5 => rule.intent = Some(IntentCondition { label: one, min_confidence: 0.5 }),
            5..9 => {
                let condition = AttributeCondition::Equals(Scalar::new(one));
                rule.attributes.insert("tier".to_owned(), condition);
            }
            9 | 10 => {
                rule.language = vec!["tlh".to_owned()];
                rule.keywords = keywords(vec![one], Vec::new());
            }
            11..20 => rule.keywords = keywords(Vec::new(), vec![one, other]),
            _ => rule.keywords = keywords(vec![one, other], Vec::new()),
        }
        rule
    };
    let rules: Vec<Rule> = (0..plan.n_rules).map(rule).collect();
    let node = |id: String, kind| {
        let (description, agent, rules, default) = (None, None, Vec::new(), None);
        Node { id, kind, description, agent, rules, default }
    };
    let default = Some("s0".to_owned());
    let mut nodes = vec![Node { rules, default, ..node("entry".to_owned(), NodeKind::Router) }];
    nodes.extend((0..plan.n_agents).map(|index| {
        let agent = Some(format!("agent-{index}"));
        Node { agent, ..node(format!("s{index}"), NodeKind::Specialist) }
    }));
    let pattern = |index| Pattern { keyword: Some(word(index)), regex: None, weight: 0.5 };
    let intents = (0..20).map(|index| IntentPatterns {
        label: format!("intent-{index}"),
        patterns: (index * 10..index * 10 + 10).map(pattern).collect(),
    });
    AgentGraph {
        entry: "entry".to_owned(),
        max_hops: None,
        intents: intents.collect(),
        signals: Default::default(),
        silence: Default::default(),
        queue: None,
        customer_queues: Vec::new(),
        nodes,
    }
}

/// What people write: a sentence that matches a rule, one that matches none, one with letters
/// beyond ASCII, and a pasted page.
fn turns() -> Vec<(&'static str, Vec<String>)> {
    let sentence = |index: usize| format!("Hello, I have a question about my {}", word(index * 37));
    let miss = "Hello, I have been waiting for two weeks now, and nobody told me anything. Why?";
    let accents = "Grüß Gott, ich möchte wissen, wo meine Lieferung bleibt. 返金してください。";
    let page = format!("{miss} ").repeat(TEXT_BYTES_MAX / miss.len() + 1);
    let numbered = |text: &str| (0..64).map(|index| format!("{text} {index}")).collect();
    vec![
        ("a sentence that a rule holds for", (0..512).map(sentence).collect()),
        ("a sentence that none holds for", numbered(miss)),
        ("a sentence beyond ASCII", numbered(accents)),
        ("a page of 8 KiB", vec![page]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_turn_is_measured() {
        let plan = RoutePlan { n_rules: 200, n_agents: 20, n_decisions: 8 };
        let report = run(&plan).unwrap();
        assert_eq!((report.measured.len(), report.bars.len(), report.regexes), (4, 3, 4));
        assert!(report.measured.iter().all(|row| row.p99_us >= row.p50_us && row.decisions == 8));
        assert!(run(&RoutePlan { n_agents: 0, ..plan }).is_err());
        assert!(run(&RoutePlan { n_rules: 10, ..plan }).is_err());
    }

    #[test]
    fn sentences_meet_rules() {
        let plan = RoutePlan { n_rules: 1_000, n_agents: 100, n_decisions: 1 };
        let graph = Compiled::new(graph(&plan)).unwrap();
        let attributes = BTreeMap::new();
        let rule = |text: &str| {
            let turn = Turn { text, language: None, intent: None, attributes: &attributes };
            graph.route(&turn).hops[0].rule_index
        };
        assert_eq!(rule(&format!("about {}", word(2 * 77))), Some(77));
        assert_eq!(rule(&format!("about {} #12345", word(2 * 50))), Some(50));
        assert_eq!(rule("about nothing"), None);
    }
}
