//! A stored event, the name on the first line and the body after it: read or refused. What was read
//! is written in one way, which reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::codec::{decode, encode};

fuzz_target!(|text: &str| {
    let (name, body) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(event) = decode(name, 1, body) else { return };
    let written = encode(&event);
    let again = decode(written.name, written.version, &written.body).expect("we wrote it");
    assert_eq!(again, event);
});
