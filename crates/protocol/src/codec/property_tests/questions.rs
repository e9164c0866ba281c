//! Arbitrary events of questions.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use super::{agent, task, text, time};
use crate::question::event::{
    Addressee, Answered, Asked, ClaimLapsed, ClaimRenewed, Claimed, Decision, Defaulted,
    Event as QuestionEvent, Finished, Given, Kind, Parties, Unanswered, Withdrawn,
};
use crate::step::Event;

pub fn questions() -> impl Strategy<Value = Event> {
    let workers = || vec(agent(), 0..3);
    let answered = (parties(), text(), text(), given(), option::of(text()), workers());
    let answered = answered.prop_map(|(parties, by, hash, given, note, workers)| {
        QuestionEvent::Answered(Box::new(Answered { parties, by, hash, given, note, workers }))
    });
    let defaulted = (parties(), given(), workers()).prop_map(|(parties, given, workers)| {
        QuestionEvent::Defaulted(Defaulted { parties, given, workers })
    });
    let unanswered = (parties(), workers())
        .prop_map(|(parties, workers)| QuestionEvent::Unanswered(Unanswered { parties, workers }));
    let withdrawn = (parties(), option::of(text()))
        .prop_map(|(parties, reason)| QuestionEvent::Withdrawn(Withdrawn { parties, reason }));
    let claimed =
        (parties(), any::<u64>(), agent(), time()).prop_map(|(parties, epoch, by, until)| {
            QuestionEvent::Claimed(Claimed { parties, epoch, by, until })
        });
    let renewed = (parties(), any::<u64>(), time()).prop_map(|(parties, epoch, until)| {
        QuestionEvent::ClaimRenewed(ClaimRenewed { parties, epoch, until })
    });
    let lapsed = (parties(), any::<u64>())
        .prop_map(|(parties, epoch)| QuestionEvent::ClaimLapsed(ClaimLapsed { parties, epoch }));
    let finished = (parties(), any::<u64>(), agent(), option::of(text()));
    let finished = finished.prop_map(|(parties, epoch, by, result)| {
        QuestionEvent::Finished(Finished { parties, epoch, by, result })
    });
    prop_oneof![
        2 => asked(),
        1 => answered,
        1 => defaulted,
        1 => unanswered,
        1 => withdrawn,
        1 => claimed,
        1 => renewed,
        1 => lapsed,
        1 => finished,
    ]
    .prop_map(Event::Question)
}

fn asked() -> impl Strategy<Value = QuestionEvent> {
    let said = (parties(), text(), kind(), vec(text(), 0..3), option::of(text()));
    let hashes = (option::of(fields()), option::of(text()), text(), any::<bool>(), time());
    let more = (option::of(given()), vec(agent(), 0..3), option::of(text()), option::of(task()));
    (said, hashes, more).prop_map(|(said, hashes, more)| {
        let (parties, text, wants, options, action) = said;
        let (arguments, arguments_hash, hash, irreversible, until) = hashes;
        let (default, workers, reference, task_id) = more;
        QuestionEvent::Asked(Box::new(Asked {
            parties,
            text,
            wants,
            options,
            action,
            arguments,
            arguments_hash,
            hash,
            irreversible,
            until,
            default,
            workers,
            reference,
            task_id,
        }))
    })
}

fn fields() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), text()), 0..3)
        .prop_map(|all| all.into_iter().map(|(name, it)| (name, Value::String(it))).collect())
}

fn parties() -> impl Strategy<Value = Parties> {
    let kinds = select(vec![Addressee::Person, Addressee::Queue]);
    (agent(), agent(), kinds).prop_map(|(asker, to, to_kind)| Parties { asker, to, to_kind })
}

fn kind() -> impl Strategy<Value = Kind> {
    select(vec![Kind::Approve, Kind::Choose, Kind::Text])
}

fn given() -> impl Strategy<Value = Given> {
    let decisions = vec![Decision::Approve, Decision::Decline, Decision::Choose, Decision::Text];
    (select(decisions), option::of(text()), option::of(text()))
        .prop_map(|(decision, option, text)| Given { decision, option, text })
}
