//! A policy binds until the human who was asked about it approves a laxer one: through
//! counter-offers, delegated parts, reassignments, and new handoffs of the task.
//!
//! A random run that fails prints its seed; `TASUKI_TEST_SEED` chooses others and
//! `TASUKI_TEST_FULL=1` raises the number of edits.

use std::collections::BTreeMap;

use super::script::{World, check};
use crate::handoff::Status;
use crate::handoff::event::Binding;
use crate::handoff::package::Policy;
use crate::handoff::readers::Readers;
use crate::handoff::state::{Approval, Handoff};

const EDITS: usize = 200;
const EDITS_FULL: usize = 20_000;
const SEED: u64 = 20_261_116;
/// Commands of one run.
const STEPS: usize = 40;

const GUARDED: &str = "policy.classification=restricted policy.requires_human_approval=true \
                       policy.requires_verifier=true task.priority=high";

#[test]
fn a_counter_offer_keeps_the_policy_and_the_priority() {
    check(&format!(
        r#"
        sender initiate h1 {GUARDED}        -> proposed
        human refuse h1                     -> rejected
        sender counter h1 policy.visibility=private -> proposed
        policy h1                           -> classification=restricted requires_human_approval=true requires_verifier=true visibility=private approval=Wanted priority=high
        differs h1                          -> policy.visibility: - → "private"
        target accept h1                    -> validating
        target activate h1                  -> wrong_state
        human approve h1                    -> accepted
        "#
    ));
}

#[test]
fn a_counter_offer_that_binds_less_needs_a_human() {
    check(&format!(
        r#"
        sender initiate h1 {GUARDED}        -> proposed
        human refuse h1                     -> rejected
        sender counter h1 policy.requires_human_approval=false -> proposed
        policy h1                           -> classification=restricted requires_verifier=true approval=Wanted priority=high
        differs h1                          -> policy.requires_human_approval: true → false
        target accept h1                    -> validating
        target reject h1                    -> rejected
        sender counter h1 context.summary=x -> proposed
        policy h1                           -> classification=restricted requires_verifier=true approval=Wanted priority=high
        differs h1                          -> policy.requires_human_approval: true → false; context.summary: "The linker fails since Tuesday" → "x"
        human approve h1                    -> proposed
        target accept h1                    -> accepted
        target reject h1                    -> rejected
        sender counter h1 context.summary=y -> proposed
        policy h1                           -> classification=restricted requires_verifier=true approval=NotNeeded priority=high
        "#
    ));
    check(&format!(
        r#"
        sender initiate h1 {GUARDED}        -> proposed
        target reject h1                    -> rejected
        sender counter h1 policy=null       -> proposed
        policy h1                           -> approval=Wanted priority=high
        sees stranger h1                    -> no
        human approve h1                    -> proposed
        sees stranger h1                    -> yes
        "#
    ));
    check(
        r#"
        sender initiate h1 policy.requires_verifier=true -> proposed
        target reject h1                    -> rejected
        sender counter h1 policy.requires_verifier=null -> proposed
        policy h1                           -> approval=Wanted priority=normal
        coordinator reassign h1             -> closed
        policy h2                           -> approval=Wanted priority=normal
        "#,
    );
}

#[test]
fn null_clears_where_that_is_allowed_and_lists_are_replaced() {
    check(
        r#"
        sender initiate h1 context.known_risks=["a","b"] deadline=+2h reason=leave -> proposed
        target reject h1                    -> rejected
        sender counter h1 task.title=null   -> schema_invalid task.title
        sender counter h1 task=null         -> schema_invalid task.task_id
        sender counter h1 task.success_criteria=[] -> schema_invalid task.success_criteria
        sender counter h1 context.summary=null -> schema_invalid context.summary
        sender counter h1 to_agent=null     -> schema_invalid to_agent
        sender counter h1 return=true       -> schema_invalid return
        sender counter h1 thread_id=other   -> schema_invalid thread_id
        sender counter h1 context.known_risks=["c"] deadline=null task.priority=critical -> proposed
        differs h1                          -> task.deadline: "2026-02-21T16:00:00Z" → -; task.priority: "normal" → "critical"; context.known_risks: ["a","b"] → ["c"]
        "#,
    );
}

#[test]
fn a_task_that_is_handed_on_anew_keeps_its_gate() {
    check(&format!(
        r#"
        sender initiate h1 {GUARDED}        -> proposed
        human refuse h1                     -> rejected
        sender close h1                     -> closed
        sender initiate h2                  -> proposed
        policy h2                           -> classification=restricted requires_human_approval=true requires_verifier=true approval=Wanted priority=normal
        sender withdraw h2                  -> closed
        sender initiate h3 policy.visibility=private -> proposed
        policy h3                           -> visibility=private approval=Wanted priority=normal
        differs h3                          -> policy.classification: "restricted" → "internal"; policy.requires_human_approval: true → false; policy.requires_verifier: true → -; policy.visibility: - → "private"
        human approve h3                    -> proposed
        target accept h3                    -> accepted
        target activate h3                  -> activated
        target initiate h4 to_agent=third   -> ownership_conflict
        target complete h3                  -> completed
        target initiate h4 to_agent=third   -> proposed
        policy h4                           -> visibility=private approval=NotNeeded priority=normal
        "#
    ));
}

