//! `tasuki handoff`: every action, lists, and the story of one handoff.

mod calls;
mod list;
mod report;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::handoff::RejectReason;
use protocol::time::Time;
use protocol::tools::Form;

use self::calls::call_of;
use super::offer::{OfferArgs, WorkArgs, lay_over_draft};
use super::reach::{Reach, offline};
use super::{detect, file, lint, names, one_of, story, watch};
use crate::client::{Client, Unreachable};
use crate::node::control_socket;
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct HandoffArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: HandoffCommand,
}

#[derive(Debug, Subcommand)]
enum HandoffCommand {
    /// Save a draft. With an id, change the given fields; --file replaces the whole draft
    Draft {
        /// The id of a draft
        id: Option<String>,
        #[command(flatten)]
        offer: OfferArgs,
    },
    /// Propose a task to another agent. With an id, propose that draft, with the given changes
    Initiate {
        /// The id of a draft
        id: Option<String>,
        /// Only say whether it would be proposed, and what is wrong with it
        #[arg(long, conflicts_with = "id")]
        dry_run: bool,
        #[command(flatten)]
        offer: OfferArgs,
    },
    /// Say what is wrong with an offer and what could be better, without a server
    #[command(args = offline())]
    Lint {
        /// A JSON file with the offer; `-` reads standard input
        file: PathBuf,
    },
    /// List the handoffs in a model's message history, and check that its provider accepts it
    #[command(args = offline())]
    Detect {
        /// A JSON file with the messages; `-` reads standard input
        file: PathBuf,
        /// Whose messages they are: openai, responses, anthropic or langchain [default: by their
        /// look]
        #[arg(long)]
        form: Option<Form>,
    },
    /// Agree to take the task; the gate verifies its package
    Accept {
        /// The id of the handoff
        id: String,
        /// What the sender should know
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
        /// An artifact that is accepted, by id; all of them without this. May be repeated
        #[arg(long = "artifact", value_name = "ID")]
        artifacts: Vec<String>,
    },
    /// Agree to a handoff whose policy asks for a human
    Approve {
        /// The id of the handoff
        id: String,
        /// The revision that you have read; if it was changed since, nothing is approved
        #[arg(long, value_name = "NUMBER")]
        revision: Option<u32>,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Refuse the approval, as a human; this rejects the handoff
    Refuse {
        /// The id of the handoff
        id: String,
        /// The revision that you have read; if it was changed since, nothing is refused
        #[arg(long, value_name = "NUMBER")]
        revision: Option<u32>,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Propose again after a rejection; what is not given stays as it was
    Counter {
        /// The id of the handoff
        id: String,
        #[command(flatten)]
        offer: OfferArgs,
    },
    /// Hand a part of your task on, as a handoff of its own
    Delegate {
        /// The id of the handoff
        id: String,
        #[command(flatten)]
        offer: OfferArgs,
    },
    /// Close it and hand the task to another agent instead, as a coordinator
    Reassign {
        /// The id of the handoff
        id: String,
        /// The agent that shall own the task instead
        #[arg(long, value_name = "AGENT")]
        to: String,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// A new deadline for the task, such as 2026-12-24T18:00:00Z
        #[arg(long, value_name = "TIME")]
        deadline: Option<Time>,
    },
    /// Withdraw a handoff that is not accepted yet
    Withdraw {
        /// The id of the handoff
        id: String,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Give the stage that is running more time, as a coordinator
    ExtendSla {
        /// The id of the handoff
        id: String,
        /// When it is overdue from now on, such as 2026-12-24T18:00:00Z
        #[arg(long, value_name = "TIME")]
        due: Time,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Decline, with a reason and a detail; from `activated` this re-opens the task
    Reject {
        /// The id of the handoff
        id: String,
        /// What kind of reason it is
        #[arg(long, value_parser = one_of(RejectReason::ALL, RejectReason::as_str))]
        reason: RejectReason,
        /// The reason in words
        #[arg(long, value_name = "TEXT")]
        detail: String,
        /// What the sender could change so that it is accepted
        #[arg(long, value_name = "TEXT")]
        suggested_fix: Option<String>,
    },
    /// Start the work: from now on the task is yours
    Activate {
        /// The id of the handoff
        id: String,
        #[command(flatten)]
        work: WorkArgs,
    },
    /// Report how far the work is; no deadline moves
    Progress {
        /// The id of the handoff
        id: String,
        #[command(flatten)]
        report: report::ReportArgs,
    },
    /// Ask for a task back that was accepted; its owner gives it back or completes it
    Recall {
        /// The id of the handoff
        id: String,
        /// Why you want it back
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Report the work as done
    Complete {
        /// The id of the handoff
        id: String,
        /// What was done
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
        /// A success criterion, word for word, and what shows that it is met; may be repeated
        #[arg(long, num_args = 2, value_names = ["CRITERION", "EVIDENCE"])]
        evidence: Vec<String>,
        /// A JSON file with `final_artifacts` and `evidence`; `-` reads standard input
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Agree that the work is done, if you are not its owner
    Confirm {
        /// The id of the handoff
        id: String,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Dispute that the work is done; the owner keeps the task
    Dispute {
        /// The id of the handoff
        id: String,
        /// What is missing
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Make the record final; a coordinator may force it
    Close {
        /// The id of the handoff
        id: String,
        /// What is left to say
        #[arg(long, value_name = "TEXT")]
        notes: Option<String>,
    },
    /// Discard a draft of yours
    Discard {
        /// The id of the draft
        id: String,
        /// Why; kept on the record
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
    /// Erase what one entry of a closed handoff says; the chain stays whole
    Erase {
        /// The id of the handoff
        id: String,
        /// The entry's position in the handoff's history
        #[arg(long)]
        position: u64,
        /// Why; kept for ever
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// List handoffs, newest first
    List(list::ListArgs),
    /// Tell the story of one handoff
    Show {
        /// The id of the handoff
        id: String,
    },
    /// Follow what happens, live
    Watch(watch::WatchArgs),
}

pub async fn run(args: HandoffArgs) -> Result<u8> {
    if let HandoffCommand::Lint { file } = &args.command {
        return lint::run(file, args.reach.json);
    }
    if let HandoffCommand::Detect { file, form } = &args.command {
        return detect::run(file, *form, args.reach.json);
    }
    let reached = args.reach.connect().await?;
    let client = &reached.client;
    let json = args.reach.json;
    match args.command {
        HandoffCommand::List(list) => list::print(client, &list, json).await?,
        HandoffCommand::Show { id } => story::print(client, &id, json).await?,
        HandoffCommand::Watch(_) if reached.node.is_some() => {
            // Nothing happens in a folder without a server, and holding it would keep one from
            // starting.
            let socket = control_socket(&args.reach.data()?);
            return Err(Unreachable(socket.display().to_string()).into());
        }
        HandoffCommand::Watch(args) => watch::run(client, &args, json).await?,
        HandoffCommand::Initiate { offer, dry_run: true, .. } => {
            let code = lint::dry_run(client, offer.body()?, json).await?;
            reached.finish().await;
            return Ok(code);
        }
        HandoffCommand::Lint { .. } | HandoffCommand::Detect { .. } => {
            unreachable!("it needs no server")
        }
        action @ (HandoffCommand::Draft { .. }
        | HandoffCommand::Initiate { .. }
        | HandoffCommand::Accept { .. }
        | HandoffCommand::Approve { .. }
        | HandoffCommand::Refuse { .. }
        | HandoffCommand::Counter { .. }
        | HandoffCommand::Delegate { .. }
        | HandoffCommand::Reassign { .. }
        | HandoffCommand::Withdraw { .. }
        | HandoffCommand::ExtendSla { .. }
        | HandoffCommand::Reject { .. }
        | HandoffCommand::Activate { .. }
        | HandoffCommand::Progress { .. }
        | HandoffCommand::Recall { .. }
        | HandoffCommand::Complete { .. }
        | HandoffCommand::Confirm { .. }
        | HandoffCommand::Dispute { .. }
        | HandoffCommand::Close { .. }
        | HandoffCommand::Discard { .. }
        | HandoffCommand::Erase { .. }) => act(client, action, json).await?,
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

/// Adapts the help of flags that several subcommands share. Fields that a counter-offer does not
/// name stay, so its flags have no defaults, and it cannot change the task or the target. A part
/// has the policy and the kind of the whole.
pub fn with_own_help(command: clap::Command) -> clap::Command {
    let without_default = |argument: clap::Arg| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        match help.split_once(" [default: ") {
            Some((said, _)) => argument.help(said.to_owned()),
            None => argument,
        }
    };
    command
        .mut_subcommand("counter", |counter| {
            let fixed =
                |it: &clap::Arg| ["to", "task", "is_return"].contains(&it.get_id().as_str());
            counter.mut_args(without_default).mut_args(|argument| {
                let is_fixed = fixed(&argument);
                argument.hide(is_fixed)
            })
        })
        .mut_subcommand("delegate", |delegate| {
            delegate
                .mut_arg("classification", without_default)
                .mut_arg("task_kind", without_default)
        })
}

async fn act(client: &Client, action: HandoffCommand, json: bool) -> Result<()> {
    let is_completion = matches!(action, HandoffCommand::Complete { .. });
    let own_remark = own_remark(&action);
    let mut draft = None;
    if let HandoffCommand::Draft { id: Some(id), offer }
    | HandoffCommand::Initiate { id: Some(id), offer, .. } = &action
        && offer.file.is_none()
    {
        draft = Some(id.clone());
    }
    let mut call = call_of(action)?;
    if let (Some(draft), Some(changes)) = (draft, call.body.as_mut()) {
        lay_over_draft(client, &draft, changes).await?;
    }
    if let Some(body) = call.body.as_mut() {
        file::put_artifacts(client, body).await?;
    }
    let answer = client.call(call).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    names::warnings(&answer);
    let text = |name: &str| answer[name].as_str().unwrap_or_default();
    match answer["new_handoff_id"].as_str() {
        Some(new) => {
            output::line(new);
            let (old, status) = (text("handoff_id"), text("status"));
            output::remark(&format!("Handoff {new} is now proposed; handoff {old} is {status}"));
        }
        None if is_completion && text("status") == "activated" => {
            let id = text("handoff_id");
            output::line(id);
            output::remark(&format!(
                "Handoff {id} is reported as done; it is completed once that is verified or \
                 confirmed"
            ));
        }
        None => {
            let id = text("handoff_id");
            output::line(id);
            let usual = || format!("Handoff {id} is now {}", text("status"));
            output::remark(&own_remark.map_or_else(usual, |own_remark| own_remark(id)));
        }
    }
    match text("workq_status") {
        "transferred" => output::remark("the work queue has followed"),
        "degraded" => output::remark("the work queue has not followed: claim the item by hand"),
        _ => {}
    }
    Ok(())
}

/// The remark on an action that leaves the status as it was.
fn own_remark(action: &HandoffCommand) -> Option<fn(&str) -> String> {
    if matches!(action, HandoffCommand::Progress { .. }) {
        return Some(|id| format!("The progress of handoff {id} is reported"));
    }
    if matches!(action, HandoffCommand::Recall { .. }) {
        return Some(|id| format!("Handoff {id} is recalled; its owner is asked to give it back"));
    }
    if matches!(action, HandoffCommand::Erase { .. }) {
        return Some(|id| format!("what the entry of handoff {id} said is erased"));
    }
    None
}
