//! Scores from outside, and rules about signals without a graph.

use serde_json::json;

use super::world::World;

const ANGRY_TWICE: &str =
    r#"{"rules":[{"name":"angry","signal":"frustration","above":0.7,"turns":2}]}"#;

/// A score of frustration for a message.
fn score(message: u64, score: f64) -> String {
    format!(r#"score message={message} signals=[{{"signal":"frustration","score":{score}}}]"#)
}

fn opened() -> World {
    let mut world = World::with_people();
    world.check(&format!("shop open agent=bob signals={ANGRY_TWICE} => bob@1"));
    world
}

#[test]
fn rules_work_without_a_graph() {
    let mut world = opened();
    world.check("customer say text=this_is_terrible_and_unacceptable => #1");
    assert_eq!(world.bodies[0]["signals"][0]["signal"], "frustration");
    world.check(
        "customer say text=this_is_terrible_and_unacceptable \
         => #2 called_by=angry default@2 #3 requested queued",
    );
}

#[test]
fn scores_from_outside_call_a_person() {
    for (lines, last) in [
        // The words sound calm; the program outside knows better.
        (
            vec!["customer say => #1", "customer say => #2", "bob SCORE(1,0.9) => scored #1"],
            "bob SCORE(2,0.9) => scored #2 called_by=angry default@2 #3 requested queued",
        ),
        // The words sound angry, and it was a quotation.
        (
            vec![
                "customer say text=this_is_terrible_and_unacceptable => #1",
                "shop SCORE(1,0.1) => scored #1",
            ],
            "customer say text=this_is_terrible_and_unacceptable => #2",
        ),
        // Scores that come late count for the message that they are about.
        (
            vec!["customer say => #1", "customer say => #2", "operator SCORE(2,0.9) => scored #2"],
            "coord SCORE(1,0.9) => scored #1 called_by=angry default@2 #3 requested queued",
        ),
        // The newest message must count.
        (
            vec!["customer say => #1", "customer say => #2", "customer say => #3"],
            "bob SCORE(2,0.9) => scored #2",
        ),
        // The same scores are recorded once.
        (
            vec!["customer say => #1", "bob SCORE(1,0.9) => scored #1"],
            "bob SCORE(1,0.9) => nothing",
        ),
    ] {
        let mut world = opened();
        for line in lines.into_iter().chain([last]) {
            world.check(&with_scores(line));
        }
    }
}

/// Writes `SCORE(1,0.9)` as the command that it stands for.
fn with_scores(line: &str) -> String {
    let Some((before, rest)) = line.split_once("SCORE(") else { return line.to_owned() };
    let (given, after) = rest.split_once(')').expect("a bracket");
    let (message, points) = given.split_once(',').expect("a message and a score");
    let message = message.parse().expect("a number");
    let points = points.parse().expect("a score");
    format!("{before}{}{after}", score(message, points))
}

#[test]
fn a_conversation_without_rules_records_scores_and_calls_nobody() {
    let mut world = World::with_people();
    world.check("shop open agent=bob => bob@1");
    world.check("customer say => #1");
    world.check(&format!("bob {} => scored #1", score(1, 1.0)));
    assert!(world.conversation().signals.is_empty());
}

/// Only what is remembered can be compared.
#[test]
fn scores_of_forgotten_messages_are_recorded_again() {
    // Without rules nothing is remembered.
    let mut world = World::with_people();
    for line in ["shop open agent=bob => bob@1", "customer say => #1"] {
        world.check(line);
    }
    for _ in 0..2 {
        world.check(&format!("bob {} => scored #1", score(1, 1.0)));
    }
    // A person was called, and the turns were cleared.
    let mut world = opened();
    for line in [
        "customer say => #1",
        "customer say => #2",
        "bob SCORE(1,0.9) => scored #1",
        "bob SCORE(2,0.9) => scored #2 called_by=angry default@2 #3 requested queued",
        "operator SCORE(2,0.9) => scored #2",
        "operator SCORE(2,0.9) => scored #2",
    ] {
        world.check(&with_scores(line));
    }
    // Sixteen newer messages were said.
    let mut world = opened();
    for number in 1..=17 {
        world.check(&format!("customer say => #{number}"));
    }
    for line in [
        "bob SCORE(1,0.5) => scored #1",
        "bob SCORE(1,0.5) => scored #1",
        "bob SCORE(2,0.5) => scored #2",
        "bob SCORE(2,0.5) => nothing",
    ] {
        world.check(&with_scores(line));
    }
}

#[test]
fn nobody_is_called_while_people_have_it() {
    let mut world = opened();
    world.check("customer say => #1");
    world.check("bob route goto=human epoch=1 => default@2 #2 requested queued");
    world.check("customer say => #3");
    world.check(&format!("operator {} => scored #1", score(1, 1.0)));
    world.check(&format!("operator {} => scored #3", score(3, 1.0)));
}

#[test]
fn what_is_wrong_with_scores_is_named() {
    let mut world = opened();
    world.check("customer say => #1");
    world.check("bob say epoch=1 => #2");
    world.check("bob route goto=carol epoch=1 => carol@2 #3");
    world.check("carol route goto=bob epoch=2 => bob@3 #4");
    let twice = "message=1 signals=[{\"signal\":\"shouting\",\"score\":1},\
                 {\"signal\":\"shouting\",\"score\":0}]";
    for (fields, field) in [
        (r#"message=0 signals=[{"signal":"shouting","score":1}]"#, "message"),
        (r#"message=2 signals=[{"signal":"shouting","score":1}]"#, "message"),
        (r#"message=3 signals=[{"signal":"shouting","score":1}]"#, "message"),
        (r#"message=5 signals=[{"signal":"shouting","score":1}]"#, "message"),
        ("message=1 signals=[]", "signals"),
        (r#"message=1 signals=[{"signal":"shouting","score":1.5}]"#, "signals[0].score"),
        (r#"message=1 signals=[{"signal":"shouting","score":-0.1}]"#, "signals[0].score"),
        (twice, "signals[1].signal"),
    ] {
        world.check(&format!("bob score {fields} => schema_invalid"));
        assert!(world.detail.starts_with(&format!("{field}: ")), "{}", world.detail);
    }
    let sound = score(1, 1.0);
    world.check(&format!("customer {sound} => not_allowed"));
    world.check(&format!("stranger {sound} => not_found"));
    world.check(&format!("dora {sound} => not_found"));
    world.check("bob close => closed");
    world.check(&format!("bob {sound} => conversation_closed"));
}

#[test]
fn what_is_wrong_with_rules_is_named() {
    let mut world = World::new();
    for (rules, field) in [
        (
            r#"{"rules":[{"name":"x","signal":"shouting","above":1,"turns":1}]}"#,
            "signals.rules[0].above",
        ),
        (
            r#"{"rules":[{"name":"x","signal":"shouting","above":0,"turns":17}]}"#,
            "signals.rules[0].turns",
        ),
    ] {
        world.check(&format!("shop open agent=bob signals={rules} => schema_invalid"));
        assert!(world.detail.starts_with(&format!("{field}: ")), "{}", world.detail);
    }
    world.save(&json!({
        "entry": "helper", "nodes": [{ "id": "helper", "kind": "specialist", "agent": "bob" }]
    }));
    world.check(&format!("shop open graph=support signals={ANGRY_TWICE} => schema_invalid"));
    assert!(world.detail.starts_with("signals: "), "{}", world.detail);
}
