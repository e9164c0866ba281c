//! Random steps that are mostly valid: a session that is refused at once tests little.

use super::model::Model;
use super::model_consent::{link, reply_token};
use crate::event::Payload;

/// splitmix64, so that a seed always gives the same session.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Mixed once more, because the sequences of consecutive seeds would overlap.
    pub(super) fn new(seed: u64) -> Self {
        let mixed = Self(seed).next();
        Self(mixed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    random: Random,
    is_numbered: bool,
    n_tokens: u32,
    n_calls: u32,
}

const KINDS: [&str; 20] = [
    "state",
    "state",
    "call",
    "call",
    "call",
    "return",
    "return",
    "chunk",
    "chunk",
    "confirm",
    "confirm",
    "ask",
    "reply",
    "reply",
    "reply",
    "wait",
    "elapse",
    "end",
    "other",
    "questions",
];
const STATES: [&str; 7] = [
    "idle",
    "thinking",
    "calling_tool",
    "writing_output",
    "awaiting_input",
    "deciding",
    "handing_off",
];
const TOOLS: [&str; 2] = ["pay", "look"];
const HASHES: [&str; 3] = ["aa", "bb", "cc"];

impl Writer {
    pub(super) fn new(mut random: Random) -> Self {
        let is_numbered = random.one_in(3);
        Self { random, is_numbered, n_tokens: 0, n_calls: 0 }
    }

    pub(super) fn line(&mut self, model: &Model) -> String {
        let is_started = model.events().next().is_some();
        if !is_started && !self.random.one_in(8) || self.random.one_in(80) {
            return self.envelope("start".to_owned(), model);
        }
        let kind = *self.random.pick(&KINDS);
        let line = match kind {
            "state" => self.state(model),
            "call" => self.call(model),
            "return" => self.returned(model),
            "chunk" => self.chunk(model),
            "confirm" => self.confirm(),
            "ask" => self.ask(),
            "reply" => return self.reply(model),
            "wait" => return format!("wait {}", self.random.pick(&[1, 5, 20, 60, 301])),
            "elapse" => return self.elapse(model),
            "end" => self.end(model),
            "questions" => return self.reply(model),
            _ => (*self.random.pick(&["progress", "handoff", "extension"])).to_owned(),
        };
        self.envelope(line, model)
    }

    /// Now and then an envelope is wrong.
    fn envelope(&mut self, mut line: String, model: &Model) -> String {
        let n_events = model.events().count();
        if self.is_numbered != self.random.one_in(60) {
            let number = if self.random.one_in(50) { n_events + 1 } else { n_events };
            line.push_str(&format!(" n={number}"));
        }
        for (odds, wrong) in [(80, " back"), (150, " session=2"), (150, " agent=other")] {
            if self.random.one_in(odds) {
                line.push_str(wrong);
            }
        }
        if self.random.one_in(60) {
            line.push_str(&format!(" id={}", 1 + self.random.below(n_events + 1)));
        }
        if self.random.one_in(15) {
            let urgency = self.random.pick(&["none", "normal", "background", "critical"]);
            line.push_str(&format!(" urgency={urgency}"));
        }
        line
    }

    fn state(&mut self, model: &Model) -> String {
        let known = model.states();
        let from = match self.random.one_in(6) {
            true => (*self.random.pick(&STATES)).to_owned(),
            false => self.random.pick(&known).clone(),
        };
        format!("state {from}>{}", self.random.pick(&STATES))
    }

    fn call(&mut self, model: &Model) -> String {
        let asked: Vec<_> = model.events().filter(|event| reply_token(event).is_some()).collect();
        let (mut id, mut hash) = (None, None);
        if !asked.is_empty() && !self.random.one_in(3) {
            let question = *self.random.pick(&asked);
            let (asked_id, asked_hash) = link(question);
            id = asked_id.map(|id| id.trim_start_matches("call_").to_owned());
            hash = asked_hash.map(str::to_owned);
        }
        if self.random.one_in(8) || id.is_none() && self.random.one_in(2) {
            self.n_calls += 1;
            let known = if self.random.one_in(8) { 1 } else { self.n_calls };
            id = Some(format!("c{known}"));
        }
        if self.random.one_in(10) {
            hash = Some((*self.random.pick(&HASHES)).to_owned());
        }
        let mut line = format!("call {}", self.random.pick(&TOOLS));
        line.extend(id.map(|id| format!(" {id}")));
        line.extend(hash.map(|hash| format!(" hash={hash}")));
        if self.random.one_in(2) {
            line.push_str(" irreversible");
        }
        line
    }

    fn returned(&mut self, model: &Model) -> String {
        let open = model.open_calls();
        if open.is_empty() || self.random.one_in(8) {
            let tool = self.random.pick(&TOOLS);
            let id = if self.random.one_in(2) { " c1" } else { "" };
            return format!("return {tool}{id}");
        }
        let (tool, id) = self.random.pick(&open).clone();
        let id = id.map(|id| format!(" {}", id.trim_start_matches("call_"))).unwrap_or_default();
        let tool = if self.random.one_in(12) { "other".to_owned() } else { tool };
        format!("return {tool}{id}")
    }

    fn chunk(&mut self, model: &Model) -> String {
        let out = *self.random.pick(&["", "a", "b", "c"]);
        let id = format!("out_{out}");
        let length = model.length((!out.is_empty()).then_some(id.as_str()));
        let position = length + usize::from(self.random.one_in(10));
        let text = *self.random.pick(&["-", "a", "Hello", "日本", "🦀é"]);
        let last = if self.random.one_in(4) { " last" } else { "" };
        let out = if out.is_empty() { String::new() } else { format!(" out={out}") };
        format!("chunk {position} {text}{out}{last}")
    }

    fn token(&mut self) -> String {
        self.n_tokens += 1;
        let number = if self.random.one_in(15) { 1 } else { self.n_tokens };
        format!("t{number}")
    }

    fn confirm(&mut self) -> String {
        let mut line = format!("confirm {}", self.token());
        if self.random.one_in(4) {
            line.push_str(" about=pay");
        }
        if self.random.one_in(3) {
            self.n_calls += 1;
            let id = if self.random.one_in(6) { 1 } else { self.n_calls };
            line.push_str(&format!(" call=c{id}"));
        }
        if self.random.one_in(2) {
            line.push_str(&format!(" hash={}", self.random.pick(&HASHES)));
        }
        for (odds, words) in [
            (2, &[" irreversible"] as &[&str]),
            (6, &[" undoable"]),
            (2, &[" low", " medium", " high"]),
            (
                3,
                &[
                    " reversal=reversible",
                    " reversal=reversible_with_effort",
                    " reversal=irreversible",
                ],
            ),
            (3, &[" default=accept"]),
            (12, &[" only=accept", " only=reject", " only=later"]),
            (2, &[" timeout=5", " timeout=60"]),
        ] {
            if self.random.one_in(odds) {
                let word = *self.random.pick(words);
                line.push_str(word);
            }
        }
        line
    }

    fn ask(&mut self) -> String {
        let kinds = self.random.pick(&[
            "",
            " kinds=yes_no",
            " kinds=numeric,freetext",
            " kinds=multiple_choice choices=a,b",
            " timeout=5",
        ]);
        format!("ask {}{kinds}", self.token())
    }

    /// The token of an open question, or some other.
    fn asked(&mut self, model: &Model) -> (String, bool) {
        let waiting = model.all_waiting();
        if waiting.is_empty() || self.random.one_in(12) {
            return (format!("t{}", 1 + self.random.below(4)), self.random.one_in(2));
        }
        let (question, _) = *self.random.pick(&waiting);
        let token = reply_token(question).unwrap_or_default().trim_start_matches("rpl_");
        (token.to_owned(), matches!(question.payload, Payload::AwaitingConfirmation(_)))
    }

    fn reply(&mut self, model: &Model) -> String {
        let (token, is_confirmation) = self.asked(model);
        if is_confirmation && self.random.one_in(8) {
            return format!("accept {token} auto");
        }
        if is_confirmation != self.random.one_in(20) {
            return format!("{} {token}", self.random.pick(&["accept", "accept", "reject"]));
        }
        format!("answer {token} {}", self.random.pick(&["yes", "12", "a", "c", "-"]))
    }

    fn elapse(&mut self, model: &Model) -> String {
        let (token, _) = self.asked(model);
        format!("elapse {token}{}", if self.random.one_in(3) { " nobody" } else { "" })
    }

    /// Closes open parts, more often than it ends the session.
    fn end(&mut self, model: &Model) -> String {
        if let Some(id) = model.open_outputs().first() {
            let length = model.length(id.as_deref());
            let out = id.as_deref().map(|id| format!(" out={}", id.trim_start_matches("out_")));
            return format!("chunk {length} -{} last", out.unwrap_or_default());
        }
        if !model.open_calls().is_empty() && !self.random.one_in(4) {
            return self.returned(model);
        }
        let end = *self.random.pick(&["complete", "complete", "complete", "error", "cancel"]);
        (if self.random.one_in(2) { end } else { "progress" }).to_owned()
    }
}
