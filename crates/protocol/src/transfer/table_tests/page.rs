//! `docs/transfer-transitions.md` and `docs/conversation-transitions.md` are made by running the
//! machine. This compares them; `UPDATE_DOCS=1 cargo test -p tasuki-protocol` writes them anew.

use std::path::Path;

use super::cells::world_in;
use crate::transfer::status::{Action, Status, next};

#[test]
fn the_page_of_transfers_is_true() {
    compare("docs/transfer-transitions.md", &page());
}

#[test]
fn the_page_of_conversations_is_true() {
    compare("docs/conversation-transitions.md", &conversations());
}

fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("the page is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, text, "{name}; UPDATE_DOCS=1 writes it anew");
}

/// Who has the conversation, by how its transfer stands.
const STATES: [(&str, Status); 4] = [
    ("with a bot", Status::Idle),
    ("waiting for a person", Status::Queued),
    ("with a person", Status::Connected),
    ("closed", Status::Ended),
];

/// Everything that can be asked, by everybody who can ask. `HOLDER` has the conversation, `bob` had
/// it before, and `carol` never had it.
const ASKED: [&str; 15] = [
    "customer say",
    "HOLDER say epoch=NOW",
    "bob say epoch=1",
    "carol say epoch=NOW",
    "operator say",
    "HOLDER route goto=carol epoch=NOW",
    "bob route goto=carol epoch=1",
    "customer select agent=carol",
    "HOLDER select agent=carol",
    "customer request",
    "HOLDER request epoch=NOW",
    "coord request",
    "customer close",
    "HOLDER close",
    "coord close",
];

fn conversations() -> String {
    let mut text = CONVERSATIONS_HEAD.to_owned();
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = STATES.map(|(name, _)| name.to_owned());
    text.push_str(&row(std::iter::once(String::new()).chain(names).collect()));
    text.push_str(&row(vec!["---".to_owned(); STATES.len() + 1]));
    for asked in ASKED {
        let cells = STATES.map(|(_, status)| cell(asked, status));
        let asked = asked.replace("HOLDER", "the holder").replace("NOW", "*now*");
        text.push_str(&row(std::iter::once(asked).chain(cells).collect()));
    }
    text
}

fn cell(asked: &str, status: Status) -> String {
    let mut world = world_in(status);
    let (holder, epoch) = (world.conversation().holder.clone(), world.conversation().epoch);
    let line = asked.replace("HOLDER", holder.as_str()).replace("NOW", &epoch.to_string());
    let shown = world.line(&line);
    let conversation = world.conversation();
    match shown.contains('@') {
        false => format!("`{shown}`"),
        true if conversation.closed.is_some() => "closed".to_owned(),
        true if conversation.holder == holder => "yes".to_owned(),
        true => format!("`{}` has it, epoch {epoch} + 1", conversation.holder),
    }
}

fn page() -> String {
    let mut text = HEAD.to_owned();
    let row = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&row(std::iter::once("").chain(Action::ALL.map(Action::as_str)).collect()));
    text.push_str(&row(vec!["---"; Action::ALL.len() + 1]));
    for status in Status::ALL {
        let cells = Action::ALL.map(|action| next(status, action).map_or("", Status::as_str));
        text.push_str(&row(std::iter::once(status.as_str()).chain(cells).collect()));
    }
    text
}

const HEAD: &str = "# Transitions of a transfer

Made by running the machine; a test keeps it true. `UPDATE_DOCS=1 cargo test -p tasuki-protocol page`
writes it anew.

Each row is where a transfer stands, each column what happens to it. An empty cell is refused: with
`HANDOFF_GONE` once it is over, `HANDOFF_ALREADY_CLAIMED` for a `pickup` that comes second, and
`wrong_state` otherwise.

";

const CONVERSATIONS_HEAD: &str = "# What can happen to a conversation

Made by running the machine; a test keeps it true. `UPDATE_DOCS=1 cargo test -p tasuki-protocol page`
writes it anew.

Each row is what somebody asks, each column who has the conversation. A cell says what comes of it,
or the code of the refusal. `bob` is the bot that has it first, `carol` another one, `support` the
queue. What can happen to a transfer is in [another table](transfer-transitions.md).

";
