//! `/v1/notices`: what a caller is told about handoffs and questions that concern it.

use axum::Json;
use axum::extract::State;
use engine::ports::store::HandoffFilter;
use engine::read::notices::{About, NoticePage, Told};
use engine::read::query::{Item, LIST_ROWS_MAX};
use engine::road::submit::SubmitError;
use protocol::agent::Command;
use protocol::caller::Caller;
use protocol::form;
use protocol::handoff::Handoff;
use protocol::handoff::notice_kind::NoticeKind;
use protocol::handoff::state::Note;
use protocol::handoff::waits::{OpenFilter, WaitingFor};
use protocol::hidden;
use protocol::ids::{AgentId, HandoffId};
use protocol::ledger::{Stream, Subject};
use protocol::question::{Question, Status as QuestionStatus};
use protocol::rejection::Rejection;
use protocol::sealed_cursor::{OR_BEGINNING, is_numeric};
use protocol::step;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::handoffs::waiting::{WaitView, waiting_for};
use crate::http::messages::state::Messages;
use crate::http::questions::wait_view::{self, QuestionWaitView};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{QueryParameters, Write};
use crate::http::shared::lookup::{agent, stream};
use crate::http::shared::paging::parse_limit;
use crate::http::shared::problem::Problem;

/// Each try but the last met another call of the same agent that read further.
const READ_TRIES_MAX: usize = 32;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticesInput {
    /// Notices after this cursor, which may be 0 for the beginning; after what you have read when
    /// absent.
    #[serde(default)]
    pub after: Option<String>,
    /// The most handoffs in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadNoticesInput {
    /// `until` of a page of notices.
    #[schemars(transform = form::pattern(OR_BEGINNING, "a cursor of notices"))]
    pub until: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MuteNoticesInput {
    /// The kinds of notices that you do not want, in place of the old ones.
    #[schemars(length(max = 32))]
    pub kinds: Vec<NoticeKind>,
}

/// What the caller is told about handoffs and questions, one item for each of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoticesView {
    /// The handoff with the oldest notice first.
    pub items: Vec<NoticeView>,
    /// The question with the oldest notice first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionNoticeView>,
    /// Give it to `read_notices` when you have used the page, or as `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub has_more: bool,
    /// Whether notices before the first item may be missing, because there were too many. Then look
    /// at `GET /v1/handoffs?waiting_for=me` too.
    pub is_incomplete: bool,
    /// The kinds that you do not want.
    pub muted: Vec<NoticeKind>,
    /// Those of them that you get all the same: `escalated` for a coordinator, because it is a
    /// message in the mailbox that all coordinators share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still_sent: Vec<NoticeKind>,
}

/// What the caller is told about one handoff.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoticeView {
    #[serde(flatten)]
    pub handoff: HandoffInBrief,
    /// What happened, in its order, each kind once.
    pub kinds: Vec<NoticeKind>,
    /// How many steps the caller is told, as far as the server still has them.
    pub steps: usize,
    /// When the last of them happened, and by whom.
    pub at: String,
    pub actor: String,
}

/// What the caller is told about one question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuestionNoticeView {
    pub question_id: String,
    pub asker: String,
    /// The person or the queue that is asked.
    pub to: String,
    pub text: String,
    /// Its status now.
    pub status: QuestionStatus,
    /// What it waits for now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<QuestionWaitView>,
    /// What happened, in its order, each kind once.
    pub kinds: Vec<NoticeKind>,
    /// When the last of it happened, and by whom.
    pub at: String,
    pub actor: String,
}

/// A handoff as it is now, in a few words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HandoffInBrief {
    pub handoff_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub from_agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<String>,
    pub status: String,
    /// The handoff that replaced it, if a coordinator reassigned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by_handoff_id: Option<String>,
    /// What it waits for now, the next step first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitView>,
}

