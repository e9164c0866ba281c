//! Secrets in announced texts: keys, passwords and card numbers that a producer let through. They
//! are found by their form, so some may be missed.

use std::ops::Range;

use serde_json::{Map, Value};

use super::flaw::{Flaw, Tier};

/// Replaces a secret. It is no longer than any of them, so that a text never grows.
const HIDDEN: &str = "***";

/// Fewer characters are hardly a secret; a card has three on its back.
const VALUE_CHARS_MIN: usize = 3;

/// A secret follows a word that equals one of these, or ends with one. Without case, `_` and `-`.
const NAMES: [&str; 17] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "passwort",
    "kennwort",
    "contraseña",
    "passe",
    "パスワード",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "cvv",
];

/// Prefixes of the tokens of well-known services, and the least number of characters after them.
const PREFIXES: [(&str, usize); 17] = [
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("eyJ", 40),
    ("tasuki_", 20),
];

const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// Texts of events that are read to people.
const TEXTS: [&str; 14] = [
    "args_summary",
    "request_text",
    "summary_terse",
    "summary_normal",
    "summary_detailed",
    "output_summary",
    "description",
    "error_message",
    "chunk",
    "action",
    "consequence",
    "question",
    "context",
    "reason",
];

pub fn has_secret(text: &str) -> bool {
    !spans(text).is_empty()
}

/// The text without its secrets, if it has any.
pub fn masked(text: &str) -> Option<String> {
    let spans = spans(text);
    if spans.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for span in spans {
        // One secret may be found in two ways.
        if span.start >= end {
            out.push_str(&text[end..span.start]);
            out.push_str(HIDDEN);
        }
        end = end.max(span.end);
    }
    out.push_str(&text[end..]);
    Some(out)
}

/// Warnings about the texts of an event that have secrets.
pub fn warnings(event: &str) -> Vec<Flaw> {
    let fields: Map<String, Value> = serde_json::from_str(event).unwrap_or_default();
    let has = |name: &&str| fields.get(*name).and_then(Value::as_str).is_some_and(has_secret);
    let found = TEXTS.into_iter().filter(has);
    found
        .map(|name| Flaw {
            tier: Tier::Spec,
            rule: if name == "args_summary" { "4.3.1" } else { "tasuki.secret" },
            field: name.to_owned(),
            expected: "no key, password or card number".to_owned(),
        })
        .collect()
}

/// The places of the secrets, in order.
fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    named(text, &mut spans);
    prefixed(text, &mut spans);
    cards(text, &mut spans);
    if let Some(at) = text.find(PRIVATE_KEY) {
        spans.push(at..text.len());
    }
    spans.sort_unstable_by_key(|span| span.start);
    spans
}

/// `password: hunter2`, `"api_key":"…"`, `Authorization: Bearer …`.
fn named(text: &str, spans: &mut Vec<Range<usize>>) {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | '\\');
    let is_space = |c: char| c == ' ' || is_quote(c);
    let is_end = |c: char| c.is_whitespace() || is_quote(c) || ",;&)}、。".contains(c);
    // Searched once: a text may have thousands of signs.
    let ends: Vec<usize> = text.match_indices(is_end).map(|(at, _)| at).collect();
    for (at, sign) in text.match_indices([':', '=', '：']) {
        let before = text[..at].trim_end_matches(is_space);
        let start = before
            .rfind(|c: char| !is_of_name(c))
            .map_or(0, |found| found + before[found..].chars().next().map_or(0, char::len_utf8));
        if !is_name(&before[start..]) {
            continue;
        }
        let after = &text[at + sign.len()..];
        let mut value = after.trim_start_matches(is_space);
        for scheme in ["Bearer ", "Basic "] {
            let is_scheme =
                value.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
            if is_scheme {
                value = value[scheme.len()..].trim_start();
            }
        }
        let start = text.len() - value.len();
        let end = ends.get(ends.partition_point(|end| *end < start)).map_or(text.len(), |end| *end);
        let value = &text[start..end];
        if value.chars().nth(VALUE_CHARS_MIN - 1).is_some() && !is_hidden(value) {
            spans.push(start..end);
        }
    }
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | 'ー')
}

fn is_name(word: &str) -> bool {
    // A longer word is no name.
    if word.is_empty() || word.len() > 64 {
        return false;
    }
    let plain: String =
        word.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect();
    NAMES.iter().any(|name| plain.ends_with(name))
}

