//! Any text as an AAEP event, a message of a listener, or a manifest: read or refused with reasons.
#![no_main]

use libfuzzer_sys::fuzz_target;
use aaep::{handshake, read};

fuzz_target!(|text: &str| {
    if let Err(flaws) = read::read(text) {
        assert!(!flaws.is_empty());
    }
    if let Err(flaws) = handshake::read_message(text) {
        assert!(!flaws.is_empty());
    }
    if let Err(flaws) = read::check_manifest(text) {
        assert!(!flaws.is_empty());
    }
});
