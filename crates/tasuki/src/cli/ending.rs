//! How a command ends that failed: its exit code, the error in the words of the command line, and
//! one thing to try.

use std::path::PathBuf;

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use store::sqlite::OpenError;

use super::reach::HEADING;
use crate::client::{Refused, Unreachable};
use crate::{exit_code, output};

/// The settings make no sense, wherever they come from.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("cannot use the configuration")]
pub struct BadConfig;

/// A folder that was misspelt looks like one in which nothing has happened yet.
#[derive(Debug, thiserror::Error)]
#[error("there is no ledger in {}", .0.display())]
pub struct NoLedger(pub PathBuf);

/// What was typed makes no sense, though it can be read: an address, a file, a piece of JSON.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Usage(#[from] anyhow::Error);

/// Makes an error one of usage.
pub fn usage<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| Usage(error).into())
}

/// The command that was typed: the flags it has, and what was given of them.
#[derive(Debug, Default)]
pub struct Typed {
    flags: Vec<String>,
    /// With `--file`, the names of JSON fields are what its writer knows.
    has_file: bool,
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

/// Fields of requests whose flags have other names.
const RENAMED: [(&str, &str); 35] = [
    ("agent_id", "agent"),
    ("artifacts", "artifact"),
    ("closure_notes", "notes"),
    ("completion_notes", "notes"),
    ("context.assumptions", "assumption"),
    ("context.constraints", "constraint"),
    ("context.known_risks", "risk"),
    ("context.open_questions", "question"),
    ("customer.external_id", "customer-id"),
    ("customer.name", "customer-name"),
    ("from_agent", "from"),
    ("goto", "to"),
    ("policy.export_restrictions", "export-restriction"),
    ("policy.human_gate", "requires-human-approval"),
    ("profile.capabilities", "capability"),
    ("profile.languages", "language"),
    ("profile.skills", "skill"),
    ("roles", "role"),
    ("settings.sla.accepted", "sla-accepted"),
    ("settings.sla.activated", "sla-activated"),
    ("settings.sla.proposed", "sla-proposed"),
    ("settings.sla.validating", "sla-validating"),
    ("sla.accepted", "sla"),
    ("sla.activated", "sla"),
    ("sla.proposed", "sla"),
    ("sla.validating", "sla"),
    ("task.external_refs", "ref"),
    ("task.kind", "task-kind"),
    ("task.success_criteria", "criterion"),
    ("task.task_id", "task"),
    ("task_id", "task"),
    ("thread_id", "thread"),
    ("to_agent", "to"),
    ("work_state.percent_complete", "percent"),
    ("work_state.status", "work-status"),
];

impl Typed {
    /// The innermost command, with what was typed for it.
    pub fn new(command: &clap::Command, matches: &ArgMatches) -> Self {
        if let Some((name, matches)) = matches.subcommand()
            && let Some(command) = command.find_subcommand(name)
        {
            return Self::new(command, matches);
        }
        // Those of the connection are no fields of a request.
        let own = command.get_arguments().filter(|flag| flag.get_help_heading() != Some(HEADING));
        let flags = own.filter_map(|flag| flag.get_long()).map(str::to_owned);
        let given = |id: &str, flag: &'static str, variable: &'static str| {
            let value = matches.try_get_one::<String>(id).ok().flatten()?.clone();
            let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
            Some(Given { value, origin: if is_typed { flag } else { variable } })
        };
        Self {
            flags: flags.collect(),
            has_file: matches.try_contains_id("file").unwrap_or(false),
            token: given("token", "--token", "TASUKI_TOKEN"),
            act_as: given("act_as", "--as", "TASUKI_AS"),
            teamspace: given("teamspace", "--teamspace", "TASUKI_TEAMSPACE"),
        }
    }

    /// Says what went wrong and what can be tried; the exit code.
    pub fn end(&self, error: &anyhow::Error) -> u8 {
        let mut text = format!("{error:#}");
        if let Some(refused) = error.downcast_ref::<Refused>() {
            // What is around it stays.
            text = text.replacen(&refused.detail, &self.told(refused), 1);
        }
        output::remark(&format!("error: {}", output::clean(&text)));
        let may_begin = error.is::<NoLedger>() && self.flags.iter().any(|flag| flag == "init");
        if may_begin {
            output::remark("hint: say where it is with --data, or begin one with --init");
        } else if let Some(hint) = hint(error) {
            output::remark(&format!("hint: {hint}"));
        }
        code_of(error)
    }

