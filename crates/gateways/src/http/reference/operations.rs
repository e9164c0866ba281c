//! The pages of the reference among the operations.

use crate::http::shared::operation::{Operation, Response, Who, read};

pub const REFERENCE: [Operation; 5] = [
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/json"),
        ..read("/openapi.json", "openapi", "This reference, as an OpenAPI document.")
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/schema+json"),
        ..read(
            "/schemas/handoff-package.json",
            "package_schema",
            "What a sealed package looks like, as JSON Schema.",
        )
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/schema+json"),
        ..read(
            "/schemas/handoff-offer.json",
            "offer_schema",
            "What a sender may offer, as JSON Schema.",
        )
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/schema+json"),
        ..read(
            "/schemas/aaep.json",
            "aaep_schemas",
            "Every event and message of AAEP as JSON Schema, by its name in `$defs`.",
        )
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("text/html"),
        ..read("/docs", "docs", "This reference, as a page.")
    },
];
