//! Whether a bot tells a customer that it transfers them. The lists are short, as those of the
//! signals are; a graph can add words of its own. A false promise takes the conversation from a
//! bot, so a sentence that asks, denies or sets a condition promises nothing.

use std::ops::Range;
use std::sync::LazyLock;

use super::reading::{Letters, readings};
use crate::route::words::WordSet;

/// How one language promises, comma-separated. Offers are not listed: "I can transfer you" promises
/// nothing.
struct Phrases {
    /// In the first person, for now.
    promises: &'static str,
    /// More of them: each of the first words with each of the second ones.
    pairs: &'static [(&'static str, &'static str)],
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
    /// Words right behind it by which the transfer is one of things, such as money.
    things: &'static str,
}

const LANGUAGES: [Phrases; 5] = [
    Phrases {
        promises: "",
        pairs: &[
            (
                "i am, i'm, we are, we're",
                "transferring you, connecting you, handing you over, handing you off, \
                 putting you through, passing you over, passing you on, passing you to, \
                 escalating you to, escalating this to a human, escalating this to a person, \
                 escalating this to a live, escalating this to an agent, \
                 escalating this to a colleague, escalating this chat to, \
                 escalating this conversation to",
            ),
            (
                "i will, i'll, we will, we'll",
                "transfer you now, transfer you to, connect you now, connect you to, \
                 connect you with, put you through, hand you over, pass you over, pass you on",
            ),
            (
                "let me, while i, while we",
                "transfer you, connect you, put you through, hand you over, pass you over",
            ),
            (
                "you will be, you'll be, you are being, you're being",
                "transferred, connected with, connected to a human, connected to a person, \
                 connected to an agent, connected to a colleague, connected to a specialist, \
                 connected to our",
            ),
        ],
        bare: "transferring you now, transferring you to, connecting you now, connecting you to, \
               handing you over to, putting you through to",
        conditions: "if, when, whenever, before, once, unless, as soon as, in case, whether, \
                     after you, instead of, rather than",
        denials: "not, never, don't, doesn't, isn't, can, can't, cannot, could, couldn't, should, \
                  shouldn't, would, wouldn't, won't, may, might, shall, without",
        conditions_behind: "if you, if that, if this, when you, once you, as soon as, unless, \
                            after you, in case you, once i, when i, after i",
        denials_behind: "",
        joints: "so, and, but, therefore, because, then",
        things: "the money, money, the funds, the amount, the sum, a refund, the refund, \
                 your refund, the file, the document, the steps, the process",
    },
    Phrases {
        promises: "te transfiero, le transfiero, te estoy transfiriendo, le estoy transfiriendo, \
                   estoy transfiriéndote, estoy transfiriéndole, te paso con, le paso con, \
                   te comunico con, le comunico con, te voy a transferir, le voy a transferir",
        pairs: &[],
        bare: "transfiriéndote, transfiriéndole",
        conditions: "si, cuando, antes de, en cuanto, una vez que, en caso de, a menos que, \
                     en lugar de, en vez de",
        denials: "no, nunca, jamás, tampoco, sin, puedo, podría, podemos, quiere, quieres, desea, \
                  deseas, prefiere, prefieres, gustaría",
        conditions_behind: "si me, si quiere, si quieres, si lo, cuando me, en cuanto, \
                            una vez que, a menos que",
        denials_behind: "",
        joints: "y, pero, así que, por eso, porque, entonces",
        things: "el, la, los, las, lo, un, una, unos, unas, su, sus, tu, tus, dinero",
    },
    Phrases {
        promises: "ich verbinde sie, ich verbinde dich, ich leite sie weiter, \
                   ich leite dich weiter, ich übergebe sie, ich übergebe dich, ich übergebe an, \
                   sie werden verbunden, du wirst verbunden, ich stelle sie durch, \
                   ich stelle dich durch",
        pairs: &[(
            "ich leite sie, ich leite dich",
            "an einen, an eine, an die, an den, an das, an unser, an unsere, an unseren, \
             an jemanden",
        )],
        bare: "",
        conditions: "wenn, falls, sobald, bevor, sofern, ehe, ob, statt, anstatt",
        denials: "nicht, nie, niemals, kann, könnte, soll, sollte, würde, möchten, möchtest, darf",
        conditions_behind: "wenn, falls, sobald, sofern",
        denials_behind: "nicht, nie, niemals, keinesfalls, erst",
        joints: "und, aber, also, deshalb, daher, denn",
        things: "",
    },
    Phrases {
        promises: "je vous transfère, je te transfère, je vous mets en relation, \
                   je te mets en relation, je vous passe un, je vous passe une, je te passe un, \
                   je vous mets en contact, je vous redirige vers",
        pairs: &[],
        bare: "",
        conditions: "si, quand, lorsque, avant de, avant que, dès que, une fois que, au cas où, \
                     au lieu de",
        denials: "ne, pas, jamais, sans, peux, pourrais, dois, voulez, veux, souhaitez, \
                  souhaites",
        conditions_behind: "si vous, si tu, quand vous, quand tu, dès que, une fois que",
        denials_behind: "pas, jamais",
        joints: "et, mais, donc, alors, car",
        things: "le, la, les, l'argent, l'e-mail, l'email, le, un, une, des, du, votre, vos, ce, \
                 cet, cette, ces, ton, ta, tes",
    },
    Phrases {
        promises: "おつなぎします, お繋ぎします, おつなぎいたします, お繋ぎいたします, 転送します, \
                   転送いたします, 担当者に代わります, 引き継ぎます",
        pairs: &[],
        bare: "",
        conditions: "もし, でしたら, ましたら, れば, 場合, 前に, 必要に応じて",
        denials: "",
        conditions_behind: "",
        denials_behind: "とは限りません, わけではありません",
        joints: "",
        things: "",
    },
];

