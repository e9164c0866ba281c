//! `ask`: an agent asks a person or a queue.

use base::lookalike::AsRead;
use serde_json::Value;

use super::check_given;
use crate::agent::Kind as AgentKind;
use crate::facts::Context;
use crate::hidden::is_blank;
use crate::ids::AgentId;
use crate::json;
use crate::question::command::Ask;
use crate::question::event::{Addressee, Asked, Decision, Event, Kind, Parties, hash_of};
use crate::question::{
    ACTION_BYTES_MAX, ARGUMENTS_BYTES_MAX, OPTION_BYTES_MAX, OPTIONS_MAX, REFERENCE_BYTES_MAX,
    TEXT_BYTES_MAX, TIMEOUT_DEFAULT, TIMEOUT_MAX, TIMEOUT_MIN, WORKERS_MAX,
};
use crate::rejection::Rejection;

pub fn decide(ask: &Ask, context: Context<'_>) -> Result<Event, Rejection> {
    let Some(asker) = context.caller.agent() else {
        return Err(Rejection::NotAllowed { action: "ask a question", who: "an agent" });
    };
    check_texts(ask)?;
    check_options(ask)?;
    check_default(ask)?;
    let (to, to_kind) = addressee(ask, asker, context)?;
    check_workers(ask, context)?;
    let timeout = ask.timeout.unwrap_or(TIMEOUT_DEFAULT);
    if !(TIMEOUT_MIN..=TIMEOUT_MAX).contains(&timeout) {
        let expected = format!("a span from {TIMEOUT_MIN} to {}", TIMEOUT_MAX.in_days());
        return invalid("timeout", expected);
    }
    let arguments = ask.arguments.clone();
    let mut asked = Asked {
        parties: Parties { asker: asker.clone(), to, to_kind },
        text: ask.text.clone(),
        wants: ask.wants,
        options: ask.options.clone(),
        action: ask.action.clone(),
        arguments_hash: arguments.clone().map(|fields| hash_of(&Value::Object(fields))),
        arguments,
        hash: String::new(),
        irreversible: ask.irreversible,
        until: context.now.plus(timeout),
        default: ask.default.clone(),
        workers: ask.workers.clone(),
        reference: ask.reference.clone(),
        task_id: ask.task_id.clone(),
    };
    asked.hash = asked.shown_hash();
    Ok(Event::Asked(Box::new(asked)))
}

/// The person or the queue.
fn addressee(
    ask: &Ask,
    asker: &AgentId,
    context: Context<'_>,
) -> Result<(AgentId, Addressee), Rejection> {
    let Some(to) = &ask.to else {
        let queue = context.facts.queue.as_ref().filter(|it| it.kind == AgentKind::Queue);
        let queue = queue.ok_or(Rejection::NoDefaultQueue { field: "to" })?;
        return Ok((queue.id.clone(), Addressee::Queue));
    };
    let unknown = || Rejection::UnknownAgent { field: "to", agent: to.clone() };
    let known = context.facts.agent.as_ref().filter(|it| it.id == *to).ok_or_else(unknown)?;
    match known.kind {
        AgentKind::Human if known.id != *asker => Ok((to.clone(), Addressee::Person)),
        AgentKind::Queue => Ok((to.clone(), Addressee::Queue)),
        AgentKind::Human | AgentKind::Worker | AgentKind::System => {
            invalid("to", "a human other than the asker, or a queue".to_owned())
        }
    }
}

fn check_texts(ask: &Ask) -> Result<(), Rejection> {
    if is_blank(&ask.text) || ask.text.len() > TEXT_BYTES_MAX {
        let expected = format!("text that is not blank, of at most {TEXT_BYTES_MAX} bytes");
        return invalid("text", expected);
    }
    check_line("action", ask.action.as_deref(), ACTION_BYTES_MAX)?;
    check_line("reference", ask.reference.as_deref(), REFERENCE_BYTES_MAX)?;
    if let Some(arguments) = &ask.arguments
        && json::text_of(arguments, 512).len() > ARGUMENTS_BYTES_MAX
    {
        return invalid("arguments", format!("at most {ARGUMENTS_BYTES_MAX} bytes of JSON"));
    }
    Ok(())
}

fn check_options(ask: &Ask) -> Result<(), Rejection> {
    let options = &ask.options;
    match ask.wants {
        Kind::Choose if !(2..=OPTIONS_MAX).contains(&options.len()) => {
            return invalid("options", format!("2 to {OPTIONS_MAX} options for `choose`"));
        }
        Kind::Approve | Kind::Text if !options.is_empty() => {
            return invalid("options", "to be left out, except for `choose`".to_owned());
        }
        Kind::Choose | Kind::Approve | Kind::Text => {}
    }
    // A person must be able to tell them apart.
    let mut before: Vec<AsRead> = Vec::with_capacity(options.len());
    for (index, option) in options.iter().enumerate() {
        let field = format!("options[{index}]");
        check_line(&field, Some(option), OPTION_BYTES_MAX)?;
        let read = AsRead::of(option);
        if let Some(earlier) = before.iter().position(|it| it.looks_like(&read)) {
            return invalid(
                &field,
                format!("an option that does not look like options[{earlier}]"),
            );
        }
        before.push(read);
    }
    Ok(())
}

fn check_default(ask: &Ask) -> Result<(), Rejection> {
    let Some(default) = &ask.default else { return Ok(()) };
    check_given(("default", default), ask.wants, &ask.options)?;
    if ask.irreversible && default.decision != Decision::Decline {
        let rule =
            "a timeout never says yes to what cannot be undone; use `decline`, or no default";
        let field = "default.decision".to_owned();
        return Err(Rejection::PolicyViolation { field, rule: rule.to_owned() });
    }
    Ok(())
}

fn check_workers(ask: &Ask, context: Context<'_>) -> Result<(), Rejection> {
    if ask.workers.len() > WORKERS_MAX {
        return invalid("workers", format!("at most {WORKERS_MAX} agents"));
    }
    let unknown = ask.workers.iter().find(|it| !context.facts.directory.contains(it));
    match unknown {
        Some(agent) => Err(Rejection::UnknownAgent { field: "workers", agent: agent.clone() }),
        None => Ok(()),
    }
}

fn check_line(field: &str, text: Option<&str>, bytes_max: usize) -> Result<(), Rejection> {
    match text {
        Some(text) if is_blank(text) || text.len() > bytes_max || text.contains('\n') => {
            invalid(field, format!("one line of 1 to {bytes_max} bytes"))
        }
        Some(_) | None => Ok(()),
    }
}

fn invalid<T>(field: &str, expected: String) -> Result<T, Rejection> {
    Err(Rejection::SchemaInvalid { field: field.to_owned(), expected })
}
