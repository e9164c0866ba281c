//! The commands of a question.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::event::{Given, Kind};
use super::{
    ACTION_BYTES_MAX, ANSWER_BYTES_MAX, ARGUMENTS_BYTES_MAX, LEASE_MAX, LEASE_MIN,
    OPTION_BYTES_MAX, OPTIONS_MAX, REFERENCE_BYTES_MAX, RESULT_BYTES_MAX, TEXT_BYTES_MAX,
    TIMEOUT_MAX, TIMEOUT_MIN, WORKERS_MAX,
};
use crate::form;
use crate::ids::{AgentId, TaskId};
use crate::needs::{Directory, Needs, QueueOf};
use crate::question::state::Question;
use crate::time::{Span, Time};

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Ask(Box<Ask>),
    Answer(Answer),
    Withdraw(Withdraw),
    Claim(Claim),
    Renew { epoch: u64, lease: Option<Span> },
    Finish(Finish),
    Elapse { due: Time },
}

/// What an agent asks.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The person or the queue that is asked; the queue `default` when absent.
    #[serde(default)]
    pub to: Option<AgentId>,
    #[schemars(transform = form::text(TEXT_BYTES_MAX))]
    pub text: String,
    /// The kind of answer: `approve` when absent.
    #[serde(default)]
    pub wants: Kind,
    /// For `choose`: the answers to choose from, each on one line.
    #[serde(default)]
    #[schemars(transform = options)]
    pub options: Vec<String>,
    /// The tool or the operation that an approval is for.
    #[serde(default)]
    #[schemars(transform = form::line(ACTION_BYTES_MAX))]
    pub action: Option<String>,
    /// Its arguments, which the person is shown and consents to.
    #[serde(default)]
    #[schemars(transform = form::object_bytes(ARGUMENTS_BYTES_MAX))]
    pub arguments: Option<Map<String, Value>>,
    /// Whether a yes leads to something that cannot be undone. Then the default is never a yes.
    #[serde(default)]
    pub irreversible: bool,
    /// How long an answer counts: a day if it is left out, at most 30 days.
    #[serde(default)]
    #[schemars(transform = form::span(TIMEOUT_MIN, TIMEOUT_MAX))]
    pub timeout: Option<Span>,
    /// The answer that counts if no human gives one in time.
    #[serde(default)]
    pub default: Option<Given>,
    /// Agents besides the asker that may claim the continuation.
    #[serde(default)]
    #[schemars(transform = form::items(0, WORKERS_MAX))]
    pub workers: Vec<AgentId>,
    /// What the asker calls the run that waits, such as a thread or a checkpoint.
    #[serde(default)]
    #[schemars(transform = form::line(REFERENCE_BYTES_MAX))]
    pub reference: Option<String>,
    /// The task that it is about.
    #[serde(default)]
    pub task_id: Option<TaskId>,
}

fn options(schema: &mut schemars::Schema) {
    form::items(0, OPTIONS_MAX)(schema);
    form::each(form::line(OPTION_BYTES_MAX))(schema);
}

/// What a human answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The hash of the question that the human was shown.
    pub hash: String,
    pub given: Given,
    pub note: Option<String>,
    /// The caller, if it is an operator: its name may be that of a human of the directory.
    pub operator: Option<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Withdraw {
    #[serde(default)]
    #[schemars(transform = form::bytes(ANSWER_BYTES_MAX))]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// For how long: a minute if it is left out, at most an hour. `renew` makes it longer.
    #[serde(default)]
    #[schemars(transform = form::span(LEASE_MIN, LEASE_MAX))]
    pub lease: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// The epoch of your claim.
    pub epoch: u64,
    /// What the continuation did, in a sentence.
    #[serde(default)]
    #[schemars(transform = form::bytes(RESULT_BYTES_MAX))]
    pub result: Option<String>,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Ask(_) => "ask_question",
            Command::Answer(_) => "answer_question",
            Command::Withdraw(_) => "withdraw_question",
            Command::Claim(_) => "claim_question",
            Command::Renew { .. } => "renew_claim",
            Command::Finish(_) => "finish_question",
            Command::Elapse { .. } => "elapse_question",
        }
    }

    pub fn needs(&self, state: Option<&Question>) -> Needs {
        match self {
            Command::Ask(ask) => {
                let directory = Some(Directory::Named(ask.workers.clone()));
                match &ask.to {
                    Some(to) => Needs { agent: Some(to.clone()), directory, ..Needs::default() },
                    None => Needs { queue: Some(QueueOf::Default), directory, ..Needs::default() },
                }
            }
            Command::Answer(answer) => {
                let queue = state.and_then(|it| it.queue().cloned()).map(QueueOf::Named);
                let agent = answer.operator.clone();
                Needs { caller: true, agent, queue, ..Needs::default() }
            }
            Command::Withdraw(_)
            | Command::Claim(_)
            | Command::Renew { .. }
            | Command::Finish(_)
            | Command::Elapse { .. } => Needs::default(),
        }
    }
}
