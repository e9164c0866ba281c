//! Retention: messages that are past their retention time are archived and removed from every
//! mailbox. Their bodies are erased on the record, so that the ledger stays complete. Each is a
//! command of its own, and only a few run at a time, so that other callers do not wait for long.
//! The teamspaces take turns.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use protocol::caller::Caller;
use protocol::erasure::{self, MESSAGE_POSITION};
use protocol::ids::TeamspaceId;
use protocol::message::Message;
use protocol::rejection::Rejection;
use protocol::step::{Command, State};
use protocol::teamspace::Settings;
use protocol::time::{Span, Time};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Engine;
use crate::ledger::Ledger;
use crate::ports::store::{Listed, OldestMessages, StoreReads};
use crate::road::submit::SubmitError;

/// How many are read at once, and purged by one request.
pub const PURGED_MAX: usize = 200;

/// How many are in line at once: they take about as long to write as one large package, then other
/// commits get their turn.
const IN_LINE_MAX: usize = 16;

/// The cutoff is rounded to days, so that the log of messages is rewritten at most once a day.
const DAY: Span = Span::from_hours(24);

/// How many teamspaces are read at once.
const TEAMSPACES_READ: usize = 200;

const LOOK_EVERY: Span = Span::from_hours(1);

/// How long messages are kept, and where they go then.
#[derive(Clone, Default)]
pub struct Retention {
    /// `None` means for ever.
    pub kept: Option<Span>,
    /// Messages that the loop purges are written here first, if it is set.
    pub archive: Option<Arc<dyn Archive>>,
}

impl std::fmt::Debug for Retention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retention").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Retention {
    /// Messages that were sent before this time are purged. The setting of a teamspace has
    /// precedence.
    fn cutoff(&self, settings: Settings, now: Time) -> Option<Time> {
        let own =
            settings.message_retention_days.map(|days| Span::from_hours(24 * i64::from(days)));
        let oldest = now.as_millis() - own.or(self.kept)?.as_millis();
        Some(Time::from_millis(oldest - oldest.rem_euclid(DAY.as_millis())))
    }
}

/// Where purged messages are kept.
pub trait Archive: Send + Sync + 'static {
    /// Durable when the answer is `Ok`. After a crash it may be given the same messages again.
    fn keep(
        &self,
        teamspace: TeamspaceId,
        messages: Vec<Message>,
    ) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;
}

