//! The command line: what people type, and what they read back.

mod aaep;
mod agent;
mod agent_profile;
mod audit_commands;
mod backup_commands;
mod bench_aaep;
mod bench_artifacts;
mod bench_command;
mod bench_conversation;
mod bench_route;
mod chat;
mod conversation;
mod conversation_story;
pub mod demo;
mod detect;
mod doctor;
mod graph;
mod handoff;
mod ledger;
mod lint;
mod message;
mod message_keeping;
mod offer;
mod outbox;
mod package_story;
mod queue;
mod story;
mod teamspace;
mod token;
mod transfer;
mod transfer_story;
mod typist;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use adapters::checkpoint_file;
use anyhow::{Context, Result};
use clap::{Args, CommandFactory, Parser, Subcommand};
use store::sqlite::OpenError;

use crate::client::{Client, Identity, Refused, Unreachable};
use crate::config::{Config, FILE_NAME, LogFormat};
use crate::node::{Node, control_socket};
use crate::serve::Demo;
use crate::{exit_code, output, scripted, serve, telemetry};

/// The handoff server for AI agents and people.
#[derive(Debug, Parser)]
#[command(name = "tasuki", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed or a check found something, 2 usage, \
                          3 refused by the server, 4 unreachable, 5 data folder in use";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve(ServeArgs),
    /// Make, list and revoke credentials.
    Token(token::TokenArgs),
    /// Look at and add to the directory of agents.
    Agent(agent::AgentArgs),
    /// Make, look at and change teamspaces.
    Teamspace(teamspace::TeamspaceArgs),
    /// Hand work over: every action, lists, stories and a live view.
    Handoff(handoff::HandoffArgs),
    /// Look into your inbox; what is shown counts as delivered.
    Inbox(message::InboxArgs),
    /// Send, answer, read and find messages.
    Message(message::MessageArgs),
    /// Open, follow, hand over, export and erase conversations with customers.
    Conversation(conversation::ConversationArgs),
    /// Show who waits for a person, and say how queues work.
    Queue(queue::QueueArgs),
    /// Pass a conversation to a person: every action, and how it stands.
    Transfer(transfer::TransferArgs),
    /// Chat in this terminal, as a customer or as the person who answers.
    Chat(chat::ChatArgs),
    /// Show what must still happen outside, and try again what was given up
    Outbox(outbox::OutboxArgs),
    /// AAEP: announce, hear, answer, record, replay and check; look after its keys.
    Aaep(aaep::AaepArgs),
    /// Check an agent graph and try it out, offline; save it at a server.
    Graph(graph::GraphArgs),
    /// Verify, export and look at the ledger, offline.
    Audit(audit_commands::AuditArgs),
    /// Copy the database of a server, running or not, to a file that can be verified alone.
    Backup(backup_commands::BackupArgs),
    /// Put a backup into a data folder on which no server runs.
    Restore(backup_commands::RestoreArgs),
    /// Go on after a loss.
    Ledger(ledger::LedgerArgs),
    /// Check a data folder and its server.
    Doctor(doctor::DoctorArgs),
    /// Measure this machine: bare SQLite, the engine, the server.
    Bench(bench_command::BenchArgs),
    /// Print a completion script for a shell.
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The data folder [env: TASUKI_DATA] [default: ./tasuki-data]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Where to listen [env: TASUKI_LISTEN] [default: 127.0.0.1:7420]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// A configuration file [default: ./tasuki.toml if it exists]
    #[arg(long, env = "TASUKI_CONFIG")]
    config: Option<PathBuf>,
    /// Serve HTTPS with this certificate chain (PEM)
    #[arg(long, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// ... and this private key (PEM)
    #[arg(long, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let pages of this origin open WebSockets; may be repeated [env: TASUKI_WS_ORIGINS]
    #[arg(long, value_name = "ORIGIN")]
    ws_origin: Vec<String>,
    /// Serve AAEP on this Unix socket too, for programs of this user [env: TASUKI_AAEP_SOCKET]
    #[arg(long, value_name = "PATH")]
    aaep_socket: Option<PathBuf>,
    /// error, warn, info, debug or trace
    #[arg(long)]
    log_level: Option<String>,
    #[arg(long, value_enum)]
    log_format: Option<LogFormat>,
    /// Let anybody on this machine talk to the scripted agent without a token
    /// [env: TASUKI_AAEP_COMPAT]
    #[arg(long, value_name = "AGENT", value_parser = [scripted::AGENT_ID])]
    aaep_compat: Option<String>,
    /// Call agents on this machine, also without TLS; only on a loopback address [env: TASUKI_DEV]
    #[arg(long)]
    dev: bool,
    /// On the first start, add agents, a handoff and a conversation to look at; and let Bob, a
    /// scripted bot, answer. On a loopback address, also what --dev does
    #[arg(long)]
    demo: bool,
}

