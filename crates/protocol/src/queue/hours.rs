//! Opening hours: a weekly table at a fixed offset from UTC. For summer time, an operator changes
//! the offset twice a year. That is one number instead of a time zone database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;
use crate::problem::Problem;
use crate::time::Time;

/// No place is further from UTC.
const OFFSET_MINUTES_MAX: i32 = 14 * 60;

/// Shifts within one day: two breaks are usual.
pub const DAY_SHIFTS_MAX: usize = 8;

const TIME_OF_DAY: &str = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$";
const TIME_OF_DAY_EXPECTED: &str = "a time of the day from 00:00 to 24:00";

const DAY_MINUTES: i64 = 24 * 60;
const WEEK_MINUTES: i64 = 7 * DAY_MINUTES;
const MINUTE_MS: i64 = 60_000;

/// 1970-01-01 was a Thursday; weeks begin on Monday here.
const EPOCH_WEEK_MINUTES: i64 = 3 * DAY_MINUTES;

/// A weekly table. Times that are not listed are closed; a week without any is always closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpeningHours {
    /// Offset of the local time in minutes: 60 is one hour east of UTC.
    #[serde(default)]
    #[schemars(transform = form::range(-OFFSET_MINUTES_MAX, OFFSET_MINUTES_MAX))]
    pub utc_offset_minutes: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub monday: Vec<Shift>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub tuesday: Vec<Shift>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub wednesday: Vec<Shift>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub thursday: Vec<Shift>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub friday: Vec<Shift>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub saturday: Vec<Shift>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, DAY_SHIFTS_MAX))]
    pub sunday: Vec<Shift>,
}

/// From one time of a day to a later one, such as `09:00` and `17:30`. A day ends at `24:00`; a
/// shift past midnight is written as two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    #[schemars(transform = form::pattern(TIME_OF_DAY, TIME_OF_DAY_EXPECTED))]
    pub from: String,
    #[schemars(transform = form::pattern(TIME_OF_DAY, TIME_OF_DAY_EXPECTED))]
    pub to: String,
}

impl OpeningHours {
    pub fn is_open(&self, now: Time) -> bool {
        let minute = self.minute_of_week(now);
        self.shifts().any(|(from, to)| (from..to).contains(&minute))
    }

    /// The start of the next shift; now, if a shift is running. `None` for a week that is never
    /// open.
    pub fn next_opening(&self, now: Time) -> Option<Time> {
        if self.is_open(now) {
            return Some(now);
        }
        let minute = self.minute_of_week(now);
        let until = |(from, _): (i64, i64)| (from - minute).rem_euclid(WEEK_MINUTES);
        let minutes = self.shifts().map(until).min()?;
        let this_minute = now.as_millis().div_euclid(MINUTE_MS);
        Some(Time::from_millis((this_minute + minutes) * MINUTE_MS))
    }

    /// When it closes next. `None` when it is closed, and for a week that never closes.
    pub fn closes_at(&self, now: Time) -> Option<Time> {
        let start = self.minute_of_week(now);
        let mut end = start;
        // Shifts that touch or overlap count as one; each extends the end at most once.
        while let Some((_, to)) = self.shifts().find(|(from, to)| {
            let at = end.rem_euclid(WEEK_MINUTES);
            (*from..*to).contains(&at)
        }) {
            end += to - end.rem_euclid(WEEK_MINUTES);
            if end - start >= WEEK_MINUTES {
                return None;
            }
        }
        let this_minute = now.as_millis().div_euclid(MINUTE_MS);
        (end > start).then(|| Time::from_millis((this_minute + end - start) * MINUTE_MS))
    }

    /// All problems.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut wrong =
            |field: String, expected: String| problems.push(Problem { field, expected });
        if !(-OFFSET_MINUTES_MAX..=OFFSET_MINUTES_MAX).contains(&self.utc_offset_minutes) {
            let expected = format!("a number from -{OFFSET_MINUTES_MAX} to {OFFSET_MINUTES_MAX}");
            wrong("utc_offset_minutes".to_owned(), expected);
        }
        for (name, shifts) in self.days() {
            if shifts.len() > DAY_SHIFTS_MAX {
                wrong(name.to_owned(), format!("at most {DAY_SHIFTS_MAX}"));
            }
            for (index, shift) in shifts.iter().enumerate() {
                let (from, to) = (minute_of_day(&shift.from), minute_of_day(&shift.to));
                let ends = [("from", from), ("to", to)];
                for (end, _) in ends.into_iter().filter(|(_, minute)| minute.is_none()) {
                    let expected = TIME_OF_DAY_EXPECTED.to_owned();
                    wrong(format!("{name}[{index}].{end}"), expected);
                }
                if let (Some(from), Some(to)) = (from, to)
                    && from >= to
                {
                    let expected = "later than `from`; a night is two shifts".to_owned();
                    wrong(format!("{name}[{index}].to"), expected);
                }
                let overlaps = |other: &Shift| {
                    let (other_from, other_to) =
                        (minute_of_day(&other.from), minute_of_day(&other.to));
                    from < other_to && other_from < to && from < to && other_from < other_to
                };
                if let Some(other) = shifts[..index].iter().find(|other| overlaps(other)) {
                    let Shift { from, to } = other;
                    let expected = format!("a shift that does not overlap {from} to {to}");
                    wrong(format!("{name}[{index}]"), expected);
                }
            }
        }
        problems
    }

    fn days(&self) -> [(&'static str, &[Shift]); 7] {
        [
            ("monday", &self.monday),
            ("tuesday", &self.tuesday),
            ("wednesday", &self.wednesday),
            ("thursday", &self.thursday),
            ("friday", &self.friday),
            ("saturday", &self.saturday),
            ("sunday", &self.sunday),
        ]
    }

    /// Shifts in minutes since Monday 00:00, from and to. An invalid shift counts as closed.
    fn shifts(&self) -> impl Iterator<Item = (i64, i64)> {
        (0..).zip(self.days()).flat_map(|(day, (_, shifts))| {
            shifts.iter().filter_map(move |shift| {
                let (from, to) = (minute_of_day(&shift.from)?, minute_of_day(&shift.to)?);
                let midnight = day * DAY_MINUTES;
                (from < to).then_some((midnight + from, midnight + to))
            })
        })
    }

    fn minute_of_week(&self, now: Time) -> i64 {
        let utc = now.as_millis().div_euclid(MINUTE_MS);
        let local = utc + i64::from(self.utc_offset_minutes);
        (local + EPOCH_WEEK_MINUTES).rem_euclid(WEEK_MINUTES)
    }
}

fn minute_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let is_plain = [hours, minutes]
        .iter()
        .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()));
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    let minute = hours * 60 + minutes;
    (is_plain && minutes < 60 && minute <= DAY_MINUTES).then_some(minute)
}
