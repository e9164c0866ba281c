//! Random sessions. The machine takes each step, and an independent model judges it: both must
//! agree. `TASUKI_TEST_FULL=1` raises the number of sessions, `TASUKI_TEST_SEED` chooses others; a
//! failure prints the seed and the session.

mod model;
mod model_consent;
mod random;

use std::collections::{BTreeMap, BTreeSet};

use self::model::{Judgement, Model};
use self::random::{Random, Writer};
use super::table_tests::script::{No, Passed, Script, Step, World};
use super::{Binding, Outcome, Phase, Session, Weak, rules};
use crate::event::{Decision, Event, Payload};

const SESSIONS: u64 = 2_000;
const SESSIONS_FULL: u64 = 10_000;
const STEPS: usize = 120;
/// This many more steps are tried after the end.
const STEPS_AFTER: usize = 5;
const SEED: u64 = 20_260_524;

/// The machine, or one with a fault.
type Machine = fn(&mut World, &Step) -> Result<Passed, No>;

#[test]
fn the_machine_and_the_model_agree() {
    let is_full = std::env::var_os("TASUKI_TEST_FULL").is_some();
    let n_sessions = if is_full { SESSIONS_FULL } else { SESSIONS };
    let seed = std::env::var("TASUKI_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    println!("{n_sessions} sessions, seed {seed}");
    let seen = sessions(World::take, n_sessions, seed).unwrap_or_else(|story| panic!("{story}"));
    println!("{seen:#?}");
    for (name, rule) in rules::ALL {
        assert!(seen.rules.contains_key(rule.number), "no session broke {name}");
    }
    for what in ["strong", "weak", "Accepted", "Rejected", "Answered", "Unanswered", "Withdrawn"] {
        let n_seen = seen.outcomes.get(what).copied().unwrap_or_default();
        assert!(n_seen >= n_sessions / 20, "{what}: {n_seen}");
    }
    assert!(seen.n_lapsed >= n_sessions / 20, "{} lapsed", seen.n_lapsed);
    assert!(seen.n_completed >= n_sessions / 20, "{} completed", seen.n_completed);
}

/// Checks the test itself: the comparison must find these faults.
#[test]
fn a_faulty_machine_is_caught() {
    let faults: [(&str, Machine); 6] = [
        ("an accept is not used up", |world, step| {
            let before = grants(&world.session);
            let passed = world.take(step)?;
            if matches!(&passed, Passed::Followed(followed) if followed.consent.is_some()) {
                restore(&mut world.session, before);
            }
            Ok(passed)
        }),
        ("a reject allows", |world, step| match step {
            Step::Resolve(token, _) => world.take(&Step::Resolve(token.clone(), Decision::Accept)),
            Step::Event(_)
            | Step::Automatic(_)
            | Step::Answer(..)
            | Step::Elapse(..)
            | Step::Wait(_) => world.take(step),
        }),
        ("ids are forgotten", |world, step| {
            world.used.clear();
            world.take(step)
        }),
        ("every reply is in time", |world, step| {
            let now = world.now;
            if let Step::Resolve(..) = step {
                world.now = base::time::Time::from_millis(0);
                let passed = world.take(step);
                world.now = now;
                return passed;
            }
            world.take(step)
        }),
        ("an accept never lapses", |world, step| {
            let now = world.now;
            if matches!(step, Step::Event(event) if event.payload.name().ends_with(".invoked")) {
                world.now = base::time::Time::from_millis(0);
                let passed = world.take(step);
                world.now = now;
                return passed;
            }
            world.take(step)
        }),
        ("a refused event leaves something behind", |world, step| {
            let passed = world.take(step);
            if let (Err(No::Flaw(_)), Step::Event(event)) = (&passed, step) {
                let id = super::Used::Event(event.envelope.event_id.as_ref().to_owned());
                world.used.insert(id);
            }
            passed
        }),
    ];
    for (name, machine) in faults {
        let caught = sessions(machine, SESSIONS, SEED);
        assert!(caught.is_err(), "{name}: the fault was not found");
    }
}

/// What the sessions covered.
#[derive(Debug, Default)]
struct Seen {
    rules: BTreeMap<&'static str, u64>,
    outcomes: BTreeMap<String, u64>,
    n_completed: u64,
    n_lapsed: u64,
}

fn sessions(machine: Machine, n_sessions: u64, seed: u64) -> Result<Seen, String> {
    let mut seen = Seen::default();
    for number in 0..n_sessions {
        let mut story = Vec::new();
        let told = session(machine, seed.wrapping_add(number), &mut story, &mut seen);
        told.map_err(|why| format!("seed {seed}, session {number}: {why}\n{}", story.join("; ")))?;
    }
    Ok(seen)
}

fn session(
    machine: Machine,
    seed: u64,
    story: &mut Vec<String>,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut random = Random::new(seed);
    let weak = if random.one_in(4) { Weak::Refused } else { Weak::Allowed };
    let (mut world, mut script) = (World::new(weak), Script::default());
    let (mut model, mut writer) = (Model::new(weak), Writer::new(random));
    let mut consents = BTreeSet::new();
    let mut n_after = 0;
    while story.len() < STEPS && n_after < STEPS_AFTER {
        n_after += usize::from(world.session.phase() == Phase::Over);
        let line = writer.line(&model);
        let step = script.step(&line);
        story.push(line);
        let before = world.clone();
        let judged = model.judge(&step);
        let taken = machine(&mut world, &step);
        agree(&judged, &taken)?;
        match &taken {
            Ok(passed) => {
                note(seen, passed);
                consented(&model, &step, passed, &mut consents)?;
                model.record(&step, &judged);
            }
            Err(no) => {
                if world != before {
                    return Err("a refusal has changed the session".to_owned());
                }
                if let No::Flaw(flaw) = no {
                    *seen.rules.entry(flaw.rule).or_default() += 1;
                    seen.n_lapsed += u64::from(flaw.expected.contains("has lapsed"));
                }
            }
        }
    }
    let is_completed = model.has(|payload| matches!(payload, Payload::SessionCompleted));
    seen.n_completed += u64::from(is_completed);
    if is_completed && world.session.phase() != Phase::Over {
        return Err("it is not over".to_owned());
    }
    Ok(())
}

/// Both accept it, or both refuse it for the same reason.
fn agree(judged: &Judgement, taken: &Result<Passed, No>) -> Result<(), String> {
    let is_same = match (judged, taken) {
        (Judgement::Passes, Ok(Passed::Followed(_) | Passed::Waited)) => true,
        (Judgement::Settles(outcome), Ok(Passed::Settled(settled))) => *outcome == settled.outcome,
        (Judgement::Breaks(number, field), Err(No::Flaw(flaw))) => {
            (*number, *field) == (flaw.rule, flaw.field.as_str())
        }
        (Judgement::Ignores(reason), Err(No::NotSettled(no))) => reason == no,
        (
            Judgement::Passes
            | Judgement::Settles(_)
            | Judgement::Breaks(..)
            | Judgement::Ignores(_),
            _,
        ) => false,
    };
    if is_same { Ok(()) } else { Err(format!("the model: {judged:?}, the machine: {taken:?}")) }
}

/// Every irreversible call needs exactly one accept by a person, given before and used up by it.
fn consented(
    model: &Model,
    step: &Step,
    passed: &Passed,
    consents: &mut BTreeSet<String>,
) -> Result<(), String> {
    let (Step::Event(event), Passed::Followed(followed)) = (step, passed) else { return Ok(()) };
    let Payload::ToolInvoked { irreversible: true, .. } = &event.payload else { return Ok(()) };
    let Some(consent) = &followed.consent else {
        return Err("an irreversible call without consent".to_owned());
    };
    if !model.was_accepted_by_somebody(&consent.reply_token) {
        return Err(format!("{} was not accepted", consent.reply_token));
    }
    if !consents.insert(consent.reply_token.clone()) {
        return Err(format!("{} was used twice", consent.reply_token));
    }
    let hash = |event: &Event<'_>| event.envelope.link.action_hash.as_deref().map(str::to_owned);
    let asked = model.question(&consent.reply_token).and_then(hash);
    let is_strong = asked.is_some() && asked == hash(event);
    if is_strong != (consent.binding == Binding::Strong) {
        return Err(format!("{} is bound {:?}", consent.reply_token, consent.binding));
    }
    Ok(())
}

fn note(seen: &mut Seen, passed: &Passed) {
    let mut outcome = |what: String| *seen.outcomes.entry(what).or_default() += 1;
    match passed {
        Passed::Waited => {}
        Passed::Settled(settled) => outcome(format!("{:?}", settled.outcome)),
        Passed::Followed(followed) => {
            for settled in &followed.withdrawn {
                assert_eq!(settled.outcome, Outcome::Withdrawn);
                outcome("Withdrawn".to_owned());
            }
            if let Some(consent) = &followed.consent {
                outcome(format!("{:?}", consent.binding).to_lowercase());
            }
        }
    }
}

fn grants(session: &Session) -> serde_json::Value {
    let snapshot = serde_json::to_value(session).expect("a snapshot");
    snapshot["consents"]["grants"].clone()
}

fn restore(session: &mut Session, grants: serde_json::Value) {
    let mut snapshot = serde_json::to_value(&*session).expect("a snapshot");
    snapshot["consents"]["grants"] = grants;
    *session = serde_json::from_value(snapshot).expect("a snapshot");
}
