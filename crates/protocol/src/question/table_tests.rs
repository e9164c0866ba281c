//! What a question allows, as tables.

mod waits;

use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::agent::{Agent, Kind as AgentKind, Profile};
use crate::caller::{Caller, Principal, Role};
use crate::facts::{Context, Facts};
use crate::ids::{AgentId, QuestionId, TeamspaceId};
use crate::rejection::Rejection;
use crate::time::Time;
use serde::Deserialize;

fn caller(principal: Principal, roles: &[Role]) -> Caller {
    Caller {
        teamspace: TeamspaceId::default_teamspace(),
        principal,
        roles: roles.iter().copied().collect(),
        session: "test".to_owned(),
    }
}

fn id(name: &str) -> AgentId {
    name.parse().unwrap()
}

/// By their names: `bot` asks, `bot-2` is its worker; `hana` and `dana` are humans, and `desk` is a
/// queue with both. `lead` is a coordinator.
fn named(name: &str) -> Caller {
    match name {
        "server" => Caller::system(TeamspaceId::default_teamspace()),
        "customer" => caller(Principal::Customer(id("c-1")), &[]),
        "lead" => caller(Principal::Agent(id("lead")), &[Role::Coordinator]),
        _ => match name.strip_prefix("operator:") {
            Some(operator) => caller(Principal::Operator(id(operator)), &[]),
            None => caller(Principal::Agent(id(name)), &[]),
        },
    }
}

fn kind(name: &str) -> Option<AgentKind> {
    match name {
        "hana" | "dana" => Some(AgentKind::Human),
        "desk" => Some(AgentKind::Queue),
        "bot" | "bot-2" | "bot-3" | "lead" | "root" => Some(AgentKind::Worker),
        _ => None,
    }
}

fn entry(name: &AgentId) -> Option<Agent> {
    kind(name.as_str()).map(|kind| Agent::new(name.clone(), kind, Profile::default()))
}

/// The facts that the engine would read.
fn facts(state: Option<&Question>, caller: &Caller, command: &Command) -> Facts {
    let needs = command.needs(state);
    let named = match needs.directory {
        Some(crate::needs::Directory::Named(names)) => names,
        Some(crate::needs::Directory::Everyone) | None => Vec::new(),
    };
    let queue = needs.queue.map(|queue| match queue {
        crate::needs::QueueOf::Named(name) => name,
        crate::needs::QueueOf::Default | crate::needs::QueueOf::Graph => id("default"),
    });
    Facts {
        agent: needs.agent.as_ref().and_then(entry),
        caller: caller.agent().filter(|_| needs.caller).and_then(entry),
        directory: named.into_iter().filter(|name| entry(name).is_some()).collect(),
        queue: queue.as_ref().and_then(entry),
        ..Facts::default()
    }
}

fn at(seconds: i64) -> Time {
    Time::from_millis(seconds * 1_000)
}

/// Decides and evolves; the name of the event, or why not.
fn act(state: &mut Option<Question>, who: &str, command: &Command, now: i64) -> String {
    let caller = named(who);
    let facts = facts(state.as_ref(), &caller, command);
    let context = Context { caller: &caller, now: at(now), facts: &facts };
    match decide(state.as_ref(), command, context) {
        Ok(Some(event)) => {
            let number = QuestionId::new(Uuid::from_u128(7));
            *state = Some(evolve(number, state.take(), &event, at(now)).unwrap());
            event.name().to_owned()
        }
        Ok(None) => "nothing".to_owned(),
        Err(rejection) => format!("{}: {rejection}", rejection.code()),
    }
}

fn ask(fields: Value) -> Command {
    Command::Ask(Box::new(Ask::deserialize(fields).unwrap()))
}

fn asked(fields: Value) -> Option<Question> {
    let mut state = None;
    assert_eq!(act(&mut state, "bot", &ask(fields), 0), "question.asked");
    state
}

fn refund() -> Value {
    json!({
        "to": "desk", "text": "Refund order 7?", "action": "refund",
        "arguments": { "order": 7, "amount": 40 }, "timeout": "100s", "workers": ["bot-2"],
    })
}

