//! `tasuki transfer`: a conversation passes to a person, step by step.

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use protocol::transfer::status::Status;
use serde_json::{Map, Value, json};

use super::reach::Reach;
use super::{expect_object, put, read_json, transfer_story, transfer_words};
use crate::cli::transfer_view::{path_of, text};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

const NOT_FOUND: u16 = 404;

#[derive(Debug, Args)]
pub struct TransferArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: TransferCommand,
}

#[derive(Debug, Subcommand)]
enum TransferCommand {
    /// Show a transfer: its state, its place in the queue, and what the person is told
    Show {
        /// The transfer's id
        id: String,
    },
    /// List the transfers that you may see, newest first, with what each waits for
    List(ListArgs),
    /// Ask for a person, as the customer or as the agent that holds the conversation; prints the
    /// id of the transfer
    Request(RequestArgs),
    /// Take it from the queue, as a person; the first one gets it
    Pickup {
        #[command(flatten)]
        at: At,
        /// Answer at once, instead of letting it ring first
        #[arg(long)]
        accept: bool,
    },
    /// Answer, as the person for whom it rings
    Accept {
        #[command(flatten)]
        at: At,
    },
    /// Do not answer; the next person is asked
    Decline {
        #[command(flatten)]
        at: At,
        /// Why; shown to colleagues
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Put the customer on hold
    Hold {
        #[command(flatten)]
        at: At,
    },
    /// Take the customer off hold
    Resume {
        #[command(flatten)]
        at: At,
    },
    /// Settle it: the conversation goes back to the agent that held it before
    Complete {
        #[command(flatten)]
        at: At,
        /// What that agent must know
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// Your own code for how it was settled, such as refunded
        #[arg(long, value_name = "CODE")]
        disposition: Option<String>,
        /// Another bot that gets the conversation
        #[arg(long, value_name = "AGENT")]
        to: Option<String>,
    },
    /// End it, and close the conversation
    End {
        #[command(flatten)]
        at: At,
        /// Why; shown to colleagues
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Withdraw the request for a person; while another person is asked in, only that invitation
    Cancel {
        #[command(flatten)]
        at: At,
        /// Why; shown to colleagues
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Give up finding a person, as a coordinator; the agent that held it before answers again
    Fail {
        #[command(flatten)]
        at: At,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// As the person who answers: ask another person in, or pass the customer on to one
    #[command(visible_alias = "pass-on")]
    Transfer(TransferOnArgs),
    /// Write something for colleagues; the customer does not see it
    Note {
        #[command(flatten)]
        at: At,
        /// What to write
        text: String,
    },
    /// Advise the person who answers; the customer does not see it
    Whisper {
        #[command(flatten)]
        at: At,
        /// What to tell
        text: String,
    },
    /// Say how it was, as the customer
    Rate {
        /// The transfer's id
        id: String,
        /// From 1, very bad, to 5, very good
        score: u8,
        /// What else there is to say
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
}

/// Which transfer, and what its caller has seen of it.
#[derive(Debug, Args)]
struct At {
    /// The transfer's id
    id: String,
    /// The epoch that you have seen [default: the current one]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only those in this state
    #[arg(long, value_parser = statuses())]
    status: Option<String>,
    /// Only those that wait in this queue, or waited there last
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only those that ring for this person, or that this person answers or answered last
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only those of this conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Only those requested at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only those requested before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// What rings for you now, with the epoch that the answer needs
    #[arg(long, conflicts_with_all = [
        "status", "queue", "agent", "conversation", "since", "until"
    ])]
    ringing_for_me: bool,
    /// How many transfers to show, up to 200
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
struct RequestArgs {
    /// The conversation's id
    id: String,
    /// Where it waits [default: default]
    #[arg(long)]
    queue: Option<String>,
    /// How: bot_to_human, the usual way to a person, and warm bring along what is known; blind
    /// brings only the reason [default: bot_to_human]
    #[arg(long = "type", value_parser = ["bot_to_human", "warm", "blind"])]
    kind: Option<String>,
    /// Why a person is wanted
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What happened so far, for the person; from an agent only
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// What the person should know, in the customer's words; from the customer only
    #[arg(long, value_name = "TEXT")]
    words: Option<String>,
    /// What the customer is told instead of the reason; from an agent only [default: a sentence
    /// in the customer's language]
    #[arg(long, value_name = "TEXT")]
    customer_text: Option<String>,
    /// Priority in the queue, from -100 to 100; larger is served sooner [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    priority: Option<i32>,
    /// The epoch in which an agent asks [default: the current one]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// A name of your own for this request: sent again under the same name, it asks only once
    #[arg(long, value_name = "KEY")]
    request_key: Option<String>,
    /// A JSON file with more of the request; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<std::path::PathBuf>,
}

#[derive(Debug, Args)]
struct TransferOnArgs {
    #[command(flatten)]
    at: At,
    /// A person or a queue
    #[arg(long, value_name = "AGENT")]
    to: String,
    /// How: supervisor_consult asks for advice, the others pass the customer on; warm brings what
    /// is known along, blind does not [default: human_to_human]
    #[arg(long = "type",
          value_parser = ["human_to_human", "warm", "supervisor_consult", "blind"])]
    kind: Option<String>,
    /// Why; shown to the other person
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What happened so far, for the other person
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// What the customer is told when the other person is there [default: a sentence in the
    /// customer's language]
    #[arg(long, value_name = "TEXT")]
    customer_text: Option<String>,
}

pub async fn run(args: TransferArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let asked = ActRequest { client: &reached.client, json: args.reach.json };
    match args.command {
        TransferCommand::Show { id } => {
            transfer_story::print(asked.client, &id, asked.json).await?
        }
        TransferCommand::List(list) if list.ringing_for_me => {
            let cursor = list.cursor.as_deref();
            transfer_story::print_ringing(asked.client, list.limit, cursor, asked.json).await?;
        }
        TransferCommand::List(list) => {
            transfer_story::print_list(asked.client, list.path(), asked.json).await?;
        }
        TransferCommand::Request(request) => asked.request(request).await?,
        TransferCommand::Pickup { at, accept } => {
            asked.act(at, "pickup", json!({ "accept": accept })).await?;
        }
        TransferCommand::Accept { at } => asked.act(at, "accept", json!({})).await?,
        TransferCommand::Decline { at, reason } => {
            asked.act(at, "decline", one("reason", reason)).await?;
        }
        TransferCommand::Hold { at } => asked.act(at, "hold", json!({})).await?,
        TransferCommand::Resume { at } => asked.act(at, "resume", json!({})).await?,
        TransferCommand::Complete { at, summary, disposition, to } => {
            let mut fields = one("summary", summary);
            for (name, given) in [("disposition", disposition), ("to", to)] {
                if let Some(given) = given {
                    fields[name] = given.into();
                }
            }
            asked.act(at, "complete", fields).await?;
        }
        TransferCommand::End { at, reason } => asked.act(at, "end", one("reason", reason)).await?,
        TransferCommand::Cancel { at, reason } => {
            asked.act(at, "cancel", one("reason", reason)).await?;
        }
        TransferCommand::Fail { at, reason } => {
            asked.act(at, "fail", json!({ "reason": reason })).await?;
        }
        TransferCommand::Transfer(on) => {
            let (at, body) = on.split();
            asked.act(at, "transfer", body).await?;
        }
        TransferCommand::Note { at, text } => {
            asked.act(at, "note", json!({ "text": text })).await?;
        }
        TransferCommand::Whisper { at, text } => {
            asked.act(at, "whisper", json!({ "text": text })).await?;
        }
        TransferCommand::Rate { id, score, comment } => {
            let mut body = one("comment", comment);
            body["score"] = score.into();
            asked.print(&id, "rate", body).await?;
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

struct ActRequest<'a> {
    client: &'a Client,
    json: bool,
}

impl ActRequest<'_> {
    async fn request(&self, request: RequestArgs) -> Result<()> {
        let id = percent_encode(&request.id);
        let path = format!("/v1/conversations/{id}/transfers");
        let epoch = match request.epoch {
            Some(epoch) => Some(epoch),
            None => {
                let call = Call::get(format!("/v1/conversations/{id}"));
                let shown = self.client.call(call).await?.success()?;
                seen(&shown, "opened_by")
            }
        };
        let answer = self.client.call(Call::post(path, request.body(epoch)?)).await?.success()?;
        if self.json {
            output::json(&answer);
            return Ok(());
        }
        output::line(&text(&answer, "transfer_id"));
        output::remark(&transfer_words::waits(&answer));
        Ok(())
    }

    async fn act(&self, at: At, action: &str, mut body: Value) -> Result<()> {
        let epoch = match at.epoch {
            Some(epoch) => Some(epoch),
            None => {
                let shown = self.client.call(Call::get(path_of(&at.id, ""))).await?;
                // A conversation of another holder is hidden here; the request below returns the
                // refusal.
                let is_hidden = shown.status == NOT_FOUND;
                if is_hidden { None } else { seen(&shown.success()?, "requested_by") }
            }
        };
        if let Some(epoch) = epoch {
            body["epoch"] = epoch.into();
        }
        self.print(&at.id, action, body).await
    }

    async fn print(&self, id: &str, action: &str, body: Value) -> Result<()> {
        let call = Call::post(path_of(id, &format!("/{action}")), body.clone());
        let answer = self.client.call(call).await?.success()?;
        match self.json {
            true => output::json(&answer),
            false => output::remark(&transfer_words::did(action, &body, &answer)),
        }
        Ok(())
    }
}

/// The epoch that the caller saw. Customers have none: their view lacks the field.
fn seen(shown: &Value, field: &str) -> Option<u64> {
    shown["epoch"].as_u64().filter(|_| shown.get(field).is_some())
}

/// There is no transfer before a person is requested.
fn statuses() -> PossibleValuesParser {
    let all = Status::ALL.into_iter().filter(|status| *status != Status::Idle);
    PossibleValuesParser::new(all.map(Status::as_str))
}

fn one(name: &str, value: Option<String>) -> Value {
    let mut fields = Map::new();
    put(&mut fields, name, value);
    fields.into()
}

impl ListArgs {
    fn path(&self) -> String {
        let mut path = format!("/v1/transfers?limit={}", self.limit);
        let given = [
            ("status", &self.status),
            ("queue", &self.queue),
            ("agent", &self.agent),
            ("conversation", &self.conversation),
            ("since", &self.since),
            ("until", &self.until),
            ("cursor", &self.cursor),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encode(value)));
            }
        }
        path
    }
}

