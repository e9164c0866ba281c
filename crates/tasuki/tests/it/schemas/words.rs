//! Words that only readers of the code understand: of types, and of the library that reads them.

const WORDS: [&str; 22] = [
    "struct", "enum", "variant", "untagged", "serde", "tuple", "newtype", "usize", "isize", "u8",
    "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "bool", "Vec", "Option",
];

const PHRASES: [&str; 6] = [
    "invalid type",
    "invalid value",
    "invalid length",
    "missing field",
    "unknown field",
    "did not match any",
];

/// Spelt like a type, but a common term.
const KNOWN: [&str; 4] = ["WebSocket", "OpenAPI", "LangChain", "OpenAI"];

/// The first such word in a text.
pub fn inner_words(text: &str) -> Option<String> {
    if let Some(phrase) = PHRASES.iter().find(|phrase| text.contains(*phrase)) {
        return Some((*phrase).to_owned());
    }
    let words = text.split(|it: char| !it.is_alphanumeric() && it != '_' && it != '.');
    let mut words = words.filter(|word| !word.contains(['.', '_']));
    let found = words.find(|word| WORDS.contains(word) || is_camel_case(word));
    found.map(str::to_owned)
}

fn is_camel_case(word: &str) -> bool {
    let mut characters = word.chars();
    let is_capital = characters.next().is_some_and(char::is_uppercase);
    let second_is_small = characters.next().is_some_and(char::is_lowercase);
    is_capital && second_is_small && characters.any(char::is_uppercase) && !KNOWN.contains(&word)
}

#[test]
fn words_of_the_code_are_noticed() {
    let bad = [
        "task: invalid type: string \"x\", expected struct OfferedTask",
        "percent: expected f64",
        "kind: unknown variant `x`",
        "task: expected an OfferedTask",
    ];
    for text in bad {
        assert!(inner_words(text).is_some(), "{text}");
    }
    let good = [
        "task.title: expected one line of 1 to 300 bytes",
        "voice.sipUri: expected sip:… or sips:…, at most 256 bytes",
        "Idempotency-Key: expected 1 to 200 visible ASCII characters",
    ];
    for text in good {
        assert_eq!(inner_words(text), None, "{text}");
    }
}