fn answer(state: Option<&Question>, given: Given) -> Command {
    let hash = state.map(|question| question.asked.hash.clone()).unwrap_or_default();
    Command::Answer(Answer { hash, given, note: None, operator: None })
}

fn yes(state: Option<&Question>) -> Command {
    answer(state, Given::plain(Decision::Approve))
}

fn claim() -> Command {
    Command::Claim(Claim { lease: Some(Span::from_millis(10_000)) })
}

fn finish(epoch: u64) -> Command {
    Command::Finish(Finish { epoch, result: None })
}

/// The field at fault and what is expected of it, for each kind of fault.
#[test]
fn what_is_asked_is_checked() {
    let long = "x".repeat(TEXT_BYTES_MAX + 1);
    let many: Vec<String> = (0..=OPTIONS_MAX).map(|k| k.to_string()).collect();
    let workers: Vec<String> = (0..=WORKERS_MAX).map(|k| format!("w{k}")).collect();
    let big = json!({ "data": "x".repeat(ARGUMENTS_BYTES_MAX) });
    let no_text = "schema_invalid: text: expected text that is not blank, of at most 8192 bytes";
    let to_whom = "schema_invalid: to: expected a human other than the asker, or a queue";
    let choices = "schema_invalid: options: expected 2 to 32 options for `choose`";
    let no_yes = "policy_violation: default.decision: a timeout never says yes to what cannot be \
                  undone; use `decline`, or no default";
    let yes = json!({ "decision": "approve" });
    for (changed, expected) in [
        (json!({}), "question.asked"),
        (json!({ "to": "hana" }), "question.asked"),
        (
            json!({ "to": null }),
            "no_default_queue: to: expected a queue; this teamspace has no \
                                 default one",
        ),
        (json!({ "to": "ghost" }), "unknown_agent: to: no agent `ghost` in this teamspace"),
        (json!({ "to": "bot-2" }), to_whom),
        (json!({ "text": " " }), no_text),
        (json!({ "text": long }), no_text),
        (json!({ "action": "" }), "schema_invalid: action: expected one line of 1 to 200 bytes"),
        (
            json!({ "arguments": big }),
            "schema_invalid: arguments: expected at most 16384 bytes of \
                                       JSON",
        ),
        (
            json!({ "options": ["a"] }),
            "schema_invalid: options: expected to be left out, except \
                                       for `choose`",
        ),
        (json!({ "wants": "choose", "options": ["a"] }), choices),
        (json!({ "wants": "choose", "options": many }), choices),
        (json!({ "wants": "choose", "options": ["a", "b"] }), "question.asked"),
        (json!({ "timeout": "10ms" }), "schema_invalid: timeout: expected a span from 1s to 30d"),
        (json!({ "timeout": "721h" }), "schema_invalid: timeout: expected a span from 1s to 30d"),
        (json!({ "default": yes }), "question.asked"),
        (json!({ "default": yes, "irreversible": true }), no_yes),
        (json!({ "default": { "decision": "decline" }, "irreversible": true }), "question.asked"),
        (
            json!({ "default": { "decision": "text", "text": "x" } }),
            "schema_invalid: \
          default.decision: expected approve or decline",
        ),
        (
            json!({ "workers": ["ghost"] }),
            "unknown_agent: workers: no agent `ghost` in this \
                                           teamspace",
        ),
        (json!({ "workers": workers }), "schema_invalid: workers: expected at most 16 agents"),
    ] {
        let mut fields = refund();
        for (name, value) in changed.as_object().unwrap() {
            fields[name] = value.clone();
        }
        assert_eq!(act(&mut None, "bot", &ask(fields), 0), expected, "{changed}");
    }
}

#[test]
fn an_option_does_not_look_like_another_one() {
    let like = |one: usize, other: usize| {
        format!(
            "schema_invalid: options[{one}]: expected an option that does not look like \
             options[{other}]"
        )
    };
    for (options, expected) in [
        (json!(["a", "a"]), like(1, 0)),
        (json!(["Sell", "Keep", "Ke\u{435}p\u{200b}"]), like(2, 1)),
        (json!(["10\u{b2}", "102", "A0", "AO", "corn", "com"]), "question.asked".to_owned()),
    ] {
        let mut fields = refund();
        (fields["wants"], fields["options"]) = (json!("choose"), options.clone());
        assert_eq!(act(&mut None, "bot", &ask(fields), 0), expected, "{options}");
    }
}

