//! `request`: a customer or an agent asks for a person. The conversation goes to the queue at once,
//! and the bot that had it may not speak from then on.

use crate::facts::{Context, Facts};
use crate::hidden::is_blank;
use crate::transfer::command::{REQUEST_KEY_BYTES_MAX, key_expected};

use super::shared::events;
use crate::agent::{Agent, Kind as AgentKind};
use crate::conversation::customer_text;
use crate::conversation::decide::shared::check_queue;
use crate::conversation::event::Event as ConversationEvent;
use crate::conversation::not_heard::Why;
use crate::conversation::state::{Conversation, Side};
use crate::ids::{AgentId, TransferId};
use crate::notes::check_text;
use crate::queue::{OpeningHours, Settings, order_key};
use crate::rejection::Rejection;
use crate::time::Time;
use crate::transfer::bundle::{About, Bundle, BundleId, SUMMARY_BYTES_MAX};
use crate::transfer::command::Request;
use crate::transfer::event::{Event, Queued, Requested};
use crate::transfer::kind::Kind;
use crate::transfer::state::{Limits, Overflow};

const PRIORITY_MAX: i32 = crate::queue::order::PRIORITY_MAX;

pub fn decide(
    conversation: &Conversation,
    id: TransferId,
    request: &Request,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let no_such = Rejection::NotFound { what: "conversation" };
    let side = conversation.side(context.caller).ok_or(no_such)?;
    if is_repeated(conversation, request) {
        return Ok(Vec::new());
    }
    if conversation.closed.is_some() {
        return Err(Rejection::ConversationClosed { action: "request_human" });
    }
    if let Some(open) = conversation.open_transfer() {
        let (transfer, status) = (open.id, open.status());
        return Err(Rejection::DuplicateRequest { transfer, status });
    }
    may_ask(conversation, request, &side, context)?;
    check(request)?;
    check_whose(request, &side)?;
    check_queue(conversation, &side, request.queue.as_ref(), context)?;
    let asked = Asking {
        id,
        by: context.caller.principal.to_string(),
        request_key: request.request_key.clone(),
        kind: request.kind,
        reason: check_text("reason", request.reason.as_deref())?.unwrap_or_default(),
        customer_text: customer_text::check(request.customer_text.as_deref())?,
        priority: request.priority,
        wanted: request.wanted.clone().unwrap_or_default(),
        about: &request.context,
        instead_of: None,
        words: request.words.as_deref(),
    };
    let queue = queue_of(context.facts, request.queue.as_ref())?;
    entered(conversation, asked, queue, context.now)
}

/// A request by a rule instead of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub transfer: TransferId,
    /// The rule, in words.
    pub reason: String,
    /// The agent that the conversation should have gone to.
    pub instead_of: Option<AgentId>,
}

/// The same request, made by a rule of the conversation itself. The queue is passed in as a fact.
pub fn request_for(
    conversation: &Conversation,
    ask: &Ask,
    queue: Option<&AgentId>,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let about = About::default();
    let asked = Asking {
        id: ask.transfer,
        by: "system".to_owned(),
        request_key: None,
        kind: Kind::BotToHuman,
        reason: ask.reason.clone(),
        customer_text: String::new(),
        priority: 0,
        wanted: Default::default(),
        about: &about,
        instead_of: ask.instead_of.clone(),
        words: None,
    };
    entered(conversation, asked, queue_of(context.facts, queue)?, context.now)
}

/// A customer gives a reason, and what the person should know. They cannot set the priority, the
/// requirements, or what a bot knows of them. Other callers cannot set `words`.
fn check_whose(request: &Request, side: &Side<'_>) -> Result<(), Rejection> {
    match side {
        Side::Customer => {
            let Request { kind, priority, wanted, context, .. } = request;
            let given = [
                ("type", *kind != Kind::default()),
                ("priority", *priority != 0),
                ("wanted", wanted.is_some()),
                ("context", !context.is_empty()),
                ("customer_text", request.customer_text.is_some()),
            ];
            let expected = "to be left out by a customer, who says `reason` and `words`";
            match given.iter().find(|(_, is_given)| *is_given) {
                Some((field, _)) => Err(invalid(field, expected)),
                None => check_words(request.words.as_deref()),
            }
        }
        Side::Agent(_) | Side::Overseer if request.words.is_some() => {
            Err(invalid("words", "to be left out but by the customer; `context.summary` is yours"))
        }
        Side::Agent(_) | Side::Overseer => Ok(()),
    }
}

fn check_words(words: Option<&str>) -> Result<(), Rejection> {
    match words {
        Some(words) if is_blank(words) || words.len() > SUMMARY_BYTES_MAX => {
            Err(invalid("words", &format!("1 to {SUMMARY_BYTES_MAX} bytes of text")))
        }
        Some(_) | None => Ok(()),
    }
}

/// A repeated request returns the current state.
fn is_repeated(conversation: &Conversation, request: &Request) -> bool {
    let last = conversation.transfer.as_ref().and_then(|it| it.terms.request_key.as_ref());
    last.is_some() && last == request.request_key.as_ref()
}

fn may_ask(
    conversation: &Conversation,
    request: &Request,
    side: &Side<'_>,
    context: Context<'_>,
) -> Result<(), Rejection> {
    match side {
        Side::Customer | Side::Overseer => Ok(()),
        Side::Agent(_) if context.caller.is_coordinator() => Ok(()),
        Side::Agent(agent) => {
            let refused = |why| {
                let holder = conversation.holder.clone();
                Err(Rejection::NotHeard { why, holder, epoch: conversation.epoch })
            };
            let epoch = request.epoch.ok_or(Rejection::EpochRequired)?;
            if epoch != conversation.epoch {
                return refused(Why::EpochOutdated);
            }
            if **agent != conversation.holder {
                return refused(Why::NotHolder);
            }
            Ok(())
        }
    }
}

