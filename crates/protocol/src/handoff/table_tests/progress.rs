//! Reports of progress: who may report what, and that nothing else changes.

use super::bounds::Random;
use super::script::{World, check};
use crate::handoff::progress::{
    PROGRESS_NOTE_BYTES_MAX, PROGRESS_REPORTS_MAX, PROGRESS_STEP_BYTES_MAX, PROGRESS_STEPS_MAX,
};
use crate::handoff::waits::{due_at, waits};
use crate::handoff::{Handoff, evolve};

#[test]
fn the_newest_report_is_kept_until_a_counter_offer() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target progress h1                  -> wrong_state
        target activate h1                  -> activated
        reported h1                         -> 0 null
        target progress h1 percent=40 note=begun -> activated
        reported h1                         -> 1 {percent:40,note:begun}
        target progress h1 -percent steps=[{"text":"a","done":true},{"text":"b"}] blocked_by=disk -> activated
        reported h1                         -> 2 {steps:[{text:a,done:true},{text:b}],blocked_by:disk}
        target progress h1 percent=0        -> activated
        reported h1                         -> 3 {percent:0}
        target complete h1 final_artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}] -> activated (wants look/1)
        target progress h1 percent=100      -> activated (wants look/1)
        target reject h1                    -> rejected
        reported h1                         -> 4 {percent:100}
        target progress h1                  -> wrong_state
        sender counter h1 context.summary=x -> proposed
        reported h1                         -> 4 null
        "#,
    );
}

#[test]
fn a_report_is_bounded_and_says_something() {
    let over = |max: usize| max + 1;
    let (note, step) = (over(PROGRESS_NOTE_BYTES_MAX), over(PROGRESS_STEP_BYTES_MAX));
    let steps = |n: usize| format!("[{}]", vec![r#"{"text":"a"}"#; n].join(","));
    let long = format!(r#"[{{"text":"{}"}}]"#, "x".repeat(step));
    let many = steps(over(PROGRESS_STEPS_MAX));
    let all = steps(PROGRESS_STEPS_MAX);
    check(&format!(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target progress h1 -percent         -> schema_invalid body
        target progress h1 -percent steps=[] -> schema_invalid body
        target progress h1 percent=101      -> schema_invalid percent
        target progress h1 note=            -> schema_invalid note
        target progress h1 note="\t\n"      -> schema_invalid note
        target progress h1 note=x*{note}    -> schema_invalid note
        target progress h1 blocked_by=x*{note} -> schema_invalid blocked_by
        target progress h1 blocked_by=      -> schema_invalid blocked_by
        target progress h1 steps=[{{"text":"a"}},{{"text":""}}] -> schema_invalid steps[1].text
        target progress h1 steps=[{{"text":"a\nb"}}] -> schema_invalid steps[0].text
        target progress h1 steps={long}     -> schema_invalid steps[0].text
        target progress h1 steps={many}     -> schema_invalid steps
        reported h1                         -> 0 null
        target progress h1 steps={all} percent=100 -> activated
        target progress h1 note="a\nb\u200b" -> activated
        "#
    ));
}

#[test]
fn a_worker_cannot_fill_the_ledger_with_reports() {
    let mut world = World::new();
    for line in ["sender initiate h1", "target accept h1", "target activate h1"] {
        world.play(line);
    }
    for _ in 0..PROGRESS_REPORTS_MAX {
        assert_eq!(world.play("target progress h1"), "activated");
    }
    assert_eq!(
        world.play("target progress h1 why"),
        "wrong_state: cannot progress a handoff that is activated; that needs fewer than 1000 \
         reports of its progress"
    );
    // A counter-offer does not begin to count anew.
    for line in [
        "target reject h1",
        "sender counter h1 context.summary=x",
        "target accept h1",
        "target activate h1",
    ] {
        world.play(line);
    }
    assert_eq!(world.play("target progress h1"), "wrong_state");
    assert_eq!(world.play("target complete h1"), "completed");
}

#[test]
fn an_erased_record_keeps_the_number_of_reports_only() {
    let mut world = World::new();
    for line in [
        "sender initiate h1",
        "target accept h1",
        "target activate h1",
        "target progress h1 note=secret",
        "target complete h1",
    ] {
        world.play(line);
    }
    let Handoff::Made(made) = evolve::without_texts(world.handoffs["h1"].clone()) else {
        panic!("it was proposed")
    };
    assert_eq!((made.n_reports, made.progress), (1, None));
}

const STORIES: usize = 60;
const STEPS: usize = 40;
const SEED: u64 = 7;

/// Two worlds hear the same commands. In one of them the owner reports progress all the time; the
/// deadlines, the warnings, the escalations and those who are waited for are the same in both.
#[test]
fn random_reports_never_move_a_deadline() {
    let seed = std::env::var("TASUKI_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    let mut random = Random(seed);
    let (mut n_reports, mut n_escalated, mut n_warned) = (0, 0, 0);
    for _ in 0..STORIES {
        let (mut silent, mut reporting) = (World::new(), World::new());
        let mut lines = vec!["sender initiate h1 sla.warn_percent=50".to_owned()];
        for _ in 0..STEPS {
            let line = lines.last().expect("a line").clone();
            let expected = silent.play(&line);
            assert_eq!(reporting.play(&line), expected, "seed {seed}: {lines:#?}");
            n_escalated += usize::from(expected.contains("(escalated)"));
            n_warned += usize::from(expected.contains("(warned)"));
            for _ in 0..random.below(3) {
                let percent = random.below(101);
                let answer = reporting.play(&format!("target progress h1 percent={percent}"));
                n_reports += usize::from(answer.starts_with("activated"));
            }
            assert_eq!(silent.armed, reporting.armed, "seed {seed}: {lines:#?}");
            let (one, other) = (&silent.handoffs["h1"], &reporting.handoffs["h1"]);
            assert_eq!(due_at(one), due_at(other), "seed {seed}: {lines:#?}");
            assert_eq!(waits(one), waits(other), "seed {seed}: {lines:#?}");
            assert_eq!(one.notes(), other.notes(), "seed {seed}: {lines:#?}");
            lines.push(next_line(&mut random, &silent));
        }
    }
    assert!(n_reports > STORIES * 5, "seed {seed}: {n_reports} reports");
    assert!(n_escalated > STORIES / 4, "seed {seed}: {n_escalated} escalations");
    assert!(n_warned > STORIES / 4, "seed {seed}: {n_warned} warnings");
}

fn next_line(random: &mut Random, world: &World) -> String {
    let armed: Vec<_> = world.armed.iter().map(|(_, deadline)| deadline.name.as_ref()).collect();
    let due = match armed.first() {
        Some(name) if name.starts_with("warn/") => "system warn h1",
        Some(name) if *name == "recall" => "system elapse_recall h1",
        Some(_) => "system elapse h1",
        None => "wait 1m",
    };
    match random.below(12) {
        0 | 1 => "target accept h1".to_owned(),
        2 | 3 => "target activate h1".to_owned(),
        4 => format!("wait {}m", 1 + random.below(600)),
        5 => format!("coordinator extend_sla h1 due=+{}m", 1 + random.below(90)),
        6 => "sender recall h1".to_owned(),
        7 => "system elapse_recall h1".to_owned(),
        8 if random.below(6) == 0 => "target reject h1".to_owned(),
        8 => format!("sender counter h1 context.summary=s{}", random.below(1_000_000)),
        9 if random.below(6) == 0 => "target complete h1".to_owned(),
        _ => due.to_owned(),
    }
}
