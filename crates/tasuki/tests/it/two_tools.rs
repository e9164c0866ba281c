//! Agents that know two tools, `acp_handoff` and `acp_inbox`, and nothing else, bring a hundred
//! handoffs to their end. They do what answers offer them, in a random order; no id is used that
//! the agent was not told, and no action that was offered is refused.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::clock::{Clock, SystemClock};
use protocol::ids::HandoffId;
use protocol::time::Span;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, offer, ok, seed};
use crate::support::Random;

const HANDOFFS: usize = 100;

/// Far more than are needed: each round, each agent looks into its inbox once.
const ROUNDS_MAX: usize = 5_000;

/// What must have happened, or the run shows nothing.
const DEEDS: [&str; 14] = [
    "initiate",
    "accept",
    "reject",
    "approve",
    "refuse",
    "counter",
    "activate",
    "progress",
    "delegate",
    "recall",
    "complete",
    "confirm",
    "extend_sla",
    "reassign",
];

/// An agent, with all that it knows.
struct Agent {
    name: &'static str,
    client: Client,
    is_approver: bool,
    is_coordinator: bool,
    told: BTreeSet<String>,
    read_until: Option<String>,
    /// What it sent and may want back: its wish is drawn once for each.
    considered: BTreeSet<String>,
    deeds: BTreeMap<String, usize>,
}

impl Agent {
    fn new(name: &'static str, client: Client) -> Self {
        Self {
            name,
            client,
            is_approver: false,
            is_coordinator: false,
            told: BTreeSet::new(),
            read_until: None,
            considered: BTreeSet::new(),
            deeds: BTreeMap::new(),
        }
    }

    /// One call of `acp_handoff`, which must succeed.
    async fn handoff(&mut self, request: Value) -> Value {
        if let Some(id) = request["handoff_id"].as_str() {
            assert!(self.told.contains(id), "{} was not told of {id}", self.name);
        }
        let action = request["action"].as_str().expect("an action").to_owned();
        let answer = ok(&self.client, Call::post("/v1/acp/handoff", request)).await;
        assert_eq!(answer["success"], true, "{action}: {answer}");
        self.learn(&answer);
        *self.deeds.entry(action).or_default() += 1;
        answer
    }

    async fn inbox(&mut self) -> Value {
        let read = self.read_until.take().map(|until| format!("?read_until={until}"));
        let path = format!("/v1/acp/inbox{}", read.unwrap_or_default());
        let inbox = ok(&self.client, Call::get(path)).await;
        self.learn(&inbox);
        self.read_until = inbox["notices"]["until"].as_str().map(str::to_owned);
        inbox
    }

