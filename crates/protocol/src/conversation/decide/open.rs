//! `open`: a conversation begins, held by an AI agent.

use crate::agent::Kind;
use crate::agent::kind::TARGET_EXPECTED;
use crate::caller::Principal;
use crate::conversation::command::Open;
use crate::conversation::event::{Event, Opened};
use crate::conversation::state::{
    ATTRIBUTES_MAX, CUSTOMER_FIELD_BYTES_MAX, Conversation, Customer, Setup,
};
use crate::conversation::topology::{HOPS_MAX_DEFAULT, HOPS_MAX_MAX, Topology};
use crate::facts::Context;
use crate::hidden::is_blank;
use crate::ids::AgentId;
use crate::rejection::Rejection;
use crate::route::graph::{CUSTOMER_QUEUES_MAX, Scalar};
use crate::route::limits::LABEL_BYTES_MAX;
use crate::warning::check_kinds;

pub fn decide(
    state: Option<&Conversation>,
    open: &Open,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    match context.caller.principal {
        Principal::Agent(_) | Principal::Operator(_) => {}
        Principal::Customer(_) | Principal::System => {
            let who = "an agent or an operator";
            return Err(Rejection::NotAllowed { action: "open a conversation", who });
        }
    }
    if state.is_some() {
        return Err(Rejection::AlreadyExists { what: "a conversation of that id" });
    }
    check_customer(&open.customer)?;
    open.topology.check()?;
    let hops_max = open.hops_max.unwrap_or(HOPS_MAX_DEFAULT);
    if !(1..=HOPS_MAX_MAX).contains(&hops_max) {
        return Err(invalid("hops_max", &format!("a number from 1 to {HOPS_MAX_MAX}")));
    }
    check_attributes(open)?;
    if open.customer_queues.len() > CUSTOMER_QUEUES_MAX {
        return Err(invalid("customer_queues", &format!("at most {CUSTOMER_QUEUES_MAX}")));
    }
    check_signals(open)?;
    let graph_first = first_of_graph(open, context)?;
    let named = open.agent.as_ref().map(|agent| ("agent", agent));
    let led = open.topology.first().map(|agent| (open.topology.first_field(), agent));
    let first = named.or(led).or(graph_first.map(|agent| ("graph", agent)));
    let (field, holder) =
        first.ok_or_else(|| invalid("agent", "an agent id, but it is missing"))?;
    let is_in_it = open.topology.first().is_none() || open.topology.has(holder);
    if !is_in_it {
        return Err(invalid(field, "an agent of the topology"));
    }
    let unknown = Rejection::UnknownAgent { field, agent: holder.clone() };
    let known = context.facts.agent.as_ref().ok_or(unknown)?;
    match known.kind {
        Kind::Worker if known.is_target() => {}
        Kind::Worker => return Err(invalid(field, TARGET_EXPECTED)),
        // A supervisor routes, and may hold a conversation before a worker answers it.
        Kind::System if open.topology.supervisor() == Some(holder) => {}
        Kind::System | Kind::Human | Kind::Queue => {
            return Err(invalid(field, "a worker, or the supervisor of the topology"));
        }
    }
    check_kinds(&open.named(), &context.facts.kinds)?;
    let setup = Setup {
        opened_by: context.caller.principal.to_string(),
        customer: open.customer.clone(),
        topology: open.topology.clone(),
        graph: open.graph.clone(),
        attributes: open.attributes.clone(),
        customer_queues: open.customer_queues.clone(),
        signals: open.signals.clone(),
        hops_max,
    };
    Ok(vec![Event::Opened(Box::new(Opened { holder: holder.clone(), setup }))])
}

/// The first agent by the graph, if there is one.
fn first_of_graph<'c>(open: &Open, context: Context<'c>) -> Result<Option<&'c AgentId>, Rejection> {
    if open.graph.is_none() {
        return Ok(None);
    }
    if open.topology != Topology::Free {
        return Err(invalid("topology", "none, as the graph says who answers"));
    }
    match &context.facts.graph {
        Some(graph) => Ok(graph.compiled().first()),
        None => Err(invalid("graph", "a graph that was saved in this teamspace")),
    }
}

fn check_signals(open: &Open) -> Result<(), Rejection> {
    if open.graph.is_some() && !open.signals.is_empty() {
        return Err(invalid("signals", "none, as the graph has rules about signals"));
    }
    match open.signals.problems().into_iter().next() {
        Some(problem) => Err(invalid(&format!("signals.{}", problem.field), &problem.expected)),
        None => Ok(()),
    }
}

fn check_attributes(open: &Open) -> Result<(), Rejection> {
    if open.attributes.len() > ATTRIBUTES_MAX {
        return Err(invalid("attributes", &format!("at most {ATTRIBUTES_MAX}")));
    }
    let is_sound = |text: &str| text.len() <= LABEL_BYTES_MAX;
    let wrong = |(name, value): &(&String, &Scalar)| {
        name.is_empty() || !is_sound(name) || !is_sound(value.as_str())
    };
    match open.attributes.iter().find(wrong) {
        Some(_) => {
            let expected = format!("names and values of at most {LABEL_BYTES_MAX} bytes");
            Err(invalid("attributes", &expected))
        }
        None => Ok(()),
    }
}

fn check_customer(customer: &Customer) -> Result<(), Rejection> {
    let texts = [
        ("customer.external_id", &customer.external_id),
        ("customer.name", &customer.name),
        ("customer.language", &customer.language),
    ];
    let is_unsound = |text: &String| {
        is_blank(text)
            || text.len() > CUSTOMER_FIELD_BYTES_MAX
            || text.chars().any(char::is_control)
    };
    match texts.iter().find(|(_, text)| text.as_ref().is_some_and(is_unsound)) {
        Some((field, _)) => {
            Err(invalid(field, &format!("one line of 1 to {CUSTOMER_FIELD_BYTES_MAX} bytes")))
        }
        None => Ok(()),
    }
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
