//! The command line: what people type, and what they read back.

mod aaep;
mod agent;
mod agent_profile;
mod audit_commands;
mod backup_commands;
mod callback;
mod chat;
mod conversation;
mod conversation_reads;
mod conversation_score;
mod conversation_story;
pub mod demo;
mod detect;
mod doctor;
mod ending;
mod fields;
mod file;
mod graph;
mod handoff;
mod ledger;
mod lint;
mod message;
mod message_keeping;
mod names;
mod offer;
mod outbox;
mod own_name;
mod package_story;
mod pages;
mod progress_story;
mod question;
mod queue;
mod queue_list;
mod reach;
mod report;
mod story;
mod teamspace;
mod todo;
mod token;
mod transfer;
mod transfer_record;
mod transfer_story;
mod transfer_view;
mod transfer_words;
mod typist;
mod usage;
mod waits;
mod watch;
mod webhook;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use self::ending::{BadConfig, Typed, usage};
use crate::config::{Config, FILE_NAME, LogFormat};
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
#[expect(clippy::large_enum_variant, reason = "a run of the program has one")]
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
    /// Show which handoffs and questions wait for you, for what, and until when.
    Todo(todo::TodoArgs),
    /// Ask a person, answer, and go on with the answer.
    Question(question::QuestionArgs),
    /// Look into your inbox: shown messages count as delivered, shown notices as read.
    Inbox(message::InboxArgs),
    /// Send, answer, read and find messages.
    Message(message::MessageArgs),
    /// Open, follow, hand over, export and erase conversations with customers.
    Conversation(conversation::ConversationArgs),
    /// Show who waits for a person, and say how queues work.
    Queue(queue::QueueArgs),
    /// Pass a conversation to a person: every action, lists and details.
    Transfer(transfer::TransferArgs),
    /// Count what happened in the queues, by day.
    Report(report::ReportArgs),
    /// Chat in this terminal, as a customer or as the person who answers.
    Chat(chat::ChatArgs),
    /// Store, get and list files: attachments of messages and artifacts of handoffs.
    File(file::FileArgs),
    /// Post events of the ledger to a URL, and look after such webhooks.
    Webhook(webhook::WebhookArgs),
    /// List effects that are not done, and retry those that were given up.
    Outbox(outbox::OutboxArgs),
    /// Show what is used of the quotas; set those of a teamspace.
    Usage(usage::UsageArgs),
    /// AAEP: announce, hear, answer, record, replay and check; look after its keys.
    Aaep(aaep::AaepArgs),
    /// Check an agent graph and try it out, offline; save it on a server.
    Graph(graph::GraphArgs),
    /// Verify, export and look at the ledger, offline.
    Audit(audit_commands::AuditArgs),
    /// Copy the database of a server, running or not, to a file that can be verified alone.
    Backup(backup_commands::BackupArgs),
    /// Put a backup into a data folder on which no server runs.
    Restore(backup_commands::RestoreArgs),
    /// Resume after lost entries, by declaring a fork.
    Ledger(ledger::LedgerArgs),
    /// Check a data folder and its server.
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The data folder [env: TASUKI_DATA] [default: ./tasuki-data]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Where to listen [env: TASUKI_LISTEN] [default: 127.0.0.1:7420]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// A configuration file [default: ./tasuki.toml if it exists]
    #[arg(long, env = "TASUKI_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve HTTPS with this certificate chain (PEM) [env: TASUKI_TLS_CERT]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM) [env: TASUKI_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let pages of this origin open WebSockets; may be repeated [env: TASUKI_WS_ORIGINS]
    #[arg(long, value_name = "ORIGIN")]
    ws_origin: Vec<String>,
    /// Serve AAEP on this Unix socket too, for programs of this user [env: TASUKI_AAEP_SOCKET]
    #[arg(long, value_name = "PATH")]
    aaep_socket: Option<PathBuf>,
    /// Keep checkpoints in this folder too, outside the data folder and best on another disk or
    /// machine: it shows if an old data folder was put back [env: TASUKI_LEDGER_WITNESS]
    #[arg(long, value_name = "FOLDER")]
    witness: Option<PathBuf>,
    /// How much to log: off, error, warn, info, debug or trace, or by module, such as
    /// info,gateways=debug [env: TASUKI_LOG_LEVEL] [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How to log [env: TASUKI_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    log_format: Option<LogFormat>,
    /// Let any program on this machine talk to the scripted agent without a token
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

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let mut command = command();
    let matches = command.get_matches_mut();
    let typed = Typed::new(&command, &matches);
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.format(&mut command).exit(),
    };
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
        Err(error) => ExitCode::from(typed.end(&error)),
    }
}

