//! The operations of the witness.

use crate::http::shared::operation::{Operation, Who, read};

pub const WITNESS: [Operation; 2] = [
    Operation {
        method: "post",
        who: Who::Anyone,
        text_request: Some("text/plain"),
        is_keyed: false,
        ..read(
            "/witness/add-checkpoint",
            "add_checkpoint",
            "Cosigns a checkpoint that continues the last one of its log.",
        )
    },
    Operation {
        who: Who::Anyone,
        ..read("/witness/key", "witness_key", "The key with which the server cosigns.")
    },
];
