//! Recalls: who may ask, until when, and what ends them. Discarding a draft is here too.

use super::script::{World, caller, check};
use crate::handoff::waits::{OpenFilter, Then, WaitingFor, waits};
use crate::message::notice;

#[test]
fn only_what_was_accepted_is_recalled() {
    check(
        r#"
        sender draft h1                     -> draft
        sender recall h1 why                -> wrong_state: cannot recall a handoff that is draft; that needs an accepted or activated one; `discard` ends a draft
        sender initiate h1 saved            -> proposed
        sender recall h1 why                -> wrong_state: cannot recall a handoff that is proposed; that needs an accepted or activated one; before that, `withdraw` takes it back
        target accept h1                    -> accepted
        target recall h1 why                -> not_allowed: only the sender may recall
        coordinator recall h1               -> not_allowed
        sender recall h1 reason=            -> schema_invalid reason
        sender recall h1 reason=x*16385     -> schema_invalid reason
        recalled h1                         -> no
        sender recall h1                    -> accepted
        recalled h1                         -> until +15m
        wait 1m
        sender recall h1 reason=            -> schema_invalid reason
        sender recall h1 reason=again       -> accepted (nothing recorded)
        recalled h1                         -> until +15m
        target reject h1                    -> rejected
        recalled h1                         -> no
        armed h1                            -> nothing
        sender recall h1                    -> wrong_state
        "#,
    );
}

#[test]
fn a_recall_ends_with_its_stage_at_the_latest() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        wait 5m
        sender recall h1                    -> accepted
        armed h1                            -> accepted→activated at +15m, recall at +15m
        target activate h1                  -> activated
        recalled h1                         -> until +15m
        wait 10m
        system elapse_recall h1             -> activated (escalated)
        notes h1                            -> recall took 10m of 10m
        target complete h1                  -> completed
        recalled h1                         -> no
        armed h1                            -> nothing
        "#,
    );
    // A stage that is overdue leaves no time that could be shared.
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        wait 30m
        sender recall h1                    -> accepted
        recalled h1                         -> until +45m
        system elapse h1                    -> accepted (escalated)
        recalled h1                         -> until +45m
        wait 15m
        system elapse_recall h1             -> accepted (escalated)
        notes h1                            -> accepted→activated took 30m of 15m, recall took 15m of 15m
        "#,
    );
}

#[test]
fn the_recall_and_the_stage_escalate_once_each() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        sender recall h1                    -> activated
        armed h1                            -> activated→completed at +24h, recall at +15m
        system elapse_recall h1             -> activated (nothing recorded)
        coordinator elapse_recall h1        -> not_allowed
        wait 15m
        system elapse_recall h1             -> activated (escalated)
        system elapse_recall h1             -> activated (nothing recorded)
        recalled h1                         -> escalated
        armed h1                            -> activated→completed at +24h
        sender recall h1                    -> activated (nothing recorded)
        coordinator extend_sla h1 due=+45m  -> activated
        armed h1                            -> activated→completed at +24h, recall at +1h
        wait 45m
        system elapse h1                    -> activated (nothing recorded)
        system elapse_recall h1             -> activated (escalated)
        armed h1                            -> activated→completed at +24h
        notes h1                            -> recall took 15m of 15m, recall took 1h of 1h
        "#,
    );
    // An extension moves each limit that ends before it, and shortens none.
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        sender recall h1                    -> activated
        coordinator extend_sla h1 due=+10m  -> schema_invalid due
        coordinator extend_sla h1 due=+15m  -> activated (nothing recorded)
        coordinator extend_sla h1 due=+2h   -> activated
        armed h1                            -> activated→completed at +24h, recall at +2h
        coordinator extend_sla h1 due=+48h  -> activated
        armed h1                            -> activated→completed at +48h, recall at +48h
        coordinator extend_sla h1 due=+47h  -> schema_invalid due
        coordinator extend_sla h1 due=+48h  -> activated (nothing recorded)
        "#,
    );
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        coordinator extend_sla h1 due=+2h   -> schema_invalid due
        armed h1                            -> activated→completed at +24h
        "#,
    );
}

#[test]
fn only_a_finished_completion_ends_a_recall() {
    check(
        r#"
        sender initiate h1 policy.requires_verifier=true -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        sender recall h1                    -> activated
        target complete h1                  -> activated
        recalled h1                         -> until +15m
        sender dispute h1                   -> activated
        recalled h1                         -> until +15m
        target complete h1                  -> activated
        sender recall h1                    -> activated (nothing recorded)
        sender confirm h1                   -> completed
        recalled h1                         -> no
        sender recall h1                    -> wrong_state
        "#,
    );
    check(
        r#"
        sender initiate h1 policy.requires_verifier=true -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> activated
        sender recall h1                    -> activated
        target reject h1                    -> rejected
        recalled h1                         -> no
        sender counter h1 context.summary=x -> proposed
        target accept h1                    -> accepted
        recalled h1                         -> no
        sender recall h1                    -> accepted
        coordinator reassign h1             -> closed
        recalled h1                         -> no
        "#,
    );
}

