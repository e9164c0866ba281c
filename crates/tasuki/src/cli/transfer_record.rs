//! What happened to a transfer, in the lines of `tasuki transfer show`.

use protocol::time::{Span, Time};
use serde_json::Value;

use crate::cli::transfer_view::text;
use crate::output::{self, clean};

/// The lines of a record that say something; none for a caller who sees no record.
pub fn tell(record: &Value, now: Time) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |name: &str, told: String| lines.push(format!("  {name:<14}{told}"));
    let served_by = record["served_by"].as_array().into_iter().flatten();
    let served_by: Vec<String> = served_by.filter_map(Value::as_str).map(clean).collect();
    if served_by.is_empty() && record["settled"].is_null() {
        return Vec::new();
    }
    let in_time = match record["answered_in_time"].as_bool() {
        Some(true) => ", answered in time",
        Some(false) => ", answered late",
        None => ", not answered",
    };
    add("waited", format!("{} in all{in_time}", span(record, "waited")));
    if !served_by.is_empty() {
        add("served by", served_by.join(", "));
        let held = match record["held"].as_str() {
            None | Some("0ms") => String::new(),
            Some(_) => format!(", on hold for {} in all", span(record, "held")),
        };
        add("with people", format!("{} in all{held}", span(record, "handled")));
    }
    if let Some(missed) = record["missed"].as_u64().filter(|missed| *missed > 0) {
        add("rings", format!("{}, not answered {missed}", record["rings"]));
    }
    let settled = &record["settled"];
    if let Some(at) = settled["at"].as_str().and_then(|at| at.parse::<Time>().ok()) {
        let (outcome, by) = (text(settled, "outcome"), text(settled, "by"));
        let how = settled["disposition"].as_str().map(|code| format!(" ({})", clean(code)));
        let (how, when) = (how.unwrap_or_default(), output::relative(at, now));
        add("over", format!("{}{how} by {}, {when}", clean(&outcome), clean(&by)));
    }
    if let Some(rating) = record["rating"].as_u64() {
        add("rating", format!("{rating} of 5"));
    }
    lines
}

fn span(record: &Value, name: &str) -> String {
    output::lasted(text(record, name).parse().unwrap_or(Span::from_millis(0)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_told_once_there_is_something_to_tell() {
        let now = "2026-01-01T00:10:00.000Z".parse::<Time>().unwrap();
        let waiting = json!({ "waited": "5s", "served_by": [], "rings": 1 });
        assert!(tell(&waiting, now).is_empty());
        assert!(tell(&Value::Null, now).is_empty());
        let over = json!({
            "waited": "65s", "answered_in_time": false, "served_by": ["hana", "ivan"],
            "handled": "5m", "held": "1500ms", "rings": 3, "missed": 1, "rating": 4,
            "settled": { "at": "2026-01-01T00:09:00Z", "outcome": "completed",
                         "disposition": "refunded", "by": "agent:ivan" },
        });
        let expected = [
            "  waited        1 min in all, answered late",
            "  served by     hana, ivan",
            "  with people   5 min in all, on hold for 1 s in all",
            "  rings         3, not answered 1",
            "  over          completed (refunded) by agent:ivan, 1 min ago",
            "  rating        4 of 5",
        ];
        assert_eq!(tell(&over, now), expected);
    }
}
