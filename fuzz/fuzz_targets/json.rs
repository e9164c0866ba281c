//! Any bytes as a body: read or refused. What was read has one canonical text, and that reads as
//! the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::canonical::canonical;
use protocol::json::{Bounds, parse};

const BOUNDS: Bounds = Bounds {
    depth_max: 32,
    string_bytes_max: 256 * 1024,
    array_items_max: 1_000,
    object_keys_max: 256,
    free_text: &[],
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = parse(bytes, &BOUNDS) else { return };
    let text = canonical(&value);
    let again = parse(text.as_bytes(), &BOUNDS).expect("its own text is within the bounds");
    assert_eq!(canonical(&again), text);
});
