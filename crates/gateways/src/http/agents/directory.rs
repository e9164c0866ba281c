//! `/v1/agents`: the directory of a teamspace.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use engine::ports::store::ListOf;
use protocol::agent::{Command, Kind, Presence, Profile};
use protocol::caller::{Caller, Role};
use protocol::ids::AgentId;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::agents::view;
use crate::http::agents::view::AgentView;
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Chosen, Named, QueryParameters, Write, parse_flag};
use crate::http::shared::lookup::stream;
use crate::http::shared::paging::{ListPage, parse_limit};
use crate::http::shared::problem::Problem;

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
    /// All roles of the agent; those not named are removed.
    pub roles: BTreeSet<Role>,
}

/// The filters of the directory. A page is filtered after it was read: it may have fewer rows than
/// asked for, or none, and still a `next_cursor`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentsInput {
    #[serde(default)]
    pub kind: Option<Kind>,
    /// Only people with this presence.
    #[serde(default)]
    pub presence: Option<Presence>,
    /// `true` for those that a customer may choose.
    #[serde(default)]
    #[schemars(transform = form::true_or_false)]
    pub selectable: Option<String>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<AgentsInput>,
) -> Result<Json<ListPage<AgentView>>, Problem> {
    let asker = asker.member()?;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &asker.caller, "agents", input.cursor.as_deref())?;
    let selectable = parse_flag("selectable", input.selectable.as_deref())?;
    let is_wanted = |agent: &AgentView| {
        input.kind.is_none_or(|kind| agent.kind == kind)
            && input.presence.is_none_or(|presence| agent.presence == Some(presence))
            && selectable.is_none_or(|wanted| agent.profile.user_selectable == wanted)
    };
    let page =
        gateway.engine.read().list(&asker.caller.teamspace, ListOf::Agents, before, limit).await?;
    let agents = page.items.iter().filter_map(|item| view::agent(&gateway, &asker.caller, item));
    Ok(Json(ListPage {
        items: agents.filter(is_wanted).collect(),
        next_cursor: cursors::next_row(&gateway, &asker.caller, "agents", page.next),
    }))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<AgentId>,
) -> Result<Json<AgentView>, Problem> {
    let asker = asker.member()?;
    read(&gateway, &asker.caller, id).await.map(Json)
}

pub async fn register(
    State(gateway): State<Gateway>,
    Chosen(id): Chosen<AgentId>,
    write: Write<RegisterInput>,
) -> Result<Json<AgentView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let key = write.key.for_action("register", Some(id.as_str()));
    let stream = stream(&asker.caller.teamspace, id.clone());
    let command =
        step::Command::Agent(Command::Register { kind: input.kind, profile: input.profile });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    read(&gateway, &asker.caller, id).await.map(Json)
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
    read(&gateway, &asker.caller, id).await.map(Json)
}

pub async fn read(gateway: &Gateway, caller: &Caller, id: AgentId) -> Result<AgentView, Problem> {
    let item = gateway.engine.read().item(&stream(&caller.teamspace, id)).await?;
    let view = item.as_ref().and_then(|item| view::agent(gateway, caller, item));
    view.ok_or_else(|| Problem::not_found("agent"))
}
