//! The canonical text of a JSON value (RFC 8785), and its hash.
//!
//! Signatures and hash chains are computed over this text, so equal values must have equal bytes in
//! every implementation. The writer is a direct one for speed: every package and every entry of the
//! ledger passes through it.

use std::cmp::Ordering;
use std::fmt::Write;
use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::json::INTEGER_MAX;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// The canonical text. Integers beyond 2^53 − 1 are written as the nearest double, as the RFC
/// says, and so can collide; `json::parse` lets none in.
///
/// Recursion follows the nesting of the value, which `json::parse` bounds.
pub fn canonical(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    canonical_into(value, &mut out);
    out
}

/// The canonical text of a type without maps that declares its fields in the order of their names,
/// at every depth. It is serialized directly, without a [`Value`] in between.
pub fn of(value: &impl Serialize) -> String {
    let mut bytes = Vec::with_capacity(1_024);
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, Plain))
        .expect("our types hold only strings, numbers and lists");
    let text = String::from_utf8(bytes).expect("JSON is text");
    debug_assert_eq!(
        serde_json::from_str(&text).map(|value| canonical(&value)).ok().as_ref(),
        Some(&text),
        "fields are declared in the order of their names"
    );
    text
}

/// Strings and integers of `serde_json` are canonical already; doubles are not.
struct Plain;

impl Formatter for Plain {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, double: f64) -> io::Result<()> {
        let mut text = String::new();
        write_double(double, &mut text);
        writer.write_all(text.as_bytes())
    }
}

/// Appends the canonical text to `out`.
pub fn canonical_into(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical_into(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => write_object(object, out),
    }
}

/// The digest of the parts, one after the other. The parts are not delimited: where their lengths
/// vary, the caller must make sure that no two lists of parts have the same concatenation.
pub fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0F]).map(hex_digit);
    let mut text = Vec::with_capacity(bytes.len() * 2);
    text.extend(digits);
    String::from_utf8(text).expect("digits are ASCII")
}

/// Reads what [`hex`] wrote for a hash, and nothing else: a hash has one spelling, so that equal
/// hashes are equal strings.
pub fn parse_hex32(text: &str) -> Option<Hash> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = hex_value(pair[0])? << 4 | hex_value(pair[1])?;
    }
    Some(hash)
}

fn write_object(object: &Map<String, Value>, out: &mut String) {
    let in_order = |a: &&String, b: &&String| utf16_order(a, b) == Ordering::Less;
    out.push('{');
    // The map is sorted by bytes, which is the same order for all but very exotic keys. The check
    // is cheap, and the result stays right if another crate turns on insertion order in
    // `serde_json`.
    if object.keys().is_sorted_by(in_order) {
        for (index, (key, value)) in object.iter().enumerate() {
            write_entry(index, key, value, out);
        }
    } else {
        let mut entries: Vec<(&String, &Value)> = object.iter().collect();
        entries.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
        for (index, (key, value)) in entries.into_iter().enumerate() {
            write_entry(index, key, value, out);
        }
    }
    out.push('}');
}

fn write_entry(index: usize, key: &str, value: &Value, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    write_string(key, out);
    out.push(':');
    canonical_into(value, out);
}

/// The order of the UTF-16 code units, without encoding them.
///
/// UTF-8 has the order of the code points. UTF-16 differs in one thing: surrogates, which stand for
/// U+10000 and above (first byte F0 to F4), come before U+E000 to U+FFFF (first byte EE or EF).
/// Texts that first differ in a later byte of a character share its first byte, so it is enough to
/// lift those two first bytes above all others.
fn utf16_order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if matches!(byte, 0xEE | 0xEF) { byte + 0x10 } else { byte };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| NEEDS_ESCAPE[usize::from(byte)]) {
        out.push_str(&rest[..at]);
        write_escaped(rest.as_bytes()[at], out);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Quotes, backslashes and control characters, all of them ASCII.
const NEEDS_ESCAPE: [bool; 256] = {
    let mut needs = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        needs[control] = true;
        control += 1;
    }
    needs[b'"' as usize] = true;
    needs[b'\\' as usize] = true;
    needs
};

