//! Rows of the store that were written past the server are not believed: their MACs do not match.
//! A stream with such a snapshot cannot be used, and no list shows it. `tasuki audit verify` names
//! it.

use std::sync::atomic::Ordering;

use protocol::conversation::transcript_line::can_be_line;
use protocol::handoff::derive;
use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::row_mac::{Mac, OutcomeRow, SnapshotRow};
use protocol::step::{self, HoldState, State};

use crate::Engine;
use crate::ports::store::{
    HandoffFilter, KeyScope, List, ListOf, Listed, RecordedOutcome, Sequenced, Snapshot,
    StoreError, StoreReads,
};
use crate::read::Read;
use crate::read::reading::handoff_stream;

/// A hold may change while it is read. One that is still wrong after so many looks was forged.
const HOLD_LOOKS: usize = 3;

/// The handoffs of a task among which the one that left a hold is looked for, newest first. It is
/// nearly always the newest.
const TASK_HANDOFFS_MAX: usize = 256;

impl Engine {
    /// The MAC of a row that is about to be written; none without a key.
    pub(crate) fn snapshot_mac(&self, row: SnapshotRow<'_>) -> Option<Mac> {
        self.row_key.as_ref().map(|key| key.of_snapshot(row))
    }

    pub(crate) fn outcome_mac(&self, scope: &KeyScope, recorded: &RecordedOutcome) -> Option<Mac> {
        let row = OutcomeRow {
            teamspace: scope.teamspace.as_str(),
            caller: &scope.caller,
            key: &scope.key,
            fingerprint: &recorded.fingerprint,
            outcome: &recorded.outcome,
        };
        self.row_key.as_ref().map(|key| key.of_outcome(row))
    }

    /// A recorded outcome, if the server wrote it.
    pub(crate) fn check_outcome(
        &self,
        scope: &KeyScope,
        recorded: &RecordedOutcome,
    ) -> Result<(), StoreError> {
        if self.row_key.is_none() || recorded.mac == self.outcome_mac(scope, recorded) {
            return Ok(());
        }
        let caller = &scope.caller;
        Err(self.refuse_row(&format!("the recorded answer to a request of {caller}")))
    }

    /// Whether the server wrote a snapshot. One that it did not write is counted and logged.
    pub(crate) fn check_snapshot(
        &self,
        row: SnapshotRow<'_>,
        mac: Option<Mac>,
    ) -> Result<(), StoreError> {
        if self.row_key.is_none() || mac == self.snapshot_mac(row) {
            return Ok(());
        }
        let Stream { teamspace, subject } = row.stream;
        Err(self.refuse_row(&format!("the snapshot of {subject} in {teamspace}")))
    }

    /// A hold. That of a task decides who owns it, so it must follow from a state that the server
    /// wrote. A hold that was deleted cannot be told from one that never was; `tasuki audit verify`
    /// finds it.
    pub(crate) async fn hold(
        &self,
        teamspace: &TeamspaceId,
        key: &str,
    ) -> Result<HoldState, StoreError> {
        for _ in 0..HOLD_LOOKS {
            let hold = self.store.hold(teamspace, key).await?;
            if self.follows(teamspace, key, &hold).await? {
                return Ok(hold);
            }
        }
        Err(self.refuse_row(&format!("what is held of {key} in {teamspace}")))
    }

    /// Whether the hold of a task follows from one of its handoffs. Other holds are believed.
    pub(crate) async fn follows(
        &self,
        teamspace: &TeamspaceId,
        key: &str,
        hold: &HoldState,
    ) -> Result<bool, StoreError> {
        let task_id = key.strip_prefix(derive::TASK).and_then(|id| id.parse().ok());
        let Some(task_id) = task_id else { return Ok(true) };
        if self.row_key.is_none() || *hold == HoldState::default() {
            return Ok(true);
        }
        let left = (key.to_owned(), hold.clone());
        let is_left =
            |stream: &Stream, state: &State| step::holds_left(stream, state).contains(&left);
        if let Some(holder) = &hold.holder {
            let Ok(id) = holder.parse() else { return Ok(false) };
            let stream = handoff_stream(teamspace, id);
            let Some(snapshot) = self.store.load(&stream).await? else { return Ok(false) };
            let state = self.read().snapshot_state(&stream, &snapshot).await?;
            return Ok(is_left(&stream, &state));
        }
        let of = ListOf::Handoffs(HandoffFilter { task_id: Some(task_id), ..Default::default() });
        let teamspace = teamspace.clone();
        let list = List { teamspace, of, before: None, limit: TASK_HANDOFFS_MAX };
        for row in self.store.list(list).await? {
            let state = self.read().listed_state(&row).await?;
            if state.is_some_and(|state| is_left(&row.stream, &state)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn refuse_row(&self, what: &str) -> StoreError {
        self.counts.rows_refused.fetch_add(1, Ordering::Relaxed);
        tracing::error!("{what} was not written by this server; see tasuki audit verify");
        StoreError::Corrupt(format!("{what} was not written by this server"))
    }
}

impl Engine {
    /// The lines of a transcript after a number. Which entry is which line is kept beside the
    /// entries, so each is compared with what its entry says.
    pub(crate) async fn transcript(
        &self,
        stream: &Stream,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Sequenced>, StoreError> {
        let lines = self.store.transcript(stream, after, limit).await?;
        let mut last_seq = 0;
        for (number, line) in (after.saturating_add(1)..).zip(&lines) {
            let Sequenced { seq, entry } = line;
            let is_line = can_be_line(&entry.name, entry.body.text(), number);
            if !is_line || entry.stream != *stream || *seq <= last_seq {
                let Stream { teamspace, subject } = stream;
                let what =
                    format!("message {number} in the transcript of {subject} in {teamspace}");
                return Err(self.refuse_row(&what));
            }
            last_seq = *seq;
        }
        Ok(lines)
    }
}

impl Read<'_> {
    pub(crate) async fn snapshot_state(
        self,
        stream: &Stream,
        snapshot: &Snapshot,
    ) -> Result<State, StoreError> {
        let Snapshot { position, head, at, state_text, .. } = snapshot;
        let row = SnapshotRow { stream, position: *position, head, at: *at, state_text };
        self.engine.check_snapshot(row, snapshot.mac)?;
        self.read_state(stream, state_text).await
    }

    /// The state of a row; `None` for one that the server did not write. One such row must not keep
    /// the others from being read.
    pub(crate) async fn listed_state(self, row: &Listed) -> Result<Option<State>, StoreError> {
        if !self.is_authentic(row) {
            return Ok(None);
        }
        self.read_state(&row.stream, &row.state_text).await.map(Some)
    }

    pub(crate) fn is_authentic(self, row: &Listed) -> bool {
        let Listed { stream, position, head, at, state_text, .. } = row;
        let signed = SnapshotRow { stream, position: *position, head, at: *at, state_text };
        self.engine.check_snapshot(signed, row.mac).is_ok()
    }
}