    /// A refusal, with flags instead of the fields and headers of the request.
    fn told(&self, refused: &Refused) -> String {
        let detail = &refused.detail;
        let differing = match refused.field.as_deref() {
            Some("tasuki-act-as") => self.act_as.as_ref(),
            Some("tasuki-teamspace") => self.teamspace.as_ref(),
            Some(_) | None => None,
        };
        match (refused.code.as_str(), &self.token, differing) {
            ("identity_mismatch", Some(token), Some(Given { value, origin })) => {
                let bearer = refused.bearer.as_deref().unwrap_or("another");
                let token = token.origin;
                format!("{origin} says `{value}`, and the token in {token} is that of {bearer}")
            }
            ("unauthenticated", Some(token), _) => {
                format!("{}: the server knows no such token, or it has ended", token.origin)
            }
            ("unauthenticated", None, _) => "the server asks for a token".to_owned(),
            _ => self.named(refused.field.as_deref(), detail),
        }
    }

    fn named(&self, field: Option<&str>, detail: &str) -> String {
        let detail = match self.flags.iter().any(|flag| flag == "return") {
            true => detail.replace("set `return`", "set --return"),
            false => detail.to_owned(),
        };
        let Some(field) = field else { return detail };
        let (Some(flag), Some(rest)) = (self.flag_of(field), detail.strip_prefix(field)) else {
            return detail;
        };
        // Of an offer without a task, all of the task is missing.
        let rest =
            if field == "task" { rest.replace("an object", "a task id") } else { rest.into() };
        format!("--{flag}{rest}")
    }

    /// The flag for a field, if this command has one.
    fn flag_of(&self, field: &str) -> Option<&str> {
        match field {
            "tasuki-act-as" => return Some("as"),
            "tasuki-teamspace" => return Some("teamspace"),
            _ if self.has_file => return None,
            _ => {}
        }
        let path = field.split('[').next().unwrap_or(field);
        let renamed = RENAMED.iter().find(|(name, _)| *name == path).map(|(_, flag)| *flag);
        let last = path.rsplit('.').next().unwrap_or(path);
        let flag = renamed.map_or_else(|| last.replace('_', "-"), str::to_owned);
        self.flags.iter().find(|known| **known == flag).map(String::as_str)
    }
}

fn code_of(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<Refused>().is_some() {
        exit_code::REFUSED
    } else if is_unanswered(error) {
        exit_code::UNREACHABLE
    } else if error.is::<BadConfig>() || error.is::<Usage>() {
        exit_code::USAGE
    } else if matches!(error.downcast_ref::<OpenError>(), Some(OpenError::InUse(_))) {
        exit_code::IN_USE
    } else {
        exit_code::FAILED
    }
}

/// No server is there, or what is there does not answer as a server does.
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
    if error.is::<NoLedger>() {
        return Some("say where it is with --data; `tasuki serve` begins one");
    }
    match error.downcast_ref::<OpenError>() {
        Some(OpenError::InUse(_)) => Some("another server has this folder; stop it, or use --data"),
        Some(OpenError::Newer { .. }) => Some("update tasuki, or restore a backup"),
        Some(OpenError::Io { .. } | OpenError::Sqlite { .. }) | None => None,
    }
}

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
            "no such conversation" => "`tasuki conversation list` shows what there is",
            "no such transfer" => "`tasuki transfer list` shows what there is",
            "no such queue" => "`tasuki agent register NAME --kind queue` adds one",
            _ => "`tasuki handoff list` shows what there is",
        }),
        "ledger_behind_checkpoint" => {
            Some("`tasuki ledger fork --reason TEXT` goes on without what is missing")
        }
        "wrong_state" if refused.detail.contains("the transfer is") => {
            Some("`tasuki transfer show ID` tells how it stands")
        }
        "wrong_state" => Some("`tasuki handoff show ID` tells what happened to it"),
        "unknown_agent" if is_about("queue: ") => {
            Some("`tasuki agent register NAME --kind queue` adds one")
        }
        "unknown_agent" => Some("`tasuki token create --agent NAME` adds an agent"),
        "ownership_conflict" => Some("`tasuki handoff list --task TASK` shows who has it"),
        _ => None,
    }
}
