//! A compiled graph. One pass over the text finds the keywords of a router, a second one its
//! regexes, and only rules that can still match are checked. The result is the same as reading the
//! document from top to bottom.

use std::collections::{BTreeMap, HashMap};

use super::decision::{Hop, Routed, SPENT, Target};
use super::graph::{AgentGraph, AttributeCondition, HOPS_MAX, HUMAN, Node, NodeKind, Rule, Scalar};
use super::graph_problem::{GraphProblem, ProblemCode, Site};
use super::intent::{IntentClassification, IntentClassifier, PatternClassifier};
use super::language::is_language;
use super::regexes::{Matches, RegexList};
use super::spent::{IsSpent, STEPS_PER_LOOK, Spent};
use super::words::{WordSet, fold, looked_at};
use crate::ids::AgentId;

/// The input of a decision. All of it is untrusted and only ever compared.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'t> {
    pub text: &'t str,
    /// A language tag, such as `es-MX`.
    pub language: Option<&'t str>,
    /// The result of a classifier: a label, and its confidence.
    pub intent: Option<(&'t str, f64)>,
    pub attributes: &'t BTreeMap<String, String>,
}

/// A graph that was checked and compiled for many decisions.
#[derive(Debug, Clone)]
pub struct Compiled {
    graph: AgentGraph,
    entry: usize,
    hops_max: usize,
    places: Vec<Place>,
    classifier: PatternClassifier,
}

#[derive(Debug, Clone)]
enum Place {
    Router(Box<Router>),
    Specialist(AgentId),
}

#[derive(Debug, Clone)]
struct Router {
    words: WordSet,
    regexes: RegexList,
    rules: Vec<ReadyRule>,
    /// An index of rules. Each rule is listed once, under something it needs to match: a keyword,
    /// else an intent, else an attribute's value.
    by_word: Vec<Vec<u32>>,
    by_intent: HashMap<String, Vec<u32>>,
    by_attribute: HashMap<String, HashMap<String, Vec<u32>>>,
    /// Rules that are checked for every turn, in order.
    unfiled: Vec<u32>,
    default: Way,
}

/// The compiled parts of a rule; the rest is read from the document.
#[derive(Debug, Clone)]
struct ReadyRule {
    any: Vec<u32>,
    all: Vec<u32>,
    regex: Option<u32>,
    to: Way,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Node(usize),
    Human,
}