    fn learn(&mut self, answer: &Value) {
        match answer {
            Value::String(text) if text.parse::<HandoffId>().is_ok() => {
                self.told.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.learn(field)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Whether an entry of `waiting_for` is about this agent.
    fn is_asked(&self, wait: &Value, handoff: &Value) -> bool {
        match wait["who"].as_str().expect("someone") {
            "approver" => self.is_approver,
            "coordinator" => self.is_coordinator,
            "verifier" => handoff["from_agent"] == self.name,
            who => who.strip_prefix("agent:") == Some(self.name),
        }
    }

    async fn offer_work(&mut self, number: usize, to: &str, random: &mut Random) {
        let mut request = offer(&format!("T-{number}"), to);
        request["action"] = json!("initiate");
        if random.happens(30) {
            request["policy"]["human_gate"] = json!("required");
        }
        if random.happens(20) {
            request["policy"]["requires_verifier"] = json!(true);
        }
        if random.happens(25) {
            request["sla"] = json!({ "proposed": "1s" });
        }
        self.handoff(request).await;
    }

    /// Looks into its inbox and acts on everything in it once. Says whether nothing waited.
    async fn work(&mut self, random: &mut Random) -> bool {
        let inbox = self.inbox().await;
        for notice in inbox["notices"]["items"].as_array().expect("notices") {
            self.wish_back(notice, random).await;
        }
        let waiting = inbox["waiting_for_you"].as_array().expect("handoffs");
        for brief in waiting {
            self.serve(&brief["handoff_id"], random).await;
        }
        waiting.is_empty()
    }

    /// A sender may ask for accepted work back.
    async fn wish_back(&mut self, notice: &Value, random: &mut Random) {
        let id = notice["handoff_id"].as_str().expect("an id").to_owned();
        let is_with_owner = notice["status"] == "accepted" || notice["status"] == "activated";
        let is_own = notice["from_agent"] == self.name;
        if is_own && is_with_owner && self.considered.insert(id.clone()) && random.happens(30) {
            let found = self.handoff(json!({ "action": "query", "handoff_id": id })).await;
            if found["status"] == "accepted" || found["status"] == "activated" {
                let recall = json!({ "action": "recall", "handoff_id": id, "reason": "new plans" });
                self.handoff(recall).await;
            }
        }
    }

    /// Reads a handoff as it is now, and does one thing that it waits for.
    async fn serve(&mut self, id: &Value, random: &mut Random) {
        let found = self.handoff(json!({ "action": "query", "handoff_id": id })).await;
        let handoff = &found["handoff"];
        assert!(handoff["package"]["context"]["summary"].is_string(), "{found}");
        assert!(!found["history"].as_array().expect("a history").is_empty());
        let waits = found["waiting_for"].as_array().expect("waits").clone();
        let Some(wait) = waits.iter().find(|wait| self.is_asked(wait, handoff)) else { return };
        let is_short = wait["since"].as_str().map(|since| &since[..17])
            == wait["until"].as_str().map(|until| &until[..17]);
        if is_short && wait["then"] == "escalates" && random.happens(80) {
            return; // It oversleeps.
        }
        for part in wait["parts"].as_array().into_iter().flatten() {
            self.take_back(part).await;
        }
        if wait["parts"].is_array() {
            return;
        }
        let offered: Vec<&str> =
            wait["for"].as_array().expect("actions").iter().filter_map(Value::as_str).collect();
        let first = offered.first().expect("there is something to do");
        let is_for_coordinator = wait["who"] == "coordinator";
        // Few stages escalate on a fast machine, so a coordinator begins with what it never did.
        let is_new = |it: &&&str| is_for_coordinator && !self.deeds.contains_key(**it);
        let is_usual = !is_for_coordinator && random.happens(55);
        let action = match offered.iter().find(is_new) {
            Some(new) => new,
            None if is_usual => first,
            None => *random.pick(&offered),
        };
        if action == "complete" && random.happens(40) {
            let percent = random.below(100);
            let report = json!({ "action": "progress", "handoff_id": id, "percent": percent });
            self.handoff(report).await;
        }
        let Some(request) = self.request(action, id, handoff) else { return };
        let answer = self.handoff(request).await;
        if action == "accept" && answer["status"] == "accepted" {
            assert!(answer["handoff"]["package"].is_object(), "what one needs to begin: {answer}");
        }
    }

    /// A part that must end before the whole goes back.
    async fn take_back(&mut self, part: &Value) {
        let found = self.handoff(json!({ "action": "query", "handoff_id": part })).await;
        let request = match found["status"].as_str().expect("a status") {
            "proposed" | "validating" => json!({ "action": "withdraw", "handoff_id": part }),
            "accepted" | "activated" => {
                json!({ "action": "recall", "handoff_id": part, "reason": "the whole goes back" })
            }
            _ => return,
        };
        self.handoff(request).await;
    }

    fn request(&self, action: &str, id: &Value, handoff: &Value) -> Option<Value> {
        let mut request = match action {
            "reject" => json!({ "reason": "capacity_unavailable", "detail": "too much to do" }),
            "refuse" => json!({ "why": "not like this" }),
            "counter" => {
                // Each offer differs from the one before.
                let n_before = self.deeds.get("counter").copied().unwrap_or_default();
                let next = format!("Read client.rs, also line {}", n_before + 1);
                json!({ "work_state": { "next_step": next } })
            }
            // Carl does the parts himself.
            "delegate" if self.name == "carl" => return None,
            "delegate" => {
                let mut part = offer("", "carl");
                part["task"]["task_id"] = Value::Null;
                part["task"].as_object_mut().expect("an object").remove("task_id");
                part
            }
            "dispute" => json!({ "why": "where is the report?" }),
            "extend_sla" => json!({ "due": in_an_hour(), "why": "they are busy" }),
            "reassign" => {
                let owners = handoff["handoff_chain"].as_array().expect("owners");
                let mut free = ["dora", "carl"].into_iter();
                let to = free.find(|it| !owners.contains(&json!(it)))?;
                if handoff["to_agent"] == to {
                    return None;
                }
                json!({ "to_agent": to, "why": "they do not answer" })
            }
            _ => json!({}),
        };
        request["action"] = json!(action);
        request["handoff_id"] = id.clone();
        Some(request)
    }
}

fn in_an_hour() -> String {
    SystemClock.now().plus(Span::from_hours(1)).to_string()
}

async fn cast(server: &Server) -> Vec<Agent> {
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let mut agents: Vec<Agent> = ["alice", "bob", "carl", "dora", "hana"]
        .into_iter()
        .map(|name| Agent::new(name, server.agent(name)))
        .collect();
    agents[4].is_approver = true;
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    agents.push(Agent { is_coordinator: true, ..Agent::new("lead", lead) });
    agents
}

#[tokio::test]
async fn agents_with_two_tools_finish_all_handoffs() {
    let mut random = Random::from_seed(seed("two_tools"));
    let server = Server::start();
    let mut agents = cast(&server).await;
    for number in 0..HANDOFFS {
        let (from, to) = if number % 2 == 0 { (0, "bob") } else { (1, "alice") };
        agents[from].offer_work(number, to, &mut random).await;
    }
    let mut n_rounds = 0;
    loop {
        let mut is_over = true;
        for agent in &mut agents {
            is_over &= agent.work(&mut random).await;
        }
        if is_over {
            break;
        }
        n_rounds += 1;
        assert!(n_rounds < ROUNDS_MAX, "it never ends");
    }
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let (mut n_closed, mut cursor) = (0, String::new());
    loop {
        let page = ok(&operator, Call::get(format!("/v1/handoffs?limit=200{cursor}"))).await;
        for handoff in page["items"].as_array().expect("handoffs") {
            assert_eq!(handoff["status"], "closed", "{handoff}");
            n_closed += 1;
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(n_closed > HANDOFFS, "there were no parts");
    let mut deeds: BTreeMap<&str, usize> = BTreeMap::new();
    for (action, n_times) in agents.iter().flat_map(|agent| &agent.deeds) {
        *deeds.entry(action).or_default() += n_times;
    }
    println!("{n_closed} handoffs closed in {n_rounds} rounds: {deeds:?}");
    for deed in DEEDS {
        assert!(deeds.contains_key(deed), "there was no {deed}: {deeds:?}");
    }
}