fn check(request: &Request) -> Result<(), Rejection> {
    match request.kind {
        kind if Kind::REQUESTED.contains(&kind) => {}
        Kind::BotToBot => {
            return Err(invalid("type", "bot_to_human, warm or blind; bots route to each other"));
        }
        Kind::BotToHuman
        | Kind::Warm
        | Kind::Blind
        | Kind::HumanToHuman
        | Kind::SupervisorConsult => {
            return Err(invalid("type", "bot_to_human, warm or blind; people transfer"));
        }
    }
    if !(-PRIORITY_MAX..=PRIORITY_MAX).contains(&request.priority) {
        let expected = format!("a number from -{PRIORITY_MAX} to {PRIORITY_MAX}");
        return Err(invalid("priority", &expected));
    }
    let key = request.request_key.as_deref().unwrap_or("-");
    if key.is_empty() || key.len() > REQUEST_KEY_BYTES_MAX || key.chars().any(char::is_control) {
        return Err(invalid("request_key", &key_expected()));
    }
    if let Some(problem) = request.wanted.iter().flat_map(|it| it.problems()).next() {
        return Err(invalid(&format!("wanted.{}", problem.field), &problem.expected));
    }
    request.context.check()?;
    if request.kind == Kind::Blind && !request.context.is_empty() {
        return Err(invalid("context", "nothing for a blind transfer; `warm` takes it along"));
    }
    Ok(())
}

/// The requested queue, or the teamspace's default.
pub(crate) fn queue_of<'f>(
    facts: &'f Facts,
    asked: Option<&AgentId>,
) -> Result<&'f Agent, Rejection> {
    let unknown = || match asked {
        Some(agent) => Rejection::UnknownAgent { field: "queue", agent: agent.clone() },
        None => Rejection::NoDefaultQueue { field: "queue" },
    };
    let queue = facts.queue.as_ref().ok_or_else(unknown)?;
    match queue.kind {
        AgentKind::Queue => Ok(queue),
        AgentKind::Worker | AgentKind::System | AgentKind::Human => {
            Err(invalid("queue", "an agent that is a queue"))
        }
    }
}

struct Asking<'a> {
    id: TransferId,
    by: String,
    request_key: Option<String>,
    kind: Kind,
    reason: String,
    customer_text: String,
    priority: i32,
    wanted: crate::queue::Wanted,
    about: &'a About,
    instead_of: Option<AgentId>,
    words: Option<&'a str>,
}

fn entered(
    conversation: &Conversation,
    asked: Asking<'_>,
    queue: &Agent,
    now: Time,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let settings = queue.queue_settings();
    check_open("queue", &queue.id, settings.hours.as_ref(), now)?;
    let limits = limits(&settings, now);
    let bundle_id = BundleId { transfer: asked.id, leg: 0 };
    let about = (asked.by.as_str(), asked.reason.as_str(), asked.about);
    let mut bundle = Bundle::of(conversation, bundle_id, asked.kind, about, now);
    if let Some(bundle) = &mut bundle {
        bundle.customer_words = asked.words.map(str::to_owned);
    }
    let requested = Requested {
        holder: conversation.holder.clone(),
        transfer: asked.id,
        queue: queue.id.clone(),
        number: conversation.transcript.count + 1,
        epoch: conversation.epoch + 1,
        by: asked.by,
        request_key: asked.request_key,
        kind: asked.kind,
        reason: asked.reason,
        customer_text: asked.customer_text,
        priority: asked.priority,
        wanted: asked.wanted,
        limits,
        bundle,
        instead_of: asked.instead_of,
    };
    let queued = Queued {
        holder: queue.id.clone(),
        transfer: asked.id,
        queue: queue.id.clone(),
        epoch: requested.epoch,
        order: order_key(now, asked.priority, settings.level),
        limits,
        overflow: overflow(&settings, now, now),
    };
    Ok(events([Event::Requested(Box::new(requested)), Event::Queued(queued)]))
}

pub(super) fn check_open(
    field: &'static str,
    queue: &AgentId,
    hours: Option<&OpeningHours>,
    now: Time,
) -> Result<(), Rejection> {
    match hours {
        Some(hours) if !hours.is_open(now) => {
            let (queue, opens_at) = (queue.clone(), hours.next_opening(now));
            Err(Rejection::QueueClosed { field, queue, opens_at })
        }
        Some(_) | None => Ok(()),
    }
}

pub(super) fn limits(settings: &Settings, now: Time) -> Limits {
    let Settings { ring, hold, wait, target, rings, reply_target, .. } = *settings;
    let gives_up_at = now.plus(wait);
    let (target, rings) = (Some(target), Some(rings));
    Limits { ring, hold, wait, gives_up_at, target, rings, reply_target }
}

/// The next overflow step that is still ahead.
pub(super) fn overflow(settings: &Settings, requested_at: Time, now: Time) -> Option<Overflow> {
    overflow_to(settings, requested_at, now, |_| true)
}

/// The same, among the steps to these queues.
pub(super) fn overflow_to(
    settings: &Settings,
    requested_at: Time,
    now: Time,
    is_wanted: impl Fn(&AgentId) -> bool,
) -> Option<Overflow> {
    let steps = settings.patience.overflow.iter().filter(|step| is_wanted(&step.to));
    let at = |after| requested_at.plus(after);
    let mut to_come = steps.filter(|step| at(step.after) > now);
    to_come.next().map(|step| Overflow { at: at(step.after), to: step.to.clone() })
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
