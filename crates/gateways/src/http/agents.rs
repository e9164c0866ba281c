//! `/v1/agents`: the directory of a teamspace.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use engine::port::ListOf;
use protocol::agent::{Command, Kind, Profile};
use protocol::caller::Role;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Gateway;
use super::auth::Asker;
use super::handoffs::{PageInput, parse_cursor, parse_limit};
use super::input::{Asked, Named, Write};
use super::problem::Problem;
use super::view::{self, AgentView, ListPage};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterInput {
    pub kind: Kind,
    #[serde(default)]
    pub profile: Profile,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RolesInput {
    /// All of them; those not named are taken away.
    pub roles: BTreeSet<Role>,
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    Asked(input): Asked<PageInput>,
) -> Result<Json<ListPage<AgentView>>, Problem> {
    let asker = asker.member()?;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = parse_cursor(input.cursor.as_deref())?;
    let page = gateway.engine.list(&asker.caller.teamspace, ListOf::Agents, before, limit).await?;
    Ok(Json(ListPage {
        items: page.items.iter().filter_map(view::agent).collect(),
        next_cursor: page.next.map(|row| row.to_string()),
    }))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<AgentId>,
) -> Result<Json<AgentView>, Problem> {
    let asker = asker.member()?;
    read(&gateway, &asker.caller.teamspace, id).await.map(Json)
}

pub async fn register(
    State(gateway): State<Gateway>,
    Named(id): Named<AgentId>,
    write: Write<RegisterInput>,
) -> Result<Json<AgentView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let key = write.key.for_action("register", Some(id.as_str()));
    let stream = stream(&asker.caller.teamspace, id.clone());
    let command =
        step::Command::Agent(Command::Register { kind: input.kind, profile: input.profile });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    read(&gateway, &asker.caller.teamspace, id).await.map(Json)
}

pub async fn set_roles(
    State(gateway): State<Gateway>,
    Named(id): Named<AgentId>,
    write: Write<RolesInput>,
) -> Result<Json<AgentView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let key = write.key.for_action("set_roles", Some(id.as_str()));
    let stream = stream(&asker.caller.teamspace, id.clone());
    let command = step::Command::Agent(Command::SetRoles { roles: input.roles });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    read(&gateway, &asker.caller.teamspace, id).await.map(Json)
}

async fn read(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: AgentId,
) -> Result<AgentView, Problem> {
    let item = gateway.engine.item(&stream(teamspace, id)).await?;
    item.as_ref().and_then(view::agent).ok_or_else(|| Problem::not_found("agent"))
}

pub fn stream(teamspace: &TeamspaceId, id: AgentId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Agent(id) }
}
