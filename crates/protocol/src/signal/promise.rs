//! Whether a bot tells a customer that it transfers them. The lists are short, as those of the
//! signals are; a graph can add words of its own. A false promise takes the conversation from a
//! bot, so a sentence that asks, denies or sets a condition promises nothing.

use std::ops::Range;
use std::sync::LazyLock;

use crate::route::words::{WordSet, fold, looked_at};

/// How one language promises, comma-separated. Offers are not listed: "I can transfer you" promises
/// nothing.
struct Phrases {
    /// In the first person, for now.
    promises: &'static str,
    /// Without a person: a promise only where a clause begins, as in "One moment, transferring
    /// you to billing", and not in "It is no use transferring you to billing".
    bare: &'static str,
    /// Before a promise in its sentence.
    conditions: &'static str,
    /// Before it in its clause.
    denials: &'static str,
    /// Behind it in its sentence.
    conditions_behind: &'static str,
    /// Behind it in its clause.
    denials_behind: &'static str,
    /// Words at which a clause begins, besides signs.
    joints: &'static str,
}

const LANGUAGES: [Phrases; 5] = [
    Phrases {
        promises: "i am transferring you, i'm transferring you, we are transferring you, \
                   we're transferring you, i am connecting you, i'm connecting you, \
                   we are connecting you, we're connecting you, i will transfer you now, \
                   i'll transfer you now, i will connect you now, i'll connect you now, \
                   i am handing you over, i'm handing you over, i am putting you through, \
                   i'm putting you through, while i transfer you, while i connect you, \
                   let me transfer you, let me connect you",
        bare: "transferring you now, transferring you to, connecting you now, connecting you to, \
               handing you over to, putting you through to",
        conditions: "if, when, whenever, before, once, unless, as soon as, in case, whether, \
                     after you, instead of, rather than",
        denials: "not, never, don't, doesn't, isn't, can, can't, cannot, could, couldn't, should, \
                  shouldn't, would, wouldn't, won't, may, might, shall, without",
        conditions_behind: "if you, if that, if this, when you, once you, as soon as, unless, \
                            after you, in case you",
        denials_behind: "",
        joints: "so, and, but, therefore, because, then",
    },
    Phrases {
        promises: "te transfiero, le transfiero, te estoy transfiriendo, le estoy transfiriendo, \
                   estoy transfiriéndote, estoy transfiriéndole, te paso con, le paso con, \
                   te comunico con, le comunico con, te voy a transferir, le voy a transferir",
        bare: "transfiriéndote, transfiriéndole",
        conditions: "si, cuando, antes de, en cuanto, una vez que, en caso de, a menos que, \
                     en lugar de, en vez de",
        denials: "no, nunca, jamás, tampoco, sin, puedo, podría, podemos, quiere, quieres, desea, \
                  deseas, prefiere, prefieres, gustaría",
        conditions_behind: "si me, si quiere, si quieres, si lo, cuando me, en cuanto, \
                            una vez que, a menos que",
        denials_behind: "",
        joints: "y, pero, así que, por eso, porque, entonces",
    },
    Phrases {
        promises: "ich verbinde sie, ich verbinde dich, ich leite sie weiter, \
                   ich leite dich weiter, ich übergebe sie, ich übergebe dich, ich übergebe an, \
                   sie werden verbunden, du wirst verbunden, ich stelle sie durch, \
                   ich stelle dich durch",
        bare: "",
        conditions: "wenn, falls, sobald, bevor, sofern, ehe, ob, statt, anstatt",
        denials: "nicht, nie, niemals, kann, könnte, soll, sollte, würde, möchten, möchtest, darf",
        conditions_behind: "wenn, falls, sobald, sofern",
        denials_behind: "nicht, nie, niemals, keinesfalls, erst",
        joints: "und, aber, also, deshalb, daher, denn",
    },
    Phrases {
        promises: "je vous transfère, je te transfère, je vous mets en relation, \
                   je te mets en relation, je vous passe un, je vous passe une, je te passe un, \
                   je vous mets en contact, je vous redirige vers",
        bare: "",
        conditions: "si, quand, lorsque, avant de, avant que, dès que, une fois que, au cas où, \
                     au lieu de",
        denials: "ne, pas, jamais, sans, peux, pourrais, dois, voulez, veux, souhaitez, \
                  souhaites",
        conditions_behind: "si vous, si tu, quand vous, quand tu, dès que, une fois que",
        denials_behind: "pas, jamais",
        joints: "et, mais, donc, alors, car",
    },
    Phrases {
        promises: "おつなぎします, お繋ぎします, おつなぎいたします, お繋ぎいたします, 転送します, \
                   転送いたします, 担当者に代わります, 引き継ぎます",
        bare: "",
        conditions: "もし, でしたら, ましたら, れば, 場合, 前に, 必要に応じて",
        denials: "",
        conditions_behind: "",
        denials_behind: "とは限りません, わけではありません",
        joints: "",
    },
];

