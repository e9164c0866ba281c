//! The table of operations: what the reference, the tests of who may do what, and the documents are
//! made from. One row per route and method.

mod aaep;
mod conversations;
mod descriptions;
mod graphs;
mod handoffs;
pub mod tags;
mod transfers;
mod vouched;

use protocol::message::Outgoing;
use protocol::message::command::Addressed;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::acp::{AcpRequest, AcpResponse};
use super::agents::{AgentsInput, RegisterInput, RolesInput};
use super::events::FollowInput;
use super::handoffs::PageInput;
use super::ledger::{ForkInput, ForkView};
use super::messages::{InboxInput, MailboxStatus, MessageView, QueryInput};
use super::outbox::OutboxView;
use super::presence::{EndpointInput, EndpointView, PresenceInput};
use super::purge::{PurgeInput, PurgeView};
use super::teamspaces::{
    ConfigureInput, CreateInput, TeamspaceCreated, TeamspaceListed, TeamspaceView,
};
use super::tokens::{IssueInput, Nothing};
use super::view::{ActionDone, AgentView, ListPage, TokenIssued, TokenView};
use super::wake::{WakeInput, WakeView};
use aaep::AAEP;
use conversations::CONVERSATIONS;
use graphs::GRAPHS;
use handoffs::HANDOFFS;
use transfers::TRANSFERS;
use vouched::VOUCHED;

type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

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
    pub response: Response,
    pub status: u16,
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

impl Operation {
    /// What it does, in a few sentences.
    pub fn description(&self) -> &'static str {
        descriptions::of(self.id)
    }

    /// What it is about.
    pub fn tag(&self) -> &'static str {
        tags::of(self.path)
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn read(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation {
        method: "get",
        path,
        id,
        summary,
        who: Who::Member,
        query: None,
        request: None,
        response: Response::Text("text/plain"),
        status: 200,
    }
}

const fn action(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    request: MakeSchema,
) -> Operation {
    Operation {
        method: "post",
        request: Some(request),
        response: Response::Json(schema::<ActionDone>),
        ..read(path, id, summary)
    }
}

/// All operations, in the order of the reference.
pub const OPERATIONS: [Operation; COUNT] = {
    let mut all = [GENERAL[0]; COUNT];
    let parts: [&[Operation]; 7] =
        [&HANDOFFS, &CONVERSATIONS, &TRANSFERS, &GRAPHS, &AAEP, &VOUCHED, &GENERAL];
    let (mut part, mut row, mut index) = (0, 0, 0);
    while part < parts.len() {
        while row < parts[part].len() {
            all[index] = parts[part][row];
            (row, index) = (row + 1, index + 1);
        }
        (part, row) = (part + 1, 0);
    }
    all
};

const COUNT: usize = HANDOFFS.len()
    + CONVERSATIONS.len()
    + TRANSFERS.len()
    + GRAPHS.len()
    + AAEP.len()
    + VOUCHED.len()
    + GENERAL.len();

