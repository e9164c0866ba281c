//! The bank's agent asks before it moves money, and a listener decides: over each line, and with
//! everything that can go wrong with an answer. In every case one decision is on the record, and
//! money moves only after a yes.
//!
//! Cases that do not apply to a line, and why:
//! - Other tools' layout, one's own token with another listener's subscription: there an answer is
//!   accepted by its token, whatever subscription it names.
//! - Other tools' layout, the agent answers itself: agents do not speak there, and a worker that
//!   sends a reply by request is the case over HTTP.
//! - Other tools' layout, a late listener hears earlier events, and is asked too: these tools take
//!   the first frame for the answer to their own request, so nothing older is told there.

mod races;
mod restarts;

use aaep::read::read;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tasuki::client::Call;

use super::lines::branch::Branch;
use super::lines::person::Person;
use super::lines::teller::{Decided, Teller};
use super::lines::{Line, Stage};
use super::story::TOKEN;
use crate::server::ok;
use crate::sse::{Event, whole_ledger};

/// Long enough to be answered in.
const LONG: u32 = 300;

/// The shortest that a question may wait.
const SHORT: u32 = 1;

/// The part of a token that proves its listener.
const PROOF_CHARS: usize = 43;

/// Plays a scene over each line at once, on one server.
async fn over_each_line(play: impl AsyncFn(Stage)) {
    join_all(Line::ALL.map(|line| play(Stage::new(line)))).await;
}

/// Both ends of a line while the question is open.
struct Asked {
    stage: Stage,
    teller: Teller,
    dana: Person,
    /// The question as the agent sent it, and as dana heard it.
    sent: Value,
    question: Value,
    /// The subscription that carried the question to dana.
    asked_on: String,
}

impl Asked {
    async fn open(branch: &Branch, stage: Stage, timeout_seconds: u32) -> Self {
        let mut dana = stage.person(branch, &branch.dana).await;
        let mut teller = stage.teller(branch).await;
        let opening = stage.story.opening(timeout_seconds);
        teller.announce(&opening).await;
        let question = dana.is_asked(&opening).await;
        let sent = opening.last().expect("a question").clone();
        let asked_on = dana.subscription().to_owned();
        Self { stage, teller, dana, sent, question, asked_on }
    }

    async fn answers(&mut self, decision: &str) {
        let token = self.question["reply_token"].as_str().expect("a token");
        let mut reply = self.dana.reply(token, decision);
        reply["subscription_id"] = self.asked_on.clone().into();
        self.dana.says(&reply).await;
    }

    async fn decision(&mut self) -> Decided {
        self.teller.decision(&self.sent).await
    }

    /// The irreversible call is refused now.
    async fn cannot_move_money(&mut self) {
        let call = &self.stage.story.carried_out()[0];
        let why = self.teller.tries(call).await.expect_err("no listener said yes");
        let line = self.stage.line;
        let rule = (&why["code"], &why["rule"]);
        assert_eq!(rule, (&json!("protocol_violation"), &json!("4.3.1")), "{line:?}: {why}");
        assert_eq!((&why["index"], &why["tier"]), (&json!(0), &json!("session")), "{line:?}");
        assert!(["field", "expected"].iter().all(|name| why[*name].is_string()), "{line:?}: {why}");
    }

    /// Money moves, and dana hears of it.
    async fn moves_money(&mut self) {
        let events = self.stage.story.carried_out();
        self.teller.announce(&events).await;
        self.dana.hears(&events).await;
    }

    /// Nothing moves, and dana hears of it.
    async fn gives_up(&mut self) {
        self.cannot_move_money().await;
        let events = self.stage.story.given_up();
        self.teller.announce(&events).await;
        self.dana.hears(&events).await;
    }

    /// The session goes on according to the decision; returns the events.
    async fn goes_on(&mut self, decided: &Decided) -> Vec<Value> {
        match decided.decision.as_str() {
            "accept" => {
                self.moves_money().await;
                self.stage.story.carried_out()
            }
            _ => {
                self.gives_up().await;
                self.stage.story.given_up()
            }
        }
    }

    async fn is_open(&self, branch: &Branch, after: &str) {
        let session = &self.stage.story.session;
        let path = format!("/aaep/v1/sessions/{session}/decisions/{TOKEN}");
        let shown = ok(&branch.operator(), Call::get(path)).await;
        assert_eq!(shown["status"], "open", "{after} over {:?}", self.stage.line);
    }
}