/// A hyphen between words joins them.
const DASH: &str = " - ";

/// The phrases of all languages, in one pass.
struct Lexicon {
    promises: WordSet,
    /// Each phrase's language, and whether it has no person.
    known: Vec<(usize, bool)>,
    hedges: Vec<Hedges>,
}

/// The words by which a sentence promises nothing after all.
struct Hedges {
    conditions: WordSet,
    denials: WordSet,
    conditions_behind: WordSet,
    denials_behind: WordSet,
    joints: WordSet,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let (mut phrases, mut known) = (Vec::new(), Vec::new());
    for (language, words) in LANGUAGES.iter().enumerate() {
        for (list, is_bare) in [(words.promises, false), (words.bare, true)] {
            let listed = listed(list);
            known.extend(listed.iter().map(|_| (language, is_bare)));
            phrases.extend(listed);
        }
    }
    let hedges = LANGUAGES.iter().map(|words| Hedges {
        conditions: WordSet::new(&listed(words.conditions)),
        denials: WordSet::new(&listed(words.denials)),
        conditions_behind: WordSet::new(&listed(words.conditions_behind)),
        denials_behind: WordSet::new(&listed(words.denials_behind)),
        joints: WordSet::new(&listed(words.joints)),
    });
    Lexicon { promises: WordSet::new(&phrases), known, hedges: hedges.collect() }
});

fn listed(list: &str) -> Vec<String> {
    let phrases = list.split(',').map(|phrase| fold(phrase.trim()));
    phrases.filter(|phrase| !phrase.is_empty()).collect()
}

/// Whether a text says so, by our words or by `own`, which are folded.
pub fn promises_transfer(text: &str, own: &WordSet) -> bool {
    let folded = fold(looked_at(text));
    let mut is_promised = false;
    LEXICON.promises.each(&folded, |phrase, place| {
        let (language, is_bare) = LEXICON.known[phrase];
        let sentence = Sentence::around(&folded, &place);
        is_promised |= sentence.promises(&LEXICON.hedges[language])
            && (!is_bare || sentence.begins_clause(&LEXICON.hedges[language]));
    });
    // The language of these is not known.
    own.each(&folded, |_, place| {
        let sentence = Sentence::around(&folded, &place);
        is_promised |= LEXICON.hedges.iter().all(|hedges| sentence.promises(hedges));
    });
    is_promised
}

/// A sentence with a phrase in it.
struct Sentence<'t> {
    before: &'t str,
    behind: &'t str,
    is_question: bool,
}

impl<'t> Sentence<'t> {
    fn around(folded: &'t str, place: &Range<usize>) -> Self {
        let (before, behind) = (&folded[..place.start], &folded[place.end..]);
        let starts = ends(before).last().map_or(0, |(at, sign)| at + sign.len_utf8());
        let end = ends(behind).next();
        let stops = end.map_or(behind.len(), |(at, _)| at);
        let before = &before[starts..];
        let behind = &behind[..stops];
        // Spanish marks the beginning of a question, and Japanese needs no mark.
        let is_question = end.is_some_and(|(_, sign)| matches!(sign, '?' | '？'))
            || before.contains('¿')
            || behind.trim_end() == "か";
        Self { before, behind, is_question }
    }

    fn promises(&self, hedges: &Hedges) -> bool {
        !self.is_question
            && !has(&hedges.conditions, self.before)
            && !has(&hedges.denials, self.clause_before(hedges))
            && !has(&hedges.conditions_behind, self.behind)
            && !has(&hedges.denials_behind, self.clause_behind(hedges))
    }

    fn begins_clause(&self, hedges: &Hedges) -> bool {
        !self.clause_before(hedges).contains(char::is_alphanumeric)
    }

