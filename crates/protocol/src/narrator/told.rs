//! The events that announce an entry: which, in which order, with which texts.

use serde_json::{Map, Value, json};

use super::{
    Announcements, Cause, HandoverRequest, QueuePlace, callback_session, route_session, target_uri,
    transfer_session,
};
use crate::conversation::customer_text;
use crate::conversation::event::{Event, Routed};
use crate::ids::{AgentId, SessionId, TransferId};
use crate::narrator::texts::{DEFAULT_LANGUAGE, Message, hints};
use crate::queue::EstimatedWait;
use crate::rejection::Rejection;
use crate::session::event::HandoverOutcome;
use crate::time::Span;
use crate::transfer::event::{Over, Returned, WhyReturned};
use crate::transfer::state::Outcome;
use crate::{callback, canonical, transfer};
use aaep::event::{TargetKind, Urgency};
use aaep::stamp::stamp;
use aaep::{
    AGENT_ID, CONNECTED, CONTEXT, EXTENSION, EXTENSION_CONTEXT, FIELDS_MAX, ON_HOLD, RINGING,
    VERSION, WAITING,
};

const IDLE: &str = "idle";
const HANDING_OFF: &str = "handing_off";

/// The values of `cancelled_by`.
const BY_USER: &str = "user";
const BY_SYSTEM: &str = "system";
const BY_TIMEOUT: &str = "timeout";

