//! How a failed command ends: its exit code, the error in the words of the command line, and one
//! thing to try.

use std::path::PathBuf;

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use store::sqlite::OpenError;

use super::names::{self, Names};
use crate::client::{Refused, Unreachable};
use crate::config::BadSetting;
use crate::node::UnreadableEntry;
use crate::{exit_code, output};

/// The settings are invalid, wherever they come from.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("cannot use the configuration")]
pub struct BadConfig;

/// A misspelt folder looks like one in which nothing has happened yet.
#[derive(Debug, thiserror::Error)]
#[error("there is no ledger in {}", .0.display())]
pub struct NoLedger(pub PathBuf);

/// An argument is invalid, though it can be read: an address, a file, a piece of JSON.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Usage(#[from] anyhow::Error);

/// Makes an error one of usage.
pub fn usage<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| Usage(error).into())
}

/// The typed command: its possible arguments, and those that were given.
#[derive(Debug)]
pub struct Typed {
    names: &'static Names,
    /// The flags that were typed, without those from a variable or a default.
    flags: Vec<String>,
    server: Option<Given>,
    token: Option<Given>,
    act_as: Option<Given>,
    teamspace: Option<Given>,
}

/// A value, and where it comes from.
#[derive(Debug)]
struct Given {
    value: String,
    origin: &'static str,
}

impl Typed {
    /// The innermost command, with its arguments.
    pub fn new(command: &clap::Command, matches: &ArgMatches) -> Self {
        if let Some((name, matches)) = matches.subcommand()
            && let Some(command) = command.find_subcommand(name)
        {
            return Self::new(command, matches);
        }
        let is_typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let given = |id: &str, flag: &'static str, variable: &'static str| {
            let value = matches.try_get_one::<String>(id).ok().flatten()?.clone();
            Some(Given { value, origin: if is_typed(id) { flag } else { variable } })
        };
        let flags = command.get_arguments().filter(|flag| is_typed(flag.get_id().as_str()));
        Self {
            names: names::keep(Names::new(command, matches)),
            flags: flags.filter_map(|flag| flag.get_long()).map(str::to_owned).collect(),
            server: given("server", "--server", "TASUKI_SERVER"),
            token: given("token", "--token", "TASUKI_TOKEN"),
            act_as: given("act_as", "--as", "TASUKI_AS"),
            teamspace: given("teamspace", "--teamspace", "TASUKI_TEAMSPACE"),
        }
    }

    /// Prints the error and what can be tried; returns the exit code.
    pub fn end(&self, error: &anyhow::Error) -> u8 {
        let mut text = format!("{error:#}");
        if let Some(refused) = error.downcast_ref::<Refused>() {
            // The text around it stays.
            text = text.replacen(&refused.detail, &self.told(refused), 1);
        }
        if let Some(bad) = error.downcast_ref::<BadSetting>() {
            let last = bad.setting.rsplit('.').next().unwrap_or(bad.setting);
            let names = [bad.setting.replace('.', "-"), last.to_owned()];
            if let Some(flag) = names.iter().find(|name| self.flags.contains(name)) {
                text = format!("--{flag}: {}", bad.problem);
            }
        }
        output::remark(&format!("error: {}", output::clean(&text)));
        if let Some(hint) = self.hint(error) {
            output::remark(&format!("hint: {hint}"));
        }
        code_of(error)
    }

