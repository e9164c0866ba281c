//! The lines of the audit log, byte for byte: all seven kinds, every field in its order.

use super::script::{World, handoff_id};
use crate::handoff::audit_line::lines;

/// Runs a script and compares the lines that follow from its events.
fn check_lines(script: &str, expected: &str) {
    let mut world = World::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        world.play(line);
    }
    let mut actual = String::new();
    for (name, event, actor, at) in &world.events {
        for line in lines(handoff_id(name), event, actor, *at) {
            actual.push_str(&serde_json::to_string(&line).expect("a line is JSON"));
            actual.push('\n');
        }
    }
    let expected: Vec<_> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(actual.lines().collect::<Vec<_>>(), expected, "\n{actual}");
}

#[test]
fn from_draft_to_closed() {
    check_lines(
        r#"
        sender draft h1
        sender draft h1
        sender initiate h1 saved
        wait 1s
        target accept h1 notes=gladly
        wait 1s
        target activate h1
        wait 500ms
        target complete h1 completion_notes=done
        wait 500ms
        sender close h1 closure_notes=thanks
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"validating","actor":"agent:target","timestamp":"2026-02-21T14:00:01Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"validating","to_status":"accepted","actor":"agent:target","timestamp":"2026-02-21T14:00:01Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":["schema","policy","chain","package_hash"],"failed":[],"timestamp":"2026-02-21T14:00:01Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"accepted","to_status":"activated","actor":"agent:target","timestamp":"2026-02-21T14:00:02Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"activated","to_status":"completed","actor":"agent:target","timestamp":"2026-02-21T14:00:02.5Z"}
        {"event":"handoff_completed","handoff_id":"01938c2e-0000-7000-8000-000000000001","actor":"agent:target","completion_notes":"done","timestamp":"2026-02-21T14:00:02.5Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"completed","to_status":"closed","actor":"agent:sender","timestamp":"2026-02-21T14:00:03Z"}
        {"event":"handoff_closed","handoff_id":"01938c2e-0000-7000-8000-000000000001","actor":"agent:sender","closure_notes":"thanks","timestamp":"2026-02-21T14:00:03Z"}
        "#,
    );
}

#[test]
fn rejected_by_the_target_and_reopened() {
    check_lines(
        r#"
        sender initiate h1
        target reject h1 reason=missing_artifact detail=where? suggested_fix=attach
        sender close h1
        sender initiate h2
        target accept h2
        target activate h2
        target reject h2 reason=capacity_unavailable detail=full
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"rejected","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":[],"failed":["missing_artifact"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_rejected","handoff_id":"01938c2e-0000-7000-8000-000000000001","reason":"missing_artifact","detail":"where?","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"rejected","to_status":"closed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_closed","handoff_id":"01938c2e-0000-7000-8000-000000000001","actor":"agent:sender","closure_notes":null,"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000002","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000002","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000002","from_status":"proposed","to_status":"validating","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000002","from_status":"validating","to_status":"accepted","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000002","passed":["schema","policy","chain","package_hash"],"failed":[],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000002","from_status":"accepted","to_status":"activated","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000002","from_status":"activated","to_status":"rejected","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000002","passed":[],"failed":["capacity_unavailable"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_rejected","handoff_id":"01938c2e-0000-7000-8000-000000000002","reason":"capacity_unavailable","detail":"full","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        "#,
    );
}

#[test]
fn refused_by_the_gate() {
    check_lines(
        r#"
        sender initiate h1
        tamper h1 policy.export_restrictions=["agent:target"]
        target accept h1
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"validating","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"validating","to_status":"rejected","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":["schema","chain"],"failed":["policy","package_hash"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_rejected","handoff_id":"01938c2e-0000-7000-8000-000000000001","reason":"policy_violation","detail":"policy: policy.export_restrictions[0]: it may not go to `target`; package_hash: there is no package with a true seal","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        "#,
    );
}

#[test]
fn overdue_and_forced() {
    check_lines(
        r#"
        sender initiate h1
        wait 6m
        system elapse h1
        operator close h1 closure_notes=stuck
        sender draft h2
        coordinator close h2
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_escalation","handoff_id":"01938c2e-0000-7000-8000-000000000001","trigger":"timeout","escalated_to":"coordinator","stage":"proposed→validating","sla_configured":"5m","timestamp":"2026-02-21T14:06:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"closed","actor":"operator:operator","timestamp":"2026-02-21T14:06:00Z"}
        {"event":"handoff_closed","handoff_id":"01938c2e-0000-7000-8000-000000000001","actor":"operator:operator","closure_notes":"stuck","timestamp":"2026-02-21T14:06:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000002","from_status":"draft","to_status":"closed","actor":"agent:coordinator","timestamp":"2026-02-21T14:06:00Z"}
        {"event":"handoff_closed","handoff_id":"01938c2e-0000-7000-8000-000000000002","actor":"agent:coordinator","closure_notes":null,"timestamp":"2026-02-21T14:06:00Z"}
        "#,
    );
}

#[test]
fn looked_at_approved_countered_and_taken_back() {
    check_lines(
        r#"
        sender initiate h1 policy.human_gate=required artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]
        target accept h1
        system verified h1 log=unavailable
        system verified h1 log=verified
        human refuse h1 why=later
        sender counter h1 context.summary=changed
        coordinator extend_sla h1
        human approve h1
        sender withdraw h1 why=mistake
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"validating","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":[],"failed":["verification_unavailable"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":["schema","policy","chain","package_hash","artifact:log"],"failed":[],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"validating","to_status":"rejected","actor":"agent:human","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":[],"failed":["approval"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_rejected","handoff_id":"01938c2e-0000-7000-8000-000000000001","reason":"policy_violation","detail":"later","actor":"agent:human","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"rejected","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"closed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_closed","handoff_id":"01938c2e-0000-7000-8000-000000000001","actor":"agent:sender","closure_notes":"mistake","timestamp":"2026-02-21T14:00:00Z"}
        "#,
    );
}

