//! The texts of the scripted agent, in the languages of our own announcements: one plain file for
//! each in `texts/`. Every announced text has a short form in each of them.

use std::sync::LazyLock;

use protocol::narrator::texts::{Catalogue, Levels};
use serde_json::{Map, Value};

const FILES: &[(&str, &str)] = &[
    ("en", include_str!("texts/en.txt")),
    ("es", include_str!("texts/es.txt")),
    ("de", include_str!("texts/de.txt")),
    ("fr", include_str!("texts/fr.txt")),
    ("ja", include_str!("texts/ja.txt")),
    ("yo", include_str!("texts/yo.txt")),
];

static CATALOGUES: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    let read = |(tag, file): &(&str, &'static str)| {
        Catalogue::read(file, TEXTS).unwrap_or_else(|error| panic!("texts/{tag}.txt: {error}"))
    };
    FILES.iter().map(read).collect()
});

/// The fallback language.
pub const DEFAULT_LANGUAGE: &str = "en";

/// A text, by its name in the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words(&'static str);

macro_rules! words {
    ($($name:ident($($field:ident),*) = $key:literal;)*) => {
        $(pub const $name: Words = Words($key);)*

        /// The names of all texts, with their placeholders.
        pub const TEXTS: &[(&str, &[&str])] = &[$(($key, &[$(stringify!($field)),*])),*];
    };
}

words! {
    STARTED(scene) = "started";
    THINKING() = "thinking";
    DECIDING() = "deciding";
    WRITING() = "writing";
    HANDING_OFF() = "handing_off";
    DECLINED() = "declined";
    NO_ANSWER() = "no_answer";
    DONE() = "done";
    WORKED() = "worked";
    CHECKING_BALANCE() = "checking_balance";
    BALANCE_KNOWN() = "balance_known";
    TRANSFERRING() = "transferring";
    SEARCHING() = "searching";
    FOUND() = "found";
    BOOKING() = "booking";
    SENDING() = "sending";
    DELETING() = "deleting";
    ASKING_WEATHER() = "asking_weather";
    WEATHER_KNOWN() = "weather_known";
    FETCHING() = "fetching";
    FETCHED() = "fetched";
    CHANGING() = "changing";
    GATHERING() = "gathering";
    COMPARING() = "comparing";
    CHECKING() = "checking";
    READY() = "ready";
    SERVICE_SILENT() = "service_silent";
    STOPPED() = "stopped";
    TO_A_PERSON() = "to_a_person";
    HANDED_OVER() = "handed_over";
    ENDED_BY_SERVER() = "ended_by_server";
    ASK_TRANSFER() = "ask_transfer";
    ASK_TIME() = "ask_time";
    ASK_EMAIL() = "ask_email";
    ASK_DELETE() = "ask_delete";
    ASK_COLOUR() = "ask_colour";
    ASK_CHANGE() = "ask_change";
    SCENE_BALANCE() = "scene_balance";
    SCENE_TRANSFER() = "scene_transfer";
    SCENE_BOOKING() = "scene_booking";
    SCENE_REPORT() = "scene_report";
    SCENE_FAILURE() = "scene_failure";
    SCENE_PERSON() = "scene_person";
    SCENE_EMAIL() = "scene_email";
    SCENE_DELETE() = "scene_delete";
    SCENE_WEATHER() = "scene_weather";
    SCENE_FETCH() = "scene_fetch";
    SCENE_ASK() = "scene_ask";
    SCENE_CONFIRM() = "scene_confirm";
    SCENE_OTHER() = "scene_other";
    ACT_TRANSFER() = "act_transfer";
    EFFECT_TRANSFER() = "effect_transfer";
    ACT_EMAIL() = "act_email";
    EFFECT_EMAIL() = "effect_email";
    ACT_DELETE() = "act_delete";
    EFFECT_DELETE() = "effect_delete";
    ACT_CHANGE() = "act_change";
    EFFECT_CHANGE() = "effect_change";
    CONTEXT_TIME() = "context_time";
    CONTEXT_COLOUR() = "context_colour";
    SIX() = "six";
    HALF_PAST_SEVEN() = "half_past_seven";
    NINE() = "nine";
    BLUE() = "blue";
    GREEN() = "green";
    RED() = "red";
    SAY_BALANCE() = "say_balance";
    SAY_NO_BANK() = "say_no_bank";
    SAY_TRANSFERRED() = "say_transferred";
    SAY_NEW_BALANCE() = "say_new_balance";
    SAY_NOTHING_DONE() = "say_nothing_done";
    SAY_AS_BEFORE() = "say_as_before";
    SAY_BOOKED(time) = "say_booked";
    SAY_EXAMPLE() = "say_example";
    SAY_SENT() = "say_sent";
    SAY_DELETED() = "say_deleted";
    SAY_WEATHER() = "say_weather";
    SAY_FETCHED() = "say_fetched";
    SAY_COLOUR(colour) = "say_colour";
    SAY_CHANGED() = "say_changed";
    SAY_HELLO() = "say_hello";
    REPORT_1() = "report_1";
    REPORT_2() = "report_2";
    REPORT_3() = "report_3";
    REPORT_4() = "report_4";
    REPORT_5() = "report_5";
    HINT() = "hint";
}

