//! Warnings about a command that was saved but does not work yet. It may work later, so the command
//! is not refused.

use super::{Command, Facts};
use crate::roles::{self, RoleAction};
use crate::warning::{self, Warning};
use crate::{agent, conversation, graph, handoff};

pub(super) fn of(command: &Command, facts: &Facts) -> Vec<Warning> {
    match command {
        Command::Conversation(conversation::Command::Open(open)) => {
            warning::missing(&open.named(), &facts.kinds)
        }
        Command::Agent(agent::Command::SetQueue { settings }) => {
            warning::missing(&settings.patience.named(), &facts.kinds)
        }
        Command::Graph(graph::Command::Save { graph, .. }) => {
            warning::missing(&graph.named(), &facts.kinds)
        }
        Command::Handoff(
            handoff::Command::Initiate { offer: Some(offer) } | handoff::Command::Draft { offer },
        ) => {
            let policy = offer.policy.as_ref();
            let unbound = policy.into_iter().flat_map(|it| unbound(&it.export_restrictions));
            cannot_accept(facts).into_iter().chain(unbound).collect()
        }
        Command::Handoff(
            handoff::Command::Initiate { offer: None }
            | handoff::Command::Delegate { .. }
            | handoff::Command::Reassign(_),
        ) => cannot_accept(facts).into_iter().collect(),
        Command::Handoff(handoff::Command::Counter { edit }) => {
            let unbound = unbound(edit.export_restrictions());
            cannot_accept(facts).into_iter().chain(unbound).collect()
        }
        Command::Handoff(_)
        | Command::Conversation(_)
        | Command::Agent(_)
        | Command::Graph(_)
        | Command::Token(_)
        | Command::Message(_)
        | Command::Teamspace(_)
        | Command::Subscription(_)
        | Command::Session(_)
        | Command::File(_)
        | Command::Webhook(_)
        | Command::Question(_)
        | Command::Erase { .. }
        | Command::Fork(_) => Vec::new(),
    }
}

/// Programs may agree on restrictions of their own, which the server keeps and does not enforce.
fn unbound(restrictions: &[String]) -> impl Iterator<Item = Warning> {
    let unbound = restrictions.iter().enumerate();
    let unbound = unbound.filter(|(_, rule)| handoff::restrictions::barred_agent(rule).is_none());
    unbound.map(|(index, _)| {
        let field = format!("policy.export_restrictions[{index}]");
        let detail = "the server keeps this rule and does not enforce it: it enforces only \
                      `agent:` and the id of an agent";
        Warning::new(field, detail)
    })
}

/// The target has roles, but none that may accept work. It may get another role later.
fn cannot_accept(facts: &Facts) -> Option<Warning> {
    let target =
        facts.agent.as_ref().filter(|it| !roles::may(&it.roles, RoleAction::AcceptWork))?;
    let has: Vec<_> = target.roles.iter().map(ToString::to_string).collect();
    let detail = format!(
        "`{}` has the role {}, with which work cannot be accepted: only {} may do that",
        target.id,
        has.join(" and "),
        RoleAction::AcceptWork.who(),
    );
    Some(Warning::new("to_agent", detail))
}
