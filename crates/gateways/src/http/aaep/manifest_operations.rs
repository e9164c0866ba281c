//! The rows about the manifest and the keys that vouch for it.

use aaep::manifest::{KEYS_PATH, MANIFEST_PATH, SIGNED_PATH};

use crate::http::aaep::manifest::{KeysView, RotateInput};
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};

pub const MANIFEST: [Operation; 5] = [
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/json"),
        ..read(MANIFEST_PATH, "aaep_manifest", "What this server says about itself, for AAEP.")
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/jose"),
        ..read(SIGNED_PATH, "aaep_signed_manifest", "The same, signed: a JWS with Ed25519.")
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/jwk-set+json"),
        ..read(KEYS_PATH, "aaep_keys", "The public keys that sign it.")
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<KeysView>),
        ..read("/v1/aaep/keys", "list_aaep_keys", "The keys that sign the manifest, or will.")
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<KeysView>),
        ..action(
            "/v1/aaep/keys/rotate",
            "rotate_aaep_keys",
            "The next key signs the manifest from now on.",
            schema::<RotateInput>,
        )
    },
];
