//! Every finding: its stable name and how to fix it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    pub name: &'static str,
    pub words: &'static str,
}

macro_rules! advice {
    ($($constant:ident = $name:literal $words:literal;)*) => {
        $(pub(super) const $constant: Advice = Advice { name: $name, words: $words };)*

        pub const ALL: &[&Advice] = &[$(&$constant),*];
    };
}

advice! {
    SUMMARY_MISSING = "summary_missing"
        "give summary_normal: without it there is nothing to announce";
    TERSE_MISSING = "terse_missing"
        "give summary_terse, a few words for those who want few";
    TERSE_LONG = "terse_long"
        "make summary_terse shorter than summary_normal";
    DETAILED_SHORT = "detailed_short"
        "say more in summary_detailed than in summary_normal, or leave it out";
    SUMMARY_LONG = "summary_long"
        "keep summary_normal to what can be said in one breath, and put the rest in \
        summary_detailed";
    SUMMARY_TECHNICAL = "summary_technical"
        "write summaries to be read aloud: no JSON, markup, links or ids";
    SECRET_SHOWN = "secret_shown"
        "leave out keys, passwords and card numbers: what is announced is heard by others";
    LANGUAGE_MISSING = "language_missing"
        "give localization_hints.primary_language, so that a voice of that language reads it";
    ERROR_WITHOUT_HELP = "error_without_help"
        "give remediation_hint: what the user can do now";
    CRITICAL_OVERUSED = "critical_overused"
        "keep critical for errors, questions and handoffs: it interrupts listeners";
    PROGRESS_LOUD = "progress_loud"
        "send progress as background, so that it can wait for what matters";
    EVENTS_TOO_MANY = "events_too_many"
        "announce less at once: listeners cannot follow more than ten events a second";
    PROGRESS_TOO_OFTEN = "progress_too_often"
        "report progress every 5 percent at most";
    PROGRESS_BACKWARDS = "progress_backwards"
        "report progress that only goes up";
    PROGRESS_MISSING = "progress_missing"
        "report progress while a tool takes longer than ten seconds";
    SILENT_GAP = "silent_gap"
        "say something at least every fifteen seconds, or the user thinks that it hangs";
    HINT_MISSING = "hint_missing"
        "give coalesce_hint on chunks that end within a sentence, so that they are read as one";
    ACTION_VAGUE = "action_vague"
        "say in action what will be done, to what, and how much of it";
    CONSEQUENCE_VAGUE = "consequence_vague"
        "say in consequence what is different afterwards and whether it can be undone";
    TIMEOUT_SHORT = "timeout_short"
        "wait at least 180 seconds for what is irreversible or of high risk, 60 for medium risk \
        and for clarifications, 30 for the rest";
    DEFAULT_UNSAFE = "default_unsafe"
        "default to reject at high risk";
    IRREVERSIBLE_UNSAID = "irreversible_unsaid"
        "mark the confirmation of an irreversible call with irreversible: true";
    LINK_MISSING = "link_missing"
        "give extensions.tasuki.action_hash on the confirmation and on its call, so that only \
        what was confirmed can be called";
    QUESTIONS_TOO_MANY = "questions_too_many"
        "ask for several things at once: more than three questions in a minute are answered \
        without reading";
}
