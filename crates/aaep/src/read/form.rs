//! The forms of texts: ids, languages, times, URIs. Hand-written and without regexes, because every
//! event passes here.

use std::net::Ipv6Addr;

/// The most characters of an id after its prefix.
pub(super) const ID_CHARS_MAX: usize = 64;

/// A form of a text. Each stands for one `pattern` or `format` of the schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Any,
    /// A piece of a longer text: a later piece may close what it opens.
    Piece,
    /// This prefix and 1 to 64 ASCII letters or digits.
    Id(&'static str),
    Version,
    Language,
    Script,
    Tool,
    ErrorCode,
    ReasonCode,
    MediaType,
    /// Three parts of base64url, with dots between them.
    Signed,
    /// A SHA-256 in lower-case hexadecimal digits.
    Hash,
    Uri,
    Moment,
}

impl Form {
    pub(super) fn fits(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Form::Any | Form::Piece => true,
            Form::Id(prefix) => text.strip_prefix(prefix).is_some_and(|body| {
                (1..=ID_CHARS_MAX).contains(&body.len())
                    && body.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }),
            Form::Version => is_version(text),
            Form::Language => is_language(text),
            Form::Script => {
                bytes.len() == 4
                    && bytes[0].is_ascii_uppercase()
                    && bytes[1..].iter().all(u8::is_ascii_lowercase)
            }
            Form::Tool => {
                bytes.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
                    && bytes.iter().all(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
                    })
                    && bytes.len() <= 256
            }
            Form::ErrorCode => is_code(bytes, u8::is_ascii_uppercase),
            Form::ReasonCode => is_code(bytes, u8::is_ascii_lowercase),
            Form::MediaType => {
                text.split_once('/').is_some_and(|(left, right)| is_media(left) && is_media(right))
            }
            Form::Signed => {
                let is_part = |part: &str| {
                    !part.is_empty()
                        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
                };
                text.split('.').count() == 3 && text.split('.').all(is_part)
            }
            Form::Hash => {
                bytes.len() == 64
                    && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            }
            Form::Uri => is_uri(text),
            Form::Moment => Moment::parse(text).is_some(),
        }
    }

    /// The schema keyword of this form.
    pub(super) fn keyword(self) -> &'static str {
        match self {
            Form::Uri | Form::Moment => "format",
            Form::Any
            | Form::Piece
            | Form::Id(_)
            | Form::Version
            | Form::Language
            | Form::Script
            | Form::Tool
            | Form::ErrorCode
            | Form::ReasonCode
            | Form::MediaType
            | Form::Signed
            | Form::Hash => "pattern",
        }
    }

    /// What to tell the sender of another text.
    pub(super) fn words(self) -> &'static str {
        match self {
            Form::Any | Form::Piece => "a text",
            Form::Id("evt_") => "evt_ and 1 to 64 letters or digits",
            Form::Id("sess_") => "sess_ and 1 to 64 letters or digits",
            Form::Id("sub_") => "sub_ and 1 to 64 letters or digits",
            Form::Id("rpl_") => "rpl_ and 1 to 64 letters or digits",
            Form::Id("call_") => "call_ and 1 to 64 letters or digits",
            Form::Id("out_") => "out_ and 1 to 64 letters or digits",
            Form::Id(_) => "a prefix and 1 to 64 letters or digits",
            Form::Version => "a version such as 1.0.0",
            Form::Language => "a language tag such as en-US",
            Form::Script => "a script of four letters such as Latn",
            Form::Tool => "the name of a tool: letters, digits, _ . and -, no digit first",
            Form::ErrorCode => "2 to 64 characters of A to Z, 0 to 9 and _, a letter first",
            Form::ReasonCode => "2 to 64 characters of a to z, 0 to 9 and _, a letter first",
            Form::MediaType => "a media type without parameters, such as text/plain",
            Form::Signed => "three parts of base64url with dots between them",
            Form::Hash => "64 lower-case hexadecimal digits",
            Form::Uri => "an absolute URI",
            Form::Moment => "a moment as in RFC 3339, such as 2026-05-24T14:22:11.342Z",
        }
    }
}

fn is_version(text: &str) -> bool {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'-').unwrap_or(bytes.len());
    let (numbers, rest) = bytes.split_at(end);
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut parts = numbers.split(|byte| *byte == b'.');
    let are_numbers = (0..3).all(|_| parts.next().is_some_and(is_number));
    let is_of_rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    are_numbers
        && parts.next().is_none()
        && (rest.is_empty() || (rest.len() > 1 && rest[1..].iter().all(is_of_rest)))
}

/// Whether a text has the shape of a BCP 47 tag.
pub(super) fn is_language(text: &str) -> bool {
    let mut parts = text.as_bytes().split(|byte| *byte == b'-');
    let is_first = parts.next().is_some_and(|first| {
        (1..=8).contains(&first.len()) && first.iter().all(u8::is_ascii_alphabetic)
    });
    is_first
        && parts
            .all(|part| (1..=8).contains(&part.len()) && part.iter().all(u8::is_ascii_alphanumeric))
}

