//! The operations on agents.

use super::directory::{AgentsInput, RegisterInput, RolesInput};
use super::presence::{EndpointInput, EndpointView, PresenceInput};
use super::view::AgentView;
use super::wake::{WakeInput, WakeView};
use crate::http::shared::operation::{Operation, Response, Who, read, schema};
use crate::http::shared::paging::ListPage;

pub const AGENTS: [Operation; 7] = [
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
];
