//! All problems of a graph, each with its node, its rule and its field.

use std::collections::HashMap;

use super::graph::{
    AgentGraph, AttributeCondition, CUSTOMER_QUEUES_MAX, GRAPH_TEXT_BYTES_MAX, HOPS_MAX, HUMAN,
    KEYWORDS_MAX, LANGUAGE_EXPECTED, NODES_MAX, Node, NodeKind, REGEXES_MAX, RULE_ITEMS_MAX,
    RULES_MAX, Rule,
};
use super::graph_problem::{
    GraphProblem, ProblemCode, SHOWN_CHARS_MAX, Site, label_problem, regex_problem,
};
use super::intent;
use super::limits::{KEYWORD_BYTES_MAX, LABEL_BYTES_MAX};
use super::words::fold;
use crate::ids::AgentId;
use crate::json::is_forbidden;

impl AgentGraph {
    /// All problems; empty for a usable graph.
    pub fn problems(&self) -> Vec<GraphProblem> {
        let mut problems = self.too_large();
        if !problems.is_empty() {
            // The other checks would take long and add little.
            return problems;
        }
        let ids = self.ids(&mut problems);
        if !ids.contains_key(self.entry.as_str()) {
            let expected = "the id of a node";
            problems.push(Site::graph("entry").problem(ProblemCode::UnknownNode, expected));
        }
        if self.max_hops.is_some_and(|hops| hops == 0 || hops > HOPS_MAX) {
            let expected = format!("a number from 1 to {HOPS_MAX}");
            problems.push(Site::graph("max_hops").problem(ProblemCode::TooLarge, expected));
        }
        problems.extend(intent::problems(&self.intents));
        problems.extend(self.signals.problems().into_iter().map(|problem| {
            let site = Site::graph(&format!("signals.{}", problem.field));
            site.problem(ProblemCode::SchemaInvalid, problem.expected)
        }));
        problems.extend(self.silence.problems());
        if let Some(Err(error)) = self.queue.as_deref().map(str::parse::<AgentId>) {
            let expected = format!("the queue whose people are asked, {}", error.expected);
            problems.push(Site::graph("queue").problem(ProblemCode::SchemaInvalid, expected));
        }
        problems.extend(self.customer_queues());
        for (index, node) in self.nodes.iter().enumerate() {
            check_node(node, &Site::node(index, &node.id), &ids, &mut problems);
        }
        self.unreachable(&ids, &mut problems);
        if self.max_hops.is_none() {
            self.cycles(&ids, &mut problems);
        }
        problems
    }

    fn customer_queues(&self) -> Vec<GraphProblem> {
        if self.customer_queues.len() > CUSTOMER_QUEUES_MAX {
            let expected = format!("at most {CUSTOMER_QUEUES_MAX}");
            return vec![Site::graph("customer_queues").problem(ProblemCode::TooLarge, expected)];
        }
        let numbered = self.customer_queues.iter().enumerate();
        let wrong = numbered.filter_map(|(index, queue)| {
            let error = queue.parse::<AgentId>().err()?;
            let site = Site::graph(&format!("customer_queues[{index}]"));
            Some(site.problem(ProblemCode::SchemaInvalid, error.expected))
        });
        wrong.collect()
    }

    fn too_large(&self) -> Vec<GraphProblem> {
        let rules = || self.nodes.iter().flat_map(|node| &node.rules);
        let keywords = rules().filter_map(|rule| rule.keywords.as_ref());
        let n_keywords: usize = keywords.map(|words| words.any.len() + words.all.len()).sum();
        let patterns = self.intents.iter().flat_map(|intent| &intent.patterns);
        let n_regexes = rules().filter(|rule| rule.regex.is_some()).count()
            + patterns.filter(|pattern| pattern.regex.is_some()).count();
        let counts = [
            (self.nodes.len(), NODES_MAX, "nodes"),
            (self.n_rules(), RULES_MAX, "rules in all"),
            (n_keywords, KEYWORDS_MAX, "keywords in all"),
            (n_regexes, REGEXES_MAX, "regexes in all"),
        ];
        let too_many = counts.into_iter().filter(|(count, max, _)| count > max);
        let problem = |(count, max, what)| {
            let expected = format!("at most {max} {what}, not {count}");
            Site::graph("nodes").problem(ProblemCode::TooLarge, expected)
        };
        too_many.map(problem).collect()
    }

