//! The archive of messages: `archive/<teamspace>/messages-<year>-<month>.jsonl`, by the month in
//! which they were sent. The server never reads it again; the operator may keep, move or delete it.

use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use engine::loops::retention::Archive;
use protocol::ids::TeamspaceId;
use protocol::message::{Message, audit_line};

use crate::durable;

/// Outside the folders that are derived from the ledger, because the archive is not.
const FOLDER: &str = "archive";

/// More than the longest line, so that the beginning of half a line is found.
const TAIL_BYTES: u64 = 1024 * 1024;

#[derive(Debug)]
pub struct MessageArchive {
    data: PathBuf,
}

impl MessageArchive {
    pub fn new(data: &Path) -> Self {
        Self { data: data.to_owned() }
    }
}

impl Archive for MessageArchive {
    fn keep(
        &self,
        teamspace: TeamspaceId,
        messages: Vec<Message>,
    ) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
        let data = self.data.clone();
        Box::pin(async move {
            let writing = tokio::task::spawn_blocking(move || write(&data, &teamspace, &messages));
            writing.await.map_err(io::Error::other)?
        })
    }
}

fn write(data: &Path, teamspace: &TeamspaceId, messages: &[Message]) -> io::Result<()> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for message in messages {
        let month = message.created_at.to_string().get(..7).unwrap_or("undated").to_owned();
        let text = texts.entry(month).or_default();
        let line = audit_line::standing(message);
        text.push_str(&serde_json::to_string(&line).expect("a line is plain data"));
        text.push('\n');
    }
    let folder = data.join(FOLDER).join(teamspace.as_str());
    for folder in [&data.join(FOLDER), &folder] {
        durable::create_folder(folder)?;
    }
    for (month, text) in texts {
        append(&durable::create(&folder.join(format!("messages-{month}.jsonl")))?, &text)?;
    }
    Ok(())
}

/// A line that a crash left incomplete is cut off first; its message was not purged and comes
/// again.
fn append(file: &File, text: &str) -> io::Result<()> {
    let length = file.metadata()?.len();
    let begin = length.saturating_sub(TAIL_BYTES);
    let mut tail = vec![0; usize::try_from(length - begin).expect("a tail is small")];
    file.read_exact_at(&mut tail, begin)?;
    let n_half = tail.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    let whole = length - n_half;
    file.set_len(whole)?;
    file.write_all_at(text.as_bytes(), whole)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(number: u32, created_at: &str) -> Message {
        let message = json!({
            "id": format!("01938c2e-0000-7000-8000-{number:012}"),
            "sent": { "version": "1.0.0", "from": "alice", "to": ["bob"], "thread_id": "t",
                      "type": "status.update", "priority": "normal", "payload": { "n": number } },
            "created_at": created_at, "updated_at": created_at, "recipients": { "bob": "read" },
        });
        serde_json::from_value(message).unwrap()
    }

    #[tokio::test]
    async fn messages_are_kept_by_the_month_and_half_a_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let archive = MessageArchive::new(folder.path());
        let teamspace = TeamspaceId::default_teamspace();
        let path =
            |month: &str| folder.path().join(format!("archive/default/messages-{month}.jsonl"));
        let first = vec![message(1, "2026-01-31T23:59:59Z"), message(2, "2026-02-01T00:00:00Z")];
        archive.keep(teamspace.clone(), first).await.unwrap();
        let text = std::fs::read_to_string(path("2026-02")).unwrap();
        std::fs::write(path("2026-02"), text + "{\"id\":\"01938c2e-00").unwrap();
        archive.keep(teamspace, vec![message(3, "2026-02-02T00:00:00Z")]).await.unwrap();
        for (month, numbers) in [("2026-01", vec![1]), ("2026-02", vec![2, 3])] {
            let text = std::fs::read_to_string(path(month)).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let lines: Vec<_> = lines.collect();
            let found: Vec<_> = lines.iter().map(|line| line["payload"]["n"].clone()).collect();
            assert_eq!(found, numbers);
            assert_eq!(lines[0]["status"], "read");
            assert_eq!(lines[0]["recipients"], json!({ "bob": "read" }));
        }
    }
}
