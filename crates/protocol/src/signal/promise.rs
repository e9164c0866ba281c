//! Whether a bot tells a customer that it transfers them. The lists are short, as those of the
//! signals are; a graph can add words of its own.

use std::ops::Range;
use std::sync::LazyLock;

use crate::route::words::{WordSet, fold, looked_at};

/// By language, comma-separated. Offers and conditions are not listed: "I can transfer you"
/// promises nothing.
const PHRASES: [(&str, &str); 5] = [
    (
        "en",
        "i am transferring you, i'm transferring you, transferring you now, transferring you to, \
         i am connecting you, i'm connecting you, connecting you now, connecting you to, \
         i will transfer you now, i'll transfer you now, i will connect you now, \
         i'll connect you now, i am handing you over, i'm handing you over, handing you over to, \
         i am putting you through, i'm putting you through, putting you through to, \
         while i transfer you, while i connect you, let me transfer you, let me connect you",
    ),
    (
        "es",
        "te transfiero, le transfiero, te estoy transfiriendo, le estoy transfiriendo, \
         te paso con, le paso con, te comunico con, le comunico con, te voy a transferir, \
         le voy a transferir, transfiriéndote, transfiriéndole",
    ),
    (
        "de",
        "ich verbinde sie, ich verbinde dich, ich leite sie weiter, ich leite dich weiter, \
         ich übergebe sie, ich übergebe dich, ich übergebe an, sie werden verbunden, \
         du wirst verbunden, ich stelle sie durch, ich stelle dich durch",
    ),
    (
        "fr",
        "je vous transfère, je te transfère, je vous mets en relation, je te mets en relation, \
         je vous passe un, je vous passe une, je te passe un, je vous mets en contact, \
         je vous redirige vers",
    ),
    (
        "ja",
        "おつなぎします, お繋ぎします, おつなぎいたします, お繋ぎいたします, 転送します, 転送いたします, \
         担当者に代わります, 引き継ぎます",
    ),
];

static PROMISES: LazyLock<WordSet> = LazyLock::new(|| {
    let phrases = PHRASES.iter().flat_map(|(_, phrases)| phrases.split(','));
    let folded: Vec<String> = phrases.map(|phrase| fold(phrase.trim())).collect();
    WordSet::new(&folded)
});

/// Whether a text says so, by our words or by `own`, which are folded. A question asks, and
/// promises nothing.
pub fn promises_transfer(text: &str, own: &WordSet) -> bool {
    let folded = fold(looked_at(text));
    let mut is_promised = false;
    let mut note = |place: Range<usize>| is_promised |= !is_asked(&folded[place.end..]);
    PROMISES.each(&folded, |_, place| note(place));
    own.each(&folded, |_, place| note(place));
    is_promised
}

/// Whether the sentence that goes on so is a question.
fn is_asked(rest: &str) -> bool {
    let ends = ['.', '!', '?', '。', '？', '！'];
    rest.chars()
        .find(|character| ends.contains(character))
        .is_some_and(|end| matches!(end, '?' | '？'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_bot_says_about_a_transfer() {
        let own = WordSet::new(&[fold("over to the humans")]);
        for (text, expected) in [
            ("I am transferring you to billing.", true),
            ("One moment, I\u{2019}M CONNECTING YOU now", true),
            ("Please hold while I transfer you.", true),
            ("Shall I transfer you?", false),
            ("Is it fine that I am transferring you?", false),
            ("I can transfer you if you like.", false),
            ("I am not transferring you.", false),
            ("I am transferring 20 euros.", false),
            ("Le paso con un agente.", true),
            ("Puedo pasarle con un agente.", false),
            ("Ich verbinde Sie mit einem Kollegen.", true),
            ("Ich kann Sie verbinden.", false),
            ("Je vous mets en relation avec un conseiller.", true),
            ("担当者におつなぎします。", true),
            ("おつなぎしますか？", false),
            ("Over to the humans!", true),
            ("", false),
        ] {
            assert_eq!(promises_transfer(text, &own), expected, "{text}");
        }
    }
}