/// All commands. Each `help` subcommand gets a short description of our own.
fn command() -> clap::Command {
    fn with_help(command: clap::Command) -> clap::Command {
        let is_help = command.get_name() == "help";
        let command = if is_help { command.about("Print the help of a command") } else { command };
        if is_help { command } else { command.mut_subcommands(with_help) }
    }
    let mut command = Cli::command()
        .mut_subcommand("handoff", handoff::with_own_help)
        .mut_subcommand("message", message::with_own_help);
    command.build();
    with_help(command)
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
        Command::Report(args) => report::run(args).await,
        Command::Chat(args) => chat::run(args).await,
        Command::File(args) => file::run(args).await,
        Command::Question(args) => question::run(args).await,
        Command::Webhook(args) => webhook::run(args).await,
        Command::Outbox(args) => outbox::run(args).await,
        Command::Todo(args) => todo::run(args).await,
        Command::Usage(args) => usage::run(args).await,
        Command::Aaep(args) => aaep::run(args).await,
        Command::Graph(args) => graph::run(args).await,
        Command::Audit(args) => audit_commands::run(args).await,
        Command::Backup(args) => backup_commands::back_up(args),
        Command::Restore(args) => backup_commands::restore(args),
        Command::Ledger(args) => ledger::run(args).await,
        Command::Doctor(args) => doctor::run(args).await,
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

fn with_flags(mut config: Config, args: ServeArgs) -> Config {
    config.data = args.data.unwrap_or(config.data);
    config.listen = args.listen.unwrap_or(config.listen);
    config.tls.cert = args.tls_cert.unwrap_or(config.tls.cert);
    config.tls.key = args.tls_key.unwrap_or(config.tls.key);
    if !args.ws_origin.is_empty() {
        config.ws_origins = args.ws_origin;
    }
    config.aaep_socket = args.aaep_socket.unwrap_or(config.aaep_socket);
    config.ledger.witness = args.witness.unwrap_or(config.ledger.witness);
    config.log.level = args.log_level.unwrap_or(config.log.level);
    config.log.format = args.log_format.unwrap_or(config.log.format);
    config.aaep.compat = args.aaep_compat.unwrap_or(config.aaep.compat);
    config.aaep.scripted |= args.demo;
    config.dev |= args.dev;
    config
}

/// Puts an optional field into the JSON, if it was given.
fn put(fields: &mut serde_json::Map<String, serde_json::Value>, name: &str, value: Option<String>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Reads one of these by its name, and lists the names in help.
fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).map(move |typed| {
        let one = all.into_iter().find(|one| name(*one) == typed);
        one.expect("only these names are read")
    })
}

/// JSON from a file, or from standard input for `-`.
fn read_json(path: &std::path::Path) -> Result<serde_json::Value> {
    let text: OsString = path.into();
    let content = if text == "-" {
        std::io::read_to_string(std::io::stdin()).context("cannot read standard input")
    } else {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let value = serde_json::from_str(&usage(content)?);
    usage(value.with_context(|| format!("{}: expected JSON", path.display())))
}

/// A JSON object as it was typed, or from a file after `@`.
fn json_object(flag: &str, text: &str) -> Result<serde_json::Value> {
    let value = match text.strip_prefix('@') {
        Some(path) => read_json(path.as_ref())?,
        None => {
            usage(serde_json::from_str(text).with_context(|| format!("{flag}: expected JSON")))?
        }
    };
    expect_object(flag, &value)?;
    Ok(value)
}

fn expect_object(flag: &str, value: &serde_json::Value) -> Result<()> {
    let is_object = value.is_object();
    usage(is_object.then_some(()).with_context(|| format!("{flag}: expected a JSON object")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What clap says of its own command for help.
    const CLAPS_OWN: &str = "Print this message or the help of the given subcommand(s)";

    #[test]
    fn every_command_and_every_argument_says_what_it_is() {
        assert_eq!(unclear(&command(), "tasuki"), Vec::<String>::new());
    }

    /// The commands and arguments, from here downwards, of which help says nothing, says it in
    /// clap's words, or says more only with `--help` than with `-h`.
    fn unclear(command: &clap::Command, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        if about.is_empty() || about == CLAPS_OWN || command.get_long_about().is_some() {
            found.push(path.to_owned());
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let is_short = argument.get_long_help().is_none();
            let is_flag = !argument.get_action().takes_values();
            let has_plain_values = is_flag
                || argument
                    .get_value_names()
                    .is_none_or(|names| names.iter().all(|name| !name.contains('_')));
            if help.is_empty() || !is_short || !has_plain_values {
                found.push(format!("{path} {}", argument.get_id()));
            }
        }
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            found.extend(unclear(below, &format!("{path} {}", below.get_name())));
        }
        let helps = command.get_subcommands().filter(|below| below.get_name() == "help");
        let helps =
            helps.filter(|help| help.get_about().is_some_and(|it| it.to_string() == CLAPS_OWN));
        found.extend(helps.map(|_| format!("{path} help")));
        found
    }
}