#[test]
fn only_an_agent_asks() {
    for who in ["operator:root", "customer", "server"] {
        let expected = "not_allowed: only an agent may ask a question";
        assert_eq!(act(&mut None, who, &ask(refund()), 0), expected, "{who}");
    }
}

/// A program never answers, whatever its roles are; neither does a human who is not asked.
#[test]
fn only_a_human_who_is_asked_answers() {
    let no = "not_allowed: only the person who is asked, a human of the queue that is asked, or an \
              operator whom the directory lists as a human may answer this question";
    let done = "question.answered";
    for (to, who, expected) in [
        ("desk", "hana", done),
        ("desk", "dana", done),
        ("hana", "hana", done),
        ("hana", "dana", no),
        ("hana", "operator:dana", done),
        ("hana", "operator:root", no),
        ("hana", "operator:ghost", no),
        ("desk", "bot", no),
        ("desk", "bot-2", no),
        ("desk", "bot-3", no),
        ("desk", "lead", no),
        ("desk", "customer", no),
        ("desk", "server", no),
    ] {
        let mut state = asked(json!({ "to": to, "text": "Go on?" }));
        let mut answer = yes(state.as_ref());
        if let (Command::Answer(answer), Some(name)) = (&mut answer, who.strip_prefix("operator:"))
        {
            answer.operator = Some(id(name));
        }
        assert_eq!(act(&mut state, who, &answer, 1), expected, "{who} of {to}");
    }
    // A person cannot pass as an operator by a name in the command.
    let mut state = asked(json!({ "to": "hana", "text": "Go on?" }));
    let hash = state.as_ref().unwrap().asked.hash.clone();
    let given = Given::plain(Decision::Approve);
    let forged = Command::Answer(Answer { hash, given, note: None, operator: Some(id("dana")) });
    assert_eq!(act(&mut state, "operator:root", &forged, 1), no);
    // A human who asks a queue of its own does not answer itself.
    let mut own = None;
    let question = ask(json!({ "to": "desk", "text": "May I?" }));
    assert_eq!(act(&mut own, "hana", &question, 0), "question.asked");
    let answer = yes(own.as_ref());
    assert_eq!(act(&mut own, "hana", &answer, 1), no);
}

#[test]
fn an_answer_counts_once_in_time_and_for_what_was_shown() {
    let mut state = asked(refund());
    let other = asked(json!({
        "to": "desk", "text": "Refund order 7?", "action": "refund",
        "arguments": { "order": 7, "amount": 4000 },
    }));
    let for_another = yes(other.as_ref());
    let mismatch = "hash_mismatch: hash: expected the hash of the question that is answered; read \
                    it again first";
    assert_eq!(act(&mut state, "hana", &for_another, 1), mismatch);
    let answer = yes(state.as_ref());
    let late = "wrong_state: cannot answer a question that is unanswered";
    assert_eq!(act(&mut state.clone(), "hana", &answer, 100), late);
    let mut defaulted = state.clone();
    let default = json!({ "decision": "decline" });
    let question = defaulted.as_mut().expect("it was asked");
    question.asked.default = serde_json::from_value(default).expect("an answer");
    let counted = "wrong_state: cannot answer a question that is defaulted";
    assert_eq!(act(&mut defaulted, "hana", &answer, 100), counted);
    assert_eq!(act(&mut state, "hana", &answer, 99), "question.answered");
    let twice = "wrong_state: cannot answer a question that is answered";
    assert_eq!(act(&mut state, "dana", &answer, 99), twice);
    let withdraw = Command::Withdraw(Withdraw { reason: None });
    let over = "wrong_state: cannot withdraw a question that is answered";
    assert_eq!(act(&mut state, "bot", &withdraw, 99), over);
}

