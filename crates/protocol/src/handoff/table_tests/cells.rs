//! Every cell: each action in each state by each caller. A cell is the state that follows, or the
//! code of the rejection; `nothing` is a deadline that does not apply any more.
//!
//! `none` is a handoff that does not exist; `guarded` is a proposed one that needs a human too;
//! `coupled` is an activated one whose item the work queue is asked about; `completing` is an
//! activated one whose final artifacts are being verified, and `unconfirmed` one whose completion
//! waits for a verifier; `discarded` is a draft that was closed, and reads as closed from outside.

use super::script::World;

pub const STATES: [&str; 14] = [
    "none",
    "draft",
    "proposed",
    "guarded",
    "validating",
    "accepted",
    "rejected",
    "activated",
    "coupled",
    "completing",
    "unconfirmed",
    "completed",
    "closed",
    "discarded",
];

pub const ACTIONS: [&str; 19] = [
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
    "complete",
    "confirm",
    "dispute",
    "extend_sla",
    "close",
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

const CELLS: &str = r#"
draft        sender      target      coordinator operator    human       stranger    customer    system
none         draft       draft       draft       not_allowed draft       draft       not_allowed not_allowed
draft        draft       not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

initiate     sender      target      coordinator operator    human       stranger    customer    system
none         proposed    ownership_conflict proposed    not_allowed proposed    proposed    not_allowed not_allowed
draft        proposed    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

accept       sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed accepted    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed validating  not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

verified     sender      target      coordinator operator    human       stranger    customer    system
none         not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_found
draft        not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
proposed     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
guarded      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
validating   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed accepted
accepted     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
rejected     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
activated    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
coupled      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
completing   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed completed
unconfirmed  not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
completed    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
closed       not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
discarded    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing

approve      sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
proposed     not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
guarded      not_allowed not_allowed not_allowed not_allowed proposed    not_allowed not_allowed not_allowed
validating   not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
accepted     not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
rejected     not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
activated    not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
coupled      not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
completing   not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
unconfirmed  not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
completed    not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
closed       not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
discarded    not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed

refuse       sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
proposed     not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
guarded      not_allowed not_allowed not_allowed not_allowed rejected    not_allowed not_allowed not_allowed
validating   not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
accepted     not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
rejected     not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
activated    not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
coupled      not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
completing   not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
unconfirmed  not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
completed    not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
closed       not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed
discarded    not_allowed not_allowed not_allowed not_allowed wrong_state not_allowed not_allowed not_allowed

reject       sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed rejected    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

counter      sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     proposed    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

withdraw     sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     closed      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      closed      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   closed      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

delegate     sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    not_allowed activated   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed activated   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

reassign     sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
validating   not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
activated    not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
completing   not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed not_allowed closed      closed      not_allowed not_allowed not_allowed not_allowed
completed    not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
closed       not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed

activate     sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed activated   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

workq_answered sender      target      coordinator operator    human       stranger    customer    system
none         not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_found
draft        not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
proposed     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
guarded      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
validating   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
accepted     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
rejected     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
activated    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
coupled      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed activated
completing   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
unconfirmed  not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
completed    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
closed       not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
discarded    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing

complete     sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
validating   not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
activated    not_allowed completed   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed completed   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completing   not_allowed completed   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed activated   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
completed    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
closed       not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed wrong_state not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed

confirm      sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
proposed     wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
guarded      wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
validating   wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
rejected     wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
activated    wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
completing   wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
unconfirmed  completed   not_allowed completed   completed   not_allowed not_allowed not_allowed not_allowed
completed    wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
closed       wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed

dispute      sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
proposed     wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
guarded      wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
validating   wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
rejected     wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
activated    wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
completing   wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
unconfirmed  activated   not_allowed activated   activated   not_allowed not_allowed not_allowed not_allowed
completed    wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
closed       wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed

extend_sla   sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
proposed     not_allowed not_allowed proposed    proposed    not_allowed not_allowed not_allowed not_allowed
guarded      not_allowed not_allowed proposed    proposed    not_allowed not_allowed not_allowed not_allowed
validating   not_allowed not_allowed validating  validating  not_allowed not_allowed not_allowed not_allowed
accepted     not_allowed not_allowed accepted    accepted    not_allowed not_allowed not_allowed not_allowed
rejected     not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
activated    not_allowed not_allowed activated   activated   not_allowed not_allowed not_allowed not_allowed
coupled      not_allowed not_allowed activated   activated   not_allowed not_allowed not_allowed not_allowed
completing   not_allowed not_allowed activated   activated   not_allowed not_allowed not_allowed not_allowed
unconfirmed  not_allowed not_allowed activated   activated   not_allowed not_allowed not_allowed not_allowed
completed    not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
closed       not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
discarded    not_allowed not_allowed wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed

close        sender      target      coordinator operator    human       stranger    customer    system
none         not_found   not_found   not_found   not_found   not_found   not_found   not_found   not_found
draft        wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
proposed     wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
guarded      wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
validating   wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
accepted     wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
rejected     closed      closed      closed      closed      not_allowed not_allowed not_allowed not_allowed
activated    wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
coupled      wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
completing   wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
unconfirmed  wrong_state wrong_state closed      closed      not_allowed not_allowed not_allowed not_allowed
completed    closed      closed      closed      closed      not_allowed not_allowed not_allowed not_allowed
closed       wrong_state wrong_state wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed
discarded    wrong_state wrong_state wrong_state wrong_state not_allowed not_allowed not_allowed not_allowed

elapse       sender      target      coordinator operator    human       stranger    customer    system
none         not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_found
draft        not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
proposed     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
guarded      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
validating   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
accepted     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
rejected     not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
activated    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
coupled      not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
completing   not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
unconfirmed  not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed escalated
completed    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
closed       not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
discarded    not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed not_allowed nothing
"#;
