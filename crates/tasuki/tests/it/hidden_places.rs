//! Decrypts cursors, for tests that must compare them: they have the keys of their servers.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use protocol::ids::TeamspaceId;
use protocol::sealed_cursor::{Purpose, Scope};
use serde_json::Value;
use store::sqlite::ReadOnly;

/// The folders of the servers that this test started, the last one at the end.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The teamspaces of tests that read events.
const TEAMSPACES: [&str; 4] = ["default", "other", "red", "blue"];

pub fn remember(data: &Path) {
    FOLDERS.lock().expect("nothing panics in here").push(data.to_owned());
}

/// The sequence number that a cursor of `/v1/events` or of a subscription stands for.
pub fn sequence_of(cursor: &str) -> u64 {
    let folders = FOLDERS.lock().expect("nothing panics in here").clone();
    let opened = folders.iter().rev().find_map(|data| {
        let key = adapters::ledger_key::open(data, || panic!("a server has a key")).ok()?;
        let key = key.cursor_key();
        TEAMSPACES.into_iter().find_map(|name| {
            let teamspace: TeamspaceId = name.parse().expect("a valid id");
            let scope = Scope { teamspace: &teamspace, purpose: Purpose::Events };
            key.open(scope, cursor).map(|cursor| cursor.sequence)
        })
    });
    opened.unwrap_or_else(|| panic!("{cursor} is no cursor of a server of this test"))
}

/// The sequence number of the cursor of a frame.
pub fn place_in(frame: &Value) -> u64 {
    sequence_of(frame["cursor"].as_str().expect("a cursor"))
}

/// The newest entry of the server that was started last.
pub fn newest() -> u64 {
    let folder = FOLDERS.lock().expect("nothing panics in here").last().cloned();
    let folder = folder.expect("a server was started");
    let store = ReadOnly::open(&folder).expect("the ledger can be read");
    store.newest().expect("the ledger can be read")
}
