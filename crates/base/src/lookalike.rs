//! Texts that a person reads as the same, although their characters differ.

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

use crate::hidden::shows_nothing;

/// The letters and digits of a text as a person sees them: without case, accents, style and script,
/// and without everything between them. Two texts with the same letters look alike.
pub fn letters(text: &str) -> String {
    // A capital may look like a letter that its small form does not look like.
    let plain: String = text.nfkc().collect();
    let plain: String = skeleton(&plain).flat_map(char::to_lowercase).collect();
    let seen: String = skeleton(&plain).collect();
    // Again, as what looks alike may have been a capital or an accent.
    let seen: String = seen.nfkd().flat_map(char::to_lowercase).collect();
    seen.chars().map(plain_letter).filter(|letter| letter.is_alphanumeric()).collect()
}

/// A text as a person reads it, to be compared with others: without characters that show nothing,
/// with one space in each gap, and in one width. Capitals, accents, and what is raised or lowered
/// stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsRead(Vec<Shape>);

/// What a character looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// One character for all that look like it.
    like: char,
    /// The character itself, if it is ASCII. Readers know these from each other, as fonts do.
    ascii: Option<char>,
}

impl AsRead {
    pub fn of(text: &str) -> Self {
        let spaced = text.chars().map(|it| if it.is_whitespace() { ' ' } else { it });
        let shown: String = spaced.filter(|it| !shows_nothing(*it)).flat_map(plain_style).collect();
        let words: Vec<&str> = shown.split_whitespace().collect();
        let shapes = words.join(" ").nfd().flat_map(shapes).collect();
        Self(shapes)
    }

    /// Whether a person cannot tell it from the other: all is the same, or of two letters that look
    /// alike one is of another script. `10` and `1O` are two texts, as are `corn` and `com`.
    pub fn looks_like(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.all(|(one, other)| one.is_like(other))
    }
}

impl Shape {
    fn is_like(&self, other: &Self) -> bool {
        match (self.ascii, other.ascii) {
            (Some(one), Some(other)) => one == other,
            // These are not taken for letters, of whatever script.
            (Some('0' | '1'), None) | (None, Some('0' | '1')) => false,
            _ => self.like == other.like,
        }
    }
}

/// Full width, half width and the alphabets of mathematics are styles of the same letter.
fn plain_style(character: char) -> impl Iterator<Item = char> {
    let is_styled = matches!(character, '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}');
    let plain = is_styled.then(|| std::iter::once(character).nfkc());
    let own = (!is_styled).then_some(character);
    plain.into_iter().flatten().chain(own)
}

/// A character may look like several.
fn shapes(character: char) -> Vec<Shape> {
    let ascii = character.is_ascii().then_some(character);
    let alike = skeleton(character.encode_utf8(&mut [0; 4])).collect::<Vec<_>>();
    alike.into_iter().map(|like| Shape { like, ascii }).collect()
}

/// A text in one form for each character, such as one width, and without marks on letters that have
/// no form with that mark.
pub fn plain(text: &str) -> String {
    text.nfkc().filter(|character| !is_mark(*character)).collect()
}

/// A text with each letter as a person sees it: without case, accents, style and script. What is
/// between the letters stays as it is.
pub fn seen(text: &str) -> String {
    let bare = text.nfkd().filter(|character| !is_mark(*character));
    let latin = bare.map(|character| match character.is_ascii() || is_unlike_latin(character) {
        true => character,
        false => latin(character).unwrap_or(character),
    });
    let small: Vec<char> = latin.flat_map(char::to_lowercase).collect();
    let is_letter = |at: Option<usize>| {
        at.and_then(|at| small.get(at)).is_some_and(|character| character.is_alphabetic())
    };
    let numbered = small.iter().enumerate();
    let seen = numbered.map(|(at, character)| match character {
        // In a number it is what it is.
        '1' | '|' if !is_letter(at.checked_sub(1)) && !is_letter(Some(at + 1)) => *character,
        other => plain_letter(*other),
    });
    seen.nfc().collect()
}

/// Whether a character is shown on the letter before it.
fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}

/// The Latin letter that a letter of another script looks like.
fn latin(letter: char) -> Option<char> {
    let of = |letter: char| {
        let seen: String = skeleton(letter.encode_utf8(&mut [0; 4])).collect();
        let mut seen = seen.chars();
        let only = seen.next().filter(|it| it.is_ascii_alphanumeric());
        only.filter(|_| seen.next().is_none())
    };
    of(letter).or_else(|| letter.to_lowercase().next().and_then(of))
}

/// Scripts whose letters are not taken for Latin ones: they are left alone, which is faster.
fn is_unlike_latin(character: char) -> bool {
    matches!(character, '\u{3000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}')
}

