//! Erasing all that was said in a conversation or a session, entry by entry and on the record. What
//! is erased stays erased, so a caller that was interrupted repeats the request, which continues.

use std::sync::Arc;

use protocol::caller::Caller;
use protocol::ledger::{Erased, Stream};
use protocol::rejection::Rejection;
use protocol::step::{Command, State};
use protocol::{conversation, erasure, session};
use tokio::task::JoinSet;

use crate::ledger::Ledger;
use crate::ports::store::{Sequenced, StoreError, StoreReads};
use crate::road::submit::SubmitError;

/// Entries that one request erases: some seconds on a slow disk.
pub const ERASED_MAX: usize = 200;

/// How many are in line at once, so that other commits get their turn in between.
const IN_LINE_MAX: usize = 16;

/// Entries that are read at once to find those that are left.
const ENTRIES_READ: usize = 200;

/// The result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasedAll {
    pub n_erased: usize,
    /// Whether to ask again.
    pub has_more: bool,
}

impl Ledger<'_> {
    /// Erases the bodies of a conversation, the oldest first, up to [`ERASED_MAX`]. An open one is
    /// closed, because nothing is left of it.
    pub async fn erase_conversation(
        self,
        caller: &Caller,
        stream: &Stream,
        reason: &str,
    ) -> Result<ErasedAll, SubmitError> {
        check(caller, reason)?;
        let state = self.engine.read().current(stream).await?;
        let Some(State::Conversation(conversation)) = state.as_deref() else {
            return Err(Rejection::NotFound { what: "conversation" }.into());
        };
        if conversation.closed.is_none() {
            let close = conversation::Command::Close { reason: None };
            let closed =
                self.engine.submit(caller, stream.clone(), Command::Conversation(close), None);
            match closed.await {
                Ok(_) | Err(SubmitError::Rejected(Rejection::ConversationClosed { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        self.erase_all(caller, stream, reason).await
    }

    /// The same for a session. An open one is ended.
    pub async fn erase_session(
        self,
        caller: &Caller,
        stream: &Stream,
        reason: &str,
    ) -> Result<ErasedAll, SubmitError> {
        check(caller, reason)?;
        let session = self.engine.sessions().session(stream).await?;
        let session = session.ok_or(Rejection::NotFound { what: "session" })?;
        if session.is_open() {
            let end = Command::Session(session::Command::End);
            self.engine.submit(caller, stream.clone(), end, None).await?;
        }
        self.erase_all(caller, stream, reason).await
    }

    async fn erase_all(
        self,
        caller: &Caller,
        stream: &Stream,
        reason: &str,
    ) -> Result<ErasedAll, SubmitError> {
        let mut left = self.not_erased(stream, ERASED_MAX + 1).await?;
        let has_more = left.len() > ERASED_MAX;
        left.truncate(ERASED_MAX);
        for few in left.chunks(IN_LINE_MAX) {
            let mut erasing = JoinSet::new();
            for position in few {
                let (engine, caller, stream) =
                    (self.engine.clone(), caller.clone(), stream.clone());
                let erase = Command::Erase { position: *position, reason: reason.to_owned() };
                erasing.spawn(async move { engine.submit(&caller, stream, erase, None).await });
            }
            while let Some(erased) = erasing.join_next().await {
                erased.expect("erasing does not panic")?;
            }
        }
        Ok(ErasedAll { n_erased: left.len(), has_more })
    }

    /// Who wrote an entry that is not erased, and how many bytes are kept of it.
    pub(crate) async fn stored_at(
        self,
        stream: &Stream,
        position: u64,
    ) -> Result<Option<(Arc<str>, u64)>, StoreError> {
        let page = self.engine.store.history_from(stream, position, 1).await?;
        let Some(Sequenced { seq, entry }) = page.into_iter().next() else { return Ok(None) };
        let Some(body) = entry.body.text().filter(|_| entry.position == position) else {
            return Ok(None);
        };
        let n_document = self.engine.store.document_bytes(seq).await?;
        Ok(Some((Arc::clone(&entry.actor), body.len() as u64 + n_document)))
    }

    /// The positions whose bodies are still there, the oldest first.
    async fn not_erased(self, stream: &Stream, limit: usize) -> Result<Vec<u64>, StoreError> {
        let newest = self.engine.store.load(stream).await?.map_or(0, |snapshot| snapshot.position);
        let mut found = Vec::new();
        let mut from = 1;
        while from <= newest && found.len() < limit {
            let page = self.engine.store.history_from(stream, from, ENTRIES_READ).await?;
            let Some(last) = page.last() else { break };
            from = last.entry.position + 1;
            let is_left = |one: &&Sequenced| {
                one.entry.body.text().is_some() && one.entry.name != Erased::NAME
            };
            found.extend(page.iter().filter(is_left).map(|one| one.entry.position));
        }
        found.truncate(limit);
        Ok(found)
    }
}

fn check(caller: &Caller, reason: &str) -> Result<(), Rejection> {
    if !caller.is_operator() {
        return Err(Rejection::NotAllowed { action: "erase", who: "an operator" });
    }
    erasure::check_reason(reason)
}