/// One decision is on the record of a session: the result, and the listener.
async fn is_on_record(branch: &Branch, stage: &Stage, expected: &Decided) {
    let stream = format!("session/{}", stage.story.session);
    let mut entries = whole_ledger(&branch.operator(), "").await;
    entries.retain(|entry| entry.data["stream"] == stream.as_str());
    let settles = ["session.answered", "session.timed_out"];
    let name = |entry: &Event| entry.name.clone().unwrap_or_default();
    let decisions: Vec<_> =
        entries.iter().filter(|entry| settles.contains(&name(entry).as_str())).collect();
    let [decision] = decisions.as_slice() else { panic!("{:?}: {decisions:?}", stage.line) };
    let data = &decision.data["data"];
    assert_eq!(data["reply_token"], TOKEN);
    let by = expected.by.as_ref().map(|name| format!("agent:{name}"));
    assert_eq!(
        (name(decision), data["outcome"].as_str(), data["by"].as_str()),
        (
            format!("session.{}", expected.status),
            Some(if expected.decision == "accept" { "accepted" } else { "rejected" }),
            by.as_deref()
        ),
        "{:?}",
        stage.line
    );
}

#[tokio::test]
async fn money_moves_once_somebody_said_yes() {
    let branch = Branch::open().await;
    let omar = branch.person("omar", "default");
    over_each_line(async |stage| {
        let mut asked = Asked::open(&branch, stage, LONG).await;
        asked.cannot_move_money().await;
        asked.is_open(&branch, "a call before the answer").await;
        asked.answers("accept").await;
        assert_eq!(asked.decision().await, Decided::by("dana", "accept"));
        asked.moves_money().await;
        is_on_record(&branch, &asked.stage, &Decided::by("dana", "accept")).await;
        let Asked { stage, .. } = asked;
        if !matches!(stage.line, Line::Compat(_)) {
            let mut late = Person::open_late(&branch, &stage, &omar).await;
            late.is_asked(&stage.story.opening(LONG)).await;
            late.hears(&stage.story.carried_out()).await;
        }
    })
    .await;
}

#[tokio::test]
async fn who_comes_late_is_asked_too() {
    let branch = Branch::open().await;
    let omar = branch.person("omar", "default");
    over_each_line(async |stage| {
        if matches!(stage.line, Line::Compat(_)) {
            return;
        }
        let mut asked = Asked::open(&branch, stage, LONG).await;
        let mut omar = asked.stage.person(&branch, &omar).await;
        let stands = omar.next().await;
        assert_eq!(stands["to_state"], "awaiting_input", "{stands}");
        assert_eq!(read(&stands.to_string()).map(|_| ()), Ok(()), "an event like any other");
        let question = omar.next().await;
        omar.answers(&question, "accept").await;
        assert_eq!(asked.decision().await, Decided::by("omar", "accept"));
        asked.moves_money().await;
        omar.hears(&asked.stage.story.carried_out()).await;
        is_on_record(&branch, &asked.stage, &Decided::by("omar", "accept")).await;
    })
    .await;
}

#[tokio::test]
async fn a_no_leaves_the_money_where_it_is() {
    let branch = Branch::open().await;
    over_each_line(async |stage| {
        let mut asked = Asked::open(&branch, stage, LONG).await;
        asked.answers("reject").await;
        assert_eq!(asked.decision().await, Decided::by("dana", "reject"));
        asked.gives_up().await;
        is_on_record(&branch, &asked.stage, &Decided::by("dana", "reject")).await;
    })
    .await;
}

#[tokio::test]
async fn a_silence_is_a_no_and_whoever_speaks_then_is_too_late() {
    let branch = Branch::open().await;
    over_each_line(async |stage| {
        let mut asked = Asked::open(&branch, stage, SHORT).await;
        assert_eq!(asked.decision().await, Decided::by_nobody());
        asked.answers("accept").await;
        assert_eq!(asked.decision().await, Decided::by_nobody());
        asked.gives_up().await;
        is_on_record(&branch, &asked.stage, &Decided::by_nobody()).await;
    })
    .await;
}

