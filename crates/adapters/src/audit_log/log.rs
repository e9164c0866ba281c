//! The logs there are, one file of each per teamspace: where they lie, and what an entry adds.

use std::io;
use std::path::{Path, PathBuf};

use protocol::codec::{self, Unreadable};
use protocol::handoff::{artifact_line, decision_line};
use protocol::ids::TeamspaceId;
use protocol::ledger::{Entry, Subject};

use super::lines;
use super::position::{Position, PositionFile};

pub const TEAMSPACES_FOLDER: &str = "teamspaces";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    /// `handoffs/handoffs.jsonl`: what happened to each handoff.
    Handoffs,
    /// `messages/messages.jsonl`: each message that was sent.
    Messages,
    /// `roles/ledger.jsonl`: who joined, and the roles of each member.
    Roles,
    /// `decisions/decisions.jsonl`: what people and verifiers decided.
    Decisions,
    /// `artifacts/registry.jsonl`: each artifact that was verified.
    Artifacts,
}

impl Log {
    pub const ALL: [Log; 5] =
        [Log::Handoffs, Log::Messages, Log::Roles, Log::Decisions, Log::Artifacts];

    fn folder_name(self) -> &'static str {
        match self {
            Log::Handoffs => "handoffs",
            Log::Messages => "messages",
            Log::Roles => "roles",
            Log::Decisions => "decisions",
            Log::Artifacts => "artifacts",
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Log::Handoffs => "handoffs.jsonl",
            Log::Messages => "messages.jsonl",
            Log::Roles => "ledger.jsonl",
            Log::Decisions => "decisions.jsonl",
            Log::Artifacts => "registry.jsonl",
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
        self.lines_path(data, teamspace).with_added_extension("position")
    }

    /// The file with the common position of all files of this log.
    pub fn common_position_path(self, data: &Path) -> PathBuf {
        data.join(TEAMSPACES_FOLDER).join(match self {
            Log::Handoffs => ".position",
            Log::Messages => ".messages.position",
            Log::Roles => ".roles.position",
            Log::Decisions => ".decisions.position",
            Log::Artifacts => ".artifacts.position",
        })
    }

    /// The recorded position of the file of one teamspace.
    pub fn read_position(
        self,
        data: &Path,
        teamspace: &TeamspaceId,
    ) -> io::Result<Option<Position>> {
        Ok(PositionFile::open(&self.position_path(data, teamspace))?.position())
    }

    /// The recorded position of all files: their number, and the entry up to which they are
    /// complete.
    pub fn read_common_position(self, data: &Path) -> io::Result<Option<Position>> {
        Ok(PositionFile::open(&self.common_position_path(data))?.position())
    }

    /// Whether this log is about such a stream.
    pub fn is_about(self, subject: &Subject) -> bool {
        match (self, subject) {
            (Log::Handoffs | Log::Decisions | Log::Artifacts, Subject::Handoff(_))
            | (Log::Messages, Subject::Message(_))
            | (Log::Roles, Subject::Agent(_)) => true,
            (
                Log::Handoffs | Log::Messages | Log::Roles | Log::Decisions | Log::Artifacts,
                Subject::Handoff(_)
                | Subject::Message(_)
                | Subject::Conversation(_)
                | Subject::Agent(_)
                | Subject::Token(_)
                | Subject::Teamspace
                | Subject::Graph(_)
                | Subject::Subscription(_)
                | Subject::Session(_)
                | Subject::File(_)
                | Subject::Webhook(_)
                | Subject::Question(_)
                | Subject::Ledger,
            ) => false,
        }
    }

    /// Whether events of this name may add lines; the others need not be read.
    fn tells_of(self, event: &str) -> bool {
        match self {
            Log::Handoffs | Log::Roles => true,
            Log::Messages => event == "message.sent",
            Log::Decisions => decision_line::DECISIONS.contains(&event),
            Log::Artifacts => artifact_line::VERIFICATIONS.contains(&event),
        }
    }

    /// The lines that an entry adds, each with its line feed. None for what it is not about, and
    /// none for a body that was erased: a file that had its lines is derived again without them.
    pub fn lines(self, entry: &Entry) -> Result<String, Unreadable> {
        if !self.is_about(&entry.stream.subject) || !self.tells_of(&entry.name) {
            return Ok(String::new());
        }
        let Some(text) = entry.body.text() else { return Ok(String::new()) };
        let event = codec::decode(&entry.name, entry.version, text)?;
        Ok(lines::of_event(self, entry, &event))
    }
}
