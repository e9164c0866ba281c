//! Every store keeps the same promises.

mod conformance;
#[expect(dead_code, reason = "tests of other crates use the rest")]
#[path = "../../../engine/tests/it/support.rs"]
mod support;
