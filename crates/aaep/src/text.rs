//! Where a text may be cut for a listener: after a word, a sentence, a paragraph, in any script,
//! and never inside a user-perceived character.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::event::Boundary;

/// A set of boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundaries(u8);

/// A place where a text may be cut, in bytes, and its coarsest boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub at: usize,
    pub boundary: Boundary,
}

/// Quotes and brackets that may stand between the end of a sentence and the space. No more than
/// these are skipped, so that a text of brackets costs no more than any other.
const CLOSERS_MAX: usize = 4;

/// The boundaries inside a text, the coarsest first.
const INSIDE: [Boundary; 3] = [Boundary::Paragraph, Boundary::Sentence, Boundary::Word];

impl Boundaries {
    pub fn contains(self, boundary: Boundary) -> bool {
        self.0 & (1 << boundary as u8) != 0
    }

    /// Whether one of them lies inside a text.
    pub fn cut_inside(self) -> bool {
        INSIDE.iter().any(|one| self.contains(*one))
    }
}

impl FromIterator<Boundary> for Boundaries {
    fn from_iter<I: IntoIterator<Item = Boundary>>(all: I) -> Self {
        Self(all.into_iter().fold(0, |bits, one| bits | 1 << one as u8))
    }
}

/// The last place at or after `from` where the text may be cut. More text may follow: the end is a
/// boundary only if no continuation can change that.
pub fn last_cut(text: &str, from: usize, boundaries: Boundaries) -> Option<Cut> {
    let from = from.max(1);
    let places = text.char_indices().rev().map(|(at, _)| at).take_while(|at| *at >= from);
    std::iter::once(text.len()).filter(|end| *end >= from).chain(places).find_map(|at| {
        let boundary =
            INSIDE.into_iter().find(|one| boundaries.contains(*one) && ends(text, at, *one))?;
        is_between_characters(text, at).then_some(Cut { at, boundary })
    })
}

/// How many words are to be spoken.
pub fn n_words(text: &str) -> usize {
    text.unicode_words().count()
}

fn ends(text: &str, at: usize, boundary: Boundary) -> bool {
    let (before, after) = text.split_at(at);
    let next = after.chars().next();
    // The space after a part belongs to it.
    if next.is_some_and(char::is_whitespace) {
        return false;
    }
    match boundary {
        Boundary::Word => ends_word(before, next),
        Boundary::Sentence => ends_sentence(before, next),
        Boundary::Paragraph => ends_paragraph(before),
        Boundary::None | Boundary::Completion => false,
    }
}

fn ends_paragraph(before: &str) -> bool {
    let space = &before[before.trim_end().len()..];
    space.contains('\u{2029}') || space.matches('\n').count() >= 2
}

fn ends_sentence(before: &str, next: Option<char>) -> bool {
    let trimmed = before.trim_end();
    let has_space = trimmed.len() < before.len();
    let mut rest = trimmed;
    for _ in 0..CLOSERS_MAX {
        rest = rest.strip_suffix(is_closer).unwrap_or(rest);
    }
    let Some(mark) = rest.chars().next_back() else { return false };
    if is_mark_without_space(mark) {
        return !next.is_some_and(|next| is_closer(next) || is_mark(next));
    }
    if !is_mark(mark) {
        return false;
    }
    // `3.` may become `3.14`.
    let may_be_number = || {
        mark == '.' && rest[..rest.len() - 1].chars().next_back().is_some_and(|c| c.is_numeric())
    };
    has_space || (next.is_none() && !may_be_number())
}

fn ends_word(before: &str, next: Option<char>) -> bool {
    let Some(last) = before.chars().next_back() else { return false };
    if last.is_whitespace() {
        return true;
    }
    let sticks = |next: char| {
        is_closer(next) || is_mark(next) || (is_katakana(last) && is_katakana(next)) || next == '、'
    };
    is_unspaced(last) && !next.is_some_and(sticks)
}

fn is_between_characters(text: &str, at: usize) -> bool {
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(false)
}

