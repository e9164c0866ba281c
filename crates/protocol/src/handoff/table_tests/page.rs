//! `docs/transitions.md` is generated from the state machine: by running every action in every
//! state by every caller, and by listing the holds and deadlines of the states. A test compares it
//! with the committed page. `UPDATE_DOCS=1 cargo test -p tasuki-protocol` rewrites it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::cells::{ACTIONS, CALLERS, STATES, cell, world_in};
use super::script::{World, handoff_id, start};
use crate::codec;
use crate::handoff::audit_line::lines;
use crate::handoff::derive;
use crate::handoff::notices::{Form, notices};
use crate::handoff::state::Handoff;
use crate::handoff::waits::{Waiter, waits};
use crate::question::notices::{self as question_notices, Reader};
use crate::step::Event;

#[test]
fn the_page_is_what_the_machine_does() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/transitions.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("the documents can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/transitions.md differs from the code: UPDATE_DOCS=1 cargo test -p tasuki-protocol"
    );
}

fn page() -> String {
    let told = told() + &told_of_questions();
    [INTRODUCTION, &moves(), &refusals(), &events(), &derived(), &waited_for(), &told].join("\n")
}

const INTRODUCTION: &str = r"# Transitions of a handoff

Made by running the machine; a test keeps it true. `UPDATE_DOCS=1 cargo test -p tasuki-protocol page` writes it anew.

`none` is a handoff that does not exist yet. A draft that was closed is `closed`, too, and is shown as `discarded`
here. `guarded` is a proposed one whose policy asks for a human; `coupled` is an activated one whose item the work queue is asked
about; `recalled` is an activated one that its sender asks back. `completing` and `unconfirmed` are activated ones that are
reported as done: the final artifacts are being verified, or a verifier other than the owner must confirm it. `verified`, `workq_answered` and `elapse` are the server's own actions, when it has looked at the artifacts, when the
work queue has answered and when a deadline passes. An operator may do what a coordinator may, except
what only an agent can.

## What follows, and who may

Each cell has the state that follows the action, and the callers that may perform it. In an empty
cell no caller may.
";

/// State by action: the results, each with the callers that get it.
fn moves() -> String {
    let mut table = header("state", &ACTIONS);
    for state in STATES {
        let cells = ACTIONS.map(|action| {
            let mut results: Vec<(String, Vec<&str>)> = Vec::new();
            for caller in CALLERS {
                let result = cell(state, action, caller);
                if !is_move(&result) {
                    continue;
                }
                match results.iter_mut().find(|(known, _)| *known == result) {
                    Some((_, callers)) => callers.push(caller),
                    None => results.push((result, vec![caller])),
                }
            }
            let shown = |(result, callers): &(String, Vec<&str>)| {
                format!("**{result}** ({})", callers.join(", "))
            };
            results.iter().map(shown).collect::<Vec<_>>().join("; ")
        });
        table.push_str(&line(&format!("`{state}`"), &cells));
    }
    table
}

/// A rejection is a code; everything else is a state or the effect of a deadline.
fn is_move(result: &str) -> bool {
    STATES.contains(&result) || result == "escalated"
}

/// State by action: the codes that other callers get.
fn refusals() -> String {
    let mut page =
        "## Refusals\n\nThe codes of everyone else. `nothing` is no refusal: a deadline \
                    that the handoff has outrun is\nignored, and what was asked for already \
                    is not done again.\n\n"
            .to_owned();
    page.push_str(&header("state", &ACTIONS));
    for state in STATES {
        let cells = ACTIONS.map(|action| {
            let mut codes: Vec<String> = Vec::new();
            for caller in CALLERS {
                let result = cell(state, action, caller);
                if !is_move(&result) && !codes.contains(&result) {
                    codes.push(result);
                }
            }
            codes.sort();
            codes.join(", ")
        });
        page.push_str(&line(&format!("`{state}`"), &cells));
    }
    page
}

