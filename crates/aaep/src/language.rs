//! The language of an event. Texts with a language at the end of their names, such as
//! `summary_normal_yo`, replace the event's own texts if they fit the listener better. No event is
//! left out because of its language.

use serde_json::{Map, Value};

use super::extension::put_into_extension;

/// The texts that may have variants in other languages.
const SUMMARIES: [&str; 3] = ["summary_terse", "summary_normal", "summary_detailed"];

/// The maximum length of each, in characters, as in the schemas.
const CHARS_MAX: [usize; 3] = [4_096, 16_384, 16_384];

/// Texts that exist in one language only, whatever the language of the summaries. A piece of output
/// names its own language.
const OTHER_TEXTS: [&str; 14] = [
    "action",
    "args_summary",
    "choices",
    "consequence",
    "context",
    "default_response",
    "description",
    "error_message",
    "output_summary",
    "partial_result",
    "progress",
    "question",
    "reason",
    "remediation_hint",
];

/// In our extension: the language of the texts that were not replaced.
const TEXTS_IN: &str = "texts_in";

/// The default language of a listener.
pub const LANGUAGE: &str = "en-US";

/// Languages that are written from right to left, unless their script says otherwise.
const RIGHT_TO_LEFT: [&str; 13] =
    ["ar", "arc", "ckb", "dv", "fa", "he", "iw", "nqo", "ps", "sd", "ug", "ur", "yi"];

/// Scripts that run from right to left.
const RIGHT_TO_LEFT_SCRIPTS: [&str; 7] = ["arab", "hebr", "thaa", "syrc", "nkoo", "adlm", "rohg"];

/// The languages that an event has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offered {
    /// The language of its own texts.
    pub primary: Box<str>,
    /// The other languages: the ends of the names, as they are written there.
    pub variants: Vec<Box<str>>,
    /// What to try if no requested language exists.
    pub fallbacks: Vec<Box<str>>,
}

impl Offered {
    /// The languages of an event. A variant counts if it has the required summary.
    pub fn of(event: &Map<String, Value>) -> Self {
        let hints = event.get("localization_hints");
        let tags = |name| hints.and_then(|hints| hints.get(name)).and_then(Value::as_array);
        let needed = ["summary_normal", "summary_terse", "summary_detailed"]
            .into_iter()
            .find(|name| event.contains_key(*name));
        let suffix = |key: &str| {
            let rest = key.strip_prefix(needed?)?.strip_prefix('_')?;
            is_tag(rest).then(|| rest.into())
        };
        Self {
            primary: hints
                .and_then(|hints| hints.get("primary_language"))
                .and_then(Value::as_str)
                .unwrap_or("und")
                .into(),
            variants: event
                .iter()
                .filter(|(key, text)| is_good_variant(key, text) == Some(true))
                .filter_map(|(key, _)| suffix(key))
                .collect(),
            fallbacks: tags("fallback_chain")
                .into_iter()
                .flatten()
                .filter_map(|tag| tag.as_str().map(Into::into))
                .collect(),
        }
    }

    /// The variant that fits better than the event's own texts, if there is one.
    pub fn choose<'a>(&'a self, asked: &'a [String]) -> Option<&'a str> {
        let all = || {
            std::iter::once(&*self.primary).chain(self.variants.iter().map(|variant| &**variant))
        };
        let wanted =
            asked.iter().map(String::as_str).chain(self.fallbacks.iter().map(|tag| &**tag));
        let found = wanted.filter_map(|tag| find(tag, all())).next()?;
        (!same(found, &self.primary)).then_some(found)
    }
}

/// The tag of `offered` that fits a request best: the same, then without its region, then without
/// its script; a bare language fits any region of it.
pub fn find<'a>(asked: &str, offered: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let mut tag = asked;
    loop {
        if let Some(found) = offered.clone().find(|one| same(one, tag)) {
            return Some(found);
        }
        match tag.rfind(['-', '_']) {
            Some(end) => tag = &tag[..end],
            None => break,
        }
    }
    let is_bare = tag.len() == asked.len();
    offered.clone().find(|one| is_bare && same(first_part(one), tag))
}

