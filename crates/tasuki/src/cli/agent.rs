//! `tasuki agent`: the directory.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use protocol::caller::Role;
use protocol::ids::AgentId;
use protocol::tools::history_form::HistoryForm;
use serde_json::{Value, json};

use super::agent_profile::{Presence, ProfileArgs};
use super::reach::{Begin, Reach};
use super::{fields, names, teamspace};
use crate::client::{Call, Client, percent_encode};
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
    /// Add an agent, or change what it shows; fields without a flag keep their values
    Register {
        /// The agent's id: a-z, 0-9, '.', '_' and '-'
        id: AgentId,
        /// What it is [default: what it was, else worker]
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        #[command(flatten)]
        profile: ProfileArgs,
        #[command(flatten)]
        begin: Begin,
    },
    /// Show the roles of a member, its own and those of its tokens; with --role, replace its own
    Roles {
        /// The agent's id
        id: String,
        /// A role it has from now on, instead of those it had; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<Role>,
        /// Take all its own roles away; its tokens keep theirs
        #[arg(long, conflicts_with = "roles")]
        remove: bool,
    },
    /// Show, set or remove the URL that the server calls when an agent gets a critical message
    Wake {
        #[command(flatten)]
        called: CalledArgs,
    },
    /// Show, set or remove the URL to which the server sends a worker what customers write
    Endpoint {
        #[command(flatten)]
        called: CalledArgs,
        /// Send the history of the conversation along, for a model of: openai, responses,
        /// anthropic, langchain or gemini
        #[arg(long, value_name = "FORM", requires = "url")]
        history: Option<HistoryForm>,
    },
    /// Show or set the presence of a human; without a connection it lasts 15 minutes
    Presence {
        /// The human's id
        id: String,
        /// The new presence
        #[arg(value_enum)]
        presence: Option<Presence>,
    },
    /// List the directory
    List {
        /// Only agents of this kind
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        /// Only humans who are there, or not
        #[arg(long, value_enum)]
        presence: Option<Presence>,
        /// Only those that customers may choose
        #[arg(long)]
        selectable: bool,
    },
    /// Show one agent
    Show {
        /// The agent's id
        id: String,
    },
}

