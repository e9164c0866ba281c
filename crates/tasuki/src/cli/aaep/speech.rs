//! The texts of a listener's own terminal, in every available language: one plain file for each in
//! `speech/`, in the form of our announcements. English is the fallback.

use std::sync::LazyLock;

use aaep::event::Decision;
use protocol::narrator::texts::{Catalogue, catalogue};

/// The languages, each a file; the same as those of our announcements.
const FILES: &[(&str, &str)] = &[
    ("en", include_str!("speech/en.txt")),
    ("es", include_str!("speech/es.txt")),
    ("de", include_str!("speech/de.txt")),
    ("fr", include_str!("speech/fr.txt")),
    ("ja", include_str!("speech/ja.txt")),
    ("yo", include_str!("speech/yo.txt")),
];

static CATALOGUES: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    let read = |(tag, file): &(&str, &'static str)| {
        Catalogue::read(file, TEXTS).unwrap_or_else(|error| panic!("speech/{tag}.txt: {error}"))
    };
    FILES.iter().map(read).collect()
});

macro_rules! texts {
    ($($variant:ident($($field:ident),*) = $key:literal;)*) => {
        /// A text that the terminal says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Text {
            $($variant,)*
        }

        /// The names of all texts, with their placeholders.
        const TEXTS: &[(&str, &[&str])] = &[$(($key, &[$(stringify!($field)),*])),*];

        impl Text {
            fn key(self) -> &'static str {
                match self {
                    $(Text::$variant => $key,)*
                }
            }
        }
    };
}

texts! {
    Urgent() = "urgent";
    Asks(name, number) = "asks";
    AskedAnswered(name) = "asked_answered";
    AskedTimedOut(name) = "asked_timed_out";
    AskedWithdrawn(name) = "asked_withdrawn";
    AskedSettled(name) = "asked_settled";
    InShort(text) = "in_short";
    Action(text) = "action";
    Consequence(text) = "consequence";
    Question(text) = "question";
    Context(text) = "context";
    RiskLow() = "risk_low";
    RiskMedium() = "risk_medium";
    RiskHigh() = "risk_high";
    UndoNo() = "undo_no";
    UndoEffort() = "undo_effort";
    UndoYes() = "undo_yes";
    UndoUnsaid() = "undo_unsaid";
    Also(name, text) = "also";
    AlsoMore(count) = "also_more";
    TextsIn(language) = "texts_in";
    TimeLeft(seconds) = "time_left";
    ThenAccept() = "then_accept";
    ThenReject() = "then_reject";
    ToAnswer(answers) = "to_answer";
    Or() = "or";
    Accept() = "accept";
    Reject() = "reject";
    Yes() = "yes";
    No() = "no";
    WayChoice(number) = "way_choice";
    WayNumber(number) = "way_number";
    WayWords(number) = "way_text";
    Expected(answers, number) = "expected";
    Closed(number, why) = "closed";
    WhyOver() = "why_over";
    WhySettled() = "why_settled";
    WhyAccepted() = "why_accepted";
    WhyRejected() = "why_rejected";
    WhyAnswered() = "why_answered";
    WhyTime() = "why_time";
    WhyWithdrawn() = "why_withdrawn";
    NothingWaits() = "nothing_waits";
    TypedBefore(number) = "typed_before";
    AnsweredNothing(number) = "answered_nothing";
    NoSuchQuestion() = "no_such_question";
    Several() = "several";
    Waits(answers, number, text) = "waits";
    NotNamed(accept, number) = "not_named";
    AnswerSent(answer, number) = "answer_sent";
    NotCounted(number, why) = "not_counted";
    AnswersOff() = "answers_off";
    AnswerWaits(number) = "answer_waits";
    Listening() = "listening";
    ForOthers() = "for_others";
    Away() = "away";
    Back() = "back";
    Over(why) = "over";
    TermsChanged() = "terms_changed";
    TermsRefused(why) = "terms_refused";
    TermsUnanswered() = "terms_unanswered";
    OnlyListening() = "only_listening";
    NoSuchCommand(name) = "no_such_command";
    HelpAnswer(accept, reject) = "help_answer";
    HelpNumbered() = "help_numbered";
    HelpQuestions() = "help_questions";
    HelpVerbosity() = "help_verbosity";
    HelpPace() = "help_pace";
    HelpRate() = "help_rate";
    HelpLoad() = "help_load";
    HelpBoundary() = "help_boundary";
    HelpLanguage() = "help_language";
    HelpQuit() = "help_quit";
    BadValue(example) = "bad_value";
    Started() = "started";
    Finished() = "finished";
    Failed() = "failed";
    Stopped() = "stopped";
    StateIdle() = "state_idle";
    StateThinking() = "state_thinking";
    StateCallingTool() = "state_calling_tool";
    StateWritingOutput() = "state_writing_output";
    StateDeciding() = "state_deciding";
    StateHandingOff() = "state_handing_off";
    StateAwaitingInput() = "state_awaiting_input";
    StateOther(state) = "state_other";
    Percent(percent) = "percent";
    StepOf(all, step) = "step_of";
    Step(step) = "step";
    Uses(tool) = "uses";
    ToolSuccess(tool) = "tool_success";
    ToolError(tool) = "tool_error";
    ToolTimeout(tool) = "tool_timeout";
    HandsOver(reason) = "hands_over";
    CanDo(hint) = "can_do";
    Somebody() = "somebody";
    Sessions(count) = "sessions";
    Signed(name) = "signed";
    Answered(answer) = "answered";
}

