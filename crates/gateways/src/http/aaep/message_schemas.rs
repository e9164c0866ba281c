//! The messages of listeners among the schemas of the reference. Their texts are those of
//! `/schemas/aaep.json`.

use aaep::schemas::SCHEMAS;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// What [`reply`] takes.
const REPLIES: [&str; 4] =
    ["confirmation.reply", "clarification.reply", "subscription.renegotiate", "subscription.close"];

pub fn request(generator: &mut SchemaGenerator) -> Schema {
    message(generator, "subscription.request")
}

pub fn accepted(generator: &mut SchemaGenerator) -> Schema {
    message(generator, "subscription.accepted")
}

pub fn rejected(generator: &mut SchemaGenerator) -> Schema {
    message(generator, "subscription.rejected")
}

/// An answer to a question, new terms, or the end of a subscription.
pub fn reply(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": REPLIES.map(|name| message(generator, name)) })
}

/// Refers to the schema of a message, as `AaepSubscriptionRequest` for `subscription.request`.
fn message(generator: &mut SchemaGenerator, name: &str) -> Schema {
    let (_, text) = SCHEMAS.iter().find(|(known, _)| *known == name).expect("a known message");
    let mut schema: Value = serde_json::from_str(text).expect("our schemas are JSON");
    schema.as_object_mut().and_then(|fields| fields.remove("$schema"));
    let capitalised = name.split('.').map(|word| word[..1].to_uppercase() + &word[1..]);
    let component = format!("Aaep{}", capitalised.collect::<String>());
    let reference = format!("#/components/schemas/{component}");
    generator.definitions_mut().insert(component, schema);
    json_schema!({ "$ref": reference })
}
