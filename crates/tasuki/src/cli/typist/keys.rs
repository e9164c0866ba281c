//! Keys become lines. Pure: each byte comes with what was shown when it was typed, and a line keeps
//! what was shown at its first character. A line that was erased to nothing begins anew.

use unicode_segmentation::UnicodeSegmentation;

/// The longest line. Further bytes are ignored, and the whole line is dropped.
pub const LINE_BYTES_MAX: usize = 65_536;

const BACKSPACE: u8 = 0x08;
const DELETE: u8 = 0x7f;
const CTRL_D: u8 = 0x04;
const CTRL_U: u8 = 0x15;
const CTRL_W: u8 = 0x17;
const ESCAPE: u8 = 0x1b;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Keys: some of them edit the line.
    Terminal,
    /// Text: every byte is taken as it is.
    Pipe,
}

/// A line, and what was shown when its first character was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedLine<S> {
    pub text: String,
    pub began: S,
}

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Did<S> {
    Nothing,
    Added(String),
    Removed(String),
    Line(EditedLine<S>),
    /// A line that is longer than [`LINE_BYTES_MAX`].
    TooLong,
    /// Nothing more will be typed.
    End,
}

/// The line that is being typed.
#[derive(Debug)]
pub struct Keys<S> {
    source: Source,
    bytes: Vec<u8>,
    /// Bytes that make whole characters.
    n_whole: usize,
    began: Option<S>,
    escape: Escape,
    is_too_long: bool,
}

/// Inside the escape sequence of a key without a character, such as an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Begun,
    /// Until its last byte.
    Parameters,
}

impl<S: Clone> Keys<S> {
    pub fn new(source: Source) -> Self {
        let escape = Escape::No;
        Self { source, bytes: Vec::new(), n_whole: 0, began: None, escape, is_too_long: false }
    }

    pub fn key(&mut self, byte: u8, seen: &S) -> Did<S> {
        match self.source {
            Source::Pipe if byte == b'\n' => self.enter(seen),
            Source::Pipe => {
                self.add(byte, seen);
                self.n_whole = self.bytes.len();
                Did::Nothing
            }
            Source::Terminal => self.pressed(byte, seen),
        }
    }

    /// The last line of a text may lack its end.
    pub fn end(&mut self, seen: &S) -> Did<S> {
        match self.bytes.is_empty() {
            true => Did::Nothing,
            false => self.enter(seen),
        }
    }

    fn pressed(&mut self, byte: u8, seen: &S) -> Did<S> {
        match (self.escape, byte) {
            (Escape::No, ESCAPE) => self.escape = Escape::Begun,
            (Escape::Begun, b'[' | b'O') => self.escape = Escape::Parameters,
            (Escape::Parameters, 0x20..=0x3f) => {}
            (Escape::Begun | Escape::Parameters, _) => self.escape = Escape::No,
            (Escape::No, b'\n' | b'\r') => return self.enter(seen),
            (Escape::No, CTRL_D) if self.bytes.is_empty() => return Did::End,
            (Escape::No, BACKSPACE | DELETE) => {
                return self.rub_out(before_last_character);
            }
            (Escape::No, CTRL_U) => return self.rub_out(|_| 0),
            (Escape::No, CTRL_W) => return self.rub_out(before_last_word),
            (Escape::No, b'\t') => return self.type_in(b' ', seen),
            (Escape::No, 0x00..=0x1f) => {}
            (Escape::No, _) => return self.type_in(byte, seen),
        }
        Did::Nothing
    }

    fn type_in(&mut self, byte: u8, seen: &S) -> Did<S> {
        self.add(byte, seen);
        match std::str::from_utf8(&self.bytes[self.n_whole..]) {
            Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => {
                let text = text.to_owned();
                self.n_whole = self.bytes.len();
                Did::Added(text)
            }
            Err(error) if error.error_len().is_none() => Did::Nothing,
            Ok(_) | Err(_) => {
                self.keep(self.n_whole);
                Did::Nothing
            }
        }
    }

    fn add(&mut self, byte: u8, seen: &S) {
        if self.bytes.len() >= LINE_BYTES_MAX {
            self.is_too_long = true;
            return;
        }
        if self.bytes.is_empty() {
            self.began = Some(seen.clone());
        }
        self.bytes.push(byte);
    }

    fn rub_out(&mut self, n_bytes_left: impl FnOnce(&str) -> usize) -> Did<S> {
        self.keep(self.n_whole);
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        if text.is_empty() {
            return Did::Nothing;
        }
        let end = n_bytes_left(&text);
        self.keep(end);
        Did::Removed(text[end..].to_owned())
    }

