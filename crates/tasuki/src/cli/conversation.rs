//! `tasuki conversation`: chats with customers, from opening one to erasing it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use http_body_util::BodyExt;
use protocol::time::Time;
use protocol::tools::history_form::HistoryForm;
use serde_json::{Map, Value, json};

use super::graph::attribute;
use super::reach::Reach;
use super::{
    callback, conversation_reads as reads, conversation_score as score, conversation_story, file,
    json_object, names, put, token,
};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct ConversationArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: ConversationCommand,
}

#[derive(Debug, Subcommand)]
enum ConversationCommand {
    /// Begin a conversation; prints its id and the token of its customer
    Open(OpenArgs),
    /// List conversations, newest first
    List(ListArgs),
    /// Tell the story of a conversation
    Show {
        /// The conversation's id
        id: String,
        /// Only so many messages, the newest [default: all]
        #[arg(long, value_name = "N")]
        last: Option<u64>,
    },
    /// Say something, as its customer or as the agent that holds it
    Say {
        /// The conversation's id
        id: String,
        /// What to say
        text: String,
        /// A file to store and to attach; may be repeated
        #[arg(long = "attach", value_name = "FILE")]
        attached: Vec<PathBuf>,
        /// The epoch for which an agent speaks [default: the current one]
        #[arg(long, value_name = "N")]
        epoch: Option<u64>,
        /// The number of the message that it answers; each is answered once
        #[arg(long, value_name = "N")]
        in_reply_to: Option<u64>,
    },
    /// Hand it to another AI agent, as the one that holds it
    Route(RouteArgs),
    /// Have a person of a queue call the customer back
    Callback(callback::AskArgs),
    /// Report the result of a callback, as a person of its queue
    CallbackDone(callback::DoneArgs),
    /// Say how a message of its customer sounds, as an agent of the conversation
    Score(score::ScoreArgs),
    /// Choose who shall answer, as its customer
    Select {
        /// The conversation's id
        id: String,
        /// The agent that shall answer
        agent: String,
    },
    /// List the agents that its customer may choose now
    Agents {
        /// The conversation's id
        id: String,
    },
    /// Follow what is said until it is closed
    Tail {
        /// The conversation's id
        id: String,
        /// Start after the message of this number; 0 is the beginning [default: now]
        #[arg(long, value_name = "N")]
        after: Option<u64>,
    },
    /// Print what was said as the history of a model, as JSON
    History {
        /// The conversation's id
        id: String,
        /// The provider's format: openai, responses, anthropic, langchain or gemini
        #[arg(long, value_name = "FORM", default_value = "openai")]
        form: HistoryForm,
    },
    /// Show that the holder is working on its answer, which gives it more time
    Progress {
        /// The conversation's id
        id: String,
        /// The epoch in which it works [default: the current one]
        #[arg(long, value_name = "N")]
        epoch: Option<u64>,
    },
    /// End it
    Close {
        /// The conversation's id
        id: String,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Write everything that was said as JSON, one object to a line, with hashes and the bytes of
    /// attachments; a stored file is named, and `tasuki file get` fetches it
    Export {
        /// The conversation's id
        id: String,
    },
    /// Erase what it says on the record, as an operator; erasing everything also closes it
    Erase {
        /// The conversation's id
        id: String,
        /// Only the entry at this position [default: all of it]
        #[arg(long, value_name = "N")]
        position: Option<u64>,
        /// Why; kept for ever
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
struct OpenArgs {
    /// The agent that holds it first [default: as the topology or the graph says]
    #[arg(long)]
    agent: Option<String>,
    /// What the customer is called
    #[arg(long, value_name = "NAME")]
    customer_name: Option<String>,
    /// Your own id of the customer
    #[arg(long, value_name = "ID")]
    customer_id: Option<String>,
    /// The customer's language, such as es-MX
    #[arg(long, value_name = "TAG")]
    language: Option<String>,
    /// The graph that says who answers each message, as saved by `tasuki graph save`
    #[arg(long, value_name = "ID", conflicts_with = "topology")]
    graph: Option<String>,
    /// Something that the rules of the graph may ask for, such as plan=gold; may be repeated
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    attributes: Vec<(String, String)>,
    /// Who may hand to whom: JSON, or @FILE to read it [default: any worker to any other]
    #[arg(long, value_name = "JSON")]
    topology: Option<String>,
    /// How often it may change hands until the customer speaks again [default: 8]
    #[arg(long, value_name = "N")]
    hops_max: Option<u16>,
    /// When a person is called because of how the customer sounds, without a graph: JSON, or @FILE
    /// to read it
    #[arg(long, value_name = "JSON", conflicts_with = "graph")]
    signals: Option<String>,
    /// A queue in which the customer may ask for a person; may be repeated [default: only those
    /// that the graph names]
    #[arg(long = "customer-queue", value_name = "QUEUE")]
    customer_queues: Vec<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only those that this agent holds
    #[arg(long, value_name = "AGENT")]
    holder: Option<String>,
    /// Only those that are open, or closed
    #[arg(long, value_parser = ["open", "closed"])]
    status: Option<String>,
    /// How many, up to 200
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
struct RouteArgs {
    /// The conversation's id
    id: String,
    /// The agent that shall answer from now on, or `human` for a person
    #[arg(long, value_name = "AGENT")]
    to: String,
    /// With `human`: the queue where the customer waits [default: the queue `default`]
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// What you say to the customer first
    #[arg(long, value_name = "TEXT")]
    say: Option<String>,
    /// The epoch in which you hold it [default: the current one]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Why it changes hands
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What the next agent must know
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// What the customer is told instead of the reason [default: a sentence in the customer's
    /// language]
    #[arg(long, value_name = "TEXT")]
    customer_text: Option<String>,
    /// What changes in what the agents share: a JSON object, or @FILE to read one
    #[arg(long, value_name = "JSON")]
    update: Option<String>,
    /// As a worker, hand it to another worker of the same supervisor
    #[arg(long)]
    parent: bool,
}

pub async fn run(args: ConversationArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let client = &reached.client;
    let json = args.reach.json;
    match args.command {
        ConversationCommand::Open(open) => {
            let call = Call::post("/v1/conversations", open.body()?);
            print(client, call, json, opened).await?;
        }
        ConversationCommand::List(list) => print_list(client, list.path(), json).await?,
        ConversationCommand::Show { id, last } => {
            conversation_story::print(client, &id, last, json).await?;
        }
        ConversationCommand::Say { id, text, attached, epoch, in_reply_to } => {
            let epoch = current(client, &id, epoch).await?;
            let parts = file::parts(client, &text, &attached).await?;
            let mut body = json!({ "parts": parts });
            set(&mut body, "epoch", epoch);
            set(&mut body, "in_reply_to", in_reply_to);
            print(client, Call::post(path_of(&id, "/messages"), body), json, |answer| {
                output::remark(&format!("message {}", answer["number"]));
            })
            .await?;
        }
        ConversationCommand::Route(route) => {
            let epoch = current(client, &route.id, route.epoch).await?;
            let call = Call::post(path_of(&route.id, "/commands"), route.body(epoch)?);
            print(client, call, json, holds).await?;
        }
        ConversationCommand::Callback(ask) => {
            let epoch = current(client, &ask.id, ask.epoch).await?;
            print(client, ask.call(epoch), json, callback::asked).await?;
        }
        ConversationCommand::CallbackDone(done) => {
            print(client, done.call(), json, callback::settled).await?;
        }
        ConversationCommand::Score(score) => print(client, score.call(), json, holds).await?,
        ConversationCommand::Select { id, agent } => select(client, &id, &agent, json).await?,
        ConversationCommand::Tail { id, after } => {
            conversation_story::tail(client, &id, after, json).await?;
        }
        ConversationCommand::Agents { id } => reads::agents(client, &id, json).await?,
        ConversationCommand::History { id, form } => {
            reads::history(client, &id, form, json).await?;
        }
        ConversationCommand::Progress { id, epoch } => progress(client, &id, epoch, json).await?,
        ConversationCommand::Close { id, reason } => {
            let mut fields = Map::new();
            put(&mut fields, "reason", reason);
            let call = Call::post(path_of(&id, "/close"), fields.into());
            print(client, call, json, |answer| {
                let status = output::clean(&text(answer, "status"));
                output::remark(&format!("Conversation {} is now {status}", output::clean(&id)));
            })
            .await?;
        }
        ConversationCommand::Export { id } => export(client, &id).await?,
        ConversationCommand::Erase { id, position, reason } => {
            erase(client, &id, position, &reason, json).await?;
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

async fn select(client: &Client, id: &str, agent: &str, json: bool) -> Result<()> {
    let call = Call::put(path_of(id, "/agent"), json!({ "agent_id": agent }));
    print(client, call, json, |answer| {
        let name = output::clean(&text(&answer["currentAgent"], "agentId"));
        output::remark(&format!("{name} holds the conversation"));
    })
    .await
}

async fn progress(client: &Client, id: &str, epoch: Option<u64>, json: bool) -> Result<()> {
    let mut fields = Map::new();
    if let Some(epoch) = epoch {
        fields.insert("epoch".to_owned(), epoch.into());
    }
    let call = Call::post(path_of(id, "/progress"), fields.into());
    print(client, call, json, |answer| {
        let holder = output::clean(&text(answer, "holder"));
        output::remark(&format!("{holder} is working on its answer"));
    })
    .await
}

fn opened(answer: &Value) {
    output::line(&text(answer, "conversation_id"));
    output::line(&text(answer, "customer_token"));
    output::remark(&format!("{} holds the conversation", text(answer, "holder")));
    output::remark("the token is its customer's, and not shown again");
}

pub fn path_of(id: &str, below: &str) -> String {
    format!("/v1/conversations/{}{below}", percent_encode(id))
}

/// Sends the call, and prints the answer as JSON or in words.
async fn print(client: &Client, call: Call, json: bool, words: impl Fn(&Value)) -> Result<()> {
    let answer = client.call(call).await?.success()?;
    match json {
        true => output::json(&answer),
        false => {
            words(&answer);
            names::warnings(&answer);
        }
    }
    Ok(())
}

fn holds(answer: &Value) {
    let (holder, epoch) = (output::clean(&text(answer, "holder")), &answer["epoch"]);
    let instead = match answer["instead_of"].as_str() {
        Some(agent) => format!(" instead of {}, to end a circle", output::clean(agent)),
        None => String::new(),
    };
    output::remark(&format!("{holder} holds the conversation{instead}, epoch {epoch}"));
}

/// The epoch in which the caller speaks: as given, or the current one. A customer has none.
async fn current(client: &Client, id: &str, given: Option<u64>) -> Result<Option<u64>> {
    if given.is_some() {
        return Ok(given);
    }
    let shown = client.call(Call::get(path_of(id, ""))).await?.success()?;
    let is_customer = shown.get("opened_by").is_none();
    Ok(shown["epoch"].as_u64().filter(|_| !is_customer))
}

fn set(body: &mut Value, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        body[name] = value.into();
    }
}

impl OpenArgs {
    fn body(self) -> Result<Value> {
        let mut customer = Map::new();
        put(&mut customer, "name", self.customer_name);
        put(&mut customer, "external_id", self.customer_id);
        put(&mut customer, "language", self.language);
        let mut fields = Map::new();
        fields.insert("customer".to_owned(), customer.into());
        put(&mut fields, "agent", self.agent);
        put(&mut fields, "graph", self.graph);
        if !self.attributes.is_empty() {
            let attributes: BTreeMap<_, _> = self.attributes.into_iter().collect();
            fields.insert("attributes".to_owned(), json!(attributes));
        }
        if let Some(signals) = self.signals {
            fields.insert("signals".to_owned(), json_object("--signals", &signals)?);
        }
        if let Some(topology) = self.topology {
            fields.insert("topology".to_owned(), json_object("--topology", &topology)?);
        }
        if !self.customer_queues.is_empty() {
            fields.insert("customer_queues".to_owned(), json!(self.customer_queues));
        }
        if let Some(hops_max) = self.hops_max {
            fields.insert("hops_max".to_owned(), hops_max.into());
        }
        Ok(fields.into())
    }
}

impl RouteArgs {
    fn body(self, epoch: Option<u64>) -> Result<Value> {
        let mut fields = Map::new();
        put(&mut fields, "goto", Some(self.to));
        put(&mut fields, "queue", self.queue);
        if let Some(text) = self.say {
            fields.insert("parts".to_owned(), json!([{ "type": "text", "text": text }]));
        }
        put(&mut fields, "reason", self.reason);
        put(&mut fields, "context", self.context);
        put(&mut fields, "customer_text", self.customer_text);
        put(&mut fields, "graph", self.parent.then(|| "parent".to_owned()));
        if let Some(update) = self.update {
            fields.insert("update".to_owned(), json_object("--update", &update)?);
        }
        let mut body = Value::from(fields);
        set(&mut body, "epoch", epoch);
        Ok(body)
    }
}

impl ListArgs {
    fn path(self) -> String {
        let mut path = format!("/v1/conversations?limit={}", self.limit);
        let filters = [("holder", self.holder), ("status", self.status), ("cursor", self.cursor)];
        for (name, value) in filters {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encode(&value)));
            }
        }
        path
    }
}

async fn print_list(client: &Client, path: String, json: bool) -> Result<()> {
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let now = token::now();
    let rows = answer["items"].as_array().into_iter().flatten().map(|one| {
        let at = one["changed_at"].as_str().and_then(|at| at.parse::<Time>().ok());
        vec![
            text(one, "conversation_id"),
            text(one, "status"),
            one["customer"]["name"].as_str().unwrap_or("–").to_owned(),
            text(one, "holder"),
            one["epoch"].to_string(),
            one["n_messages"].to_string(),
            at.map_or("–".to_owned(), |at| output::relative(at, now)),
        ]
    });
    let header = ["id", "status", "customer", "holder", "epoch", "messages", "changed"];
    output::list(&header, rows.collect());
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {cursor}"));
    }
    Ok(())
}

/// Line by line as it comes, because it may be longer than memory.
async fn export(client: &Client, id: &str) -> Result<()> {
    let call = Call::get(path_of(id, "/export"));
    let response = client.open(&call, &[]).await?;
    if !response.status().is_success() {
        client.call(call).await?.success()?;
    }
    let (mut body, mut pending) = (response.into_body(), Vec::new());
    let mut is_whole = false;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.context("the answer broke off")?.into_data() else { continue };
        pending.extend_from_slice(&data);
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let line: Value = serde_json::from_slice(&line).context("a line is not JSON")?;
            output::json_to_keep(&line).context("the export cannot be written")?;
            is_whole = line["kind"] == "end";
        }
    }
    anyhow::ensure!(is_whole, "the export broke off");
    Ok(())
}

/// Repeats until nothing is left.
async fn erase(
    client: &Client,
    id: &str,
    position: Option<u64>,
    reason: &str,
    json: bool,
) -> Result<()> {
    let mut body = json!({ "reason": reason });
    set(&mut body, "position", position);
    let mut n_erased = 0;
    loop {
        let call = Call::post(path_of(id, "/erase"), body.clone());
        let mut answer = client.call(call).await?.success()?;
        n_erased += answer["erased"].as_u64().unwrap_or_default();
        if answer["has_more"] == true {
            continue;
        }
        answer["erased"] = n_erased.into();
        match json {
            true => output::json(&answer),
            false => output::remark(&format!("{n_erased} entries were erased")),
        }
        return Ok(());
    }
}

pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}
