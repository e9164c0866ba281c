//! A time as events write it: RFC 3339 in UTC, always with three fractional digits. No other number
//! of digits is allowed there.

use base::time::Time;

pub fn stamp(at: Time) -> String {
    at.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_always_three_digits() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (500, "1970-01-01T00:00:00.500Z"),
            (1_020, "1970-01-01T00:00:01.020Z"),
            (1_999, "1970-01-01T00:00:01.999Z"),
        ] {
            assert_eq!(stamp(Time::from_millis(millis)), expected);
        }
    }
}
