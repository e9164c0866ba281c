//! `/v1/usage`: what is used of the quotas. `/v1/quotas`: those of a teamspace, for operators of
//! the whole server.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use engine::ports::store::ListOf;
use engine::usage::report::{Used, UsedBy};
use protocol::caller::Caller;
use protocol::form;
use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::quota::{Quota, SetQuotas};
use protocol::step;
use protocol::teamspace::Command;
use protocol::visibility::details::sees_usage_of_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{QueryParameters, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageInput {
    /// Another teamspace than your own, for operators of the server.
    #[serde(default)]
    pub teamspace: Option<TeamspaceId>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotasInput {
    pub teamspace: TeamspaceId,
    /// All quotas of its own, by name. Those not named are the server's; 0 is no limit.
    #[schemars(transform = form::names(Quota::ALL.len(), form::one_of(Quota::ALL)))]
    pub quotas: BTreeMap<String, u32>,
}

/// What is used, for those who may see it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UsageView {
    pub teamspace: String,
    /// What the caller uses itself.
    pub own: Vec<QuotaView>,
    /// What all of the teamspace use together; for operators.
    pub whole: Vec<QuotaView>,
    /// The principals that use most; for operators.
    pub principals: Vec<PrincipalView>,
    /// The quotas that were set for this teamspace, by name; for operators.
    pub quotas: BTreeMap<String, u32>,
    /// Whether what was stored before the server started is still being counted.
    pub counting: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct QuotaView {
    pub quota: Quota,
    /// In the unit of the quota, rounded up.
    pub used: u64,
    /// `null` when there is no limit.
    pub limit: Option<u64>,
    /// Whether the limit was set for this teamspace.
    pub set: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PrincipalView {
    /// As the record names it: `agent:ada`.
    pub principal: String,
    pub quotas: Vec<QuotaView>,
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<UsageInput>,
) -> Result<Json<UsageView>, Problem> {
    let asker = asker.member()?;
    match input.teamspace {
        Some(teamspace) if teamspace != asker.caller.teamspace => {
            let asker = asker.operator()?.server_operator()?;
            check_exists(&gateway, &teamspace).await?;
            Ok(Json(view(&gateway, &Caller { teamspace, ..asker.caller })))
        }
        Some(_) | None => Ok(Json(view(&gateway, &asker.caller))),
    }
}

pub async fn set_quotas(
    State(gateway): State<Gateway>,
    write: Write<QuotasInput>,
) -> Result<Json<UsageView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?.server_operator()?;
    let QuotasInput { teamspace, quotas } = input;
    check_exists(&gateway, &teamspace).await?;
    let key = write.key.for_action("set_quotas", Some(teamspace.as_str()));
    let quotas = named(quotas)?;
    let stream = Stream::of_teamspace(teamspace.clone());
    // An operator of the server acts in the other teamspace, but only on its quotas.
    let caller = Caller { teamspace, ..asker.caller };
    let command = step::Command::Teamspace(Command::SetQuotas { quotas });
    gateway.engine.submit(&caller, stream, command, Some(key)).await?;
    Ok(Json(view(&gateway, &caller)))
}

fn named(quotas: BTreeMap<String, u32>) -> Result<SetQuotas, Problem> {
    let named = quotas.into_iter().map(|(name, limit)| match Quota::named(&name) {
        Some(quota) => Ok((quota, limit)),
        None => {
            let field = format!("quotas.{name}");
            Err(Problem::schema_invalid(&field, "the name of a quota, as in `GET /v1/usage`"))
        }
    });
    named.collect()
}

async fn check_exists(gateway: &Gateway, teamspace: &TeamspaceId) -> Result<(), Problem> {
    let mut exists = *teamspace == TeamspaceId::default_teamspace();
    for of in [ListOf::Tokens, ListOf::Agents] {
        exists |= !gateway.engine.read().list(teamspace, of, None, 1).await?.items.is_empty();
    }
    if exists { Ok(()) } else { Err(Problem::not_found("teamspace")) }
}

fn view(gateway: &Gateway, caller: &Caller) -> UsageView {
    let (usage, now) = (gateway.engine.usage(), gateway.engine.clock().now());
    let Caller { teamspace, principal, .. } = caller;
    let own = usage.of_principal(teamspace, principal, now);
    let mut view = UsageView {
        teamspace: teamspace.to_string(),
        own: quota_views(own),
        whole: Vec::new(),
        principals: Vec::new(),
        quotas: BTreeMap::new(),
        counting: usage.is_counting(),
    };
    if sees_usage_of_all(caller) {
        let principals = usage.principals(teamspace, now);
        let set = usage.set_for(teamspace).into_iter();
        view.whole = quota_views(usage.of_teamspace(teamspace, now));
        view.principals = principals.into_iter().map(principal_view).collect();
        view.quotas = set.map(|(quota, limit)| (quota.as_str().to_owned(), limit)).collect();
    }
    view
}

fn principal_view(UsedBy { principal, used }: UsedBy) -> PrincipalView {
    PrincipalView { principal: principal.to_string(), quotas: quota_views(used) }
}

fn quota_views(used: Vec<Used>) -> Vec<QuotaView> {
    let shown = used.into_iter().map(|one| QuotaView {
        quota: one.quota,
        used: one.used,
        limit: one.limit,
        set: one.is_set,
    });
    shown.collect()
}
