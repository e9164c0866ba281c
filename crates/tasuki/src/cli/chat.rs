//! `tasuki chat`: talking in a terminal, as a customer or as the person who answers. Line by line,
//! so that screen readers and scripts can follow: no line is overwritten.

mod colleague;
mod customer;
mod follow;
mod person;
mod rings;
mod wire;
mod words;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde_json::{Map, Value, json};

use self::wire::Wire;
use super::ending::usage;
use super::put;
use super::reach::Reach;
use super::typist::Typist;
use crate::cli::own_name::own_name;
use crate::cli::transfer_view::text;
use crate::client::{Call, Client, Identity, Unreachable, percent_encode};
use crate::node::control_socket;
use crate::{exit_code, output};

/// How many earlier messages are shown at the start.
const EARLIER_LINES: u64 = 20;

/// Enough people to find one's own name.
const PEOPLE_NAMED_MAX: usize = 5;

const NOT_FOUND: u16 = 404;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ChatArgs {
    #[command(flatten)]
    reach: Reach,
    /// Go on in this conversation: as its customer with the customer's token, else as its holder
    #[arg(long, value_name = "ID", conflicts_with = "new")]
    conversation: Option<String>,
    /// Open a conversation, and be its customer
    #[arg(long)]
    new: bool,
    /// With --new: the agent that answers first [default: the first that customers may choose]
    #[arg(long, requires = "new")]
    agent: Option<String>,
    /// With --new: what the customer is called
    #[arg(long, value_name = "NAME", requires = "new")]
    customer_name: Option<String>,
    /// As a person: which queue to look at
    #[arg(long, default_value = "default")]
    queue: String,
}

const HELP: &str = "Without --conversation and --new you are a person who answers: of --as or of \
                    the token. You are available until you leave. /help lists what can be typed.";

pub async fn run(args: ChatArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    if reached.node.is_some() {
        // Without a running server no other party could take part.
        return Err(Unreachable(control_socket(&args.reach.data()?).display().to_string()).into());
    }
    let typist = Typist::start(Facing::NoCustomer);
    let impatient = typist.interrupted(2);
    tokio::select! {
        ended = chat(reached.client, typist, args) => ended,
        () = impatient => Ok(exit_code::FAILED),
    }
}

async fn chat(client: Client, typist: Typist<Facing>, args: ChatArgs) -> Result<u8> {
    let json = args.reach.json;
    if args.new {
        let (id, client) = open(client, args.agent, args.customer_name).await?;
        customer::run(Wire::new(client, json, &typist.interrupts), typist, &id).await
    } else if let Some(id) = args.conversation {
        customer::run(Wire::new(client, json, &typist.interrupts), typist, &id).await
    } else {
        let me = person_name(&client).await?;
        person::run(Wire::new(client, json, &typist.interrupts), typist, me, args.queue).await
    }
}

/// A new conversation, and its customer.
async fn open(
    client: Client,
    agent: Option<String>,
    name: Option<String>,
) -> Result<(String, Client)> {
    let agent = match agent {
        Some(agent) => agent,
        None => {
            let call = Call::get("/v1/agents?kind=worker&selectable=true&limit=1");
            let listed = client.call(call).await?.success()?;
            let first = listed["items"][0]["agent"].as_str().map(str::to_owned);
            first.context("customers may choose no agent: name the first one with --agent")?
        }
    };
    let mut customer = Map::new();
    put(&mut customer, "name", name);
    let body = json!({ "agent": agent, "customer": customer });
    let opened = client.call(Call::post("/v1/conversations", body)).await?.success()?;
    let id = text(&opened, "conversation_id");
    output::remark(&format!("conversation {}", output::clean(&id)));
    let identity = Identity { token: Some(text(&opened, "customer_token")), ..Identity::default() };
    Ok((id, client.with_identity(identity)))
}

