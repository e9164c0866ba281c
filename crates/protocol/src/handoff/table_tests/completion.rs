//! Completion needs proof: evidence, final artifacts, and a verifier who confirms it.

use super::script::{World, check};
use crate::handoff::artifact::Finding;
use crate::handoff::completion::Completion;
use crate::handoff::event::Event;
use crate::handoff::{Handoff, Package};

const ONE: &str = r#"[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]"#;
const TWO: &str = concat!(
    r#"[{"artifact_id":"log","ref":{"type":"file","path":"/log"}},"#,
    r#"{"artifact_id":"plan","ref":{"type":"file","path":"/plan","required":false}}]"#,
);

/// Scripts are split at blanks, so criteria and answers have none here.
const TO_WORK: &str = r#"
    sender initiate h1 task.success_criteria=["green","documented"] -> proposed
    target accept h1 -> accepted
    target activate h1 -> activated
"#;

fn after_work(rest: &str) {
    check(&format!("{TO_WORK}\n{rest}"));
}

#[test]
fn what_is_not_answered_is_not_shown() {
    after_work(
        r#"
        target complete h1                  -> completed
        shown h1                            -> green: not shown, documented: not shown
        "#,
    );
    after_work(
        r#"
        target complete h1 evidence=[{"criterion":"green","evidence":"run-7"}] -> completed
        shown h1                            -> green: run-7, documented: not shown
        sender close h1                     -> closed
        shown h1                            -> green: run-7, documented: not shown
        "#,
    );
}

#[test]
fn evidence_is_about_the_criteria_that_were_agreed_on() {
    for (evidence, refusal) in [
        (
            r#"[{"criterion":"fast","evidence":"x"}]"#,
            "schema_invalid: evidence[0].criterion: expected one of the task's success criteria, \
             word for word",
        ),
        (
            r#"[{"criterion":"green","evidence":"x"},{"criterion":"green","evidence":"y"}]"#,
            "schema_invalid: evidence[1].criterion: expected each criterion once",
        ),
        (
            r#"[{"criterion":"green","evidence":""}]"#,
            "schema_invalid: evidence[0].evidence: expected what shows that the criterion is met",
        ),
        (
            r#"[{"criterion":"green","evidence":"x","artifact_ids":["log"]}]"#,
            "schema_invalid: evidence[0].artifact_ids[0]: expected the id of one of the \
             `final_artifacts`",
        ),
    ] {
        after_work(&format!("target complete h1 evidence={evidence} why -> {refusal}"));
    }
    after_work(&format!(
        r#"
        target complete h1 final_artifacts={ONE} evidence=[{{"criterion":"green","evidence":"x","artifact_ids":["log","log"]}}] why -> schema_invalid: evidence[0].artifact_ids[1]: expected each artifact once
        target complete h1 final_artifacts=[{{"artifact_id":"log","ref":{{"type":"file","path":""}}}}] -> schema_invalid final_artifacts[0].ref.path
        target complete h1 completion_notes=x*16385 -> schema_invalid completion_notes
        lose h1
        target complete h1 evidence=[{{"criterion":"green","evidence":"x"}}] why -> not_found: no such package with a true seal
        "#
    ));
    after_work(
        r#"
        tamper h1 task.success_criteria=["easier"]
        reseal h1
        target complete h1 evidence=[{"criterion":"easier","evidence":"x"}] -> not_found
        "#,
    );
}

#[test]
fn where_evidence_is_asked_for_every_criterion_is_answered() {
    check(
        r#"
        sender initiate h1 policy.requires_evidence=true task.success_criteria=["green","documented"] -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1 why -> evidence_missing: evidence: expected what shows that each success criterion is met; not shown: `green`, `documented`
        target complete h1 evidence=[{"criterion":"green","evidence":"run-7"}] why -> evidence_missing: evidence: expected what shows that each success criterion is met; not shown: `documented`
        target complete h1 evidence=[{"criterion":"documented","evidence":"p-3"},{"criterion":"green","evidence":"run-7"}] -> completed
        shown h1                            -> documented: p-3, green: run-7
        "#,
    );
    after_work(
        r#"
        teamspace requires evidence
        target complete h1 why -> evidence_missing: evidence: expected what shows that each success criterion is met; not shown: any of them
        target complete h1 evidence=[{"criterion":"green","evidence":"run-7"}] why -> evidence_missing: evidence: expected what shows that each success criterion is met; not shown: `documented`
        "#,
    );
}

