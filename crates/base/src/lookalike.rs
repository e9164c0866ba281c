//! Texts that a person reads as the same, although their characters differ.

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// The letters and digits of a text as a person sees them: without case, accents, style and script,
/// and without everything between them. Two texts with the same letters look alike.
pub fn letters(text: &str) -> String {
    // A capital may look like a letter that its small form does not look like.
    let plain: String = text.nfkc().collect();
    let plain: String = skeleton(&plain).flat_map(char::to_lowercase).collect();
    let seen: String = skeleton(&plain).collect();
    // Again, as what looks alike may have been a capital or an accent.
    let seen: String = seen.nfkd().flat_map(char::to_lowercase).collect();
    seen.chars().map(plain_letter).filter(|letter| letter.is_alphanumeric()).collect()
}

/// A single stroke is one letter, and small capitals are small letters.
fn plain_letter(letter: char) -> char {
    match letter {
        'l' | '1' | '|' | 'ı' | 'ɪ' | 'ł' => 'i',
        'ᴀ' => 'a',
        'ᴋ' | 'ĸ' => 'k',
        'ᴛ' => 't',
        'ꜱ' => 's',
        'ᴜ' => 'u',
        'ŧ' => 't',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_alike_has_the_same_letters() {
        let alike = [
            "Tasuki",
            "tasuki",
            "T A S U K I",
            "Tasukl",
            "Tasuk1",
            "Ｔａｓｕｋｉ",
            "𝐓asuki",
            "Tаsuki",
            "Tasukⅰ",
            "ⓉasukⒾ",
            "ꓔasuki",
            "Ꭲasuki",
            "ᴛᴀsᴜᴋɪ",
            "Tasuĸi",
            "Tásûķì",
            "Tasu\u{200B}ki",
            "ТАЅUКІ",
        ];
        for name in alike {
            assert_eq!(letters(name), "tasuki", "{name}");
        }
        for name in ["Taki", "Tesuki", "Hana", "佐々木"] {
            assert_ne!(letters(name), "tasuki", "{name}");
        }
        assert_eq!(letters("Send 5\u{A0}dollars."), letters("send 5 dollars"));
        for alike in ["Pay Вob", "Pay Βob", "РАУ ВОВ", "Ꮲay Bob", "pay bob"] {
            assert_eq!(letters(alike), letters("Pay Bob"), "{alike}");
        }
        assert_eq!(letters("Мaria Νora Неnry"), letters("Maria Nora Henry"));
        assert_ne!(letters("Send 5 dollars"), letters("Send 6 dollars"));
    }
}
