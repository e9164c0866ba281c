//! `/v1/webhooks`: making, changing, pausing and removing webhooks.

use aaep::cursor::Cursor;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ports::store::ListOf;
use engine::read::query::Item;
use protocol::ids::{AgentId, TeamspaceId, TokenId, WebhookId};
use protocol::ledger::{Stream, Subject};
use protocol::sealed_cursor::{Purpose, Scope};
use protocol::step;
use protocol::time::Span;
use protocol::wake::UrlUse;
use protocol::warning::Warning;
use protocol::webhook::{Command, PauseCause, ROTATION_DEFAULT, ROTATION_MAX, Terms, Webhook};
use schemars::JsonSchema;
use serde::Deserialize;

use super::state::Webhooks;
use super::view::{WebhookView, webhook_view};
use crate::http::shared::auth::Asker;
use crate::http::shared::credential::Credential;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Nothing, QueryParameters, Write};
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;

/// What is delivered, and where to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookInput {
    #[schemars(transform = protocol::wake::url_form)]
    pub url: String,
    /// Names of events, such as `handoff.accepted`, or families, such as `handoff`. Without any,
    /// all events.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub events: Vec<String>,
    /// Only events of this stream, such as `handoff/<id>`.
    #[serde(default)]
    pub stream: Option<String>,
    /// Only events that this agent caused or is a party to.
    #[serde(default)]
    pub agent: Option<AgentId>,
    #[serde(default)]
    pub description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateInput {
    /// How long the old key signs, too: a day if it is left out, at most a week.
    #[serde(default)]
    #[schemars(range(min = 0, max = 604_800))]
    pub overlap_seconds: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseInput {
    #[serde(default)]
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeInput {
    /// Deliver again everything after the event with this cursor; 0 is the beginning. Without it,
    /// deliveries go on where they were.
    #[serde(default)]
    pub after: Option<String>,
}

/// The longest reason for a pause.
const REASON_CHARS_MAX: usize = 500;

impl WebhookInput {
    fn terms(self) -> Terms {
        let Self { url, events, stream, agent, description } = self;
        Terms { url, events, stream, agent, description }
    }
}

pub async fn create(
    State(gateway): State<Webhooks>,
    write: Write<WebhookInput>,
) -> Result<(StatusCode, Json<WebhookView>), Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let teamspace = &asker.caller.teamspace;
    let newest = gateway.engine.ledger().newest().await?;
    let scope = Scope { teamspace, purpose: Purpose::Events };
    let after = gateway.engine.cursor_key().seal(scope, Cursor::of_entry(newest));
    let (terms, token) = (input.terms(), token_of(&asker));
    let key = write.key.for_action("create_webhook", None);
    let stream = stream(teamspace, gateway.engine.new_webhook_id());
    let command = step::Command::Webhook(Command::Create { terms, after, token });
    let done = gateway.engine.submit_new(&asker.caller, stream, command, Some(key)).await?;
    let subject = done.subject.parse().map_err(|_| Problem::not_found("webhook"))?;
    let stream = Stream { teamspace: teamspace.clone(), subject };
    let (id, webhook) = current(&gateway, &asker, &stream).await?;
    let status = gateway.engine.outbox().webhook_status(&stream);
    let mut view = webhook_view(id, &webhook, status, gateway.engine.clock().now());
    view.secret = secret(&gateway, teamspace, id, webhook.key);
    view.warnings = warnings(&gateway, teamspace, &webhook.terms).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub async fn list(
    State(gateway): State<Webhooks>,
    asker: Asker,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<WebhookView>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "webhooks", input.cursor.as_deref())?;
    let read = gateway.engine.read();
    let page = read.list(&caller.teamspace, ListOf::Webhooks, before, limit).await?;
    let now = gateway.engine.clock().now();
    let shown = page.items.iter().filter_map(|item| {
        let (id, webhook) = webhook_of(item)?;
        let is_shown = webhook.is_shown_to(&caller);
        let status = gateway.engine.outbox().webhook_status(&item.stream);
        is_shown.then(|| webhook_view(id, webhook, status, now))
    });
    let next_cursor = cursors::next_row(&gateway, &caller, "webhooks", page.next);
    Ok(Json(ListPage { items: shown.collect(), next_cursor }))
}

pub async fn show(
    State(gateway): State<Webhooks>,
    asker: Asker,
    Named(id): Named<WebhookId>,
) -> Result<Json<WebhookView>, Problem> {
    let asker = asker.member()?;
    view(&gateway, &asker, id).await.map(Json)
}

pub async fn change(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<WebhookInput>,
) -> Result<Json<WebhookView>, Problem> {
    let (write, input) = write.split();
    let terms = input.terms();
    let teamspace = write.asker.caller.teamspace.clone();
    let command = Command::Change { terms: terms.clone() };
    let mut view = act(&gateway, write, "change_webhook", id, |_| Ok(command)).await?;
    view.warnings = warnings(&gateway, &teamspace, &terms).await?;
    Ok(Json(view))
}

pub async fn rotate_key(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<RotateInput>,
) -> Result<Json<WebhookView>, Problem> {
    let (write, input) = write.split();
    let seconds = |seconds: u32| Span::from_millis(i64::from(seconds) * 1_000);
    let overlap = input.overlap_seconds.map_or(ROTATION_DEFAULT, seconds);
    if overlap > ROTATION_MAX {
        return Err(Problem::schema_invalid("overlap_seconds", "a number from 0 to 604800"));
    }
    let teamspace = write.asker.caller.teamspace.clone();
    let rotate = |_: &Asker| Ok(Command::RotateKey { overlap });
    let mut view = act(&gateway, write, "rotate_webhook_key", id, rotate).await?;
    view.secret = secret(&gateway, &teamspace, id, view.key);
    Ok(Json(view))
}

pub async fn pause(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<PauseInput>,
) -> Result<Json<WebhookView>, Problem> {
    let (write, input) = write.split();
    let detail = input.reason.unwrap_or_default();
    if detail.chars().count() > REASON_CHARS_MAX {
        let expected = format!("at most {REASON_CHARS_MAX} characters");
        return Err(Problem::schema_invalid("reason", &expected));
    }
    let pause = |_: &Asker| Ok(Command::Pause { cause: PauseCause::Asked, detail });
    act(&gateway, write, "pause_webhook", id, pause).await.map(Json)
}

pub async fn resume(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<ResumeInput>,
) -> Result<Json<WebhookView>, Problem> {
    let (write, input) = write.split();
    let newest = gateway.engine.ledger().newest().await?;
    let resume = |asker: &Asker| {
        let after = input.after.as_deref().map(|text| {
            let seq = cursors::events_after(&gateway, asker, ("after", text), newest)?;
            let teamspace = &asker.caller.teamspace;
            let scope = Scope { teamspace, purpose: Purpose::Events };
            Ok::<_, Problem>(gateway.engine.cursor_key().seal(scope, Cursor::of_entry(seq)))
        });
        Ok(Command::Resume { after: after.transpose()?, token: token_of(asker) })
    };
    act(&gateway, write, "resume_webhook", id, resume).await.map(Json)
}

pub async fn remove(
    State(gateway): State<Webhooks>,
    Named(id): Named<WebhookId>,
    write: Write<Nothing>,
) -> Result<Json<WebhookView>, Problem> {
    let (write, _) = write.split();
    let asker = write.asker.member()?;
    let mut removed = view(&gateway, &asker, id).await?;
    (removed.status, removed.paused, removed.failing) = ("removed", None, None);
    let key = write.key.for_action("remove_webhook", Some(&id.to_string()));
    let stream = stream(&asker.caller.teamspace, id);
    let command = step::Command::Webhook(Command::Remove);
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    Ok(Json(removed))
}

/// Submits a command about a webhook, and shows it.
async fn act(
    gateway: &Gateway,
    write: Write<()>,
    action: &'static str,
    id: WebhookId,
    command: impl FnOnce(&Asker) -> Result<Command, Problem>,
) -> Result<WebhookView, Problem> {
    let asker = write.asker.member()?;
    let command = step::Command::Webhook(command(&asker)?);
    let key = write.key.for_action(action, Some(&id.to_string()));
    let stream = stream(&asker.caller.teamspace, id);
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    view(gateway, &asker, id).await
}

async fn view(gateway: &Gateway, asker: &Asker, id: WebhookId) -> Result<WebhookView, Problem> {
    let stream = stream(&asker.caller.teamspace, id);
    let (id, webhook) = current(gateway, asker, &stream).await?;
    let status = gateway.engine.outbox().webhook_status(&stream);
    Ok(webhook_view(id, &webhook, status, gateway.engine.clock().now()))
}

/// A webhook that the caller may see.
pub async fn current(
    gateway: &Gateway,
    asker: &Asker,
    stream: &Stream,
) -> Result<(WebhookId, Webhook), Problem> {
    let nothing = || Problem::not_found("webhook");
    let item = gateway.engine.read().item(stream).await?.ok_or_else(nothing)?;
    let (id, webhook) = webhook_of(&item).ok_or_else(nothing)?;
    if !webhook.is_shown_to(&asker.caller) {
        return Err(nothing());
    }
    Ok((id, webhook.clone()))
}

/// The webhook, unless it was removed.
fn webhook_of(item: &Item) -> Option<(WebhookId, &Webhook)> {
    let Subject::Webhook(id) = item.stream.subject else { return None };
    let webhook = item.state.as_webhook().filter(|webhook| !webhook.removed)?;
    Some((id, webhook))
}

fn secret(gateway: &Webhooks, teamspace: &TeamspaceId, id: WebhookId, key: u32) -> Option<String> {
    let wake_key = gateway.wake_key.as_ref()?;
    Some(wake_key.webhook_secret(teamspace, id, key).text())
}

/// Why nothing will be delivered.
async fn warnings(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    terms: &Terms,
) -> Result<Vec<Warning>, Problem> {
    let objection = gateway.engine.outbox().objection(&terms.url, UrlUse::Turns);
    let mut warnings: Vec<_> =
        objection.map(|detail| Warning::new("url", detail)).into_iter().collect();
    if let Some(id) = &terms.agent {
        let subject = Subject::Agent(id.clone());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        if gateway.engine.read().item(&stream).await?.is_none() {
            let detail = format!("there is no agent {id} yet, so no event concerns it");
            warnings.push(Warning::new("agent", detail));
        }
    }
    Ok(warnings)
}

fn token_of(asker: &Asker) -> Option<TokenId> {
    match asker.credential {
        Credential::Token(id) => Some(id),
        Credential::Local | Credential::Open => None,
    }
}

pub fn stream(teamspace: &TeamspaceId, id: WebhookId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Webhook(id) }
}