#[test]
fn an_owner_with_open_parts_ends_them_first() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target delegate h1                  -> activated
        sender recall h1                    -> activated
        target reject h1                    -> wrong_state
        helper accept h2                    -> accepted
        sender recall h2                    -> not_allowed
        target recall h2                    -> accepted
        helper reject h2                    -> rejected
        target reject h1                    -> rejected
        "#,
    );
    // A coordinator may close the whole before its parts have ended.
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target delegate h1                  -> activated
        helper accept h2                    -> accepted
        coordinator close h1                -> closed
        target recall h2                    -> accepted
        recalled h2                         -> until +15m
        helper reject h2                    -> rejected
        "#,
    );
}

#[test]
fn the_owner_is_waited_for_first_and_then_a_coordinator_too() {
    let mut world = World::new();
    for line in ["sender initiate h1", "target accept h1", "sender recall h1"] {
        world.play(line);
    }
    let shown = |world: &World| {
        let all = waits(&world.handoffs["h1"]);
        let one = all.iter().map(|wait| format!("{}: {:?}", wait.who.describe(), wait.actions));
        (one.collect::<Vec<_>>(), all.iter().map(|wait| wait.then).collect::<Vec<_>>())
    };
    let owner = r#"agent:target: ["reject", "activate"]"#;
    assert_eq!(shown(&world), (vec![owner.to_owned()], vec![Then::Escalates]));
    assert!(waits(&world.handoffs["h1"])[0].who.is(&caller("target"), None));
    world.play("target activate h1");
    let owner = r#"agent:target: ["reject", "complete"]"#.to_owned();
    assert_eq!(shown(&world), (vec![owner.clone()], vec![Then::Escalates]));
    world.play("wait 15m");
    world.play("system elapse_recall h1");
    let coordinator = r#"coordinator: ["reassign", "extend_sla", "close"]"#.to_owned();
    assert_eq!(shown(&world), (vec![owner, coordinator], vec![Then::Escalated; 2]));
    // The coordinators are told which limit passed.
    let (name, event, _, _) = world.events.last().expect("an escalation");
    let id = super::script::handoff_id(name);
    let notice = notice::of(id, event, &world.handoffs[name]).expect("coordinators are told");
    assert_eq!(notice.payload["blocking_issue"], "recall");
    assert_eq!(notice.payload["recommended_action"], "reassign");
}

/// Both are recorded at once, and the coordinators get one message.
#[test]
fn a_recall_and_a_stage_that_run_out_together_are_told_together() {
    for first in ["elapse", "elapse_recall"] {
        let mut world = World::new();
        for line in ["sender initiate h1", "target accept h1", "wait 3997ms", "sender recall h1"] {
            world.play(line);
        }
        world.play("wait 15m");
        world.play(&format!("system {first} h1"));
        for again in ["elapse", "elapse_recall"] {
            let shown = world.play(&format!("system {again} h1"));
            assert_eq!(shown, "accepted (nothing recorded)");
        }
        let elapsed = "accepted→activated took 903.997s of 15m, recall took 15m of 896.003s";
        assert_eq!(world.play("notes h1"), elapsed);
        let told = world.events.iter().filter_map(|(name, event, _, _)| {
            let id = super::script::handoff_id(name);
            notice::of(id, event, &world.handoffs[name])
        });
        let told: Vec<_> = told.map(|notice| notice.payload).collect();
        let [told] = &told[..] else { panic!("{first}: {told:?}") };
        assert_eq!(told["blocking_issue"], "recall");
        assert_eq!(told["also_overdue"], "accepted→activated");
        assert_eq!(told["recommended_action"], "reassign");
    }
}

#[test]
fn no_part_is_begun_while_the_task_is_asked_back() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target delegate h1                  -> activated
        helper reject h2                    -> rejected
        sender recall h1                    -> activated
        target delegate h1 as=h3 why -> wrong_state: cannot delegate a handoff that is activated; that needs one whose sender does not ask for it back
        target counter h2 context.summary=again why -> wrong_state: cannot counter a handoff that is rejected; that needs the whole to be activated and not asked back
        target reject h1                    -> rejected
        "#,
    );
}

