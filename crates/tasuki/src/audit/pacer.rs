//! How long an audit beside a busy server waits after each page, so that it reads no more rows in a
//! second than it was told.

use protocol::time::{Span, Time};

/// Bytes of a stored file that count as one row: what the scrub reads in the time of one.
pub const FILE_BYTES_PER_ROW: u64 = 40 * 1024;

/// Rows in a second, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacer {
    rows_per_second: u64,
    /// Rows whose time has not been waited for, because it is less than a millisecond.
    n_owed: u64,
    /// When the rows that were read so far are paid for.
    paid_at: Time,
}

impl Pacer {
    pub fn new(rows_per_second: u32, now: Time) -> Self {
        Self { rows_per_second: u64::from(rows_per_second.max(1)), n_owed: 0, paid_at: now }
    }

    /// How long to wait after reading so many rows. Time in which nothing was read is not saved up.
    pub fn after(&mut self, n_rows: u64, now: Time) -> Span {
        let n_owed = self.n_owed.saturating_add(n_rows);
        let n_millis = n_owed.saturating_mul(1_000) / self.rows_per_second;
        self.n_owed = n_owed - n_millis * self.rows_per_second / 1_000;
        let n_millis = i64::try_from(n_millis).unwrap_or(i64::MAX / 2);
        self.paid_at = self.paid_at.max(now).plus(Span::from_millis(n_millis));
        self.paid_at.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_rows_are_read_in_a_second_than_was_said() {
        let at = |millis| Time::from_millis(1_771_682_400_000 + millis);
        for (rows_per_second, page, n_pages) in [(100, 512, 7), (3, 1, 20), (100_000, 1, 900)] {
            let mut pacer = Pacer::new(rows_per_second, at(0));
            let mut now = 0;
            for _ in 0..n_pages {
                // Reading takes a while, too.
                now += 1;
                now += pacer.after(page, at(now)).as_millis();
            }
            let n_rows = i64::try_from(page * n_pages).unwrap();
            let n_most = now * i64::from(rows_per_second) / 1_000 + 1;
            assert!(n_rows <= n_most, "{n_rows} of {n_most} rows in {now} ms");
        }
        let mut pacer = Pacer::new(100, at(0));
        assert_eq!(pacer.after(0, at(60_000)).as_millis(), 0);
        assert_eq!(pacer.after(100, at(60_000)).as_millis(), 1_000, "nothing is saved up");
    }
}
