//! Our own announcements, in every language that has a plain file in `texts/`. The values that are
//! filled in are untrusted text, so they are cleaned, cut, and kept from changing the direction of
//! the sentence around them.

mod catalogue;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::json::is_forbidden;
use aaep::event::Verbosity;
pub use catalogue::{Catalogue, Direction, Levels};

/// The fallback language: it has every text.
pub const DEFAULT_LANGUAGE: &str = "en";

/// The languages, each a file. To add one, add its file here; `docs/languages.md` tells how.
const FILES: &[(&str, &str)] = &[
    ("en", include_str!("texts/en.txt")),
    ("es", include_str!("texts/es.txt")),
    ("de", include_str!("texts/de.txt")),
    ("fr", include_str!("texts/fr.txt")),
    ("ja", include_str!("texts/ja.txt")),
    ("yo", include_str!("texts/yo.txt")),
];

/// The longest value that is filled in, in characters. No listener hears a longer name to its end.
pub const FILLED_CHARS_MAX: usize = 80;

/// The end of a text that was cut, and the replacement of an unreadable text.
const CUT: char = '…';

/// First strong isolate, and its end: the text between them has a direction of its own.
const ISOLATE: char = '\u{2068}';
const ISOLATE_END: char = '\u{2069}';

static CATALOGUES: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    let read = |(tag, file): &(&str, &'static str)| {
        Catalogue::read(file, TEXTS).unwrap_or_else(|error| panic!("texts/{tag}.txt: {error}"))
    };
    FILES.iter().map(read).collect()
});

/// The value of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled<'a> {
    /// Untrusted text.
    Text(&'a str),
    Number(u64),
}

impl<'a> From<&'a str> for Filled<'a> {
    fn from(text: &'a str) -> Self {
        Filled::Text(text)
    }
}

impl From<u64> for Filled<'_> {
    fn from(number: u64) -> Self {
        Filled::Number(number)
    }
}

