//! `docs/transfer-transitions.md` is the table of the machine, made by running it. This compares
//! the two; `UPDATE_DOCS=1 cargo test -p protocol` writes it anew.

use std::path::Path;

use crate::transfer::status::{Action, Status, next};

#[test]
fn the_page_of_transfers_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transfer-transitions.md");
    let text = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("the page is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, text, "docs/transfer-transitions.md; UPDATE_DOCS=1 writes it anew");
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

Made by running the machine; a test keeps it true. `UPDATE_DOCS=1 cargo test -p protocol page`
writes it anew.

Each row is where a transfer stands, each column what happens to it. An empty cell is refused: with
`HANDOFF_GONE` once it is over, `HANDOFF_ALREADY_CLAIMED` for a `pickup` that comes second, and
`wrong_state` otherwise.

";
