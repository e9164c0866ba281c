//! A task moves from one agent to another: draft → proposed → validating → accepted or rejected →
//! activated → completed → closed.
//!
//! Read [`state`] first, then [`command`] and [`event`], then one file per command in [`decide`].
//! [`check`] says what an offer must have, [`lint`] what it should have; [`edit`] changes an offer
//! field by field; [`gate`] and [`artifact`] are the checks of an accept; [`workq`] is what a work
//! queue is asked; [`progress`] is what an owner reports of its work, [`completion`] how it reports
//! that the work is done, and [`recall`] how the sender asks for the task back. [`derive`] computes
//! what follows from a state (deadlines, effects, the task's hold); [`audit_line`],
//! [`decision_line`] and [`artifact_line`] turn events into the lines of the audit log. Nothing
//! here depends on how a command arrived.

pub mod artifact;
pub mod artifact_line;
pub mod audit_line;
pub mod check;
pub mod command;
pub mod completion;
pub mod decide;
pub mod decision_line;
pub mod derive;
pub mod edit;
pub mod event;
pub mod evolve;
pub mod gate;
pub mod lint;
mod needed;
mod needs;
pub mod notice_kind;
pub mod notices;
pub mod package;
pub mod progress;
pub mod readers;
pub mod recall;
pub mod reject_reason;
pub mod restrictions;
pub mod sla;
pub mod state;
pub mod status;
pub mod waits;
pub mod workq;

#[cfg(test)]
mod table_tests;

pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use package::{Offer, Package};
pub use reject_reason::RejectReason;
pub use state::{Handoff, Made, Stage};
pub use status::Status;