/// A text with what is filled in.
#[derive(Debug, Clone, Copy)]
pub struct SaidText {
    words: Words,
    with: Option<(&'static str, Words)>,
}

/// Which forms of a text an event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All lengths, in all languages.
    Whole,
    /// For events that are never shortened, and have many fields of their own.
    Critical,
}

pub fn languages() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(tag, _)| *tag)
}

impl Words {
    pub fn in_language(self, language: &str) -> &'static str {
        self.levels(language).normal
    }

    pub fn with(self, name: &'static str, words: Words) -> SaidText {
        SaidText { words: self, with: Some((name, words)) }
    }

    fn levels(self, language: &str) -> &'static Levels {
        let catalogue = CATALOGUES.iter().find(|one| one.language == language);
        let catalogue = catalogue.unwrap_or(&CATALOGUES[0]);
        catalogue.texts.get(self.0).expect("a test looks for every text in every language")
    }
}

impl From<Words> for SaidText {
    fn from(words: Words) -> Self {
        Self { words, with: None }
    }
}

impl SaidText {
    pub fn in_language(self, language: &str) -> String {
        self.fill(self.words.in_language(language), language)
    }

    fn fill(self, text: &str, language: &str) -> String {
        match self.with {
            Some((name, words)) => {
                text.replace(&format!("{{{name}}}"), words.in_language(language))
            }
            None => text.to_owned(),
        }
    }

    /// `summary_normal` and its other lengths in the language of the session, and
    /// `summary_normal_es` and so on in the others.
    pub fn put_into(self, event: &mut Map<String, Value>, primary: &str, extent: Extent) {
        for language in languages() {
            let levels = self.words.levels(language);
            let is_primary = language == primary;
            let suffix = if is_primary { String::new() } else { format!("_{language}") };
            for (level, text) in levels.all() {
                let is_told = level == "normal"
                    || extent == Extent::Whole
                    || (is_primary && level == "terse");
                if let Some(text) = text.filter(|_| is_told) {
                    let text = self.fill(text, language);
                    event.insert(format!("summary_{level}{suffix}"), text.into());
                }
            }
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
    fn it_says_everything_in_every_language_and_shorter_too() {
        let announced: Vec<&str> = catalogues().iter().map(|one| one.language).collect();
        assert_eq!(languages().collect::<Vec<_>>(), announced);
        let mut wrong = Vec::new();
        for one in CATALOGUES.iter() {
            let tag = one.language;
            for (key, known) in TEXTS {
                let Some(levels) = one.texts.get(key) else {
                    wrong.push(format!("{tag}.txt: [{key}] is missing"));
                    continue;
                };
                let english = &CATALOGUES[0].texts[key];
                if placeholders(levels.normal) != known.iter().copied().collect() {
                    wrong.push(format!("{tag}.txt: [{key}] has other braces than {known:?}"));
                }
                for ((level, text), (_, english)) in levels.all().into_iter().zip(english.all()) {
                    if text.is_some() != english.is_some() {
                        wrong.push(format!("{tag}.txt: [{key}] {level} is not as in English"));
                    }
                    if tag != "en" && text.is_some() && text == english {
                        wrong.push(format!("{tag}.txt: [{key}] {level} is English"));
                    }
                }
                let length = |text: &str| text.chars().count();
                let is_shorter =
                    levels.terse.is_none_or(|terse| length(terse) < length(levels.normal));
                let is_longer =
                    levels.detailed.is_none_or(|long| length(long) > length(levels.normal));
                if !is_shorter || !is_longer {
                    wrong.push(format!("{tag}.txt: [{key}] terse, normal, detailed: by length"));
                }
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}
