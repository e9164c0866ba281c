//! Every cell: each action in each state by each caller. A cell is the state that follows, or the
//! code of the rejection; `nothing` is a deadline that does not apply any more.
//!
//! `none` is a handoff that does not exist; `guarded` is a proposed one that needs a human too;
//! `coupled` is an activated one whose item the work queue is asked about; `recalled` is an
//! activated one that its sender asks back; `completing` is an
//! activated one whose final artifacts are being verified, and `unconfirmed` one whose completion
//! waits for a verifier; `discarded` is a draft that was closed, and reads as closed from outside.

mod table;

use super::script::World;
use table::CELLS;

pub const STATES: [&str; 15] = [
    "none",
    "draft",
    "proposed",
    "guarded",
    "validating",
    "accepted",
    "rejected",
    "activated",
    "coupled",
    "recalled",
    "completing",
    "unconfirmed",
    "completed",
    "closed",
    "discarded",
];

pub const ACTIONS: [&str; 22] = [
    "draft",
    "initiate",
    "accept",
    "verified",
    "approve",
    "refuse",
    "reject",
    "counter",
    "withdraw",
    "delegate",
    "reassign",
    "activate",
    "workq_answered",
    "progress",
    "recall",
    "complete",
    "confirm",
    "dispute",
    "extend_sla",
    "close",
    "discard",
    "elapse",
];

pub const CALLERS: [&str; 8] =
    ["sender", "target", "coordinator", "operator", "human", "stranger", "customer", "system"];

const WITH_ARTIFACT: &str = concat!(
    "sender initiate h1 ",
    r#"artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]"#,
);

const WITH_ITEM: &str =
    concat!("sender initiate h1 ", r#"task.external_refs=[{"type":"workq_item","value":"item"}]"#,);

const COMPLETE_WITH_ARTIFACT: &str = concat!(
    "target complete h1 ",
    r#"final_artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]"#,
);

/// A world in which `h1` is in the state.
pub fn world_in(state: &str) -> World {
    let mut world = World::new();
    let lines: &[&str] = match state {
        "none" => &[],
        "draft" => &["sender draft h1"],
        "proposed" => &["sender draft h1", "sender initiate h1 saved"],
        "guarded" => &["sender initiate h1 policy.human_gate=required"],
        "validating" => &[WITH_ARTIFACT, "target accept h1"],
        "accepted" => &["sender initiate h1", "target accept h1"],
        "rejected" => &["sender initiate h1", "target reject h1"],
        "activated" => &["sender initiate h1", "target accept h1", "target activate h1"],
        "coupled" => &[WITH_ITEM, "target accept h1", "target activate h1"],
        "recalled" => {
            &["sender initiate h1", "target accept h1", "target activate h1", "sender recall h1"]
        }
        "completing" => &[
            "sender initiate h1",
            "target accept h1",
            "target activate h1",
            COMPLETE_WITH_ARTIFACT,
        ],
        "unconfirmed" => &[
            "sender initiate h1 policy.requires_verifier=true",
            "target accept h1",
            "target activate h1",
            "target complete h1",
        ],
        "completed" => {
            &["sender initiate h1", "target accept h1", "target activate h1", "target complete h1"]
        }
        "closed" => &["sender initiate h1", "target reject h1", "sender close h1"],
        "discarded" => &["sender draft h1", "coordinator close h1"],
        other => panic!("no such state: {other}"),
    };
    for line in lines {
        world.play(line);
    }
    world
}

/// The result of one action in one state for one caller.
pub fn cell(state: &str, action: &str, caller: &str) -> String {
    let mut world = world_in(state);
    let request = match (action, state) {
        ("initiate", "draft") => "saved",
        ("counter", _) => "context.summary=changed",
        ("verified", _) => "log=verified",
        ("workq_answered", _) => "item=transferred",
        ("elapse", _) => {
            world.play("wait 24h");
            ""
        }
        (_, _) => "",
    };
    let shown = world.play(&format!("{caller} {action} h1 {request}"));
    let shown = shown
        .replace(" (wants look)", "")
        .replace(" (wants transfer)", "")
        .replace(" (wants look/1)", "");
    if shown.ends_with("(nothing recorded)") {
        return "nothing".to_owned();
    }
    if shown.contains("(escalated)") {
        return "escalated".to_owned();
    }
    shown
}

#[test]
fn every_cell() {
    let mut table = String::new();
    for action in ACTIONS {
        table.push_str(&row(action, &CALLERS.map(str::to_owned)));
        for state in STATES {
            table.push_str(&row(state, &CALLERS.map(|caller| cell(state, action, caller))));
        }
        table.push('\n');
    }
    let wrong: Vec<String> = table
        .lines()
        .zip(CELLS.trim().lines())
        .filter(|(actual, expected)| !actual.split_whitespace().eq(expected.split_whitespace()))
        .map(|(actual, expected)| format!("{actual}\n{expected} (expected)"))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert_eq!(table.trim().lines().count(), CELLS.trim().lines().count(), "\n{table}");
}

fn row(head: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:<11}")).collect();
    format!("{head:<12}{cells}").trim_end().to_owned() + "\n"
}