    /// A refusal, with flags instead of the fields and headers of the request.
    fn told(&self, refused: &Refused) -> String {
        let detail = &refused.detail;
        let header = match refused.field.as_deref() {
            Some("tasuki-act-as") => self.act_as.as_ref(),
            Some("tasuki-teamspace") => self.teamspace.as_ref(),
            Some(_) | None => None,
        };
        match (refused.code.as_str(), &self.token, header) {
            ("identity_mismatch", Some(token), Some(Given { value, origin })) => {
                let bearer = refused.bearer.as_deref().unwrap_or("another");
                let token = token.origin;
                format!("{origin} says `{value}`, and the token in {token} is that of {bearer}")
            }
            ("not_found", None, Some(Given { value, origin })) => {
                format!("{origin}: there is no teamspace `{value}`")
            }
            ("unauthenticated", Some(token), _) => {
                format!("{}: the server knows no such token, or it has ended", token.origin)
            }
            ("unauthenticated", None, _) => "the server asks for a token".to_owned(),
            _ if refused.is_rejected_by_gate => {
                format!("the gate rejected the handoff: {detail}")
            }
            _ => self.named(refused.field.as_deref(), detail),
        }
    }

    fn named(&self, field: Option<&str>, detail: &str) -> String {
        let detail = self.names.of_sentence(detail);
        let Some(field) = field else { return detail };
        let (Some(name), Some(rest)) = (self.names.of_field(field), detail.strip_prefix(field))
        else {
            return detail;
        };
        // On the command line a task is given by its id.
        let rest =
            if field == "task" { rest.replace("an object", "a task id") } else { rest.into() };
        format!("{name}{rest}")
    }

    fn hint(&self, error: &anyhow::Error) -> Option<&'static str> {
        if error.is::<NoLedger>() && self.names.has("init") {
            return Some("say where it is with --data, or begin one with --init");
        }
        let is_unknown = |refused: &Refused| refused.code == "unauthenticated";
        if error.downcast_ref::<Refused>().is_some_and(is_unknown)
            && self.server.is_some()
            && self.token.is_none()
        {
            return Some(match &self.act_as {
                Some(_) => "give --token TOKEN; --as alone works only without --server",
                None => "give --token TOKEN, or set TASUKI_TOKEN",
            });
        }
        let is_for_operators = |refused: &Refused| {
            refused.code == "not_allowed" && refused.detail == "only an operator may do this"
        };
        if self.token.is_some() && error.downcast_ref::<Refused>().is_some_and(is_for_operators) {
            return Some(match self.server {
                Some(_) => "the token in --token or TASUKI_TOKEN is not an operator's",
                None => {
                    "the token in --token or TASUKI_TOKEN is not an operator's; on the server's \
                     machine leave it out"
                }
            });
        }
        let is_plain = self.server.as_ref().is_some_and(|it| it.value.starts_with("http://"));
        if is_plain && error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return Some("the server may want https: --server https://… with --ca-cert FILE");
        }
        hint(error)
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<Refused>().is_some() {
        exit_code::REFUSED
    } else if is_unanswered(error) {
        exit_code::UNREACHABLE
    } else if is_usage(error) {
        exit_code::USAGE
    } else if matches!(error.downcast_ref::<OpenError>(), Some(OpenError::InUse(_))) {
        exit_code::IN_USE
    } else {
        exit_code::FAILED
    }
}

/// What was typed, or a setting, names something that is not there or makes no sense.
fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<BadConfig>()
        || error.is::<BadSetting>()
        || error.is::<Usage>()
        || error.is::<NoLedger>()
}

/// No server is there, or the peer does not answer as a server does.
fn is_unanswered(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Unreachable>().is_some()
        || error.downcast_ref::<hyper::Error>().is_some()
        || error.downcast_ref::<axum::Error>().is_some()
}

