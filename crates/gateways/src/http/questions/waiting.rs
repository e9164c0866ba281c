//! What waits for a human besides questions: approvals of handoffs, and what agents ask in the
//! sessions that they announce. Both are answered in their own ways.

use aaep::machine::{Question, QuestionKind};
use engine::ports::store::HandoffFilter;
use protocol::conversation::Conversation;
use protocol::handoff::waits::{OpenFilter, Waiter, WaitingFor, waits};
use protocol::hidden::visible;
use protocol::ledger::Stream;
use protocol::session::Session;
use protocol::step::Event;
use protocol::{codec, session};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::list::{ListedItem, ListedView};
use super::wait_view::{self, QuestionWaitView};
use crate::http::handoffs;
use crate::http::handoffs::waiting::WaitView;
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

/// How many of each kind a list shows. The first ones are enough to begin with; the list of
/// handoffs, and listening to sessions, show the others.
pub const SHOWN_MAX: usize = 50;

/// A handoff whose policy wants the approval of a human.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ApprovalView {
    pub handoff_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The sender.
    pub asker: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<String>,
    pub asked_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The wait for an approver.
    pub waiting_for: Vec<WaitView>,
}

/// A question of a session that an agent announces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfirmationView {
    pub session_id: String,
    /// The event that asks.
    pub event_id: String,
    /// The producer.
    pub asker: String,
    /// Whether a `decision` or a `response` answers it.
    pub wants: Wanted,
    #[serde(flatten)]
    pub words: Words,
    pub until: String,
    /// The wait for an answer.
    pub waiting_for: Vec<QuestionWaitView>,
}

/// How a question of a session is answered.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ConfirmationWants")]
pub enum Wanted {
    /// `accept` or `reject`.
    Decision,
    /// Yes or no, a number, a choice or a text.
    Response,
}