const GENERAL: [Operation; 35] = [
    Operation {
        response: Response::Json(schema::<AcpResponse>),
        ..action(
            "/v1/acp/handoff",
            "acp_handoff",
            "The `acp_handoff` tool: an action and its fields.",
            schema::<AcpRequest>,
        )
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        status: 201,
        ..action(
            "/v1/acp/messages",
            "acp_send",
            "Sends a message to agents, to the coordinators, or to everyone.",
            schema::<Addressed>,
        )
    },
    Operation {
        query: Some(schema::<QueryInput>),
        response: Response::Json(schema::<ListPage<MessageView>>),
        ..read("/v1/acp/messages", "acp_query", "Lists messages sent or received, newest first.")
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        ..read("/v1/acp/messages/{message}", "show_message", "Shows a message.")
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        status: 201,
        ..action(
            "/v1/acp/messages/{message}/respond",
            "acp_respond",
            "Answers a message, in its thread and to its sender.",
            schema::<Outgoing>,
        )
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        ..action(
            "/v1/acp/messages/{message}/read",
            "read_message",
            "A recipient has read the message.",
            schema::<Nothing>,
        )
    },
    Operation {
        query: Some(schema::<InboxInput>),
        response: Response::Json(schema::<ListPage<MessageView>>),
        ..read(
            "/v1/acp/inbox",
            "acp_inbox",
            "What the caller was sent, newest first; what is shown counts as delivered.",
        )
    },
    Operation {
        response: Response::Json(schema::<MailboxStatus>),
        ..read(
            "/v1/acp/status",
            "acp_status",
            "Counts of the caller's inbox, and what it may send.",
        )
    },
    Operation {
        query: Some(schema::<FollowInput>),
        response: Response::Text("text/event-stream"),
        ..read("/v1/events", "follow_events", "Follows the ledger live; resumes by Last-Event-ID.")
    },
    Operation {
        query: Some(schema::<AgentsInput>),
        response: Response::Json(schema::<ListPage<AgentView>>),
        ..read("/v1/agents", "list_agents", "Lists the directory.")
    },
    Operation {
        response: Response::Json(schema::<AgentView>),
        ..read("/v1/agents/{agent}", "show_agent", "Shows an agent.")
    },
    Operation {
        method: "put",
        request: Some(schema::<RolesInput>),
        response: Response::Json(schema::<AgentView>),
        ..read("/v1/agents/{agent}/roles", "set_roles", "Says what a member is trusted with.")
    },
    Operation {
        method: "put",
        who: Who::Operator,
        request: Some(schema::<RegisterInput>),
        response: Response::Json(schema::<AgentView>),
        ..read("/v1/agents/{agent}", "register_agent", "Adds an agent, or changes its profile.")
    },
    Operation {
        method: "put",
        who: Who::Operator,
        request: Some(schema::<WakeInput>),
        response: Response::Json(schema::<WakeView>),
        ..read("/v1/agents/{agent}/wake", "set_wake", "Says where an agent is called.")
    },
    Operation {
        method: "put",
        request: Some(schema::<PresenceInput>),
        response: Response::Json(schema::<AgentView>),
        ..read("/v1/agents/{agent}/presence", "set_presence", "Says whether a human is there.")
    },
    Operation {
        method: "put",
        who: Who::Operator,
        request: Some(schema::<EndpointInput>),
        response: Response::Json(schema::<EndpointView>),
        ..read("/v1/agents/{agent}/endpoint", "set_endpoint", "Says where turns reach a worker.")
    },
    Operation {
        who: Who::Operator,
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<TokenView>>),
        ..read("/v1/tokens", "list_tokens", "Lists tokens; secrets are not kept.")
    },
    Operation {
        method: "post",
        who: Who::Operator,
        request: Some(schema::<IssueInput>),
        response: Response::Json(schema::<TokenIssued>),
        status: 201,
        ..read("/v1/tokens", "issue_token", "Makes a token; the secret is shown once.")
    },
    Operation {
        method: "post",
        who: Who::Operator,
        request: Some(schema::<Nothing>),
        response: Response::Json(schema::<TokenView>),
        ..read("/v1/tokens/{token}/revoke", "revoke_token", "Ends a token at once.")
    },
    Operation {
        response: Response::Json(schema::<TeamspaceView>),
        ..read("/v1/teamspace", "show_teamspace", "Shows your teamspace and what holds in it.")
    },
    Operation {
        method: "put",
        who: Who::Operator,
        request: Some(schema::<ConfigureInput>),
        response: Response::Json(schema::<TeamspaceView>),
        ..read("/v1/teamspace", "configure_teamspace", "Replaces what is said about a teamspace.")
    },
    Operation {
        who: Who::Operator,
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<TeamspaceListed>>),
        ..read(
            "/v1/teamspaces",
            "list_teamspaces",
            "Lists all teamspaces, for operators of the whole server.",
        )
    },
    Operation {
        method: "post",
        who: Who::Operator,
        request: Some(schema::<CreateInput>),
        response: Response::Json(schema::<TeamspaceCreated>),
        status: 201,
        ..read(
            "/v1/teamspaces",
            "create_teamspace",
            "Makes a teamspace and the token of its first operator, shown once.",
        )
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<PurgeView>),
        ..action(
            "/v1/acp/messages/purge",
            "purge_messages",
            "Takes old messages out of every mailbox and erases what they said, on the record.",
            schema::<PurgeInput>,
        )
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<OutboxView>),
        ..read("/v1/outbox", "list_outbox", "What must still happen outside.")
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<OutboxView>),
        ..action(
            "/v1/outbox/revive",
            "revive_outbox",
            "Tries again what was given up.",
            schema::<Nothing>,
        )
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<ForkView>),
        ..action(
            "/v1/ledger/fork",
            "declare_fork",
            "Goes on without entries that a checkpoint vouches for, on the record.",
            schema::<ForkInput>,
        )
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/json"),
        ..read("/healthz", "health", "The process is alive.")
    },
    Operation {
        who: Who::Anyone,
        response: Response::Text("application/json"),
        ..read("/readyz", "ready", "The server can take requests.")
    },
    Operation {
        who: Who::Operator,
        response: Response::Text("application/openmetrics-text"),
        ..read("/metrics", "metrics", "Counters, for Prometheus.")
    },
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
