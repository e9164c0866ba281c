//! What a deadline means when its time has come.

use super::{Command, Deadline};
use crate::conversation::silence;
use crate::ledger::Subject;
use crate::{
    agent, conversation, file, handoff, message, question, session, subscription, transfer,
};

/// The command that a deadline becomes when its time has come; `None` if it means nothing.
pub fn elapsed(subject: &Subject, deadline: &Deadline) -> Option<Command> {
    let due = deadline.due;
    Some(match subject {
        Subject::Handoff(_) => {
            let name = deadline.name.as_ref();
            if name == handoff::recall::RECALL {
                return Some(Command::Handoff(handoff::Command::ElapseRecall { due }));
            }
            Command::Handoff(match name.strip_prefix(handoff::derive::WARN) {
                Some(stage) => handoff::Command::Warn { stage: stage.parse().ok()?, at: due },
                None => handoff::Command::Elapse { stage: name.parse().ok()?, due },
            })
        }
        Subject::Message(_) => Command::Message(message::Command::Elapse { due }),
        Subject::Subscription(_) => Command::Subscription(subscription::Command::Elapse { due }),
        Subject::Agent(_) => Command::Agent(agent::Command::Elapse { due }),
        Subject::Conversation(_) => Command::Conversation(match deadline.name.as_ref() {
            silence::SILENT => conversation::Command::MissAnswer { due },
            silence::REPLY => conversation::Command::RemindPerson { due },
            _ => conversation::Command::Transfer(transfer::Command::Elapse { due }),
        }),
        Subject::File(_) => Command::File(file::Command::Elapse { due }),
        Subject::Question(_) => Command::Question(question::Command::Elapse { due }),
        Subject::Session(_) => Command::Session(session::Command::Elapse { due }),
        Subject::Token(_)
        | Subject::Teamspace
        | Subject::Graph(_)
        | Subject::Webhook(_)
        | Subject::Ledger => return None,
    })
}
