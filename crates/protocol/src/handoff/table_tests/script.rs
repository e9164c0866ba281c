//! The language of the tables. A line is a command and its result, as in `sender accept h1 ->
//! not_allowed`, or a question about what is then true, `hold t1 -> h1 [sender]`. The world behind
//! it is `step` and a few maps: what a store would keep, kept plainly.
//!
//! Commands are `<caller> <action> <handoff> [path=value | -path]…`, where the paths change the
//! request. Values are JSON if they read as JSON, `+2h` is a time from now, `x*300` is a long text.
//! `why` at the end shows the whole message of a refusal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::agent::{Agent, Kind, Profile};
use crate::caller::{Caller, Principal, Role};
use crate::codec;
use crate::handoff::artifact::{Finding, Seen};
use crate::handoff::command::{Accept, Command, Looked, Reassign, Reject, SlaStage};
use crate::handoff::completion::Completion;
use crate::handoff::decide::Context;
use crate::handoff::event::Event;
use crate::handoff::state::{Handoff, Note};
use crate::handoff::{Package, Status, derive};
use crate::ids::{AgentId, HandoffId, TeamspaceId};
use crate::ledger::{Stream, Subject};
use crate::rejection::Rejection;
use crate::step::{self, Change, Deadline, Effect, Facts, HoldState, State};
use crate::teamspace::Settings;
use crate::time::{Span, Time};

/// Runs a script and compares it, line by line, with what it says will happen.
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

/// The moment every script starts at.
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

