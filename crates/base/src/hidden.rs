//! Invisible characters: with them a person reads one text and a program another, which is how
//! prompts are hidden from people. Those that languages and emoji need do not count as hidden:
//! joiners between letters, direction marks in right-to-left text, and the sequences that make one
//! emoji. All others are reported, shown as a mark in a terminal, and escaped for programs.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Map, Value};

use crate::json::is_forbidden;

const JOINER: char = '\u{200D}';
const NON_JOINER: char = '\u{200C}';

/// Tags after it turn it into another flag.
const BLACK_FLAG: char = '\u{1F3F4}';
const TAGS_END: char = '\u{E007F}';

/// The flags that are spelled with tags: England, Scotland, Wales. Tags that spell anything else
/// are a hidden message, however short.
const TAGGED_FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// A tag is its ASCII character plus this offset.
const TAGS: u32 = 0xE0000;

/// The first hidden character of a text.
pub fn first_hidden(text: &str) -> Option<char> {
    all_hidden(text).next()
}

/// Every hidden character of a text.
pub fn all_hidden(text: &str) -> impl Iterator<Item = char> {
    let marks = if is_plain(text) { Vec::new() } else { hidden(text) };
    marks.into_iter().zip(text.chars()).filter_map(|(is_hidden, it)| is_hidden.then_some(it))
}

/// For each character of a text, whether it is hidden.
pub fn hidden(text: &str) -> Vec<bool> {
    if is_plain(text) {
        return vec![false; text.chars().count()];
    }
    let characters: Vec<char> = text.chars().collect();
    let is_leftward = characters.iter().any(|character| runs_leftward(*character));
    let places = 0..characters.len();
    let mut hidden: Vec<bool> = places.map(|at| is_hidden(&characters, at, is_leftward)).collect();
    let mut at = 0;
    while at < characters.len() {
        let n_characters = emoji(&characters[at..]);
        hidden[at..at + n_characters].fill(false);
        at += n_characters.max(1);
    }
    hidden
}

