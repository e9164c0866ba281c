//! Reading: one thing, lists, histories, who a bearer is, and the settings of its teamspace.

pub mod access;
pub mod graphs;
pub mod mailbox;
pub mod matching;
pub mod query;
pub mod reading;
pub mod settings;

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
