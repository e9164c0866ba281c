//! Why an object store that speaks S3 refuses a request: the code in the XML of its answer, and
//! what an operator does about it. Only codes that are listed here are shown, because the rest of
//! the answer is text of others.

/// No object is there, but its bucket is.
pub const NO_SUCH_KEY: &str = "NoSuchKey";

const MEANINGS: [(&str, &str); 14] = [
    (
        "AccessDenied",
        "the key may not do this; it needs s3:GetObject and s3:PutObject on the objects, and \
         s3:ListBucket on the bucket, or a missing object cannot be told from a forbidden one",
    ),
    (
        "AuthorizationHeaderMalformed",
        "the bucket is in another region than `ledger.witness_s3_region`",
    ),
    ("ConditionalRequestConflict", "another write was under way; this one is tried again"),
    ("ExpiredToken", "the session token in `ledger.witness_s3_key_file` has expired"),
    (
        "InvalidAccessKeyId",
        "the store does not know the access key id in `ledger.witness_s3_key_file`, or the key \
         expires and the file lacks its session token",
    ),
    ("InvalidToken", "the session token in `ledger.witness_s3_key_file` is wrong"),
    ("NoSuchBucket", "the bucket in `ledger.witness_url` does not exist"),
    ("NotImplemented", "the store refuses conditions (`If-Match`), so it cannot be a witness"),
    (
        "PermanentRedirect",
        "the bucket is at another address or in another region than the settings say",
    ),
    ("RequestTimeTooSkewed", "the clock of this machine and that of the store differ too much"),
    (
        "SignatureDoesNotMatch",
        "the secret in `ledger.witness_s3_key_file` is wrong, or a proxy changes the requests",
    ),
    ("SlowDown", "the store asks for fewer requests"),
    ("TemporaryRedirect", "the bucket is new, and its address is not known everywhere yet"),
    ("XAmzContentSHA256Mismatch", "the body that the store received is not the one that was sent"),
];

/// The code of an error.
pub fn code(answer: &str) -> Option<&str> {
    let (_, after) = answer.split_once("<Code>")?;
    let (code, _) = after.split_once("</Code>")?;
    Some(code.trim())
}

/// A code as it is listed here, and what it means.
pub fn meaning(code: &str) -> Option<(&'static str, &'static str)> {
    MEANINGS.into_iter().find(|(known, _)| *known == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_codes_have_a_meaning() {
        for (answer, expected, has_meaning) in [
            ("<Error><Code>NoSuchBucket</Code></Error>", Some("NoSuchBucket"), true),
            ("<Error>\n <Code> SlowDown </Code><Message>Code</Message>", Some("SlowDown"), true),
            ("<Error><Code>NoSuchKey</Code></Error>", Some(NO_SUCH_KEY), false),
            ("<Error><Code>NoSuchBucket", None, false),
            ("</Code><Code>", None, false),
            ("", None, false),
        ] {
            let found = code(answer);
            assert_eq!(found, expected, "{answer}");
            assert_eq!(found.and_then(meaning).is_some(), has_meaning, "{answer}");
        }
        assert!(MEANINGS.is_sorted(), "in the order of the alphabet");
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_read(answer in "(<Code>|</Code>|SlowDown|\\PC){0,6}") {
            assert!(code(&answer).is_none_or(|code| answer.contains(code)));
        }
    }
}
