//! `tasuki question`: ask a person, answer, and go on with the answer.

use std::fs;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::reach::Reach;
use super::{put, token, waits};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct QuestionArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: QuestionCommand,
}

#[derive(Debug, Subcommand)]
enum QuestionCommand {
    /// Ask a person or a queue; prints the id
    Ask(Box<AskArgs>),
    /// List questions, the newest first; with --mine the oldest first
    List(ListArgs),
    /// Show a question
    Show {
        /// The question's id
        id: String,
        /// Wait this long for an answer, such as 20s
        #[arg(long, value_name = "SPAN")]
        wait: Option<String>,
    },
    /// Answer a question, as the human who is asked
    Answer(AnswerArgs),
    /// Take a question back
    Withdraw {
        /// The question's id
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Claim the work that follows an answer; prints the epoch and the idempotency key
    Claim {
        /// The question's id
        id: String,
        /// For how long [default: 1m]
        #[arg(long, value_name = "SPAN")]
        lease: Option<String>,
    },
    /// Make the lease of a claim longer
    Renew {
        /// The question's id
        id: String,
        /// The epoch of the claim
        #[arg(long)]
        epoch: u64,
        /// For how long from now on [default: 1m]
        #[arg(long, value_name = "SPAN")]
        lease: Option<String>,
    },
    /// Say that the work that follows an answer is done
    Finish {
        /// The question's id
        id: String,
        /// The epoch of the claim
        #[arg(long)]
        epoch: u64,
        /// What was done
        #[arg(long, value_name = "TEXT")]
        result: Option<String>,
    },
    /// Erase the content of one entry, as an operator
    Erase {
        /// The question's id
        id: String,
        /// The position of the entry; 1 is what was asked
        #[arg(long)]
        position: u64,
        /// Why; kept for ever
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
struct AskArgs {
    /// The question
    text: String,
    /// The person or the queue; the queue `default` when absent
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// The kind of answer [default: approve]
    #[arg(long, value_enum)]
    wants: Option<Wants>,
    /// For `choose`: an answer to choose from; repeat it
    #[arg(long = "option", value_name = "TEXT")]
    options: Vec<String>,
    /// The tool that an approval is for
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// Its arguments, as a JSON object; `@FILE` reads a file
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    /// A yes leads to something that cannot be undone
    #[arg(long)]
    irreversible: bool,
    /// How long an answer counts, such as 2h [default: 24h]
    #[arg(long, value_name = "SPAN")]
    timeout: Option<String>,
    /// The answer if there is none in time: approve, decline, or an option
    #[arg(long, value_name = "ANSWER")]
    default: Option<String>,
    /// An agent besides you that may go on with the answer; repeat it
    #[arg(long = "worker", value_name = "AGENT")]
    workers: Vec<String>,
    /// What you call the run that waits
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// The task that it is about
    #[arg(long, value_name = "ID")]
    task: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Wants {
    Approve,
    Choose,
    Text,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// All that waits for you: questions, approvals, and what agents ask in their sessions
    #[arg(long, conflicts_with_all = ["status", "asker", "to_continue"])]
    mine: bool,
    /// Only those with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only those that this agent asked
    #[arg(long, value_name = "AGENT")]
    asker: Option<String>,
    /// Only those with an answer whose work is not done
    #[arg(long)]
    to_continue: bool,
    /// Go on after the page before
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
struct AnswerArgs {
    /// The question's id, or with `--event` that of a session
    id: String,
    /// The event of the session that asks; `--text` answers a clarification
    #[arg(long, value_name = "ID", conflicts_with_all = ["choose", "hash"])]
    event: Option<String>,
    /// Yes
    #[arg(long, group = "answered")]
    approve: bool,
    /// No
    #[arg(long, group = "answered")]
    decline: bool,
    /// One of the options
    #[arg(long, value_name = "OPTION", group = "answered")]
    choose: Option<String>,
    /// A text
    #[arg(long, value_name = "TEXT", group = "answered")]
    text: Option<String>,
    /// More words for the asker
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// The hash of the question that you have read; without it, the question is shown and its hash
    /// is sent
    #[arg(long, value_name = "SHA256")]
    hash: Option<String>,
}

/// How an answer is shown.
enum Shown {
    Id,
    Question,
    Questions,
    Claim,
    /// A question of a session.
    OfSession,
}

pub async fn run(args: QuestionArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let (call, shown) = call(&reached.client, args.command, args.reach.json).await?;
    let answer = reached.client.call(call).await?.success()?;
    if args.reach.json {
        output::json(&answer);
    } else {
        match shown {
            Shown::Id => output::line(&text(&answer, "question_id")),
            Shown::Question => question(&answer),
            Shown::Questions => questions(&answer),
            Shown::Claim => claim(&answer),
            Shown::OfSession => {
                let said = answer["decision"].as_str().unwrap_or("answered");
                output::line(&format!(
                    "{} {said}",
                    answer["event_id"].as_str().unwrap_or_default()
                ));
            }
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn path(id: &str, action: &str) -> String {
    format!("/v1/questions/{}{action}", percent_encode(id))
}

async fn call(client: &Client, command: QuestionCommand, is_json: bool) -> Result<(Call, Shown)> {
    Ok(match command {
        QuestionCommand::Ask(args) => (Call::post("/v1/questions", args.body()?), Shown::Id),
        QuestionCommand::List(args) => (Call::get(args.path()), Shown::Questions),
        QuestionCommand::Show { id, wait } => {
            let wait = wait.map(|wait| format!("?wait={}", percent_encode(&wait)));
            (Call::get(path(&id, &wait.unwrap_or_default())), Shown::Question)
        }
        QuestionCommand::Answer(args) if args.event.is_some() => {
            let session = percent_encode(&args.id);
            let path = format!("/aaep/v1/sessions/{session}/answer");
            (Call::post(path, args.session_body()?), Shown::OfSession)
        }
        QuestionCommand::Answer(args) => {
            let body = args.body(client, is_json).await?;
            (Call::post(path(&args.id, "/answer"), body), Shown::Question)
        }
        QuestionCommand::Withdraw { id, reason } => {
            (Call::post(path(&id, "/withdraw"), fields([("reason", reason)])), Shown::Question)
        }
        QuestionCommand::Claim { id, lease } => {
            (Call::post(path(&id, "/claim"), fields([("lease", lease)])), Shown::Claim)
        }
        QuestionCommand::Renew { id, epoch, lease } => {
            let mut body = fields([("lease", lease)]);
            body["epoch"] = epoch.into();
            (Call::post(path(&id, "/renew"), body), Shown::Claim)
        }
        QuestionCommand::Finish { id, epoch, result } => {
            let mut body = fields([("result", result)]);
            body["epoch"] = epoch.into();
            (Call::post(path(&id, "/finish"), body), Shown::Question)
        }
        QuestionCommand::Erase { id, position, reason } => {
            let body = json!({ "position": position, "reason": reason });
            (Call::post(path(&id, "/erase"), body), Shown::Question)
        }
    })
}

fn fields<const N: usize>(given: [(&str, Option<String>); N]) -> Value {
    let mut fields = Map::new();
    for (name, value) in given {
        put(&mut fields, name, value);
    }
    fields.into()
}

impl AskArgs {
    fn body(self) -> Result<Value> {
        let mut body = fields([
            ("to", self.to),
            ("action", self.action),
            ("timeout", self.timeout),
            ("reference", self.reference),
            ("task_id", self.task),
        ]);
        body["text"] = self.text.into();
        let wants = self.wants.map(|wants| match wants {
            Wants::Approve => "approve",
            Wants::Choose => "choose",
            Wants::Text => "text",
        });
        if let Some(wants) = wants {
            body["wants"] = wants.into();
        }
        if self.irreversible {
            body["irreversible"] = true.into();
        }
        for (name, list) in [("options", self.options), ("workers", self.workers)] {
            if !list.is_empty() {
                body[name] = list.into();
            }
        }
        if let Some(given) = self.arguments {
            body["arguments"] = arguments(&given)?;
        }
        if let Some(default) = self.default {
            body["default"] = match (default.as_str(), self.wants) {
                ("approve" | "decline", _) => json!({ "decision": default }),
                (_, Some(Wants::Choose)) => json!({ "decision": "choose", "option": default }),
                (_, Some(Wants::Text)) => json!({ "decision": "text", "text": default }),
                (_, Some(Wants::Approve) | None) => bail!("--default: expected approve or decline"),
            };
        }
        Ok(body)
    }
}

fn arguments(given: &str) -> Result<Value> {
    let text = match given.strip_prefix('@') {
        Some(file) => fs::read_to_string(file).with_context(|| format!("reading {file}"))?,
        None => given.to_owned(),
    };
    serde_json::from_str(&text).context("--arguments: expected a JSON object")
}

impl ListArgs {
    fn path(&self) -> String {
        let mut path = "/v1/questions?limit=200".to_owned();
        let mut add = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encode(value)));
            }
        };
        add("waiting_for", self.mine.then_some("me"));
        add("status", self.status.as_deref());
        add("asker", self.asker.as_deref());
        add("to_continue", self.to_continue.then_some("true"));
        add("cursor", self.cursor.as_deref());
        path
    }
}

impl AnswerArgs {
    /// The answer to a question of a session. A text that is JSON is sent as such: `true`, or `7`.
    fn session_body(&self) -> Result<Value> {
        let mut body = fields([("event_id", self.event.clone()), ("rationale", self.note.clone())]);
        match (self.approve, self.decline, &self.text) {
            (true, ..) => body["decision"] = "accept".into(),
            (_, true, _) => body["decision"] = "reject".into(),
            (_, _, Some(text)) => {
                let read = serde_json::from_str::<Value>(text).ok();
                let plain = read.filter(|it| it.is_boolean() || it.is_number());
                body["response"] = plain.unwrap_or_else(|| text.as_str().into());
            }
            (..) => bail!("expected one of --approve, --decline and --text"),
        }
        Ok(body)
    }

    /// Without a hash the question is printed first: the answer is about what was shown.
    async fn body(&self, client: &Client, is_json: bool) -> Result<Value> {
        let (decision, more) = match (self.approve, self.decline, &self.choose, &self.text) {
            (true, ..) => ("approve", None),
            (_, true, ..) => ("decline", None),
            (_, _, Some(option), _) => ("choose", Some(("option", option))),
            (_, _, _, Some(text)) => ("text", Some(("text", text))),
            (..) => bail!("expected one of --approve, --decline, --choose and --text"),
        };
        let hash = match &self.hash {
            Some(hash) => hash.clone(),
            None => {
                let shown = client.call(Call::get(path(&self.id, ""))).await?.success()?;
                if !is_json {
                    question(&shown);
                }
                text(&shown, "hash")
            }
        };
        let mut body = fields([("note", self.note.clone())]);
        (body["hash"], body["decision"]) = (hash.into(), decision.into());
        if let Some((name, value)) = more {
            body[name] = value.as_str().into();
        }
        Ok(body)
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().map_or_else(|| "–".to_owned(), output::clean)
}

fn question(it: &Value) {
    let mut rows = vec![vec!["question".to_owned(), text(it, "question_id")]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("status", text(it, "status"));
    row("from", format!("{} → {}", text(it, "asker"), text(it, "to")));
    match it["erased"] == true {
        true => row("erased", "yes".to_owned()),
        false => row("text", text(it, "text")),
    }
    row("wants", text(it, "wants"));
    if let Some(options) = it["options"].as_array() {
        let shown = options.iter().filter_map(Value::as_str).map(output::clean);
        row("options", shown.collect::<Vec<_>>().join(", "));
    }
    if it["action"].is_string() {
        row("action", text(it, "action"));
    }
    if it["arguments"].is_object() {
        row("arguments", output::clean(&it["arguments"].to_string()));
    }
    row("hash", text(it, "hash"));
    if it["irreversible"] == true {
        row("irreversible", "yes".to_owned());
    }
    row("until", text(it, "until"));
    if it["default"].is_object() {
        row("default", given(&it["default"]));
    }
    if it["answer"].is_object() {
        row("answer", given(&it["answer"]));
        row("by", text(&it["answer"], "by"));
    }
    if let Some(workers) = it["workers"].as_array().filter(|workers| !workers.is_empty()) {
        let shown = workers.iter().filter_map(Value::as_str).map(output::clean);
        row("workers", shown.collect::<Vec<_>>().join(", "));
    }
    if it["reference"].is_string() {
        row("reference", text(it, "reference"));
    }
    if it["continuation"].is_object() {
        let of = &it["continuation"];
        row("continuation", format!("{}, epoch {}", text(of, "status"), of["epoch"]));
        if of["result"].is_string() {
            row("result", text(of, "result"));
        }
    }
    for wait in it["waiting_for"].as_array().into_iter().flatten() {
        row("waits for", waits::told(wait, token::now()));
    }
    output::line(&output::table(&["", ""], rows));
}

/// An answer in a few words.
fn given(it: &Value) -> String {
    let more = ["option", "text", "note"].iter().filter(|name| it[**name].is_string());
    let more = more.map(|name| text(it, name)).collect::<Vec<_>>().join("; ");
    match more.is_empty() {
        true => text(it, "decision"),
        false => format!("{}: {more}", text(it, "decision")),
    }
}

fn questions(answer: &Value) {
    let now = token::now();
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        output::line("no questions");
    } else {
        let rows = items.iter().map(|it| row(it, now)).collect();
        output::list(&["kind", "id", "text", "from → to", "status", "until"], rows);
    }
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {cursor}"));
    }
}

fn row(it: &Value, now: Time) -> Vec<String> {
    let (id, said) = id_and_text(it);
    let to = ["to", "to_agent"].iter().find_map(|name| it[*name].as_str());
    let between = format!("{} → {}", text(it, "asker"), to.map_or("you".to_owned(), output::clean));
    vec![text(it, "kind"), id, said, between, text(it, "status"), until(it, now)]
}

/// The id of something that waits for a human, and the first line of its words.
pub fn id_and_text(it: &Value) -> (String, String) {
    let first = |names: &[&str]| {
        let found = names.iter().find_map(|name| it[*name].as_str()).unwrap_or("–");
        output::clean(found.lines().next().unwrap_or_default())
    };
    let id = first(&["question_id", "handoff_id", "session_id"]);
    // A session may ask several questions; the words can be pasted after `question answer`.
    let event = it["event_id"].as_str().map(|event| format!(" --event {}", output::clean(event)));
    (id + &event.unwrap_or_default(), first(&["text", "title"]))
}

pub fn until(it: &Value, now: Time) -> String {
    let until = it["until"].as_str().and_then(|at| at.parse().ok());
    until.map_or("–".to_owned(), |at| output::relative(at, now))
}

fn claim(it: &Value) {
    let rows = [
        ("epoch", it["epoch"].to_string()),
        ("idempotency key", text(it, "idempotency_key")),
        ("until", text(it, "until")),
        ("answer", given(&it["question"]["answer"])),
        ("reference", text(&it["question"], "reference")),
    ];
    let rows = rows.map(|(name, value)| vec![name.to_owned(), value]).to_vec();
    output::line(&output::table(&["", ""], rows));
}
