//! Which scene is meant, and in which language. A few keywords in each language are searched at the
//! beginnings of words, ignoring accents; the first scene with a match is played.

use super::words::DEFAULT_LANGUAGE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scene {
    Balance,
    Transfer,
    Booking,
    Report,
    Failure,
    Person,
    Email,
    Delete,
    Weather,
    Fetch,
    /// It asks something.
    Ask,
    /// It asks for a yes to a reversible action.
    Confirm,
    /// It greets, and says what it can do.
    Other,
}

/// How much of the user's text is examined. A request comes early in it.
const LOOKED_AT_CHARS_MAX: usize = 2_000;

/// A language, and words of it.
type WordsOf = (&'static str, &'static [&'static str]);

/// In this order, because "transfer me to a person" is not about money, "the booking failed" is not
/// a wish to book, and "delete my account" asks for no balance. Each word is of a language.
const WORDS: &[(Scene, &[WordsOf])] = &[
    (
        Scene::Person,
        &[
            ("en", &["person", "human", "somebody", "someone", "representative", "operator"]),
            ("en", &["handoff", "hand off", "escalate"]),
            ("es", &["persona", "humano", "alguien", "agente humano"]),
            ("de", &["mensch", "mitarbeiter", "jemand"]),
            ("fr", &["personne", "humain", "conseiller", "quelqu'un"]),
            ("ja", &["担当者", "オペレーター", "人間"]),
            ("yo", &["eniyan"]),
        ],
    ),
    (
        Scene::Failure,
        &[
            ("en", &["fail", "error", "broken", "crash"]),
            ("es", &["fallo", "falla"]),
            ("de", &["fehler", "kaputt"]),
            ("fr", &["erreur", "panne", "echec"]),
            ("ja", &["エラー", "失敗"]),
            ("yo", &["asise"]),
        ],
    ),
    (
        Scene::Delete,
        &[
            ("en", &["delet", "remove", "erase", "wipe", "destroy", "drop the"]),
            ("es", &["borra", "elimina"]),
            ("de", &["losch", "loesch", "entfern"]),
            ("fr", &["supprim", "efface"]),
            ("ja", &["削除", "消して", "消去"]),
            ("yo", &["pare", "pa faili"]),
        ],
    ),
    (
        Scene::Transfer,
        &[
            (
                "en",
                &["transfer", "send money", "send $", "wire", "pay", "buy", "purchase", "order"],
            ),
            ("es", &["transferir", "transferencia", "enviar dinero", "paga", "compra"]),
            ("de", &["uberweis", "ueberweis", "bezahl", "kauf"]),
            ("fr", &["virement", "virer", "envoyer de l'argent", "paye", "achete"]),
            ("ja", &["送金", "振込", "振り込", "支払", "購入"]),
            ("yo", &["fi owo", "owo ranse"]),
        ],
    ),
    (
        Scene::Email,
        &[
            ("en", &["email", "e-mail", "mail", "send", "message", "post", "publish"]),
            ("es", &["correo", "enviar", "envia", "mensaje"]),
            ("de", &["nachricht", "schick", "sende"]),
            ("fr", &["courriel", "envoie", "envoyer"]),
            ("ja", &["メール", "送信"]),
            ("yo", &["imeeli", "ranse"]),
        ],
    ),
    (
        Scene::Confirm,
        &[
            ("en", &["confirm", "approv", "permission", "consent", "reminder"]),
            ("es", &["aprueb", "aproba", "permiso", "recordatorio"]),
            ("de", &["bestatig", "bestaetig", "genehmig", "erinner"]),
            ("fr", &["approuve", "rappel"]),
            ("ja", &["確認", "承認", "通知"]),
            ("yo", &["fowosi", "irannileti"]),
        ],
    ),
    (
        Scene::Weather,
        &[
            ("en", &["weather", "forecast", "rain", "sunny"]),
            ("es", &["tiempo", "clima", "pronostico"]),
            ("de", &["wetter", "vorhersage"]),
            ("fr", &["meteo", "quel temps"]),
            ("ja", &["天気"]),
            ("yo", &["oju ojo"]),
        ],
    ),
    (
        Scene::Balance,
        &[
            ("en", &["balance", "account"]),
            ("es", &["saldo", "cuenta"]),
            ("de", &["kontostand", "konto"]),
            ("fr", &["solde", "compte"]),
            ("ja", &["残高", "口座"]),
            ("yo", &["akanti", "iye owo"]),
        ],
    ),
    (
        Scene::Booking,
        &[
            ("en", &["book", "reservation", "reserve", "table", "restaurant", "flight"]),
            ("es", &["mesa", "reserva"]),
            ("de", &["buch", "tisch", "reservier"]),
            ("fr", &["reserver", "reservez"]),
            ("ja", &["予約", "席"]),
            ("yo", &["tabili"]),
        ],
    ),
    (
        Scene::Ask,
        &[
            ("en", &["ask me", "ask a", "ask something", "question", "choose", "clarif"]),
            ("es", &["pregunta"]),
            ("de", &["frag"]),
            ("fr", &["demande-moi", "pose-moi", "demander"]),
            ("ja", &["質問"]),
            ("yo", &["ibeere", "beere"]),
        ],
    ),
    (
        Scene::Report,
        &[
            ("en", &["report", "summar"]),
            ("es", &["informe", "resumen"]),
            ("de", &["bericht"]),
            ("fr", &["rapport"]),
            ("ja", &["レポート", "報告"]),
            ("yo", &["iroyin"]),
        ],
    ),
    (
        Scene::Fetch,
        &[
            ("en", &["fetch", "look up", "lookup", "search", "find", "download", "page", "web"]),
            ("es", &["busca", "pagina"]),
            ("de", &["nachschlag", "such", "abruf", "seite"]),
            ("fr", &["cherche", "trouve"]),
            ("ja", &["検索", "調べ", "取得"]),
            ("yo", &["sawari", "wa fun mi"]),
        ],
    ),
    (
        Scene::Other,
        &[
            ("en", &["hello", "hi", "hey", "help"]),
            ("es", &["hola", "buenos", "ayuda"]),
            ("de", &["hallo", "guten", "hilfe"]),
            ("fr", &["bonjour", "salut", "aide"]),
            ("ja", &["こんにちは"]),
            ("yo", &["bawo", "e nle"]),
        ],
    ),
];

/// The scene for what the user said, and the language in which they said it.
pub fn choose(words: &str) -> (Scene, &'static str) {
    let said = plain(words);
    let is_said = |word: &&str| {
        said.match_indices(word).any(|(at, _)| {
            // Japanese has no spaces, so a word may begin anywhere there.
            let before = said[..at].chars().next_back();
            !word.is_ascii() || before.is_none_or(|before| !before.is_alphanumeric())
        })
    };
    for (scene, languages) in WORDS {
        // Of two languages that have the word, the one with the longer one is meant.
        let all = languages.iter().flat_map(|(language, words)| {
            words.iter().filter(|word| is_said(word)).map(move |word| (word.len(), *language))
        });
        if let Some((_, language)) = all.max_by_key(|(length, _)| *length) {
            return (*scene, language);
        }
    }
    (Scene::Other, DEFAULT_LANGUAGE)
}

/// In lower case and without accents.
fn plain(words: &str) -> String {
    let lower = words.chars().take(LOOKED_AT_CHARS_MAX).flat_map(char::to_lowercase);
    lower.filter_map(without_accent).collect()
}

fn without_accent(character: char) -> Option<char> {
    match character {
        '\u{0300}'..='\u{036F}' => None,
        'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' => Some('a'),
        'é' | 'è' | 'ê' | 'ë' | 'ẹ' => Some('e'),
        'í' | 'ì' | 'î' | 'ï' => Some('i'),
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ọ' => Some('o'),
        'ú' | 'ù' | 'û' | 'ü' => Some('u'),
        'ñ' | 'ń' | 'ǹ' => Some('n'),
        'ç' => Some('c'),
        'ṣ' => Some('s'),
        '’' => Some('\''),
        other => Some(other),
    }
}
