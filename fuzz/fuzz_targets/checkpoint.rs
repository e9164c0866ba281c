//! A verifier key on the first line and a signed note after it: opened or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::checkpoint::Verifier;

fuzz_target!(|text: &str| {
    let (key, note) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok(verifier) = Verifier::new(key) {
        let _ = verifier.open(note);
    }
});
