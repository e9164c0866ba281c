//! The directory of a teamspace: its agents, who is there, and where agents are reached.

pub mod directory;
pub mod operations;
pub mod presence;
pub mod state;
pub mod view;
pub mod wake;

use axum::Router;

use super::shared::routes::Routes;
use operations::AGENTS;
use state::Agents;

pub fn routes(agents: Agents) -> Router {
    Routes::new(&[&AGENTS])
        .route("/v1/agents", |at| at.get(directory::list))
        .route("/v1/agents/{agent}", |at| at.get(directory::show).put(directory::register))
        .route("/v1/agents/{agent}/roles", |at| at.put(directory::set_roles))
        .route("/v1/agents/{agent}/wake", |at| at.put(wake::set))
        .route("/v1/agents/{agent}/presence", |at| at.put(presence::set))
        .route("/v1/agents/{agent}/endpoint", |at| at.put(presence::set_endpoint))
        .with_state(agents)
}
