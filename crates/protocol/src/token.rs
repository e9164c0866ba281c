//! A credential: its bearer, teamspace, roles and expiry. The secret itself is never here, only its
//! SHA-256. The secret is 256 random bits, so the hash gives nothing away.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Principal, Role};
use crate::conversation::state::conversation_of;
use crate::ids::{AgentId, TokenId};
use crate::ledger::BadHistory;
use crate::rejection::Rejection;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    pub grant: Grant,
    pub secret_hash: String,
    pub issued_at: Time,
    pub revoked_at: Option<Time>,
}

/// What a token says about its bearer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub bearer: AgentId,
    pub bearer_kind: BearerKind,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BearerKind {
    /// An agent of the directory.
    Agent,
    Operator,
    Customer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Issue { grant: Grant, secret_hash: String },
    Revoke,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Issued(Issued),
    Revoked(Revoked),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    pub grant: Grant,
    pub secret_hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {}

pub fn decide(
    state: Option<&Token>,
    command: &Command,
    caller: &Caller,
    now: Time,
) -> Result<Vec<Event>, Rejection> {
    check_may_manage(command, caller)?;
    match (command, state) {
        (Command::Issue { .. }, Some(_)) => {
            Err(Rejection::AlreadyExists { what: "a token of that id" })
        }
        (Command::Issue { grant, secret_hash }, None) => {
            if grant.expires_at.is_some_and(|expiry| expiry <= now) {
                return Err(Rejection::SchemaInvalid {
                    field: "expires_at".to_owned(),
                    expected: "a time in the future".to_owned(),
                });
            }
            let issued = Issued { grant: grant.clone(), secret_hash: secret_hash.clone() };
            Ok(vec![Event::Issued(issued)])
        }
        (Command::Revoke, None) => Err(Rejection::NotFound { what: "token" }),
        (Command::Revoke, Some(token)) if token.revoked_at.is_some() => Ok(Vec::new()),
        (Command::Revoke, Some(_)) => Ok(vec![Event::Revoked(Revoked {})]),
    }
}

/// The customer of a conversation gets tokens from the server, on behalf of the caller who opened
/// the conversation. All others get them from an operator.
fn check_may_manage(command: &Command, caller: &Caller) -> Result<(), Rejection> {
    let is_of_conversation = match command {
        Command::Issue { grant, .. } => {
            grant.bearer_kind == BearerKind::Customer && conversation_of(&grant.bearer).is_some()
        }
        Command::Revoke => false,
    };
    match &caller.principal {
        Principal::Operator(_) if is_of_conversation => Err(Rejection::SchemaInvalid {
            field: "agent".to_owned(),
            expected: "another name; its conversation gives its customer tokens".to_owned(),
        }),
        Principal::Operator(_) => Ok(()),
        Principal::System if is_of_conversation => Ok(()),
        Principal::Agent(_) | Principal::Customer(_) | Principal::System => {
            Err(Rejection::NotAllowed { action: "manage tokens", who: "an operator" })
        }
    }
}

pub fn evolve(
    id: TokenId,
    state: Option<Token>,
    event: &Event,
    at: Time,
) -> Result<Token, BadHistory> {
    match (state, event) {
        (None, Event::Issued(issued)) => Ok(Token {
            id,
            grant: issued.grant.clone(),
            secret_hash: issued.secret_hash.clone(),
            issued_at: at,
            revoked_at: None,
        }),
        (Some(token), Event::Revoked(_)) => Ok(Token { revoked_at: Some(at), ..token }),
        (Some(_), Event::Issued(_)) | (None, Event::Revoked(_)) => {
            Err(BadHistory { event: event.name() })
        }
    }
}

impl Token {
    /// The principal of a request with this token, if the token is still valid.
    pub fn bearer(&self, now: Time) -> Option<Principal> {
        let has_ended =
            self.revoked_at.is_some() || self.grant.expires_at.is_some_and(|expiry| expiry <= now);
        if has_ended {
            return None;
        }
        let id = self.grant.bearer.clone();
        Some(match self.grant.bearer_kind {
            BearerKind::Agent => Principal::Agent(id),
            BearerKind::Operator => Principal::Operator(id),
            BearerKind::Customer => Principal::Customer(id),
        })
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Issued(_) => "token.issued",
            Event::Revoked(_) => "token.revoked",
        }
    }
}
