//! Every rule of a session: its section number and its text. Where the specification is unsafe,
//! ours is stricter, and the text says so.

use crate::flaw::{Flaw, Tier};

#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The section of the specification, or `limit` if the limit is ours.
    pub number: &'static str,
    pub words: &'static str,
}

macro_rules! rules {
    ($($name:ident = $number:literal $words:literal;)*) => {
        $(pub const $name: Rule = Rule { number: $number, words: $words };)*

        /// All of them, by chapter.
        pub const ALL: &[(&str, &Rule)] = &[$((stringify!($name), &$name)),*];
    };
}

rules! {
    SAME_AGENT = "2.2.5" "One producer announces in a session; others have a session each.";
    SAME_SESSION = "3" "All events of a session carry its session_id.";
    EVENT_ONCE = "3" "An event_id occurs once.";
    NUMBERED = "3"
        "Either all events carry a sequence_number or none does; it starts at 0 and goes up by 1.";
    TIME_FORWARD = "3" "A timestamp is never before the one of the event before.";
    STARTS = "4.1.1" "A session begins with session.started.";
    STARTS_ONCE = "4.1.1" "A session has one session.started.";
    ENDS_ONCE = "4.1.2" "A session has one end: completed, errored or cancelled.";
    ERRORED_CRITICAL = "4.1.3" "session.errored is critical.";
    FIRST_STATE = "4.2.1" "The first state.changed is from idle.";
    CHAINED_STATE = "4.2.1"
        "A later state.changed is from the state before, or from one that the events since imply: \
        calling_tool by tool events, awaiting_input by questions, writing_output by chunks, \
        handing_off by handoff.requested.";
    CALL_ONCE = "4.3.1" "A tool_call_id names one call of the session.";
    CONSENT = "4.3.1"
        "An irreversible tool.invoked needs an accept by a person, one for each call. Neither a \
        default nor an automated reply is enough, nor an accept of what was said to be \
        reversible, with or without effort.";
    LAPSED = "4.3.1"
        "An accept lapses by our clock. After that nothing irreversible rests on it, and the \
        producer asks again.";
    BOUND = "4.3.1"
        "A call that was confirmed by tool_call_id and action_hash carries the same ones.";
    BOUND_BY_HASH = "4.3.1"
        "Where weak bindings are refused, an irreversible action is confirmed and called with its \
        action_hash.";
    SAME_TOOL = "4.3.2" "tool.completed names the tool of its tool.invoked.";
    RETURN_BEFORE_STATE = "4.3.2"
        "A tool returns before a state.changed leaves calling_tool. When one of several has \
        returned, the others may go on.";
    CALLS_CLOSED = "4.3.2"
        "Every call has returned before the session ends, however it ends; one that was given up \
        returns with timeout.";
    POSITION = "4.3.3"
        "position is the number of Unicode scalar values already sent of the output: the one with \
        this output_id, or the one that all chunks without an id make up.";
    CONFIRMATION_CRITICAL = "4.4.1" "awaiting.confirmation is critical.";
    ASKED_BEFORE = "4.4.1" "A confirmation comes before its call.";
    CLARIFICATION_CRITICAL = "4.4.2" "awaiting.clarification is critical.";
    HANDOFF_CRITICAL = "4.4.3" "handoff.requested is critical.";
    NOTHING_AFTER = "4.5.1" "Nothing follows the end of a session.";
    PAIRED = "4.5.2"
        "tool.completed has an open tool.invoked before it: with the same tool_call_id, or \
        without one and with the same tool.";
    BLOCKED = "4.5.3" "While a confirmation waits, its call is not made.";
    REFUSED = "4.5.3"
        "After a reject, or when the question was withdrawn, its call is not made unless a new \
        confirmation is accepted.";
    ASKED_ONCE = "4.5.3" "While a confirmation waits, the same action is not asked for again.";
    SETTLED = "4.5.3"
        "No question waits when the session completes. An error or a cancellation withdraws what \
        waits.";
    DONE = "4.5.3"
        "What was accepted is called before the session completes, or asked for again if the \
        accept has lapsed.";
    TOLD = "4.5.3"
        "A reject is followed by an event that tells of it, before the session completes: a \
        change of state, a chunk, another question or a handoff.";
    OUTPUT_COMPLETE = "4.5.4"
        "Every output is complete before the session ends, however it ends; the last chunk may be \
        empty.";
    OUTPUT_OVER = "4.5.4" "Nothing follows the chunk that completes an output.";
    TOKEN_ONCE = "6.2.4" "A reply_token is never used again.";
    DEFAULT_REJECT = "6.4.1"
        "What is irreversible defaults to reject at any risk, and so does what takes effort to \
        reverse at medium and high risk.";
    LIMIT = "limit"
        "A session keeps a bounded number of open calls, outputs, questions and accepts, and \
        bounded names.";
}

pub(super) fn flaw(rule: &Rule, field: &str, expected: impl AsRef<str>) -> Flaw {
    Flaw {
        tier: Tier::Session,
        rule: rule.number,
        field: field.to_owned(),
        expected: expected.as_ref().to_owned(),
    }
}
