//! What is refused, and at which place; and what every reader would take alike.

use proptest::prelude::*;

use super::*;
use crate::canonical::canonical;

#[test]
fn ordinary_documents_are_read_as_serde_json_reads_them() {
    for text in [
        "null",
        " [ true , false ] ",
        r#"{"task":{"title":"héllo \u0041\n\t\r 👩‍👩‍👧","n":[0,-1,1.5,1e-7]}}"#,
        "9007199254740991",
        "-9007199254740991",
        "1e300",
        "1e21",
        "-1.5e+21",
        r#"{"":"","a.b":[[],{}]}"#,
    ] {
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse(text.as_bytes(), &Bounds::default()), Ok(expected), "{text}");
    }
}

/// As JSON Schema counts integers.
#[test]
fn a_whole_number_is_an_integer_however_it_is_written() {
    for (text, expected) in [
        ("1.0", 1),
        ("-0", 0),
        ("-0.0", 0),
        ("2e3", 2_000),
        ("1e-400", 0),
        ("-9007199254740991.0", -9_007_199_254_740_991_i64),
    ] {
        assert_eq!(parse(text.as_bytes(), &Bounds::default()), Ok(Value::from(expected)), "{text}");
    }
}

#[test]
fn refusals_say_where_and_what_was_expected() {
    check("", "body: expected valid JSON, stopped at line 1 column 0");
    check("{\"a\":\n tru}", "a: expected valid JSON, stopped at line 2 column 5");
    check("1 2", "body: expected valid JSON, stopped at line 1 column 3");
    check("[1,]", "[1]: expected valid JSON, stopped at line 1 column 4");
    check(r#"{"a":"\ud800"}"#, "a: expected valid JSON, stopped at line 1 column 13");
    check("{\"a\":\"\u{1}\"}", "a: expected valid JSON, stopped at line 1 column 7");
    check("\u{FEFF}{}", "body: expected valid JSON, stopped at line 1 column 1");
    check(r#"{"a":1,"a":1}"#, "a: expected each key once");
    check(r#"{"t":[0,{"\u0061":1,"a":1}]}"#, "t[1].a: expected each key once");
    check("[[[[[1]]]]]", "[0][0][0][0]: expected at most 4 levels of nesting");
    check(r#"{"t":{"l":["12345678","123456789"]}}"#, "t.l[1]: expected at most 8 bytes");
    check(r#"{"t":{"123456789":1}}"#, "t: expected at most 8 bytes");
    check(r#"{"a":[1,2,3,4]}"#, "a: expected at most 3 items");
    check(r#"{"a":1,"b":2,"c":3}"#, "body: expected at most 2 keys");
    check(r#"{"a":"x\u202e"}"#, "a: expected text without the character U+202E");
    check(r#"{"a":{"\u0000":1}}"#, "a: expected text without the character U+0000");
}

/// Chat text is kept as it was sent; everything else is as strict as ever.
#[test]
fn what_people_wrote_in_a_chat_is_kept() {
    let chat = Bounds { free_text: &["text"], ..Bounds::default() };
    let sent = "\u{202b}\u{5e9}\u{202c}\u{2067}\u{2069}\u{b}\u{1b}\u{1f3f4}\u{e0067}\u{e007f}";
    let body = serde_json::json!({ "parts": [{ "type": "text", "text": sent }] });
    assert_eq!(parse(body.to_string().as_bytes(), &chat), Ok(body));
    for (document, expected) in [
        (r#"{"text":"a\u0000"}"#, "text: expected text without the character U+0000"),
        (r#"{"name":"a\u202e"}"#, "name: expected text without the character U+202E"),
        (r#"{"text":["a\u202e"]}"#, "text[0]: expected text without the character U+202E"),
        (r#"{"text":{"b":"\u202e"}}"#, "text.b: expected text without the character U+202E"),
        (r#"{"te\u202ext":1}"#, "body: expected text without the character U+202E"),
    ] {
        let error = parse(document.as_bytes(), &chat).unwrap_err();
        assert_eq!(error.to_string(), expected, "{document}");
    }
}

/// The message of a model: its tools have arguments of any name.
#[test]
fn all_texts_below_a_key_are_kept() {
    let turn = Bounds { free_below: &["turn"], ..Bounds::default() };
    let body = r#"{"turn":{"content":["\u202b",{"a":{"b":"\u001b"}}]}}"#;
    assert!(parse(body.as_bytes(), &turn).is_ok());
    for (document, expected) in [
        (r#"{"turn":{"a":"\u0000"}}"#, "turn.a: expected text without the character U+0000"),
        (r#"{"turn":{"\u202e":1}}"#, "turn: expected text without the character U+202E"),
        (r#"{"form":"\u202e"}"#, "form: expected text without the character U+202E"),
    ] {
        let error = parse(document.as_bytes(), &turn).unwrap_err();
        assert_eq!(error.to_string(), expected, "{document}");
    }
}

#[test]
fn numbers_that_readers_would_round_are_refused() {
    for text in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551617",
        "-9223372036854775809",
        "1000000000000000000000001",
        "1e400",
        "-1e400",
        // These would come back from their canonical form as one of the integers above.
        "9007199254740993.0",
        "1e17",
        "999999999999999900000.0",
    ] {
        let document = format!(r#"["1.5e\"9", {{"1e5": 1e300}}, -3, [1.5e300, {text}, 1e22]]"#);
        let error = parse(document.as_bytes(), &Bounds::default()).unwrap_err();
        let expected = JsonError { path: "[3][1]".to_owned(), kind: JsonErrorKind::NumberNotExact };
        assert_eq!(error, expected, "{text}");
    }
}

#[test]
fn hostile_characters_are_refused_and_ordinary_ones_are_not() {
    let ranges = [
        '\0'..='\u{8}',
        '\u{B}'..='\u{C}',
        '\u{E}'..='\u{1F}',
        '\u{7F}'..='\u{9F}',
        '\u{202A}'..='\u{202E}',
        '\u{2066}'..='\u{2069}',
        '\u{E0000}'..='\u{E007F}',
    ];
    for character in '\0'..=char::MAX {
        let expected = ranges.iter().any(|range| range.contains(&character));
        assert_eq!(is_forbidden(character), expected, "{character:?}");
    }
}

#[test]
fn nesting_cannot_exhaust_the_stack() {
    let boundless = Bounds { depth_max: usize::MAX, ..Bounds::default() };
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let document = open.repeat(200_000);
        let error = parse(document.as_bytes(), &Bounds::default()).unwrap_err();
        assert_eq!(error.kind, JsonErrorKind::TooDeep { depth_max: 32 });
        let error = parse(document.as_bytes(), &boundless).unwrap_err();
        assert_eq!(error.kind, JsonErrorKind::TooDeep { depth_max: 126 });
    }
    let deepest = |depth| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(deepest(32).as_bytes(), &Bounds::default()).is_ok());
    assert!(parse(deepest(126).as_bytes(), &boundless).is_ok());
}

#[test]
fn bounds_are_inclusive() {
    let longest = format!("\"{}\"", "x".repeat(STRING_BYTES_MAX));
    let most_items = format!("[{}0]", "0,".repeat(ARRAY_ITEMS_MAX - 1));
    let keys: Vec<String> = (0..OBJECT_KEYS_MAX).map(|n| format!("\"{n}\":0")).collect();
    for document in [longest, most_items, format!("{{{}}}", keys.join(","))] {
        assert!(parse(document.as_bytes(), &Bounds::default()).is_ok());
    }
}

#[test]
fn long_keys_are_shortened_in_the_path() {
    let document = format!(r#"{{"{}":1e999}}"#, "é".repeat(100));
    let error = parse(document.as_bytes(), &Bounds::default()).unwrap_err();
    assert_eq!(error.path, "é".repeat(64) + "…");
}

#[test]
fn many_huge_numbers_take_one_more_pass_and_not_one_each() {
    let row = format!("[{}1e300]", "1e300,".repeat(999));
    let document = format!("[{}{row}]", format!("{row},").repeat(99));
    assert!(parse(document.as_bytes(), &Bounds::default()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_bytes_are_refused_or_mean_the_same_to_all(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        check_any(&bytes)?;
    }

    #[test]
    fn near_json_is_refused_or_means_the_same_to_all(
        tokens in proptest::collection::vec(token(), 0..40),
    ) {
        check_any(tokens.concat().as_bytes())?;
    }

    #[test]
    fn damaged_json_is_refused_or_means_the_same_to_all(
        at in 0..SAMPLE.len(),
        byte in any::<u8>(),
        end in 0..=SAMPLE.len(),
    ) {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        bytes[at] = byte;
        check_any(&bytes)?;
        check_any(&bytes[..end])?;
    }
}

const SAMPLE: &str = r#"{"a":[1,-2.5e3,1e300,null,true],"b":{"c":"\u00e9\n","d":"é"}}"#;

const SMALL: Bounds = Bounds {
    depth_max: 4,
    string_bytes_max: 8,
    array_items_max: 3,
    object_keys_max: 2,
    free_text: &[],
    free_below: &[],
};

fn check(document: &str, expected: &str) {
    let error = parse(document.as_bytes(), &SMALL).unwrap_err();
    assert_eq!(error.to_string(), expected, "{document}");
}

fn check_any(bytes: &[u8]) -> Result<(), TestCaseError> {
    match parse(bytes, &SMALL) {
        Ok(value) => {
            // Alike but for how a whole number is kept.
            let plain = serde_json::from_slice::<Value>(bytes).unwrap();
            prop_assert_eq!(canonical(&plain), canonical(&value));
            let again = parse(canonical(&value).as_bytes(), &SMALL).unwrap();
            prop_assert_eq!(canonical(&again), canonical(&value));
        }
        Err(error) => prop_assert!(!error.to_string().chars().any(is_forbidden)),
    }
    Ok(())
}

fn token() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\\",
        "\"a\"",
        "\"b\":",
        "\\u",
        "d800",
        "null",
        "true",
        "-",
        ".",
        "e",
        "E+",
        "0",
        "1",
        "9007199254740991",
        "99999999999999999999999",
        "1e308",
        " ",
        "\"\\u202e\"",
        "\u{E0001}",
        "\n",
    ]);
    fixed.prop_map(str::to_owned)
}
