//! `/v1/teamspace`: the caller's own teamspace. `/v1/teamspaces`: all of them, for operators of the
//! whole server.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ports::store::ListOf;
use engine::read::access::secret_hash;
use engine::read::query::Item;
use engine::road::submit::SubmitError;
use protocol::caller::Caller;
use protocol::handoff::sla::Slas;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::rejection::Rejection;
use protocol::teamspace::{
    Command, Configuration, DESCRIPTION_BYTES_MAX, NAME_BYTES_MAX, Settings, Teamspace,
};
use protocol::token::{BearerKind, Grant};
use protocol::{form, step, token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::admin::token_view::TokenIssued;
use crate::http::admin::tokens::new_secret;
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{QueryParameters, Write};
use crate::http::shared::paging::{ListPage, PageInput, parse_cursor, parse_limit};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigureInput {
    /// The name people see.
    #[serde(default)]
    #[schemars(transform = form::line_or_none(NAME_BYTES_MAX))]
    pub name: String,
    #[serde(default)]
    #[schemars(transform = form::bytes(DESCRIPTION_BYTES_MAX))]
    pub description: String,
    /// All settings; those not named go back to their defaults.
    #[serde(default)]
    pub settings: Settings,
    /// The revision that this shall replace. If the current revision is another one, nothing is
    /// changed.
    #[serde(default)]
    pub revision: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateInput {
    pub teamspace: TeamspaceId,
    /// The bearer of its first token, an operator's.
    pub operator: AgentId,
    #[serde(default)]
    #[schemars(transform = form::line_or_none(NAME_BYTES_MAX))]
    pub name: String,
    #[serde(default)]
    #[schemars(transform = form::bytes(DESCRIPTION_BYTES_MAX))]
    pub description: String,
    #[serde(default)]
    pub settings: Settings,
}

/// A teamspace, as its members see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamspaceView {
    pub teamspace: String,
    pub name: String,
    pub description: String,
    /// The settings that were set; the others have their defaults.
    pub settings: Settings,
    /// The values in effect, set or default.
    pub in_effect: InEffect,
    /// Grows by 1 with every change; 0 before the first.
    pub revision: u64,
    pub changed_at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct InEffect {
    pub sla: Slas,
}

/// A teamspace in the list of all: its name, and nothing of what is in it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamspaceListed {
    pub teamspace: String,
    pub name: String,
}

/// A new teamspace and its first token. The secret is shown here and never again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TeamspaceCreated {
    pub teamspace: String,
    #[serde(flatten)]
    pub issued: TokenIssued,
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
) -> Result<Json<TeamspaceView>, Problem> {
    let asker = asker.member()?;
    read(&gateway, &asker.caller.teamspace).await.map(Json)
}

pub async fn configure(
    State(gateway): State<Gateway>,
    write: Write<ConfigureInput>,
) -> Result<Json<TeamspaceView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let key = write.key.for_action("configure_teamspace", None);
    let ConfigureInput { name, description, settings, revision } = input;
    let configuration = Configuration { name, description, settings, ..Configuration::default() };
    let command = step::Command::Teamspace(Command::Configure { configuration, revision });
    let stream = Stream::of_teamspace(asker.caller.teamspace.clone());
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    read(&gateway, &asker.caller.teamspace).await.map(Json)
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<TeamspaceListed>>, Problem> {
    asker.operator()?.server_operator()?;
    let limit = parse_limit(input.limit.as_deref())?;
    let after = parse_cursor::<TeamspaceId>(input.cursor.as_deref())?;
    let mut found = gateway.engine.read().teamspaces(after.as_ref(), limit + 1).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| has_more).map(ToString::to_string);
    let mut items = Vec::with_capacity(found.len());
    for teamspace in found {
        let TeamspaceView { teamspace, name, .. } = read(&gateway, &teamspace).await?;
        items.push(TeamspaceListed { teamspace, name });
    }
    Ok(Json(ListPage { items, next_cursor }))
}

pub async fn create(
    State(gateway): State<Gateway>,
    write: Write<CreateInput>,
) -> Result<(StatusCode, Json<TeamspaceCreated>), Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?.server_operator()?;
    let CreateInput { teamspace, operator, name, description, settings } = input;
    // An operator of the server acts in the new teamspace this once, and only if it has no members.
    let caller = Caller { teamspace: teamspace.clone(), ..asker.caller };
    check_is_new(&gateway, &teamspace).await?;
    let configuration = Configuration { name, description, settings, ..Configuration::default() };
    let command = step::Command::Teamspace(Command::Create { configuration });
    let stream = Stream::of_teamspace(teamspace.clone());
    // Without a key, like every token: the secret is not stored, so a retry could not be answered.
    match gateway.engine.submit(&caller, stream, command, None).await {
        // An earlier request made the teamspace and ended before it issued a token.
        Ok(_) | Err(SubmitError::Rejected(Rejection::AlreadyExists { .. })) => {}
        Err(error) => return Err(error.into()),
    }
    // Another request may have taken the teamspace in between.
    check_is_new(&gateway, &teamspace).await?;
    let issued = first_token(&gateway, &caller, operator).await?;
    let created = TeamspaceCreated { teamspace: teamspace.to_string(), issued };
    Ok((StatusCode::CREATED, Json(created)))
}

/// A teamspace that has members belongs to them, however it was made.
async fn check_is_new(gateway: &Gateway, teamspace: &TeamspaceId) -> Result<(), Problem> {
    let mut is_new = *teamspace != TeamspaceId::default_teamspace();
    for of in [ListOf::Tokens, ListOf::Agents] {
        is_new &= gateway.engine.read().list(teamspace, of, None, 1).await?.items.is_empty();
    }
    match is_new {
        true => Ok(()),
        false => Err(Rejection::AlreadyExists { what: "a teamspace of that id" }.into()),
    }
}

async fn first_token(
    gateway: &Gateway,
    caller: &Caller,
    operator: AgentId,
) -> Result<TokenIssued, Problem> {
    let secret = new_secret(gateway);
    let id = gateway.engine.new_token_id();
    let grant = Grant {
        bearer: operator,
        bearer_kind: BearerKind::Operator,
        roles: Default::default(),
        expires_at: None,
    };
    let issue = token::Command::Issue { grant, secret_hash: secret_hash(&secret) };
    let stream = Stream { teamspace: caller.teamspace.clone(), subject: Subject::Token(id) };
    gateway.engine.submit(caller, stream, step::Command::Token(issue), None).await?;
    Ok(TokenIssued { token_id: id.to_string(), token: secret })
}

async fn read(gateway: &Gateway, teamspace: &TeamspaceId) -> Result<TeamspaceView, Problem> {
    let item = gateway.engine.read().item(&Stream::of_teamspace(teamspace.clone())).await?;
    Ok(view(teamspace, item.as_ref()))
}

fn view(teamspace: &TeamspaceId, item: Option<&Item>) -> TeamspaceView {
    let known = item.and_then(|item| item.state.as_teamspace().cloned());
    let unknown = || Teamspace { configuration: Configuration::default(), revision: 0 };
    let Teamspace { configuration, revision } = known.unwrap_or_else(unknown);
    let Configuration { name, description, settings, quotas: _ } = configuration;
    TeamspaceView {
        teamspace: teamspace.to_string(),
        name,
        description,
        settings,
        in_effect: InEffect { sla: settings.sla.in_full() },
        revision,
        changed_at: item.map(|item| item.changed_at.to_string()),
    }
}