/// Whether a member can replace the summary whose name it begins with, which means that it fits the
/// schema of that one. `None` if it is no summary in another language.
pub fn is_good_variant(key: &str, text: &Value) -> Option<bool> {
    let bases = SUMMARIES.iter().zip(CHARS_MAX);
    let (_, chars_max) = bases.into_iter().find(|(name, _)| {
        let rest = key.strip_prefix(**name).and_then(|rest| rest.strip_prefix('_'));
        rest.is_some_and(is_tag)
    })?;
    Some(text.as_str().is_some_and(|text| {
        !text.is_empty() && (text.len() <= chars_max || text.chars().count() <= chars_max)
    }))
}

/// Replaces the event's texts by those of another language. Its own texts stay, under the name of
/// their language. If other texts are still in that language, the event says so, so that no voice
/// of the new language reads them.
pub fn tell_in(event: &mut Map<String, Value>, variant: &str) {
    let primary = Offered::of(event).primary;
    if OTHER_TEXTS.iter().any(|name| event.contains_key(*name)) {
        put_into_extension(event, TEXTS_IN, (*primary).into());
    }
    for name in SUMMARIES {
        let own = event.remove(name);
        let key = format!("{name}_{variant}");
        if let Some(text) = event.remove(&key)
            && is_good_variant(&key, &text) == Some(true)
        {
            event.insert(name.to_owned(), text);
        }
        if let Some(text) = own {
            event.insert(format!("{name}_{primary}"), text);
        }
    }
    let hints = event.entry("localization_hints").or_insert_with(|| Map::new().into());
    let tag = variant.replace('_', "-");
    if let Some(hints) = hints.as_object_mut() {
        hints.insert("text_direction".to_owned(), direction(&tag).into());
        hints.insert("primary_language".to_owned(), tag.into());
        // It belonged to the replaced language.
        hints.remove("script");
    }
}

/// `rtl` or `ltr`.
pub fn direction(tag: &str) -> &'static str {
    let tag = tag.to_ascii_lowercase();
    let mut parts = tag.split('-');
    let language = parts.next().unwrap_or_default();
    let script =
        parts.find(|part| part.len() == 4 && part.chars().all(|c| c.is_ascii_alphabetic()));
    let is_right_to_left = match script {
        Some(script) => RIGHT_TO_LEFT_SCRIPTS.contains(&script),
        None => RIGHT_TO_LEFT.contains(&language),
    };
    if is_right_to_left { "rtl" } else { "ltr" }
}

fn same(left: &str, right: &str) -> bool {
    left.len() == right.len()
        && left.bytes().zip(right.bytes()).all(|(left, right)| {
            let plain = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
            plain(left) == plain(right)
        })
}

fn first_part(tag: &str) -> &str {
    tag.split(['-', '_']).next().unwrap_or(tag)
}