/// Marks that end a sentence in some script.
fn is_mark(c: char) -> bool {
    is_mark_without_space(c)
        || matches!(
            c,
            '.' | '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉'
            | '।' | '॥' // Devanagari and its neighbours
            | '؟' | '۔' // Arabic, Urdu
            | '።' | '፧' | '፨' // Ethiopic
            | '։' // Armenian
            | '។' | '៕' // Khmer
            | '။' // Burmese
        )
}

/// Marks of scripts without a space after a sentence.
fn is_mark_without_space(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '．')
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '›'
            | '」'
            | '』'
            | '）'
            | '】'
            | '〉'
            | '》'
    )
}

/// Scripts without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Burmese, Khmer
        | '\u{3001}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // punctuation and kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff01}'..='\u{ff60}' // full width
        | '\u{20000}'..='\u{3ffff}')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `|` stands where the text is cut.
    #[test]
    fn a_text_is_cut_where_a_listener_would_pause() {
        let rows: &[(Boundary, &[&str])] = &[
            (
                Boundary::Sentence,
                &[
                    "I found it. |Shall I book it? |Yes! |Now",
                    "It costs 3.14 euros. |He said \"go.\" |Then (at last.) |we",
                    "¿Quiere pagar? |¡Claro! |El precio",
                    "Das geht. |Wirklich? |Ja",
                    "C’est fait. |Voulez-vous « payer » ? |Oui",
                    "予約しました。|よろしいですか？|「はい。」|次",
                    "Mo ti rí i. |Ṣé kí n sanwó? |Bẹ́ẹ̀ ni",
                    "تم الحجز. |هل تريد الدفع؟ |نعم",
                    "यह हो गया। |क्या मैं भुगतान करूँ? |हाँ",
                    "ተጠናቋል። |እሺ",
                    "Done 👩‍👩‍👧. |Next e\u{301}. |Last",
                    "Wait... |what?! |no end here",
                ],
            ),
            (
                Boundary::Word,
                &[
                    "I |found  |it. |Sha",
                    "予|約|し|ま|し|た。|ホテル|の|名|前",
                    "Ṣé |kí |n |sanwó",
                    "👩‍👩‍👧 |e\u{301}te\u{301} |x",
                ],
            ),
            (Boundary::Paragraph, &["One. Two.\nThree.\n\n|Four\r\n\r\n|Five", "一。\n\n|二"]),
        ];
        for (boundary, texts) in rows {
            for marked in *texts {
                let text = marked.replace('|', "");
                assert_eq!(&all_cuts(&text, *boundary), marked, "{boundary:?}");
            }
        }
    }

    #[test]
    fn the_coarsest_negotiated_boundary_is_named() {
        let both: Boundaries = [Boundary::Word, Boundary::Sentence].into_iter().collect();
        let named = |text| last_cut(text, 0, both).map(|cut| (cut.at, cut.boundary));
        assert_eq!(named("One. "), Some((5, Boundary::Sentence)));
        assert_eq!(named("One. Two thr"), Some((9, Boundary::Word)));
        assert_eq!(named("On"), None);
        assert_eq!(named("A full stop at the end."), Some((23, Boundary::Sentence)));
        assert_eq!(named("It is 3."), Some((6, Boundary::Word)), "it may become 3.14");
        assert_eq!(named(""), None);
    }

    #[test]
    fn words_are_counted_in_scripts_with_and_without_spaces() {
        assert_eq!(n_words("Shall I book it?"), 4);
        assert_eq!(n_words("予約"), 2);
        assert_eq!(n_words(" … "), 0);
    }

    fn all_cuts(text: &str, boundary: Boundary) -> String {
        let is_cut = |at: &usize| {
            text.is_char_boundary(*at)
                && ends(text, *at, boundary)
                && is_between_characters(text, *at)
        };
        let mut marked = text.to_owned();
        for at in (1..text.len()).rev().filter(is_cut) {
            marked.insert(at, '|');
        }
        marked
    }
}
