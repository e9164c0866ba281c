//! The logs there are, one file of each per teamspace: where they lie, and what an entry adds.

use std::path::{Path, PathBuf};

use protocol::codec::Unreadable;
use protocol::ids::TeamspaceId;
use protocol::ledger::{Entry, Subject};

use super::lines;

pub const TEAMSPACES_FOLDER: &str = "teamspaces";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// `handoffs/handoffs.jsonl`: what happened to each handoff.
    Handoffs,
    /// `messages/messages.jsonl`: each message that was sent.
    Messages,
    /// `roles/ledger.jsonl`: who joined, and what each member is trusted with.
    Roles,
}

impl Log {
    pub const ALL: [Log; 3] = [Log::Handoffs, Log::Messages, Log::Roles];

    fn folder_name(self) -> &'static str {
        match self {
            Log::Handoffs => "handoffs",
            Log::Messages => "messages",
            Log::Roles => "roles",
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Log::Handoffs => "handoffs.jsonl",
            Log::Messages => "messages.jsonl",
            Log::Roles => "ledger.jsonl",
        }
    }

    /// The folder of one teamspace.
    pub fn folder(self, data: &Path, teamspace: &TeamspaceId) -> PathBuf {
        data.join(TEAMSPACES_FOLDER).join(teamspace.as_str()).join(self.folder_name())
    }

    pub fn lines_path(self, data: &Path, teamspace: &TeamspaceId) -> PathBuf {
        self.folder(data, teamspace).join(self.file_name())
    }

    pub fn position_path(self, data: &Path, teamspace: &TeamspaceId) -> PathBuf {
        self.folder(data, teamspace).join(format!("{}.position", self.file_name()))
    }

    /// How far all files of this log are.
    pub fn common_position_path(self, data: &Path) -> PathBuf {
        data.join(TEAMSPACES_FOLDER).join(match self {
            Log::Handoffs => ".position",
            Log::Messages => ".messages.position",
            Log::Roles => ".roles.position",
        })
    }

    /// Whether what happens to such a stream is in this log.
    pub fn is_about(self, subject: &Subject) -> bool {
        match (self, subject) {
            (Log::Handoffs, Subject::Handoff(_))
            | (Log::Messages, Subject::Message(_))
            | (Log::Roles, Subject::Agent(_)) => true,
            (
                Log::Handoffs | Log::Messages | Log::Roles,
                Subject::Handoff(_)
                | Subject::Message(_)
                | Subject::Agent(_)
                | Subject::Token(_)
                | Subject::Teamspace
                | Subject::Ledger,
            ) => false,
        }
    }

    /// The lines that an entry adds, each with its line feed.
    pub fn lines(self, entry: &Entry) -> Result<String, Unreadable> {
        match self {
            Log::Handoffs => lines::of(entry),
            Log::Messages => lines::of_message(entry),
            Log::Roles => lines::of_roles(entry),
        }
    }
}