    /// Maps ids to nodes. Of two nodes with the same id, the first counts.
    fn ids(&self, problems: &mut Vec<GraphProblem>) -> HashMap<&str, usize> {
        let mut ids = HashMap::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let site = Site::node(index, &node.id).field("id");
            if node.id == HUMAN {
                let expected = "another id; `human` stands for a person";
                problems.push(site.problem(ProblemCode::ReservedId, expected));
            } else if let Err(error) = node.id.parse::<AgentId>() {
                problems.push(site.problem(ProblemCode::SchemaInvalid, error.expected));
            }
            if let Some(first) = ids.get(node.id.as_str()) {
                let expected = format!("an id that nodes[{first}] does not have");
                problems.push(site.problem(ProblemCode::DuplicateId, expected));
            } else {
                ids.insert(node.id.as_str(), index);
            }
        }
        ids
    }

    fn unreachable(&self, ids: &HashMap<&str, usize>, problems: &mut Vec<GraphProblem>) {
        let Some(entry) = ids.get(self.entry.as_str()) else { return };
        let mut is_reached = vec![false; self.nodes.len()];
        is_reached[*entry] = true;
        let mut waiting = vec![*entry];
        while let Some(at) = waiting.pop() {
            for (_, to) in self.nodes[at].ways() {
                if let Some(&next) = ids.get(to)
                    && !is_reached[next]
                {
                    is_reached[next] = true;
                    waiting.push(next);
                }
            }
        }
        let nodes = self.nodes.iter().enumerate();
        let lost = nodes.filter(|(index, node)| {
            // A duplicate id is reported already.
            !is_reached[*index] && ids.get(node.id.as_str()) == Some(index)
        });
        problems.extend(lost.map(|(index, node)| {
            let expected = "a way to it from the entry";
            Site::node(index, &node.id).problem(ProblemCode::UnreachableNode, expected)
        }));
    }

    /// Cycles, and chains that are too long. A depth-first search with an explicit stack, because
    /// the graph is untrusted input.
    fn cycles(&self, ids: &HashMap<&str, usize>, problems: &mut Vec<GraphProblem>) {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Never,
            OnTheWay,
            Done { n_routers: u32 },
        }
        let mut seen = vec![Seen::Never; self.nodes.len()];
        for start in 0..self.nodes.len() {
            if seen[start] != Seen::Never {
                continue;
            }
            seen[start] = Seen::OnTheWay;
            let mut stack = vec![(start, self.nodes[start].ways(), 0)];
            while let Some((at, ways, deepest)) = stack.last_mut() {
                let at = *at;
                let Some((rule_index, to)) = ways.next() else {
                    let is_router = self.nodes[at].kind == NodeKind::Router;
                    let n_routers = *deepest + u32::from(is_router);
                    seen[at] = Seen::Done { n_routers };
                    stack.pop();
                    if let Some((_, _, deepest)) = stack.last_mut() {
                        *deepest = n_routers.max(*deepest);
                    }
                    continue;
                };
                let Some(&next) = ids.get(to) else { continue };
                match seen[next] {
                    Seen::Never => {
                        seen[next] = Seen::OnTheWay;
                        stack.push((next, self.nodes[next].ways(), 0));
                    }
                    Seen::OnTheWay => {
                        let site = Site::node(at, &self.nodes[at].id);
                        let site = way(&site, rule_index);
                        let expected = "a way that does not lead back, or `max_hops` in the graph";
                        problems.push(site.problem(ProblemCode::CycleWithoutGuard, expected));
                    }
                    Seen::Done { n_routers } => *deepest = n_routers.max(*deepest),
                }
            }
        }
        let entry = ids.get(self.entry.as_str()).map(|entry| seen[*entry]);
        if let Some(Seen::Done { n_routers }) = entry
            && n_routers > HOPS_MAX
        {
            let expected = format!("at most {HOPS_MAX} routers in a row, not {n_routers}");
            problems.push(Site::graph("entry").problem(ProblemCode::TooDeep, expected));
        }
    }
}

fn way<'i>(site: &Site<'i>, rule_index: Option<usize>) -> Site<'i> {
    match rule_index {
        Some(index) => site.rule(index).field("goto"),
        None => site.field("default"),
    }
}

fn check_node(
    node: &Node,
    site: &Site<'_>,
    ids: &HashMap<&str, usize>,
    problems: &mut Vec<GraphProblem>,
) {
    problems.extend(text_problem(node.description.as_deref(), &site.field("description")));
    match node.kind {
        NodeKind::Router => {
            if node.default.is_none() {
                let expected = "where a turn goes that no rule holds for";
                problems.push(site.field("default").problem(ProblemCode::NoDefault, expected));
            }
            if node.agent.is_some() {
                let expected = "none; a router holds no conversation";
                problems.push(site.field("agent").problem(ProblemCode::Misplaced, expected));
            }
        }
        NodeKind::Specialist => {
            let agent = node.agent.as_deref().unwrap_or_default();
            if let Err(error) = agent.parse::<AgentId>() {
                let expected = format!("the agent that answers, {}", error.expected);
                problems.push(site.field("agent").problem(ProblemCode::SchemaInvalid, expected));
            }
            let misplaced =
                [(!node.rules.is_empty(), "rules"), (node.default.is_some(), "default")];
            for (_, name) in misplaced.into_iter().filter(|(is_there, _)| *is_there) {
                let expected = "none; a specialist does not choose";
                problems.push(site.field(name).problem(ProblemCode::Misplaced, expected));
            }
        }
    }
    for (rule_index, to) in node.ways().filter(|(_, to)| *to != HUMAN && !ids.contains_key(to)) {
        let shown: String = to.chars().take(SHOWN_CHARS_MAX).collect();
        let expected = format!("the id of a node, or `human`; there is no `{shown}`");
        problems.push(way(site, rule_index).problem(ProblemCode::UnknownNode, expected));
    }
    for (index, rule) in node.rules.iter().enumerate() {
        check_rule(rule, &site.rule(index), problems);
    }
}

