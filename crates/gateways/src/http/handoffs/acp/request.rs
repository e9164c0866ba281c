//! The form of a request of `acp_handoff`: one for each action, made from the types that the
//! actions are read into.

use std::borrow::Cow;

use engine::read::query::LIST_ROWS_MAX;
use protocol::handoff::check::{Delegation, Proposal};
use protocol::handoff::edit::OfferEdit;
use protocol::handoff::package::Offer;
use protocol::handoff::progress::ProgressReport;
use protocol::ids::AgentId;
use protocol::sealed_cursor;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::http::handoffs::completion::{CompleteInput, ConfirmInput, DisputeInput};
use crate::http::handoffs::delegation::ReassignInput;
use crate::http::handoffs::lifecycle::{
    AcceptInput, ActivateInput, CloseInput, DiscardInput, RejectInput,
};
use crate::http::handoffs::negotiation::{
    ApproveInput, ExtendSlaInput, RefuseInput, WithdrawInput,
};
use crate::http::handoffs::read::ListInput;
use crate::http::handoffs::recall::RecallInput;
use crate::http::shared::input::Nothing;

/// A request: an action and its fields.
#[derive(Debug)]
pub enum AcpRequest {}

/// Whether an action names a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Always,
    /// A draft that is saved again has one; a new draft does not.
    Maybe,
    Never,
}

const ID: &str = "The id of a handoff. A text that is none names nothing: `not_found`.";

type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

const ACTIONS: [(&str, Names, MakeSchema); 23] = [
    ("draft", Names::Maybe, schema::<Offer>),
    ("initiate", Names::Never, schema::<Proposal>),
    // A draft, changed and as it was saved.
    ("initiate", Names::Always, schema::<Proposal>),
    ("initiate", Names::Always, schema::<Nothing>),
    ("accept", Names::Always, schema::<AcceptInput>),
    ("approve", Names::Always, schema::<ApproveInput>),
    ("refuse", Names::Always, schema::<RefuseInput>),
    ("reject", Names::Always, schema::<RejectInput>),
    ("counter", Names::Always, schema::<OfferEdit>),
    ("withdraw", Names::Always, schema::<WithdrawInput>),
    ("delegate", Names::Always, schema::<Delegation>),
    ("reassign", Names::Always, schema::<ReassignInput>),
    ("activate", Names::Always, schema::<ActivateInput>),
    ("progress", Names::Always, schema::<ProgressReport>),
    ("recall", Names::Always, schema::<RecallInput>),
    ("complete", Names::Always, schema::<CompleteInput>),
    ("confirm", Names::Always, schema::<ConfirmInput>),
    ("dispute", Names::Always, schema::<DisputeInput>),
    ("extend_sla", Names::Always, schema::<ExtendSlaInput>),
    ("close", Names::Always, schema::<CloseInput>),
    ("discard", Names::Always, schema::<DiscardInput>),
    ("query", Names::Never, schema::<ListInput>),
    ("query", Names::Always, schema::<Nothing>),
];

impl JsonSchema for AcpRequest {
    fn schema_name() -> Cow<'static, str> {
        "AcpRequest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let branches = ACTIONS.map(|(action, names, make)| branch(generator, action, names, make));
        json_schema!({ "oneOf": branches })
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

fn branch(generator: &mut SchemaGenerator, action: &str, names: Names, make: MakeSchema) -> Schema {
    let mut schema = make(generator);
    let caller = generator.subschema_for::<AgentId>();
    let fields = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    fields["action"] = json!({ "type": "string", "const": action });
    if names != Names::Never {
        fields["handoff_id"] = json!({ "type": "string", "description": ID });
    }
    if action != "query" {
        fields["from_agent"] = described(caller, "The caller itself, if it is said at all.");
    }
    match (action, names) {
        ("initiate", Names::Never) => {
            let text = "`true`: check it and change nothing.";
            fields["dry_run"] = json!({ "type": "boolean", "description": text });
        }
        ("query", Names::Never) => {
            fields["limit"] = json!({ "type": "integer", "minimum": 1, "maximum": LIST_ROWS_MAX });
            let text = fields["overdue"]["description"].take();
            fields["overdue"] = json!({ "type": "boolean", "description": text });
            fields["cursor"]["pattern"] = sealed_cursor::PATTERN.into();
        }
        (_, _) => {}
    }
    protocol::form::require(&mut schema, "action");
    if names == Names::Always {
        protocol::form::require(&mut schema, "handoff_id");
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

fn described(schema: Schema, text: &str) -> Value {
    let mut schema = schema.to_value();
    schema["description"] = text.into();
    schema
}

/// The names of the actions, for the error about an unknown one.
pub fn actions() -> String {
    let mut names: Vec<_> = ACTIONS.iter().map(|(action, _, _)| *action).collect();
    names.dedup();
    format!("one of {}", names.join(", "))
}
