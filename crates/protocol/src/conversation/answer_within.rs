//! The time that a bot has to answer a customer: what a limit may be, and the default.

use crate::time::Span;

/// Customers of a chat leave after about a minute without any sign.
pub const ANSWER_WITHIN_DEFAULT: Span = Span::from_millis(60_000);

/// Turns the limit off. Then only a failed delivery takes the conversation from a silent bot.
pub const ANSWER_WITHIN_OFF: Span = Span::from_millis(0);

/// The deadlines are looked at once a second.
pub const ANSWER_WITHIN_MIN: Span = Span::from_millis(1_000);

/// A bot that answers a day later writes letters.
pub const ANSWER_WITHIN_MAX: Span = Span::from_hours(24);

/// Whether a limit is off or within its bounds.
pub fn is_allowed(limit: Span) -> bool {
    limit == ANSWER_WITHIN_OFF || (ANSWER_WITHIN_MIN..=ANSWER_WITHIN_MAX).contains(&limit)
}

/// What a limit must be.
pub fn limit_expected() -> String {
    format!("0s for no limit, or a span from {ANSWER_WITHIN_MIN} to {ANSWER_WITHIN_MAX}")
}