fn write_escaped(byte: u8, out: &mut String) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0C => out.push_str("\\f"),
        control => {
            out.push_str("\\u00");
            out.push(char::from(hex_digit(control >> 4)));
            out.push(char::from(hex_digit(control & 0x0F)));
        }
    }
}

fn write_number(number: &Number, out: &mut String) {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) if integer.unsigned_abs() <= INTEGER_MAX => {
            write!(out, "{integer}").expect("writing to a String cannot fail");
        }
        (_, Some(double)) => write_double(double, out),
        (_, None) => unreachable!("without arbitrary precision every number is a double"),
    }
}

/// As ECMAScript's `Number.prototype.toString` writes it: the shortest digits that read back as the
/// same double, with an exponent only below 1e-6 and from 1e21 on.
fn write_double(double: f64, out: &mut String) {
    if double == 0.0 {
        // Negative zero too.
        out.push('0');
        return;
    }
    let Decimal { digits, point } = shortest_decimal(double.abs());
    let n_digits = i32::try_from(digits.len()).expect("a double has at most 17 digits");
    if double < 0.0 {
        out.push('-');
    }
    if n_digits <= point && point <= 21 {
        out.push_str(&digits);
        write_zeros(point - n_digits, out);
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point.unsigned_abs() as usize);
        out.extend([whole, ".", fraction]);
    } else if -6 < point && point <= 0 {
        out.push_str("0.");
        write_zeros(-point, out);
        out.push_str(&digits);
    } else {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.extend([".", rest]);
        }
        write!(out, "e{:+}", point - 1).expect("writing to a String cannot fail");
    }
}

/// The number `0.digits` × 10^`point`, without zeros at either end of the digits.
struct Decimal {
    digits: String,
    point: i32,
}

/// The digits come from `serde_json`: the standard library breaks ties between two shortest forms
/// upwards, but ECMAScript takes the even one. Its layout is not relied upon.
fn shortest_decimal(positive: f64) -> Decimal {
    let number = Number::from_f64(positive).expect("a JSON number is finite");
    let text = number.to_string();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().expect("the exponent of a double is a small integer");

    let padded = [whole, fraction].concat();
    let digits = padded.trim_start_matches('0');
    let n_whole = whole.len() as i32 - (padded.len() - digits.len()) as i32;
    Decimal { digits: digits.trim_end_matches('0').to_owned(), point: n_whole + exponent }
}

fn write_zeros(count: i32, out: &mut String) {
    out.extend((0..count).map(|_| '0'));
}

