//! Characters without width: a person sees one text, and a program has another. They are let pass,
//! as some texts are full of them by accident, but they are pointed out, and shown.

/// The first character of a text that hides in it.
pub fn first_hidden(text: &str) -> Option<char> {
    // Nearly all text is plain ASCII.
    if text.is_ascii() {
        return None;
    }
    let mut found = hidden(text).zip(text.chars());
    found.find_map(|(is_hidden, character)| is_hidden.then_some(character))
}

/// Of each character of a text, whether it hides in it.
pub fn hidden(text: &str) -> impl Iterator<Item = bool> {
    let before = std::iter::once(None).chain(text.chars().map(Some));
    let after = text.chars().skip(1).map(Some).chain(std::iter::once(None));
    before.zip(text.chars()).zip(after).map(|((before, character), after)| match character {
        '\u{180E}' | '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' => true,
        // Joiners shape many scripts, and make one picture of several; never in plain ASCII.
        '\u{200C}' | '\u{200D}' => {
            [before, after].into_iter().flatten().any(|neighbour| neighbour.is_ascii())
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_languages_need_is_not_hidden() {
        for (text, expected) in [
            ("Pay 500 dollars", None),
            ("Pay 5\u{200b}00 dollars", Some('\u{200b}')),
            ("pay\u{feff}", Some('\u{feff}')),
            ("pay\u{2060}pal", Some('\u{2060}')),
            ("pay\u{200d}pal", Some('\u{200d}')),
            ("می\u{200c}خواهم", None),
            ("क्\u{200d}ष", None),
            ("👩\u{200d}💻", None),
            ("Zahlung an Müller", None),
        ] {
            assert_eq!(first_hidden(text), expected, "{text:?}");
        }
    }
}