impl Cause<'_> {
    /// The announcements about an entry. `state` is that of the session so far. Without one the
    /// session begins here, even in the middle of a transfer, and tells listeners the current
    /// status.
    pub fn told(&self, event: &Event, state: Option<&str>) -> Option<Announcements> {
        match event {
            Event::Routed(routed) => Some(self.routed(routed)),
            Event::Transfer(event) => {
                event.moved()?;
                Some(self.transfer(event, state))
            }
            Event::Callback(callback::Event::Asked(asked)) => Some(self.callback(asked)),
            Event::Callback(callback::Event::Settled(_))
            | Event::Opened(_)
            | Event::Said(_)
            | Event::NotHeard(_)
            | Event::Updated(_)
            | Event::SignalsObserved(_)
            | Event::Delivered(_)
            | Event::Unreached(_)
            | Event::HolderSilent(_)
            | Event::Extended(_)
            | Event::ReplyOverdue(_)
            | Event::Closed(_) => None,
        }
    }

    /// An agent asked to hand over, and the request was refused.
    pub fn refused(
        &self,
        session: &SessionId,
        holder: &AgentId,
        asked: &HandoverRequest,
    ) -> Announcements {
        let mut telling = AnnouncementBuilder::begin(self, session, json!({}));
        let agent = self.name(holder);
        telling.say("session.started", &Message::StateHandingOff { agent }, json!({}));
        let mut how = json!({ "cancelled_by": BY_SYSTEM });
        let mut why = Message::HandoverRefused { to: agent };
        if let HandoverOutcome::Refused { code } = &asked.handover.outcome {
            how["cancellation_reason"] = code.as_str().into();
            if code == (Rejection::NoDefaultQueue { field: "queue" }).code() {
                why = Message::HandoverWithoutQueue { to: agent };
            }
        }
        telling.say("session.cancelled", &why, how);
        telling.told(IDLE)
    }

    fn routed(&self, it: &Routed) -> Announcements {
        let session = route_session(self.conversation.id, it.number);
        let mut telling = AnnouncementBuilder::begin(self, &session, json!({ "route": it.number }));
        let (from, to) = (self.name(&it.holder), self.name(&it.to));
        telling.say("session.started", &Message::HandoverBegun, json!({}));
        let request = Message::RouteRequested { from, to };
        let language = self.language();
        let why = customer_text::of_route(it, language, from, to);
        telling.request(&request, &why, TargetKind::SpecialistAgent, &it.to);
        telling.say("session.completed", &Message::RouteChanged { from, to }, json!({}));
        telling.told(IDLE)
    }

    /// Says who calls, and neither where nor why.
    fn callback(&self, it: &callback::Asked) -> Announcements {
        let session = callback_session(self.hash);
        let mut telling = AnnouncementBuilder::begin(self, &session, json!({}));
        let queue = self.name(&it.queue);
        telling.say("session.started", &Message::CallbackAsked, json!({}));
        telling.say("session.completed", &Message::CallbackArranged { queue }, json!({}));
        telling.told(IDLE)
    }

    fn transfer(&self, event: &transfer::Event, state: Option<&str>) -> Announcements {
        let id = event.transfer();
        let session = transfer_session(id);
        let mut telling =
            AnnouncementBuilder::begin(self, &session, json!({ "transfer_id": id.to_string() }));
        let begins = matches!(event, transfer::Event::Requested(_));
        let mut from = state.unwrap_or(IDLE).to_owned();
        if state.is_none() {
            telling.open(self.queue(event, id), self.said(event, id));
            HANDING_OFF.clone_into(&mut from);
        }
        if begins {
            return telling.told(&from);
        }
        if let transfer::Event::Over(over) = event {
            self.over(&mut telling, over);
            return telling.told(&from);
        }
        let Some((to, message)) = self.moved(event, &from) else { return telling.told(&from) };
        telling.change(&from, to, &message);
        telling.told(to)
    }

    /// The new status of the transfer, and its text.
    fn moved<'e>(
        &'e self,
        event: &'e transfer::Event,
        from: &str,
    ) -> Option<(&'static str, Message<'e>)> {
        Some(match event {
            transfer::Event::Queued(it) => {
                let queue = self.name(&it.queue);
                let message = match from == HANDING_OFF || it.holder == it.queue {
                    true => self.waiting(queue),
                    false => Message::TransferMoved { queue },
                };
                (WAITING, message)
            }
            transfer::Event::Ringing(it) => {
                (RINGING, Message::TransferRinging { person: self.name(&it.agent) })
            }
            transfer::Event::Returned(it) => (WAITING, self.returned(it)),
            // Where it waits now is told by the next event.
            transfer::Event::PassedOn(it) => {
                (WAITING, Message::TransferPersonLeft { person: self.name(&it.holder) })
            }
            transfer::Event::Connected(it) if it.leg == 0 => {
                (CONNECTED, Message::TransferConnected { person: self.name(&it.agent) })
            }
            transfer::Event::Connected(it) => {
                let (from, to) = (self.name(&it.holder), self.name(&it.agent));
                (CONNECTED, Message::TransferPassedOn { from, to })
            }
            transfer::Event::Held(it) => {
                (ON_HOLD, Message::TransferHeld { person: self.name(&it.holder) })
            }
            transfer::Event::Resumed(it) => {
                (CONNECTED, Message::TransferResumed { person: self.name(&it.holder) })
            }
            transfer::Event::Requested(_)
            | transfer::Event::Consulted(_)
            | transfer::Event::LegRequested(_)
            | transfer::Event::LegEnded(_)
            | transfer::Event::Noted(_)
            | transfer::Event::Over(_)
            | transfer::Event::Rated(_) => return None,
        })
    }

    /// That it waits, in which place, and for how long, as far as that is known.
    fn waiting<'e>(&self, queue: &'e str) -> Message<'e> {
        let Some(QueuePlace { place, wait }) = self.line else {
            return Message::TransferWaiting { queue };
        };
        match wait {
            Some(EstimatedWait { from, to }) => {
                let (least, most) = (minutes(from), minutes(to));
                Message::TransferWait { queue, place, least, most }
            }
            None => Message::TransferPlace { queue, place },
        }
    }

    /// That it is over and who answers then, and never why.
    fn over(&self, telling: &mut AnnouncementBuilder<'_>, it: &Over) {
        let person = self.name(&it.holder);
        // No holder gets a closed conversation back.
        let to = (it.to != it.holder).then(|| self.name(&it.to));
        match it.outcome {
            Outcome::Completed => {
                let message = to.map_or(Message::TransferCompleted { person }, |to| {
                    Message::TransferGivenBack { person, to }
                });
                telling.say("session.completed", &message, json!({}));
            }
            Outcome::Ended => {
                // The customer or a coordinator may close it as well.
                let is_person = self.actor.strip_prefix("agent:") == Some(it.holder.as_str());
                let message = match is_person {
                    true => Message::TransferEnded { person },
                    false => Message::ConversationClosed,
                };
                telling.say("session.completed", &message, json!({}));
            }
            Outcome::Failed => {
                let message =
                    to.map_or(Message::ConversationClosed, |to| Message::TransferFailed { to });
                let by = if self.actor == BY_SYSTEM { BY_TIMEOUT } else { BY_SYSTEM };
                telling.say("session.cancelled", &message, json!({ "cancelled_by": by }));
            }
            Outcome::Cancelled => {
                let by = if self.actor.starts_with("customer:") { BY_USER } else { BY_SYSTEM };
                let message =
                    to.map_or(Message::ConversationClosed, |to| Message::TransferCancelled { to });
                telling.say("session.cancelled", &message, json!({ "cancelled_by": by }));
            }
        }
    }

    fn returned<'e>(&'e self, it: &'e Returned) -> Message<'e> {
        match it.why {
            WhyReturned::AgentLost => Message::TransferPersonLost { person: self.name(&it.agent) },
            WhyReturned::Blind => Message::TransferPersonLeft { person: self.name(&it.agent) },
            WhyReturned::Declined | WhyReturned::NotAnswered => Message::TransferReturned,
        }
    }

    /// The requester's text for the customer.
    fn said<'e>(&'e self, event: &'e transfer::Event, id: TransferId) -> Option<&'e str> {
        let last = self.conversation.transfer.as_deref().filter(|transfer| transfer.id == id);
        let said = if let transfer::Event::Requested(it) = event {
            &it.customer_text
        } else {
            &last?.terms.customer_text
        };
        Some(said.as_str()).filter(|said| !said.is_empty())
    }

    /// The customer's language.
    fn language(&self) -> Option<&str> {
        self.conversation.setup.customer.language.as_deref()
    }

    /// The queue in which it waits or waited.
    fn queue<'e>(&'e self, event: &'e transfer::Event, id: TransferId) -> &'e AgentId {
        if let Some(queue) = event.queue() {
            return queue;
        }
        let last = self.conversation.transfer.as_deref().filter(|transfer| transfer.id == id);
        last.map_or(&self.conversation.holder, |transfer| &transfer.queue)
    }

    fn name<'e>(&'e self, id: &'e AgentId) -> &'e str {
        self.names.get(id).map_or(id.as_str(), String::as_str)
    }
}

