//! `/v1/tokens`: credentials. A secret is shown once, when it is made; only its hash is kept.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ports::store::ListOf;
use engine::read::access::secret_hash;
use protocol::agent::Kind;
use protocol::caller::{Caller, Role};
use protocol::conversation::state::customer_name;
use protocol::ids::{AgentId, ConversationId, TeamspaceId, TokenId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State as Aggregate;
use protocol::time::Time;
use protocol::token::{BearerKind, Command, Grant};
use protocol::{agent, step, token};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::admin::token_view;
use crate::http::admin::token_view::{TokenIssued, TokenView};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Nothing, QueryParameters, Write};
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;
use crate::http::shared::{cursors, lookup};

/// So that people and scanners recognise a leaked one.
const SECRET_PREFIX: &str = "tasuki_";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueInput {
    /// The bearer. It is registered as an agent if it is new, unless `kind` says that it is no
    /// agent.
    pub agent: AgentId,
    /// Without it, `worker` for a new agent, and the kind of a known one. A worker that only has a
    /// token made without a kind is given no conversations.
    #[serde(default)]
    pub kind: Option<TokenKind>,
    #[serde(default)]
    pub roles: BTreeSet<Role>,
    #[serde(default)]
    pub expires_at: Option<Time>,
}

/// The kinds of agents, and the two kinds of bearers that are not agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    Worker,
    System,
    Human,
    Queue,
    Operator,
    Customer,
}

pub async fn issue(
    State(gateway): State<Gateway>,
    write: Write<IssueInput>,
) -> Result<(StatusCode, Json<TokenIssued>), Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let bearer_kind = match input.kind {
        Some(TokenKind::Operator) => BearerKind::Operator,
        Some(TokenKind::Customer) => BearerKind::Customer,
        Some(TokenKind::Worker | TokenKind::System | TokenKind::Human | TokenKind::Queue)
        | None => BearerKind::Agent,
    };
    let secret = new_secret(&gateway);
    let id = gateway.engine.new_token_id();
    let grant = Grant {
        bearer: input.agent.clone(),
        bearer_kind,
        roles: input.roles.clone(),
        expires_at: input.expires_at,
    };
    let command = Command::Issue { grant, secret_hash: secret_hash(&secret) };
    if bearer_kind == BearerKind::Agent {
        // Checked first, so that a refused token does not leave an agent behind.
        token::decide(None, &command, &asker.caller, gateway.engine.clock().now())?;
        register_if_new(&gateway, &asker, &input).await?;
    }
    let subject = Subject::Token(id);
    let stream = Stream { teamspace: asker.caller.teamspace.clone(), subject };
    // Without a key: the secret is not stored, so a retry could not be answered with it.
    gateway.engine.submit(&asker.caller, stream, step::Command::Token(command), None).await?;
    let issued = TokenIssued { token_id: id.to_string(), token: secret };
    Ok((StatusCode::CREATED, Json(issued)))
}

/// A further token for the customer of a conversation. Whether the caller may have one was decided
/// before.
pub async fn issue_to_customer(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    conversation: ConversationId,
) -> Result<TokenIssued, Problem> {
    let secret = new_secret(gateway);
    let id = gateway.engine.new_token_id();
    let grant = Grant {
        bearer: customer_name(conversation),
        bearer_kind: BearerKind::Customer,
        roles: BTreeSet::new(),
        expires_at: None,
    };
    let command = Command::Issue { grant, secret_hash: secret_hash(&secret) };
    let caller = Caller::system(teamspace.clone());
    let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Token(id) };
    gateway.engine.submit(&caller, stream, step::Command::Token(command), None).await?;
    Ok(TokenIssued { token_id: id.to_string(), token: secret })
}

pub fn new_secret(gateway: &Gateway) -> String {
    format!("{SECRET_PREFIX}{}", protocol::canonical::hex(&gateway.engine.new_secret()))
}

async fn register_if_new(
    gateway: &Gateway,
    asker: &Asker,
    input: &IssueInput,
) -> Result<(), Problem> {
    let stream = lookup::stream(&asker.caller.teamspace, input.agent.clone());
    let wanted = match input.kind {
        Some(TokenKind::System) => Some(Kind::System),
        Some(TokenKind::Human) => Some(Kind::Human),
        Some(TokenKind::Queue) => Some(Kind::Queue),
        Some(TokenKind::Worker) => Some(Kind::Worker),
        Some(TokenKind::Operator | TokenKind::Customer) | None => None,
    };
    if let Some(Aggregate::Agent(known)) = gateway.engine.read().current(&stream).await?.as_deref()
    {
        return match wanted {
            // Who names the kind declares that it takes conversations.
            Some(Kind::Worker) if known.kind == Kind::Worker && known.undeclared => {
                let (kind, profile) = (Kind::Worker, known.profile.clone());
                let register = step::Command::Agent(agent::Command::Register { kind, profile });
                gateway.engine.submit(&asker.caller, stream, register, None).await?;
                Ok(())
            }
            Some(wanted) if wanted != known.kind => Err(Problem::new(
                "already_exists",
                format!("kind: agent `{}` exists already, as a {}", known.id, known.kind.as_str()),
            )
            .field("kind")),
            Some(_) | None => Ok(()),
        };
    }
    let register = match wanted {
        Some(kind) => agent::Command::Register { kind, profile: agent::Profile::default() },
        None => agent::Command::Introduce,
    };
    gateway.engine.submit(&asker.caller, stream, step::Command::Agent(register), None).await?;
    Ok(())
}

pub async fn revoke(
    State(gateway): State<Gateway>,
    Named(id): Named<TokenId>,
    write: Write<Nothing>,
) -> Result<Json<TokenView>, Problem> {
    let asker = write.asker.operator()?;
    let key = write.key.for_action("revoke", Some(&id.to_string()));
    let subject = Subject::Token(id);
    let stream = Stream { teamspace: asker.caller.teamspace.clone(), subject };
    let command = step::Command::Token(Command::Revoke);
    gateway.engine.submit(&asker.caller, stream.clone(), command, Some(key)).await?;
    let item = gateway.engine.read().item(&stream).await?;
    item.as_ref().and_then(token_view::token).map(Json).ok_or_else(|| Problem::not_found("token"))
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<TokenView>>, Problem> {
    let asker = asker.operator()?;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &asker.caller, "tokens", input.cursor.as_deref())?;
    let page =
        gateway.engine.read().list(&asker.caller.teamspace, ListOf::Tokens, before, limit).await?;
    Ok(Json(ListPage {
        items: page.items.iter().filter_map(token_view::token).collect(),
        next_cursor: cursors::next_row(&gateway, &asker.caller, "tokens", page.next),
    }))
}
