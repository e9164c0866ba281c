//! The lines that entries add to the logs: a function of the ledger and of nothing else, so
//! that a file can be derived again and compared byte for byte.

use std::collections::BTreeMap;

use protocol::codec::Unreadable;
use protocol::handoff::{artifact_line, audit_line, decision_line};
use protocol::ids::TeamspaceId;
use protocol::ledger::{Entry, Subject};
use protocol::step::Event;
use protocol::{message, roles};

use super::log::Log;

/// The lines that an event adds to a log, each with its line feed.
pub fn of_event(log: Log, entry: &Entry, event: &Event) -> String {
    let mut text = String::new();
    match (log, &entry.stream.subject, event) {
        (Log::Handoffs, Subject::Handoff(id), Event::Handoff(event)) => {
            for line in audit_line::lines(*id, event, &entry.actor, entry.at) {
                add(&mut text, serde_json::to_string(&line));
            }
        }
        (Log::Decisions, Subject::Handoff(id), Event::Handoff(event)) => {
            if let Some(line) = decision_line::line(*id, event, &entry.actor, entry.at) {
                add(&mut text, serde_json::to_string(&line));
            }
        }
        (Log::Artifacts, Subject::Handoff(id), Event::Handoff(event)) => {
            for line in artifact_line::lines(*id, event, entry.at) {
                add(&mut text, serde_json::to_string(&line));
            }
        }
        (Log::Messages, Subject::Message(id), Event::Message(message::Event::Sent(sent))) => {
            let line = message::audit_line::line(*id, sent, entry.at);
            add(&mut text, serde_json::to_string(&line));
        }
        (Log::Roles, Subject::Agent(id), Event::Agent(event)) => {
            let line = roles::audit_line::line(id, entry.position, event, &entry.actor, entry.at);
            if let Some(line) = line {
                add(&mut text, serde_json::to_string(&line));
            }
        }
        (Log::Handoffs | Log::Decisions | Log::Artifacts | Log::Messages | Log::Roles, _, _) => {}
    }
    text
}

fn add(text: &mut String, line: serde_json::Result<String>) {
    text.push_str(&line.expect("a line is plain data"));
    text.push('\n');
}

/// Every file of a log as the entries tell it.
pub fn derive<'e>(
    log: Log,
    entries: impl IntoIterator<Item = &'e Entry>,
) -> Result<BTreeMap<TeamspaceId, String>, Unreadable> {
    let mut files: BTreeMap<TeamspaceId, String> = BTreeMap::new();
    for entry in entries {
        let text = log.lines(entry)?;
        if !text.is_empty() {
            files.entry(entry.stream.teamspace.clone()).or_default().push_str(&text);
        }
    }
    Ok(files)
}