pub async fn list(
    State(gateway): State<Messages>,
    asker: Asker,
    QueryParameters(input): QueryParameters<NoticesInput>,
) -> Result<Json<NoticesView>, Problem> {
    let asker = asker.member()?;
    let limit = parse_limit(input.limit.as_deref())?;
    let after = match input.after.as_deref() {
        Some(text) => Some(place(&gateway, &asker, ("after", text)).await?),
        None => None,
    };
    told(&gateway, &asker, after, limit).await.map(Json)
}

pub async fn read(
    State(gateway): State<Messages>,
    write: Write<ReadNoticesInput>,
) -> Result<Json<NoticesView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let own = own(&asker)?;
    let until = place(&gateway, &asker, ("until", &input.until)).await?;
    mark_read(&gateway, &asker, &own, until).await?;
    told(&gateway, &asker, None, parse_limit(None)?).await.map(Json)
}

pub async fn mute(
    State(gateway): State<Messages>,
    write: Write<MuteNoticesInput>,
) -> Result<Json<NoticesView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let own = own(&asker)?;
    let key = write.key.for_action("mute_notices", Some(own.as_str()));
    let stream = stream(&asker.caller.teamspace, own);
    let kinds = input.kinds.into_iter().collect();
    let command = step::Command::Agent(Command::MuteNotices { kinds });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    told(&gateway, &asker, None, parse_limit(None)?).await.map(Json)
}

/// The notices after a place, by default after what the caller has read.
pub async fn told(
    gateway: &Gateway,
    asker: &Asker,
    after: Option<u64>,
    limit: usize,
) -> Result<NoticesView, Problem> {
    let caller = &asker.caller;
    let page = gateway.engine.read().notices(caller, after, limit).await?;
    let NoticePage { about, until, has_more, is_incomplete } = page;
    let (mut items, mut questions) = (Vec::new(), Vec::new());
    for told in about {
        let subject = match told.about {
            About::Handoff(id) => Subject::Handoff(id),
            About::Question(id) => Subject::Question(id),
        };
        let stream = Stream { teamspace: caller.teamspace.clone(), subject };
        let Some(item) = gateway.engine.read().item(&stream).await? else { continue };
        if gateway.engine.access().may_read(caller, &stream, &item.state).await? {
            match item.state.as_question() {
                Some(question) => questions.push(question_notice(question, told)),
                None => items.extend(notice(gateway, caller, &item, told).await?),
            }
        }
    }
    let own = match caller.agent() {
        Some(own) => agent(gateway, &caller.teamspace, own).await?,
        None => None,
    };
    let muted: Vec<_> = own.map(|own| own.notices.muted.into_iter().collect()).unwrap_or_default();
    let is_shared = |kind: &NoticeKind| *kind == NoticeKind::Escalated && caller.is_coordinator();
    let still_sent = muted.iter().copied().filter(is_shared).collect();
    let until = until.map(|until| cursors::event(gateway, &caller.teamspace, until));
    let page = NoticesView { items, questions, until, has_more, is_incomplete, muted, still_sent };
    Ok(page)
}

/// The handoffs that wait for a caller.
pub struct WaitingHandoffs {
    /// The first of them.
    pub in_brief: Vec<HandoffInBrief>,
    /// How many were found, at most a page.
    pub n_found: usize,
    /// More than were found may wait: a page ends early after many open handoffs that wait for
    /// others.
    pub may_be_more: bool,
}

impl WaitingHandoffs {
    /// Whether more than those in brief may wait.
    pub fn has_more(&self) -> bool {
        self.may_be_more || self.n_found > self.in_brief.len()
    }
}

/// The handoffs that wait for the caller, so many of them in brief.
pub async fn waiting(
    gateway: &Gateway,
    asker: &Asker,
    in_brief_max: usize,
) -> Result<WaitingHandoffs, Problem> {
    let filter = OpenFilter { waiting_for: Some(WaitingFor::Caller), ..OpenFilter::default() };
    let of = HandoffFilter::default();
    let access = gateway.engine.access();
    let page = access.open_handoffs(&asker.caller, of, &filter, None, LIST_ROWS_MAX).await?;
    let mut shown = Vec::with_capacity(in_brief_max);
    for item in page.items.iter().take(in_brief_max) {
        shown.extend(in_brief(gateway, &asker.caller, item).await?);
    }
    let (n_found, may_be_more) = (page.items.len(), page.next.is_some());
    Ok(WaitingHandoffs { in_brief: shown, n_found, may_be_more })
}