/// An estimate is in whole minutes already.
fn minutes(span: Span) -> u64 {
    u64::try_from(span.as_millis() / Span::from_minutes(1).as_millis()).unwrap_or_default()
}

/// The events of one entry, while they are made.
struct AnnouncementBuilder<'a> {
    cause: &'a Cause<'a>,
    session: &'a SessionId,
    language: &'a str,
    /// The members of our extension on all of them.
    link: Value,
    events: Vec<String>,
}

impl<'a> AnnouncementBuilder<'a> {
    fn begin(cause: &'a Cause<'a>, session: &'a SessionId, mut link: Value) -> Self {
        link["conversation_id"] = cause.conversation.id.to_string().into();
        if let Some(HandoverRequest { session, handover }) = cause.asked {
            link["requested_by_session"] = session.as_str().into();
            link["requested_by_event"] = handover.event_id.as_str().into();
            link["outcome"] = handover.outcome.as_str().into();
        }
        let language = cause.conversation.setup.customer.language.as_deref();
        let language = language.unwrap_or(DEFAULT_LANGUAGE);
        Self { cause, session, language, link, events: Vec::new() }
    }

    /// The start, the state, and the request, each with its own text.
    fn open(&mut self, queue: &AgentId, said: Option<&str>) {
        let name = self.cause.name(queue);
        let is_unknown = self
            .cause
            .asked
            .is_some_and(|asked| asked.handover.outcome == HandoverOutcome::DefaultQueue);
        let message = match is_unknown {
            true => Message::TargetUnknown { queue: name },
            false => Message::TransferRequested { queue: name },
        };
        self.say("session.started", &Message::HandoverBegun, json!({}));
        self.change(IDLE, HANDING_OFF, &Message::AssistantSilent);
        let fixed = message.in_language(self.language).normal;
        self.request(&message, said.unwrap_or(&fixed), TargetKind::Human, queue);
    }

    /// `why` is what the customer may know; the true reason is for colleagues.
    fn request(&mut self, message: &Message<'_>, why: &str, kind: TargetKind, to: &AgentId) {
        let more = json!({
            "reason": why, "target_kind": kind.as_str(), "target_uri": target_uri(kind, to),
        });
        self.say("handoff.requested", message, more);
    }

    fn change(&mut self, from: &str, to: &str, message: &Message<'_>) {
        self.say("state.changed", message, json!({ "from_state": from, "to_state": to }));
    }

    fn say(&mut self, kind: &str, message: &Message<'_>, more: Value) {
        let urgency = match kind {
            "handoff.requested" => Urgency::Critical,
            _ => Urgency::Normal,
        };
        let mut event = json!({
            "@context": [CONTEXT, EXTENSION_CONTEXT],
            "aaep_version": VERSION,
            "type": format!("aaep:agent.{kind}"),
            "event_id": self.event_id(),
            "session_id": self.session,
            "timestamp": stamp(self.cause.at),
            "producer": { "agent_id": AGENT_ID, "agent_name": "Tasuki" },
            "urgency": urgency,
            "localization_hints": hints(self.language),
            "extensions": { EXTENSION: self.link },
        });
        let fields: &mut Map<String, Value> = event.as_object_mut().expect("it is an object");
        message.put_summaries(self.language, fields);
        if let Value::Object(more) = more {
            fields.extend(more);
        }
        fit(fields);
        self.events.push(event.to_string());
    }

    /// From the entry, and its index among the entry's events.
    fn event_id(&self) -> String {
        format!("evt_{}{}", &canonical::hex(self.cause.hash)[..32], self.events.len())
    }

    fn told(self, state: &str) -> Announcements {
        Announcements { events: self.events, state: state.to_owned() }
    }
}

/// Fits an event into the limit of members. With too many languages, first the short and long forms
/// of the other languages are dropped, then whole languages.
fn fit(fields: &mut Map<String, Value>) {
    for level in ["summary_detailed_", "summary_terse_", "summary_normal_"] {
        // Our own key in `extensions` counts too.
        while fields.len() + 1 > FIELDS_MAX {
            let found = fields.keys().rev().find(|name| name.starts_with(level)).cloned();
            let Some(name) = found else { break };
            fields.remove(&name);
        }
    }
}
