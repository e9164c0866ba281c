//! The kinds of readers of a conversation. Notes and whispers are for people only. No customer gets
//! them, and no bot, whatever it held, opened or has as a role.

use crate::agent::Kind;
use crate::caller::{Caller, Principal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The customer of the conversation.
    Customer,
    /// A human of the directory, or an operator.
    Person,
    /// A worker or a system agent: a model, or a program in front of one.
    Program,
}

impl Reader {
    /// `kind` is the kind of the calling agent in the directory. A caller that is not in it is no
    /// person.
    pub fn of(caller: &Caller, kind: Option<Kind>) -> Self {
        match (&caller.principal, kind) {
            (Principal::Customer(_), _) => Reader::Customer,
            (Principal::Operator(_), _) => Reader::Person,
            (Principal::Agent(_), Some(Kind::Human)) => Reader::Person,
            (Principal::Agent(_), Some(Kind::Worker | Kind::System | Kind::Queue) | None) => {
                Reader::Program
            }
            (Principal::System, _) => Reader::Program,
        }
    }

    /// Whether the name alone allows the reader to read entries of this name.
    pub fn may_read(self, name: &str) -> bool {
        match self {
            Reader::Person => true,
            Reader::Customer | Reader::Program => !is_between_people(name),
        }
    }
}

/// Whether entries of this name are for people only: notes and whispers. The name of an erased
/// entry is all that is left of its event.
pub fn is_between_people(name: &str) -> bool {
    name == "transfer.noted"
}

/// Whether a customer learns of entries of this name although they show nothing of them.
pub fn begins_or_ends(name: &str) -> bool {
    ["conversation.opened", "conversation.closed"].contains(&name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::caller::Role;
    use crate::ids::TeamspaceId;

    #[test]
    fn notes_and_whispers_are_for_people() {
        let id = || "ana".parse().expect("a name");
        let agent = Principal::Agent(id());
        let rows = [
            (Principal::Customer(id()), None, false),
            (Principal::Operator(id()), None, true),
            (Principal::System, None, false),
            (agent.clone(), Some(Kind::Human), true),
            (agent.clone(), Some(Kind::Worker), false),
            (agent.clone(), Some(Kind::System), false),
            (agent.clone(), Some(Kind::Queue), false),
            (agent, None, false),
        ];
        for (principal, kind, expected) in rows {
            // Roles do not make an agent a person.
            let roles = BTreeSet::from(Role::ALL);
            let teamspace = TeamspaceId::default_teamspace();
            let caller = Caller { teamspace, principal, roles, session: String::new() };
            let reader = Reader::of(&caller, kind);
            assert_eq!(reader.may_read("transfer.noted"), expected, "{caller:?} {kind:?}");
            assert!(reader.may_read("conversation.said"));
        }
    }
}