/// The language in which the terminal speaks.
#[derive(Debug, Clone, Copy)]
pub struct Speech(&'static Catalogue);

impl Speech {
    /// The closest match for the listener's preferred language.
    pub fn new(preferred: Option<&str>) -> Self {
        let language = preferred.map_or("en", |tag| catalogue(tag).language);
        let found = CATALOGUES.iter().find(|one| one.language == language);
        Self(found.unwrap_or(&CATALOGUES[0]))
    }

    pub fn language(self) -> &'static str {
        self.0.language
    }

    pub fn say(self, text: Text, filled: &[(&str, &str)]) -> String {
        let levels = self.0.texts.get(text.key()).or_else(|| CATALOGUES[0].texts.get(text.key()));
        let template = levels.expect("English has every text").normal;
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        // One pass, so that a name that looks like a placeholder is not replaced.
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("a file is read if its braces close");
            let value = filled.iter().find(|(known, _)| *known == name);
            out.push_str(before);
            out.push_str(value.map_or("", |(_, value)| value));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A text with nothing to fill in.
    pub fn word(self, text: Text) -> String {
        self.say(text, &[])
    }

    pub fn decision_word(self, decision: Decision) -> String {
        match decision {
            Decision::Accept => self.word(Text::Accept),
            Decision::Reject => self.word(Text::Reject),
        }
    }

    /// The decision that a word stands for: in the listener's language, or in English.
    pub fn decision(self, word: &str) -> Option<Decision> {
        let word = word.to_lowercase();
        let is_it = |decision: &&Decision| self.decision_word(**decision).to_lowercase() == word;
        Decision::parse(&word).or_else(|| Decision::ALL.iter().find(is_it).copied())
    }

    /// Whether a word says yes or no.
    pub fn truth(self, word: &str) -> Option<bool> {
        let word = word.to_lowercase();
        let is = |text: Text, english: &str| word == english || word == self.word(text);
        match (is(Text::Yes, "yes"), is(Text::No, "no")) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use protocol::narrator::texts::catalogues;

    use super::*;

    fn placeholders(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect()
    }

    #[test]
    fn every_language_says_everything() {
        let ours: Vec<&str> = CATALOGUES.iter().map(|one| one.language).collect();
        let announced: Vec<&str> = catalogues().iter().map(|one| one.language).collect();
        assert_eq!(ours, announced, "the terminal speaks the languages of our announcements");
        let mut wrong = Vec::new();
        for (one, (tag, _)) in CATALOGUES.iter().zip(FILES) {
            for (key, known) in TEXTS {
                let Some(levels) = one.texts.get(key) else {
                    wrong.push(format!("{tag}.txt: [{key}] is missing"));
                    continue;
                };
                if placeholders(levels.normal) != known.iter().copied().collect() {
                    wrong.push(format!("{tag}.txt: [{key}] has other braces than {known:?}"));
                }
                let english = CATALOGUES[0].texts[key].normal;
                if *tag != "en" && levels.normal == english && !SAME_IN_ENGLISH.contains(key) {
                    wrong.push(format!("{tag}.txt: [{key}] is English"));
                }
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// Texts that are the same word in English and another language.
    const SAME_IN_ENGLISH: &[&str] = &["urgent", "no", "tool_error"];

    #[test]
    fn decisions_are_taken_in_the_listener_s_language_and_in_english() {
        for one in CATALOGUES.iter() {
            let speech = Speech::new(Some(one.language));
            for decision in Decision::ALL {
                let word = speech.decision_word(*decision);
                assert!(!word.contains(char::is_whitespace), "{word} is one word");
                assert_eq!(speech.decision(&word), Some(*decision));
                assert_eq!(speech.decision(decision.as_str()), Some(*decision));
            }
        }
        assert_eq!(Speech::new(Some("de-AT")).decision("Annehmen"), Some(Decision::Accept));
        assert_eq!(Speech::new(None).decision("annehmen"), None);
        assert_eq!(Speech::new(Some("tlh")).language(), "en");
    }
}
