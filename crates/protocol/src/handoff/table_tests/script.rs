//! The language of the tables. A line is a command and its result, as in `sender accept h1 ->
//! not_allowed`, or a query of the state, `hold t1 -> h1 [sender]`. The world behind it is `step`
//! and a few maps: what a store would keep.
//!
//! Commands are `<caller> <action> <handoff> [path=value | -path]…`, where the paths change the
//! request. Values are JSON if they parse as JSON, `+2h` is a time from now, `x*300` is a long
//! text. `why` at the end shows the whole message of a rejection.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::request::{apply, read_span};
use crate::agent::{Agent, Kind, Profile};
use crate::caller::{Caller, Principal, Role};
use crate::codec;
use crate::handoff::command::Command;
use crate::handoff::event::Event;
use crate::handoff::package::Policy;
use crate::handoff::readers::Readers;
use crate::handoff::state::{Handoff, Made, Note};
use crate::handoff::{Package, Status, derive};
use crate::ids::{AgentId, HandoffId, TeamspaceId};
use crate::ledger::{Stream, Subject};
use crate::rejection::Rejection;
use crate::step::{self, Change, Context, Deadline, Effect, Facts, HoldState, Holds, State};
use crate::teamspace::Settings;
use crate::time::Time;
use crate::visibility::{self, Sight};