/// Who a word stands for. Words that are no role are workers.
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
    armed: BTreeSet<(String, Deadline)>,
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

    /// One line of a script; the answer is its right side.
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
                self.holds.get_mut(&hold.key).expect("it is held").value = Some(hold.value);
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

    /// What the road does, without the road: read the facts, step, keep what changed.
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
        let facts = Facts {
            agent: needs.agent.and_then(directory),
            caller: if needs.caller { caller.agent().cloned().and_then(directory) } else { None },
            hold: needs.hold.and_then(|key| self.holds.get(&key).cloned()).unwrap_or_default(),
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
        let derived: Vec<_> =
            derive::deadlines(handoff).into_iter().map(|due| (name.to_owned(), due)).collect();
        let armed: Vec<_> = self.armed.iter().filter(|(owner, _)| owner == name).cloned().collect();
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

    fn read_command(&self, action: &str, name: &str, request: &[&str]) -> Command {
        match (action, request) {
            ("initiate", ["saved"]) => return Command::Initiate { offer: None },
            ("verified", _) => return self.read_verified(name, request),
            ("workq_answered", _) => return self.read_answered(name, request),
            (_, _) => {}
        }
        let mut value = usual_request(action, self.now);
        apply(&mut value, request, self.now);
        let other = value.as_object_mut().and_then(|fields| fields.remove("as"));
        let other = || handoff_id(other.as_ref().and_then(Value::as_str).expect("a new name"));
        let offered = || serde_json::from_value(value.clone()).expect("an offer");
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        match action {
            "draft" => Command::Draft { offer: Box::new(offered()) },
            "initiate" => Command::Initiate { offer: Some(Box::new(offered())) },
            "accept" => Command::Accept(Accept {
                notes: text("notes"),
                artifacts: value.get("artifacts").map(|list| {
                    serde_json::from_value(list.clone()).expect("a list of artifact ids")
                }),
            }),
            "approve" => Command::Approve { why: text("why") },
            "refuse" => Command::Refuse { why: text("why").expect("a reason") },
            "counter" => Command::Counter { offer: Box::new(offered()) },
            "delegate" => Command::Delegate { child: other(), offer: Box::new(offered()) },
            "reassign" => Command::Reassign(Box::new(Reassign {
                successor: other(),
                to: text("to").expect("an agent").parse().expect("an agent"),
                why: text("why").expect("a reason"),
                work_state: None,
                deadline: text("deadline").map(|at| at.parse().expect("a time")),
            })),
            "withdraw" => Command::Withdraw { why: text("why") },
            "extend_sla" => Command::ExtendSla {
                due: text("due").expect("a time").parse().expect("a time"),
                why: text("why").expect("a reason"),
            },
            "reject" => Command::Reject(Reject {
                reason: text("reason").expect("a reason").parse().expect("one of the ten"),
                detail: text("detail").expect("a detail"),
                suggested_fix: text("suggested_fix"),
            }),
            "activate" => Command::Activate {
                work_state_update: serde_json::from_value(value["work_state_update"].clone())
                    .expect("a work state or nothing"),
            },
            "complete" => Command::Complete(Completion {
                notes: text("completion_notes"),
                final_artifacts: value.get("final_artifacts").map_or(Vec::new(), |list| {
                    serde_json::from_value(list.clone()).expect("a list of artifacts")
                }),
                evidence: value.get("evidence").map_or(Vec::new(), |list| {
                    serde_json::from_value(list.clone()).expect("a list of answers")
                }),
            }),
            "confirm" => Command::Confirm { why: text("why") },
            "dispute" => Command::Dispute { why: text("why").expect("a reason") },
            "close" => Command::Close { closure_notes: text("closure_notes") },
            "elapse" => self.read_elapse(name, &value),
            "warn" => {
                let armed = self.armed.iter().find(|(owner, _)| owner == name);
                let (_, armed) = armed.expect("something is armed");
                let stage = armed.name.trim_start_matches(derive::WARN).parse();
                Command::Warn { stage: stage.expect("a stage"), at: armed.due }
            }
            other => panic!("no such action: {other}"),
        }
    }

    /// What was found of each artifact, as in `log=verified plan=missing`. `of=` names another
    /// package than the one that is looked at, or the number of a completion.
    fn read_verified(&self, name: &str, request: &[&str]) -> Command {
        let mut looked = match self.handoffs.get(name) {
            Some(Handoff::Made(made)) if made.completions > 0 => {
                Looked::Completion { attempt: made.completions }
            }
            Some(handoff) => Looked::Package { hash: handoff.document_hash().to_owned() },
            None => Looked::Package { hash: String::new() },
        };
        let mut seen = Vec::new();
        for word in request {
            let (id, found) = word.split_once('=').expect("artifact=finding");
            let detail = format!("{id} is {found}");
            let finding = match found {
                _ if id == "of" => {
                    looked = match found.parse() {
                        Ok(attempt) => Looked::Completion { attempt },
                        Err(_) => Looked::Package { hash: found.to_owned() },
                    };
                    continue;
                }
                "verified" => Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 },
                "present" => Finding::Present,
                "unverifiable" => Finding::NotVerifiable { detail },
                "missing" => Finding::Missing { detail },
                "changed" => Finding::Mismatch { detail },
                "forbidden" => Finding::Forbidden { detail },
                "unavailable" => Finding::Unavailable { detail },
                other => panic!("no such finding: {other}"),
            };
            seen.push(Seen { artifact_id: id.to_owned(), path: None, finding });
        }
        Command::Verified { looked, seen }
    }

    /// The deadline that is armed, unless the line names another one, as `stage` and `due`.
    fn read_elapse(&self, name: &str, value: &Value) -> Command {
        let armed = self.armed.iter().find(|(owner, _)| owner == name).map(|(_, armed)| armed);
        let stage = value["stage"].as_str().or(armed.map(|armed| &*armed.name));
        let stage = stage.map_or(SlaStage::Proposed, |text| text.parse().expect("a stage"));
        let due = value["due"].as_str().map(|text| start().plus(read_span(text)));
        Command::Elapse { stage, due: due.or(armed.map(|armed| armed.due)).unwrap_or(self.now) }
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

fn directory(id: AgentId) -> Option<Agent> {
    let kind = match id.as_str() {
        "nobody" => return None,
        "router" => Kind::System,
        "human" | "colleague" | "lead" | "reviewer" | "executor" => Kind::Human,
        "desk" => Kind::Queue,
        _ => Kind::Worker,
    };
    let (profile, roles) = (Profile::default(), BTreeSet::new());
    Some(Agent { id, kind, profile, roles, wake_url: None })
}

/// A request that does, before the script changes it.
fn usual_request(action: &str, now: Time) -> Value {
    match action {
        "draft" | "initiate" => offer(),
        "extend_sla" => {
            json!({ "due": now.plus(Span::from_hours(2)).to_string(), "why": "it is hard" })
        }
        "delegate" => json!({
            "as": "h2",
            "to_agent": "helper",
            "task": { "title": "Bisect", "success_criteria": ["The commit is known"] },
            "context": { "summary": "It began on Tuesday" },
            "work_state": { "next_step": "Run the script" },
        }),
        "reassign" => json!({ "as": "h2", "to": "other", "why": "nobody answers" }),
        "refuse" => json!({ "why": "not this week" }),
        "dispute" => json!({ "why": "the build is red" }),
        "reject" => json!({ "reason": "other", "detail": "not mine to do" }),
        _ => json!({}),
    }
}

/// Changes a JSON value by `path=value` and `-path`.
fn apply(value: &mut Value, changes: &[&str], now: Time) {
    for change in changes {
        if let Some(path) = change.strip_prefix('-') {
            let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
            let parent = if parent.is_empty() { &mut *value } else { place(value, parent) };
            parent.as_object_mut().expect("an object").remove(field);
            continue;
        }
        let (path, text) = change.split_once('=').expect("path=value");
        *place(value, path) = read_value(text, now);
    }
}

fn place<'a>(value: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(value, |value, field| &mut value[field])
}

fn read_value(text: &str, now: Time) -> Value {
    if let Some(span) = text.strip_prefix('+') {
        return now.plus(read_span(span)).to_string().into();
    }
    if let Some((letter, times)) = text.split_once('*')
        && let Ok(times) = times.parse()
    {
        return letter.repeat(times).into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn read_span(text: &str) -> Span {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let number: i64 = number.parse().expect("a number of units");
    match unit {
        "ms" => Span::from_millis(number),
        "s" => Span::from_millis(number * 1_000),
        "m" => Span::from_minutes(number),
        "h" => Span::from_hours(number),
        other => panic!("no such unit: {other}"),
    }
}