#[tokio::test]
async fn the_first_answer_counts_whatever_follows() {
    let branch = Branch::open().await;
    for (first, then) in
        [("accept", "accept"), ("accept", "reject"), ("reject", "reject"), ("reject", "accept")]
    {
        over_each_line(async |stage| {
            let stage = stage.named(&format!("{first}{then}"));
            let mut asked = Asked::open(&branch, stage, LONG).await;
            asked.answers(first).await;
            asked.answers(then).await;
            let expected = Decided::by("dana", first);
            assert_eq!(asked.decision().await, expected);
            asked.answers(then).await;
            assert_eq!(asked.decision().await, expected, "asked again");
            asked.goes_on(&expected).await;
            is_on_record(&branch, &asked.stage, &expected).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_token_that_was_not_given_out_for_this_is_worth_nothing() {
    let branch = Branch::open().await;
    let omar = branch.person("omar", "default");
    over_each_line(async |stage| {
        let mut other = Asked::open(&branch, stage.named("beside"), LONG).await;
        let mut omar = stage.person(&branch, &omar).await;
        let opening = stage.story.opening(LONG);
        let mut asked = Asked::open(&branch, stage, LONG).await;
        let asked_omar = omar.is_asked(&opening).await;
        let token = |question: &Value| question["reply_token"].as_str().expect("one").to_owned();
        let (own, of_omar) = (token(&asked.question), token(&asked_omar));
        assert_ne!(own, of_omar, "each has a token of their own");
        let changed = |at: usize| {
            let other = if own.as_bytes()[at] == b'0' { "1" } else { "0" };
            format!("{}{other}{}", &own[..at], &own[at + 1..])
        };
        let of_other = token(&other.question);
        let swapped = format!("{}{}", halves(&of_other).0, halves(&own).1);
        for (what, forged) in [
            ("a token that was changed at its end", changed(own.len() - 1)),
            ("a token that was changed at its beginning", changed(4)),
            ("a token that was cut", own[..own.len() - 1].to_owned()),
            ("the agent's own token", TOKEN.to_owned()),
            ("a token from nowhere", "rpl_1".to_owned()),
            ("another listener's token", of_omar),
            ("the token of another session with the proof of this", swapped),
        ] {
            let reply = asked.dana.reply(&forged, "accept");
            asked.dana.says(&reply).await;
            asked.is_open(&branch, what).await;
            other.is_open(&branch, what).await;
        }
        let reply = omar.reply(&own, "accept");
        omar.says(&reply).await;
        asked.is_open(&branch, "the token of another listener").await;
        if !matches!(asked.stage.line, Line::Compat(_)) {
            let mut reply = asked.dana.reply(&own, "accept");
            reply["subscription_id"] = omar.subscription().into();
            asked.dana.says(&reply).await;
            asked.is_open(&branch, "another listener's subscription").await;
        }
        // A token of another session decides there, but nothing here.
        let reply = asked.dana.reply(&of_other, "accept");
        match asked.stage.line {
            Line::Compat(_) => asked.dana.says(&reply).await,
            Line::Http | Line::Connection(_) => {
                asked.dana.says(&reply).await;
                other.is_open(&branch, "on another subscription").await;
                other.answers("accept").await;
            }
        }
        assert_eq!(other.decision().await, Decided::by("dana", "accept"));
        asked.is_open(&branch, "the token of another session").await;
        asked.answers("reject").await;
        asked.gives_up().await;
        is_on_record(&branch, &asked.stage, &Decided::by("dana", "reject")).await;
        is_on_record(&branch, &other.stage, &Decided::by("dana", "accept")).await;
    })
    .await;
}

/// The place that a token names, and the proof of its listener.
fn halves(token: &str) -> (&str, &str) {
    token.split_at(token.len() - PROOF_CHARS)
}

#[tokio::test]
async fn who_has_no_say_is_not_heard() {
    let branch = Branch::open().await;
    let omar = branch.person("omar", "default");
    let eve = branch.person("eve", "red");
    // Her bank has an agent of the same name.
    branch.server.token("teller", &["--teamspace", "red"]);
    over_each_line(async |stage| {
        let mut mute = Person::open_mute(&branch, &stage, &omar).await;
        let mut eve = stage.person(&branch, &eve).await;
        let opening = stage.story.opening(LONG);
        let mut asked = Asked::open(&branch, stage, LONG).await;
        let asked_mute = mute.is_asked(&opening).await;
        mute.answers(&asked_mute, "accept").await;
        asked.is_open(&branch, "who said not to answer").await;
        let token = asked.question["reply_token"].as_str().expect("a token").to_owned();
        let hers = eve.reply(&token, "accept");
        let as_dana = asked.dana.reply(&token, "accept");
        for reply in [hers, as_dana.clone()] {
            eve.says(&reply).await;
            asked.is_open(&branch, "from another teamspace").await;
        }
        asked.teller.answers_itself(&as_dana).await;
        asked.is_open(&branch, "the agent itself").await;
        asked.answers("accept").await;
        assert_eq!(asked.decision().await, Decided::by("dana", "accept"));
        asked.moves_money().await;
        mute.hears(&asked.stage.story.carried_out()).await;
        is_on_record(&branch, &asked.stage, &Decided::by("dana", "accept")).await;
    })
    .await;
}
