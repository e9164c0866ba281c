//! A ledger to which nothing was done: nothing is found, by any road, whatever a server does
//! meanwhile.

use std::fs;

use adapters::checkpoint_file::{LOG_FILE, NEWEST_FILE, split_log};
use adapters::ledger_key::PUBLIC_FILE;
use engine::feed::entry_json;
use protocol::handoff;
use tasuki::audit::{self, Options, Source};

use super::ledger::{Server, caller, copy, findings, report, report_with};

#[test]
fn nothing_is_found_where_nothing_was_done() {
    let folder = copy();
    let report = report(folder.path());
    assert_eq!(findings(&report), "");
    assert_eq!(report.remarks, Vec::<String>::new());
    let counts = (report.n_entries, report.n_sealed, report.n_unsealed, report.n_erased);
    assert_eq!(counts, (22, 21, 1, 0));
    let list = audit::tail(&Source::Data(folder.path().to_owned()), 22).unwrap();
    for e in list { println!("{}", audit::human_line(&e)); }
    println!("{report:?}");
}
