//! The only place that writes to the terminal. Data goes to stdout, everything else to stderr, and
//! text that agents wrote is shown, never obeyed.

use std::io::{IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
use protocol::time::{Span, Time};

/// Lines of data. A reader that went away is no error.
pub fn line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe means that whoever reads has seen enough.
    let _ = writeln!(stdout, "{}", harmless(text));
}

/// Remarks for people.
pub fn remark(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "{}", harmless(text));
}

/// JSON on one line. What could move a cursor is escaped, which changes no value.
pub fn json(value: &impl serde::Serialize) {
    line(&json_text(value));
}

/// The same for data that is kept: what was not written, as on a full disk, is an error.
pub fn json_to_keep(value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", json_text(value))
}

fn json_text(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).expect("answers are plain data");
    text.chars().map(escaped).collect()
}

fn escaped(character: char) -> String {
    if !protocol::json::is_forbidden(character) {
        return character.to_string();
    }
    let mut units = [0; 2];
    let units = character.encode_utf16(&mut units);
    units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

pub fn is_for_people() -> bool {
    std::io::stderr().is_terminal()
}

/// A table without borders, as wide as the terminal.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)));
    }
    table.trim_fmt()
}

/// Text from others on one line, with what could move a cursor or hide words made visible.
pub fn clean(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}

/// Text as a terminal may have it: lines and tabs, and nothing that is obeyed.
fn harmless(text: &str) -> String {
    let harmless = |character| match character {
        '\n' | '\t' => character,
        '\r' => '\u{fffd}',
        _ if protocol::json::is_forbidden(character) => '\u{fffd}',
        _ => character,
    };
    text.chars().map(harmless).collect()
}

/// `3 min ago`, `in 2 h`: what people want to know of a time.
pub fn relative(time: Time, now: Time) -> String {
    let (span, is_past) =
        if time <= now { (now.since(time), true) } else { (time.since(now), false) };
    let text = rough(span);
    match (text.as_str(), is_past) {
        ("now", _) => text,
        (_, true) => format!("{text} ago"),
        (_, false) => format!("in {text}"),
    }
}

fn rough(span: Span) -> String {
    let seconds = span.as_millis() / 1_000;
    match seconds {
        0 => "now".to_owned(),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_tell_them() {
        let now = Time::from_millis(1_000_000_000);
        let ago = |millis: i64| relative(Time::from_millis(1_000_000_000 - millis), now);
        assert_eq!(ago(0), "now");
        assert_eq!(ago(5_000), "5 s ago");
        assert_eq!(ago(180_000), "3 min ago");
        assert_eq!(ago(7_200_000), "2 h ago");
        assert_eq!(ago(-7_200_000), "in 2 h");
    }

    #[test]
    fn hostile_text_in_json_keeps_its_meaning() {
        let hostile = "a\u{1b}[2J\u{9b}\u{202e}\u{e0041}\n";
        let text = serde_json::to_string(hostile).unwrap();
        let text: String = text.chars().map(escaped).collect();
        assert_eq!(text, r#""a\u001b[2J\u009b\u202e\udb40\udc41\n""#);
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }

    #[test]
    fn hostile_text_cannot_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb c\u{fffd}d");
    }
}
