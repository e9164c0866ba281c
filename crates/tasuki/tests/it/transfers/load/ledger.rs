//! The assignments of people to customers, from the ledger, entry by entry.

use std::collections::{BTreeMap, HashMap};

use protocol::ledger::Entry;
use serde_json::Value;

use super::shift::CAPACITY;

#[derive(Debug, Default)]
pub struct Watch {
    transfers: HashMap<String, Seats>,
    loads: HashMap<String, usize>,
    seen: BTreeMap<(String, String), usize>,
    pub most_at_once: usize,
}

/// The people in a transfer: the one of leg 0, and the one who is asked in.
#[derive(Debug, Default)]
struct Seats {
    first: Option<String>,
    asked_in: Option<String>,
    is_answered: bool,
    is_over: bool,
}

impl Watch {
    pub fn see(&mut self, entry: &Entry) {
        let name = entry.name.as_ref();
        if !name.starts_with("transfer.") {
            return;
        }
        let body = entry.body.text().expect("nothing was erased");
        let body: Value = serde_json::from_str(body).expect("a body is JSON");
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let why = if name == "transfer.over" { text("outcome") } else { text("why") };
        *self.seen.entry((name.to_owned(), why)).or_default() += 1;
        let mut seats = self.transfers.remove(&text("transfer")).unwrap_or_default();
        assert!(!seats.is_over, "something happens after the end: {name} {body}");
        let (leg, agent) = (body["leg"].as_u64().unwrap_or_default(), text("agent"));
        self.leave(&seats);
        match name {
            "transfer.ringing" if leg == 0 => {
                assert_eq!(seats.first, None, "it rings for two at once: {body}");
                seats.first = Some(agent);
            }
            "transfer.ringing" => {
                assert_eq!(seats.asked_in, None, "two are asked in at once: {body}");
                seats.asked_in = Some(agent);
            }
            "transfer.connected" if leg == 0 => {
                assert!(!seats.is_answered, "two answer one customer: {body}");
                assert_eq!(seats.first, Some(agent), "another person answers: {body}");
                seats.is_answered = true;
            }
            "transfer.connected" => {
                assert!(seats.is_answered, "no person asked: {body}");
                assert_eq!(seats.asked_in, Some(agent), "another person answers: {body}");
                // The second person has it, and the first is out.
                if text("kind") != "supervisor_consult" {
                    seats.first = seats.asked_in.take();
                }
            }
            "transfer.passed_on" => seats = Seats::default(),
            "transfer.returned" if leg == 0 => seats = Seats::default(),
            "transfer.returned" | "transfer.leg_ended" => seats.asked_in = None,
            "transfer.over" => seats = Seats { is_over: true, ..Seats::default() },
            _ => {}
        }
        self.come(&seats, &body);
        self.transfers.insert(text("transfer"), seats);
    }

    fn leave(&mut self, seats: &Seats) {
        for agent in seats.people() {
            *self.loads.get_mut(agent).expect("a person who leaves was there") -= 1;
        }
    }

    fn come(&mut self, seats: &Seats, body: &Value) {
        assert!(seats.first.is_none() || seats.first != seats.asked_in, "with oneself: {body}");
        for agent in seats.people() {
            let load = self.loads.entry(agent.clone()).or_default();
            *load += 1;
            assert!(*load <= usize::from(CAPACITY), "{agent} has {load}: {body}");
            self.most_at_once = self.most_at_once.max(*load);
        }
    }

    /// Requested transfers that are over. None may be open.
    pub fn n_over(&self) -> usize {
        let open: Vec<_> = self.transfers.iter().filter(|(_, it)| !it.is_over).collect();
        assert!(open.is_empty(), "lost: {open:?}");
        self.transfers.len()
    }

    pub fn n_seen(&self, name: &str, why: &str) -> usize {
        self.seen.get(&(name.to_owned(), why.to_owned())).copied().unwrap_or_default()
    }

    pub fn summary(&self) -> String {
        let each = self.seen.iter().map(|((name, why), count)| format!("{count} {name} {why}"));
        format!("{}; at most {} at once", each.collect::<Vec<_>>().join(", "), self.most_at_once)
    }
}

impl Seats {
    fn people(&self) -> impl Iterator<Item = &String> {
        self.first.iter().chain(&self.asked_in)
    }
}
