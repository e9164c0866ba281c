//! The road and the loops on real stores, without a gateway.

mod road;
#[expect(dead_code, reason = "tests of other crates use the rest")]
mod support;
