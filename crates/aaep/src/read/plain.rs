//! Which characters a text from outside may have. People see or hear these texts and decide by
//! them, so a text must look like what it is. Characters that languages need are allowed: line
//! breaks, joiners, direction marks, and isolates or embeddings that are closed again.

/// The flag that a sequence of tags turns into another flag.
const BLACK_FLAG: char = '\u{1F3F4}';

/// The first forbidden character.
pub(super) fn deceiving(text: &str, may_stay_open: bool) -> Option<char> {
    // Nearly all text is plain ASCII. Without an early exit the compiler vectorizes the loop.
    let is_plain = text.bytes().fold(true, |plain, byte| {
        plain & (byte.wrapping_sub(b' ') < 0x5F || byte == b'\n' || byte == b'\t' || byte == b'\r')
    });
    if is_plain { None } else { deceiving_slowly(text, may_stay_open) }
}

fn deceiving_slowly(text: &str, may_stay_open: bool) -> Option<char> {
    let mut open = Vec::new();
    let mut before = '\0';
    for character in text.chars() {
        let deceives = match character {
            '\n' | '\t' | '\r' => false,
            // Overrides reverse the order of letters. No language is written so.
            '\u{202D}' | '\u{202E}' => true,
            '\u{202A}' | '\u{202B}' | '\u{2066}'..='\u{2068}' => {
                open.push(character);
                false
            }
            '\u{202C}' => !matches!(open.pop(), Some('\u{202A}' | '\u{202B}')) && !may_stay_open,
            '\u{2069}' => !matches!(open.pop(), Some('\u{2066}'..='\u{2068}')) && !may_stay_open,
            '\u{E0000}'..='\u{E007F}' => {
                !(before == BLACK_FLAG || matches!(before, '\u{E0000}'..='\u{E007F}'))
            }
            other => other.is_control(),
        };
        if deceives {
            return Some(character);
        }
        before = character;
    }
    if may_stay_open { None } else { open.pop() }
}
