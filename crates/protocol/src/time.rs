//! Server time as a value. It is always handed in; nothing here reads a clock.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, written as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time(i64);

/// A length of time in milliseconds, written the way people write limits: `90s`, `15m`, `24h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(i64);

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 time such as 2026-02-21T14:00:00Z")]
pub struct InvalidTime;

/// The last moment of the year 9999: later ones have no RFC 3339 form.
const MILLIS_MAX: i64 = 253_402_300_799_999;

impl Time {
    /// Moments outside the range of RFC 3339 become the nearest one inside.
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
        let parsed: jiff::Timestamp = text.parse().map_err(|_| InvalidTime)?;
        let millis = parsed.as_millisecond();
        if (0..=MILLIS_MAX).contains(&millis) { Ok(Self(millis)) } else { Err(InvalidTime) }
    }
}

impl TryFrom<String> for Time {
    type Error = InvalidTime;
    fn try_from(text: String) -> Result<Self, InvalidTime> {
        text.parse()
    }
}

impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamp = jiff::Timestamp::from_millisecond(self.0)
            .expect("the constructors keep every Time inside the range of RFC 3339");
        stamp.fmt(f)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
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

impl fmt::Display for Span {
    /// The largest unit that loses nothing; below a second, milliseconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_rfc_3339() {
        let time: Time = "2026-02-21T14:00:00Z".parse().unwrap();
        assert_eq!(time.to_string(), "2026-02-21T14:00:00Z");
        assert_eq!(time.plus(Span::from_millis(5)).to_string(), "2026-02-21T14:00:00.005Z");
        assert_eq!("2026-02-21T15:00:00+01:00".parse::<Time>().unwrap(), time);
        assert!("yesterday".parse::<Time>().is_err());
        assert!("1960-01-01T00:00:00Z".parse::<Time>().is_err());
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