#[test]
fn items_of_a_work_queue() {
    check_lines(
        r#"
        sender initiate h1 task.external_refs=[{"type":"workq_item","value":"item"},{"type":"workq_item","value":"gone"}]
        target accept h1
        target activate h1
        system workq_answered h1 item=transferred gone=missing
        target reject h1
        system workq_answered h1 item=unavailable gone=missing
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"validating","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"validating","to_status":"accepted","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":["schema","policy","chain","package_hash"],"failed":[],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"accepted","to_status":"activated","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_workq","handoff_id":"01938c2e-0000-7000-8000-000000000001","workq_status":"transferred","owner":"target","items":["item"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"activated","to_status":"rejected","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":[],"failed":["other"],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_rejected","handoff_id":"01938c2e-0000-7000-8000-000000000001","reason":"other","detail":"not mine to do","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_degradation","handoff_id":"01938c2e-0000-7000-8000-000000000001","integration":"workq","reason":"unavailable","detail":"item is unavailable","owner":"sender","item_status":"orphaned","items":["item"],"timestamp":"2026-02-21T14:00:00Z"}
        "#,
    );
}

/// Each verification of final artifacts has its line; the confirmation is in another file.
#[test]
fn a_completion_that_is_looked_at_and_confirmed() {
    check_lines(
        r#"
        sender initiate h1 policy.requires_verifier=true
        target accept h1
        target activate h1
        wait 1s
        target complete h1 final_artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]
        system verified h1 log=missing
        target complete h1 completion_notes=done final_artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]
        system verified h1 log=verified
        sender confirm h1
        "#,
        r#"
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"draft","to_status":"proposed","actor":"agent:sender","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_created","handoff_id":"01938c2e-0000-7000-8000-000000000001","task_id":"t1","from":"sender","to":"target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"proposed","to_status":"validating","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"validating","to_status":"accepted","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":["schema","policy","chain","package_hash"],"failed":[],"timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"accepted","to_status":"activated","actor":"agent:target","timestamp":"2026-02-21T14:00:00Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":[],"failed":["artifact:log"],"timestamp":"2026-02-21T14:00:01Z"}
        {"event":"handoff_verification","handoff_id":"01938c2e-0000-7000-8000-000000000001","passed":["artifact:log"],"failed":[],"timestamp":"2026-02-21T14:00:01Z"}
        {"event":"handoff_transition","handoff_id":"01938c2e-0000-7000-8000-000000000001","from_status":"activated","to_status":"completed","actor":"agent:sender","timestamp":"2026-02-21T14:00:01Z"}
        {"event":"handoff_completed","handoff_id":"01938c2e-0000-7000-8000-000000000001","actor":"agent:sender","completion_notes":"done","timestamp":"2026-02-21T14:00:01Z"}
        "#,
    );
}