/// For each action that moves: its events, and the audit lines they write.
fn events() -> String {
    let mut page = "## Events and audit lines\n\nWhat each action records, and the lines of \
                    `handoffs.jsonl` that follow from it.\n\n"
        .to_owned();
    page.push_str(&header("action", &["from", "events", "audit lines"]));
    for action in ACTIONS {
        for state in STATES {
            let caller = CALLERS.into_iter().find(|caller| is_move(&cell(state, action, caller)));
            let Some(caller) = caller else { continue };
            let mut world = world_in(state);
            let n_before = world.events.len();
            let request = if (action, state) == ("initiate", "draft") { "saved" } else { "" };
            let request = if action == "counter" { "context.summary=changed" } else { request };
            let request = if action == "verified" { "log=verified" } else { request };
            let request = if action == "workq_answered" { "item=transferred" } else { request };
            if action == "elapse" {
                world.play("wait 24h");
            }
            world.play(&format!("{caller} {action} h1 {request}"));
            let (events, lines) = recorded_since(&world, n_before);
            let cells = [format!("`{state}`"), events.join(", "), lines.join(", ")];
            page.push_str(&line(&format!("`{action}`"), &cells));
        }
    }
    let mut world = World::new();
    world.play("sender initiate h1");
    world.play("tamper h1 policy.export_restrictions=[\"agent:target\"]");
    let n_before = world.events.len();
    world.play("target accept h1");
    let (events, lines) = recorded_since(&world, n_before);
    let cells = ["`proposed`, gate refuses".to_owned(), events.join(", "), lines.join(", ")];
    page.push_str(&line("`accept`", &cells));
    page
}

fn recorded_since(world: &World, n_before: usize) -> (Vec<String>, Vec<String>) {
    let mut names = Vec::new();
    let mut written = Vec::new();
    for (name, event, actor, at) in &world.events[n_before..] {
        names.push(format!("`{}`", event.name()));
        for line in lines(handoff_id(name), event, actor, *at) {
            let line = serde_json::to_value(&line).expect("a line is JSON");
            written.push(format!("`{}`", line["event"].as_str().expect("a line has a name")));
        }
    }
    (names, written)
}

/// The holds and deadlines of a state.
fn derived() -> String {
    let mut page =
        "## What a state holds and arms\n\nThe hold is on `task/<task_id>`; while it is \
                    occupied, no other handoff of the task can be proposed. Its\nvalue, the owners \
                    of the task, stays when it is free.\n\n"
            .to_owned();
    page.push_str(&header("state", &["task", "owners of the task", "armed", "limit"]));
    for state in STATES.into_iter().filter(|state| *state != "none") {
        let world = world_in(state);
        let handoff = &world.handoffs["h1"];
        let (task, owners) = match (derive::hold(handoff), handoff) {
            (Some(hold), Handoff::Made(made)) => {
                let owners: Vec<_> = derive::owners(made).iter().map(ToString::to_string).collect();
                (if hold.occupied { "held" } else { "free" }, owners.join(" → "))
            }
            (_, _) => ("not concerned", String::new()),
        };
        let armed = derive::deadlines(handoff);
        let names: Vec<_> = armed.iter().map(|deadline| format!("`{}`", deadline.name)).collect();
        let limits: Vec<_> =
            armed.iter().map(|deadline| deadline.due.since(start()).to_string()).collect();
        let mut limit = limits.join(", ");
        if ["activated", "completing", "unconfirmed"].contains(&state) {
            limit.push_str(", or the handoff's own deadline");
        }
        page.push_str(&line(
            &format!("`{state}`"),
            &[task.to_owned(), owners, names.join(", "), limit],
        ));
    }
    page
}

/// Who is waited for in a state.
fn waited_for() -> String {
    let mut page = "## Who is waited for\n\nAn open handoff says it in `waiting_for`: \
                    who, for what, since when, until when, and what\nhappens then. Once a stage is \
                    overdue, it waits for a coordinator too.\n\n"
        .to_owned();
    page.push_str(&header("state", &["waits for"]));
    for state in STATES.into_iter().filter(|state| *state != "none") {
        let all = waits(&world_in(state).handoffs["h1"]);
        let shown = all.iter().map(|wait| {
            let actions: Vec<_> = wait.actions.iter().map(|it| format!("`{it}`")).collect();
            format!("{}: {}", wait.who.describe(), actions.join(", "))
        });
        let shown = shown.collect::<Vec<_>>().join("; ");
        page.push_str(&line(&format!("`{state}`"), &[shown]));
    }
    page
}

