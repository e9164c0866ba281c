//! The operations for people who run a teamspace or the server.

use super::ledger::{ForkInput, ForkView};
use super::outbox::{OutboxInput, OutboxView, ReviveInput};
use super::teamspaces::{
    ConfigureInput, CreateInput, TeamspaceCreated, TeamspaceListed, TeamspaceView,
};
use super::token_view::{TokenIssued, TokenView};
use super::tokens::IssueInput;
use super::usage::{QuotasInput, UsageInput, UsageView};
use crate::http::shared::input::Nothing;
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

/// Tokens, teamspaces, and what they use.
pub const ACCESS: [Operation; 9] = [
    Operation {
        who: Who::Operator,
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<TokenView>>),
        ..read("/v1/tokens", "list_tokens", "Lists tokens; secrets are not kept.")
    },
    Operation {
        is_keyed: false,
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
        ..read("/v1/teamspace", "show_teamspace", "Shows your teamspace and its settings.")
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
        is_keyed: false,
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
        query: Some(schema::<UsageInput>),
        response: Response::Json(schema::<UsageView>),
        ..read("/v1/usage", "show_usage", "Shows what you use of your quotas.")
    },
    Operation {
        method: "put",
        who: Who::Operator,
        request: Some(schema::<QuotasInput>),
        response: Response::Json(schema::<UsageView>),
        ..read(
            "/v1/quotas",
            "set_quotas",
            "Sets the quotas of a teamspace, for operators of the whole server.",
        )
    },
];

/// The outbox, the ledger, and the probes.
pub const RUNNING: [Operation; 6] = [
    Operation {
        who: Who::Operator,
        query: Some(schema::<OutboxInput>),
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
            schema::<ReviveInput>,
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
];
