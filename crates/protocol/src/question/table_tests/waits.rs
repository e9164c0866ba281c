//! What a question waits for, step by step.

use super::*;
use crate::question::waits::waits;

fn shown(state: Option<&Question>) -> String {
    let Some(wait) = waits(state.expect("it was asked")) else { return "-".to_owned() };
    let when =
        |at: Option<Time>| at.map_or("-".to_owned(), |at| (at.as_millis() / 1_000).to_string());
    let (who, actions, then) = (wait.who.describe(), wait.actions.join(","), wait.then.as_str());
    format!("{who} {actions} since {} until {} {then}", when(wait.since), when(wait.until))
}

fn elapse(due: i64) -> Command {
    Command::Elapse { due: at(due) }
}

#[test]
fn each_step_says_who_until_when_and_what_then() {
    let mut state = asked(refund());
    assert_eq!(shown(state.as_ref()), "queue:desk answer since 0 until 100 ends_unanswered");
    let yes = yes(state.as_ref());
    for (who, command, now, expected) in [
        ("hana", yes, 5, "worker claim since 5 until - nothing"),
        ("bot-2", claim(), 7, "agent:bot-2 finish,renew since 7 until 17 claim_lapses"),
        // The time of the claim is over, and no other worker has it.
        ("server", elapse(17), 18, "worker claim since 17 until - nothing"),
        ("bot", claim(), 20, "agent:bot finish,renew since 20 until 30 claim_lapses"),
        (
            "bot",
            Command::Renew { epoch: 2, lease: Some(Span::from_millis(10_000)) },
            25,
            "agent:bot finish,renew since 20 until 35 claim_lapses",
        ),
        ("bot", finish(2), 26, "-"),
    ] {
        act(&mut state, who, &command, now);
        assert_eq!(shown(state.as_ref()), expected, "{command:?}");
    }
}

/// What is asked of whom, what it says, and what it waits for after its time.
#[test]
fn the_end_of_the_time_is_said_before() {
    let decline = json!({ "decision": "decline" });
    let alone = "agent:bot claim since 101 until - nothing";
    let pool = "worker claim since 101 until - nothing";
    for (to, default, workers, expected, then) in [
        (
            "hana",
            json!(null),
            json!([]),
            "agent:hana answer since 0 until 100 ends_unanswered",
            alone,
        ),
        (
            "hana",
            decline.clone(),
            json!(["bot"]),
            "agent:hana answer since 0 until 100 defaults",
            alone,
        ),
        ("desk", decline, json!(["bot-2"]), "queue:desk answer since 0 until 100 defaults", pool),
    ] {
        let mut fields = refund();
        (fields["to"], fields["default"], fields["workers"]) = (to.into(), default, workers);
        let mut state = asked(fields);
        assert_eq!(shown(state.as_ref()), expected);
        act(&mut state, "server", &elapse(100), 101);
        assert_eq!(shown(state.as_ref()), then);
    }
    let mut state = asked(refund());
    act(&mut state, "bot", &Command::Withdraw(Withdraw { reason: None }), 5);
    assert_eq!(shown(state.as_ref()), "-");
}

/// A yes to what cannot be undone counts neither as a default nor as what is said.
#[test]
fn a_default_that_does_not_count_is_not_said() {
    let mut fields = refund();
    fields["default"] = json!({ "decision": "approve" });
    let mut state = asked(fields);
    assert!(shown(state.as_ref()).ends_with("defaults"));
    state.as_mut().expect("it was asked").asked.irreversible = true;
    assert!(shown(state.as_ref()).ends_with("ends_unanswered"));
}