/// Whether the end of a name is a language: `yo`, `pt-BR`, `zh_Hant_TW`.
fn is_tag(text: &str) -> bool {
    let mut parts = text.split(['-', '_']);
    let is_language =
        |part: &str| (2..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    parts.next().is_some_and(is_language) && parts.all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_language_that_fits_is_taken() {
        // requested, offered, chosen
        let rows: &[(&[&str], &[&str], Option<&str>)] = &[
            (&["yo-NG"], &["yo-NG", "yo"], Some("yo-NG")),
            (&["yo-NG"], &["en", "yo"], Some("yo")),
            (&["zh-Hant-TW"], &["zh", "zh-Hant"], Some("zh-Hant")),
            (&["zh-Hant-TW"], &["zh"], Some("zh")),
            (&["zh-hant-tw"], &["zh_Hant_TW"], Some("zh_Hant_TW")),
            (&["en"], &["de", "en-US"], Some("en-US")),
            (&["en-GB"], &["en-US"], None),
            (&["ja", "fr-CA", "de"], &["de", "fr"], Some("fr")),
            (&["ja"], &["de"], None),
            (&["eng"], &["en"], None),
        ];
        for (asked, offered, expected) in rows {
            let found = asked.iter().find_map(|one| find(one, offered.iter().copied()));
            assert_eq!(found, *expected, "{asked:?} of {offered:?}");
        }
    }

    #[test]
    fn the_events_own_language_the_fallbacks_and_the_rest() {
        // requested, primary, variants, fallbacks, the variant that replaces the event's own texts
        type Row = (
            &'static [&'static str],
            &'static str,
            &'static [&'static str],
            &'static [&'static str],
            Option<&'static str>,
        );
        let rows: &[Row] = &[
            (&["en-US"], "en-US", &["yo"], &[], None),
            (&["yo-NG", "en"], "en-US", &["yo"], &[], Some("yo")),
            (&["ja"], "en-US", &["yo", "fr"], &["fr", "yo"], Some("fr")),
            (&["ja"], "en-US", &["yo", "fr"], &["en-US", "fr"], None),
            (&["ja"], "en-US", &["yo"], &[], None),
            (&[], "yo", &["en"], &[], None),
        ];
        for (asked, primary, variants, fallbacks, expected) in rows {
            let boxed = |all: &[&str]| all.iter().map(|one| Box::from(*one)).collect();
            let offered = Offered {
                primary: (*primary).into(),
                variants: boxed(variants),
                fallbacks: boxed(fallbacks),
            };
            let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
            assert_eq!(offered.choose(&asked), *expected, "{asked:?} of {offered:?}");
        }
    }

    #[test]
    fn an_event_told_in_another_language_says_so_and_keeps_its_own_words() {
        let Value::Object(mut event) = serde_json::json!({
            "summary_normal": "Booked.", "summary_terse": "Done.",
            "summary_normal_ar": "تم الحجز.", "summary_code": 7, "summary_normal_yo": "Ó parí.",
            "localization_hints": {"primary_language": "en", "script": "Latn"},
        }) else {
            unreachable!()
        };
        let offered = Offered::of(&event);
        assert_eq!(offered.variants, [Box::from("ar"), Box::from("yo")]);
        tell_in(&mut event, "ar");
        assert_eq!(
            Value::Object(event),
            serde_json::json!({
                "summary_normal": "تم الحجز.", "summary_normal_en": "Booked.",
                "summary_terse_en": "Done.", "summary_code": 7, "summary_normal_yo": "Ó parí.",
                "localization_hints": {"primary_language": "ar", "text_direction": "rtl"},
            })
        );
    }

    #[test]
    fn a_translation_that_says_nothing_is_not_taken() {
        for nothing in [serde_json::json!(""), serde_json::json!(5), "x".repeat(16_385).into()] {
            let Value::Object(mut event) = serde_json::json!({
                "summary_normal": "Booked.", "summary_terse": "Done.",
                "summary_normal_yo": nothing, "summary_normal_de": "Gebucht.",
                "summary_terse_de": "",
            }) else {
                unreachable!()
            };
            let offered = Offered::of(&event);
            assert_eq!(offered.variants, [Box::from("de")], "{nothing}");
            tell_in(&mut event, "de");
            assert_eq!(event["summary_normal"], "Gebucht.");
            assert!(!event.contains_key("summary_terse"), "none is better than an empty one");
        }
    }

    #[test]
    fn an_event_says_which_language_its_other_texts_are_in() {
        let told = |more: Value| {
            let mut event = serde_json::json!({
                "@context": "https://aaep-protocol.org/context/v1",
                "summary_normal": "Pays.", "summary_normal_de": "Zahlt.",
                "localization_hints": {"primary_language": "en"},
            });
            let event = event.as_object_mut().expect("an object");
            event.extend(more.as_object().cloned().unwrap_or_default());
            tell_in(event, "de");
            assert_eq!(event["localization_hints"]["primary_language"], "de");
            event.get("extensions").map(|all| all["tasuki"]["texts_in"].clone())
        };
        let rows = [
            (serde_json::json!({"action": "Pay", "consequence": "It is gone"}), Some("en")),
            (serde_json::json!({"question": "Which one?"}), Some("en")),
            (serde_json::json!({"reason": "A person is needed"}), Some("en")),
            (serde_json::json!({"remediation_hint": "Wait."}), Some("en")),
            (serde_json::json!({"to_state": "thinking"}), None),
        ];
        for (more, expected) in rows {
            assert_eq!(told(more.clone()), expected.map(Value::from), "{more}");
        }
    }

    #[test]
    fn scripts_decide_the_direction() {
        for (tag, expected) in [
            ("ar-EG", "rtl"),
            ("he", "rtl"),
            ("fa", "rtl"),
            ("ur-PK", "rtl"),
            ("ku-Arab", "rtl"),
            ("az-Arab-IR", "rtl"),
            ("en", "ltr"),
            ("yo", "ltr"),
            ("ja", "ltr"),
            ("ar-Latn", "ltr"),
        ] {
            assert_eq!(direction(tag), expected, "{tag}");
        }
    }
}