/// The person who answers customers here, as the directory has them.
async fn person_name(client: &Client) -> Result<String> {
    let name = own_name(client).await?;
    let shown = client.call(Call::get(format!("/v1/agents/{}", percent_encode(&name)))).await?;
    if shown.status == NOT_FOUND {
        return usage(Err(anyhow!(nobody_named(client).await?)));
    }
    let shown = shown.success()?;
    if shown["kind"] == "human" {
        return Ok(name);
    }
    let kind = output::clean(&text(&shown, "kind"));
    usage(Err(anyhow!(match kind.as_str() {
        "worker" => format!(
            "`{name}` is a worker, and only a person waits for customers: `tasuki chat --new \
             --agent {name}` talks to it as a customer, `tasuki chat --conversation ID --as \
             {name}` speaks as it"
        ),
        _ => format!("`{name}` is a {kind}, and only a person waits for customers"),
    })))
}

/// The advice for a caller that did not say who they are.
async fn nobody_named(client: &Client) -> Result<String> {
    let call = Call::get(format!("/v1/agents?kind=human&limit={PEOPLE_NAMED_MAX}"));
    let listed = client.call(call).await?.success()?;
    let people = listed["items"].as_array().into_iter().flatten();
    let people: Vec<_> = people.filter_map(|person| person["agent"].as_str()).collect();
    let person = match people.is_empty() {
        true => "`tasuki agent register NAME --kind human` adds a person who answers".to_owned(),
        false => format!("--as NAME to answer as a person ({})", people.join(", ")),
    };
    Ok(format!(
        "say who you are: --new to be a customer, --conversation ID --token TOKEN to go on as one; \
         {person}"
    ))
}

/// The customer that a line is for: the one in front of its author when its first character was
/// typed. Each has the id of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Facing {
    NoCustomer,
    /// The announced next customer of the queue.
    Next(String),
    Rings(String),
    With(String),
}

impl Facing {
    /// Whether a line that was begun here would now reach another customer.
    fn is_somebody_else_than(&self, now: &Facing) -> bool {
        self.customer() != now.customer()
    }

    fn customer(&self) -> Option<&str> {
        match self {
            Facing::NoCustomer | Facing::Next(_) => None,
            Facing::Rings(transfer) | Facing::With(transfer) => Some(transfer),
        }
    }
}

/// A typed line.
#[derive(Debug, PartialEq, Eq)]
enum Typed<'a> {
    Nothing,
    Say(&'a str),
    /// A command and what follows it.
    Do(&'a str, &'a str),
}

impl<'a> Typed<'a> {
    /// A text that begins with a slash is typed with two.
    fn read(line: &'a str) -> Self {
        let line = line.trim();
        match line.strip_prefix('/') {
            None if line.is_empty() => Typed::Nothing,
            None => Typed::Say(line),
            Some(rest) if rest.starts_with('/') => Typed::Say(rest),
            Some(rest) => {
                let (verb, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                Typed::Do(verb, rest.trim())
            }
        }
    }
}

/// A body with one text, if there is any.
fn with_text(name: &str, text: &str) -> Value {
    match text.is_empty() {
        true => json!({}),
        false => json!({ name: text }),
    }
}

fn unknown(verb: &str) {
    output::remark(&format!("no such command: /{}; /help lists them", output::clean(verb)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reaches_only_whom_it_was_begun_for() {
        let (none, next) = (Facing::NoCustomer, Facing::Next("a".to_owned()));
        let (rings, with) = (Facing::Rings("a".to_owned()), Facing::With("a".to_owned()));
        let other = Facing::With("b".to_owned());
        let cases = [
            (&none, &none, false),
            (&none, &next, false),
            (&next, &none, false),
            (&none, &rings, true),
            (&next, &rings, true),
            (&rings, &rings, false),
            (&rings, &none, true),
            (&rings, &with, false),
            (&rings, &other, true),
            (&with, &with, false),
            (&with, &other, true),
            (&with, &none, true),
        ];
        for (began, now, expected) in cases {
            assert_eq!(began.is_somebody_else_than(now), expected, "{began:?}, {now:?}");
        }
    }

    #[test]
    fn a_slash_begins_a_command_and_two_begin_a_line() {
        let cases = [
            ("  ", Typed::Nothing),
            ("hello / there ", Typed::Say("hello / there")),
            ("/hold", Typed::Do("hold", "")),
            ("/note  charged twice ", Typed::Do("note", "charged twice")),
            ("//etc/hosts", Typed::Say("/etc/hosts")),
            ("/", Typed::Do("", "")),
        ];
        for (line, typed) in cases {
            assert_eq!(Typed::read(line), typed, "{line:?}");
        }
    }
}
