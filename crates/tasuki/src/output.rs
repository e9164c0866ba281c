//! The only place that writes to the terminal. Data goes to stdout, everything else to stderr.
//! Control sequences in agents' texts are shown, never executed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use comfy_table::{ContentArrangement, Table, presets};
use protocol::hidden::hidden;
use protocol::time::{Span, Time};
use unicode_width::UnicodeWidthStr;

/// Characters that end a part of a text with its own writing direction.
const EMBEDDING_END: char = '\u{202c}';
const ISOLATE_END: char = '\u{2069}';

/// Why lines of data were lost, if they were.
static LOST: OnceLock<std::io::Error> = OnceLock::new();

/// Whether the reader of the data closed the pipe before its end.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// The part of a line that has been typed so far, as shown on the terminal. Output meanwhile begins
/// on a line of its own, and the typed part is shown again below it.
static TYPED: Mutex<String> = Mutex::new(String::new());

/// What a key did to the line that is being typed.
#[derive(Debug, Clone, Copy)]
pub enum Echo<'a> {
    Added(&'a str),
    Removed(&'a str),
    Entered,
}

/// Shows typed text, where the terminal does not echo it itself.
pub fn echo(echo: Echo<'_>) {
    let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    match echo {
        Echo::Added(text) => {
            typed.push_str(text);
            to_terminal(&as_typed(text));
        }
        Echo::Removed(text) => {
            let n_left = typed.len().saturating_sub(text.len());
            typed.truncate(n_left);
            to_terminal(&"\u{8} \u{8}".repeat(as_typed(text).width()));
        }
        Echo::Entered => {
            typed.clear();
            to_terminal("\n");
        }
    }
}

/// What a person typed, key by key. A joiner comes before what it joins, and cannot be judged yet.
/// It is shown as it is, and so is a mark of the direction: the person knows that they typed it.
fn as_typed(text: &str) -> String {
    let is_direction = |it: char| matches!(it, '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}');
    let is_mark =
        |it: char| matches!(it, '\u{61c}' | '\u{200c}'..='\u{200f}' | '\u{fe0e}' | '\u{fe0f}');
    match text.chars().all(|it| is_direction(it) || is_mark(it)) {
        // Pairs that give the text between them a direction are left out where text is shown.
        true => text.replace(is_direction, ""),
        false => harmless(text),
    }
}

fn to_terminal(text: &str) {
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let out: &mut dyn Write = if stdout.is_terminal() {
        &mut stdout
    } else if stderr.is_terminal() {
        &mut stderr
    } else {
        return;
    };
    // A terminal that is gone shows nothing.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Held during output, which never runs into the text that is being typed.
struct Telling(MutexGuard<'static, String>);

impl Telling {
    fn begin() -> Self {
        let typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
        if !typed.is_empty() {
            to_terminal("\n");
        }
        Self(typed)
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            to_terminal(&harmless(&self.0));
        }
    }
}

/// A line of data. Failures to write are reported by [`lost`] at the end.
pub fn line(text: &str) {
    lines(&[text], || {});
}

/// Lines that belong together: no other output comes between them. `is_shown` is called when all
/// but the last of them are visible.
pub fn lines(all: &[impl AsRef<str>], is_shown: impl FnOnce()) {
    let _telling = Telling::begin();
    let Some((last, others)) = all.split_last() else { return is_shown() };
    others.iter().for_each(|line| write_line(line.as_ref()));
    is_shown();
    write_line(last.as_ref());
}

fn write_line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{}", harmless(text)) {
        Ok(()) => {}
        // The reader closed the pipe.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            CUT_OFF.store(true, Ordering::Relaxed);
        }
        Err(error) => {
            // The first failure is enough.
            let _ = LOST.set(error);
        }
    }
}

/// Why not all data was written. A reader that closed the pipe does not count.
pub fn lost() -> Option<&'static std::io::Error> {
    LOST.get()
}

/// Whether everything that was printed so far reached its reader.
pub fn is_complete() -> bool {
    LOST.get().is_none() && !CUT_OFF.load(Ordering::Relaxed)
}

/// Remarks for people.
pub fn remark(text: &str) {
    let _telling = Telling::begin();
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "{}", harmless(text));
}

/// JSON on one line. Characters that could move a cursor are escaped, which changes no value.
pub fn json(value: &impl serde::Serialize) {
    line(&json_text(value));
}

/// The same for data that must be kept: a failed write, as on a full disk, is an error.
pub fn json_to_keep(value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", json_text(value))
}

/// What [`json`] writes.
pub fn json_text(value: &impl serde::Serialize) -> String {
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
        // An empty cell is not read aloud, and the next one would be taken for it.
        let filled = |cell: &String| if cell.is_empty() { "–".to_owned() } else { clean(cell) };
        table.add_row(row.iter().map(filled));
    }
    table.trim_fmt()
}