/// Where an agent is called. Without a flag nothing changes.
#[derive(Debug, Args)]
struct CalledArgs {
    /// The agent's id
    id: String,
    /// Call this http or https URL from now on; prints the secret that signs the calls
    #[arg(long)]
    url: Option<String>,
    /// Remove the URL: the agent is not called any more
    #[arg(long, conflicts_with = "url")]
    remove: bool,
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

pub async fn run(args: AgentArgs) -> Result<u8> {
    let reached = match &args.command {
        AgentCommand::Register { begin, .. } => args.reach.connect_or_begin(*begin).await?,
        AgentCommand::Roles { .. }
        | AgentCommand::Wake { .. }
        | AgentCommand::Endpoint { .. }
        | AgentCommand::Presence { .. }
        | AgentCommand::List { .. }
        | AgentCommand::Show { .. } => args.reach.connect().await?,
    };
    let client = &reached.client;
    let json = args.reach.json;
    match args.command {
        AgentCommand::Register { id, kind, profile, .. } => {
            print(&register(client, id.as_str(), kind, profile).await?, json);
        }
        AgentCommand::Roles { id, roles, remove } => {
            if !roles.is_empty() || remove {
                let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
                let call = Call::put(path_of(&id, "/roles"), json!({ "roles": roles }));
                client.call(call).await?.success()?;
            }
            print_roles(client, &id, json).await?;
        }
        AgentCommand::Wake { called } => called.run(client, "wake", None, json).await?,
        AgentCommand::Endpoint { called, history } => {
            called.run(client, "endpoint", history, json).await?;
        }
        AgentCommand::Presence { id, presence } => {
            let call = match presence {
                None => Call::get(path_of(&id, "")),
                Some(presence) => {
                    let body = json!({ "presence": presence.as_str() });
                    Call::put(path_of(&id, "/presence"), body)
                }
            };
            print(&client.call(call).await?.success()?, json);
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
            print(&client.call(Call::get(path)).await?.success()?, json);
        }
        AgentCommand::Show { id } => {
            let agent = client.call(Call::get(path_of(&id, ""))).await?.success()?;
            match json {
                true => output::json(&agent),
                false => output::line(&described(&agent)),
            }
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn path_of(id: &str, below: &str) -> String {
    format!("/v1/agents/{}{below}", percent_encode(id))
}

fn print(answer: &Value, json: bool) {
    match json {
        true => output::json(answer),
        false => output::line(&table(answer)),
    }
}

async fn print_roles(client: &Client, id: &str, json: bool) -> Result<()> {
    let agent = client.call(Call::get(path_of(id, ""))).await?.success()?;
    let mut agents = [agent];
    teamspace::add_token_roles(client, &mut agents).await?;
    match json {
        true => output::json(&agents[0]),
        false => output::line(&teamspace::roles_table(&agents)),
    }
    Ok(())
}

/// The server replaces a profile as a whole, so fields without a flag are sent as they were.
async fn register(
    client: &Client,
    id: &str,
    kind: Option<Kind>,
    profile: ProfileArgs,
) -> Result<Value> {
    let shown = client.call(Call::get(path_of(id, ""))).await?;
    // The agent may be missing, or the caller may not look: the server answers that below.
    let before = if shown.status == 200 { shown.body } else { Value::Null };
    let kind = match (kind, before["kind"].as_str()) {
        (Some(kind), _) => kind.as_str(),
        (None, Some(kind)) => kind,
        (None, None) => Kind::Worker.as_str(),
    };
    let body = json!({ "kind": kind, "profile": profile.laid_over(&before["profile"]) });
    client.call(Call::put(path_of(id, ""), body)).await?.success()
}

impl CalledArgs {
    /// `what` is the name of the path, and of the field in which operators see it.
    async fn run(
        self,
        client: &Client,
        what: &str,
        history: Option<HistoryForm>,
        json: bool,
    ) -> Result<()> {
        let is_change = self.url.is_some() || self.remove;
        let mut body = json!({ "url": self.url });
        if let Some(form) = history {
            body["history"] = form.as_str().into();
        }
        let call = match is_change {
            true => Call::put(path_of(&self.id, &format!("/{what}")), body),
            false => Call::get(path_of(&self.id, "")),
        };
        let answer = client.call(call).await?.success()?;
        if json {
            output::json(&answer);
            return Ok(());
        }
        names::warnings(&answer);
        let id = output::clean(&self.id);
        let url = answer[what].as_str().or(answer["url"].as_str());
        match (answer["secret"].as_str(), url) {
            // The secret alone is data: it goes into the settings of the program that is called.
            (Some(secret), _) => {
                output::line(secret);
                output::remark(
                    "what is sent is signed with this secret, as Standard Webhooks has it",
                );
            }
            (None, Some(url)) => output::line(&output::clean(url)),
            (None, None) if self.remove => output::remark(&format!("{id} is not called any more")),
            (None, None) => output::remark(&format!(
                "no URL is set for {id}, or you may not see it; --url sets one"
            )),
        }
        Ok(())
    }
}

/// All that an answer says about one agent.
fn described(agent: &Value) -> String {
    let (profile, presence) = (&agent["profile"], &agent["presence"]);
    // The effective presence, and beside it what was said if that is something else.
    let said = Some(&agent["presence_said"]).filter(|said| *said != presence);
    let takes = match agent["takes_conversations"].as_bool() {
        Some(true) => "conversations".into(),
        Some(false) => "no conversations".into(),
        None => Value::Null,
    };
    let answers_in = match profile["answer_within"].as_str() {
        Some("0ms") => "any time; it has no limit".into(),
        Some(limit) => limit.into(),
        None => Value::Null,
    };
    let mut lines = vec![output::clean(agent["agent"].as_str().unwrap_or_default())];
    lines.extend(fields::lines([
        ("kind", &agent["kind"]),
        ("name", &profile["name"]),
        ("about", &profile["description"]),
        ("presence", presence),
        ("said", said.unwrap_or(&Value::Null)),
        ("said by", &agent["presence_by"]),
        ("gone at", &agent["missed_at"]),
        ("capacity", &agent["capacity"]),
        ("takes", &takes),
        ("answers in", &answers_in),
        ("reached by", &agent["reached_by"]),
        ("roles", &agent["roles"]),
        ("can", &profile["capabilities"]),
        ("languages", &profile["languages"]),
        ("skills", &profile["skills"]),
        ("team", &profile["team"]),
        ("icon", &profile["icon"]),
        ("color", &profile["color"]),
        ("choosable", &profile["user_selectable"]),
        ("endpoint", &agent["endpoint"]),
        ("history", &agent["history"]),
        ("wake", &agent["wake"]),
        ("changed", &agent["changed_at"]),
    ]));
    lines.join("\n")
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
            if agent["takes_conversations"] == true { "yes" } else { "no" }.to_owned(),
            text(&agent["profile"]["name"]),
            roles.join(", "),
            capabilities.join(", "),
        ]
    });
    let takes = "takes conversations";
    let heads = ["agent", "kind", "presence", takes, "name", "roles", "capabilities"];
    output::table(&heads, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_agent_is_shown_with_all_that_is_said_about_it() {
        let dana = json!({
            "agent": "dana", "kind": "human", "presence": "offline", "presence_said": "available",
            "capacity": 2, "takes_conversations": false, "roles": [],
            "changed_at": "2026-11-15T04:50:46.523Z",
            "wake": "https://agents.example/dana",
            "profile": { "name": "Dana", "team": "Care", "user_selectable": true,
                "answer_within": "0ms",
                "skills": [{ "name": "billing", "level": 4 }] },
        });
        let expected = [
            "dana",
            "  kind       human",
            "  name       Dana",
            "  presence   offline",
            "  said       available",
            "  capacity   2",
            "  takes      no conversations",
            "  answers in  any time; it has no limit",
            "  skills     level 4, name billing",
            "  team       Care",
            "  choosable  yes",
            "  wake       https://agents.example/dana",
            "  changed    2026-11-15T04:50:46.523Z",
        ];
        assert_eq!(described(&dana), expected.join("\n"));
    }
}
