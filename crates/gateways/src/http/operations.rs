//! The table of operations: what the reference, the tests of who may do what, and the documents are
//! made from. One row per route and method; each subject has its own rows.

mod descriptions;
pub mod parameters;
pub mod tags;

use super::aaep::manifest_operations::MANIFEST;
use super::aaep::operations::AAEP;
use super::admin::operations::{ACCESS, RUNNING};
use super::agents::operations::AGENTS;
use super::conversations::graph_operations::GRAPHS;
use super::conversations::operations::CONVERSATIONS;
use super::conversations::transfer_operations::TRANSFERS;
use super::feed::operations::FEED;
use super::files::operations::FILES;
use super::handoffs::operations::{ACP, HANDOFFS};
use super::messages::operations::{MESSAGES, NOTICES, PURGE};
use super::questions::operations::QUESTIONS;
use super::reference::operations::REFERENCE;
use super::shared::operation::Operation;
use super::webhooks::operations::WEBHOOKS;
use super::witness::operations::WITNESS;

impl Operation {
    /// What it does, in a few sentences.
    pub fn description(&self) -> &'static str {
        descriptions::of(self.id)
    }

    /// What it is about.
    pub fn tag(&self) -> &'static str {
        tags::of(self.path)
    }
}

/// The rows of each subject, in the order of the reference.
const SUBJECTS: [&[Operation]; 19] = [
    &HANDOFFS,
    &CONVERSATIONS,
    &TRANSFERS,
    &FILES,
    &GRAPHS,
    &AAEP,
    &MANIFEST,
    &ACP,
    &QUESTIONS,
    &MESSAGES,
    &NOTICES,
    &FEED,
    &WEBHOOKS,
    &AGENTS,
    &ACCESS,
    &PURGE,
    &RUNNING,
    &WITNESS,
    &REFERENCE,
];

/// All operations, in the order of the reference.
pub static OPERATIONS: [Operation; COUNT] = {
    let mut all = [HANDOFFS[0]; COUNT];
    let (mut subject, mut row, mut index) = (0, 0, 0);
    while subject < SUBJECTS.len() {
        while row < SUBJECTS[subject].len() {
            all[index] = SUBJECTS[subject][row];
            (row, index) = (row + 1, index + 1);
        }
        (subject, row) = (subject + 1, 0);
    }
    all
};

const COUNT: usize = {
    let (mut count, mut subject) = (0, 0);
    while subject < SUBJECTS.len() {
        count += SUBJECTS[subject].len();
        subject += 1;
    }
    count
};