fn hex_digit(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble & 0x0F)]
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::json::{Bounds, parse};

    #[test]
    fn the_examples_of_the_rfc() {
        check(
            r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
                "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
                "literals":[null,true,false]}"#,
            "{\"literals\":[null,true,false],\
             \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
        );
        check(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return",
                "\ufb33":"Hebrew Letter Dalet With Dagesh",
                "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control",
                "\u00f6":"Latin Small Letter O With Diaeresis"}"#,
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
             \"😀\":\"Emoji: Grinning Face\",\
             \"\u{FB33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        );
    }

    #[test]
    fn the_doubles_of_the_rfc() {
        for (bits, expected) in [
            (0x0000000000000000, "0"),
            (0x8000000000000000, "0"),
            (0x0000000000000001, "5e-324"),
            (0x8000000000000001, "-5e-324"),
            (0x7fefffffffffffff, "1.7976931348623157e+308"),
            (0xffefffffffffffff, "-1.7976931348623157e+308"),
            (0x4340000000000000, "9007199254740992"),
            (0xc340000000000000, "-9007199254740992"),
            (0x4430000000000000, "295147905179352830000"),
            (0x44b52d02c7e14af5, "9.999999999999997e+22"),
            (0x44b52d02c7e14af6, "1e+23"),
            (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
            (0x444b1ae4d6e2ef4e, "999999999999999700000"),
            (0x444b1ae4d6e2ef4f, "999999999999999900000"),
            (0x444b1ae4d6e2ef50, "1e+21"),
            (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
            (0x3eb0c6f7a0b5ed8d, "0.000001"),
            (0x41b3de4355555553, "333333333.3333332"),
            (0x41b3de4355555554, "333333333.33333325"),
            (0x41b3de4355555555, "333333333.3333333"),
            (0x41b3de4355555556, "333333333.3333334"),
            (0x41b3de4355555557, "333333333.33333343"),
            (0xbecbf647612f3696, "-0.0000033333333333333333"),
            (0x43143ff3c1cb0959, "1424953923781206.2"),
        ] {
            assert_eq!(canonical(&json!(f64::from_bits(bits))), expected);
        }
    }

    #[test]
    fn integers_are_written_as_such_while_they_are_exact() {
        for (value, expected) in [
            (json!(INTEGER_MAX), "9007199254740991"),
            (json!(-9007199254740991_i64), "-9007199254740991"),
            (json!(100.0), "100"),
            (json!(9007199254740993_u64), "9007199254740992"),
            (json!(u64::MAX), "18446744073709552000"),
            (json!(i64::MIN), "-9223372036854776000"),
        ] {
            assert_eq!(canonical(&value), expected);
        }
    }

    #[test]
    fn every_control_character_is_escaped_in_its_shortest_form() {
        let all: String = ('\0'..='\u{7F}').collect();
        let expected = serde_json::to_string(&all).unwrap();
        assert_eq!(canonical(&json!(all)), expected);
        assert!(expected.starts_with(r#""\u0000\u0001"#) && expected.contains(r"\b\t\n\u000b\f\r"));
    }

    #[test]
    fn hashes_have_one_spelling() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex(&sha256(&[])), empty);
        assert_eq!(sha256(&[b"a", b"", b"bc"]), sha256(&[b"abc"]));
        assert_eq!(parse_hex32(empty), Some(sha256(&[])));
        let longer = format!("{empty}0");
        let with_letter = empty.replace("e3", "g3");
        for wrong in ["", &empty[1..], &longer, &empty.to_uppercase(), &with_letter] {
            assert_eq!(parse_hex32(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn the_canonical_text_is_a_fixed_point(value in values()) {
            let text = canonical(&value);
            let again = parse(text.as_bytes(), &Bounds::default()).unwrap();
            prop_assert_eq!(canonical(&again), text);
        }

        #[test]
        fn the_order_of_keys_does_not_matter(
            (entries, shuffled) in prop::collection::hash_map(keys(), values(), 0..8)
                .prop_map(|entries| entries.into_iter().collect::<Vec<_>>())
                .prop_flat_map(|entries| (Just(entries.clone()), Just(entries).prop_shuffle())),
        ) {
            prop_assert_eq!(canonical(&object(entries)), canonical(&object(shuffled)));
        }

        #[test]
        fn keys_have_the_order_of_their_utf16_code_units(a in keys(), b in keys()) {
            prop_assert_eq!(utf16_order(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
        }

        #[test]
        fn doubles_survive(double in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            let text = canonical(&json!(double));
            prop_assert_eq!(text.parse::<f64>().unwrap(), double);
        }
    }

    fn check(document: &str, expected: &str) {
        let value: Value = serde_json::from_str(document).unwrap();
        assert_eq!(canonical(&value), expected);
    }

    fn object(entries: Vec<(String, Value)>) -> Value {
        Value::Object(entries.into_iter().collect())
    }

    /// Short keys that share prefixes, from all the ranges that sort differently.
    fn keys() -> impl Strategy<Value = String> {
        let characters = vec![
            'a',
            '"',
            '\n',
            'é',
            '\u{D7FF}',
            '\u{E000}',
            '\u{FFFF}',
            '\u{10000}',
            '\u{10FFFF}',
        ];
        prop::collection::vec(prop::sample::select(characters), 0..4)
            .prop_map(|characters| characters.into_iter().collect())
    }

    /// Values that `json::parse` accepts.
    fn values() -> impl Strategy<Value = Value> {
        let integer_max = INTEGER_MAX as i64;
        let doubles = any::<f64>().prop_filter("accepted from outside", |double| {
            double.is_finite() && !(9e15..1e21).contains(&double.abs())
        });
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (-integer_max..=integer_max).prop_map(Value::from),
            doubles.prop_map(Value::from),
            r"[ -~é€😀\n\t]{0,12}".prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                prop::collection::btree_map(keys(), inner, 0..6)
                    .prop_map(|entries| object(entries.into_iter().collect())),
            ]
        })
    }
}
