//! Whether the output is what a page shows. Ids and times differ in each run, so words of such a
//! kind count as the same; `…` stands for anything.

use serde_json::Value;

use super::page::Form;

/// Stands for anything: within its line, or for whole lines if it is alone on one.
const ANYTHING: char = '…';

/// Shorter hexadecimal words may be numbers or real words.
const HASH_DIGITS_MIN: usize = 16;

pub fn is_shown(expected: &str, printed: &str, form: Form) -> bool {
    match form {
        Form::Json => documents_fit(expected, printed),
        Form::Lines => lines_fit(&lines(expected), &lines(printed)),
    }
}

/// The lines, without values that differ and without the width of columns.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let words: Vec<_> = loose(line).split_whitespace().map(str::to_owned).collect();
        words.join(" ")
    });
    let mut lines: Vec<_> = lines.skip_while(String::is_empty).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn lines_fit(expected: &[String], printed: &[String]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((any, rest)), _) if any.chars().eq([ANYTHING]) => {
            (0..=printed.len()).any(|n_skipped| lines_fit(rest, &printed[n_skipped..]))
        }
        (Some((line, rest)), Some((shown, others))) => fits(line, shown) && lines_fit(rest, others),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// JSON documents, one after the other; the order of members does not count.
fn documents_fit(expected: &str, printed: &str) -> bool {
    let (Some(expected), Some(printed)) = (documents(&quoted(expected)), documents(printed)) else {
        return false;
    };
    items_fit(&expected, &printed)
}

fn documents(text: &str) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()
}

fn is_anything(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.chars().eq([ANYTHING]))
}

