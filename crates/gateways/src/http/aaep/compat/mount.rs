//! The agent that a request on this layout is for, and who asks.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use protocol::ids::AgentId;
use protocol::ledger::{Stream, Subject};
use protocol::step::State as Aggregate;

use super::lines::LineKey;
use super::settings::{Open, Player};
use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::{Asker, authenticate, bearer_secret, is_loopback_name};
use crate::http::shared::credential::Credential;
use crate::http::shared::input::Named;
use crate::http::shared::problem::Problem;

/// The caller, and the agent that it talks to.
#[derive(Debug, Clone)]
pub struct Mount {
    pub asker: Asker,
    pub agent: AgentId,
    pub agent_name: Option<String>,
    /// The secret with which to check again whether the caller is still allowed.
    pub secret: Option<String>,
}

impl Mount {
    /// The streams that belong together: one caller at one agent.
    pub fn key(&self) -> LineKey {
        let caller = &self.asker.caller;
        LineKey {
            teamspace: caller.teamspace.clone(),
            listener: caller.principal.to_string(),
            agent: self.agent.clone(),
        }
    }

    /// The handler of user input to this agent, unless the agent gets it in its mailbox.
    pub fn player<'a>(&self, aaep: &'a Aaep) -> Option<&'a Player> {
        let player = aaep.compat.settings.player.as_ref();
        let teamspace = &self.asker.caller.teamspace;
        player.filter(|player| player.agent == self.agent && player.teamspace == *teamspace)
    }
}

impl FromRequestParts<Aaep> for Mount {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, gateway: &Aaep) -> Result<Self, Problem> {
        let agent = Named::<AgentId>::from_request_parts(parts, gateway).await;
        let asker = match (&agent, comes_freely(gateway, parts)?) {
            (Ok(Named(agent)), Some(open)) if open.agent == *agent => {
                Asker { caller: open.caller.clone(), credential: Credential::Open }
            }
            (Ok(_) | Err(_), Some(_) | None) => authenticate(gateway, parts).await?.member()?,
        };
        let Named(agent) = agent?;
        let subject = Subject::Agent(agent.clone());
        let stream = Stream { teamspace: asker.caller.teamspace.clone(), subject };
        let found = gateway.engine.read().current(&stream).await?;
        let Some(Aggregate::Agent(found)) = found.as_deref() else {
            return Err(Problem::not_found("agent"));
        };
        let agent_name = Some(found.profile.name.clone()).filter(|name| !name.is_empty());
        let secret = bearer_secret(&parts.headers)?.map(str::to_owned);
        Ok(Self { asker, agent, agent_name, secret })
    }
}

/// What is open to a caller without a token, if it is on this machine: a program, or a page that
/// this machine serves or that was allowed.
pub fn comes_freely<'a>(aaep: &'a Aaep, parts: &Parts) -> Result<Option<&'a Open>, Problem> {
    let Some(open) = &aaep.compat.settings.open else { return Ok(None) };
    if parts.headers.contains_key(header::AUTHORIZATION) || !aaep.is_called_from_here(parts) {
        return Ok(None);
    }
    if page_of_this_machine(&parts.headers).is_none() {
        aaep.origins.check(&parts.headers)?;
    }
    Ok(Some(open))
}

/// The origin of a page that comes from this machine itself, such as one that is being developed.
pub fn page_of_this_machine(headers: &HeaderMap) -> Option<&HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    is_loopback_name(origin.to_str().ok()?).then_some(origin)
}
