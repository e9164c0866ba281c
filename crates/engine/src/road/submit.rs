//! What is submitted, and the answers to it. [`attempt`](super::attempt) is the road that it takes.

use std::pin::Pin;

use protocol::caller::Caller;
use protocol::canonical::Hash;
use protocol::ledger::Stream;
use protocol::rejection::Rejection;
use protocol::step::{Change, Command, HoldState, Outcome};
use protocol::time::Time;
use serde::{Deserialize, Serialize};

use crate::ledger::behind::Behind;
use crate::ports::store::{KeyScope, StoreError};
use crate::road::slots::Latest;
use crate::usage::Reservation;

/// A caller's own name for a request, so that a retry is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    pub fingerprint: Hash,
}

/// The answer to a command: stored with it, so that a retry gets the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub subject: String,
    /// The position of the stream's last entry after the command.
    pub position: u64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("the idempotency key was used for another request")]
    KeyReused,
    #[error("too many concurrent changes to this stream; try again")]
    Contended,
    #[error(transparent)]
    Behind(#[from] Behind),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The answer to come. It is boxed, so that the road is compiled once, in this crate, and not in
/// every crate that waits for an answer.
pub type Submitted<'a> = Pin<Box<dyn Future<Output = Result<Done, SubmitError>> + Send + 'a>>;

#[derive(Clone, Copy)]
pub(crate) struct Submission<'a> {
    pub caller: &'a Caller,
    pub stream: &'a Stream,
    pub command: &'a Command,
    pub key: Option<&'a Key>,
}

/// A change that may be committed, and the state that it follows on.
pub(crate) struct Next<'a> {
    pub latest: &'a Latest,
    pub change: Change,
    pub now: Time,
    pub reservation: Box<Reservation>,
}

pub(crate) enum Attempt {
    Done(Done),
    Again,
    /// Some hold is not free, or may not be: all must be read.
    AgainReading {
        told: Option<(String, HoldState)>,
    },
}

impl Submission<'_> {
    pub(super) fn scope(&self, key: &Key) -> KeyScope {
        scope(self.caller, key)
    }
}

pub(super) fn scope(caller: &Caller, key: &Key) -> KeyScope {
    KeyScope {
        teamspace: caller.teamspace.clone(),
        caller: caller.principal.to_string(),
        key: key.text.clone(),
    }
}
