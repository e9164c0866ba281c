//! What `tasuki handoff show` tells of the reports of an owner, and of an open recall.

use protocol::time::Time;
use serde_json::Value;

use super::package_story::line;
use crate::output::{self, clean};

/// The newest report, and each step of the plan.
pub fn progress(progress: &Value, now: Time) -> Vec<String> {
    if !progress.is_object() {
        return Vec::new();
    }
    let at = progress["at"].as_str().and_then(|at| at.parse::<Time>().ok());
    let when = at.map_or_else(|| "–".to_owned(), |at| output::relative(at, now));
    let mut lines = vec![line("progress", &format!("{} ({when})", reported(progress)))];
    for step in progress["steps"].as_array().into_iter().flatten() {
        let mark = if step["done"] == true { "done" } else { "to do" };
        let text = clean(step["text"].as_str().unwrap_or_default());
        lines.push(line("step", &format!("{text} [{mark}]")));
    }
    lines
}

/// A report in one line: `40 %, 2 of 5 steps: “half of it”; blocked by “the key”`.
pub fn reported(report: &Value) -> String {
    let percent = report["percent"].as_u64().map(|percent| format!("{percent} %"));
    let steps = report["steps"].as_array().filter(|steps| !steps.is_empty()).map(|steps| {
        let n_done = steps.iter().filter(|step| step["done"] == true).count();
        format!("{n_done} of {} steps", steps.len())
    });
    let text = |name: &str| report[name].as_str().map(|text| format!("“{}”", clean(text)));
    let numbers = [percent, steps].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let said = match (numbers.as_str(), text("note")) {
        ("", note) => note.unwrap_or_default(),
        (numbers, Some(note)) => format!("{numbers}: {note}"),
        (numbers, None) => numbers.to_owned(),
    };
    match (said.as_str(), text("blocked_by")) {
        ("", Some(blocked_by)) => format!("blocked by {blocked_by}"),
        (said, Some(blocked_by)) => format!("{said}; blocked by {blocked_by}"),
        (said, None) => said.to_owned(),
    }
}

/// An open recall, and when it escalates.
pub fn recall(recall: &Value, now: Time) -> Option<String> {
    let reason = clean(recall["reason"].as_str()?);
    let until = recall["until"].as_str().and_then(|at| at.parse::<Time>().ok());
    let until = until.map_or_else(|| "–".to_owned(), |until| output::relative(until, now));
    let then = match recall["escalated"] == true {
        true => format!("a coordinator was told {until}"),
        false => format!("a coordinator decides {until}"),
    };
    Some(line("recalled", &format!("“{reason}”; {then}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_one_line() {
        let steps = json!([{ "text": "read", "done": true }, { "text": "mend", "done": false }]);
        let cases = [
            (json!({ "percent": 40 }), "40 %"),
            (json!({ "percent": 40, "note": "half" }), "40 %: “half”"),
            (json!({ "steps": steps, "blocked_by": "a key" }), "1 of 2 steps; blocked by “a key”"),
            (json!({ "note": "half", "steps": [] }), "“half”"),
            (json!({ "blocked_by": "a key" }), "blocked by “a key”"),
        ];
        for (report, expected) in cases {
            assert_eq!(reported(&report), expected, "{report}");
        }
    }
}