/// Runs a script and compares each line with its expected result.
pub fn check(script: &str) {
    let mut world = World::new();
    let mut wrong = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (left, right) = line.split_once(" -> ").unwrap_or((line, ""));
        let actual = world.play(left.trim());
        if actual != right.trim() {
            wrong.push(format!("{} -> {actual}\n  expected: {}", left.trim(), right.trim()));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The time every script starts at.
pub fn start() -> Time {
    "2026-02-21T14:00:00Z".parse().expect("a time")
}

/// `h1` is the first handoff of a script, and has the same id in all of them.
pub fn handoff_id(name: &str) -> HandoffId {
    let number: u32 = name.trim_start_matches('h').parse().expect("a handoff is called h<number>");
    format!("01938c2e-0000-7000-8000-{number:012}").parse().expect("a UUID")
}

fn handoff_name(subject: &Subject) -> String {
    let id = subject.id();
    let number: u32 = id.rsplit('-').next().and_then(|last| last.parse().ok()).expect("our ids");
    format!("h{number}")
}

/// The caller that a word stands for. Words that are no role are workers.
pub fn caller(word: &str) -> Caller {
    let id: AgentId = word.parse().expect("callers have names");
    let (principal, roles) = match word {
        "coordinator" | "lead" => (Principal::Agent(id), BTreeSet::from([Role::Coordinator])),
        "reviewer" => (Principal::Agent(id), BTreeSet::from([Role::Reviewer])),
        "integrator" => (Principal::Agent(id), BTreeSet::from([Role::Integrator])),
        "executor" => (Principal::Agent(id), BTreeSet::from([Role::Executor])),
        "operator" => (Principal::Operator(id), BTreeSet::new()),
        "customer" => (Principal::Customer(id), BTreeSet::new()),
        "system" => (Principal::System, BTreeSet::new()),
        _ => (Principal::Agent(id), BTreeSet::new()),
    };
    let teamspace = TeamspaceId::default_teamspace();
    Caller { teamspace, principal, roles, session: format!("session-of-{word}") }
}

/// An offer that may leave `draft`.
pub fn offer() -> Value {
    json!({
        "to_agent": "target",
        "task": { "task_id": "t1", "title": "Mend the build", "success_criteria": ["CI is green"] },
        "context": { "summary": "The linker fails since Tuesday" },
        "work_state": { "next_step": "Bisect the lock file" },
    })
}

#[derive(Clone)]
pub struct World {
    pub now: Time,
    pub handoffs: BTreeMap<String, Handoff>,
    pub events: Vec<(String, Event, String, Time)>,
    documents: BTreeMap<(String, String), String>,
    holds: BTreeMap<String, HoldState>,
    settings: Settings,
    pub(super) armed: BTreeSet<(String, Deadline)>,
    wanted: BTreeSet<(String, Effect)>,
}

impl World {
    pub fn new() -> Self {
        Self {
            now: start(),
            handoffs: BTreeMap::new(),
            events: Vec::new(),
            documents: BTreeMap::new(),
            holds: BTreeMap::new(),
            settings: Settings::default(),
            armed: BTreeSet::new(),
            wanted: BTreeSet::new(),
        }
    }

    /// Runs one line of a script; returns its right side.
    pub fn play(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["wait", span] => {
                self.now = self.now.plus(read_span(span));
                String::new()
            }
            ["settings", ref changes @ ..] => {
                let mut value = json!({});
                apply(&mut value, changes, self.now);
                self.settings = serde_json::from_value(value).expect("settings");
                String::new()
            }
            ["hold", task] => self.show_hold(task),
            ["armed", name] => self.show_armed(name),
            ["notes", name] => self.show_notes(name),
            ["policy", name] => self.show_policy(name),
            ["differs", name] => self.show_differences(name),
            ["work", name] => self.show_work(name),
            ["reported", name] => self.show_report(name),
            ["recalled", name] => self.show_recall(name),
            ["sees", who, name] => self.show_sight(who, name),
            ["workq", name] => self.handoffs[name].workq_status().as_str().to_owned(),
            ["teamspace", "requires", what] => {
                match what {
                    "evidence" => self.settings.evidence_required = true,
                    "verifier" => self.settings.verifier_required = true,
                    other => panic!("a teamspace cannot require {other}"),
                }
                String::new()
            }
            ["shown", name] => self.show_shown(name),
            ["lose", name] => {
                self.documents.retain(|(owner, _), _| owner != name);
                String::new()
            }
            ["tamper", name, ref changes @ ..] => {
                let key = (name.to_owned(), self.handoffs[name].document_hash().to_owned());
                let text = self.documents.get_mut(&key).expect("there is a document to change");
                let mut value = serde_json::from_str(text).expect("documents are JSON");
                apply(&mut value, changes, self.now);
                *text = value.to_string();
                String::new()
            }
            ["reseal", name] => {
                let text = self.document(name);
                let package: Package = serde_json::from_str(&text).expect("a package");
                let hash = self.handoffs[name].document_hash().to_owned();
                self.documents.insert((name.to_owned(), hash), package.seal().0);
                String::new()
            }
            ["forge", name, ref changes @ ..] => {
                let mut value = serde_json::to_value(&self.handoffs[name]).expect("plain data");
                apply(&mut value["Made"]["terms"], changes, self.now);
                let forged = serde_json::from_value(value).expect("still a handoff");
                let hold = derive::hold(&forged).expect("it was proposed");
                self.holds.get_mut(&hold.key).expect("it is held").value = hold.value;
                self.handoffs.insert(name.to_owned(), forged);
                String::new()
            }
            [who, action, name, ref request @ ..] => self.command(who, action, name, request),
            _ => panic!("not a line of the language: {line}"),
        }
    }

    fn command(&mut self, who: &str, action: &str, name: &str, request: &[&str]) -> String {
        let (request, asks_why) = match request {
            [request @ .., "why"] => (request, true),
            request => (request, false),
        };
        let command = self.read_command(action, name, request);
        match self.submit(&caller(who), name, &command) {
            Ok(change) => self.show_change(name, &change),
            Err(rejection) if asks_why => format!("{}: {rejection}", rejection.code()),
            Err(rejection) => match rejection.field() {
                Some(field) => format!("{} {field}", rejection.code()),
                None => rejection.code().to_owned(),
            },
        }
    }

    /// What the engine does, without the engine: read the facts, step, keep the changes.
    pub fn submit(
        &mut self,
        caller: &Caller,
        name: &str,
        command: &Command,
    ) -> Result<Change, Rejection> {
        let subject = Subject::Handoff(handoff_id(name));
        let stream = Stream { teamspace: caller.teamspace.clone(), subject };
        let state =
            self.handoffs.get(name).map(|handoff| State::Handoff(Box::new(handoff.clone())));
        let command = step::Command::Handoff(command.clone());
        let needs = step::needs(state.as_ref(), &command);
        let keys = step::holds(caller, &stream, state.as_ref(), &command);
        let taken = keys.into_iter().filter_map(|key| self.holds.get_key_value(&key));
        let taken = taken.map(|(key, hold)| (key.clone(), hold.clone())).collect();
        let facts = Facts {
            agent: needs.agent.and_then(directory),
            caller: if needs.caller { caller.agent().cloned().and_then(directory) } else { None },
            holds: Holds { taken, ..Holds::default() },
            document: needs
                .document
                .and_then(|hash| self.documents.get(&(name.to_owned(), hash)).cloned()),
            settings: if needs.settings { self.settings } else { Settings::default() },
            ..Facts::default()
        };
        let context = Context { caller, now: self.now, facts: &facts };
        let change = step::step(&stream, state.as_ref(), &command, context)?;
        let before = self.clone();
        self.keep(name, caller, &change);
        for (subject, command) in &change.then {
            let step::Command::Handoff(command) = command else { panic!("only handoffs follow") };
            let along = self.submit(caller, &handoff_name(subject), command);
            if let Err(rejection) = along {
                *self = before;
                return Err(rejection);
            }
        }
        Ok(change)
    }

    fn keep(&mut self, name: &str, caller: &Caller, change: &Change) {
        for write in &change.holds {
            let current = self.holds.get(&write.key).cloned().unwrap_or_default();
            assert_eq!(current, write.expected, "{name}: a hold is written over what was seen");
            self.holds.insert(write.key.clone(), write.next.clone());
        }
        for deadline in &change.disarm {
            let was_armed = self.armed.remove(&(name.to_owned(), deadline.clone()));
            assert!(was_armed, "{name}: only what is armed is disarmed");
        }
        for deadline in &change.arm {
            let is_new = self.armed.insert((name.to_owned(), deadline.clone()));
            assert!(is_new, "{name}: nothing is armed twice");
        }
        for effect in &change.end {
            let was_wanted = self.wanted.remove(&(name.to_owned(), effect.clone()));
            assert!(was_wanted, "{name}: only what is wanted is ended");
        }
        for effect in &change.begin {
            let is_new = self.wanted.insert((name.to_owned(), effect.clone()));
            assert!(is_new, "{name}: nothing is wanted twice");
        }
        if let Some(document) = &change.document {
            self.documents.insert((name.to_owned(), document.hash.clone()), document.text.clone());
        }
        let State::Handoff(handoff) = &change.state else { panic!("a handoff stays a handoff") };
        for recorded in &change.events {
            let event = codec::decode(recorded.name, recorded.version, &recorded.body);
            let Ok(step::Event::Handoff(event)) = event else { panic!("a handoff's own event") };
            let actor = caller.principal.to_string();
            self.events.push((name.to_owned(), event, actor, self.now));
        }
        self.handoffs.insert(name.to_owned(), handoff.as_ref().clone());
        let derived: BTreeSet<_> =
            derive::deadlines(handoff).into_iter().map(|due| (name.to_owned(), due)).collect();
        let armed: BTreeSet<_> =
            self.armed.iter().filter(|(owner, _)| owner == name).cloned().collect();
        assert_eq!(armed, derived, "{name}: what is armed follows from the state");
        let derived: Vec<_> =
            derive::effects(handoff).into_iter().map(|effect| (name.to_owned(), effect)).collect();
        let wanted: Vec<_> = self.wanted.iter().filter(|(of, _)| of == name).cloned().collect();
        assert_eq!(wanted, derived, "{name}: what is wanted follows from the state");
    }

    /// The document of a handoff, as the store keeps it.
    pub fn document(&self, name: &str) -> String {
        let hash = self.handoffs[name].document_hash().to_owned();
        self.documents[&(name.to_owned(), hash)].clone()
    }

    fn show_change(&self, name: &str, change: &Change) -> String {
        let status = self.handoffs[name].status();
        let mut shown = vec![status.to_string()];
        if change.events.is_empty() {
            shown.push("(nothing recorded)".to_owned());
        }
        if change.events.iter().any(|event| event.name == "handoff.escalated") {
            shown.push("(escalated)".to_owned());
        }
        if change.events.iter().any(|event| event.name == "handoff.sla_warned") {
            shown.push("(warned)".to_owned());
        }
        let wanted = self.wanted.iter().filter(|(of, _)| of == name);
        for (_, effect) in wanted {
            shown.push(format!("(wants {})", effect.name));
        }
        if let Handoff::Made(made) = &self.handoffs[name]
            && made.terms.is_return
            && status == Status::Proposed
        {
            shown.push("(return)".to_owned());
        }
        if let Some(refused) = &change.outcome.refused {
            let passed = change.outcome.passed.join(",");
            let failed = change.outcome.failed.join(",");
            shown.push(format!("{} passed={passed} failed={failed}", refused.code));
        }
        shown.join(" ")
    }

    fn show_hold(&self, task: &str) -> String {
        let Some(hold) = self.holds.get(&format!("task/{task}")) else {
            return "never held".to_owned();
        };
        let name_of = |id: &str| {
            let found = self.handoffs.keys().find(|name| handoff_id(name).to_string() == id);
            found.cloned().expect("the holder is a handoff")
        };
        let holder = hold.holder.as_deref().map_or("free".to_owned(), name_of);
        let owners = derive::decode_chain(hold.value.as_deref().expect("a hold has its chain"));
        let owners: Vec<_> = owners.iter().map(AgentId::as_str).collect();
        format!("{holder} [{}]", owners.join(" "))
    }

    fn show_armed(&self, name: &str) -> String {
        let armed = self.armed.iter().filter(|(owner, _)| owner == name);
        let shown: Vec<_> = armed
            .map(|(_, deadline)| format!("{} at +{}", deadline.name, deadline.due.since(start())))
            .collect();
        if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
    }

    fn show_notes(&self, name: &str) -> String {
        let shown = |note: &Note| match note {
            Note::Rejection(rejected) => format!("{}: {}", rejected.reason, rejected.detail),
            Note::Escalation(escalated) if escalated.is_of_recall() => {
                format!("recall took {} of {}", escalated.sla_elapsed, escalated.sla_configured)
            }
            Note::Escalation(escalated) => format!(
                "{} took {} of {}",
                escalated.stage.as_str(),
                escalated.sla_elapsed,
                escalated.sla_configured
            ),
            Note::Closure(closed) if closed.forced => format!("forced from {}", closed.from_status),
            Note::Closure(closed) => format!("closed from {}", closed.from_status),
        };
        let notes: Vec<_> = self.handoffs[name].notes().iter().map(shown).collect();
        notes.join(", ")
    }
}

/// Queries about policies, work and readers.
impl World {
    fn made(&self, name: &str) -> &Made {
        let Handoff::Made(made) = &self.handoffs[name] else { panic!("{name} was not proposed") };
        made
    }

    pub fn package(&self, name: &str) -> Package {
        serde_json::from_str(&self.document(name)).expect("a package")
    }

    /// The policy where it differs from the default, the approval and the priority.
    fn show_policy(&self, name: &str) -> String {
        let package = self.package(name);
        let usual = serde_json::to_value(Policy::default()).expect("plain data");
        let value = serde_json::to_value(&package.policy).expect("plain data");
        let fields = value.as_object().into_iter().flatten();
        let said = fields.filter(|(field, value)| usual.get(*field) != Some(value));
        let said = said.map(|(field, value)| format!("{field}={value}"));
        let approval = format!("approval={:?}", self.made(name).approval);
        let priority = serde_json::to_value(package.task.priority).expect("a word");
        let ends = [approval, format!("priority={priority}")];
        said.chain(ends).collect::<Vec<_>>().join(" ").replace('"', "")
    }

    fn show_differences(&self, name: &str) -> String {
        let side = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let differences = self.made(name).differences.iter();
        let shown = differences
            .map(|one| format!("{}: {} → {}", one.field, side(&one.before), side(&one.after)));
        shown.collect::<Vec<_>>().join("; ")
    }

    fn show_work(&self, name: &str) -> String {
        let packaged = self.package(name).work_state;
        let said = self.made(name).work_state.clone().unwrap_or_default();
        serde_json::to_string(&said.or(packaged)).expect("plain data").replace('"', "")
    }

    /// The number of reports, and the newest one.
    fn show_report(&self, name: &str) -> String {
        let made = self.made(name);
        let report = made.progress.as_ref().map(|reported| &reported.report);
        let report = serde_json::to_string(&report).expect("plain data").replace('"', "");
        format!("{} {report}", made.n_reports)
    }

    /// When an open recall escalates, and whether it did.
    fn show_recall(&self, name: &str) -> String {
        match &self.made(name).recall {
            Some(recall) if recall.escalated => "escalated".to_owned(),
            Some(recall) => format!("until +{}", recall.until.since(start())),
            None => "no".to_owned(),
        }
    }

    fn show_sight(&self, who: &str, name: &str) -> String {
        let handoff = self.handoffs[name].clone();
        let readers = match &handoff {
            Handoff::Made(made) => derive::readers(made).expect("it is recorded"),
            Handoff::Draft(_) | Handoff::Discarded { .. } => Readers::Team,
        };
        let caller = caller(who);
        let sees = match visibility::of(&caller, &State::Handoff(Box::new(handoff)), readers) {
            Sight::Yes => true,
            // Only a question is seen so.
            Sight::No | Sight::IfInQueue => false,
            Sight::IfHuman => {
                let agent = caller.agent().cloned().and_then(directory);
                agent.is_some_and(|agent| agent.kind == Kind::Human)
            }
        };
        if sees { "yes" } else { "no" }.to_owned()
    }
}

pub fn directory(id: AgentId) -> Option<Agent> {
    let kind = match id.as_str() {
        "nobody" => return None,
        "router" => Kind::System,
        "human" | "colleague" | "lead" | "reviewer" | "executor" => Kind::Human,
        "desk" => Kind::Queue,
        _ => Kind::Worker,
    };
    Some(Agent::new(id, kind, Profile::default()))
}