/// Who is told of an event, in all the forms in which it was ever recorded.
fn told() -> String {
    let mut page =
        "## Who is told\n\nThe notices of an event. Agents that it names find them with \
                    `GET /v1/notices` and in their inboxes,\nunless they caused the event or muted \
                    the kind. Those marked `message` are sent as a message instead, and\n\
                    *no coordinator* means: only in a teamspace without one. Any human whose roles \
                    allow it is an approver,\nand any reviewer or coordinator other than the owner \
                    is a verifier. The owner is that of a task that\nanother agent proposes. From \
                    then on it is told what the sender is told, as is the agent that first\nsent a \
                    task which a coordinator reassigned during the work; neither is asked to \
                    confirm.\n\n"
            .to_owned();
    page.push_str(&header("event", &["sender", "target", "others"]));
    for (name, all) in notices_by_event() {
        let of = |agent: &str| {
            let shown = all.iter().filter(|(who, _)| who == agent);
            shown.map(|(_, what)| what.as_str()).collect::<Vec<_>>().join(", ")
        };
        let others = all.iter().filter(|(who, _)| !who.starts_with("agent:"));
        let others = others.map(|(who, what)| format!("{who}: {what}")).collect::<Vec<_>>();
        let cells = [of("agent:sender"), of("agent:target"), others.join(", ")];
        page.push_str(&line(&format!("`{name}`"), &cells));
    }
    page
}

fn notices_by_event() -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut all: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for event in golden_events() {
        let Event::Handoff(event) = event else { continue };
        let (from, to) = event.parties();
        let told = notices(&event, "server").into_iter().map(|notice| {
            let who = match &notice.to {
                Waiter::Agent(agent) if agent == from => "agent:sender".to_owned(),
                Waiter::Agent(agent) if Some(agent) == to => "agent:target".to_owned(),
                Waiter::Agent(_) => "owner".to_owned(),
                Waiter::Approver { .. }
                | Waiter::Verifier { .. }
                | Waiter::Coordinator
                | Waiter::Parts
                | Waiter::Server => notice.to.describe(),
            };
            let form = match notice.form {
                Form::Derived => "",
                Form::WithoutCoordinators => " (no coordinator)",
                Form::Message => " (message)",
            };
            (who, format!("`{}`{form}", notice.kind.as_str()))
        });
        all.entry(event.name().to_owned()).or_default().extend(told);
    }
    all
}

/// The same for questions. Of a queue, its humans are told.
fn told_of_questions() -> String {
    let mut page =
        "\nOf a [question](questions.md), the person or the humans of the queue are told, \
                    and the asker with its workers:\n\n"
            .to_owned();
    page.push_str(&header("event", &["asker", "workers", "who is asked"]));
    let mut all: BTreeMap<&str, [String; 3]> = BTreeMap::new();
    for event in golden_events() {
        let Event::Question(event) = event else { continue };
        let cells = all.entry(event.name()).or_default();
        for (kind, reader) in question_notices::notices(&event) {
            let parties = event.parties();
            let index = match &reader {
                Reader::Agent(agent) if *agent == parties.asker => 0,
                Reader::Agent(agent) | Reader::Queue(agent) if *agent == parties.to => 2,
                Reader::Agent(_) | Reader::Queue(_) => 1,
            };
            cells[index] = format!("`{}`", kind.as_str());
        }
    }
    for (name, cells) in all {
        page.push_str(&line(&format!("`{name}`"), &cells));
    }
    page
}

/// All forms in which an event was ever recorded.
fn golden_events() -> Vec<Event> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden");
    let files = fs::read_dir(folder).expect("golden files");
    files
        .map(|file| {
            let text = fs::read_to_string(file.expect("a file").path()).expect("a text");
            let golden: Value = serde_json::from_str(&text).expect("JSON");
            let name = golden["name"].as_str().expect("a name");
            codec::decode(name, 1, &golden["body"].to_string()).expect("an event")
        })
        .collect()
}

fn header(first: &str, columns: &[&str]) -> String {
    let columns: Vec<_> = columns.iter().map(|column| (*column).to_owned()).collect();
    let rule = format!("|---|{}\n", "---|".repeat(columns.len()));
    line(first, &columns) + &rule
}

fn line(first: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell} |")).collect();
    format!("| {first} |{}\n", cells.replace("  |", " |"))
}
