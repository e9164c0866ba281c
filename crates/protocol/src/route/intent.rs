//! The intent of a turn, in one word. The built-in classifier counts words and regexes that the
//! graph lists; others can replace it through the same trait.

use std::collections::HashMap;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::graph_problem::{GraphProblem, ProblemCode, Site, label_problem, regex_problem};
use super::limits::{KEYWORD_BYTES_MAX, LABEL_BYTES_MAX, REGEX_BYTES_MAX};
use super::regexes::RegexList;
use super::spent::{IsSpent, Spent};
use super::words::{WordSet, fold, looked_at};
use crate::form;

/// Intents of one graph. A few dozen are usual.
pub const INTENTS_MAX: usize = 256;

/// Patterns of all intents together.
pub const PATTERNS_MAX: usize = 5_000;

/// Further intents that are reported beside the likeliest.
pub const ALTERNATIVES_MAX: usize = 4;

/// Classifies a turn by its intent.
///
/// An implementation returns a label of its own choice with a confidence from 0 to 1, or nothing if
/// it does not know. It does not block: a classifier that asks a model runs outside and passes its
/// result in. The caller only compares the result with the rules of a graph. Whatever the result
/// is, the turn goes to exactly one target.
pub trait IntentClassifier {
    fn classify(&self, text: &str, language: Option<&str>) -> Option<IntentClassification>;
}

/// The likeliest intent, and the next ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentClassification {
    pub label: String,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<IntentAlternative>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentAlternative {
    pub label: String,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
}

/// An intent, and the patterns that indicate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentPatterns {
    #[schemars(transform = form::text(LABEL_BYTES_MAX))]
    pub label: String,
    #[schemars(transform = form::items(1, PATTERNS_MAX))]
    pub patterns: Vec<Pattern>,
}

/// A keyword or a regex.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = keyword_or_regex)]
pub struct Pattern {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::text(KEYWORD_BYTES_MAX))]
    pub keyword: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::bytes_from(1, REGEX_BYTES_MAX))]
    pub regex: Option<String>,
    /// The confidence that this pattern alone gives: more than 0, at most 1.
    #[schemars(transform = weight)]
    pub weight: f64,
}

/// Exactly one of the two.
fn keyword_or_regex(schema: &mut Schema) {
    let branch = |there: &str, not_there: &str| {
        json!({
            "type": "object",
            "required": [there],
            "properties": { there: { "type": "string" }, not_there: { "type": "null" } },
        })
    };
    let branches = [branch("keyword", "regex"), branch("regex", "keyword")];
    schema.insert("oneOf".to_owned(), json!(branches));
}

fn weight(schema: &mut Schema) {
    schema.insert("exclusiveMinimum".to_owned(), 0.0.into());
    schema.insert("maximum".to_owned(), 1.0.into());
}

/// The built-in classifier. Each pattern that is found makes its intent likelier; two of 0.5 each
/// make 0.75 together. It is deterministic.
#[derive(Debug, Clone)]
pub struct PatternClassifier {
    labels: Vec<String>,
    /// By pattern: its intent and its weight.
    weights: Vec<(usize, f64)>,
    /// Each word once, and the patterns that have it.
    words: WordSet,
    patterns_of_words: Vec<Vec<usize>>,
    pub(super) regexes: RegexList,
    patterns_of_regexes: Vec<usize>,
}