/// How to reach a server, shared by all commands that talk to one.
#[derive(Debug, Args)]
struct Reach {
    /// The data folder of the server, or of none [default: ./tasuki-data]
    #[arg(long, env = "TASUKI_DATA", global = true)]
    data: Option<PathBuf>,
    /// Talk to this server instead, such as https://tasuki.example:7420
    #[arg(long, env = "TASUKI_SERVER", global = true, value_name = "URL")]
    server: Option<String>,
    /// Trust this certificate for https (PEM)
    #[arg(long, env = "TASUKI_CA_CERT", global = true)]
    ca_cert: Option<PathBuf>,
    /// Who you are
    #[arg(long, env = "TASUKI_TOKEN", global = true, hide_env_values = true)]
    token: Option<String>,
    /// With access to the data folder: act as this agent, without a token
    #[arg(long = "as", env = "TASUKI_AS", global = true, value_name = "AGENT")]
    act_as: Option<String>,
    /// With access to the data folder: act in this teamspace [default: default]
    #[arg(long, env = "TASUKI_TEAMSPACE", global = true)]
    teamspace: Option<String>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::remark(&format!("error: cannot start: {error}"));
            return ExitCode::from(exit_code::FAILED);
        }
    };
    let result = runtime.block_on(dispatch(cli.command));
    if let (Ok(_), Some(error)) = (&result, output::lost()) {
        output::remark(&format!(
            "error: cannot write to standard output: {error}\n\
             hint: what was asked for was done all the same; list it before you ask again"
        ));
        return ExitCode::from(exit_code::FAILED);
    }
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::remark(&format!("error: {}", output::clean(&format!("{error:#}"))));
            if let Some(hint) = hint(&error) {
                output::remark(&format!("hint: {hint}"));
            }
            ExitCode::from(code_of(&error))
        }
    }
}

async fn dispatch(command: Command) -> Result<u8> {
    match command {
        Command::Serve(args) => serve(args).await,
        Command::Token(args) => token::run(args).await,
        Command::Agent(args) => agent::run(args).await,
        Command::Teamspace(args) => teamspace::run(args).await,
        Command::Handoff(args) => handoff::run(args).await,
        Command::Inbox(args) => message::inbox(args).await,
        Command::Message(args) => message::run(args).await,
        Command::Conversation(args) => conversation::run(args).await,
        Command::Queue(args) => queue::run(args).await,
        Command::Transfer(args) => transfer::run(args).await,
        Command::Chat(args) => chat::run(args).await,
        Command::Outbox(args) => outbox::run(args).await,
        Command::Aaep(args) => aaep::run(args).await,
        Command::Graph(args) => graph::run(args).await,
        Command::Audit(args) => audit_commands::run(args).await,
        Command::Backup(args) => backup_commands::back_up(args),
        Command::Restore(args) => backup_commands::restore(args),
        Command::Ledger(args) => ledger::run(args).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::Bench(args) => bench_command::run(args).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tasuki", &mut script);
            output::line(String::from_utf8_lossy(&script).trim_end());
            Ok(exit_code::OK)
        }
    }
}