/// A table of what was found; an empty one says so.
pub fn list(header: &[&str], rows: Vec<Vec<String>>) {
    let is_empty = rows.is_empty();
    line(&table(header, rows));
    if is_empty {
        remark("there are none");
    }
}

/// Text from others on one line. Characters that could move a cursor or hide words are made
/// visible.
pub fn clean(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}

/// Text that is safe for a terminal: lines and tabs, and no control characters.
fn harmless(text: &str) -> String {
    let harmless = |(character, is_hidden)| match character {
        '\n' | '\t' => character,
        '\r' => '\u{fffd}',
        _ if is_hidden => '\u{fffd}',
        _ => character,
    };
    let text = without_pairs(text);
    text.chars().zip(hidden(&text)).map(harmless).collect()
}

/// Text without the pairs of characters that give the text between them its own direction. Our own
/// announcements have them around names, and keyboards for right-to-left text put them around
/// pasted text. Removing them hides nothing and turns nothing around outside of them. An unpaired
/// one stays, and is shown.
fn without_pairs(text: &str) -> Cow<'_, str> {
    let is_one =
        |character: char| matches!(character, '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}');
    if !text.contains(is_one) {
        return Cow::Borrowed(text);
    }
    let (mut open, mut pairs) = (Vec::new(), HashSet::new());
    for (at, character) in text.char_indices() {
        let begins = match character {
            '\u{202a}' | '\u{202b}' | '\u{2066}'..='\u{2068}' => {
                open.push((at, character));
                continue;
            }
            EMBEDDING_END => '\u{202a}'..='\u{202b}',
            ISOLATE_END => '\u{2066}'..='\u{2068}',
            // No direction extends beyond the end of a paragraph.
            '\n' => {
                open.clear();
                continue;
            }
            _ => continue,
        };
        if let Some((start, first)) = open.pop()
            && begins.contains(&first)
        {
            pairs.extend([start, at]);
        }
    }
    let kept = text.char_indices().filter(|(at, _)| !pairs.contains(at));
    Cow::Owned(kept.map(|(_, character)| character).collect())
}

/// `3 min ago`, `in 2 h`: a time in the form for people.
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

/// How long something lasted, in the largest unit, rounded down.
pub fn lasted(span: Span) -> String {
    match span.as_millis() / 1_000 {
        0 => "0 s".to_owned(),
        _ => rough(span),
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
    use protocol::narrator::texts::Message;

    use super::*;

    /// Each key comes alone, and the whole line is judged when it is shown again.
    #[test]
    fn typed_text_is_shown_as_it_is_typed() {
        for (typed, expected) in [
            ("\u{1f469}\u{200d}\u{1f4bb}", "\u{1f469}\u{200d}\u{1f4bb}"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("\u{200f}سلام\u{200f}", "\u{200f}سلام\u{200f}"),
            ("\u{2067}سلام\u{2069} \u{202b}سلام\u{202c}", "سلام سلام"),
            ("pay\u{202e}me", "pay\u{fffd}me"),
        ] {
            let keys = typed.chars().map(|key| as_typed(&key.to_string()));
            assert_eq!(keys.collect::<String>(), expected);
            assert_eq!(harmless(typed), expected);
        }
    }

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
        assert_eq!(clean("Pay 5\u{200b}00 to pay\u{200d}pal"), "Pay 5\u{fffd}00 to pay\u{fffd}pal");
        assert_eq!(clean("👩\u{200d}💻 می\u{200c}خواهم"), "👩\u{200d}💻 می\u{200c}خواهم");
    }

    #[test]
    fn names_that_keep_their_direction_are_shown_as_names() {
        let handed = Message::RouteChanged { from: "teller", to: "dana" };
        assert!(!clean(&handed.in_language("en").normal).contains('\u{fffd}'));
        let cases = [
            ("to \u{2068}dana\u{2069}.", "to dana."),
            ("\u{2068}a \u{2068}b\u{2069}\u{2069}", "a b"),
            ("\u{2068}dana", "\u{fffd}dana"),
            ("dana\u{2069}", "dana\u{fffd}"),
            ("\u{2069}dana\u{2068}", "\u{fffd}dana\u{fffd}"),
            ("\u{2068}dana\nomar\u{2069}", "\u{fffd}dana omar\u{fffd}"),
            ("\u{2067}\u{2068}dana\u{2069}\u{2069}", "dana"),
            ("\u{202b}שלום\u{202c}", "שלום"),
            ("\u{202b}שלום\u{2069}", "\u{fffd}שלום\u{fffd}"),
            ("\u{202e}dana\u{202c}", "\u{fffd}dana\u{fffd}"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            ),
            ("\u{2068}\u{202e}dana\u{2069}", "\u{fffd}dana"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }
}
