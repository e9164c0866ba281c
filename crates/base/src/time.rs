//! Server time as a value. It is always a parameter; nothing here reads a clock.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::form::keywords::EXPECTED;

/// Milliseconds since the Unix epoch, written as RFC 3339 in UTC. The displayed form
/// ([`fmt::Display`]) always has three fractional digits, so that times sort as text. The stored
/// and hashed form ([`Serialize`]) leaves out trailing zeros, and must stay so: entries were hashed
/// in that form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(i64);

/// A length of time in milliseconds, written the way people write limits: `90s`, `15m`, `24h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(i64);

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTime {
    #[error("expected an RFC 3339 time such as 2026-02-21T14:00:00Z")]
    NotATime,
    #[error("expected a time from {} to {}", Time(0), Time(MILLIS_MAX))]
    OutOfRange,
}

/// The last day of the year 9999 is excluded: in some time zones it is already the year 10000,
/// which has no RFC 3339 form.
const MILLIS_MAX: i64 = 253_402_207_199_999;

/// RFC 3339 and nothing else of ISO 8601, from 1970.
const RFC_3339: &str = concat!(
    r"^(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}",
    r"(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
);

impl Time {
    /// Times outside the range of RFC 3339 become the nearest one inside.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, MILLIS_MAX))
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    pub fn plus(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_add(span.0))
    }

    /// How long ago `earlier` was; zero when it lies in the future.
    pub fn since(self, earlier: Time) -> Span {
        Span((self.0 - earlier.0).max(0))
    }
}

impl FromStr for Time {
    type Err = InvalidTime;
    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let parsed: jiff::Timestamp = text.parse().map_err(|_| not_a_moment(text))?;
        let millis = parsed.as_millisecond();
        if (0..=MILLIS_MAX).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(InvalidTime::OutOfRange)
        }
    }
}

/// Whether a text that is no valid time has at least the form of one.
fn not_a_moment(text: &str) -> InvalidTime {
    match jiff::fmt::temporal::Pieces::parse(text) {
        Ok(pieces) if pieces.time().is_some() && pieces.offset().is_some() => {
            InvalidTime::OutOfRange
        }
        Ok(_) | Err(_) => InvalidTime::NotATime,
    }
}

impl TryFrom<String> for Time {
    type Error = InvalidTime;
    fn try_from(text: String) -> Result<Self, InvalidTime> {
        text.parse()
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.stored_text(&mut [0; TEXT_BYTES]))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text(&mut [0; TEXT_BYTES]))
    }
}

/// `9999-12-31T23:59:59.999Z`
const TEXT_BYTES: usize = 24;

impl Time {
    /// For `serialize_with` on fields that are shown: writes the displayed form, not the stored
    /// one.
    pub fn serialize_shown<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    /// The form in entries of the ledger.
    pub fn to_stored_string(self) -> String {
        self.stored_text(&mut [0; TEXT_BYTES]).to_owned()
    }

    /// Without trailing zeros of the fraction, and without a fraction of zero.
    fn stored_text(self, buffer: &mut [u8; TEXT_BYTES]) -> &str {
        let millis = self.0 % 1_000;
        self.text(buffer);
        let n_digits = [0, 1, 2, 3].into_iter().find(|n| millis % 10_i64.pow(3 - n) == 0);
        let end = match n_digits {
            Some(0) | None => 19,
            Some(n_digits) => 20 + n_digits as usize,
        };
        buffer[end] = b'Z';
        std::str::from_utf8(&buffer[..=end]).expect("digits are ASCII")
    }