#[test]
fn final_artifacts_are_looked_at_before_it_is_completed() {
    after_work(&format!(
        r#"
        target complete h1 final_artifacts={ONE} -> activated (wants look/1)
        armed h1                            -> activated→completed at +24h
        hold t1                             -> h1 [sender target]
        target verified h1 log=verified     -> not_allowed
        sender close h1                     -> wrong_state
        system verified h1 log=verified     -> completed
        shown h1                            -> green: not shown, documented: not shown, log 7 bytes
        system verified h1 log=missing      -> completed (nothing recorded)
        hold t1                             -> free [sender target]
        "#
    ));
}

#[test]
fn what_is_found_decides_and_the_owner_may_try_again() {
    for (found, outcome) in [
        ("log=verified plan=verified", "completed"),
        ("log=verified plan=missing", "completed"),
        ("log=unverifiable plan=missing", "completed"),
        ("log=missing plan=verified", "activated"),
        ("log=changed", "activated"),
        ("log=forbidden", "activated"),
        ("log=verified plan=changed", "activated"),
        ("log=unavailable", "activated (wants look/1)"),
        ("plan=verified", "activated (wants look/1)"),
    ] {
        after_work(&format!(
            r#"
            target complete h1 final_artifacts={TWO} -> activated (wants look/1)
            system verified h1 {found}      -> {outcome}
            "#
        ));
    }
    after_work(&format!(
        r#"
        target complete h1 final_artifacts={ONE} -> activated (wants look/1)
        system verified h1 log=missing      -> activated
        armed h1                            -> activated→completed at +24h
        target complete h1 final_artifacts={ONE} -> activated (wants look/2)
        system verified h1 of=1 log=verified -> activated (nothing recorded) (wants look/2)
        system verified h1 log=verified     -> completed
        "#
    ));
}

#[test]
fn while_nobody_can_look_the_owner_may_report_anew_or_give_up() {
    after_work(&format!(
        r#"
        target complete h1 final_artifacts={ONE} -> activated (wants look/1)
        system verified h1 log=unavailable  -> activated (wants look/1)
        system verified h1 log=unavailable  -> activated (nothing recorded) (wants look/1)
        wait 25h
        system elapse h1                    -> activated (escalated) (wants look/1)
        target complete h1 final_artifacts={TWO} -> activated (wants look/2)
        target complete h1                  -> completed
        shown h1                            -> green: not shown, documented: not shown
        "#
    ));
    after_work(&format!(
        r#"
        target complete h1 final_artifacts={ONE} -> activated (wants look/1)
        coordinator extend_sla h1           -> activated (wants look/1)
        target reject h1                    -> rejected
        system verified h1 log=verified     -> rejected (nothing recorded)
        "#
    ));
    after_work(&format!(
        r#"
        target complete h1 final_artifacts={ONE} -> activated (wants look/1)
        coordinator close h1                -> closed
        notes h1                            -> forced from activated
        "#
    ));
}

#[test]
fn somebody_other_than_the_owner_confirms() {
    for (verifier, outcome) in [
        ("sender", "completed"),
        ("coordinator", "completed"),
        ("reviewer", "completed"),
        ("operator", "completed"),
        ("target", "not_allowed"),
        ("stranger", "not_allowed"),
        ("executor", "not_allowed"),
        ("human", "not_allowed"),
        ("customer", "not_allowed"),
        ("system", "not_allowed"),
    ] {
        check(&format!(
            r#"
            sender initiate h1 policy.requires_verifier=true -> proposed
            target accept h1                -> accepted
            target activate h1              -> activated
            {verifier} confirm h1           -> {before}
            target complete h1              -> activated
            {verifier} confirm h1           -> {outcome}
            "#,
            before = if outcome == "completed" { "wrong_state" } else { outcome },
        ));
    }
}

