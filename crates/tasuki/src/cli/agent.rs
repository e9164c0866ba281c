//! `tasuki agent`: the directory.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use protocol::caller::Role;
use serde_json::{Value, json};

use super::Reach;
use super::agent_profile::{Presence, ProfileArgs};
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct AgentArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Add an agent, or change what it shows
    Register {
        id: String,
        #[arg(long, value_enum, default_value = "worker")]
        kind: Kind,
        #[command(flatten)]
        profile: ProfileArgs,
    },
    /// Say what a member is trusted with; without a role, all are taken away
    Roles {
        id: String,
        /// A role it has from now on; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<Role>,
    },
    /// Say where an agent is called when it is sent something critical
    Wake {
        id: String,
        /// An http or https URL; without one it is not called any more
        #[arg(long)]
        url: Option<String>,
    },
    /// Say where turns of a conversation reach a worker
    Endpoint {
        id: String,
        /// An http or https URL; without one they do not reach it any more
        #[arg(long)]
        url: Option<String>,
    },
    /// Say whether a human is there; without a connection it counts for 15 minutes
    Presence {
        id: String,
        #[arg(value_enum)]
        presence: Presence,
    },
    /// List the directory
    List {
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        /// Humans who are there, or not
        #[arg(long, value_enum)]
        presence: Option<Presence>,
        /// Those that customers may choose
        #[arg(long)]
        selectable: bool,
    },
    /// Show one agent
    Show { id: String },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Worker,
    System,
    Human,
    Queue,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Worker => "worker",
            Kind::System => "system",
            Kind::Human => "human",
            Kind::Queue => "queue",
        }
    }
}

fn is_registering(command: &AgentCommand) -> bool {
    matches!(command, AgentCommand::Register { .. })
}

pub async fn run(args: AgentArgs) -> Result<u8> {
    let reached = match is_registering(&args.command) {
        true => args.reach.connect_or_begin().await?,
        false => args.reach.connect().await?,
    };
    let client = &reached.client;
    let answer = match args.command {
        AgentCommand::Register { id, kind, profile } => {
            let body = json!({ "kind": kind.as_str(), "profile": profile.profile() });
            let path = format!("/v1/agents/{}", percent_encode(&id));
            client.call(Call::put(path, body)).await?.success()?
        }
        AgentCommand::Roles { id, roles } => {
            let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
            let path = format!("/v1/agents/{}/roles", percent_encode(&id));
            client.call(Call::put(path, json!({ "roles": roles }))).await?.success()?
        }
        AgentCommand::Wake { id, url } => {
            let path = format!("/v1/agents/{}/wake", percent_encode(&id));
            let answer = client.call(Call::put(path, json!({ "url": url }))).await?.success()?;
            if !args.reach.json {
                print_secret(&answer, "is not called any more");
                reached.finish().await;
                return Ok(exit_code::OK);
            }
            answer
        }
        AgentCommand::Endpoint { id, url } => {
            let path = format!("/v1/agents/{}/endpoint", percent_encode(&id));
            let answer = client.call(Call::put(path, json!({ "url": url }))).await?.success()?;
            if !args.reach.json {
                print_secret(&answer, "turns do not reach it any more");
                reached.finish().await;
                return Ok(exit_code::OK);
            }
            answer
        }
        AgentCommand::Presence { id, presence } => {
            let path = format!("/v1/agents/{}/presence", percent_encode(&id));
            let body = json!({ "presence": presence.as_str() });
            client.call(Call::put(path, body)).await?.success()?
        }
        AgentCommand::List { kind, presence, selectable } => {
            let mut path = "/v1/agents?limit=200".to_owned();
            if let Some(kind) = kind {
                path += &format!("&kind={}", kind.as_str());
            }
            if let Some(presence) = presence {
                path += &format!("&presence={}", presence.as_str());
            }
            if selectable {
                path += "&selectable=true";
            }
            client.call(Call::get(path)).await?.success()?
        }
        AgentCommand::Show { id } => {
            let path = format!("/v1/agents/{}", percent_encode(&id));
            client.call(Call::get(path)).await?.success()?
        }
    };
    if args.reach.json {
        output::json(&answer);
    } else {
        output::line(&table(&answer));
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

/// The secret alone is data: it goes into the settings of whoever is called.
fn print_secret(answer: &Value, otherwise: &str) {
    output::warnings(answer);
    match answer["secret"].as_str() {
        Some(secret) => {
            output::line(secret);
            output::remark("what is sent is signed with this secret, as Standard Webhooks has it");
        }
        None => output::remark(otherwise),
    }
}

fn table(answer: &Value) -> String {
    let one = std::slice::from_ref(answer);
    let agents = answer["items"].as_array().map_or(one, Vec::as_slice);
    let rows = agents.iter().map(|agent| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let capabilities = agent["profile"]["capabilities"].as_array().into_iter().flatten();
        let capabilities: Vec<_> = capabilities.filter_map(Value::as_str).collect();
        let roles = agent["roles"].as_array().into_iter().flatten();
        let roles: Vec<_> = roles.filter_map(Value::as_str).collect();
        vec![
            text(&agent["agent"]),
            text(&agent["kind"]),
            text(&agent["presence"]),
            text(&agent["profile"]["name"]),
            roles.join(", "),
            capabilities.join(", "),
        ]
    });
    output::table(&["agent", "kind", "presence", "name", "roles", "capabilities"], rows.collect())
}
