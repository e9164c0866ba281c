//! The names of request fields on the command line: the one table from fields to flags and
//! arguments, for errors, warnings and advice alike.

use std::sync::OnceLock;

use clap::ArgMatches;
use serde_json::Value;

use super::reach::HEADING;
use crate::output::{self, clean};

/// The names of the command that this process runs. It is one command, so this never changes.
static TYPED: OnceLock<Names> = OnceLock::new();

/// Fields whose flags or arguments have other names. If a field has several rows, the first one
/// that the command has counts; if it has none, the last part of the field's own name is used.
const RENAMED: [(&str, &str); 46] = [
    ("agent_id", "agent"),
    ("artifacts", "artifact"),
    ("closure_notes", "notes"),
    ("completion_notes", "notes"),
    ("context", "context"),
    ("context", "summary"),
    ("context.assumptions", "assumption"),
    ("context.constraints", "constraint"),
    ("context.known_risks", "risk"),
    ("context.open_questions", "question"),
    ("customer.external_id", "customer-id"),
    ("customer.name", "customer-name"),
    ("customer_queues", "customer-queue"),
    ("events", "event"),
    ("from_agent", "from"),
    ("goto", "to"),
    ("kinds", "mute"),
    ("overlap_seconds", "overlap"),
    ("policy.export_restrictions", "export-restriction"),
    ("policy.human_gate", "requires-human-approval"),
    ("profile.capabilities", "capability"),
    ("profile.languages", "language"),
    ("profile.skills", "skill"),
    ("quotas", "set"),
    ("roles", "role"),
    ("session_id", "session"),
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
    ("teamspace", "id"),
    ("thread_id", "thread"),
    ("to_agent", "to"),
    ("waiting_for", "for"),
    ("work_state.completed_steps", "completed-step"),
    ("work_state.percent_complete", "percent"),
    ("work_state.status", "work-status"),
];

/// Fields whose parts have no flags of their own, and are typed without their names.
const WHOLES: [&str; 2] = ["evidence", "quotas"];

/// Fields that the server quotes in its sentences, with the flags for them.
const QUOTED: [(&str, &str); 6] = [
    ("set `return`", "set --return"),
    ("who says `reason` and `words`", "who says --reason and --words"),
    ("`context.open_questions`", "--question"),
    ("`context.summary`", "--summary"),
    (
        "body: expected an offer that differs from the one that was rejected",
        "nothing is changed: say what is, such as --summary or --criterion or --deadline",
    ),
    ("expected null; turns reach a worker, not a", "only a worker has an endpoint, and this is a"),
];

/// The arguments of a command, as its help shows them.
#[derive(Debug, Default)]
pub struct Names {
    arguments: Vec<Argument>,
    /// With `--file`, the user knows the names of the JSON fields.
    has_file: bool,
}

#[derive(Debug)]
struct Argument {
    /// `to` for `--to`, `score` for `<SCORE>`.
    name: String,
    shown: String,
}

impl Names {
    /// The arguments of a command, without those for the connection: these are not fields of a
    /// request.
    pub fn new(command: &clap::Command, matches: &ArgMatches) -> Self {
        let own = command.get_arguments().filter(|one| one.get_help_heading() != Some(HEADING));
        let arguments = own.filter_map(|one| match (one.get_long(), one.is_positional()) {
            (Some(long), _) => Some(Argument { name: long.to_owned(), shown: format!("--{long}") }),
            (None, true) => {
                Some(Argument { name: one.get_id().to_string(), shown: one.to_string() })
            }
            (None, false) => None,
        });
        let has_file = matches.try_contains_id("file").unwrap_or(false);
        Self { arguments: arguments.collect(), has_file }
    }

    pub fn has(&self, name: &str) -> bool {
        self.shown(name).is_some()
    }

    /// The flag or the argument for a field, if this command has one.
    pub fn of_field(&self, field: &str) -> Option<&str> {
        match field {
            "tasuki-act-as" => return Some("--as"),
            "tasuki-teamspace" => return Some("--teamspace"),
            "body" if self.has_file => return Some("--file"),
            _ if self.has_file => return None,
            _ => {}
        }
        let path = field.split('[').next().unwrap_or(field);
        let last = field.rsplit('.').next().unwrap_or(field);
        let last = last.split('[').next().unwrap_or(last);
        self.renamed(path)
            .or_else(|| self.shown(&last.to_lowercase().replace('_', "-")))
            .or_else(|| self.of_whole(field))
    }

    /// The flag for a whole value of which the field is a part: `--set` for one of the quotas.
    fn of_whole(&self, field: &str) -> Option<&str> {
        let whole = &field[..field.find(['.', '['])?];
        WHOLES.contains(&whole).then(|| self.renamed(whole).or_else(|| self.shown(whole)))?
    }

    fn renamed(&self, path: &str) -> Option<&str> {
        let mut renamed = RENAMED.iter().filter(|(name, _)| *name == path);
        renamed.find_map(|(_, name)| self.shown(name))
    }

    /// A sentence of the server, with the quoted fields replaced by flags.
    pub fn of_sentence(&self, sentence: &str) -> String {
        let mut told = sentence.to_owned();
        for (fields, flags) in QUOTED {
            let mut flags_named = flags.split(' ').filter_map(|word| word.strip_prefix("--"));
            if !self.has_file && flags_named.all(|name| self.has(name)) {
                told = told.replace(fields, flags);
            }
        }
        told
    }

    fn shown(&self, name: &str) -> Option<&str> {
        let mut all = self.arguments.iter();
        all.find(|one| one.name == name).map(|one| one.shown.as_str())
    }
}

/// Prints warnings about what was saved but does not work at present.
pub fn warnings(answer: &Value) {
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        let text = |name: &str| clean(warning[name].as_str().unwrap_or_default());
        output::remark(&format!("warning: {}: {}", of(&text("field")), text("detail")));
    }
}

/// Keeps the names of the typed command, for all messages while it runs.
pub fn keep(names: Names) -> &'static Names {
    TYPED.get_or_init(|| names)
}

/// The command-line name of a field, or else the field itself.
pub fn of(field: &str) -> &str {
    TYPED.get().and_then(|names| names.of_field(field)).unwrap_or(field)
}

/// A sentence about fields, in the words of the command line.
pub fn of_sentence(sentence: &str) -> String {
    TYPED.get().map_or_else(|| sentence.to_owned(), |names| names.of_sentence(sentence))
}