#[test]
fn the_state_of_the_work_is_what_was_said_last() {
    check(
        r#"
        sender initiate h1 work_state.percent_complete=10 -> proposed
        target accept h1                    -> accepted
        target activate h1 work_state_update={"percent_complete":40,"status":"in_progress"} -> activated
        work h1                             -> {next_step:Bisect the lock file,percent_complete:40.0,status:in_progress}
        coordinator reassign h1 work_state={"next_step":"ask"} -> closed
        work h2                             -> {next_step:ask,percent_complete:40.0,status:in_progress}
        other accept h2                     -> accepted
        other activate h2 work_state_update={"status":"blocked"} -> activated
        other reject h2                     -> rejected
        target counter h2 context.summary=x -> proposed
        work h2                             -> {next_step:ask,percent_complete:40.0,status:blocked}
        "#,
    );
}

/// A policy that a human approved, and that requires no human itself.
#[test]
fn what_was_approved_binds_all_that_follows() {
    check(
        r#"
        sender initiate h1 policy.human_gate=required policy.visibility=private -> proposed
        human approve h1                    -> proposed
        target reject h1                    -> rejected
        sender counter h1 policy.human_gate=null -> proposed
        human approve h1                    -> proposed
        coordinator reassign h1 as=h2 to=other -> closed
        other accept h2                     -> accepted
        other reject h2                     -> rejected
        coordinator initiate h3 to_agent=other task.task_id=t1 -> proposed
        other accept h3                     -> accepted
        other reject h3                     -> rejected
        coordinator initiate h4 to_agent=other task.task_id=t1 policy.visibility=team -> proposed
        other accept h4                     -> validating
        "#,
    );
}