macro_rules! messages {
    ($($(#[$doc:meta])* $variant:ident $({ $($field:ident: $type:ty),* })? = $key:literal;)*) => {
        /// One of our announcements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Message<'a> {
            $($(#[$doc])* $variant $({ $($field: $type),* })?,)*
        }

        /// The names of all texts, with their placeholders.
        pub const TEXTS: &[(&str, &[&str])] =
            &[$(($key, &[$($(stringify!($field)),*)?])),*];

        impl<'a> Message<'a> {
            /// The name of its texts in the files.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Message::$variant $({ $($field: _),* })? => $key,)*
                }
            }

            fn filled(&self) -> Vec<(&'static str, Filled<'a>)> {
                match *self {
                    $(Message::$variant $({ $($field),* })? => {
                        vec![$($((stringify!($field), $field.into())),*)?]
                    })*
                }
            }
        }
    };
}

messages! {
    /// A conversation has changed hands between AI agents.
    RouteChanged { from: &'a str, to: &'a str } = "route_changed";
    /// A conversation begins to change hands.
    HandoverBegun = "handover_begun";
    RouteRequested { from: &'a str, to: &'a str } = "route_requested";
    /// From the request for a person on.
    AssistantSilent = "assistant_silent";
    TransferRequested { queue: &'a str } = "transfer_requested";
    TransferWaiting { queue: &'a str } = "transfer_waiting";
    TransferPlace { queue: &'a str, place: u64 } = "transfer_place";
    /// In minutes.
    TransferWait { queue: &'a str, place: u64, least: u64, most: u64 } = "transfer_wait";
    /// It waits in another queue.
    TransferMoved { queue: &'a str } = "transfer_moved";
    TransferRinging { person: &'a str } = "transfer_ringing";
    /// The person who was asked did not answer, or declined.
    TransferReturned = "transfer_returned";
    /// The person who was asked, or who answered, was lost.
    TransferPersonLost { person: &'a str } = "transfer_person_lost";
    TransferPersonLeft { person: &'a str } = "transfer_person_left";
    TransferConnected { person: &'a str } = "transfer_connected";
    /// A person has taken over from another one.
    TransferPassedOn { from: &'a str, to: &'a str } = "transfer_passed_on";
    TransferHeld { person: &'a str } = "transfer_held";
    TransferResumed { person: &'a str } = "transfer_resumed";
    /// It is settled, and the previous holder answers again.
    TransferGivenBack { person: &'a str, to: &'a str } = "transfer_given_back";
    TransferCompleted { person: &'a str } = "transfer_completed";
    TransferEnded { person: &'a str } = "transfer_ended";
    TransferFailed { to: &'a str } = "transfer_failed";
    TransferCancelled { to: &'a str } = "transfer_cancelled";
    /// A bot was silent, and another agent takes over.
    SilentNext { from: &'a str, to: &'a str } = "silent_next";
    SilentPerson { from: &'a str } = "silent_person";
    /// No fallback is left, and the customer can ask for a person.
    SilentEnd = "silent_end";
    /// Not even that.
    SilentAlone = "silent_alone";
    /// A bot said that it transfers the customer, and did not.
    UnkeptNext { from: &'a str, to: &'a str } = "unkept_next";
    UnkeptPerson { from: &'a str } = "unkept_person";
    UnkeptEnd = "unkept_end";
    UnkeptAlone = "unkept_alone";
    /// The requested target of a handoff does not exist, so it goes to a queue.
    TargetUnknown { queue: &'a str } = "target_unknown";
    /// A requested handoff was refused.
    HandoverRefused { to: &'a str } = "handover_refused";
    /// A handoff was requested, and the teamspace has no default queue.
    HandoverWithoutQueue { to: &'a str } = "handover_without_queue";
    CallbackAsked = "callback_asked";
    CallbackArranged { queue: &'a str } = "callback_arranged";
    ConversationClosed = "conversation_closed";
    /// The default, no, was applied.
    ConfirmationTimedOut = "confirmation_timed_out";
    /// The default, yes, was applied.
    ConfirmationDefaulted = "confirmation_defaulted";
    ClarificationTimedOut = "clarification_timed_out";
    ClarificationDefaulted { answer: &'a str } = "clarification_defaulted";
    AnsweredAccepted = "answered_accepted";
    AnsweredRejected = "answered_rejected";
    AnsweredElsewhere = "answered_elsewhere";
    QuestionWithdrawn = "question_withdrawn";
    ConsentWithdrawn = "consent_withdrawn";
    SessionStarted { agent: &'a str } = "session_started";
    SessionCompleted { agent: &'a str } = "session_completed";
    SessionFailed { agent: &'a str } = "session_failed";
    SessionCancelled { agent: &'a str } = "session_cancelled";
    SessionAbandoned { agent: &'a str } = "session_abandoned";
    StateIdle { agent: &'a str } = "state_idle";
    StateThinking { agent: &'a str } = "state_thinking";
    StateCallingTool { agent: &'a str } = "state_calling_tool";
    StateWritingOutput { agent: &'a str } = "state_writing_output";
    StateAwaitingInput { agent: &'a str } = "state_awaiting_input";
    StateDeciding { agent: &'a str } = "state_deciding";
    StateHandingOff { agent: &'a str } = "state_handing_off";
    /// The status of a transfer, for listeners that join later: the states of [`super`].
    StateWaiting = "state_waiting";
    StateRinging = "state_ringing";
    StateConnected = "state_connected";
    StateOnHold = "state_on_hold";
}

/// A message in one language. Levels that add nothing to `normal` are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    pub language: &'static str,
    pub terse: Option<String>,
    pub normal: String,
    pub detailed: Option<String>,
}

impl Spoken {
    /// The text of a level, or the nearest one that exists.
    pub fn at(&self, verbosity: Verbosity) -> &str {
        let other = match verbosity {
            Verbosity::Terse => &self.terse,
            Verbosity::Normal => &None,
            Verbosity::Detailed => &self.detailed,
        };
        other.as_deref().unwrap_or(&self.normal)
    }
}

impl<'a> Message<'a> {
    /// What an agent is doing, by the name of its state; `None` for custom states of its producer.
    pub fn of_state(state: &str, agent: &'a str) -> Option<Self> {
        match state {
            "idle" => Some(Message::StateIdle { agent }),
            "thinking" => Some(Message::StateThinking { agent }),
            "calling_tool" => Some(Message::StateCallingTool { agent }),
            "writing_output" => Some(Message::StateWritingOutput { agent }),
            "awaiting_input" => Some(Message::StateAwaitingInput { agent }),
            "deciding" => Some(Message::StateDeciding { agent }),
            "handing_off" => Some(Message::StateHandingOff { agent }),
            _ => None,
        }
    }

    /// In the language of a BCP 47 tag, or in the nearest one that exists.
    pub fn in_language(&self, tag: &str) -> Spoken {
        self.spoken(catalogue(tag))
    }

    /// In all languages at once: `summary_normal` and its other levels in the primary one, and
    /// `summary_normal_es` and so on in the rest.
    pub fn put_summaries(&self, primary: &str, into: &mut Map<String, Value>) {
        let primary = catalogue(primary);
        for one in catalogues() {
            let spoken = self.spoken(one);
            let suffix = match one.language == primary.language {
                true => String::new(),
                false => format!("_{}", one.language),
            };
            let levels = [
                ("terse", spoken.terse),
                ("normal", Some(spoken.normal)),
                ("detailed", spoken.detailed),
            ];
            for (level, text) in levels {
                if let Some(text) = text {
                    into.insert(format!("summary_{level}{suffix}"), text.into());
                }
            }
        }
    }

    fn spoken(&self, catalogue: &Catalogue) -> Spoken {
        let key = self.key();
        let english = &catalogues()[0];
        let levels = catalogue.texts.get(key).or_else(|| english.texts.get(key));
        let levels = levels.expect("English has every text");
        let filled = self.filled();
        let fill = |text: &&'static str| fill(text, &filled);
        Spoken {
            language: catalogue.language,
            terse: levels.terse.as_ref().map(fill),
            normal: fill(&levels.normal),
            detailed: levels.detailed.as_ref().map(fill),
        }
    }
}

/// `localization_hints` of an event with the summaries of [`Message::put_summaries`].
pub fn hints(primary: &str) -> Value {
    let primary = catalogue(primary);
    let languages: Vec<&str> = catalogues().iter().map(|one| one.language).collect();
    json!({
        "primary_language": primary.language,
        "text_direction": primary.direction.as_str(),
        "available_languages": languages,
        "fallback_chain": [DEFAULT_LANGUAGE],
    })
}

/// All languages, English first.
pub fn catalogues() -> &'static [Catalogue] {
    &CATALOGUES
}

/// The catalogue nearest to a BCP 47 tag: the same tag, a shorter form of it, another tag of the
/// same language, English.
pub fn catalogue(tag: &str) -> &'static Catalogue {
    let mut rest = tag;
    loop {
        if let Some(found) = catalogues().iter().find(|one| one.language.eq_ignore_ascii_case(rest))
        {
            return found;
        }
        match rest.rsplit_once('-') {
            Some((shorter, _)) => rest = shorter,
            None => break,
        }
    }
    let is_same = |one: &&Catalogue| {
        one.language.split('-').next().is_some_and(|first| first.eq_ignore_ascii_case(rest))
    };
    catalogues().iter().find(is_same).unwrap_or(&catalogues()[0])
}

/// One pass, so that a name that looks like a placeholder stays a name.
fn fill(text: &str, filled: &[(&'static str, Filled<'_>)]) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').expect("a file is read only if its braces close");
        out.push_str(before);
        match filled.iter().find(|(known, _)| *known == name) {
            Some((_, Filled::Number(number))) => out.push_str(&number.to_string()),
            Some((_, Filled::Text(words))) => {
                out.push(ISOLATE);
                out.push_str(&clean(words));
                out.push(ISOLATE_END);
            }
            None => unreachable!("a file is read only if its placeholders are known"),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Untrusted text as part of a sentence of ours: on one line, without invisible characters, and cut
/// to a length that listeners follow.
pub fn clean(words: &str) -> String {
    let mut out = String::new();
    let mut n_chars = 0;
    let visible = words.chars().map(|character| match character {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        other => other,
    });
    let mut visible = visible.filter(|character| !is_hidden(*character)).peekable();
    while let Some(character) = visible.next() {
        if character.is_whitespace() && (out.is_empty() || out.ends_with(' ')) {
            continue;
        }
        // Marks that belong to the character before them are kept with it, up to a limit.
        let limit = if is_attached(character) { 2 * FILLED_CHARS_MAX } else { FILLED_CHARS_MAX };
        if n_chars + 1 >= limit && visible.peek().is_some() {
            out.push(CUT);
            return out;
        }
        out.push(if character.is_whitespace() { ' ' } else { character });
        n_chars += 1;
    }
    out.truncate(out.trim_end().len());
    if out.is_empty() {
        out.push(CUT);
    }
    out
}

/// Control characters, direction marks and overrides, invisible spaces and tags.
fn is_hidden(character: char) -> bool {
    is_forbidden(character)
        || matches!(
            character,
            '\u{00AD}'
                | '\u{061C}'
                | '\u{180E}'
                | '\u{200B}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF0}'..='\u{FFFB}'
        )
}

/// Combining marks, joiners and variation selectors, which need the character before them.
fn is_attached(character: char) -> bool {
    matches!(
        character,
        '\u{0300}'..='\u{036F}'
            | '\u{1AB0}'..='\u{1AFF}'
            | '\u{1DC0}'..='\u{1DFF}'
            | '\u{200C}'
            | '\u{200D}'
            | '\u{20D0}'..='\u{20FF}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FE20}'..='\u{FE2F}'
            | '\u{1F3FB}'..='\u{1F3FF}'
    )
}