/// The text with its hidden characters escaped, as in `\u{202E}`, so that a program reads what a
/// person would see.
pub fn visible(text: &str) -> Cow<'_, str> {
    if first_hidden(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (character, is_hidden) in text.chars().zip(hidden(text)) {
        match is_hidden {
            true => {
                let _ = write!(shown, "\\u{{{:04X}}}", u32::from(character));
            }
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// The same for every text of a document.
pub fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = visible(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Object(members) => make_members_visible(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The same for the members of an object, and their names.
pub fn make_members_visible(members: &mut Map<String, Value>) {
    members.values_mut().for_each(make_visible);
    if members.keys().any(|name| first_hidden(name).is_some()) {
        let shown = std::mem::take(members).into_iter();
        *members = shown.map(|(name, value)| (visible(&name).into_owned(), value)).collect();
    }
}

/// Whether a text has nothing that a reader could see: white space, and characters that show
/// nothing, however often.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || shows_nothing(character))
}

/// Whether a character shows nothing, or no more than a space. Its neighbours may need it.
pub fn shows_nothing(character: char) -> bool {
    is_blank_character(character) || is_format(character)
}

/// True of nearly all text, which then needs no closer look.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    text.bytes().all(is_plain) || !text.chars().any(is_suspect)
}

/// Whether a character is hidden, unless its neighbours need it.
fn is_suspect(character: char) -> bool {
    // Private use: most fonts show nothing, or the same box for all.
    let is_private = matches!(
        character,
        '\u{E000}'..='\u{F8FF}' | '\u{FDD0}'..='\u{FDEF}' | '\u{F0000}'..='\u{10FFFF}'
    ) || u32::from(character) & 0xFFFE == 0xFFFE;
    // A lone carriage return overwrites its line in a terminal.
    shows_nothing(character) || is_private || character == '\r' || is_forbidden(character)
}

fn is_blank_character(character: char) -> bool {
    matches!(
        character,
        // Fillers, which show nothing or a space.
        '\u{00AD}' | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{2800}' | '\u{2D7F}' | '\u{3164}' | '\u{FFA0}' | '\u{16FE4}' | '\u{1D159}'
            // Variation selectors.
            | '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}'
    )
}

fn is_format(character: char) -> bool {
    matches!(
        character,
        '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{13430}'..='\u{1345F}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
    )
}

fn is_hidden(characters: &[char], at: usize, is_leftward: bool) -> bool {
    let character = characters[at];
    let before = at.checked_sub(1).and_then(|before| characters.get(before)).copied();
    let after = characters.get(at + 1).copied();
    match character {
        // Many scripts need a single one between letters.
        JOINER | NON_JOINER => {
            let is_letter = |it: char| !it.is_ascii() && !it.is_whitespace() && !is_picture(it);
            let is_shaped = |it: char| is_letter(it) && !is_suspect(it);
            !(before.is_some_and(is_shaped) && after.is_none_or(is_shaped))
        }
        '\u{061C}' | '\u{200E}' | '\u{200F}' => {
            let is_alone = [before, after].into_iter().flatten().all(|it| !is_suspect(it));
            !(is_leftward && is_alone)
        }
        // A space between braille letters.
        '\u{2800}' => {
            let is_braille = |it: char| matches!(it, '\u{2801}'..='\u{28FF}');
            ![before, after].into_iter().flatten().any(is_braille)
        }
        '\r' => after != Some('\n'),
        '\u{2D7F}' => {
            let is_tifinagh = |it: char| matches!(it, '\u{2D30}'..='\u{2D6F}');
            !(before.is_some_and(is_tifinagh) && after.is_some_and(is_tifinagh))
        }
        other => is_suspect(other),
    }
}

/// Whether a letter belongs to a right-to-left script.
fn runs_leftward(character: char) -> bool {
    matches!(
        character,
        '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}'
            | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}'
    ) && !is_suspect(character)
}

/// How many characters make up the emoji at the start; 0 if there is none.
fn emoji(characters: &[char]) -> usize {
    let mut n_characters = picture(characters);
    if n_characters == 0 {
        return 0;
    }
    while characters.get(n_characters) == Some(&JOINER) {
        match picture(&characters[n_characters + 1..]) {
            0 => break,
            more => n_characters += 1 + more,
        }
    }
    n_characters
}

/// The same for one emoji that is not joined to others.
fn picture(characters: &[char]) -> usize {
    match characters {
        ['0'..='9' | '#' | '*', '\u{FE0F}', '\u{20E3}', ..] => 3,
        [BLACK_FLAG, rest @ ..] if tags(rest) > 0 => 1 + tags(rest),
        [first, rest @ ..] if is_picture(*first) => {
            let selector = matches!(rest.first(), Some('\u{FE0E}' | '\u{FE0F}'));
            let n_characters = 1 + usize::from(selector);
            let skin = matches!(characters.get(n_characters), Some('\u{1F3FB}'..='\u{1F3FF}'));
            n_characters + usize::from(skin)
        }
        _ => 0,
    }
}

/// How many tags, with the end tag, spell a known flag.
fn tags(characters: &[char]) -> usize {
    let spelled = |flag: &&&str| {
        let tags = flag.chars().map(|it| TAGS + u32::from(it)).chain([u32::from(TAGS_END)]);
        characters.iter().map(|it| u32::from(*it)).take(flag.len() + 1).eq(tags)
    };
    TAGGED_FLAGS.iter().find(spelled).map_or(0, |flag| flag.len() + 1)
}

/// Whether a character can be an emoji on its own.
fn is_picture(character: char) -> bool {
    matches!(
        character,
        '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
            | '\u{2194}'..='\u{21AA}' | '\u{231A}'..='\u{23FF}' | '\u{24C2}'
            | '\u{25AA}'..='\u{25FE}' | '\u{2600}'..='\u{27BF}' | '\u{2934}' | '\u{2935}'
            | '\u{2B05}'..='\u{2B55}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
            | '\u{1F000}'..='\u{1FAFF}'
    )
}

#[cfg(test)]
mod tests;