/// A single stroke is one letter, and small capitals are small letters.
fn plain_letter(letter: char) -> char {
    match letter {
        'l' | '1' | '|' | 'ı' | 'ɪ' | 'ł' => 'i',
        'ᴀ' => 'a',
        'ᴋ' | 'ĸ' => 'k',
        'ᴛ' => 't',
        'ꜱ' => 's',
        'ᴜ' => 'u',
        'ŧ' => 't',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_seen_letter_by_letter() {
        for (text, expected) in [
            ("I will pay 10 or 1.", "i wiii pay 10 or 1."),
            ("transferr1ng", "transferring"),
            ("Tr\u{430}nsf\u{435}rring you, \u{456}t", "transferring you, it"),
            ("\u{1d42d}rans", "trans"),
            ("TRANS: \u{422}\u{420}\u{410}", "trans: tpa"),
            ("tra\u{332}ns \u{e9}t\u{e9}", "trans ete"),
            ("担当者に。がか", "担当者に。がか"),
        ] {
            assert_eq!(seen(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_that_a_person_reads_alike_are_read_alike() {
        for (one, other, is_alike) in [
            ("Refund", "Refund", true),
            ("Refund", "Refund\u{200b}", true),
            ("Refund  now ", "Refund\u{a0}now", true),
            ("Refund now", "Refund\u{3000}\u{2009}now", true),
            ("Pay 10", "Pay 1\u{2060}0", true),
            ("Pay 10", "Pay 100", false),
            ("Pay", "pay", false),
            ("peche", "p\u{ea}che", false),
            ("p\u{ea}che", "pe\u{302}che", true),
            ("+1", "-1", false),
            // Of another script, or of another style.
            ("Pay", "P\u{430}y", true),
            ("Pay", "\u{420}\u{430}\u{443}", true),
            ("PAY", "\u{3a1}\u{391}\u{3a5}", true),
            ("Plan I", "Plan \u{406}", true),
            ("Plan l", "Plan \u{406}", true),
            ("Plan \u{399}", "Plan \u{406}", true),
            ("com", "\u{441}om", true),
            ("3", "\u{417}", true),
            ("Ｐａｙ １０", "Pay 10", true),
            ("Pay 10", "Pay \u{1d7cf}\u{1d7ce}", true),
            ("Pay", "\u{1d40f}ay", true),
            ("fine", "\u{fb01}ne", true),
            // In ASCII.
            ("A0", "AO", false),
            ("Plan 1", "Plan I", false),
            ("Plan 1", "Plan l", false),
            ("corn", "com", false),
            ("\u{441}orn", "com", false),
            ("Plan 1", "Plan \u{406}", false),
            ("A0", "A\u{41e}", false),
            ("Ａ０", "AO", false),
            // Raised and lowered.
            ("10\u{b2}", "102", false),
            ("10\u{b2}", "10\u{b3}", false),
            ("10\u{b9}", "101", false),
            ("10\u{2070}", "100", false),
            ("H\u{2082}O", "H2O", false),
            ("n\u{ba} 1", "no 1", false),
        ] {
            let (of_one, of_other) = (AsRead::of(one), AsRead::of(other));
            assert_eq!(of_one.looks_like(&of_other), is_alike, "{one} {other}");
            assert_eq!(of_other.looks_like(&of_one), is_alike, "{other} {one}");
        }
    }

    #[test]
    fn what_looks_alike_has_the_same_letters() {
        let alike = [
            "Tasuki",
            "tasuki",
            "T A S U K I",
            "Tasukl",
            "Tasuk1",
            "Ｔａｓｕｋｉ",
            "𝐓asuki",
            "Tаsuki",
            "Tasukⅰ",
            "ⓉasukⒾ",
            "ꓔasuki",
            "Ꭲasuki",
            "ᴛᴀsᴜᴋɪ",
            "Tasuĸi",
            "Tásûķì",
            "Tasu\u{200B}ki",
            "ТАЅUКІ",
        ];
        for name in alike {
            assert_eq!(letters(name), "tasuki", "{name}");
        }
        for name in ["Taki", "Tesuki", "Hana", "佐々木"] {
            assert_ne!(letters(name), "tasuki", "{name}");
        }
        assert_eq!(letters("Send 5\u{A0}dollars."), letters("send 5 dollars"));
        for alike in ["Pay Вob", "Pay Βob", "РАУ ВОВ", "Ꮲay Bob", "pay bob"] {
            assert_eq!(letters(alike), letters("Pay Bob"), "{alike}");
        }
        assert_eq!(letters("Мaria Νora Неnry"), letters("Maria Nora Henry"));
        assert_ne!(letters("Send 5 dollars"), letters("Send 6 dollars"));
    }
}
