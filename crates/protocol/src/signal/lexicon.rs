//! The words that signals are detected by, in the languages we know. The lists are short on
//! purpose: each word should be worth its false alarms, and slurs are not worth being listed.

use std::sync::LazyLock;

use crate::route::words::{WordSet, fold};

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Anger, or the end of patience.
    Frustration,
    /// A wish to talk to a person.
    HumanRequest,
    Profanity,
    /// Thanks and praise; a negation before it reverses it.
    Praise,
    Negation,
}

/// One phrase. Its weight is the score that the phrase alone gives.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub language: &'static str,
    pub sign: Sign,
    pub weight: f64,
    pub phrase: &'static str,
}

/// A language, a meaning, a weight, and comma-separated phrases.
type List = (&'static str, Sign, f64, &'static str);

use Sign::{Frustration, HumanRequest, Negation, Praise, Profanity};

const ENGLISH: [List; 9] = [
    (
        "en",
        Frustration,
        0.75,
        "ridiculous, unacceptable, fed up, sick of, sick and tired, waste of time, worst, \
         outrageous, thanks for nothing, you are useless, you're useless, furious, losing my \
         patience, had enough, cancel my account, hate this, pathetic",
    ),
    (
        "en",
        Frustration,
        0.5,
        "frustrated, frustrating, annoyed, annoying, angry, useless, terrible, awful, \
         horrible, still not working, doesn't help, does not help, not helping, nonsense, \
         disappointed, already told you, how many times, makes no sense, going in circles",
    ),
    ("en", Frustration, 0.25, "still waiting, broken, wrong again, again and again, come on"),
    (
        "en",
        HumanRequest,
        0.9,
        "agent please, human please, talk to a human, speak to a human, talk to a person, \
         speak to a person, talk to someone, speak to someone, talk to an agent, speak to an \
         agent, speak with an agent, talk to a real person, real person, real human, live \
         agent, human agent, speak to a manager, speak to your manager, get me a human, \
         connect me to a human, customer representative, call me back",
    ),
    ("en", HumanRequest, 0.6, "operator, representative, supervisor, a human, someone real"),
    ("en", Profanity, 0.8, "fuck, fucking, shit, bullshit, asshole, wtf, piss off, bastard"),
    ("en", Profanity, 0.4, "damn, damned, crap, bloody hell, screw you, sucks"),
    (
        "en",
        Praise,
        0.5,
        "thanks, thank you, great, perfect, awesome, helpful, happy, good, nice, love it, \
         excellent, wonderful, satisfied, acceptable, appreciate",
    ),
    (
        "en",
        Negation,
        0.0,
        "not, no, never, isn't, wasn't, aren't, don't, doesn't, didn't, can't, won't, hardly, \
         nothing",
    ),
];

const SPANISH: [List; 7] = [
    (
        "es",
        Frustration,
        0.75,
        "estoy harto, estoy harta, inaceptable, es una vergüenza, ridículo, indignante, \
         pérdida de tiempo, no sirve para nada, son unos inútiles, pésimo, el colmo",
    ),
    (
        "es",
        Frustration,
        0.5,
        "frustrado, frustrada, frustrante, enfadado, enfadada, enojado, enojada, molesto, \
         molesta, inútil, terrible, horrible, decepcionado, decepcionada, sigue sin \
         funcionar, ya te lo dije, cuántas veces",
    ),
    (
        "es",
        HumanRequest,
        0.9,
        "agente por favor, hablar con una persona, hablar con un humano, hablar con alguien, \
         hablar con un agente, persona real, agente humano, quiero un humano",
    ),
    ("es", HumanRequest, 0.6, "operador, operadora, representante, supervisor"),
    ("es", Profanity, 0.8, "mierda, joder, puta madre, cabrón, gilipollas, pendejo"),
    ("es", Praise, 0.5, "gracias, perfecto, genial, contento, contenta, excelente, bien"),
    ("es", Negation, 0.0, "no, nunca, nada, ni, tampoco, jamás"),
];