/// The owner is asked first to take back what it delegated; a coordinator is not offered what the
/// parts forbid.
#[test]
fn an_owner_with_open_parts_is_waited_for_until_the_limit_of_the_recall() {
    let mut world = World::new();
    for line in [
        "sender initiate h1",
        "target accept h1",
        "target activate h1",
        "target delegate h1",
        "sender recall h1",
    ] {
        world.play(line);
    }
    let shown = |world: &World| {
        let all = waits(&world.handoffs["h1"]);
        let one = all.iter().map(|wait| {
            let until = wait.until.map(|until| until.since(wait.since).to_string());
            let until = until.unwrap_or("-".to_owned());
            let n_parts = wait.parts.len();
            format!("{} {:?} of {n_parts} for {until}", wait.who.describe(), wait.actions)
        });
        one.collect::<Vec<_>>()
    };
    let owner = r#"agent:target ["withdraw", "recall"] of 1 for 15m"#;
    assert_eq!(shown(&world), [owner, "parts [] of 1 for 24h"]);
    let filter = |is_overdue| OpenFilter {
        waiting_for: Some(WaitingFor::Caller),
        is_overdue: Some(is_overdue),
        ..OpenFilter::default()
    };
    let keeps = |world: &World, is_overdue| {
        let handoff = &world.handoffs["h1"];
        filter(is_overdue).keeps(handoff, &caller("target"), None, world.now)
    };
    assert!(keeps(&world, false) && !keeps(&world, true));
    world.play("wait 15m");
    world.play("system elapse_recall h1");
    let coordinator = r#"coordinator ["extend_sla", "close"] of 0 for -"#;
    assert_eq!(shown(&world), [owner, "parts [] of 1 for 24h", coordinator]);
    assert!(keeps(&world, true) && !keeps(&world, false), "the time of the recall ran out");
    let (name, event, _, _) = world.events.last().expect("an escalation");
    let id = super::script::handoff_id(name);
    let notice = notice::of(id, event, &world.handoffs[name]).expect("coordinators are told");
    assert_eq!(notice.payload["recommended_action"], "extend_sla");
    world.play("target withdraw h2");
    let owner = r#"agent:target ["reject", "complete"] of 0 for 15m"#;
    let coordinator = r#"coordinator ["reassign", "extend_sla", "close"] of 0 for -"#;
    assert_eq!(shown(&world), [owner, coordinator]);
}

/// Also after a coordinator reassigned a part that had begun.
#[test]
fn the_owner_of_the_whole_takes_its_parts_back() {
    let mut world = World::new();
    for line in [
        "sender initiate h1",
        "target accept h1",
        "target activate h1",
        "target delegate h1",
        "helper accept h2",
        "helper activate h2",
        "coordinator reassign h2 as=h3 to=third",
        "target delegate h1 as=h4 to_agent=other",
        "other accept h4",
        "sender recall h1",
    ] {
        world.play(line);
    }
    let shown = |world: &World| {
        let all = waits(&world.handoffs["h1"]);
        let one = all.iter().map(|wait| format!("{} {:?}", wait.who.describe(), wait.actions));
        one.collect::<Vec<_>>()
    };
    let asked = r#"agent:target ["withdraw", "recall"]"#;
    assert_eq!(shown(&world), [asked, "parts []"]);
    for former_owner in ["helper withdraw h3", "helper recall h3"] {
        assert_eq!(world.play(former_owner), "not_allowed");
    }
    world.play("target recall h4");
    assert_eq!(shown(&world), [asked, "parts []"], "the other part is not asked back");
    world.play("target withdraw h3");
    assert_eq!(shown(&world), ["parts []"; 2], "the owner has asked for all parts");
    let untils = waits(&world.handoffs["h1"]);
    let untils = untils.iter().filter_map(|wait| wait.until.map(|until| until.since(wait.since)));
    assert_eq!(untils.map(|it| it.to_string()).collect::<Vec<_>>(), ["15m", "24h"]);
    world.play("other reject h4");
    assert_eq!(shown(&world), [r#"agent:target ["reject", "complete"]"#]);
}

#[test]
fn a_draft_is_discarded_by_its_sender_once() {
    check(
        r#"
        sender draft h1                     -> draft
        target discard h1                   -> not_allowed
        coordinator discard h1              -> not_allowed
        sender discard h1 why=x*16385       -> schema_invalid why
        sender discard h1 why=mistake       -> closed
        notes h1                            -> closed from draft
        sender discard h1                   -> closed (nothing recorded)
        sender initiate h1 saved            -> wrong_state
        sender draft h1                     -> wrong_state
        sender recall h1                    -> wrong_state
        sender draft h2                     -> draft
        coordinator close h2                -> closed
        sender discard h2                   -> closed (nothing recorded)
        sender initiate h3                  -> proposed
        sender discard h3 why               -> wrong_state: cannot discard a handoff that is proposed; that needs a draft
        "#,
    );
}