/// How phrases end that name where the customer goes: no things can follow.
const SAYS_WHERE: [&str; 7] = [" to", " with", " con", " vers", " un", " une", " relation"];

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
    things: WordSet,
}

static AS_WRITTEN: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(Letters::AsWritten));
static AS_SEEN: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(Letters::AsSeen));

impl Lexicon {
    fn new(letters: Letters) -> Self {
        let (mut phrases, mut known) = (Vec::new(), Vec::new());
        for (language, words) in LANGUAGES.iter().enumerate() {
            let pairs = words.pairs.iter().flat_map(|(first, second)| joined(first, second));
            let listed = listed(words.promises).chain(pairs).map(|phrase| (phrase, false));
            let bare = self::listed(words.bare).map(|phrase| (phrase, true));
            for (phrase, is_bare) in listed.chain(bare) {
                known.push((language, is_bare));
                phrases.push(letters.folded(&phrase));
            }
        }
        let set = |list: &str| {
            let folded: Vec<String> = listed(list).map(|it| letters.folded(&it)).collect();
            WordSet::new(&folded)
        };
        let hedges = LANGUAGES.iter().map(|words| Hedges {
            conditions: set(words.conditions),
            denials: set(words.denials),
            conditions_behind: set(words.conditions_behind),
            denials_behind: set(words.denials_behind),
            joints: set(words.joints),
            things: set(words.things),
        });
        Self { promises: WordSet::new(&phrases), known, hedges: hedges.collect() }
    }

    fn of(letters: Letters) -> &'static Self {
        match letters {
            Letters::AsWritten => &AS_WRITTEN,
            Letters::AsSeen => &AS_SEEN,
        }
    }
}

fn listed(list: &str) -> impl Iterator<Item = String> {
    let phrases = list.split(',').map(|phrase| phrase.trim().to_owned());
    phrases.filter(|phrase| !phrase.is_empty())
}

fn joined(first: &str, second: &str) -> Vec<String> {
    let pairs = |first: String| listed(second).map(move |second| format!("{first} {second}"));
    listed(first).flat_map(pairs).collect()
}

/// The words by which a graph's bots promise a transfer, besides ours.
#[derive(Debug, Clone, Default)]
pub struct OwnPromises {
    as_written: WordSet,
    as_seen: WordSet,
}

impl OwnPromises {
    pub fn new<W: AsRef<str>>(words: &[W]) -> Self {
        let set = |letters: Letters| {
            let folded = words.iter().map(|words| letters.folded(words.as_ref()));
            WordSet::new(&folded.collect::<Vec<_>>())
        };
        Self { as_written: set(Letters::AsWritten), as_seen: set(Letters::AsSeen) }
    }

    fn of(&self, letters: Letters) -> &WordSet {
        match letters {
            Letters::AsWritten => &self.as_written,
            Letters::AsSeen => &self.as_seen,
        }
    }
}

/// Whether a text says so, by our words or by those of a graph.
pub fn promises_transfer(text: &str, own: &OwnPromises) -> bool {
    readings(text).iter().any(|(letters, folded)| is_promised(*letters, folded, own))
}