fn check_rule(rule: &Rule, site: &Site<'_>, problems: &mut Vec<GraphProblem>) {
    if rule.is_empty() {
        let expected = "at least one condition; without one, use `default`";
        problems.push(site.problem(ProblemCode::EmptyRule, expected));
    }
    problems.extend(text_problem(rule.reason.as_deref(), &site.field("reason")));
    if let Some(words) = &rule.keywords {
        for (list, name) in [(&words.any, "keywords.any"), (&words.all, "keywords.all")] {
            check_list(list, &site.field(name), problems, |word| {
                let is_sound = !fold(word).is_empty() && word.len() <= KEYWORD_BYTES_MAX;
                (!is_sound).then(|| format!("1 to {KEYWORD_BYTES_MAX} bytes that can be seen"))
            });
        }
    }
    if let Some(regex) = &rule.regex {
        problems.extend(regex_problem(regex, &site.field("regex")));
    }
    check_list(&rule.language, &site.field("language"), problems, |tag| {
        let is_tag = tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let is_sound = is_tag && !tag.is_empty() && tag.len() <= LABEL_BYTES_MAX;
        (!is_sound).then(|| LANGUAGE_EXPECTED.to_owned())
    });
    if let Some(intent) = &rule.intent {
        problems.extend(label_problem(&intent.label).map(|expected| {
            site.field("intent.label").problem(ProblemCode::SchemaInvalid, expected)
        }));
        if !(0.0..=1.0).contains(&intent.min_confidence) {
            let site = site.field("intent.min_confidence");
            problems.push(site.problem(ProblemCode::SchemaInvalid, "a number from 0 to 1"));
        }
    }
    if rule.attributes.len() > RULE_ITEMS_MAX {
        let expected = format!("at most {RULE_ITEMS_MAX}");
        problems.push(site.field("attributes").problem(ProblemCode::TooLarge, expected));
    }
    for (name, condition) in &rule.attributes {
        let shown: String = name.chars().take(SHOWN_CHARS_MAX).collect();
        let site = site.field(&format!("attributes.{shown}"));
        let problem = label_problem(name);
        problems.extend(problem.map(|what| site.problem(ProblemCode::SchemaInvalid, what)));
        match condition {
            AttributeCondition::OneOf(values) if values.is_empty() => {
                let site = site.field("one_of");
                problems.push(site.problem(ProblemCode::EmptyRule, "at least one value"));
            }
            AttributeCondition::OneOf(values) if values.len() > RULE_ITEMS_MAX => {
                let expected = format!("at most {RULE_ITEMS_MAX}");
                problems.push(site.field("one_of").problem(ProblemCode::TooLarge, expected));
            }
            AttributeCondition::OneOf(_)
            | AttributeCondition::Equals(_)
            | AttributeCondition::Exists(_) => {}
        }
    }
}

fn check_list(
    list: &[String],
    site: &Site<'_>,
    problems: &mut Vec<GraphProblem>,
    wrong: impl Fn(&str) -> Option<String>,
) {
    if list.len() > RULE_ITEMS_MAX {
        let expected = format!("at most {RULE_ITEMS_MAX}");
        problems.push(site.problem(ProblemCode::TooLarge, expected));
    }
    for (index, item) in list.iter().enumerate() {
        if let Some(expected) = wrong(item) {
            problems.push(site.item(index).problem(ProblemCode::SchemaInvalid, expected));
        }
    }
}

fn text_problem(text: Option<&str>, site: &Site<'_>) -> Option<GraphProblem> {
    let text = text?;
    let is_line = !text.chars().any(|it| it.is_control() || is_forbidden(it));
    let is_sound = is_line && text.len() <= GRAPH_TEXT_BYTES_MAX;
    let expected = format!("one line of at most {GRAPH_TEXT_BYTES_MAX} bytes");
    (!is_sound).then(|| site.problem(ProblemCode::SchemaInvalid, expected))
}