impl Compiled {
    /// Checks and compiles a graph.
    pub fn new(graph: AgentGraph) -> Result<Self, Vec<GraphProblem>> {
        let problems = graph.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let by_id = |(index, node): (usize, &Node)| (node.id.clone(), index);
        let ids: HashMap<String, usize> = graph.nodes.iter().enumerate().map(by_id).collect();
        let mut places = Vec::with_capacity(graph.nodes.len());
        let mut problems = Vec::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            match node.kind {
                NodeKind::Router => match Router::new(node, &ids) {
                    Ok(router) => places.push(Place::Router(Box::new(router))),
                    Err(error) => {
                        let expected = format!("regexes that are smaller together: {error}");
                        let site = Site::node(index, &node.id).field("rules");
                        problems.push(site.problem(ProblemCode::TooLarge, expected));
                    }
                },
                NodeKind::Specialist => {
                    let agent = node.agent.as_deref().and_then(|agent| agent.parse().ok());
                    places.push(Place::Specialist(agent.expect("the agent was checked")));
                }
            }
        }
        let classifier = PatternClassifier::new(&graph.intents).map_err(|error| {
            let expected = format!("regexes that are smaller together: {error}");
            Site::graph("intents").problem(ProblemCode::TooLarge, expected)
        });
        let classifier = match classifier {
            Ok(classifier) if problems.is_empty() => classifier,
            Ok(_) => return Err(problems),
            Err(problem) => {
                problems.push(problem);
                return Err(problems);
            }
        };
        let entry = ids[&graph.entry];
        let hops_max = graph.max_hops.unwrap_or(HOPS_MAX) as usize;
        Ok(Self { graph, entry, hops_max, places, classifier })
    }

    pub fn graph(&self) -> &AgentGraph {
        &self.graph
    }

    pub fn into_graph(self) -> AgentGraph {
        self.graph
    }

    /// The agent that answers before the first message: the specialist at the end of the default
    /// path. `None` if that path ends with a person.
    pub fn first(&self) -> Option<&AgentId> {
        let mut at = self.entry;
        for _ in 0..=self.hops_max {
            match &self.places[at] {
                Place::Specialist(agent) => return Some(agent),
                Place::Router(router) => match router.default {
                    Way::Node(next) => at = next,
                    Way::Human => return None,
                },
            }
        }
        None
    }

    /// The intent of a turn, from the intents that the graph lists.
    pub fn classify(&self, text: &str) -> Option<IntentClassification> {
        self.classifier.classify(text, None)
    }

    /// The same, while there is time.
    pub fn classify_within(
        &self,
        text: &str,
        is_spent: IsSpent<'_>,
    ) -> (Option<IntentClassification>, Result<(), Spent>) {
        self.classifier.classify_within(text, is_spent)
    }

    /// How much may be compared between two looks at the time, at worst: states of regexes, each
    /// for every byte of the text.
    pub fn work_at_once(&self, text: &str) -> usize {
        let routers = self.places.iter().filter_map(|place| match place {
            Place::Router(router) => Some(&router.regexes),
            Place::Specialist(_) => None,
        });
        let lists = routers.chain([&self.classifier.regexes]);
        let states = lists.map(RegexList::states_at_once).max().unwrap_or_default();
        states.saturating_mul(looked_at(text).len())
    }

    /// Follows the rules from the entry to a specialist or a person. Every turn reaches one.
    pub fn route(&self, turn: &Turn<'_>) -> Routed {
        self.route_within(turn, &|| false)
    }

    /// The same, while there is time. Once it is spent, the defaults of the routers are followed.
    pub fn route_within(&self, turn: &Turn<'_>, is_spent: IsSpent<'_>) -> Routed {
        let text = looked_at(turn.text);
        let folded = fold(text);
        let (mut path, mut hops) = (Vec::new(), Vec::new());
        // A router that is passed again chooses the same.
        let mut chosen: Vec<(usize, Result<Option<usize>, Spent>)> = Vec::new();
        let mut at = self.entry;
        loop {
            let node = &self.graph.nodes[at];
            path.push(node.id.clone());
            let router = match &self.places[at] {
                Place::Specialist(agent) => {
                    let target = Target::Specialist { node: node.id.clone(), agent: agent.clone() };
                    return Routed { target, path, hops, is_cut_short: false };
                }
                Place::Router(router) => router,
            };
            let before = chosen.iter().find(|(router, _)| *router == at).map(|(_, it)| *it);
            let choice = before.unwrap_or_else(|| {
                let choice = router.choose(node, turn, (text, &folded), is_spent);
                chosen.push((at, choice));
                choice
            });
            let (to, mut reason) = match choice {
                Ok(Some(index)) => (router.rules[index].to, node.rules[index].reason.clone()),
                Ok(None) => (router.default, None),
                Err(Spent) => (router.default, Some(SPENT.to_owned())),
            };
            let choice = choice.ok().flatten();
            let is_spent = hops.len() + 1 == self.hops_max;
            let next = match to {
                Way::Node(next) if is_spent && self.leads_on(next) => {
                    // A loop or a chain that is too long: a person takes over.
                    reason = Some(format!("{} routers were passed", self.hops_max));
                    None
                }
                Way::Node(next) => Some(next),
                Way::Human => None,
            };
            let name = next.map_or(HUMAN, |next| &self.graph.nodes[next].id).to_owned();
            hops.push(Hop { from: node.id.clone(), to: name, rule_index: choice, reason });
            match next {
                Some(next) => at = next,
                None => {
                    return Routed { target: Target::Human, path, hops, is_cut_short: false };
                }
            }
        }
    }

    /// Why a choice was made: each condition of the rule, and what matched it.
    pub fn explain(&self, hop: &Hop, turn: &Turn<'_>) -> Vec<String> {
        let node = self.graph.nodes.iter().find(|node| node.id == hop.from);
        let rule = node.zip(hop.rule_index).and_then(|(node, index)| node.rules.get(index));
        rule.map_or_else(|| vec!["no rule holds".to_owned()], |rule| told(rule, turn))
    }

    fn leads_on(&self, place: usize) -> bool {
        matches!(self.places[place], Place::Router(_))
    }
}