/// The result of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    pub n_purged: usize,
    /// Whether more messages are as old.
    pub has_more: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    #[error("the archive cannot be written")]
    Archive(#[from] io::Error),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

pub(crate) async fn run(engine: Engine, retention: Retention, mut stopped: watch::Receiver<bool>) {
    let purging = async {
        engine.ledger().until_not_behind().await;
        loop {
            match engine.ledger().purge_due(&retention).await {
                Ok(0) => {}
                Ok(n_purged) => tracing::info!(n_purged, "messages were kept long enough"),
                Err(error) => tracing::error!(%error, "old messages could not be purged"),
            }
            engine.clock.sleep(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        () = purging => {}
        // The rest is purged after the next start.
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => {}
    }
}

impl Ledger<'_> {
    /// Purges every message past its retention time, and returns how many there were. For programs
    /// without loops, and for tests.
    pub async fn purge_due(self, retention: &Retention) -> Result<usize, RetentionError> {
        let (mut turns, mut after) = (VecDeque::new(), None);
        loop {
            let page = self.engine.store.teamspaces(after.as_ref(), TEAMSPACES_READ).await;
            let page = page.map_err(SubmitError::Store)?;
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            turns.extend(page.into_iter().map(|teamspace| PurgeTurn { teamspace, after: 0 }));
        }
        let (mut n_purged, mut failed) = (0, None);
        while let Some(mut turn) = turns.pop_front() {
            match self.purge_some(&mut turn, retention).await {
                Ok(0) => {}
                Ok(n) => {
                    n_purged += n;
                    turns.push_back(turn);
                }
                // The others go on. This one is tried again with the next look.
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(n_purged), Err)
    }

    /// Returns how many were purged; 0 if no more are due.
    async fn purge_some(
        self,
        turn: &mut PurgeTurn,
        retention: &Retention,
    ) -> Result<usize, RetentionError> {
        let PurgeTurn { teamspace, after } = turn;
        let settings = self.engine.read().settings(teamspace).await.map_err(SubmitError::Store)?;
        let Some(cutoff) = retention.cutoff(settings, self.engine.clock.now()) else {
            return Ok(0);
        };
        let page = self.oldest(teamspace.clone(), *after).await?;
        let Some(last) = page.last() else { return Ok(0) };
        *after = last.row;
        let is_due = |one: &Old| one.message.created_at < cutoff;
        let due: Vec<_> = self.read(page).await?.into_iter().filter(is_due).collect();
        if due.is_empty() {
            return Ok(0);
        }
        if let Some(archive) = &retention.archive {
            let messages = due.iter().map(|one| one.message.clone()).collect();
            archive.keep(teamspace.clone(), messages).await?;
        }
        let caller = Caller::system(teamspace.clone());
        self.purge_these(&caller, &due, "it was kept long enough").await?;
        Ok(due.len())
    }

    /// Purges the oldest messages of the caller's teamspace that were sent before this time, up to
    /// [`PURGED_MAX`]. They are not archived: the caller has exported what is to be kept.
    pub async fn purge(
        self,
        caller: &Caller,
        before: Time,
        reason: &str,
    ) -> Result<Purged, SubmitError> {
        if !caller.is_operator() {
            let who = "an operator";
            return Err(Rejection::NotAllowed { action: "purge messages", who }.into());
        }
        erasure::check_reason(reason)?;
        let page = self.oldest(caller.teamspace.clone(), 0).await?;
        let is_full = page.len() == PURGED_MAX;
        let is_old = |one: &Old| one.message.created_at < before;
        let old: Vec<_> = self.read(page).await?.into_iter().filter(is_old).collect();
        let n_purged = self.purge_these(caller, &old, reason).await?;
        Ok(Purged { n_purged, has_more: is_full && n_purged > 0 })
    }

    async fn oldest(self, teamspace: TeamspaceId, after: u64) -> Result<Vec<Listed>, SubmitError> {
        let oldest = OldestMessages { teamspace: Some(teamspace), after, limit: PURGED_MAX };
        Ok(self.engine.store.oldest_messages(oldest).await?)
    }

    async fn read(self, page: Vec<Listed>) -> Result<Vec<Old>, SubmitError> {
        let mut read = Vec::with_capacity(page.len());
        for row in page {
            if let Some(State::Message(message)) = self.engine.read().listed_state(&row).await? {
                read.push(Old { row, message });
            }
        }
        Ok(read)
    }

    async fn purge_these(
        self,
        caller: &Caller,
        old: &[Old],
        reason: &str,
    ) -> Result<usize, SubmitError> {
        let mut n_purged = 0;
        for few in old.chunks(IN_LINE_MAX) {
            let mut purging = JoinSet::new();
            for one in few {
                let (engine, caller) = (self.engine.clone(), caller.clone());
                let stream = one.row.stream.clone();
                let erase =
                    Command::Erase { position: MESSAGE_POSITION, reason: reason.to_owned() };
                purging.spawn(async move { engine.submit(&caller, stream, erase, None).await });
            }
            while let Some(purged) = purging.join_next().await {
                match purged.expect("purging does not panic") {
                    Ok(_) => n_purged += 1,
                    // Another request has purged it.
                    Err(SubmitError::Rejected(Rejection::NotFound { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(n_purged)
    }
}

/// A teamspace that may have more to purge, after this row.
struct PurgeTurn {
    teamspace: TeamspaceId,
    after: u64,
}

/// A message with its place.
struct Old {
    row: Listed,
    message: Message,
}