async fn notice(
    gateway: &Gateway,
    caller: &Caller,
    item: &Item,
    told: Told,
) -> Result<Option<NoticeView>, Problem> {
    let handoff = in_brief(gateway, caller, item).await?;
    Ok(handoff.map(|handoff| NoticeView {
        handoff,
        kinds: told.kinds,
        steps: told.n_steps,
        at: told.at.to_string(),
        actor: told.actor.to_string(),
    }))
}

fn question_notice(question: &Question, told: Told) -> QuestionNoticeView {
    let parties = &question.asked.parties;
    QuestionNoticeView {
        question_id: question.id.to_string(),
        asker: parties.asker.to_string(),
        to: parties.to.to_string(),
        text: hidden::visible(&question.asked.text).into_owned(),
        status: question.status(),
        waiting_for: wait_view::waiting_for(question),
        kinds: told.kinds,
        at: told.at.to_string(),
        actor: told.actor.to_string(),
    }
}

async fn in_brief(
    gateway: &Gateway,
    caller: &Caller,
    item: &Item,
) -> Result<Option<HandoffInBrief>, Problem> {
    let Some(handoff) = item.state.as_handoff() else { return Ok(None) };
    Ok(Some(HandoffInBrief {
        handoff_id: handoff.id().to_string(),
        task_id: handoff.task_id().map(ToString::to_string),
        title: handoff.title().map(|title| hidden::visible(title).into_owned()),
        from_agent: handoff.from().to_string(),
        to_agent: handoff.to().map(ToString::to_string),
        status: handoff.status().to_string(),
        replaced_by_handoff_id: successor(handoff).map(|id| id.to_string()),
        waiting_for: waiting_for(gateway, caller, handoff).await?,
    }))
}

fn successor(handoff: &Handoff) -> Option<HandoffId> {
    handoff.notes().iter().find_map(|note| match note {
        Note::Closure(closed) => closed.reassigned_to,
        Note::Rejection(_) | Note::Escalation(_) => None,
    })
}

/// Marks the notices up to a place as read. An older place than the one before changes nothing.
pub async fn mark_read(
    gateway: &Gateway,
    asker: &Asker,
    own: &AgentId,
    until: u64,
) -> Result<(), Problem> {
    let stream = stream(&asker.caller.teamspace, own.clone());
    let cursor = cursors::event(gateway, &asker.caller.teamspace, until);
    for _ in 0..READ_TRIES_MAX {
        let before = gateway.engine.read().notices_read_until(&asker.caller).await?;
        if until <= before.place {
            return Ok(());
        }
        let (until, after) = (cursor.clone(), before.cursor);
        let command = step::Command::Agent(Command::ReadNotices { until, after });
        gateway.engine.submit(&asker.caller, stream.clone(), command, None).await?;
    }
    Err(SubmitError::Contended.into())
}

/// The place in the ledger that a cursor names.
pub async fn place(
    gateway: &Gateway,
    asker: &Asker,
    (field, text): (&str, &str),
) -> Result<u64, Problem> {
    if is_numeric(text) && text != "0" {
        return Err(cursors::refused(field, text, "`until` of a page of notices, or 0"));
    }
    let newest = gateway.engine.ledger().newest().await?;
    cursors::events_after(gateway, asker, (field, text), newest)
}

fn own(asker: &Asker) -> Result<AgentId, Problem> {
    let own = asker.caller.agent().cloned();
    own.ok_or_else(|| Rejection::NotAllowed { action: "read notices", who: "an agent" }.into())
}