fn items_fit(expected: &[Value], printed: &[Value]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((any, rest)), _) if is_anything(any) => {
            (0..=printed.len()).any(|n_skipped| items_fit(rest, &printed[n_skipped..]))
        }
        (Some((item, rest)), Some((shown, others))) => {
            value_fits(item, shown) && items_fit(rest, others)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn value_fits(expected: &Value, printed: &Value) -> bool {
    let anything = ANYTHING.to_string();
    match (expected, printed) {
        (Value::String(text), _) if *text == anything => true,
        (Value::String(pattern), Value::String(text)) => {
            fits(&loose(pattern), &loose(text)) || fits(pattern, text)
        }
        (Value::Array(expected), Value::Array(printed)) => items_fit(expected, printed),
        (Value::Object(expected), Value::Object(printed)) => {
            let is_there = |(name, value): (&String, &Value)| {
                *name == anything || printed.get(name).is_some_and(|shown| value_fits(value, shown))
            };
            let is_known = |name: &String| expected.contains_key(name);
            let may_have_more = expected.contains_key(&anything);
            expected.iter().all(is_there) && (may_have_more || printed.keys().all(is_known))
        }
        _ => expected == printed,
    }
}

/// JSON in which each placeholder is a text, or a member of its object.
fn quoted(text: &str) -> String {
    let (mut shown, mut is_text, mut is_escaped) = (String::new(), false, false);
    let (mut open, mut before) = (Vec::new(), ' ');
    for character in text.chars() {
        match character {
            '"' if !is_escaped => is_text = !is_text,
            '{' | '[' if !is_text => open.push(character),
            '}' | ']' if !is_text => drop(open.pop()),
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
        match (character, open.last()) {
            (ANYTHING, Some('{')) if !is_text && before != ':' => shown.push_str("\"…\":0"),
            (ANYTHING, _) if !is_text => shown.push_str("\"…\""),
            _ => shown.push(character),
        }
        if !character.is_whitespace() {
            before = character;
        }
    }
    shown
}

/// Whether a text matches the pattern and its placeholders.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The text with a name in place of each word that differs from run to run.
fn loose(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let is_begin = !shown.ends_with(|it: char| it.is_ascii_alphanumeric());
        match KINDS
            .iter()
            .find_map(|(name, length)| Some((name, length(rest).filter(|_| is_begin)?)))
        {
            Some((name, length)) => {
                shown.push_str(name);
                rest = &rest[length..];
            }
            None => {
                shown.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    shown
}

/// The length of such a word at the beginning of the text.
type Length = fn(&str) -> Option<usize>;

const KINDS: [(&str, Length); 7] = [
    ("<secret>", secret),
    ("<base64>", base64),
    ("<id>", uuid),
    ("<id>", prefixed_id),
    ("<time>", time),
    ("<hash>", hash),
    ("<ago>", ago),
];

fn count(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|character| !is_part(character)).unwrap_or(text.len())
}

/// A token, or the secret of a webhook.
fn secret(text: &str) -> Option<usize> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "+/=".contains(it);
    let prefix = ["tasuki_", "whsec_"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let length = count(&text[prefix.len()..], is_part);
    (length >= HASH_DIGITS_MIN).then_some(prefix.len() + length)
}

/// A hash, a key or a signature.
fn base64(text: &str) -> Option<usize> {
    let length = count(text, |it| it.is_ascii_alphanumeric() || "+/=".contains(it));
    (length >= 44 && text[..length].ends_with('=')).then_some(length)
}

fn uuid(text: &str) -> Option<usize> {
    let word = &text[..count(text, |it| it.is_ascii_hexdigit() || it == '-')];
    let lengths: Vec<_> = word.split('-').map(str::len).take(5).collect();
    (lengths.len() == 5 && lengths[..4] == [8, 4, 4, 4] && lengths[4] >= 12).then_some(36)
}

/// `sess_2c91…` and the like, of the length of ids.
fn prefixed_id(text: &str) -> Option<usize> {
    const PREFIXES: [&str; 6] = ["sess_", "evt_", "rpl_", "sub_", "call_", "out_"];
    let prefix = PREFIXES.into_iter().find(|prefix| text.starts_with(prefix))?;
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
    let length = count(&text[prefix.len()..], is_part);
    (length >= HASH_DIGITS_MIN).then_some(prefix.len() + length)
}

/// As RFC 3339 has it, in UTC.
fn time(text: &str) -> Option<usize> {
    let mut length = 0;
    for (part, character) in "dddd-dd-ddTdd:dd:dd".chars().zip(text.chars()) {
        let is_part = if part == 'd' { character.is_ascii_digit() } else { character == part };
        if !is_part {
            return None;
        }
        length += 1;
    }
    let rest = text.get(length..).filter(|_| length == 19)?;
    length += count(rest, |it| it.is_ascii_digit() || it == '.');
    text[length..].starts_with('Z').then_some(length + 1)
}

fn hash(text: &str) -> Option<usize> {
    let length = count(text, |it| it.is_ascii_hexdigit());
    (length >= HASH_DIGITS_MIN).then_some(length)
}

/// `9 s ago`, `in 5 min`, and `now`.
fn ago(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("in ").unwrap_or(text);
    let n_digits = count(rest, |it| it.is_ascii_digit());
    let unit = &rest[n_digits..];
    let is_ahead = rest.len() < text.len();
    for name in [" s", " min", " h", " d"] {
        let end = if is_ahead { name.to_owned() } else { format!("{name} ago") };
        if n_digits > 0 && unit.starts_with(&end) {
            return Some(text.len() - rest.len() + n_digits + end.len());
        }
    }
    text.starts_with("now  ").then_some(3)
}

#[test]
fn what_differs_from_run_to_run_is_the_same_and_nothing_else_is() {
    let id = "01a1dd8b-267b-7517-b6f1-b43d22fa6dcd";
    let other = "0199f3a1-7c3e-7d10-9f7e-2b8a54c1d001";
    let lines = [
        ("a  b", "a b", true),
        ("a b", "a c", false),
        ("a … c", "a b b c", true),
        ("a …", "a", false),
        ("one\n…\nlast", "one\ntwo\nthree\nlast", true),
        ("one\n…\nlast", "one\nlast", true),
        ("one\n…", "two", false),
        (id, other, true),
        (&format!("thread-{id}"), &format!("thread-{other}"), true),
        (id, "01a1", false),
        ("2026-11-15T04:50:46.523Z", "2027-01-01T00:00:00Z", true),
        ("2026-11-15", "2027-01-01", false),
        ("     9 s ago  x", "now  x", true),
        ("in 4 min", "in 5 min", true),
        ("12 entries", "13 entries", false),
        ("sess_0123456789abcdef0", "sess_ffffffffffffffff1", true),
        ("sess_2c91", "sess_2c92", false),
    ];
    for (expected, printed, is_same) in lines {
        assert_eq!(is_shown(expected, printed, Form::Lines), is_same, "{expected} / {printed}");
    }
    let json = [
        (r#"{ "a": "b c" }"#, r#"{"a":"b c"}"#, true),
        (r#"{ "a": "b c" }"#, r#"{"a":"bc"}"#, false),
        (r#"{"a":1, …}"#, r#"{"a":1,"b":[{}]}"#, true),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
        (r#"{"a":"…","b":2}"#, r#"{"b":2,"a":"x\"y"}"#, true),
        (r#"{"a":…}"#, r#"{"a":[1]}"#, true),
        (r#"{"a":"b…"}"#, r#"{"a":"c"}"#, false),
        (r#"[1, …, 4]"#, "[1,2,3,4]", true),
        (r#"[1, …, 4]"#, "[1,2,3]", false),
        (r#"{"a":1}"#, "no JSON", false),
        (r#"{"a":1} {"b":2}"#, "{\"a\":1}\n{\"b\":2}\n", true),
    ];
    for (expected, printed, is_same) in json {
        assert_eq!(is_shown(expected, printed, Form::Json), is_same, "{expected} / {printed}");
    }
}
