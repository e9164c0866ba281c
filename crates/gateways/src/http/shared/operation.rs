//! One row of the table of operations.

use schemars::{JsonSchema, Schema, SchemaGenerator};

pub type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub id: &'static str,
    pub summary: &'static str,
    pub who: Who,
    pub query: Option<MakeSchema>,
    pub request: Option<MakeSchema>,
    /// The type of a body that is no JSON.
    pub text_request: Option<&'static str>,
    pub response: Response,
    pub status: u16,
    /// Whether a repeat with the same key takes effect once. Ignored for reads.
    pub is_keyed: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Response {
    Json(MakeSchema),
    Text(&'static str),
}

/// Who may ask. Within these, the rules decide who may do what to which handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Anyone,
    /// Agents and operators of the teamspace.
    Member,
    /// Those, and the customer of the conversation.
    Party,
    Operator,
}

pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

pub const fn read(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation {
        method: "get",
        path,
        id,
        summary,
        who: Who::Member,
        query: None,
        request: None,
        text_request: None,
        response: Response::Text("text/plain"),
        status: 200,
        is_keyed: true,
    }
}

/// An operation that changes something. Its row says what it answers.
pub const fn action(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    request: MakeSchema,
) -> Operation {
    Operation {
        method: "post",
        request: Some(request),
        response: Response::Text("application/json"),
        ..read(path, id, summary)
    }
}
