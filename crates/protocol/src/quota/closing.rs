//! Which commands bring something to its end, or only note what happened. They pass where a quota
//! or the disk is full: else nothing could make room, and what is under way could not end.

use crate::aggregate::Command;
use crate::transfer::command::Act;
use crate::{
    agent, callback, conversation, file, graph, handoff, message, question, session, subscription,
    token, transfer, webhook,
};

impl Command {
    /// Besides these, every command that frees a [`Thing`](super::Thing) passes.
    pub fn is_closing(&self) -> bool {
        match self {
            Command::Handoff(command) => is_handoff_closing(command),
            Command::Conversation(command) => is_conversation_closing(command),
            Command::Session(command) => match command {
                session::Command::Announce { .. } => false,
                session::Command::Answer(_)
                | session::Command::Elapse { .. }
                | session::Command::Withdraw
                | session::Command::End
                | session::Command::HandOver(_)
                | session::Command::Deliver { .. } => true,
            },
            Command::Subscription(command) => match command {
                subscription::Command::Open(_) | subscription::Command::Agree { .. } => false,
                subscription::Command::Close { .. } | subscription::Command::Elapse { .. } => true,
            },
            Command::Message(command) => match command {
                message::Command::Send(_) => false,
                message::Command::Deliver
                | message::Command::Read
                | message::Command::Elapse { .. }
                | message::Command::Woken { .. }
                | message::Command::NotWoken { .. } => true,
            },
            Command::Graph(graph::Command::Remove) => true,
            Command::Graph(graph::Command::Save { .. }) => false,
            Command::Token(token::Command::Revoke) => true,
            Command::Token(token::Command::Issue { .. }) => false,
            Command::Agent(command) => is_agent_closing(command),
            Command::Webhook(command) => match command {
                webhook::Command::Create { .. }
                | webhook::Command::Change { .. }
                | webhook::Command::RotateKey { .. }
                | webhook::Command::Resume { .. } => false,
                webhook::Command::Pause { .. }
                | webhook::Command::SetAside(_)
                | webhook::Command::Settle { .. }
                | webhook::Command::Remove => true,
            },
            Command::File(command) => match command {
                file::Command::Store { .. } | file::Command::Refer { .. } => false,
                file::Command::Release { .. }
                | file::Command::Elapse { .. }
                | file::Command::NoteDeleted => true,
            },
            Command::Question(command) => match command {
                question::Command::Ask(_) => false,
                question::Command::Answer(_)
                | question::Command::Withdraw(_)
                | question::Command::Claim(_)
                | question::Command::Renew { .. }
                | question::Command::Finish(_)
                | question::Command::Elapse { .. } => true,
            },
            Command::Teamspace(_) => false,
            Command::Erase { .. } | Command::Fork(_) => true,
        }
    }
}

fn is_agent_closing(command: &agent::Command) -> bool {
    match command {
        agent::Command::Register { .. }
        | agent::Command::Introduce
        | agent::Command::SetRoles { .. }
        | agent::Command::SetWake { .. }
        | agent::Command::SetEndpoint { .. }
        | agent::Command::SetQueue { .. }
        | agent::Command::SetPresence { .. } => false,
        agent::Command::ReadNotices { .. }
        | agent::Command::MuteNotices { .. }
        | agent::Command::Connect
        | agent::Command::LoseConnection
        | agent::Command::Elapse { .. } => true,
    }
}

/// What leads to the end of a handoff passes too: each can be done once in a state.
fn is_handoff_closing(command: &handoff::Command) -> bool {
    match command {
        handoff::Command::Draft { .. }
        | handoff::Command::Initiate { .. }
        | handoff::Command::Counter { .. }
        | handoff::Command::ExtendSla { .. }
        | handoff::Command::Delegate { .. }
        | handoff::Command::Reassign(_)
        | handoff::Command::Progress(_)
        | handoff::Command::Dispute { .. } => false,
        handoff::Command::Accept(_)
        | handoff::Command::Verified { .. }
        | handoff::Command::WorkqAnswered { .. }
        | handoff::Command::Approve { .. }
        | handoff::Command::Refuse { .. }
        | handoff::Command::Withdraw { .. }
        | handoff::Command::Follow(_)
        | handoff::Command::Child(_)
        | handoff::Command::Reject(_)
        | handoff::Command::Activate { .. }
        | handoff::Command::Recall { .. }
        | handoff::Command::Complete(_)
        | handoff::Command::Confirm { .. }
        | handoff::Command::Close { .. }
        | handoff::Command::Discard { .. }
        | handoff::Command::Warn { .. }
        | handoff::Command::Elapse { .. }
        | handoff::Command::ElapseRecall { .. } => true,
    }
}

fn is_conversation_closing(command: &conversation::Command) -> bool {
    match command {
        conversation::Command::Open(_)
        | conversation::Command::Say(_)
        | conversation::Command::Route(_)
        | conversation::Command::ObserveSignals(_)
        | conversation::Command::Select { .. } => false,
        conversation::Command::Close { .. }
        | conversation::Command::Delivered { .. }
        | conversation::Command::ShowProgress { .. }
        | conversation::Command::MissAnswer { .. }
        | conversation::Command::RemindPerson { .. }
        | conversation::Command::NotDelivered { .. } => true,
        conversation::Command::Callback(callback::Command::Ask(_)) => false,
        conversation::Command::Callback(callback::Command::Settle(_)) => true,
        conversation::Command::Transfer(command) => match command {
            transfer::Command::Request { .. } => false,
            transfer::Command::Act { act, .. } => is_act_closing(act),
            transfer::Command::Ring { .. }
            | transfer::Command::Lose { .. }
            | transfer::Command::Elapse { .. } => true,
        },
    }
}

fn is_act_closing(act: &Act) -> bool {
    match act {
        Act::Pickup { .. }
        | Act::Accept
        | Act::Hold
        | Act::Resume
        | Act::Transfer(_)
        | Act::Note { .. }
        | Act::Whisper { .. }
        | Act::Rate { .. } => false,
        Act::Decline { .. }
        | Act::Complete { .. }
        | Act::End { .. }
        | Act::Cancel { .. }
        | Act::Fail { .. } => true,
    }
}