/// Whether the value is hidden already, or is a placeholder.
fn is_hidden(value: &str) -> bool {
    value.starts_with(['[', '<', '{', '$', '('])
        || value.chars().all(|c| matches!(c, '*' | '•' | '.' | '…' | 'x' | 'X' | '-' | '_' | '#'))
}

fn prefixed(text: &str, spans: &mut Vec<Range<usize>>) {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut at = 0;
    for word in text.split(|c: char| !is_of_token(c)) {
        let start = text[at..].find(word).map_or(at, |found| at + found);
        let length = word.trim_end_matches('.').len();
        let is_token = PREFIXES
            .iter()
            .any(|(prefix, more)| word.starts_with(prefix) && length >= prefix.len() + more);
        if is_token {
            spans.push(start..start + length);
        }
        at = start + word.len();
    }
}

/// Card numbers: by length and prefix, in groups or not, with a valid check digit.
fn cards(text: &str, spans: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let mut digits = Vec::new();
        let mut end = at;
        while at < bytes.len() {
            match bytes[at] {
                digit @ b'0'..=b'9' => {
                    digits.push(digit - b'0');
                    end = at + 1;
                }
                b' ' | b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {}
                _ => break,
            }
            at += 1;
        }
        let is_word = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        if !is_word(before) && !is_word(bytes.get(end)) && is_card(&digits) {
            spans.push(start..end);
        }
    }
}

fn is_card(digits: &[u8]) -> bool {
    let is_known = matches!(
        (digits.len(), digits),
        (16, [2, 2..=7, ..] | [3..=6, ..])
            | (15, [3, 4 | 7, ..])
            | (14, [3, 0 | 6 | 8, ..])
            | (13 | 19, [4, ..])
    );
    if !is_known {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let doubled = if place % 2 == 1 { digit * 2 } else { *digit };
            u32::from(if doubled > 9 { doubled - 9 } else { doubled })
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_nothing_else() {
        for (text, expected) in [
            (
                "api_key=sk_live_4eC39HqLyjWD password: hunter2 card 4111111111111111",
                "api_key=*** password: *** card ***",
            ),
            ("user: dana, password: 'hunter2', page: 3", "user: dana, password: '***', page: 3"),
            (r#"{"clientSecret":"a1b2c3","limit":10}"#, r#"{"clientSecret":"***","limit":10}"#),
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            ("Kennwort: geheim1", "Kennwort: ***"),
            ("mot de passe : ouvre-toi", "mot de passe : ***"),
            ("contraseña: abretesesamo", "contraseña: ***"),
            ("パスワード：ひらけごま。", "パスワード：***。"),
            ("with ghp_0123456789abcdefghij0123.", "with ***."),
            ("key AKIAIOSFODNN7EXAMPLE", "key ***"),
            ("card 4111 1111 1111 1111, 12/30", "card ***, 12/30"),
            ("card 3782-822463-10005", "card ***"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "-----BEGIN RSA ***"),
        ] {
            assert_eq!(masked(text).as_deref(), Some(expected));
        }
        for text in [
            "",
            "500 USD, from checking to savings",
            "account: checking",
            "order 4111111111111112",
            "order 2026111523450000",
            "id 1790000000000",
            "password: ***",
            "token: [hidden]",
            "tokens: 4096",
            "password: $PASSWORD",
            "a secret recipe: soup",
            "the keyboard: sk-1",
            "Passer: no",
        ] {
            assert_eq!(masked(text), None, "{text}");
        }
    }

    #[test]
    fn whoever_checks_an_event_is_told_where() {
        let event =
            r#"{"args_summary":"password: hunter2","summary_normal":"cvv: 123","tool":"f"}"#;
        let found = warnings(event);
        let found: Vec<_> = found.iter().map(|it| (it.rule, it.field.as_str())).collect();
        assert_eq!(found, [("4.3.1", "args_summary"), ("tasuki.secret", "summary_normal")]);
    }

    proptest! {
        #[test]
        fn what_is_hidden_stays_hidden_and_no_text_grows(text in ".{0,200}") {
            if let Some(once) = masked(&text) {
                prop_assert!(once.chars().count() <= text.chars().count());
                prop_assert_eq!(masked(&once), None);
            }
        }
    }

    /// A text made to keep the server busy takes no longer than another one.
    #[test]
    fn many_names_hide_one_text() {
        let text = "token=".repeat(2_730);
        assert_eq!(masked(&text).as_deref(), Some("token=***"));
        let text = "token=[".repeat(2_340);
        assert_eq!(masked(&text), None);
    }
}
