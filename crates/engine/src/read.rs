//! Reading: one thing, lists, histories, who a bearer is, the settings of its teamspace, what a
//! decision looks at, and the verdict of the gate.

pub mod access;
mod authentic;
pub(crate) mod facts;
pub mod graphs;
pub mod mailbox;
pub mod matching;
mod model_history;
pub mod notices;
mod parts;
pub mod query;
pub mod questions;
pub mod reading;
pub mod settings;
pub mod transfers;
pub mod verdict;

use crate::Engine;

/// Reading without a check of who reads.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    pub(crate) engine: &'a Engine,
}

/// Who a bearer is, and what it may read.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    pub(crate) engine: &'a Engine,
}

impl Engine {
    pub fn read(&self) -> Read<'_> {
        Read { engine: self }
    }

    pub fn access(&self) -> Access<'_> {
        Access { engine: self }
    }
}
