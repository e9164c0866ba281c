//! The lines that entries add to the logs: a function of the ledger and of nothing else, so
//! that a file can be derived again and compared byte for byte.

use std::collections::BTreeMap;

use protocol::codec::{self, Unreadable};
use protocol::handoff::audit_line;
use protocol::ids::TeamspaceId;
use protocol::ledger::{Entry, Subject};
use protocol::message;
use protocol::step::Event;

/// The lines of one entry, each with its line feed. None for what is not about a handoff, and none
/// for a body that was erased: a file that had its lines is derived again without them.
pub fn of(entry: &Entry) -> Result<String, Unreadable> {
    let Subject::Handoff(_) = entry.stream.subject else { return Ok(String::new()) };
    let Some(text) = entry.body.text() else { return Ok(String::new()) };
    let event = codec::decode(&entry.name, entry.version, text)?;
    Ok(of_event(entry, &event))
}

/// The same for an event that was read already.
pub fn of_event(entry: &Entry, event: &Event) -> String {
    let mut text = String::new();
    let (Subject::Handoff(id), Event::Handoff(event)) = (&entry.stream.subject, event) else {
        return text;
    };
    for line in audit_line::lines(*id, event, &entry.actor, entry.at) {
        text.push_str(&serde_json::to_string(&line).expect("a line is plain data"));
        text.push('\n');
    }
    text
}

/// The line of a message that was sent; nothing for what happens to it later.
pub fn of_message(entry: &Entry) -> Result<String, Unreadable> {
    let Subject::Message(id) = entry.stream.subject else { return Ok(String::new()) };
    let Some(text) = entry.body.text() else { return Ok(String::new()) };
    match codec::decode(&entry.name, entry.version, text)? {
        Event::Message(message::Event::Sent(sent)) => {
            let line = message::audit_line::line(id, &sent, entry.at);
            Ok(serde_json::to_string(&line).expect("a line is plain data") + "\n")
        }
        Event::Message(
            message::Event::Delivered(_)
            | message::Event::Read(_)
            | message::Event::Expired(_)
            | message::Event::Woken(_)
            | message::Event::Failed(_),
        )
        | Event::Handoff(_)
        | Event::Agent(_)
        | Event::Token(_)
        | Event::Erased(_)
        | Event::Forked(_) => Ok(String::new()),
    }
}

/// Every `handoffs.jsonl` as the entries tell it.
pub fn derive<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
) -> Result<BTreeMap<TeamspaceId, String>, Unreadable> {
    let mut files: BTreeMap<TeamspaceId, String> = BTreeMap::new();
    for entry in entries {
        let text = of(entry)?;
        if !text.is_empty() {
            files.entry(entry.stream.teamspace.clone()).or_default().push_str(&text);
        }
    }
    Ok(files)
}