async fn serve(args: ServeArgs) -> Result<u8> {
    let config = configure(args.config.as_deref())?;
    let demo = if args.demo { Demo::Yes } else { Demo::No };
    let config = with_flags(config, args);
    config.log.check().context(BadConfig)?;
    let traces = telemetry::start(&config)?;
    let served = serve::run(config, demo).await;
    if let Some(traces) = traces {
        traces.flush().await;
    }
    served?;
    Ok(exit_code::OK)
}

fn configure(file: Option<&std::path::Path>) -> Result<Config> {
    let default_file = PathBuf::from(FILE_NAME);
    let file = file.map(PathBuf::from).or_else(|| default_file.exists().then_some(default_file));
    Config::load(file.as_deref(), std::env::vars()).context(BadConfig)
}

/// The settings make no sense, wherever they come from.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("cannot use the configuration")]
struct BadConfig;

fn with_flags(mut config: Config, args: ServeArgs) -> Config {
    config.data = args.data.unwrap_or(config.data);
    config.listen = args.listen.unwrap_or(config.listen);
    config.tls.cert = args.tls_cert.unwrap_or(config.tls.cert);
    config.tls.key = args.tls_key.unwrap_or(config.tls.key);
    if !args.ws_origin.is_empty() {
        config.ws_origins = args.ws_origin;
    }
    config.aaep_socket = args.aaep_socket.unwrap_or(config.aaep_socket);
    config.log.level = args.log_level.unwrap_or(config.log.level);
    config.log.format = args.log_format.unwrap_or(config.log.format);
    config.aaep.compat = args.aaep_compat.unwrap_or(config.aaep.compat);
    config.aaep.scripted |= args.demo;
    config.dev |= args.dev;
    config
}

/// A client, and the node behind it when there is no server to talk to.
struct Reached {
    client: Client,
    node: Option<Node>,
}

impl Reach {
    /// The data folder: as given, or as configured.
    fn data(&self) -> Result<PathBuf> {
        match &self.data {
            Some(data) => Ok(data.clone()),
            None => Ok(configure(None)?.data),
        }
    }

    fn identity(&self) -> Identity {
        Identity {
            token: self.token.clone(),
            act_as: self.act_as.clone(),
            teamspace: self.teamspace.clone(),
        }
    }

    /// Finds the server. Without one that runs, and without an address, this process becomes it.
    async fn connect(&self) -> Result<Reached> {
        let identity = self.identity();
        if let Some(url) = &self.server {
            let client = Client::network(url, self.ca_cert.as_deref())?;
            return Ok(Reached { client: client.with_identity(identity), node: None });
        }
        let data = self.data()?;
        let socket = control_socket(&data);
        if tokio::net::UnixStream::connect(&socket).await.is_ok() {
            let client = Client::socket(socket).with_identity(identity);
            return Ok(Reached { client, node: None });
        }
        let is_there = |name: &str| {
            let path = data.join(name);
            path.try_exists().with_context(|| format!("cannot look at {}", path.display()))
        };
        if !is_there(store::sqlite::FILE_NAME)? && !is_there(checkpoint_file::NEWEST_FILE)? {
            return Err(NoLedger(data).into());
        }
        become_server(data, identity)
    }

    /// The same for a command with which a ledger may begin.
    async fn connect_or_begin(&self) -> Result<Reached> {
        match self.connect().await {
            Err(error) if error.is::<NoLedger>() => become_server(self.data()?, self.identity()),
            reached => reached,
        }
    }
}

fn become_server(data: PathBuf, identity: Identity) -> Result<Reached> {
    let config = Config { data, ..configure(None)? };
    let (_keep_running, stopping) = tokio::sync::watch::channel(false);
    let node = Node::start(&config, stopping)?;
    let client = Client::in_process(node.router.clone()).with_identity(identity);
    Ok(Reached { client, node: Some(node) })
}

/// A folder that was misspelt looks like one in which nothing has happened yet.
#[derive(Debug, thiserror::Error)]
#[error("there is no ledger in {}", .0.display())]
struct NoLedger(PathBuf);