    /// What stands before the phrase in its own clause: in "I can't do that, so I am transferring
    /// you" the denial is of another one.
    fn clause_before(&self, hedges: &Hedges) -> &'t str {
        let sign = self.before.char_indices().rfind(|(_, sign)| parts_clauses(*sign));
        let sign = sign.map_or(0, |(at, sign)| at + sign.len_utf8());
        let dash = self.before.rfind(DASH).map_or(0, |at| at + DASH.len());
        let mut starts = sign.max(dash);
        hedges.joints.each(self.before, |_, place| starts = starts.max(place.end));
        &self.before[starts..]
    }

    fn clause_behind(&self, hedges: &Hedges) -> &'t str {
        let mut stops = self.behind.find(parts_clauses).unwrap_or(self.behind.len());
        hedges.joints.each(self.behind, |_, place| stops = stops.min(place.start));
        &self.behind[..stops]
    }
}

/// The signs that end a sentence. A point inside a number or a name ends none.
fn ends(text: &str) -> impl Iterator<Item = (usize, char)> {
    let is_followed = |at: usize| text[at + 1..].chars().next().is_some_and(|it| it != ' ');
    text.char_indices().filter(move |(at, sign)| match sign {
        '.' => !is_followed(*at),
        '!' | '?' | '。' | '？' | '！' => true,
        _ => false,
    })
}

fn parts_clauses(sign: char) -> bool {
    matches!(sign, ',' | ';' | ':' | '(' | ')' | '–' | '—' | '…' | '、' | '¡')
}

fn has(words: &WordSet, text: &str) -> bool {
    let mut is_found = false;
    words.each(text, |_, _| is_found = true);
    is_found
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
            ("Transferring you to billing.", true),
            ("Okay, connecting you now!", true),
            ("I can't help with bills, so I am transferring you to billing.", true),
            ("I cannot do that and I'm connecting you now.", true),
            ("I can't sign you in - I'm connecting you now.", true),
            ("Thanks for v2.0. I am transferring you.", true),
            ("No worries! I am handing you over.", true),
            ("I am transferring you to a colleague who can help if it is urgent.", true),
            ("Shall I transfer you?", false),
            ("Is it fine that I am transferring you?", false),
            ("I can transfer you if you like.", false),
            ("I am not transferring you.", false),
            ("I am not transferring you to billing", false),
            ("Before connecting you to billing I need your number.", false),
            ("Before I am connecting you, I need your number.", false),
            ("I should be connecting you to billing for that.", false),
            ("It is no use transferring you to billing.", false),
            ("If this fails, I am transferring you to billing.", false),
            ("I'm transferring you once you have confirmed it.", false),
            ("I never said that I am transferring you.", false),
            ("Instead of transferring you to billing, I looked it up.", false),
            ("Would you like me to go on, or am I connecting you to billing?", false),
            ("I am transferring 20 euros.", false),
            ("Over to the humans!", true),
            ("I am not passing you over to the humans.", false),
            ("", false),
        ] {
            assert_eq!(promises_transfer(text, &own), expected, "{text}");
        }
    }

    #[test]
    fn the_same_in_other_languages() {
        for (text, expected) in [
            ("Le paso con un agente.", true),
            ("No puedo ayudarle, así que le paso con un agente.", true),
            ("No se preocupe, te transfiero.", true),
            ("Transfiriéndote con un agente.", true),
            ("Puedo pasarle con un agente.", false),
            ("No te transfiero todavía.", false),
            ("Si quieres, te paso con un agente.", false),
            ("¿Quieres que siga o te paso con un agente?", false),
            ("¿Te paso con un agente", false),
            ("Te paso con un agente si me das tu número.", false),
            ("Ich verbinde Sie mit einem Kollegen.", true),
            ("Das kann ich nicht lösen, ich verbinde Sie mit Ana.", true),
            ("Ich kann Sie verbinden.", false),
            ("Ich verbinde Sie nicht mit der Buchhaltung.", false),
            ("Ich verbinde Sie, sobald ich Ihre Nummer habe.", false),
            ("Ich leite Sie weiter, wenn Sie möchten.", false),
            ("Ich verbinde Sie erst nach der Prüfung.", false),
            ("Je vous mets en relation avec un conseiller.", true),
            ("Patientez s'il vous plaît, je vous transfère.", true),
            ("Je ne peux pas vous aider, je vous transfère.", true),
            ("Je vous transfère pas.", false),
            ("Si vous voulez, je vous transfère.", false),
            ("Voulez-vous que je vous transfère ?", false),
            ("担当者におつなぎします。", true),
            ("分かりませんので、担当者におつなぎします。", true),
            ("おつなぎしますか？", false),
            ("担当者におつなぎしますか。", false),
            ("ご希望でしたら担当者におつなぎします。", false),
        ] {
            assert_eq!(promises_transfer(text, &WordSet::default()), expected, "{text}");
        }
    }
}