impl PatternClassifier {
    /// Takes intents for which [`problems`] reports nothing.
    pub(super) fn new(intents: &[IntentPatterns]) -> Result<Self, regex::Error> {
        let mut words = Vec::new();
        let mut patterns_of_words: Vec<Vec<usize>> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let (mut regexes, mut patterns_of_regexes) = (Vec::new(), Vec::new());
        let mut weights = Vec::new();
        for (label, intent) in intents.iter().enumerate() {
            for pattern in &intent.patterns {
                if let Some(keyword) = &pattern.keyword {
                    let number = *numbers.entry(fold(keyword)).or_insert_with_key(|word| {
                        words.push(word.clone());
                        patterns_of_words.push(Vec::new());
                        words.len() - 1
                    });
                    patterns_of_words[number].push(weights.len());
                }
                if let Some(regex) = &pattern.regex {
                    regexes.push(regex.as_str());
                    patterns_of_regexes.push(weights.len());
                }
                weights.push((label, pattern.weight));
            }
        }
        let regexes = RegexList::new(&regexes)?;
        let labels = intents.iter().map(|intent| intent.label.clone()).collect();
        let words = WordSet::new(&words);
        Ok(Self { labels, weights, words, patterns_of_words, regexes, patterns_of_regexes })
    }
}

impl IntentClassifier for PatternClassifier {
    fn classify(&self, text: &str, _: Option<&str>) -> Option<IntentClassification> {
        self.classify_within(text, &|| false).0
    }
}

impl PatternClassifier {
    /// Classifies while there is time, by what was found until then. Also says whether the time was
    /// enough.
    pub(super) fn classify_within(
        &self,
        text: &str,
        is_spent: IsSpent<'_>,
    ) -> (Option<IntentClassification>, Result<(), Spent>) {
        let text = looked_at(text);
        let mut found: Vec<usize> = Vec::new();
        let mut is_known = vec![false; self.patterns_of_words.len()];
        let mut looked = self.words.each_within(&fold(text), is_spent, |word, _| {
            if !std::mem::replace(&mut is_known[word], true) {
                found.extend(&self.patterns_of_words[word]);
            }
        });
        match self.regexes.on(text, is_spent).all() {
            Ok(all) => found.extend(all.into_iter().map(|regex| self.patterns_of_regexes[regex])),
            Err(spent) => looked = Err(spent),
        }
        (self.likeliest(found), looked)
    }

    fn likeliest(&self, mut found: Vec<usize>) -> Option<IntentClassification> {
        // In the order of the document, so that rounding is always the same.
        found.sort_unstable();
        found.dedup();
        let mut doubts = vec![1.0; self.labels.len()];
        for pattern in found {
            let (label, weight) = self.weights[pattern];
            doubts[label] *= 1.0 - weight;
        }
        let mut likely: Vec<IntentAlternative> = self
            .labels
            .iter()
            .zip(doubts)
            .filter(|(_, doubt)| *doubt < 1.0)
            .map(|(label, doubt)| IntentAlternative {
                label: label.clone(),
                confidence: 1.0 - doubt,
            })
            .collect();
        // The sort is stable: of two equally likely intents, the one listed first wins.
        likely.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        likely.truncate(1 + ALTERNATIVES_MAX);
        let mut likely = likely.into_iter();
        let IntentAlternative { label, confidence } = likely.next()?;
        Some(IntentClassification { label, confidence, alternatives: likely.collect() })
    }
}

/// All problems of a list of intents.
pub(super) fn problems(intents: &[IntentPatterns]) -> Vec<GraphProblem> {
    let site = Site::graph("intents");
    let n_patterns: usize = intents.iter().map(|intent| intent.patterns.len()).sum();
    if intents.len() > INTENTS_MAX || n_patterns > PATTERNS_MAX {
        let expected = format!("at most {INTENTS_MAX} intents with {PATTERNS_MAX} patterns in all");
        return vec![site.problem(ProblemCode::TooLarge, expected)];
    }
    let mut problems = Vec::new();
    let mut labels = std::collections::HashSet::new();
    for (index, intent) in intents.iter().enumerate() {
        let site = Site::graph(&format!("intents[{index}]"));
        let label = site.field("label");
        let problem = label_problem(&intent.label);
        problems.extend(problem.map(|what| label.problem(ProblemCode::SchemaInvalid, what)));
        if !labels.insert(&intent.label) {
            problems.push(label.problem(ProblemCode::DuplicateId, "a label of its own"));
        }
        if intent.patterns.is_empty() {
            let site = site.field("patterns");
            problems.push(site.problem(ProblemCode::EmptyRule, "at least one pattern"));
        }
        for (index, pattern) in intent.patterns.iter().enumerate() {
            let site = site.field(&format!("patterns[{index}]"));
            problems.extend(pattern_problems(pattern, &site));
        }
    }
    problems
}

