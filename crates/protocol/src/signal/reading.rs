//! A text as its reader sees it: without markup, without characters that show nothing, and without
//! what it quotes. Promises are looked for in it, so that no way of writing hides them.

use base::lookalike::{plain, seen};

use crate::hidden::shows_nothing;
use crate::route::words::fold;

/// Which letters are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    AsWritten,
    /// Those that look alike are one letter, and there are no accents.
    AsSeen,
}

/// A quote of fewer words is an emphasis, as in: I am "transferring you".
const QUOTED_WORDS_MIN: usize = 3;

/// The longest tag that is taken for markup, in bytes.
const TAG_BYTES_MAX: usize = 200;

/// Tags that begin a new line.
const BLOCKS: [&str; 8] = ["br", "p", "div", "li", "ul", "ol", "tr", "td"];

/// The signs around a quote.
const QUOTES: [(char, &[char]); 6] = [
    ('"', &['"']),
    ('\u{201c}', &['\u{201d}']),
    ('\u{201e}', &['\u{201c}', '\u{201d}']),
    ('«', &['»']),
    ('「', &['」']),
    ('『', &['』']),
];

impl Letters {
    /// A text in the form in which words are compared.
    pub fn folded(self, text: &str) -> String {
        match self {
            Letters::AsWritten => fold(text),
            Letters::AsSeen => fold(&seen(text)),
        }
    }
}

/// The ways to read a text, in the form in which words are compared.
pub fn readings(text: &str) -> Vec<(Letters, String)> {
    let text = without_markup(text);
    let gaps: &[&str] = if text.contains(is_gap) { &["", " "] } else { &[""] };
    let mut all = Vec::new();
    for gap in gaps {
        let shown = without_quotes(&shown(&text, gap));
        let unbroken = shown.replace("...", " ").replace("..", " ").replace('…', " ");
        let is_broken = unbroken != shown;
        for text in [Some(shown), Some(unbroken).filter(|_| is_broken)].into_iter().flatten() {
            for letters in [Letters::AsWritten, Letters::AsSeen] {
                all.push((letters, letters.folded(&text)));
            }
        }
    }
    all
}

/// Characters that show nothing but may take the room of a space.
fn is_gap(character: char) -> bool {
    matches!(character, '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// The characters that are seen, in one form each.
fn shown(text: &str, gap: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            it if is_gap(it) => kept.push_str(gap),
            it if it.is_whitespace() => kept.push(' '),
            it if shows_nothing(it) => {}
            it => kept.push(it),
        }
    }
    // An ellipsis is a sign of its own.
    kept.split('…').map(plain).collect::<Vec<String>>().join("…")
}

/// Without signs of emphasis, tags, and the addresses of links.
fn without_markup(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        rest = match character {
            '*' | '~' | '`' => after,
            '_' => {
                let joins = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
                if joins(plain.chars().next_back()) && joins(after.chars().next()) {
                    plain.push('_');
                }
                after
            }
            '<' => match tag(after) {
                Some((name, after)) => {
                    if BLOCKS.contains(&name.to_ascii_lowercase().as_str()) {
                        plain.push(' ');
                    }
                    after
                }
                None => {
                    plain.push('<');
                    after
                }
            },
            '[' if after.contains("](") => after,
            ']' if after.starts_with('(') => after.split_once(')').map_or(after, |(_, it)| it),
            other => {
                plain.push(other);
                after
            }
        };
    }
    plain
}

/// The name of a tag, from behind its `<`, and what follows it.
fn tag(text: &str) -> Option<(&str, &str)> {
    let near = &text[..text.floor_char_boundary(TAG_BYTES_MAX)];
    let end = near.find('>')?;
    let inside = text[..end].trim_start_matches('/');
    let name = inside.split(|it: char| !it.is_ascii_alphanumeric()).next()?;
    let is_tag = name.starts_with(|it: char| it.is_ascii_alphabetic()) && !inside.contains('<');
    is_tag.then(|| (name, &text[end + 1..]))
}

/// Words of others promise nothing. A text that is nothing but a quote is said by its author.
fn without_quotes(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        let closing = QUOTES.iter().find(|(opening, _)| *opening == character);
        let quote = closing.and_then(|(_, closing)| {
            let end = after.find(*closing)?;
            let sign = after[end..].chars().next()?;
            Some((&after[..end], &after[end + sign.len_utf8()..]))
        });
        rest = match quote {
            Some((inside, after)) => {
                let is_long = inside.split_whitespace().count() >= QUOTED_WORDS_MIN;
                // Japanese has no spaces between words.
                let is_quoted = is_long || matches!(character, '「' | '『');
                said.push_str(if is_quoted { " " } else { inside });
                after
            }
            None => {
                said.push(character);
                after
            }
        };
    }
    if said.contains(char::is_alphanumeric) { said } else { text.replace('"', "") }
}