/// What a question of a session says, in the words of its producer.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ConfirmationWords")]
pub struct Words {
    /// The action to be confirmed, or the question. `null` once erased.
    pub text: Option<String>,
    /// What follows from a yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consequence: Option<String>,
    /// What follows cannot be undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub irreversible: bool,
    /// The values that a response is chosen from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ChoiceView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConfirmationChoice")]
pub struct ChoiceView {
    pub value: String,
    pub label: String,
}

/// The approvals that the caller can give, the newest first.
pub async fn approvals(gateway: &Gateway, asker: &Asker) -> Result<Vec<ListedView>, Problem> {
    let filter = OpenFilter {
        waiting_for: Some(WaitingFor::Caller),
        is_approval_wanted: true,
        ..OpenFilter::default()
    };
    let (caller, access) = (&asker.caller, gateway.engine.access());
    let of = HandoffFilter::default();
    let page = access.open_handoffs(caller, of, &filter, None, SHOWN_MAX).await?;
    let kind = access.kind_of(caller).await?;
    let approval = |item: &engine::read::query::Item| {
        let handoff = item.state.as_handoff()?;
        let all = waits(handoff);
        let is_asked = |who: &Waiter| match who {
            Waiter::Approver { .. } => who.is(caller, kind),
            Waiter::Agent(_)
            | Waiter::Verifier { .. }
            | Waiter::Coordinator
            | Waiter::Parts
            | Waiter::Server => false,
        };
        let wait = all.iter().find(|wait| is_asked(&wait.who))?;
        let id = handoff.id();
        let view = ApprovalView {
            handoff_id: id.to_string(),
            title: handoff.title().map(|title| visible(title).into_owned()),
            asker: handoff.from().to_string(),
            to_agent: handoff.to().map(ToString::to_string),
            asked_at: wait.since.to_string(),
            until: wait.until.map(|until| until.to_string()),
            waiting_for: vec![handoffs::waiting::view(wait)],
        };
        let answer_at = Some(format!("POST /v1/handoffs/{id}/approve"));
        Some(ListedView { item: ListedItem::Approval(view), answer_at })
    };
    Ok(page.items.iter().filter_map(approval).collect())
}

/// What agents ask in sessions that the caller hears, the newest session first.
pub async fn confirmations(gateway: &Gateway, asker: &Asker) -> Result<Vec<ListedView>, Problem> {
    let access = gateway.engine.access();
    let sessions = access.sessions_waiting_for(&asker.caller, SHOWN_MAX).await?;
    let mut all = Vec::new();
    for (stream, session) in sessions {
        let of = gateway.engine.sessions().conversation(&stream.teamspace, &session).await?;
        for pending in open(&session, of.as_deref()) {
            if all.len() == SHOWN_MAX {
                break;
            }
            let view = ConfirmationView {
                session_id: session.id.to_string(),
                event_id: pending.event_id().to_owned(),
                asker: session.producer.to_string(),
                wants: match pending.kind() {
                    QuestionKind::Confirmation => Wanted::Decision,
                    QuestionKind::Clarification => Wanted::Response,
                },
                words: words(gateway, &stream, &session, pending.reply_token()).await?,
                until: pending.due().to_string(),
                waiting_for: vec![wait_view::of_session(pending.due().to_string())],
            };
            let answer_at = Some(format!("POST /aaep/v1/sessions/{}/answer", session.id));
            all.push(ListedView { item: ListedItem::Confirmation(view), answer_at });
        }
    }
    Ok(all)
}

/// How many of them there are, without their words.
pub async fn n_confirmations(gateway: &Gateway, asker: &Asker) -> Result<usize, Problem> {
    let access = gateway.engine.access();
    let mut n_open = 0;
    for (stream, session) in access.sessions_waiting_for(&asker.caller, SHOWN_MAX).await? {
        let of = gateway.engine.sessions().conversation(&stream.teamspace, &session).await?;
        n_open += open(&session, of.as_deref()).count();
    }
    Ok(n_open.min(SHOWN_MAX))
}

/// The questions of a session that can still be answered.
fn open<'s>(
    session: &'s Session,
    of: Option<&'s Conversation>,
) -> impl Iterator<Item = &'s Question> {
    session
        .machine
        .pending()
        .iter()
        .filter(move |pending| session.stands(pending.reply_token(), of))
}

/// The words of a question, from the event that asks.
async fn words(
    gateway: &Gateway,
    stream: &Stream,
    session: &Session,
    reply_token: &str,
) -> Result<Words, Problem> {
    let asked = session.questions.iter().find(|it| it.reply_token == reply_token);
    let Some(place) = asked.map(|it| it.place) else { return Ok(Words::default()) };
    let entries = gateway.engine.read().history_from(stream, place.position, 1).await?;
    let Some(entry) = entries.first().map(|it| &it.entry) else { return Ok(Words::default()) };
    let event = entry.body.text().map(|text| codec::decode(&entry.name, entry.version, text));
    let Some(Ok(Event::Session(session::Event::Announced(announced)))) = event else {
        return Ok(Words::default());
    };
    let said = announced.events.get(place.index);
    let event = said.and_then(|said| serde_json::from_str::<Value>(said.text()).ok());
    Ok(event.map(|event| words_of(&event)).unwrap_or_default())
}

fn words_of(event: &Value) -> Words {
    let shown = |value: &Value| value.as_str().map(|it| visible(it).into_owned());
    let texts = ["action", "question", "summary_normal"];
    let choices = event["choices"].as_array().into_iter().flatten();
    let choice = |choice: &Value| {
        let (value, label) = (shown(&choice["value"])?, shown(&choice["label"])?);
        Some(ChoiceView { value, label })
    };
    Words {
        text: texts.iter().find_map(|name| shown(&event[*name])),
        consequence: shown(&event["consequence"]),
        irreversible: event["irreversible"] == true || event["reversibility"] == "irreversible",
        choices: choices.filter_map(choice).collect(),
    }
}