fn is_promised(letters: Letters, folded: &str, own: &OwnPromises) -> bool {
    let lexicon = Lexicon::of(letters);
    let mut is_promised = false;
    lexicon.promises.each(folded, |phrase, place| {
        let (language, is_bare) = lexicon.known[phrase];
        let sentence = Sentence::around(folded, &place);
        let says_where = SAYS_WHERE.iter().any(|word| folded[place.clone()].ends_with(word));
        is_promised |= sentence.promises(&lexicon.hedges[language])
            && (!is_bare || sentence.begins_clause(&lexicon.hedges[language]))
            && (says_where || !sentence.is_about_things(&lexicon.hedges[language]));
    });
    // The language of these is not known.
    own.of(letters).each(folded, |_, place| {
        let sentence = Sentence::around(folded, &place);
        is_promised |= lexicon.hedges.iter().all(|hedges| sentence.promises(hedges));
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

    /// As in "I am transferring you 10 euros".
    fn is_about_things(&self, hedges: &Hedges) -> bool {
        let behind = self.behind.trim_start();
        let is_sum = |sign: char| sign.is_ascii_digit() || matches!(sign, '€' | '$' | '£' | '¥');
        let mut is_thing = false;
        hedges.things.each(behind, |_, place| is_thing |= place.start == 0);
        is_thing || behind.starts_with(is_sum)
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
        let own = OwnPromises::new(&["over to the humans"]);
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
            ("I'll connect you with a colleague right away.", true),
            ("Please hold while I put you through.", true),
            ("You will be transferred to a specialist shortly.", true),
            ("I'm passing you over to our support team now.", true),
            ("I am escalating this to a human agent now.", true),
            ("I can connect you with a colleague.", false),
            ("I'll connect you with a colleague if you want.", false),
            ("Shall I put you through?", false),
            ("You will be transferred once you confirm it.", false),
            ("I am escalating this to the next version.", false),
            ("I am transferring you 10 euros.", false),
            ("I am transferring you the money.", false),
            ("You wrote: \"I am transferring you\". What did you mean?", false),
            ("You wrote \u{201c}I am transferring you now\u{201d}, and I see it.", false),
            ("You wrote \"connect me to a person\", so I am transferring you.", true),
            ("\"I am transferring you to billing.\"", true),
            ("I am \"transferring you\" now.", true),
            ("Over to the humans!", true),
            ("Ovеr to the humаns!", true),
            ("I am not passing you over to the humans.", false),
            ("", false),
        ] {
            assert_eq!(promises_transfer(text, &own), expected, "{text}");
        }
    }

    #[test]
    fn no_way_of_writing_hides_a_promise() {
        for text in [
            "I am trans\u{34f}ferring you now.",
            "I am trans\u{fe01}ferring you now.",
            "I am trans\u{e0041}ferring you now.",
            "I am trans\u{180e}ferring you now.",
            "I am trans\u{3164}ferring you now.",
            "I am\u{3164}transferring\u{2800}you now.",
            "I am t\u{332}r\u{332}a\u{332}nsferring you now.",
            "I am tr\u{430}nsferring you now.",
            "\u{406} am transferring y\u{43e}u now.",
            "I am \u{1d42d}ransferring you now.",
            "l am transferring you now.",
            "I am **transferring** you now.",
            "I am _transferring_ you now.",
            "I am <b>transferring</b> you now.",
            "I am<br/>transferring <span class=\"x\">you</span> now.",
            "I am [transferring](https://shop.example) you now.",
            "I am transferring... you now.",
            "I am transferring… you now.",
            "Le paso\u{34f} con un agente.",
        ] {
            assert!(promises_transfer(text, &OwnPromises::default()), "{text:?}");
        }
    }

    #[test]
    fn the_same_in_other_languages() {
        for (text, expected) in [
            ("Le paso con un agente.", true),
            ("No puedo ayudarle, así que le paso con un agente.", true),
            ("No se preocupe, te transfiero.", true),
            ("Transfiriéndote con un agente.", true),
            ("Sí, te transfiero ahora.", true),
            ("Le transfiero 10 euros a su cuenta.", false),
            ("Le transfiero el dinero hoy.", false),
            ("Le transfiero a un agente.", true),
            ("Jamás te transfiero.", false),
            ("Je vous transfère le document par e-mail.", false),
            ("Je vous transfère au service client.", true),
            ("Ich leite Sie an einen Mitarbeiter weiter.", true),
            ("Ich leite Sie an einen Mitarbeiter weiter, wenn Sie möchten.", false),
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
            assert_eq!(promises_transfer(text, &OwnPromises::default()), expected, "{text}");
        }
    }
}
