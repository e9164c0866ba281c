//! The operations on graphs.

use protocol::route::AgentGraph;

use crate::http::conversations::graphs::{GraphListed, GraphRemoved, GraphView, SaveQuery};
use crate::http::shared::input::Nothing;
use crate::http::shared::operation::{Operation, Response, action, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

pub const GRAPHS: [Operation; 4] = [
    Operation {
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<GraphListed>>),
        ..read("/v1/graphs", "list_graphs", "Lists the graphs of the teamspace, newest first.")
    },
    Operation {
        response: Response::Json(schema::<GraphView>),
        ..read("/v1/graphs/{graph}", "show_graph", "Shows a graph as it was saved last.")
    },
    Operation {
        method: "put",
        query: Some(schema::<SaveQuery>),
        response: Response::Json(schema::<GraphView>),
        ..action(
            "/v1/graphs/{graph}",
            "save_graph",
            "Checks a graph and saves it as the next version.",
            schema::<AgentGraph>,
        )
    },
    Operation {
        response: Response::Json(schema::<GraphRemoved>),
        ..action(
            "/v1/graphs/{graph}/remove",
            "remove_graph",
            "Removes a graph; who holds a conversation then stays.",
            schema::<Nothing>,
        )
    },
];
