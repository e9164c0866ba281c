//! Which scene is meant. A few words in each language, looked for at the beginnings of words and
//! without regard to accents; the first scene with one of them is played.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scene {
    Balance,
    Transfer,
    Booking,
    Report,
    Failure,
    Person,
    /// It says what it can do.
    Other,
}

/// How much of what the user said is looked at. Whoever wants something says so at once.
const LOOKED_AT_CHARS_MAX: usize = 2_000;

/// In this order, because "transfer me to a person" is not about money, and "the booking failed" is
/// not a wish to book.
const WORDS: &[(Scene, &[&str])] = &[
    (
        Scene::Person,
        &[
            "person",
            "human",
            "somebody",
            "someone",
            "representative",
            "operator",
            "handoff",
            "persona",
            "humano",
            "alguien",
            "agente humano",
            "mensch",
            "mitarbeiter",
            "jemand",
            "personne",
            "humain",
            "conseiller",
            "quelqu'un",
            "担当者",
            "オペレーター",
            "人間",
            "eniyan",
        ],
    ),
    (
        Scene::Failure,
        &[
            "fail",
            "error",
            "broken",
            "crash",
            "weather",
            "fallo",
            "falla",
            "fehler",
            "kaputt",
            "wetter",
            "erreur",
            "panne",
            "echec",
            "meteo",
            "エラー",
            "失敗",
            "天気",
            "asise",
        ],
    ),
    (
        Scene::Transfer,
        &[
            "transfer",
            "send money",
            "wire",
            "pay",
            "transferir",
            "transferencia",
            "enviar dinero",
            "uberweis",
            "ueberweis",
            "virement",
            "virer",
            "envoyer de l'argent",
            "送金",
            "振込",
            "振り込",
            "fi owo",
            "owo ranse",
        ],
    ),
    (
        Scene::Balance,
        &[
            "balance",
            "account",
            "saldo",
            "cuenta",
            "kontostand",
            "konto",
            "solde",
            "compte",
            "残高",
            "口座",
            "akanti",
            "iye owo",
        ],
    ),
    (
        Scene::Booking,
        &["book", "reserv", "table", "restaurant", "mesa", "buch", "tisch", "tabili", "予約", "席"],
    ),
    (
        Scene::Report,
        &[
            "report",
            "summary",
            "informe",
            "resumen",
            "bericht",
            "rapport",
            "レポート",
            "報告",
            "iroyin",
        ],
    ),
];

/// The scene for what the user said.
pub fn choose(words: &str) -> Scene {
    let said = plain(words);
    let is_said = |word: &&str| {
        said.match_indices(word).any(|(at, _)| {
            // Japanese has no spaces, so a word may begin anywhere there.
            let before = said[..at].chars().next_back();
            !word.is_ascii() || before.is_none_or(|before| !before.is_alphanumeric())
        })
    };
    let found = WORDS.iter().find(|(_, words)| words.iter().any(is_said));
    found.map_or(Scene::Other, |(scene, _)| *scene)
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
