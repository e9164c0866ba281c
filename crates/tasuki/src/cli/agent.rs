//! `tasuki agent`: the directory.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use protocol::caller::Role;
use serde_json::{Map, Value, json};

use super::{Reach, put};
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
        /// The name people see
        #[arg(long)]
        name: Option<String>,
        #[arg(long)]
        description: Option<String>,
        /// What it can do; may be repeated
        #[arg(long = "capability", value_name = "TEXT")]
        capabilities: Vec<String>,
        /// A language it speaks; may be repeated
        #[arg(long = "language", value_name = "CODE")]
        languages: Vec<String>,
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
    /// List the directory
    List,
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

pub async fn run(args: AgentArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let client = &reached.client;
    let answer = match args.command {
        AgentCommand::Register { id, kind, name, description, capabilities, languages } => {
            let mut profile = Map::new();
            put(&mut profile, "name", name);
            put(&mut profile, "description", description);
            profile.insert("capabilities".to_owned(), json!(capabilities));
            profile.insert("languages".to_owned(), json!(languages));
            let kind = format!("{kind:?}").to_lowercase();
            let body = json!({ "kind": kind, "profile": profile });
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
                print_wake(&answer);
                reached.finish().await;
                return Ok(exit_code::OK);
            }
            answer
        }
        AgentCommand::List => client.call(Call::get("/v1/agents?limit=200")).await?.success()?,
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
fn print_wake(answer: &Value) {
    match answer["secret"].as_str() {
        Some(secret) => {
            output::line(secret);
            output::remark("calls are signed with this secret, as Standard Webhooks has it");
        }
        None => output::remark("is not called any more"),
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
            text(&agent["profile"]["name"]),
            roles.join(", "),
            capabilities.join(", "),
        ]
    });
    output::table(&["agent", "kind", "name", "roles", "capabilities"], rows.collect())
}