/// The arguments are the same however they are written; the hash covers all that is shown.
#[test]
fn the_hash_is_that_of_what_is_shown() {
    let hash = |fields: Value| asked(fields).unwrap().asked.hash.clone();
    let mut reordered = refund();
    reordered["arguments"] = json!({ "amount": 40, "order": 7 });
    assert_eq!(hash(refund()), hash(reordered));
    for (name, value) in [
        ("text", json!("Refund order 8?")),
        ("action", json!("refunds")),
        ("arguments", json!({ "order": 7, "amount": 41 })),
        ("irreversible", json!(true)),
        ("wants", json!("text")),
    ] {
        let mut changed = refund();
        changed[name] = value;
        assert_ne!(hash(refund()), hash(changed), "{name}");
    }
}

#[test]
fn an_answer_fits_the_kind() {
    let text =
        |text: &str| Given { decision: Decision::Text, option: None, text: Some(text.to_owned()) };
    let chosen = |option: &str| Given {
        decision: Decision::Choose,
        option: Some(option.to_owned()),
        text: None,
    };
    let done = "question.answered";
    let both = Given { text: Some("x".to_owned()), ..Given::plain(Decision::Approve) };
    for (kind, given, expected) in [
        ("approve", Given::plain(Decision::Approve), done),
        ("approve", Given::plain(Decision::Decline), done),
        ("approve", text("x"), "schema_invalid: decision: expected approve or decline"),
        ("approve", both, "schema_invalid: text: expected to be left out, except for `text`"),
        ("choose", chosen("a"), done),
        (
            "choose",
            chosen("c"),
            "schema_invalid: option: expected one of the options of the \
                                 question",
        ),
        (
            "choose",
            Given::plain(Decision::Approve),
            "schema_invalid: decision: expected choose or \
                                                     decline",
        ),
        ("choose", Given::plain(Decision::Decline), done),
        ("text", text("By Friday."), done),
        (
            "text",
            text(" "),
            "schema_invalid: text: expected text that is not blank, of at most \
                             16384 bytes",
        ),
    ] {
        let options = if kind == "choose" { json!(["a", "b"]) } else { json!([]) };
        let fields = json!({ "to": "hana", "text": "?", "wants": kind, "options": options });
        let mut state = asked(fields);
        let command = answer(state.as_ref(), given.clone());
        assert_eq!(act(&mut state, "hana", &command, 1), expected, "{kind} {given:?}");
    }
}

/// Without an answer the default counts, and never as a yes to what cannot be undone.
#[test]
fn a_deadline_applies_the_default() {
    let decline = json!({ "decision": "decline" });
    let yes = json!({ "decision": "approve" });
    for (default, irreversible, expected) in [
        (json!(null), false, "question.unanswered"),
        (decline.clone(), true, "question.defaulted"),
        (yes.clone(), false, "question.defaulted"),
    ] {
        let mut fields = refund();
        (fields["default"], fields["irreversible"]) = (default.clone(), json!(irreversible));
        let mut state = asked(fields);
        let elapse = Command::Elapse { due: at(100) };
        assert_eq!(act(&mut state, "server", &elapse, 99), "nothing");
        assert_eq!(act(&mut state, "server", &Command::Elapse { due: at(50) }, 101), "nothing");
        assert_eq!(act(&mut state, "server", &elapse, 101), expected, "{default}");
        assert_eq!(act(&mut state, "server", &elapse, 102), "nothing");
        assert_eq!(act(&mut state, "bot-2", &claim(), 103), "question.claimed");
    }
    // Even if the record had a yes as the default of what cannot be undone.
    let mut fields = refund();
    fields["default"] = yes;
    let mut state = asked(fields);
    state.as_mut().unwrap().asked.irreversible = true;
    let elapse = Command::Elapse { due: at(100) };
    assert_eq!(act(&mut state, "server", &elapse, 101), "question.unanswered");
    let who = "not_allowed: only the server may let the time of a question pass";
    assert_eq!(act(&mut asked(refund()), "bot", &elapse, 101), who);
}

