//! Recorded outcomes answer retries. They do not follow from the entries, so their MACs are
//! checked. One that was deleted cannot be noticed, as the server deletes them too: a retry is then
//! decided again, and the record shows it.

use engine::ports::store::StoreError;
use protocol::row_mac::{OutcomeRow, RowKey};
use store::sqlite::{self, ReadOnly};

use super::report::Findings;

/// Rows of one read.
const PAGE_ROWS_MAX: usize = 512;

pub fn check(database: &ReadOnly, key: &RowKey, findings: &mut Findings) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let page = database.outcome_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for row in &page {
            if let Some(what) = mac_problem(row, key) {
                findings.general(what);
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
        }
    }
}

pub fn mac_problem(row: &sqlite::OutcomeRow, key: &RowKey) -> Option<String> {
    let mac = key.of_outcome(OutcomeRow {
        teamspace: row.scope.teamspace.as_str(),
        caller: &row.scope.caller,
        key: &row.scope.key,
        fingerprint: &row.recorded.fingerprint,
        outcome: &row.recorded.outcome,
    });
    let is_ours = row.recorded.mac == Some(mac);
    (!is_ours).then(|| {
        format!(
            "the recorded answer to the request {} of {} in {} was not written by the server",
            row.scope.key, row.scope.caller, row.scope.teamspace
        )
    })
}
