//! What counts as a word. Keywords are matched as whole words, in any case and any script. Text is
//! folded once, and one pass finds all keywords.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::spent::{IsSpent, STEPS_PER_LOOK, Spent};

/// How much of a text is looked at, in bytes. A turn is a few sentences, and a customer who pastes
/// a log first says what it is about. The bound keeps a decision fast for any input.
pub const TEXT_BYTES_MAX: usize = 8 * 1024;

/// The part of a text that is looked at.
pub fn looked_at(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// A text in the form in which words are compared: lower case, one space between words, wide forms
/// as narrow ones, one kind of apostrophe, and no invisible characters.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.chars().filter_map(narrow) {
        if character.is_whitespace() {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else {
            // The final form of sigma is the same letter.
            let small = character.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c });
            folded.extend(small);
        }
    }
    if folded.ends_with(' ') {
        folded.pop();
    }
    folded
}

fn narrow(character: char) -> Option<char> {
    match character {
        '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => None,
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => Some('\''),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xfee0),
        other => Some(other),
    }
}

/// Whether a range of a folded text is one or more whole words.
pub fn is_whole(folded: &str, place: &Range<usize>) -> bool {
    let (before, after) = (&folded[..place.start], &folded[place.end..]);
    let inside = &folded[place.clone()];
    let is_cut = |left: Option<char>, right: Option<char>| match (left, right) {
        (Some(left), Some(right)) => joins(left) && joins(right),
        (None, _) | (_, None) => false,
    };
    !is_cut(before.chars().next_back(), inside.chars().next())
        && !is_cut(inside.chars().next_back(), after.chars().next())
}

/// Whether a character joins another of its kind beside it into one word. In scripts without
/// spaces, or whose particles are joined to the word, every place is a boundary.
fn joins(character: char) -> bool {
    let is_accent = matches!(character, '\u{300}'..='\u{36f}');
    let is_letter = character.is_alphanumeric() || character == '_' || is_accent;
    is_letter && !is_unspaced(character)
}

fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{e00}'..='\u{eff}'          // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Myanmar
        | '\u{1100}'..='\u{11ff}'      // Hangul, by letters
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{3040}'..='\u{30ff}'      // Hiragana, Katakana
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'      // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'      // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'      // half-width Katakana
        | '\u{20000}'..='\u{323af}')
}

/// Many words that one pass over a text finds.
#[derive(Debug, Clone, Default)]
pub struct WordSet {
    automaton: Option<AhoCorasick>,
}

impl WordSet {
    /// The words are folded already. Each is identified by its index in the list.
    pub fn new<W: AsRef<[u8]>>(folded: &[W]) -> Self {
        if folded.is_empty() {
            return Self::default();
        }
        let automaton = AhoCorasick::new(folded);
        Self { automaton: Some(automaton.expect("the limits of a graph are far below its own")) }
    }

    /// Calls back for each place where one of the words is a whole word, overlapping ones too.
    pub fn each(&self, folded: &str, found: impl FnMut(usize, Range<usize>)) {
        // There is always time.
        let _ = self.each_within(folded, &|| false, found);
    }

    /// The same, while there is time. Many words may overlap at every place of a text.
    pub fn each_within(
        &self,
        folded: &str,
        is_spent: IsSpent<'_>,
        mut found: impl FnMut(usize, Range<usize>),
    ) -> Result<(), Spent> {
        let Some(automaton) = &self.automaton else { return Ok(()) };
        for (hit, number) in automaton.find_overlapping_iter(folded).zip(1_usize..) {
            if number.is_multiple_of(STEPS_PER_LOOK) && is_spent() {
                return Err(Spent);
            }
            if is_whole(folded, &hit.range()) {
                found(hit.pattern().as_usize(), hit.range());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_and_in_any_case() {
        let cases = [
            ("refund", "I want a REFUND!", true),
            ("refund", "refunded", false),
            ("refund", "pre-refund", true),
            ("refund", "re\u{ad}fund", true),
            ("agent please", "Agent\n  PLEASE", true),
            ("don't", "DON\u{2019}T", true),
            ("ärger", "Viel ÄRGER hier", true),
            ("rger", "Viel Ärger hier", false),
            ("cafe", "cafe\u{301}", false),
            ("λόγος", "ΛΌΓΟΣ", true),
            ("返金", "商品を返金してください", true),
            ("iphone", "私のｉＰｈｏｎｅが壊れた", true),
            ("환불", "환불을 원해요", true),
            ("c++", "I write C++.", true),
            ("", "", false),
        ];
        for (word, text, expected) in cases {
            let words = if word.is_empty() { vec![] } else { vec![fold(word)] };
            let mut n_found = 0;
            WordSet::new(&words).each(&fold(text), |_, _| n_found += 1);
            assert_eq!(n_found > 0, expected, "{word:?} in {text:?}");
        }
    }

    /// Words of words, all of which stand at every place of the text.
    #[test]
    fn the_time_is_looked_at_between_hits() {
        let words: Vec<String> = (1..=50).map(|n| vec!["a"; n].join(" ")).collect();
        let set = WordSet::new(&words);
        let text = "a ".repeat(4_096);
        let mut n_found = 0;
        assert_eq!(set.each_within(&text, &|| true, |_, _| n_found += 1), Err(Spent));
        assert!(n_found < STEPS_PER_LOOK, "{n_found}");
        let few = "a ".repeat(9);
        assert_eq!(
            set.each_within(&few, &|| true, |_, _| ()),
            Ok(()),
            "a few are always looked for"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = "あ".repeat(TEXT_BYTES_MAX);
        let cut = looked_at(&long);
        assert!(cut.len() <= TEXT_BYTES_MAX && cut.len() > TEXT_BYTES_MAX - 4);
        assert_eq!(looked_at("short"), "short");
    }
}
