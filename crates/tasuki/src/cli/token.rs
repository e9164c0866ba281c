//! `tasuki token`: credentials.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use protocol::caller::Role;
use protocol::time::{Span, Time};
use serde_json::{Map, Value, json};

use super::put;
use super::reach::{Begin, Reach};
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct TokenArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and print it, once. Registers the agent if it is new
    Create {
        /// The bearer, by id
        #[arg(long, value_name = "ID")]
        agent: String,
        /// What a new bearer is; operators and customers are not in the directory. Without it, a
        /// worker that takes no conversations unless it has an endpoint or is connected
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        /// coordinator, researcher, executor, reviewer or integrator; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<Role>,
        /// How long it is good for, such as 90d, 12h or 30m [default: for ever]
        #[arg(long, value_name = "SPAN", value_parser = parse_span)]
        expires_in: Option<Span>,
        #[command(flatten)]
        begin: Begin,
    },
    /// List tokens; their secrets are not kept
    List,
    /// End a token at once
    Revoke {
        /// The token's id, as listed
        id: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Worker,
    System,
    Human,
    Queue,
    Operator,
    Customer,
}

pub async fn run(args: TokenArgs) -> Result<u8> {
    let reached = match &args.command {
        TokenCommand::Create { begin, .. } => args.reach.connect_or_begin(*begin).await?,
        TokenCommand::List | TokenCommand::Revoke { .. } => args.reach.connect().await?,
    };
    let client = &reached.client;
    match args.command {
        TokenCommand::Create { agent, kind, roles, expires_in, .. } => {
            let mut body = Map::new();
            body.insert("agent".to_owned(), agent.into());
            let kind = kind.map(|kind| format!("{kind:?}").to_lowercase());
            put(&mut body, "kind", kind);
            let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
            body.insert("roles".to_owned(), json!(roles));
            put(&mut body, "expires_at", expires_in.map(|span| now().plus(span).to_string()));
            let answer =
                client.call(Call::post("/v1/tokens", Value::Object(body))).await?.success()?;
            if args.reach.json {
                output::json(&answer);
            } else {
                output::line(answer["token"].as_str().unwrap_or_default());
            }
        }
        TokenCommand::List => {
            let answer = client.call(Call::get("/v1/tokens?limit=200")).await?.success()?;
            if args.reach.json {
                output::json(&answer);
            } else {
                output::line(&list(&answer));
            }
        }
        TokenCommand::Revoke { id } => {
            let path = format!("/v1/tokens/{}/revoke", percent_encode(&id));
            let answer = client.call(Call::post(path, json!({}))).await?.success()?;
            if args.reach.json {
                output::json(&answer);
            } else {
                output::remark(&format!("revoked {}", output::clean(&id)));
            }
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn list(answer: &Value) -> String {
    let now = now();
    let text = |token: &Value, name: &str| token[name].as_str().unwrap_or_default().to_owned();
    let rows = answer["items"].as_array().into_iter().flatten().map(|token| {
        let roles = token["roles"].as_array().into_iter().flatten();
        let roles: Vec<_> = roles.filter_map(Value::as_str).collect();
        let when = |name: &str| token[name].as_str().and_then(|at| at.parse::<Time>().ok());
        let state = match (when("revoked_at"), when("expires_at")) {
            (Some(at), _) => format!("revoked {}", output::relative(at, now)),
            (None, Some(at)) if at <= now => format!("expired {}", output::relative(at, now)),
            (None, Some(at)) => format!("good, ends {}", output::relative(at, now)),
            (None, None) => "good".to_owned(),
        };
        let (id, agent) = (text(token, "token_id"), text(token, "agent"));
        vec![id, agent, text(token, "bearer"), roles.join(", "), state]
    });
    output::table(&["id", "agent", "bearer", "roles", "state"], rows.collect())
}

pub fn now() -> Time {
    engine::ports::clock::Clock::now(&engine::ports::clock::SystemClock)
}

fn parse_span(text: &str) -> Result<Span, String> {
    let expected = || "expected a number and d, h, m or s, such as 90d".to_owned();
    let unit_at = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at));
    let (number, unit) = text.split_at(unit_at.ok_or_else(expected)?);
    let number: i64 = number.parse().map_err(|_| expected())?;
    let unit_ms = match unit {
        "d" => 86_400_000,
        "h" => 3_600_000,
        "m" => 60_000,
        "s" => 1_000,
        _ => return Err(expected()),
    };
    let ms = number.checked_mul(unit_ms).ok_or_else(|| "expected less time".to_owned())?;
    if ms <= 0 {
        return Err("expected more than no time, such as 90d".to_owned());
    }
    Ok(Span::from_millis(ms))
}