fn is_code(bytes: &[u8], is_letter: impl Fn(&u8) -> bool) -> bool {
    (2..=64).contains(&bytes.len())
        && is_letter(&bytes[0])
        && bytes.iter().all(|byte| is_letter(byte) || byte.is_ascii_digit() || *byte == b'_')
}

fn is_media(part: &str) -> bool {
    part.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'_' | b'-'))
}

/// An absolute URI of RFC 3986, fragment included.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return false;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            (&after[..end], &after[end..])
        }
        None => ("", rest),
    };
    is_authority(authority)
        && is_escaped(path, b":@/")
        && is_escaped(query, b":@/?")
        && is_escaped(fragment, b":@/?")
}

fn is_authority(text: &str) -> bool {
    let (user, place) = match text.rsplit_once('@') {
        Some((user, place)) => (user, place),
        None => ("", text),
    };
    if !is_escaped(user, b":") {
        return false;
    }
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(literal) = place.strip_prefix('[') {
        let Some((address, after)) = literal.split_once(']') else { return false };
        return is_address(address)
            && (after.is_empty() || after.strip_prefix(':').is_some_and(is_port));
    }
    match place.rsplit_once(':') {
        Some((host, port)) => is_escaped(host, b"") && is_port(port),
        None => is_escaped(place, b""),
    }
}

fn is_address(text: &str) -> bool {
    match text.strip_prefix(['v', 'V']) {
        Some(future) => future.split_once('.').is_some_and(|(version, rest)| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !rest.is_empty()
                && !rest.contains('%')
                && is_escaped(rest, b":")
        }),
        None => text.parse::<Ipv6Addr>().is_ok(),
    }
}

/// Unreserved characters, sub-delimiters, escaped bytes, and those in `also`.
fn is_escaped(text: &str, also: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' => {
                let digits = bytes.get(at + 1..at + 3);
                if !digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)) {
                    return false;
                }
                at += 3;
            }
            b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+'
            | b',' | b';' | b'=' => at += 1,
            byte if byte.is_ascii_alphanumeric() || also.contains(byte) => at += 1,
            _ => return false,
        }
    }
    true
}

/// A time as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Since 1970. Finer digits than microseconds are cut off.
    pub micros: i64,
    pub n_fraction_digits: usize,
    /// Whether `T` and `Z` are capitals.
    pub has_capitals: bool,
}

impl Moment {
    pub(super) fn parse(text: &str) -> Option<Moment> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = bytes.get(from..to)?;
            digits.iter().try_fold(0_i64, |sum, digit| {
                digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
            })
        };
        let is_at = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
        let separated = is_at(4, b'-') && is_at(7, b'-') && is_at(13, b':') && is_at(16, b':');
        if !separated || !matches!(bytes.get(10), Some(b'T' | b't')) {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let in_range = (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day)
            && hour <= 23
            && minute <= 59
            && second <= 60;
        if !in_range {
            return None;
        }
        let (fraction_micros, n_fraction_digits) = fraction(&bytes[19..])?;
        let at = 19 + if n_fraction_digits == 0 { 0 } else { n_fraction_digits + 1 };
        let offset_minutes = match bytes.get(at)? {
            b'Z' | b'z' if bytes.len() == at + 1 => 0,
            sign @ (b'+' | b'-') if bytes.len() == at + 6 && is_at(at + 3, b':') => {
                let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                let size = hours * 60 + minutes;
                if *sign == b'+' { size } else { -size }
            }
            _ => return None,
        };
        let minutes = hour * 60 + minute - offset_minutes;
        // A leap second is the last one of a day, in UTC.
        if second == 60 && minutes.rem_euclid(24 * 60) != 24 * 60 - 1 {
            return None;
        }
        let seconds = (days_since_1970(year, month, day) * 24 * 60 + minutes) * 60 + second;
        Some(Moment {
            micros: seconds * 1_000_000 + fraction_micros,
            n_fraction_digits,
            has_capitals: bytes[10] == b'T' && !matches!(bytes.last(), Some(b'z')),
        })
    }
}

/// Microseconds and the number of digits; no digits without a dot.
fn fraction(bytes: &[u8]) -> Option<(i64, usize)> {
    if bytes.first() != Some(&b'.') {
        return Some((0, 0));
    }
    let n_digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if n_digits == 0 {
        return None;
    }
    let digits = bytes[1..=n_digits].iter().map(|digit| i64::from(digit - b'0'));
    let micros = digits.chain(std::iter::repeat(0)).take(6).fold(0, |sum, digit| sum * 10 + digit);
    Some((micros, n_digits))
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