fn hint(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(refused) = error.downcast_ref::<Refused>() {
        return hint_at(refused);
    }
    if is_unanswered(error) {
        return Some("is the server running? `tasuki serve` starts one");
    }
    if error.downcast_ref::<BadConfig>().is_some() {
        return Some("config.default.toml documents every setting");
    }
    let is_no_ledger = |Usage(inner): &Usage| inner.is::<NoLedger>();
    if error.is::<NoLedger>() || error.downcast_ref::<Usage>().is_some_and(is_no_ledger) {
        return Some("say where it is with --data; `tasuki serve` begins one");
    }
    if error.is::<UnreadableEntry>() {
        return Some("`tasuki audit verify` says what is wrong with it; restore a backup");
    }
    match error.downcast_ref::<OpenError>() {
        Some(OpenError::InUse(_)) => Some("another server has this folder; stop it, or use --data"),
        Some(OpenError::Newer { .. }) => Some("update tasuki, or restore a backup"),
        Some(OpenError::Older { .. }) => {
            Some("`tasuki serve` migrates it; or use the release that wrote it")
        }
        Some(OpenError::NotOurs { .. }) => {
            Some("it was not changed; use another folder with --data, or restore a backup")
        }
        Some(OpenError::Changed { .. }) => Some("undo the change, or restore a backup"),
        Some(OpenError::Io { .. } | OpenError::Sqlite { .. }) | None => None,
    }
}

/// There is no list of sessions.
const HOW_TO_FIND_SESSIONS: &str =
    "its events name it as session_id: `tasuki aaep listen --json --from beginning` prints them";

/// What to try after a refusal.
fn hint_at(refused: &Refused) -> Option<&'static str> {
    let is_about = |start: &str| refused.detail.starts_with(start);
    match refused.code.as_str() {
        "unauthenticated" => Some("set TASUKI_TOKEN, or use --as AGENT on the server's machine"),
        "identity_mismatch" if refused.bearer.is_some() => {
            Some("leave one of them out, or unset its variable")
        }
        "not_allowed" if is_about("only the agent the task is handed to") => {
            Some("`tasuki handoff show ID` names it; act as it with --as AGENT")
        }
        "not_allowed" if is_about("only an agent may") => {
            Some("say who you are, with --as AGENT or --token TOKEN")
        }
        "not_found" => Some(match refused.detail.as_str() {
            "no such agent" => "`tasuki agent list` shows who is there",
            "no such token" => "`tasuki token list` shows what there is",
            "no such teamspace" => "`tasuki teamspace list` shows what there is",
            "no such session" => HOW_TO_FIND_SESSIONS,
            "no such message" => "`tasuki message list` shows what there is",
            "no such graph" => "`tasuki graph list` shows what there is",
            "no such conversation" => "`tasuki conversation list` shows what there is",
            "no such transfer" => "`tasuki transfer list` shows what there is",
            "no such queue" => {
                "`tasuki queue list` shows what there is; \
                 `tasuki agent register NAME --kind queue` adds one"
            }
            "no such handoff" => "`tasuki handoff list` shows what there is",
            _ if is_about("session_id: ") => HOW_TO_FIND_SESSIONS,
            _ if is_about("conversation: ") => "`tasuki conversation list` shows what there is",
            _ => return None,
        }),
        "ledger_behind_checkpoint" => {
            Some("`tasuki ledger fork --reason TEXT` goes on without what is missing")
        }
        "wrong_state" if refused.detail.contains("transfer") => {
            Some("`tasuki transfer show ID` shows its state")
        }
        "wrong_state" if refused.detail.contains("question") => {
            Some("`tasuki question show ID` shows its state")
        }
        "wrong_state" if refused.detail.contains("conversation") => {
            Some("`tasuki conversation show ID` tells what happened in it")
        }
        "wrong_state" => Some("`tasuki handoff show ID` tells what happened to it"),
        "unknown_agent" if is_about("queue: ") => {
            Some("`tasuki agent register NAME --kind queue` adds one")
        }
        "unknown_agent" => Some("`tasuki agent register NAME` adds an agent"),
        "policy_violation" if refused.detail.contains("a folder that may be looked into") => Some(
            "the folders are `roots` under [artifacts] in the server's settings; add this one, \
             restart the server, and let the sender propose again with `tasuki handoff counter`",
        ),
        _ if refused.is_rejected_by_gate => {
            Some("`tasuki handoff counter ID` proposes it again, as its sender")
        }
        "ownership_conflict" => Some("`tasuki handoff list --task TASK` shows who has it"),
        _ => None,
    }
}