    /// Hand-written for speed, because every entry is hashed with its time.
    fn text(self, buffer: &mut [u8; TEXT_BYTES]) -> &str {
        let (seconds, millis) = (self.0 / 1_000, self.0 % 1_000);
        let (year, month, day) = date(seconds / 86_400);
        let second_of_day = seconds % 86_400;
        buffer.copy_from_slice(b"0000-00-00T00:00:00.000Z");
        write_digits(&mut buffer[0..4], year);
        write_digits(&mut buffer[5..7], month);
        write_digits(&mut buffer[8..10], day);
        write_digits(&mut buffer[11..13], second_of_day / 3_600);
        write_digits(&mut buffer[14..16], second_of_day / 60 % 60);
        write_digits(&mut buffer[17..19], second_of_day % 60);
        write_digits(&mut buffer[20..23], millis);
        std::str::from_utf8(buffer).expect("digits are ASCII")
    }
}

/// Year, month and day of a day since 1970-01-01. Years begin in March here, so that the leap day
/// is the last of the year; 400 of them always have 146,097 days.
fn date(days: i64) -> (i64, i64, i64) {
    let since_march_of_year_0 = days + 719_468;
    let (era, day_of_era) = (since_march_of_year_0 / 146_097, since_march_of_year_0 % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + 400 * era + i64::from(month <= 2);
    (year, month, day)
}

fn write_digits(place: &mut [u8], mut number: i64) {
    for digit in place.iter_mut().rev() {
        *digit = b"0123456789"[(number % 10).unsigned_abs() as usize];
        number /= 10;
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "pattern": RFC_3339 })
    }
}

impl Span {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn from_minutes(minutes: i64) -> Self {
        Self(minutes * 60_000)
    }

    pub const fn from_hours(hours: i64) -> Self {
        Self(hours * 3_600_000)
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }
}

impl Span {
    /// The form for documented limits: days from two days on, otherwise the displayed form.
    pub fn in_days(self) -> String {
        const DAY_MS: i64 = 86_400_000;
        match self.0 / DAY_MS {
            days if days >= 2 && self.0 % DAY_MS == 0 => format!("{days}d"),
            _ => self.to_string(),
        }
    }

    /// The displayed form without rounding: what is no whole number of seconds has decimals.
    pub fn in_full(self) -> String {
        match (self.0 / 1_000, self.0 % 1_000) {
            (0, _) | (_, 0) => self.to_string(),
            (seconds, millis) => {
                let decimals = format!("{millis:03}");
                format!("{seconds}.{}s", decimals.trim_end_matches('0'))
            }
        }
    }
}

impl fmt::Display for Span {
    /// In the largest unit that is exact; below a second, in milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s")];
        for (millis, unit) in units {
            if self.0 >= millis && self.0 % millis == 0 {
                return write!(f, "{}{unit}", self.0 / millis);
            }
        }
        if self.0 >= 1_000 { write!(f, "{}s", self.0 / 1_000) } else { write!(f, "{}ms", self.0) }
    }
}

/// The text is no span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a span such as 90s, 15m, 2h or 3d")]
pub struct InvalidSpan;

impl FromStr for Span {
    type Err = InvalidSpan;
    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        let number: i64 = digits.parse().map_err(|_| InvalidSpan)?;
        let millis = match &text[digits.len()..] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(InvalidSpan),
        };
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let span = number.checked_mul(millis).filter(|_| is_plain).ok_or(InvalidSpan)?;
        Ok(Self(span))
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The displayed form is rounded; the stored form is not.
        match self.0 % 1_000 {
            0 if self.0 > 0 => serializer.collect_str(self),
            _ => serializer.collect_str(&format_args!("{}ms", self.0)),
        }
    }
}

