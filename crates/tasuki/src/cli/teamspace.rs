//! `tasuki teamspace`: the spaces in which agents and people work.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::conversation::answer_within::ANSWER_WITHIN_DEFAULT;
use protocol::teamspace::{CONSENT_SECONDS, SESSION_SILENCE_MINUTES};
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::pages::all;
use super::reach::{Begin, Reach};
use super::{put, token};
use crate::client::{Call, Client, Refused};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct TeamspaceArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: TeamspaceCommand,
}

#[derive(Debug, Subcommand)]
enum TeamspaceCommand {
    /// Make a teamspace and print the token of its first operator, once
    Create {
        /// a-z, 0-9, '.', '_' and '-'; the name of its folder
        id: String,
        /// The bearer of the token, by id
        #[arg(long, value_name = "ID")]
        operator: String,
        /// The name people see
        #[arg(long)]
        name: Option<String>,
        /// What it is for, in a sentence
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        #[command(flatten)]
        begin: Begin,
    },
    /// List all teamspaces of the server
    List,
    /// Show your teamspace and its settings
    Show,
    /// Change your teamspace; fields without a flag keep their values
    Set(Box<SetArgs>),
    /// List the agents of your teamspace, and what each is trusted with
    Members,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct SetArgs {
    /// The name people see
    #[arg(long)]
    name: Option<String>,
    /// What it is for, in a sentence
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Until the target looks at a handoff, such as 10m; or `default`
    #[arg(long, value_name = "SPAN")]
    sla_proposed: Option<String>,
    /// For the checks of the gate; or `default`
    #[arg(long, value_name = "SPAN")]
    sla_validating: Option<String>,
    /// From accepted to the start of the work; or `default`
    #[arg(long, value_name = "SPAN")]
    sla_accepted: Option<String>,
    /// For the work itself; or `default`
    #[arg(long, value_name = "SPAN")]
    sla_activated: Option<String>,
    /// Warn when this much of a limit has passed, 1 to 99; or `default`, which is never
    #[arg(long, value_name = "PERCENT", value_parser = parse_number)]
    warn_percent: Option<Value>,
    /// How long messages are kept; or `default`
    #[arg(long, value_name = "DAYS", value_parser = parse_number)]
    message_retention_days: Option<Value>,
    /// Whether work must be verified by an agent that did not do it
    #[arg(long, value_name = "BOOL")]
    verifier_required: Option<bool>,
    /// Whether what cannot be undone must be confirmed by the hash of its call
    #[arg(long, value_name = "BOOL")]
    strong_consent_required: Option<bool>,
    /// How long a worker has to answer a customer, such as 30s; 0s for no limit; or `default`
    #[arg(long, value_name = "SPAN")]
    answer_within: Option<String>,
    /// How long an accept allows what cannot be undone; or `default`
    #[arg(long, value_name = "SECONDS", value_parser = parse_number)]
    consent_seconds: Option<Value>,
    /// Minutes without an event of its producer after which a session is ended; or `default`
    #[arg(long, value_name = "MINUTES", value_parser = parse_number)]
    session_silence_minutes: Option<Value>,
    /// Whether work can be completed only with evidence for each success criterion
    #[arg(long, value_name = "BOOL")]
    evidence_required: Option<bool>,
}

/// Typed to reset a setting to its default.
const DEFAULT: &str = "default";

pub async fn run(args: TeamspaceArgs) -> Result<u8> {
    let reached = match &args.command {
        TeamspaceCommand::Create { begin, .. } => args.reach.connect_or_begin(*begin).await?,
        TeamspaceCommand::List
        | TeamspaceCommand::Show
        | TeamspaceCommand::Set(_)
        | TeamspaceCommand::Members => args.reach.connect().await?,
    };
    let client = &reached.client;
    let is_json = args.reach.json;
    match args.command {
        TeamspaceCommand::Create { id, operator, name, description, .. } => {
            let mut body = Map::new();
            body.insert("teamspace".to_owned(), id.into());
            body.insert("operator".to_owned(), operator.into());
            put(&mut body, "name", name);
            put(&mut body, "description", description);
            let call = Call::post("/v1/teamspaces", Value::Object(body));
            let answer = client.call(call).await?.success()?;
            if is_json {
                output::json(&answer);
            } else {
                output::line(answer["token"].as_str().unwrap_or_default());
            }
        }
        TeamspaceCommand::List => {
            let answer = all(client, "/v1/teamspaces").await?;
            print(&answer, is_json, |answer| {
                let row = |one: &Value| vec![text(&one["teamspace"]), text(&one["name"])];
                output::table(&["teamspace", "name"], rows(answer, row))
            });
        }
        TeamspaceCommand::Show => {
            let answer = client.call(Call::get("/v1/teamspace")).await?.success()?;
            print(&answer, is_json, shown);
        }
        TeamspaceCommand::Set(set) => {
            let before = client.call(Call::get("/v1/teamspace")).await?.success()?;
            let call = Call::put("/v1/teamspace", set.applied_to(&before));
            let answer = client.call(call).await?.success()?;
            print(&answer, is_json, shown);
        }
        TeamspaceCommand::Members => {
            let answer = members(client).await?;
            print(&answer, is_json, |answer| {
                let members = answer["items"].as_array();
                roles_table(members.map_or(&[][..], Vec::as_slice))
            });
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

impl SetArgs {
    /// The whole new configuration, for the revision that was seen.
    fn applied_to(self, before: &Value) -> Value {
        let mut settings = before["settings"].as_object().cloned().unwrap_or_default();
        let mut sla = before["settings"]["sla"].as_object().cloned().unwrap_or_default();
        let spans = [
            ("proposed", self.sla_proposed),
            ("validating", self.sla_validating),
            ("accepted", self.sla_accepted),
            ("activated", self.sla_activated),
        ];
        for (stage, span) in spans {
            set(&mut sla, stage, span.map(or_default));
        }
        set(&mut sla, "warn_percent", self.warn_percent);
        settings.insert("sla".to_owned(), Value::Object(sla));
        set(&mut settings, "answer_within", self.answer_within.map(or_default));
        set(&mut settings, "message_retention_days", self.message_retention_days);
        set(&mut settings, "verifier_required", self.verifier_required.map(Value::Bool));
        let strong = self.strong_consent_required.map(Value::Bool);
        set(&mut settings, "strong_consent_required", strong);
        set(&mut settings, "consent_seconds", self.consent_seconds);
        set(&mut settings, "session_silence_minutes", self.session_silence_minutes);
        set(&mut settings, "evidence_required", self.evidence_required.map(Value::Bool));
        json!({
            "name": self.name.map_or_else(|| before["name"].clone(), Value::String),
            "description":
                self.description.map_or_else(|| before["description"].clone(), Value::String),
            "settings": settings,
            "revision": before["revision"],
        })
    }
}

/// `null` removes a setting.
fn set(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        None => {}
        Some(Value::Null) => {
            fields.remove(name);
        }
        Some(value) => {
            fields.insert(name.to_owned(), value);
        }
    }
}

fn or_default(text: String) -> Value {
    if text == DEFAULT { Value::Null } else { Value::String(text) }
}

fn parse_number(text: &str) -> Result<Value, String> {
    match text {
        DEFAULT => Ok(Value::Null),
        text => text
            .parse::<u32>()
            .map(Value::from)
            .map_err(|_| format!("expected a number, or `{DEFAULT}`")),
    }
}

/// The directory, each agent with the roles of its tokens. Those are shown to operators.
async fn members(client: &Client) -> Result<Value> {
    let mut answer = all(client, "/v1/agents").await?;
    let agents = answer["items"].as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
    add_token_roles(client, agents).await?;
    Ok(answer)
}

/// The roles of each member, and their source.
pub fn roles_table(members: &[Value]) -> String {
    let rows = members.iter().map(|one| {
        let roles = |name: &str| {
            let roles = one[name].as_array().into_iter().flatten();
            roles.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        };
        let (own, by_token) = (roles("roles"), roles("token_roles"));
        vec![text(&one["agent"]), text(&one["kind"]), own, by_token]
    });
    output::table(&["agent", "kind", "roles", "by a token"], rows.collect())
}

/// Adds to each agent, as `token_roles`, the roles that its tokens add to its own.
pub async fn add_token_roles(client: &Client, agents: &mut [Value]) -> Result<()> {
    let tokens = match all(client, "/v1/tokens").await {
        Ok(tokens) => tokens,
        Err(error) if error.is::<Refused>() => {
            output::remark("the roles that tokens carry are shown to operators");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let now = token::now();
    let is_good = |token: &&Value| {
        let ends = token["expires_at"].as_str().and_then(|at| at.parse::<Time>().ok());
        token["revoked_at"].is_null() && ends.is_none_or(|at| at > now)
    };
    let tokens: Vec<_> = tokens["items"].as_array().into_iter().flatten().filter(is_good).collect();
    for agent in agents {
        let own = tokens
            .iter()
            .filter(|token| token["bearer"] == "agent" && token["agent"] == agent["agent"]);
        let roles = own.flat_map(|token| token["roles"].as_array().into_iter().flatten());
        let roles: BTreeSet<_> = roles.filter_map(Value::as_str).collect();
        agent["token_roles"] = json!(roles);
    }
    Ok(())
}

fn print(answer: &Value, is_json: bool, table: impl FnOnce(&Value) -> String) {
    if is_json {
        output::json(answer);
    } else {
        output::line(&table(answer));
    }
}

fn rows(answer: &Value, row: impl Fn(&Value) -> Vec<String>) -> Vec<Vec<String>> {
    answer["items"].as_array().into_iter().flatten().map(row).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn shown(answer: &Value) -> String {
    let (settings, in_effect) = (&answer["settings"], &answer["in_effect"]);
    let limit = |stage: &str| {
        let is_own = settings["sla"].get(stage).is_some();
        text(&in_effect["sla"][stage]) + if is_own { "" } else { " (default)" }
    };
    let warning = match settings["sla"]["warn_percent"].as_u64() {
        Some(percent) => format!("after {percent} %"),
        None => "never".to_owned(),
    };
    let retention = match settings["message_retention_days"].as_u64() {
        Some(days) => format!("{days} days"),
        None => "as the server is configured".to_owned(),
    };
    let number = |name: &str, unit: &str, default: u32| match settings[name].as_u64() {
        Some(number) => format!("{number} {unit}"),
        None => format!("{default} {unit} (default)"),
    };
    let consent = number("consent_seconds", "seconds", CONSENT_SECONDS);
    let silence = number("session_silence_minutes", "minutes", SESSION_SILENCE_MINUTES);
    let flag = |name: &str| match settings[name].as_bool() {
        Some(true) => "yes".to_owned(),
        Some(false) | None => "no".to_owned(),
    };
    let answers = match settings["answer_within"].as_str() {
        Some("0ms") => "without a limit".to_owned(),
        Some(limit) => format!("within {limit}"),
        None => format!("within {ANSWER_WITHIN_DEFAULT} (default)"),
    };
    let rows = [
        ("teamspace", text(&answer["teamspace"])),
        ("name", text(&answer["name"])),
        ("description", text(&answer["description"])),
        ("limit for proposed", limit("proposed")),
        ("limit for validating", limit("validating")),
        ("limit for accepted", limit("accepted")),
        ("limit for activated", limit("activated")),
        ("warning", warning),
        ("verifier required", flag("verifier_required")),
        ("evidence required", flag("evidence_required")),
        ("strong consent required", flag("strong_consent_required")),
        ("an accept lasts", consent),
        ("a silent session ends after", silence),
        ("a worker answers", answers),
        ("messages are kept", retention),
        ("revision", text(&answer["revision"])),
    ];
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    output::table(&["what", "value"], rows.collect())
}