#[test]
fn the_record_says_who_confirmed() {
    check(
        r#"
        lead initiate h2 to_agent=target task.task_id=t2 policy.requires_verifier=true -> proposed
        target accept h2                    -> accepted
        target activate h2                  -> activated
        target complete h2                  -> activated
        target confirm h2 why -> not_allowed: only somebody other than the owner may confirm
        stranger confirm h2 why -> not_allowed: only the sender, a coordinator or a reviewer may confirm
        lead confirm h2 why=seen            -> completed
        shown h2 -> CI is green: not shown, by agent:lead
        "#,
    );
}

#[test]
fn a_dispute_leaves_the_work_with_its_owner() {
    check(&format!(
        r#"
        sender initiate h1 policy.requires_verifier=true -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1 final_artifacts={ONE} -> activated (wants look/1)
        sender confirm h1                   -> wrong_state
        sender dispute h1                   -> wrong_state
        system verified h1 log=verified     -> activated
        sender dispute h1 why=              -> schema_invalid why
        target dispute h1                   -> not_allowed
        sender dispute h1                   -> activated
        armed h1                            -> activated→completed at +24h
        sender confirm h1                   -> wrong_state
        hold t1                             -> h1 [sender target]
        target complete h1 final_artifacts={ONE} -> activated (wants look/2)
        system verified h1 log=verified     -> activated
        reviewer confirm h1                 -> completed
        shown h1 -> CI is green: not shown, log 7 bytes, by agent:reviewer
        "#
    ));
}

#[test]
fn a_teamspace_may_ask_for_a_verifier() {
    after_work(
        r#"
        teamspace requires verifier
        target complete h1                  -> activated
        target complete h1                  -> activated
        sender confirm h1                   -> completed
        "#,
    );
}

impl World {
    /// What the record of a completed handoff shows, and what it does not.
    pub fn show_shown(&self, name: &str) -> String {
        let Handoff::Made(made) = &self.handoffs[name] else { return "nothing".to_owned() };
        let package: Package = serde_json::from_str(&self.document(name)).expect("a package");
        let nothing = Completion::default();
        let completion = made.shown.as_ref().map_or(&nothing, |shown| &shown.completion);
        let mut shown: Vec<_> = completion
            .evidence
            .iter()
            .map(|answer| format!("{}: {}", answer.criterion, answer.evidence))
            .collect();
        let unanswered = completion.unanswered(&package);
        shown.extend(unanswered.iter().map(|criterion| format!("{criterion}: not shown")));
        let seen = made.shown.iter().flat_map(|shown| &shown.seen);
        shown.extend(seen.filter_map(|seen| {
            let Finding::Verified { size_bytes, .. } = &seen.finding else { return None };
            Some(format!("{} {size_bytes} bytes", seen.artifact_id))
        }));
        let by = made.shown.as_ref().and_then(|shown| shown.confirmed_by.as_deref());
        shown.extend(by.map(|by| format!("by {by}")));
        shown.join(", ")
    }
}

/// As everywhere else, a text that shows nothing counts as left out.
#[test]
fn notes_that_show_nothing_are_not_recorded() {
    for (given, expected) in [("done", Some("done")), ("\u{200b}\u{3164}", None)] {
        let mut world = World::new();
        for line in ["sender initiate h1", "target accept h1", "target activate h1"] {
            world.play(line);
        }
        world.play(&format!("target complete h1 completion_notes={given}"));
        let Some((_, Event::Completed(completed), _, _)) = world.events.last() else {
            panic!("it is completed")
        };
        assert_eq!(completed.completion_notes.as_deref(), expected);
    }
}