fn pattern_problems(pattern: &Pattern, site: &Site<'_>) -> Vec<GraphProblem> {
    let mut problems = Vec::new();
    match (&pattern.keyword, &pattern.regex) {
        (Some(keyword), None) => {
            if fold(keyword).is_empty() || keyword.len() > KEYWORD_BYTES_MAX {
                let expected = format!("1 to {KEYWORD_BYTES_MAX} bytes that can be seen");
                problems.push(site.field("keyword").problem(ProblemCode::SchemaInvalid, expected));
            }
        }
        (None, Some(regex)) => problems.extend(regex_problem(regex, &site.field("regex"))),
        (Some(_), Some(_)) | (None, None) => {
            problems.push(site.problem(ProblemCode::SchemaInvalid, "a `keyword` or a `regex`"));
        }
    }
    if !(pattern.weight > 0.0 && pattern.weight <= 1.0) {
        let expected = "a number above 0, at most 1";
        problems.push(site.field("weight").problem(ProblemCode::SchemaInvalid, expected));
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn intents(value: Value) -> Vec<IntentPatterns> {
        serde_json::from_value(value).unwrap()
    }

    fn shop() -> Vec<IntentPatterns> {
        intents(json!([
            { "label": "refund", "patterns": [
                { "keyword": "refund", "weight": 0.6 },
                { "keyword": "money back", "weight": 0.5 },
                { "regex": r"(?i)\breturn(ed|ing)?\b", "weight": 0.5 } ] },
            { "label": "delivery", "patterns": [
                { "keyword": "parcel", "weight": 0.5 },
                { "keyword": "refund", "weight": 0.1 } ] },
            { "label": "complaint", "patterns": [{ "keyword": "parcel", "weight": 0.5 }] },
        ]))
    }

    #[test]
    fn what_is_found_adds_up() {
        let classifier = PatternClassifier::new(&shop()).unwrap();
        let cases = [
            ("Hello", ""),
            ("refunded", ""),
            ("REFUND refund", "refund 0.60, delivery 0.10"),
            ("I returned it and want my money  back", "refund 0.75"),
            ("refund me: I am returning it", "refund 0.80, delivery 0.10"),
            ("my parcel", "delivery 0.50, complaint 0.50"),
        ];
        for (text, expected) in cases {
            let told = classifier.classify(text, None).map_or(String::new(), |found| {
                let first = format!("{} {:.2}", found.label, found.confidence);
                let others = found.alternatives.iter();
                let others =
                    others.map(|other| format!(", {} {:.2}", other.label, other.confidence));
                first + &others.collect::<String>()
            });
            assert_eq!(told, expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        assert_eq!(problems(&shop()), []);
        let wrong = problems(&intents(json!([
            { "label": "", "patterns": [] },
            { "label": "a", "patterns": [
                { "weight": 1 },
                { "keyword": "x", "regex": "x", "weight": 0 },
                { "keyword": " ", "weight": 1 },
                { "regex": "[", "weight": 2 } ] },
            { "label": "a", "patterns": [{ "keyword": "x", "weight": 1 }] },
        ])));
        let told: Vec<_> = wrong.iter().map(|problem| problem.field.as_str()).collect();
        let expected = [
            "intents[0].label",
            "intents[0].patterns",
            "intents[1].patterns[0]",
            "intents[1].patterns[1]",
            "intents[1].patterns[1].weight",
            "intents[1].patterns[2].keyword",
            "intents[1].patterns[3].regex",
            "intents[1].patterns[3].weight",
            "intents[2].label",
        ];
        assert_eq!(told, expected);
    }
}
