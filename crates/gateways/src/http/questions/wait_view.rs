//! What a question waits for, as answers tell it.

use protocol::question::Question;
use protocol::question::event::Given;
use protocol::question::waits::waits;
use protocol::waiting::Then;
use schemars::JsonSchema;
use serde::Serialize;

/// What a question waits for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct QuestionWaitView {
    /// `agent:ID`, `queue:ID` (a person of this queue), `worker` (the asker or one of the
    /// `workers`), or `listener` (a person who hears the session that asks).
    pub who: String,
    /// The actions that they can take.
    #[serde(rename = "for")]
    pub actions: &'static [&'static str],
    /// `null` if that is not recorded.
    pub since: Option<String>,
    /// `null` if there is no end.
    pub until: Option<String>,
    /// What happens then: `defaults` (the default counts), `ends_unanswered`, `claim_lapses`
    /// (another worker may claim it) or `nothing`.
    pub then: &'static str,
    /// The answer that counts then, with `defaults`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Given>,
}

/// Empty once it is finished or withdrawn.
pub fn waiting_for(question: &Question) -> Vec<QuestionWaitView> {
    let wait = waits(question).map(|wait| QuestionWaitView {
        who: wait.who.describe(),
        actions: wait.actions,
        since: wait.since.map(|since| since.to_string()),
        until: wait.until.map(|until| until.to_string()),
        then: wait.then.as_str(),
        default: question.default().filter(|_| wait.then == Then::Defaults).cloned(),
    });
    wait.into_iter().collect()
}

/// A question of a session, which a listener answers until then.
pub fn of_session(until: String) -> QuestionWaitView {
    QuestionWaitView {
        who: "listener".to_owned(),
        actions: &["answer"],
        since: None,
        until: Some(until),
        then: Then::EndsUnanswered.as_str(),
        default: None,
    }
}