impl Router {
    fn new(node: &Node, ids: &HashMap<String, usize>) -> Result<Self, regex::Error> {
        let way = |to: &str| if to == HUMAN { Way::Human } else { Way::Node(ids[to]) };
        let default = way(node.default.as_deref().unwrap_or(HUMAN));
        let mut router = Self { default, ..Self::empty() };
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut words: Vec<String> = Vec::new();
        let mut regexes = Vec::new();
        for (index, rule) in (0..).zip(&node.rules) {
            let mut numbered = |list: &[String]| -> Vec<u32> {
                let number = |word: &String| {
                    *known.entry(fold(word)).or_insert_with_key(|word| {
                        words.push(word.clone());
                        u32::try_from(words.len() - 1).expect("keywords are limited")
                    })
                };
                list.iter().map(number).collect()
            };
            let (any, all) = match &rule.keywords {
                Some(keywords) => (numbered(&keywords.any), numbered(&keywords.all)),
                None => (Vec::new(), Vec::new()),
            };
            let regex = rule.regex.as_ref().map(|regex| {
                regexes.push(regex.as_str());
                u32::try_from(regexes.len() - 1).expect("regexes are limited")
            });
            router.by_word.resize_with(words.len(), Vec::new);
            let ready = ReadyRule { any, all, regex, to: way(&rule.goto) };
            router.file(index, rule, &ready);
            router.rules.push(ready);
        }
        router.regexes = RegexList::new(&regexes)?;
        router.words = WordSet::new(&words);
        Ok(router)
    }

    fn empty() -> Self {
        Self {
            words: WordSet::default(),
            regexes: RegexList::default(),
            rules: Vec::new(),
            by_word: Vec::new(),
            by_intent: HashMap::new(),
            by_attribute: HashMap::new(),
            unfiled: Vec::new(),
            default: Way::Human,
        }
    }

    fn file(&mut self, index: u32, rule: &Rule, ready: &ReadyRule) {
        // Listing under one word of `all` is enough; of `any`, each word is needed.
        let words = if ready.all.is_empty() { &ready.any[..] } else { &ready.all[..1] };
        if !words.is_empty() {
            words.iter().for_each(|word| self.by_word[*word as usize].push(index));
        } else if let Some(intent) = &rule.intent {
            self.by_intent.entry(intent.label.clone()).or_default().push(index);
        } else if let Some((name, values)) = rule.attributes.iter().find_map(valued) {
            let by_value = self.by_attribute.entry(name.clone()).or_default();
            for value in values {
                by_value.entry(value.as_str().to_owned()).or_default().push(index);
            }
        } else {
            self.unfiled.push(index);
        }
    }

