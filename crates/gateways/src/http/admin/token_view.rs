//! A token in answers.

use engine::read::query::Item;
use protocol::caller::Role;
use protocol::step::State;
use protocol::token::{BearerKind, Token};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenView {
    pub token_id: String,
    pub agent: String,
    pub bearer: BearerKind,
    pub roles: Vec<Role>,
    pub issued_at: String,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
}

/// A new token. The secret is shown here and never again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenIssued {
    pub token_id: String,
    pub token: String,
}

pub fn token(item: &Item) -> Option<TokenView> {
    let State::Token(token) = item.state.as_ref() else { return None };
    let Token { id, grant, issued_at, revoked_at, .. } = token;
    Some(TokenView {
        token_id: id.to_string(),
        agent: grant.bearer.to_string(),
        bearer: grant.bearer_kind,
        roles: grant.roles.iter().copied().collect(),
        issued_at: issued_at.to_string(),
        expires_at: grant.expires_at.map(|at| at.to_string()),
        revoked_at: revoked_at.map(|at| at.to_string()),
    })
}