impl Reached {
    /// Lets a node of our own write down the rest before the process ends.
    async fn finish(self) {
        if let Some(node) = self.node {
            node.stop().await;
        }
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<Refused>().is_some() {
        exit_code::REFUSED
    } else if is_unanswered(error) {
        exit_code::UNREACHABLE
    } else if error.downcast_ref::<BadConfig>().is_some() {
        exit_code::USAGE
    } else if matches!(error.downcast_ref::<OpenError>(), Some(OpenError::InUse(_))) {
        exit_code::IN_USE
    } else {
        exit_code::FAILED
    }
}

/// Nobody is there, or whoever is there does not answer as a server does.
fn is_unanswered(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Unreachable>().is_some()
        || error.downcast_ref::<hyper::Error>().is_some()
        || error.downcast_ref::<axum::Error>().is_some()
}

fn hint(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(refused) = error.downcast_ref::<Refused>() {
        return match refused.code.as_str() {
            "unauthenticated" => {
                Some("set TASUKI_TOKEN, or use --as AGENT on the server's machine")
            }
            "not_allowed" if refused.detail.starts_with("only the agent the task is handed to") => {
                Some("`tasuki handoff show ID` names it; act as it with --as AGENT")
            }
            "not_allowed" if refused.detail.starts_with("only an agent may") => {
                Some("say who you are, with --as AGENT or --token TOKEN")
            }
            "not_found" if refused.detail == "no such agent" => {
                Some("`tasuki agent list` shows who is there")
            }
            "not_found" if refused.detail == "no such token" => {
                Some("`tasuki token list` shows what there is")
            }
            "not_found" if refused.detail == "no such conversation" => {
                Some("`tasuki conversation list` shows what there is")
            }
            "not_found" if refused.detail == "no such transfer" => {
                Some("`tasuki transfer list` shows what there is")
            }
            "not_found" if refused.detail == "no such queue" => {
                Some("`tasuki agent register NAME --kind queue` adds one")
            }
            "not_found" => Some("`tasuki handoff list` shows what there is"),
            "ledger_behind_checkpoint" => {
                Some("`tasuki ledger fork --reason TEXT` goes on without what is missing")
            }
            "wrong_state" if refused.detail.contains("the transfer is") => {
                Some("`tasuki transfer show ID` tells how it stands")
            }
            "wrong_state" => Some("`tasuki handoff show ID` tells what happened to it"),
            "unknown_agent" if refused.detail.starts_with("queue: ") => {
                Some("`tasuki agent register NAME --kind queue` adds one")
            }
            "unknown_agent" => Some("`tasuki token create --agent NAME` adds an agent"),
            "ownership_conflict" => Some("`tasuki handoff list --task TASK` shows who has it"),
            _ => None,
        };
    }
    if is_unanswered(error) {
        return Some("is the server running? `tasuki serve` starts one");
    }
    if error.downcast_ref::<BadConfig>().is_some() {
        return Some("config.default.toml documents every setting");
    }
    if error.is::<NoLedger>() {
        return Some("say where it is with --data; `tasuki serve` begins one");
    }
    match error.downcast_ref::<OpenError>() {
        Some(OpenError::InUse(_)) => Some("another server has this folder; stop it, or use --data"),
        Some(OpenError::Newer { .. }) => Some("update tasuki, or restore a backup"),
        Some(OpenError::Io { .. } | OpenError::Sqlite { .. }) | None => None,
    }
}

/// What a person types as an optional field becomes one of the JSON, or none.
fn put(fields: &mut serde_json::Map<String, serde_json::Value>, name: &str, value: Option<String>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value.into());
    }
}

/// JSON from a file, or from standard input for `-`.
fn read_json(path: &std::path::Path) -> Result<serde_json::Value> {
    let text: OsString = path.into();
    let content = if text == "-" {
        std::io::read_to_string(std::io::stdin()).context("cannot read standard input")?
    } else {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
    };
    serde_json::from_str(&content).with_context(|| format!("{}: expected JSON", path.display()))
}
