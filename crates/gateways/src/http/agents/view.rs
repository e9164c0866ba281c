//! An agent in answers.

use engine::read::query::Item;
use protocol::agent;
use protocol::caller::{Caller, Role};
use protocol::step::State;
use protocol::tools::history_form::HistoryForm;
use protocol::visibility::details::sees_urls;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::shared::gateway::Gateway;

#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentView {
    pub agent: String,
    pub kind: agent::Kind,
    pub profile: agent::Profile,
    /// How it is introduced in a conversation.
    pub identity: agent::AgentIdentity,
    /// How many conversations it holds at once; `null` for any number.
    pub capacity: Option<u16>,
    /// Whether conversations can be given to it: to a worker that was declared, that has an
    /// endpoint, or that is connected; and to the people of a queue.
    pub takes_conversations: bool,
    /// Of a worker: the ways in which a turn reaches it at once. Without one, it must ask for
    /// what was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_by: Option<Vec<ReachedBy>>,
    /// Of a human: whether it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<agent::Presence>,
    /// Of a human: the presence that was set. It counts while the human can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_said: Option<agent::Presence>,
    /// Who set it, if it was not the human itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_by: Option<String>,
    /// When it counts as gone, unless it gives a sign of life before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_at: Option<String>,
    /// Where turns reach it. Shown to operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The form in which the history goes along with each turn. Shown to operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryForm>,
    /// Where it is called when it is sent something critical. Shown to operators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake: Option<String>,
    /// The roles of the member; without any, nothing is restricted.
    pub roles: Vec<Role>,
    pub changed_at: String,
}

/// How a turn reaches a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReachedBy {
    Endpoint,
    /// It has a connection open.
    Connection,
}

pub fn agent(gateway: &Gateway, caller: &Caller, item: &Item) -> Option<AgentView> {
    let State::Agent(agent) = item.state.as_ref() else { return None };
    let human = Some(agent).filter(|agent| agent.kind == agent::Kind::Human);
    let by = agent.attendance.by.as_ref();
    Some(AgentView {
        identity: agent.identity(),
        capacity: agent.capacity(),
        takes_conversations: match agent.kind {
            agent::Kind::Worker => agent.is_target(),
            agent::Kind::Queue => true,
            agent::Kind::Human => agent.is_available(),
            agent::Kind::System => false,
        },
        reached_by: (agent.kind == agent::Kind::Worker).then(|| {
            let connections = gateway.engine.queues();
            let is_connected = connections.is_connected(&caller.teamspace, &agent.id);
            let endpoint = agent.endpoint.is_some().then_some(ReachedBy::Endpoint);
            let connection = is_connected.then_some(ReachedBy::Connection);
            endpoint.into_iter().chain(connection).collect()
        }),
        presence: human.map(|human| human.presence()),
        presence_said: human.map(|human| human.attendance.said),
        presence_by: by.map(ToString::to_string),
        missed_at: agent.deadlines().first().map(|deadline| deadline.due.to_string()),
        endpoint: agent.endpoint.clone().filter(|_| sees_urls(caller)),
        history: agent.endpoint_history.filter(|_| sees_urls(caller)),
        wake: agent.wake_url.clone().filter(|_| sees_urls(caller)),
        agent: agent.id.to_string(),
        kind: agent.kind,
        profile: agent.profile.clone(),
        roles: agent.roles.iter().copied().collect(),
        changed_at: item.changed_at.to_string(),
    })
}