    /// The first rule that matches.
    fn choose(
        &self,
        node: &Node,
        turn: &Turn<'_>,
        (text, folded): (&str, &str),
        is_spent: IsSpent<'_>,
    ) -> Result<Option<usize>, Spent> {
        let mut is_found = Bits::new(self.by_word.len());
        let mut candidates: Vec<u32> = Vec::new();
        self.words.each_within(folded, is_spent, |word, _| {
            if is_found.insert(word) {
                candidates.extend(&self.by_word[word]);
            }
        })?;
        let by_intent = turn.intent.and_then(|(label, _)| self.by_intent.get(label));
        candidates.extend(by_intent.into_iter().flatten());
        for (name, by_value) in &self.by_attribute {
            let value = turn.attributes.get(name);
            candidates.extend(value.and_then(|value| by_value.get(value)).into_iter().flatten());
        }
        candidates.sort_unstable();
        candidates.dedup();
        let matches: Matches<'_> = self.regexes.on(text, is_spent);
        let holds = |index: usize| {
            let (rule, ready) = (&node.rules[index], &self.rules[index]);
            let has = |word: &u32| is_found.contains(*word as usize);
            let is_candidate = (ready.any.is_empty() || ready.any.iter().any(has))
                && ready.all.iter().all(has)
                && holds_apart_from_text(rule, turn);
            match ready.regex {
                Some(regex) if is_candidate => matches.has(regex as usize),
                Some(_) | None => Ok(is_candidate),
            }
        };
        let (mut filed, mut others) =
            (candidates.iter().peekable(), self.unfiled.iter().peekable());
        for number in 1_usize.. {
            if number.is_multiple_of(STEPS_PER_LOOK) && is_spent() {
                return Err(Spent);
            }
            let next = match (filed.peek(), others.peek()) {
                (Some(a), Some(b)) if a < b => filed.next(),
                (_, Some(_)) => others.next(),
                (Some(_), None) => filed.next(),
                (None, None) => None,
            };
            let Some(index) = next else { break };
            let index = *index as usize;
            if holds(index)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// An attribute condition that lists allowed values.
fn valued<'r>(
    (name, condition): (&'r String, &'r AttributeCondition),
) -> Option<(&'r String, &'r [Scalar])> {
    match condition {
        AttributeCondition::Equals(value) => Some((name, std::slice::from_ref(value))),
        AttributeCondition::OneOf(values) => Some((name, values)),
        AttributeCondition::Exists(_) => None,
    }
}

/// Language, intent and attributes.
fn holds_apart_from_text(rule: &Rule, turn: &Turn<'_>) -> bool {
    let speaks = |tag: &String| turn.language.is_some_and(|spoken| is_language(spoken, tag));
    let attribute = |(name, condition): (&String, &AttributeCondition)| {
        let value = turn.attributes.get(name).map(String::as_str);
        match condition {
            AttributeCondition::Equals(wanted) => value == Some(wanted.as_str()),
            AttributeCondition::OneOf(wanted) => {
                value.is_some_and(|value| wanted.iter().any(|wanted| wanted.as_str() == value))
            }
            AttributeCondition::Exists(wanted) => value.is_some() == *wanted,
        }
    };
    (rule.language.is_empty() || rule.language.iter().any(speaks))
        && rule.intent.as_ref().is_none_or(|wanted| {
            turn.intent.is_some_and(|(label, confidence)| {
                label == wanted.label && confidence >= wanted.min_confidence
            })
        })
        && rule.attributes.iter().all(attribute)
}

fn told(rule: &Rule, turn: &Turn<'_>) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(keywords) = &rule.keywords {
        let folded = fold(looked_at(turn.text));
        let stands = |word: &&String| {
            let mut stands = false;
            WordSet::new(&[fold(word)]).each(&folded, |_, _| stands = true);
            stands
        };
        let any = keywords.any.iter().find(stands);
        told.extend(any.into_iter().chain(&keywords.all).map(|word| format!("keyword `{word}`")));
    }
    told.extend(rule.regex.iter().map(|regex| format!("regex `{regex}`")));
    let language = turn.language.filter(|_| !rule.language.is_empty());
    told.extend(language.map(|language| format!("language {language}")));
    if let (Some(_), Some((label, confidence))) = (&rule.intent, turn.intent) {
        told.push(format!("intent {label} at {confidence:.2}"));
    }
    told.extend(rule.attributes.keys().map(|name| match turn.attributes.get(name) {
        Some(value) => format!("attribute {name} = {value}"),
        None => format!("no attribute {name}"),
    }));
    told
}

struct Bits(Vec<u64>);

impl Bits {
    fn new(n_bits: usize) -> Self {
        Self(vec![0; n_bits.div_ceil(64)])
    }

    /// Returns whether it was not set before.
    fn insert(&mut self, bit: usize) -> bool {
        let (word, mask) = (&mut self.0[bit / 64], 1 << (bit % 64));
        let is_new = *word & mask == 0;
        *word |= mask;
        is_new
    }

    fn contains(&self, bit: usize) -> bool {
        self.0[bit / 64] & (1 << (bit % 64)) != 0
    }
}