const GERMAN: [List; 7] = [
    (
        "de",
        Frustration,
        0.75,
        "unverschämtheit, unverschämt, inakzeptabel, nicht hinnehmbar, zeitverschwendung, \
         lächerlich, mir reicht's, mir reicht es, es reicht, die schnauze voll, eine \
         frechheit, saftladen, stinksauer",
    ),
    (
        "de",
        Frustration,
        0.5,
        "frustriert, frustrierend, verärgert, wütend, sauer, genervt, nervig, nutzlos, \
         furchtbar, schrecklich, enttäuscht, funktioniert immer noch nicht, wie oft denn \
         noch, hilft mir nicht, so ein unsinn",
    ),
    (
        "de",
        HumanRequest,
        0.9,
        "mitarbeiter bitte, mit einem menschen, mit einer person, mit jemandem sprechen, \
         echten menschen, echter mensch, mit einem mitarbeiter, menschlichen mitarbeiter, \
         kundenberater bitte",
    ),
    ("de", HumanRequest, 0.6, "mitarbeiter, kundenberater, vorgesetzten, sachbearbeiter"),
    ("de", Profanity, 0.8, "scheiße, scheisse, arschloch, verarschen, leck mich, verdammt"),
    ("de", Praise, 0.5, "danke, super, perfekt, toll, zufrieden, prima, gut, hilfreich"),
    ("de", Negation, 0.0, "nicht, kein, keine, nie, niemals, nichts, kaum"),
];

const FRENCH: [List; 7] = [
    (
        "fr",
        Frustration,
        0.75,
        "inacceptable, ridicule, c'est une honte, ras le bol, marre de, j'en ai marre, perte \
         de temps, scandaleux, n'importe quoi, inadmissible",
    ),
    (
        "fr",
        Frustration,
        0.5,
        "frustré, frustrée, frustrant, énervé, énervée, énervant, en colère, furieux, \
         furieuse, inutile, nul, horrible, déçu, déçue, ne marche toujours pas, combien de \
         fois",
    ),
    (
        "fr",
        HumanRequest,
        0.9,
        "un agent s'il vous plaît, parler à quelqu'un, parler à un humain, parler à une \
         personne, parler à un conseiller, parler à un agent, vraie personne, un être humain",
    ),
    ("fr", HumanRequest, 0.6, "conseiller, conseillère, opérateur, un responsable"),
    ("fr", Profanity, 0.8, "merde, putain, connard, bordel, foutre"),
    ("fr", Praise, 0.5, "merci, parfait, super, génial, content, contente, satisfait, utile"),
    ("fr", Negation, 0.0, "pas, jamais, aucun, aucune, rien, guère"),
];

/// In Japanese a negation follows its word, so whole phrases are listed.
const JAPANESE: [List; 6] = [
    (
        "ja",
        Frustration,
        0.75,
        "ふざけるな, ふざけないで, いい加減にして, いいかげんにして, ありえない, 最悪, 話にならない, 時間の無駄, うんざり, 許せない",
    ),
    (
        "ja",
        Frustration,
        0.5,
        "イライラ, いらいら, 腹が立つ, 怒って, 役に立たない, 使えない, ひどい, がっかり, 何度も言, 意味がわからない, 不満",
    ),
    (
        "ja",
        HumanRequest,
        0.9,
        "担当者につないで, 担当者に繋いで, 担当者と話, 人と話したい, 人間と話, 人につないで, オペレーターにつないで, オペレーターと話, 有人対応",
    ),
    ("ja", HumanRequest, 0.6, "オペレーター, 担当者, 上司を出"),
    ("ja", Profanity, 0.8, "くそったれ, クソ, 馬鹿野郎, バカ野郎, ふざけんな, 死ね"),
    ("ja", Praise, 0.5, "ありがとう, 助かりました, 素晴らしい, 完璧, 嬉しい"),
];

/// All phrases, in one automaton.
#[derive(Debug)]
pub struct Lexicon {
    pub words: WordSet,
    pub entries: Vec<Entry>,
}

/// Made once, when the first message is scored.
pub static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let lists = ENGLISH.iter().chain(&SPANISH).chain(&GERMAN).chain(&FRENCH).chain(&JAPANESE);
    let entries = lists.flat_map(|(language, sign, weight, phrases)| {
        let entry = |phrase: &'static str| {
            let (sign, weight, phrase) = (*sign, *weight, phrase.trim());
            Entry { language, sign, weight, phrase }
        };
        phrases.split(',').map(entry)
    });
    let entries: Vec<Entry> = entries.collect();
    let folded: Vec<String> = entries.iter().map(|entry| fold(entry.phrase)).collect();
    Lexicon { words: WordSet::new(&folded), entries }
});

/// Languages with lists of their own.
pub const LANGUAGES: [&str; 5] = ["en", "es", "de", "fr", "ja"];