    fn keep(&mut self, n_bytes: usize) {
        self.bytes.truncate(n_bytes);
        self.n_whole = n_bytes;
        if n_bytes == 0 {
            self.began = None;
        }
    }

    fn enter(&mut self, seen: &S) -> Did<S> {
        self.bytes.truncate(self.n_whole);
        let bytes = std::mem::take(&mut self.bytes);
        let began = self.began.take();
        self.n_whole = 0;
        if std::mem::take(&mut self.is_too_long) {
            return Did::TooLong;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\r').unwrap_or(&text).to_owned();
        Did::Line(EditedLine { text, began: began.unwrap_or_else(|| seen.clone()) })
    }
}

/// Where the last character begins, as people see it: an emoji of several parts is one, and so is a
/// letter with its accents.
fn before_last_character(text: &str) -> usize {
    text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
}

/// Where the last word begins.
fn before_last_word(text: &str) -> usize {
    let without_end = text.trim_end();
    let space = without_end.char_indices().rfind(|(_, letter)| letter.is_whitespace());
    space.map_or(0, |(at, letter)| at + letter.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types a script: `@` shows the next thing, everything else is a key.
    fn lines(source: Source, script: &[u8]) -> Vec<(String, u32)> {
        let (mut keys, mut shown) = (Keys::new(source), 0);
        let mut lines = Vec::new();
        for byte in script {
            if *byte == b'@' {
                shown += 1;
            } else if let Did::Line(line) = keys.key(*byte, &shown) {
                lines.push((line.text, line.began));
            }
        }
        lines
    }

    #[test]
    fn a_line_belongs_to_what_was_shown_when_it_began() {
        /// What is typed, and the lines with what was shown.
        type Case<'a> = (&'a [u8], &'a [(&'a str, u32)]);
        let cases: [Case<'_>; 16] = [
            (b"accept\n", &[("accept", 0)]),
            (b"@accept\n", &[("accept", 1)]),
            (b"@acc@ept@\n", &[("accept", 1)]),
            (b"a@\x7fb\n", &[("b", 1)]),
            (b"abc@\x15b\n", &[("b", 1)]),
            (b"one two@\x17x\n", &[("one x", 0)]),
            (b"two@\x17x\n", &[("x", 1)]),
            (b"@\n", &[("", 1)]),
            (b"a\n@b\n", &[("a", 0), ("b", 1)]),
            (b"@\x1b[A\x1b[3~\x1bOPa\n", &[("a", 1)]),
            (b"\x1b[A@a\n", &[("a", 1)]),
            ("ü@é\x7f\n".as_bytes(), &[("ü", 0)]),
            ("F👨\u{200d}👩\u{200d}👧\x7f.\n".as_bytes(), &[("F.", 0)]),
            ("cafe\u{301}\x7f.\n".as_bytes(), &[("caf.", 0)]),
            ("🇯🇵1\u{fe0f}\u{20e3}\x7f\n".as_bytes(), &[("🇯🇵", 0)]),
            ("a 🇯🇵\x17b\n".as_bytes(), &[("a b", 0)]),
        ];
        for (script, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(it, at)| ((*it).to_owned(), *at)).collect();
            assert_eq!(lines(Source::Terminal, script), expected, "{script:?}");
        }
        assert_eq!(lines(Source::Pipe, b"a\x7fb@\r\n"), [("a\x7fb".to_owned(), 0)]);
    }

    #[test]
    fn what_cannot_be_text_is_no_text() {
        let mut keys = Keys::new(Source::Terminal);
        assert_eq!(keys.key(0xc3, &1), Did::Nothing, "the first half of a character");
        assert_eq!(keys.key(b'a', &2), Did::Nothing, "which has no second half");
        assert_eq!(keys.key(b'b', &3), Did::Added("b".to_owned()));
        let line = EditedLine { text: "b".to_owned(), began: 3 };
        assert_eq!(keys.key(b'\n', &4), Did::Line(line));
        assert_eq!(keys.key(CTRL_D, &4), Did::End);
        for _ in 0..=LINE_BYTES_MAX {
            keys.key(b'x', &5);
        }
        assert_eq!(keys.key(b'\n', &6), Did::TooLong);
        let line = EditedLine { text: String::new(), began: 6 };
        assert_eq!(keys.key(b'\n', &6), Did::Line(line));
    }
}
