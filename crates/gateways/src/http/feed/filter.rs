//! Which entries a subscriber is shown, and what it is told because of them.

use std::borrow::Cow;

use engine::ledger::feed::Followed;
use protocol::caller::Caller;
use protocol::codec;
use protocol::conversation::reader::Reader;
use protocol::hidden::{first_hidden, make_visible};
use protocol::ids::AgentId;
use protocol::ledger::Subject;
use protocol::visibility::parties::concerns;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::conversations::access::reader;
use crate::http::conversations::announced::announcements;
use crate::http::conversations::queue_news::queue_changed;
use crate::http::conversations::transfer_news::Sight;
use crate::http::handoffs::waiting::waiting_for;
use crate::http::questions::wait_view;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowInput {
    /// Only this stream, such as `handoff/<id>`.
    #[serde(default)]
    pub stream: Option<String>,
    /// Only events of this name, such as `handoff.accepted`, or of this family, such as `handoff`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Only events that this agent caused or is a party to.
    #[serde(default)]
    pub agent: Option<AgentId>,
    /// Start just after the entry with this cursor; 0 is the beginning. Without it, and without
    /// `Last-Event-ID`, the stream starts now.
    #[serde(default)]
    pub after: Option<String>,
}

/// What a stream shows. The teamspace is the caller's and cannot be changed.
pub struct Filter {
    pub caller: Caller,
    /// The kind of an agent never changes, so this is looked up once.
    reader: Reader,
    subject: Option<Subject>,
    kind: Option<String>,
    agent: Option<AgentId>,
}

impl Filter {
    pub async fn new(
        gateway: &Gateway,
        caller: &Caller,
        input: &FollowInput,
    ) -> Result<Self, Problem> {
        let subject = input.stream.as_deref().map(str::parse).transpose();
        if input.kind.as_deref().is_some_and(|kind| !codec::is_kind(kind)) {
            let expected = "the name of events, such as handoff.accepted, or a family, such as \
                            handoff";
            return Err(Problem::schema_invalid("kind", expected));
        }
        Ok(Self {
            caller: caller.clone(),
            reader: reader(gateway, caller).await?,
            subject: subject.map_err(|error: protocol::ledger::InvalidSubject| {
                Problem::new("schema_invalid", format!("stream: {error}")).field("stream")
            })?,
            kind: input.kind.clone(),
            agent: input.agent.clone(),
        })
    }

    /// What an entry makes the stream send; `None` for nothing.
    pub async fn told(
        &self,
        gateway: &Gateway,
        followed: &Followed,
    ) -> Result<Option<SubscriberNews>, Problem> {
        if !self.is_about(followed) {
            return Ok(None);
        }
        let line = &followed.sequenced;
        let access = gateway.engine.access();
        let is_shown = access.may_read_event(&self.caller, &line.entry, followed.event()).await?;
        let announced = match &self.subject {
            Some(Subject::Conversation(_)) => {
                let sight = if is_shown { Sight::Entry } else { Sight::Status };
                announcements(gateway, &self.caller, sight, line).await?
            }
            None => queue_changed(gateway, &self.caller, line).await?,
            Some(
                Subject::Handoff(_)
                | Subject::Message(_)
                | Subject::Agent(_)
                | Subject::Token(_)
                | Subject::Graph(_)
                | Subject::Subscription(_)
                | Subject::File(_)
                | Subject::Webhook(_)
                | Subject::Question(_)
                | Subject::Session(_)
                | Subject::Teamspace
                | Subject::Ledger,
            ) => Vec::new(),
        };
        let mut announced = announced;
        if self.reader == Reader::Program {
            announced.iter_mut().for_each(make_visible);
        }
        let is_something = is_shown || !announced.is_empty();
        Ok(is_something.then_some(SubscriberNews { announced, is_shown }))
    }

    /// An entry as JSON. For a program, invisible characters in a conversation or a message are
    /// written out. Operators of the whole server also see its sequence number. An entry of an
    /// open handoff or question says what that waits for now.
    pub async fn entry<'f>(
        &self,
        gateway: &Gateway,
        followed: &'f Followed,
        shows_seq: bool,
    ) -> Result<Cow<'f, str>, Problem> {
        let json = followed.json(gateway.engine.cursor_key());
        let mut text =
            self.made_visible(followed, std::str::from_utf8(json).expect("JSON is text"));
        if let Some(waiting) = waiting_now(gateway, &self.caller, followed).await?
            && let Some(fields) = text.strip_suffix('}')
        {
            text = Cow::Owned(format!("{fields},\"waiting_for\":{waiting}}}"));
        }
        Ok(match text.strip_prefix('{') {
            Some(fields) if shows_seq => {
                Cow::Owned(format!("{{\"seq\":{},{fields}", followed.seq()))
            }
            Some(_) | None => text,
        })
    }

    fn made_visible<'f>(&self, followed: &Followed, text: &'f str) -> Cow<'f, str> {
        let subject = &followed.sequenced.entry.stream.subject;
        let is_told = matches!(subject, Subject::Conversation(_) | Subject::Message(_));
        if self.reader != Reader::Program || !is_told {
            return Cow::Borrowed(text);
        }
        // JSON escapes control characters and nothing else.
        let has_control = ["\\u00", "\\r", "\\b", "\\f"].iter().any(|it| text.contains(it));
        if !has_control && first_hidden(text).is_none() {
            return Cow::Borrowed(text);
        }
        let mut entry: Value = serde_json::from_str(text).expect("an entry is JSON");
        make_visible(&mut entry);
        Cow::Owned(entry.to_string())
    }

    /// Whether an entry matches the filter. It does not check who may see it.
    fn is_about(&self, followed: &Followed) -> bool {
        let entry = &followed.sequenced.entry;
        entry.stream.teamspace == self.caller.teamspace
            && self.subject.as_ref().is_none_or(|subject| entry.stream.subject == *subject)
            && self.kind.as_deref().is_none_or(|kind| is_of_kind(&entry.name, kind))
            && self.agent.as_ref().is_none_or(|agent| concerns(agent, entry, followed.event()))
    }
}

/// As JSON; `None` if it is neither a handoff nor a question, or is closed.
async fn waiting_now(
    gateway: &Gateway,
    caller: &Caller,
    followed: &Followed,
) -> Result<Option<String>, Problem> {
    let stream = &followed.sequenced.entry.stream;
    if !matches!(stream.subject, Subject::Handoff(_) | Subject::Question(_)) {
        return Ok(None);
    }
    // The caller's right to see the entry was looked up in the same state.
    let state = gateway.engine.read().current(stream).await?;
    let Some(state) = state.as_deref() else { return Ok(None) };
    let waiting = match (state.as_handoff(), state.as_question()) {
        (Some(handoff), _) => json!(waiting_for(gateway, caller, handoff).await?),
        (None, Some(question)) => json!(wait_view::waiting_for(question)),
        (None, None) => return Ok(None),
    };
    Ok(Some(waiting.to_string()).filter(|text| text != "[]"))
}

/// What a subscriber is told because of an entry.
pub struct SubscriberNews {
    /// Events for chat clients and desks, which are sent before the entry.
    pub announced: Vec<Value>,
    /// Whether the entry itself is shown.
    pub is_shown: bool,
}

fn is_of_kind(name: &str, kind: &str) -> bool {
    name == kind || name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.'))
}
