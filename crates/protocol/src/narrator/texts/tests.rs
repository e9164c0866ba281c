//! Every language has every text, and filled-in values cannot do harm.

use proptest::prelude::*;

use super::catalogue::placeholders;
use super::*;

#[test]
fn every_language_has_the_texts_that_english_has() {
    let english = &catalogues()[0];
    assert_eq!(english.language, DEFAULT_LANGUAGE);
    let mut wrong = Vec::new();
    for (key, known) in TEXTS {
        let Some(levels) = english.texts.get(key) else {
            wrong.push(format!("en.txt: [{key}] is missing"));
            continue;
        };
        let used: Vec<&str> = levels.all().into_iter().filter_map(|(_, text)| text).collect();
        for name in *known {
            if !used.iter().any(|text| placeholders(text).contains(name)) {
                wrong.push(format!("en.txt: [{key}] never says {{{name}}}"));
            }
        }
    }
    for ((tag, _), one) in FILES.iter().zip(catalogues()) {
        if one.language != *tag {
            wrong.push(format!("{tag}.txt: says that its language is {}", one.language));
        }
        wrong.extend(differences(english, one));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn differences(english: &Catalogue, other: &Catalogue) -> Vec<String> {
    let mut wrong = Vec::new();
    let file = format!("{}.txt", other.language);
    for (key, levels) in &english.texts {
        let Some(theirs) = other.texts.get(key) else {
            wrong.push(format!("{file}: [{key}] is missing"));
            continue;
        };
        for ((level, ours), (_, theirs)) in levels.all().into_iter().zip(theirs.all()) {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    let sorted = |text| {
                        let mut names = placeholders(text);
                        names.sort_unstable();
                        names
                    };
                    if sorted(ours) != sorted(theirs) {
                        wrong.push(format!(
                            "{file}: [{key}] {level} has {:?}, expected {:?}",
                            sorted(theirs),
                            sorted(ours)
                        ));
                    }
                }
                (Some(_), None) => wrong.push(format!("{file}: [{key}] {level} is missing")),
                (None, Some(_)) => wrong.push(format!("{file}: [{key}] {level} is too much")),
                (None, None) => {}
            }
        }
    }
    wrong
}

#[test]
fn what_is_short_is_shorter_and_what_is_long_is_longer() {
    let length = |text: &str| {
        let names: usize = placeholders(text).iter().map(|name| name.len() + 1).sum();
        text.chars().count() - names
    };
    for one in catalogues() {
        for (key, levels) in &one.texts {
            let normal = length(levels.normal);
            let is_short = levels.terse.is_none_or(|terse| length(terse) < normal);
            let is_long = levels.detailed.is_none_or(|detailed| length(detailed) > normal);
            assert!(is_short && is_long, "{}.txt: [{key}] {levels:?}", one.language);
        }
    }
}

#[test]
fn texts_are_composed_and_have_nothing_hidden() {
    // Letters that have no composed form with an accent, as Yoruba writes them.
    let alone = ['ẹ', 'Ẹ', 'ọ', 'Ọ', 'm', 'M'];
    for (tag, file) in FILES {
        let mut before = ' ';
        for character in file.chars() {
            let is_mark = ('\u{0300}'..='\u{036F}').contains(&character);
            assert!(
                !is_mark || (alone.contains(&before) && character != '\u{0323}'),
                "{tag}.txt: {before}{character} has a composed form (NFC)"
            );
            assert!(character == '\n' || !is_hidden(character), "{tag}.txt: {character:?}");
            before = character;
        }
    }
}

#[test]
fn a_file_that_is_wrong_says_where() {
    for (file, expected) in [
        ("", "expected a language"),
        ("language = xx\nlanguage = yy", "line 2: expected language once"),
        ("direction = up", "line 1: expected ltr or rtl"),
        ("colour = red", "line 1: expected language, name or direction"),
        ("[nonsense]", "line 1: expected a text that there is, once, not [nonsense]"),
        (
            "[transfer_place]\n[transfer_place]",
            "line 2: expected a text that there is, once, not [transfer_place]",
        ),
        ("[transfer_place]\nloud = {place}", "line 2: expected terse, normal or detailed"),
        ("[transfer_place]\nnormal =", "line 2: expected a text after normal"),
        (
            "[transfer_place]\nnormal = {n}",
            "line 2: expected one of [\"queue\", \"place\"] in braces, not {n}",
        ),
        ("[transfer_place]\nnormal = {place", "line 2: expected each { with its }"),
        ("[transfer_place]\nterse = {place}", "expected a normal text in [transfer_place]"),
        ("[transfer_place]\nhello", "line 2: expected key = text"),
    ] {
        assert_eq!(Catalogue::read(file, TEXTS).unwrap_err(), expected);
    }
}

