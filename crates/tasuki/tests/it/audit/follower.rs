//! The follower of the audit log with a real engine behind it: stopped, cut short, blocked.

use std::fs;
use std::path::Path;

use adapters::audit_log::lines;
use adapters::audit_log::log::Log;
use tasuki::audit::{self, Source};

use super::ledger::{Server, caller, copy, findings, lines_path, report};

/// Whatever a crash leaves between the write of the lines and the record of it, the next start
/// continues from the record.
#[tokio::test]
async fn a_start_after_a_crash_loses_and_doubles_no_line() {
    let folder = copy();
    let path = lines_path(folder.path(), "default");
    let position = path.with_added_extension("position");
    let common = folder.path().join("teamspaces/.position");
    let old = [&path, &position, &common].map(|path| fs::read(path).unwrap());
    propose(folder.path(), 3).await;
    let new = [&path, &position, &common].map(|path| fs::read(path).unwrap());
    let added = &new[0][old[0].len()..];
    assert_eq!(added.iter().filter(|byte| **byte == b'\n').count(), 6);

    for n_bytes in (0..=added.len()).step_by(97).chain([added.len()]) {
        // The lines were being written; the positions were not written, or the last one was not.
        for (position_after, common_after) in [(&old[1], &old[2]), (&new[1], &old[2])] {
            let is_recorded = position_after == &new[1];
            let lines =
                if is_recorded { &new[0][..] } else { &[&old[0], &added[..n_bytes]].concat() };
            fs::write(&path, lines).unwrap();
            fs::write(&position, position_after).unwrap();
            fs::write(&common, common_after).unwrap();
            let crashed = report(folder.path());
            assert_eq!(findings(&crashed), "", "{n_bytes}");
            Server::start(folder.path(), 9).stop().await;
            assert_eq!(fs::read(&path).unwrap(), new[0], "{n_bytes}");
            assert_eq!(report(folder.path()).remarks, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn whatever_was_removed_is_derived_again() {
    let folder = copy();
    for name in [
        "teamspaces/default/handoffs/handoffs.jsonl",
        "teamspaces/default/handoffs/handoffs.jsonl.position",
        "teamspaces/.position",
        "teamspaces/other",
        "teamspaces",
    ] {
        let path = folder.path().join(name);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        Server::start(folder.path(), 9).stop().await;
        let again = report(folder.path());
        assert_eq!(findings(&again), "", "{name}");
        assert_eq!(again.remarks, Vec::<String>::new(), "{name}");
        assert_complete(folder.path());
    }
}

/// A failed write is retried from the recorded position, and nothing is skipped.
#[tokio::test]
async fn what_could_not_be_written_is_written_later() {
    let folder = copy();
    let handoffs = folder.path().join("teamspaces/default/handoffs");
    let aside = folder.path().join("aside");
    let server = Server::start(folder.path(), 8);
    let tim = caller("default", "agent:tim");
    server.initiate(&tim, "before").await;
    fs::rename(&handoffs, &aside).unwrap();
    fs::write(&handoffs, "not a folder").unwrap();
    for number in 0..20 {
        server.initiate(&tim, &format!("during {number}")).await;
    }
    fs::remove_file(&handoffs).unwrap();
    fs::rename(&aside, &handoffs).unwrap();
    server.initiate(&tim, "after").await;
    server.stop().await;
    assert_eq!(findings(&report(folder.path())), "");
    assert_complete(folder.path());
}

async fn propose(folder: &Path, n_handoffs: usize) {
    let server = Server::start(folder, 7);
    let tim = caller("default", "agent:tim");
    for number in 0..n_handoffs {
        server.initiate(&tim, &format!("task {number}")).await;
    }
    server.seal().await;
    server.stop().await;
}

/// Every file matches the ledger, byte for byte.
fn assert_complete(folder: &Path) {
    let entries = audit::tail(&Source::Data(folder.to_owned()), usize::MAX).unwrap();
    let derived = lines::derive(Log::Handoffs, entries.iter().map(|one| &one.entry)).unwrap();
    assert_eq!(derived.len(), 2);
    for (teamspace, text) in derived {
        let found = fs::read_to_string(lines_path(folder, teamspace.as_str())).unwrap();
        assert_eq!(found, text);
    }
}