#[test]
fn one_worker_at_a_time_goes_on() {
    let mut state = asked(refund());
    let no = "not_allowed: only the asker, or an agent that it named may claim this question";
    let answer = yes(state.as_ref());
    let renew = |epoch| Command::Renew { epoch, lease: Some(Span::from_millis(10_000)) };
    let outdated = |current: u64, given: u64| {
        format!(
            "claim_outdated: epoch: expected {current}, the epoch of the last claim, not {given}"
        )
    };
    let unclaimed = "claim_outdated: epoch: no worker has claimed it yet, so there is no epoch 0";
    let of_another = "claim_outdated: epoch: 1 is the epoch of another worker's claim";
    let taken = "question_claimed: `bot` has claimed it until 1970-01-01T00:00:12.000Z";
    let over = "question_finished: cannot claim a question whose continuation is finished";
    let lapse = |due| Command::Elapse { due: at(due) };
    let blank = Command::Finish(Finish { epoch: 3, result: Some("\u{200b}".to_owned()) });
    let story = [
        ("bot", claim(), 1, "wrong_state: cannot claim a question that is open".to_owned()),
        ("hana", answer, 1, "question.answered".to_owned()),
        ("bot-3", claim(), 2, no.to_owned()),
        ("hana", claim(), 2, no.to_owned()),
        ("bot", finish(0), 2, unclaimed.to_owned()),
        ("bot", claim(), 2, "question.claimed".to_owned()),
        ("bot-2", claim(), 3, taken.to_owned()),
        ("bot", claim(), 3, taken.to_owned()),
        ("bot-2", finish(1), 4, of_another.to_owned()),
        ("bot", renew(1), 5, "question.claim_renewed".to_owned()),
        ("server", lapse(12), 12, "nothing".to_owned()),
        ("server", lapse(15), 15, "question.claim_lapsed".to_owned()),
        ("bot-2", claim(), 16, "question.claimed".to_owned()),
        ("bot", renew(1), 17, outdated(2, 1)),
        ("bot", finish(1), 17, outdated(2, 1)),
        // The lease is over, and the server has not noticed it yet.
        ("bot", claim(), 26, "question.claimed".to_owned()),
        ("bot-2", finish(2), 27, outdated(3, 2)),
        ("server", lapse(36), 36, "question.claim_lapsed".to_owned()),
        // No other worker has claimed it since.
        ("bot", blank, 40, "question.finished".to_owned()),
        ("bot-2", claim(), 41, over.to_owned()),
        ("server", lapse(36), 42, "nothing".to_owned()),
    ];
    for (step, (who, command, now, expected)) in story.into_iter().enumerate() {
        assert_eq!(act(&mut state, who, &command, now), expected, "step {step}");
    }
    let question = state.unwrap();
    assert_eq!(question.deadlines(), []);
    let finished = question.continuation.finished.as_ref().expect("it is finished");
    assert_eq!(finished.result, None, "a result that shows nothing is none");
    let key = "question-00000000-0000-0000-0000-000000000007";
    assert_eq!(idempotency_key(question.id), key);
}

#[test]
fn what_is_withdrawn_is_over() {
    let withdraw = Command::Withdraw(Withdraw { reason: Some("solved".to_owned()) });
    for (who, expected) in [
        ("bot", "question.withdrawn"),
        ("lead", "question.withdrawn"),
        ("operator:root", "question.withdrawn"),
        ("bot-2", "not_allowed: only the asker or a coordinator may withdraw this question"),
        ("hana", "not_allowed: only the asker or a coordinator may withdraw this question"),
    ] {
        let mut state = asked(refund());
        assert_eq!(act(&mut state, who, &withdraw, 1), expected, "{who}");
    }
    let mut state = asked(refund());
    act(&mut state, "bot", &withdraw, 1);
    let answer = yes(state.as_ref());
    let over = "wrong_state: cannot answer a question that is withdrawn";
    assert_eq!(act(&mut state, "hana", &answer, 2), over);
    let over = "wrong_state: cannot claim a question that is withdrawn";
    assert_eq!(act(&mut state, "bot", &claim(), 2), over);
    assert_eq!(state.unwrap().deadlines(), []);
    let gone = act(&mut None, "bot", &withdraw, 1);
    assert_eq!(gone, "not_found: no such question");
    let rejection = Rejection::WrongQuestionState { action: "answer", status: Status::Withdrawn };
    assert_eq!(rejection.field(), None);
}
