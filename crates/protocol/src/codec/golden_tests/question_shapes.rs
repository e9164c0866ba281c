//! The shapes of question events.

use serde_json::json;

use crate::question::event::{
    Addressee, Answered, Asked, ClaimLapsed, ClaimRenewed, Claimed, Decision, Defaulted,
    Event as QuestionEvent, Finished, Given, Kind, Parties, Unanswered, Withdrawn,
};
use crate::step::Event;
use crate::time::Time;

fn parties(to: &str, to_kind: Addressee) -> Parties {
    let name = |text: &str| text.parse().expect("an id");
    Parties { asker: name("bot"), to: name(to), to_kind }
}

fn asked(parties: Parties) -> Asked {
    let mut asked = Asked {
        parties,
        text: "Refund order 7?".to_owned(),
        wants: Kind::Approve,
        options: Vec::new(),
        action: None,
        arguments: None,
        arguments_hash: None,
        hash: String::new(),
        irreversible: false,
        until: Time::from_millis(1_772_000_000_000),
        default: None,
        workers: Vec::new(),
        reference: None,
        task_id: None,
    };
    asked.hash = asked.shown_hash();
    asked
}

pub fn question_shapes() -> Vec<(&'static str, Event)> {
    let hana = || parties("hana", Addressee::Person);
    let workers = || vec!["bot-2".parse().expect("an id")];
    let most = Asked {
        wants: Kind::Choose,
        options: vec!["all".to_owned(), "half".to_owned()],
        action: Some("refund".to_owned()),
        arguments: json!({ "order": 7, "amount": "40.00" }).as_object().cloned(),
        arguments_hash: Some("ab".repeat(32)),
        irreversible: true,
        default: Some(Given::plain(Decision::Decline)),
        workers: workers(),
        reference: Some("thread-42".to_owned()),
        task_id: Some("T-7".parse().expect("an id")),
        ..asked(parties("desk", Addressee::Queue))
    };
    let chosen = Given { decision: Decision::Choose, option: Some("half".to_owned()), text: None };
    let text =
        Given { decision: Decision::Text, option: None, text: Some("By Friday.".to_owned()) };
    let answered = |given, note: Option<&str>| {
        QuestionEvent::Answered(Box::new(Answered {
            parties: hana(),
            by: "agent:hana".to_owned(),
            hash: "cd".repeat(32),
            given,
            note: note.map(str::to_owned),
            workers: if note.is_some() { workers() } else { Vec::new() },
        }))
    };
    let defaulted =
        |given, workers| QuestionEvent::Defaulted(Defaulted { parties: hana(), given, workers });
    let unanswered = |workers| QuestionEvent::Unanswered(Unanswered { parties: hana(), workers });
    let until = Time::from_millis(1_772_000_060_000);
    let by = || "bot".parse().expect("an id");
    let withdrawn = |reason: Option<&str>| {
        QuestionEvent::Withdrawn(Withdrawn { parties: hana(), reason: reason.map(str::to_owned) })
    };
    let finished = |result: Option<&str>| {
        let (parties, result) = (hana(), result.map(str::to_owned));
        QuestionEvent::Finished(Finished { parties, epoch: 2, by: by(), result })
    };
    [
        ("least", QuestionEvent::Asked(Box::new(asked(hana())))),
        ("most", QuestionEvent::Asked(Box::new(most))),
        ("text", QuestionEvent::Asked(Box::new(Asked { wants: Kind::Text, ..asked(hana()) }))),
        ("least", answered(Given::plain(Decision::Approve), None)),
        ("choice", answered(chosen.clone(), None)),
        ("most", answered(text, Some("as agreed"))),
        ("least", defaulted(chosen.clone(), Vec::new())),
        ("most", defaulted(chosen, workers())),
        ("least", unanswered(Vec::new())),
        ("most", unanswered(workers())),
        ("least", withdrawn(None)),
        ("most", withdrawn(Some("the customer left"))),
        ("least", QuestionEvent::Claimed(Claimed { parties: hana(), epoch: 1, by: by(), until })),
        ("least", QuestionEvent::ClaimRenewed(ClaimRenewed { parties: hana(), epoch: 1, until })),
        ("least", QuestionEvent::ClaimLapsed(ClaimLapsed { parties: hana(), epoch: 1 })),
        ("least", finished(None)),
        ("most", finished(Some("refunded"))),
    ]
    .map(|(shape, event)| (shape, Event::Question(event)))
    .to_vec()
}