#[test]
fn a_message_in_one_language() {
    let message = Message::RouteChanged { from: "Ada", to: "Öykü" };
    for (tag, language, normal) in [
        ("en", "en", "\u{2068}Öykü\u{2069} answers now, instead of \u{2068}Ada\u{2069}."),
        ("en-GB", "en", "\u{2068}Öykü\u{2069} answers now, instead of \u{2068}Ada\u{2069}."),
        (
            "DE-at-1996",
            "de",
            "Jetzt antwortet \u{2068}Öykü\u{2069} anstelle von \u{2068}Ada\u{2069}.",
        ),
        (
            "ja-Jpan",
            "ja",
            "これからは\u{2068}Ada\u{2069}に代わって\u{2068}Öykü\u{2069}が答えます。",
        ),
        ("yo-NG", "yo", "\u{2068}Öykü\u{2069} ni ó ń dáhùn báyìí, dípò \u{2068}Ada\u{2069}."),
        ("tlh", "en", "\u{2068}Öykü\u{2069} answers now, instead of \u{2068}Ada\u{2069}."),
        ("", "en", "\u{2068}Öykü\u{2069} answers now, instead of \u{2068}Ada\u{2069}."),
    ] {
        let spoken = message.in_language(tag);
        assert_eq!((spoken.language, spoken.normal.as_str()), (language, normal), "{tag}");
    }
    let spoken = message.in_language("en");
    assert_eq!(spoken.at(Verbosity::Terse), "\u{2068}Öykü\u{2069} answers now.");
    assert_eq!(spoken.at(Verbosity::Detailed), spoken.normal);
}

#[test]
fn a_message_in_all_languages() {
    let mut summaries = Map::new();
    Message::ConfirmationTimedOut.put_summaries("fr-CA", &mut summaries);
    assert_eq!(summaries.len(), 3 * FILES.len());
    assert_eq!(
        summaries["summary_normal"],
        "Personne n’a répondu à temps, donc rien n’a été fait."
    );
    assert_eq!(summaries["summary_normal_en"], "Nobody answered in time, so nothing was done.");
    assert_eq!(summaries["summary_terse_ja"], "時間内に回答なし。何も実行していません。");
    assert!(!summaries.contains_key("summary_normal_fr"));
    assert_eq!(
        hints("fr-CA"),
        json!({
            "primary_language": "fr",
            "text_direction": "ltr",
            "available_languages": ["en", "es", "de", "fr", "ja", "yo"],
            "fallback_chain": ["en"],
        })
    );
}

#[test]
fn what_is_filled_in_cannot_harm() {
    let long = "x".repeat(500);
    let cut = format!("{}…", "x".repeat(FILLED_CHARS_MAX - 1));
    let exact = "é".repeat(FILLED_CHARS_MAX);
    for (words, expected) in [
        ("Ada", "Ada"),
        ("  a\n\n b\t", "a b"),
        ("ada\u{202E}nimda", "adanimda"),
        ("a\u{2069}\u{2067}b\u{200F}c\u{0007}d", "abcd"),
        ("{to}", "{to}"),
        ("", "…"),
        ("\u{200B}\u{FEFF} ", "…"),
        ("שלום", "שלום"),
        (&long, &cut),
        (&exact, &exact),
    ] {
        assert_eq!(clean(words), expected);
    }
    let spoken = Message::RouteChanged { from: "{to}", to: "{from}" }.in_language("en");
    assert_eq!(
        spoken.normal,
        "\u{2068}{from}\u{2069} answers now, instead of \u{2068}{to}\u{2069}."
    );
}

proptest! {
    #[test]
    fn isolates_are_always_balanced_and_texts_short(words in ".{0,400}") {
        let spoken = Message::TransferRequested { queue: &words }.in_language("en");
        let text = spoken.detailed.unwrap();
        let marks: String = text.chars().filter(|c| matches!(c, '\u{2066}'..='\u{2069}')).collect();
        prop_assert_eq!(marks, "\u{2068}\u{2069}");
        prop_assert!(text.chars().count() < 2 * FILLED_CHARS_MAX + 200);
        prop_assert_eq!(clean(&clean(&words)), clean(&words));
    }
}
