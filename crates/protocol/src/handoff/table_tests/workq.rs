//! The items of a work queue follow the task, and the task does not follow them.

use super::script::{World, check};
use crate::handoff::command::Command;
use crate::handoff::state::Handoff;
use crate::handoff::workq::{Answer, Answered, Degradation, ITEM_BYTES_MAX, ITEMS_MAX, Way, Workq};

const ITEM: &str = r#"task.external_refs=[{"type":"workq_item","value":"item"}]"#;

/// Two items, one of them named twice, and a reference that is no item.
const ITEMS: &str = concat!(
    r#"task.external_refs=[{"type":"workq_item","value":"item"},{"type":"url","value":"u"},"#,
    r#"{"type":"workq_item","value":"other"},{"type":"workq_item","value":"item"}]"#,
);

#[test]
fn nothing_is_asked_about_a_task_without_an_item() {
    check(
        r#"
        sender initiate h1 task.external_refs=[{"type":"url","value":"u"}] -> proposed
        target accept h1                -> accepted
        target activate h1              -> activated
        workq h1                        -> not_applicable
        system workq_answered h1 item=transferred -> activated (nothing recorded)
        "#,
    );
}

#[test]
fn what_the_queue_answers_is_the_status() {
    for (answers, status) in [
        ("item=transferred other=transferred", "transferred"),
        ("item=transferred other=missing", "transferred"),
        ("item=missing other=missing", "not_applicable"),
        ("item=transferred other=unavailable", "degraded"),
        ("item=missing other=refused", "degraded"),
        ("item=not_configured other=not_configured", "degraded"),
        ("item=bad_answer other=transferred", "degraded"),
        // The package was erased, so no item is known.
        ("", "not_applicable"),
    ] {
        check(&format!(
            r#"
            sender initiate h1 {ITEMS}  -> proposed
            target accept h1            -> accepted
            workq h1                    -> not_applicable
            target activate h1          -> activated (wants transfer)
            workq h1                    -> pending
            hold t1                     -> h1 [sender target]
            target workq_answered h1 {answers} -> not_allowed
            system workq_answered h1 {answers} of=another -> activated (nothing recorded) (wants transfer)
            system workq_answered h1 {answers} way=back -> activated (nothing recorded) (wants transfer)
            system workq_answered h1 {answers} -> activated
            workq h1                    -> {status}
            system workq_answered h1 item=transferred -> activated (nothing recorded)
            target complete h1          -> completed
            sender close h1             -> closed
            workq h1                    -> {status}
            "#
        ));
    }
}

#[test]
fn nothing_waits_for_the_queue() {
    check(&format!(
        r#"
        sender initiate h1 {ITEM}       -> proposed
        target accept h1                -> accepted
        target activate h1              -> activated (wants transfer)
        target complete h1              -> completed (wants transfer)
        hold t1                         -> free [sender target]
        system workq_answered h1 item=transferred -> completed
        workq h1                        -> transferred
        "#
    ));
    check(&format!(
        r#"
        sender initiate h1 {ITEM}       -> proposed
        target accept h1                -> accepted
        target activate h1              -> activated (wants transfer)
        target complete h1              -> completed (wants transfer)
        sender close h1                 -> closed
        workq h1                        -> degraded
        system workq_answered h1 item=transferred -> closed (nothing recorded)
        "#
    ));
}

#[test]
fn a_task_that_is_given_back_takes_its_item_with_it() {
    for answered in ["item=transferred", "item=transferred of=another"] {
        let mut world = World::new();
        for line in
            [&format!("sender initiate h1 {ITEM}"), "target accept h1", "target activate h1"]
        {
            world.play(line);
        }
        world.play(&format!("system workq_answered h1 {answered}"));
        assert_eq!(world.play("target reject h1"), "rejected (wants transfer)", "{answered}");
        assert_eq!(
            world.play("system workq_answered h1 item=transferred way=over"),
            "rejected (nothing recorded) (wants transfer)"
        );
        assert_eq!(world.play("system workq_answered h1 item=transferred"), "rejected");
        assert_eq!(world.play("workq h1"), "transferred");
    }
    check(&format!(
        r#"
        sender initiate h1 {ITEM}       -> proposed
        target accept h1                -> accepted
        target activate h1              -> activated (wants transfer)
        system workq_answered h1 item=unavailable -> activated
        target reject h1                -> rejected
        workq h1                        -> degraded
        sender counter h1 context.summary=changed -> proposed
        workq h1                        -> degraded
        target accept h1                -> accepted
        target activate h1              -> activated (wants transfer)
        system workq_answered h1 item=transferred -> activated
        workq h1                        -> transferred
        target reject h1                -> rejected (wants transfer)
        sender counter h1 context.summary=again -> proposed
        workq h1                        -> degraded
        "#
    ));
}

#[test]
fn items_have_names_of_some_length_and_are_few() {
    let long = format!(r#"[{{"type":"workq_item","value":"{}"}}]"#, "x".repeat(ITEM_BYTES_MAX + 1));
    let many = [r#"{"type":"workq_item","value":"x"}"#; ITEMS_MAX + 1].join(",");
    let other = format!(r#"[{{"type":"ticket","value":"{}"}}]"#, "x".repeat(ITEM_BYTES_MAX + 1));
    check(&format!(
        r#"
        sender draft h1 task.external_refs=[{{"type":"workq_item","value":""}}] -> schema_invalid task.external_refs[0].value
        sender initiate h1 task.external_refs={long} -> schema_invalid task.external_refs[0].value
        sender initiate h1 task.external_refs=[{many}] -> schema_invalid task.external_refs[{ITEMS_MAX}]
        sender initiate h1 task.external_refs={other} -> proposed
        "#
    ));
}

impl World {
    /// The answer for each item, as in `item=transferred other=missing`. `of=` names another
    /// package, and `way=` another way than the one asked about.
    pub fn read_answered(&self, name: &str, request: &[&str]) -> Command {
        let handoff = self.handoffs.get(name);
        let mut package_hash =
            handoff.map_or_else(String::new, |handoff| handoff.document_hash().to_owned());
        let mut way = match handoff {
            Some(Handoff::Made(made)) if made.workq == Workq::Asked(Way::Back) => Way::Back,
            Some(_) | None => Way::Over,
        };
        let mut answers = Vec::new();
        for word in request {
            let (item, found) = word.split_once('=').expect("item=answer");
            let answer = match (item, found) {
                ("of", hash) => {
                    package_hash = hash.to_owned();
                    continue;
                }
                ("way", found) => {
                    way = if found == "back" { Way::Back } else { Way::Over };
                    continue;
                }
                (_, "transferred") => Answer::Transferred,
                (_, "missing") => Answer::Missing,
                (_, reason) => Answer::Degraded {
                    reason: *Degradation::ALL
                        .iter()
                        .find(|known| known.as_str() == reason)
                        .expect("a reason"),
                    detail: format!("{item} is {reason}"),
                },
            };
            answers.push(Answered { item: item.to_owned(), answer });
        }
        Command::WorkqAnswered { package_hash, way, answers }
    }
}
