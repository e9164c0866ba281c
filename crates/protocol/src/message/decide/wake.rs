//! `woken` and `not_woken`: the result of a wake call to a recipient of a critical message. Only
//! the server sends them. They are ignored once the recipient has seen the message.

use crate::caller::Principal;
use crate::facts::Context;
use crate::ids::AgentId;
use crate::message::event::{Event, Failed, Woken};
use crate::message::state::Message;
use crate::rejection::Rejection;

/// How much of an error is recorded: enough to find its cause.
const DETAIL_BYTES_MAX: usize = 300;

pub fn woken(
    state: Option<&Message>,
    agent: &AgentId,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let Some(message) = wanting(state, agent, context)? else { return Ok(Vec::new()) };
    let (from, to) = (message.sent.from.clone(), vec![agent.clone()]);
    Ok(vec![Event::Woken(Woken { from, to })])
}

pub fn not_woken(
    state: Option<&Message>,
    agent: &AgentId,
    detail: &str,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let Some(message) = wanting(state, agent, context)? else { return Ok(Vec::new()) };
    let (from, to) = (message.sent.from.clone(), vec![agent.clone()]);
    let end = detail.floor_char_boundary(DETAIL_BYTES_MAX);
    Ok(vec![Event::Failed(Failed { from, to, detail: detail[..end].to_owned() })])
}

/// The message, if this recipient is still to be woken.
fn wanting<'a>(
    state: Option<&'a Message>,
    agent: &AgentId,
    context: Context<'_>,
) -> Result<Option<&'a Message>, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            let action = "report the result of a wake call";
            return Err(Rejection::NotAllowed { action, who: "the server" });
        }
    }
    Ok(state.filter(|message| message.to_wake().any(|name| name == agent)))
}