impl RequestArgs {
    fn body(self, epoch: Option<u64>) -> Result<Value> {
        let from_file = self.file.as_deref().map(read_json).transpose()?;
        let mut body = from_file.unwrap_or(json!({}));
        let texts = [
            ("queue", self.queue),
            ("type", self.kind),
            ("reason", self.reason),
            ("request_key", self.request_key),
            ("words", self.words),
            ("customer_text", self.customer_text),
        ];
        expect_object("--file", &body)?;
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        for (name, value) in texts {
            put(fields, name, value);
        }
        if let Some(priority) = self.priority {
            fields.insert("priority".to_owned(), priority.into());
        }
        if let Some(epoch) = epoch {
            fields.insert("epoch".to_owned(), epoch.into());
        }
        if let Some(summary) = self.summary {
            let context = fields.entry("context").or_insert_with(|| json!({}));
            expect_object("--file: context", context)?;
            context["summary"] = summary.into();
        }
        Ok(body)
    }
}

impl TransferOnArgs {
    fn split(self) -> (At, Value) {
        let mut fields = Map::new();
        put(&mut fields, "to", Some(self.to));
        put(&mut fields, "type", self.kind);
        put(&mut fields, "reason", self.reason);
        put(&mut fields, "customer_text", self.customer_text);
        if let Some(summary) = self.summary {
            fields.insert("context".to_owned(), json!({ "summary": summary }));
        }
        (self.at, fields.into())
    }
}