impl TryFrom<String> for Span {
    type Error = InvalidSpan;
    fn try_from(text: String) -> Result<Self, InvalidSpan> {
        text.parse()
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // As many digits as fit into a count of milliseconds.
        json_schema!({
            "type": "string",
            "pattern": "^([0-9]{1,15}ms|[0-9]{1,10}(s|m|h|d))$",
            EXPECTED: "a span such as 90s, 15m, 2h or 3d",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_rfc_3339() {
        let time: Time = "2026-02-21T14:00:00Z".parse().unwrap();
        assert_eq!(time.to_string(), "2026-02-21T14:00:00.000Z");
        assert_eq!(time.plus(Span::from_millis(5)).to_string(), "2026-02-21T14:00:00.005Z");
        assert_eq!("2026-02-21T15:00:00+01:00".parse::<Time>().unwrap(), time);
    }

    #[test]
    fn a_text_that_is_no_time_is_told_from_a_time_that_is_out_of_range() {
        let range = "expected a time from 1970-01-01T00:00:00.000Z to 9999-12-30T21:59:59.999Z";
        let form = "expected an RFC 3339 time such as 2026-02-21T14:00:00Z";
        let rows = [
            ("1969-12-31T23:59:59Z", range),
            ("9999-12-30T22:00:00Z", range),
            ("9999-12-31T00:00:00Z", range),
            ("9999-12-31T23:59:59.999Z", range),
            ("9999-12-31T23:59:59-12:00", range),
            ("yesterday", form),
            ("2026-02-21", form),
            ("2026-02-21T14:00:00", form),
            ("2026-13-21T14:00:00Z", form),
            ("10000-01-01T00:00:00Z", form),
        ];
        for (text, expected) in rows {
            assert_eq!(text.parse::<Time>().unwrap_err().to_string(), expected, "{text}");
        }
        assert!("9999-12-30T21:59:59.999Z".parse::<Time>().is_ok());
    }

    #[test]
    fn a_span_is_shown_in_full_where_it_counts() {
        let rows = [
            (0, "0ms", "0ms"),
            (999, "999ms", "999ms"),
            (3_997, "3s", "3.997s"),
            (90_500, "90s", "90.5s"),
            (900_000, "15m", "15m"),
        ];
        for (millis, shown, in_full) in rows {
            let span = Span::from_millis(millis);
            assert_eq!((&*span.to_string(), &*span.in_full()), (shown, in_full));
        }
    }

    #[test]
    fn shown_times_sort_as_text() {
        let shown = [0, 1, 9, 10, 99, 100, 120, 999, 1_000, 1_001, 60_000]
            .map(|millis| Time::from_millis(1_771_682_392_000 + millis).to_string());
        assert!(shown.is_sorted() && shown.iter().all(|text| text.len() == 24), "{shown:?}");
    }

    #[test]
    fn spans_are_a_number_and_a_unit() {
        for (text, millis) in [("0ms", 0), ("90s", 90_000), ("15m", 900_000), ("3d", 259_200_000)] {
            assert_eq!(text.parse::<Span>().map(Span::as_millis), Ok(millis), "{text}");
        }
        for text in ["", "m", "5", "-5m", "+5m", "5 m", "5M", "1.5h", "99999999999999999d"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    /// Compared with a library, around every kind of boundary.
    #[test]
    fn times_are_written_as_the_library_writes_them() {
        let day = 86_400_000;
        let years = (0..8_030).map(|year| year * 365 * day + year / 4 * day);
        let moments = years.flat_map(|start| {
            [-day, -1, 0, 1, 10, 100, 120, 59_999, 31 * day + 7].map(|offset| start + offset)
        });
        for millis in moments.chain([MILLIS_MAX, MILLIS_MAX - 999]) {
            let time = Time::from_millis(millis);
            let stamp = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap();
            assert_eq!(time.to_string(), format!("{stamp:.3}"));
            assert_eq!(time.to_string().parse(), Ok(time));
            assert_eq!(time.to_stored_string(), stamp.to_string(), "as it was always stored");
            assert_eq!(serde_json::to_string(&time).unwrap(), format!("\"{stamp}\""));
        }
    }

    #[test]
    fn spans_read_as_people_write_them() {
        let cases = [
            (Span::from_hours(24), "24h"),
            (Span::from_minutes(15), "15m"),
            (Span::from_millis(90_000), "90s"),
            (Span::from_millis(1_500), "1s"),
            (Span::from_millis(20), "20ms"),
        ];
        for (span, text) in cases {
            assert_eq!(span.to_string(), text);
        }
    }
}