#[test]
fn random_edits_never_loosen_what_was_approved() {
    let is_full = std::env::var_os("TASUKI_TEST_FULL").is_some();
    let n_edits = if is_full { EDITS_FULL } else { EDITS };
    let seed = std::env::var("TASUKI_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    let seen = stories(n_edits, seed, |_, _| {}).unwrap_or_else(|story| panic!("{story}"));
    for action in ["counter", "delegate", "reassign", "initiate"] {
        let n_seen = seen.get(action).copied().unwrap_or_default();
        assert!(n_seen >= n_edits / 40, "{action}: {n_seen} of {n_edits}");
    }
    assert!(seen["judged"] >= n_edits / 10, "{seen:?}");
    assert!(seen["looser"] >= n_edits / 40, "{seen:?}");
}

/// Checks the test itself: a fault that ignores the agreed policy must be found.
#[test]
fn a_rule_that_forgets_the_gate_is_caught() {
    let caught = stories(EDITS, SEED, |world, name| {
        let asks = world.package(name).policy.needs_human();
        let Some(Handoff::Made(made)) = world.handoffs.get_mut(name) else { return };
        if !asks && made.approval == Approval::Wanted {
            made.approval = Approval::NotNeeded;
        }
    });
    assert!(caught.is_err(), "{caught:?}");
}

type Seen = BTreeMap<&'static str, usize>;

/// Plays random runs until enough policies were edited. `fault` may corrupt the last proposal.
fn stories(n_edits: usize, seed: u64, fault: fn(&mut World, &str)) -> Result<Seen, String> {
    let mut random = Random(seed);
    let mut seen = Seen::new();
    let count = |seen: &Seen| {
        let made = ["counter", "delegate", "reassign", "initiate"];
        made.iter().filter_map(|action| seen.get(action)).sum::<usize>()
    };
    while count(&seen) < n_edits {
        let mut story = Story::new();
        for _ in 0..STEPS {
            story.step(&mut random, &mut seen, fault);
            story.judge(&mut seen).map_err(|why| {
                format!("seed {seed}: {why}, after:\n  {}", story.lines.join("\n  "))
            })?;
        }
    }
    Ok(seen)
}

struct Story {
    world: World,
    lines: Vec<String>,
    n_handoffs: usize,
    /// The policy that binds each task: the one that a human last approved, or was first asked
    /// about.
    bound: BTreeMap<String, Policy>,
    n_events: usize,
}

impl Story {
    fn new() -> Self {
        let (world, lines) = (World::new(), Vec::new());
        let mut story = Story { world, lines, n_handoffs: 0, bound: BTreeMap::new(), n_events: 0 };
        story.n_handoffs = 1;
        story.play("sender initiate h1 policy.requires_human_approval=true");
        story
    }

    fn play(&mut self, line: &str) -> String {
        let answer = self.world.play(line);
        self.lines.push(format!("{line} -> {answer}"));
        answer
    }

    fn step(&mut self, random: &mut Random, seen: &mut Seen, fault: fn(&mut World, &str)) {
        let (name, new) = (self.some_handoff(random), format!("h{}", self.n_handoffs + 1));
        let Some(Handoff::Made(made)) = self.world.handoffs.get(&name) else { return };
        let (from, to) = (made.terms.from.clone(), made.terms.to.clone());
        let task = made.terms.task_id.clone();
        let policy = random_policy(random);
        let others = ["a1", "a2", "a3", "a4", "a5", "a6"];
        let other = others[random.below(others.len())];
        let (action, line, changed) = match random.below(14) {
            0 | 1 => ("counter", format!("{from} counter {name} {policy}"), name.clone()),
            2 | 12 | 13 => {
                let line = format!("{to} delegate {name} as={new} to_agent={other} {policy}");
                ("delegate", line, new.clone())
            }
            3 => {
                let line = format!("coordinator reassign {name} as={new} to={other}");
                ("reassign", line, new.clone())
            }
            4 | 5 => {
                let line = format!(
                    "coordinator initiate {new} to_agent={other} task.task_id={task} {policy}"
                );
                ("initiate", line, new.clone())
            }
            6 => ("approve", format!("human approve {name}"), name.clone()),
            7 => ("accept", format!("{to} accept {name}"), name.clone()),
            8 => ("activate", format!("{to} activate {name}"), name.clone()),
            9 => ("complete", format!("{to} complete {name}"), name.clone()),
            10 => ("refuse", format!("human refuse {name}"), name.clone()),
            _ => ("reject", format!("{to} reject {name}"), name.clone()),
        };
        if action == "delegate" {
            // Chance alone rarely gets this far.
            for line in [format!("{to} accept {name}"), format!("{to} activate {name}")] {
                self.play(&line);
            }
        }
        let answer = self.play(&line);
        let is_done = answer.split(' ').next().is_some_and(|word| word.parse::<Status>().is_ok());
        if !is_done {
            return;
        }
        *seen.entry(action).or_default() += 1;
        if changed == new {
            self.n_handoffs += 1;
        }
        if ["counter", "delegate", "reassign", "initiate"].contains(&action) {
            fault(&mut self.world, &changed);
        }
    }

    /// Mostly the newest one, where most happens.
    fn some_handoff(&self, random: &mut Random) -> String {
        let back = if random.below(3) == 0 { random.below(self.n_handoffs) } else { 0 };
        format!("h{}", self.n_handoffs - back)
    }

    /// An accepted handoff is at least as strict as its task, or a human has approved that it is
    /// not.
    fn judge(&mut self, seen: &mut Seen) -> Result<(), String> {
        let events = self.world.events.split_off(self.n_events);
        for (name, event, _, _) in &events {
            let Handoff::Made(made) = &self.world.handoffs[name] else { continue };
            let task = made.terms.task_id.to_string();
            let policy = self.world.package(name).policy;
            let bound = self.bound.get(&task);
            let is_looser = bound.is_some_and(|bound| policy.check_narrows(bound).is_err());
            match event.binding() {
                Binding::Proposed => {
                    *seen.entry("looser").or_default() += usize::from(is_looser);
                    let readers = crate::handoff::derive::readers(made).unwrap_or_default();
                    if readers > bound.map_or(Readers::Team, Readers::of) {
                        return Err(format!("{name} has more readers before it is approved"));
                    }
                    if bound.is_none() && policy.needs_human() {
                        self.bound.insert(task, policy);
                    }
                }
                Binding::Approved => drop(self.bound.insert(task, policy)),
                Binding::Delegated(to) => {
                    let child = format!("h{}", self.n_handoffs);
                    let part = self.world.package(&child).policy;
                    if let Err(field) = part.check_narrows(&policy) {
                        return Err(format!("{child} for {to} in {field}"));
                    }
                }
                Binding::Agreed => {
                    *seen.entry("judged").or_default() += 1;
                    if is_looser {
                        return Err(format!("{name} was accepted with less than was approved"));
                    }
                }
                Binding::Unchanged => {}
            }
        }
        self.n_events += events.len();
        self.world.events.extend(events);
        Ok(())
    }
}

/// Sets some fields of a policy, clears some, or mentions none.
fn random_policy(random: &mut Random) -> String {
    if random.below(4) == 0 {
        return format!("context.summary=s{}", random.below(1_000_000));
    }
    let fields = [
        ("classification", &["internal", "restricted"][..]),
        ("requires_human_approval", &["true", "false"]),
        ("requires_verifier", &["true", "false"]),
        ("requires_evidence", &["true", "false"]),
        ("visibility", &["private", "team", "human-audit"]),
        ("sensitivity", &["low", "moderate", "high"]),
        ("export_restrictions", &["[]", r#"["eu"]"#, r#"["eu","us"]"#]),
    ];
    let mut words = vec![format!("context.summary=s{}", random.below(1_000_000))];
    for (field, values) in fields {
        if random.below(3) == 0 {
            words.push(format!("policy.{field}={}", values[random.below(values.len())]));
        }
    }
    words.join(" ")
}

/// SplitMix64.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % limit as u64) as usize
    }
}
