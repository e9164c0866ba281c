//! A fork of the ledger: entries that a signed checkpoint vouches for are missing, as after a
//! restore, and an operator decides to continue without them. The fork is recorded in the stream of
//! the ledger itself, so that an audit can tell a declared loss from tampering.

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::canonical::{self, Hash};
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;

/// The state of the ledger itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forks {
    pub n_declared: u64,
    /// The last declared fork.
    pub last: Forked,
}

/// The checkpoint that the ledger no longer matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    pub size: u64,
    pub root: Hash,
}

impl Lost {
    /// The root of a checkpoint of which only the size is known.
    pub const UNKNOWN_ROOT: Hash = [0; 32];
}

/// Declares the loss and continues without the lost entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    pub lost: Lost,
    pub reason: String,
}

/// The ledger continues from the entry before this one, and not from the lost checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    pub lost_size: u64,
    /// In hexadecimal.
    pub lost_root: String,
    pub reason: String,
}

impl Forked {
    pub const NAME: &'static str = "ledger.forked";
}

pub fn decide(fork: &Fork, caller: &Caller) -> Result<Forked, Rejection> {
    if !caller.is_operator() {
        return Err(Rejection::NotAllowed { action: "declare a fork", who: "an operator" });
    }
    if is_blank(&fork.reason) {
        return Err(Rejection::SchemaInvalid {
            field: "reason".to_owned(),
            expected: "why the ledger goes on without what was lost".to_owned(),
        });
    }
    check_text("reason", Some(&fork.reason))?;
    let Lost { size, root } = &fork.lost;
    let lost_root = canonical::hex(root);
    Ok(Forked { lost_size: *size, lost_root, reason: fork.reason.clone() })
}

pub fn evolve(state: Option<Forks>, forked: &Forked) -> Forks {
    let n_before = state.map_or(0, |forks| forks.n_declared);
    Forks { n_declared: n_before + 1, last: forked.clone() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::caller::Principal;
    use crate::ids::TeamspaceId;

    #[test]
    fn an_operator_declares_it_with_a_reason() {
        let operator = Principal::Operator("root".parse().unwrap());
        let forked = decide(&fork("the disk died"), &caller(operator.clone())).unwrap();
        assert_eq!((forked.lost_size, forked.lost_root), (120, "07".repeat(32)));
        let code = |reason: &str, principal: Principal| {
            decide(&fork(reason), &caller(principal)).unwrap_err().code()
        };
        assert_eq!(code(" ", operator.clone()), "schema_invalid");
        assert_eq!(code(&"x".repeat(1_000_000), operator), "schema_invalid");
        assert_eq!(code("why not", Principal::Agent("tim".parse().unwrap())), "not_allowed");
        assert_eq!(code("why not", Principal::System), "not_allowed");
    }

    #[test]
    fn declarations_are_counted() {
        let forked = |lost_size| Forked {
            lost_size,
            lost_root: "07".repeat(32),
            reason: "the disk died".to_owned(),
        };
        let first = evolve(None, &forked(120));
        let second = evolve(Some(first.clone()), &forked(300));
        assert_eq!((first.n_declared, second.n_declared), (1, 2));
        assert_eq!(second.last, forked(300));
    }

    fn fork(reason: &str) -> Fork {
        Fork { lost: Lost { size: 120, root: [7; 32] }, reason: reason.to_owned() }
    }

    fn caller(principal: Principal) -> Caller {
        Caller {
            teamspace: TeamspaceId::default_teamspace(),
            principal,
            roles: BTreeSet::new(),
            session: "test".to_owned(),
        }
    }
}
