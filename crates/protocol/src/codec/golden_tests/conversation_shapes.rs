//! The shapes of conversation events.

use serde_json::json;

use super::handoff_shapes::{agent, time};
use crate::conversation::Event as ConversationEvent;
use crate::conversation::answer_within::ANSWER_WITHIN_DEFAULT;
use crate::conversation::event::{
    Closed, Delivered, Extended, Fallback, HolderSilent, How, NotHeard, Opened, ReplyOverdue,
    Routed, Said, SignalsObserved, Speaker, Unreached, Updated, is_line,
};
use crate::conversation::not_heard::Why;
use crate::conversation::part::{Attachment, FilePart, Part, Text};
use crate::conversation::state::{Customer, Setup};
use crate::conversation::topology::Topology;
use crate::conversation::turn_route::{TurnDecision, TurnOutcome, TurnRoute};
use crate::conversation::wait::OwedKind;
use crate::ids::GraphId;
use crate::route::graph::Scalar;
use crate::signal::{Escalate, EscalationRule, EscalationRules, SignalKind, SignalScore};
use crate::step::Event;

pub fn conversation_shapes() -> Vec<(&'static str, Event)> {
    let shapes = opened()
        .into_iter()
        .chain(said())
        .chain(routed())
        .chain(with_graph())
        .chain(with_signals())
        .chain(told())
        .chain([
            (
                "least",
                ConversationEvent::Closed(Closed { holder: agent("bob"), reason: String::new() }),
            ),
            (
                "most",
                ConversationEvent::Closed(Closed {
                    holder: agent("bob"),
                    reason: "solved".to_owned(),
                }),
            ),
        ]);
    shapes.map(|(shape, event)| (shape, Event::Conversation(event))).collect()
}

#[test]
fn the_name_of_an_event_tells_whether_it_is_a_line() {
    for (shape, event) in conversation_shapes() {
        let Event::Conversation(event) = event else { panic!("{shape}: {event:?}") };
        assert_eq!(is_line(event.name()), event.number().is_some(), "{}", event.name());
    }
}

fn opened() -> Vec<(&'static str, ConversationEvent)> {
    let opened = |customer, topology| {
        let setup = Setup {
            opened_by: "agent:shop".to_owned(),
            customer,
            topology,
            graph: None,
            attributes: Default::default(),
            customer_queues: Vec::new(),
            signals: EscalationRules::default(),
            hops_max: 8,
        };
        ConversationEvent::Opened(Box::new(Opened { holder: agent("bob"), setup }))
    };
    let customer = Customer {
        external_id: Some("c-1".to_owned()),
        name: Some("Ana".to_owned()),
        language: Some("es".to_owned()),
    };
    let workers = vec![agent("bob"), agent("carol")];
    let members = workers.clone();
    vec![
        ("least", opened(Customer::default(), Topology::Free)),
        ("most", opened(customer, Topology::Supervisor { supervisor: agent("router"), workers })),
        (
            "swarm",
            opened(Customer::default(), Topology::Swarm { members, default_agent: agent("bob") }),
        ),
    ]
}

fn said() -> Vec<(&'static str, ConversationEvent)> {
    let text = Part::Text(Text { text: "Hello".to_owned() });
    let attachment = Part::Attachment(Attachment {
        name: "bill.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        data: "aGk=".to_owned(),
        sha256: Some("8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4".to_owned()),
        size_bytes: Some(2),
    });
    let file = Part::File(FilePart {
        file: format!("sha256:{}", "ab".repeat(32)).parse().expect("a file"),
        name: "bill.pdf".to_owned(),
        media_type: "application/pdf".to_owned(),
    });
    let least = Said {
        holder: agent("bob"),
        number: 1,
        by: Speaker::Customer,
        epoch: 1,
        parts: vec![text.clone()],
        in_reply_to: None,
        signals: Vec::new(),
        escalation: None,
        route: None,
        deliver: false,
        parting: false,
        listener: None,
        answer_within: None,
    };
    let most = Said {
        number: 2,
        by: Speaker::Agent(agent("bob")),
        parts: vec![text.clone(), attachment],
        in_reply_to: Some(1),
        ..least.clone()
    };
    let answer_within = Some(ANSWER_WITHIN_DEFAULT);
    let not_heard = |why| {
        ConversationEvent::NotHeard(NotHeard {
            holder: agent("carol"),
            agent: agent("bob"),
            epoch: 1,
            current: 2,
            why,
            parts: vec![text.clone()],
        })
    };
    vec![
        ("told", ConversationEvent::Said(Said { deliver: true, ..least.clone() })),
        (
            "listened",
            ConversationEvent::Said(Said { listener: Some(agent("ivan")), ..least.clone() }),
        ),
        ("parting", ConversationEvent::Said(Said { parting: true, ..most.clone() })),
        ("limited", ConversationEvent::Said(Said { answer_within, ..least.clone() })),
        ("file", ConversationEvent::Said(Said { parts: vec![file], ..least.clone() })),
        ("least", ConversationEvent::Said(least)),
        ("most", ConversationEvent::Said(most)),
        ("least", not_heard(Why::EpochOutdated)),
        ("not_holder", not_heard(Why::NotHolder)),
        ("answered", not_heard(Why::AlreadyAnswered)),
    ]
}

fn routed() -> Vec<(&'static str, ConversationEvent)> {
    let least = Routed {
        holder: agent("bob"),
        to: agent("carol"),
        number: 3,
        epoch: 2,
        how: How::AgentHandoff,
        reason: String::new(),
        context: String::new(),
        customer_text: String::new(),
        update: Default::default(),
        instead_of: None,
        route: None,
        deliver: false,
        answer_within: None,
    };
    let most = Routed {
        how: How::SupervisorRouting,
        reason: "billing".to_owned(),
        context: "a bill from May".to_owned(),
        update: serde_json::from_value(json!({ "bill": 7, "draft": null })).expect("a map"),
        instead_of: Some(agent("dora")),
        ..least.clone()
    };
    let chosen = Routed { how: How::UserSelection, ..least.clone() };
    let words = "Carol knows more about bills.".to_owned();
    let with_words = Routed { customer_text: words, ..most.clone() };
    vec![
        ("told", ConversationEvent::Routed(Routed { deliver: true, ..least.clone() })),
        ("least", ConversationEvent::Routed(least)),
        ("most", ConversationEvent::Routed(most)),
        ("customer_text", ConversationEvent::Routed(with_words)),
        ("chosen", ConversationEvent::Routed(chosen)),
    ]
}

fn set_up_with(graph: GraphId) -> Setup {
    Setup {
        opened_by: "agent:shop".to_owned(),
        customer: Customer::default(),
        topology: Topology::Free,
        graph: Some(graph),
        attributes: [("tier".to_owned(), Scalar::new("gold"))].into(),
        customer_queues: Vec::new(),
        signals: EscalationRules::default(),
        hops_max: 8,
    }
}

/// The events of a conversation with rules about signals and no graph.
fn with_signals() -> Vec<(&'static str, ConversationEvent)> {
    let rule = EscalationRule {
        name: "angry".to_owned(),
        signal: SignalKind::Frustration,
        above: 0.7,
        turns: 2,
        within: None,
        reason: None,
    };
    let graph = "support".parse().expect("a name");
    let setup =
        Setup { graph: None, signals: EscalationRules { rules: vec![rule] }, ..set_up_with(graph) };
    let least = SignalsObserved {
        holder: agent("bob"),
        epoch: 1,
        message: 1,
        signals: vec![SignalScore { signal: SignalKind::Frustration, score: 0.9 }],
        escalation: None,
    };
    let escalation = Escalate { rule: "angry".to_owned(), reason: "too angry".to_owned() };
    let most = SignalsObserved { escalation: Some(escalation), ..least.clone() };
    vec![
        ("signals", ConversationEvent::Opened(Box::new(Opened { holder: agent("bob"), setup }))),
        ("least", ConversationEvent::SignalsObserved(least)),
        ("most", ConversationEvent::SignalsObserved(most)),
    ]
}

/// The further events of a conversation with a graph.
fn with_graph() -> Vec<(&'static str, ConversationEvent)> {
    let graph: GraphId = "support".parse().expect("a name");
    let setup = set_up_with(graph.clone());
    let said = |route| Said {
        holder: agent("bob"),
        number: 1,
        by: Speaker::Customer,
        epoch: 1,
        parts: vec![Part::Text(Text { text: "A refund, NOW".to_owned() })],
        in_reply_to: None,
        signals: vec![
            SignalScore { signal: SignalKind::Frustration, score: 0.716 },
            SignalScore { signal: SignalKind::Shouting, score: 0.4 },
        ],
        escalation: Some(Escalate {
            rule: "frustrated".to_owned(),
            reason: "frustration above 0.7 for 2 turns".to_owned(),
        }),
        route: Some(route),
        deliver: false,
        parting: false,
        answer_within: None,
        listener: None,
    };
    let route = |outcome| TurnRoute {
        graph: graph.clone(),
        version: Some(2),
        outcome,
        decision: Some(TurnDecision {
            from: "triage".to_owned(),
            to: "refunds".to_owned(),
            reason: Some("about money".to_owned()),
            rule_index: Some(1),
            intent_label: Some("refund".to_owned()),
            intent_confidence: Some(0.75),
            latency_ms: 0.125,
        }),
        path: vec!["triage".to_owned(), "refunds".to_owned()],
    };
    let routed = Routed {
        holder: agent("bob"),
        to: agent("carol"),
        number: 2,
        epoch: 2,
        how: How::Graph,
        reason: String::new(),
        context: String::new(),
        customer_text: String::new(),
        update: Default::default(),
        instead_of: None,
        route: Some(route(TurnOutcome::Moved)),
        deliver: false,
        answer_within: None,
    };
    let choosing = Setup { customer_queues: vec![agent("billing")], ..setup.clone() };
    let choosing = Opened { holder: agent("bob"), setup: choosing };
    let opened = Opened { holder: agent("bob"), setup };
    let told = |outcome| ConversationEvent::Said(said(route(outcome)));
    let no_graph = ConversationEvent::Said(said(TurnRoute::no_graph(graph.clone())));
    vec![
        ("graph", ConversationEvent::Opened(Box::new(opened))),
        ("customer_queues", ConversationEvent::Opened(Box::new(choosing))),
        ("stayed", told(TurnOutcome::Stayed)),
        ("human_asked", told(TurnOutcome::HumanAsked)),
        ("nobody_to_ask", told(TurnOutcome::NobodyToAsk)),
        ("unknown_agent", told(TurnOutcome::UnknownAgent)),
        ("no_graph", no_graph),
        ("graph", ConversationEvent::Routed(routed)),
    ]
}

fn told() -> Vec<(&'static str, ConversationEvent)> {
    let holder = agent("bob");
    let delivered = Delivered { holder: holder.clone(), epoch: 2, through: 5 };
    let detail = "the agent cannot be reached".to_owned();
    let update = json!({ "bill": 7, "plan": null }).as_object().cloned().unwrap_or_default();
    let updated = Updated { holder: holder.clone(), epoch: 2, update };
    let silent = HolderSilent {
        holder: holder.clone(),
        epoch: 2,
        number: 6,
        owed: OwedKind::Answer,
        since: time(),
        within: ANSWER_WITHIN_DEFAULT,
        next: Fallback::Nothing,
        no_person: false,
    };
    let owed = OwedKind::Transfer;
    let to_agent = HolderSilent { next: Fallback::Agent(agent("carol")), ..silent.clone() };
    let next = Fallback::Queue(agent("default"));
    let unkept = HolderSilent { owed, next, ..silent.clone() };
    let alone = HolderSilent { no_person: true, ..silent.clone() };
    let extended = Extended { holder: holder.clone(), epoch: 2, until: time() };
    let overdue = ReplyOverdue {
        holder: agent("hana"),
        epoch: 3,
        queue: agent("default"),
        message: 7,
        since: time(),
        within: ANSWER_WITHIN_DEFAULT,
    };
    let unreached = Unreached { holder, epoch: 2, through: 5, detail, next: None };
    let passed_on = Some(Fallback::Agent(agent("carol")));
    let passed_on = Unreached { next: passed_on, ..unreached.clone() };
    vec![
        ("least", ConversationEvent::HolderSilent(silent)),
        ("agent", ConversationEvent::HolderSilent(to_agent)),
        ("unkept", ConversationEvent::HolderSilent(unkept)),
        ("alone", ConversationEvent::HolderSilent(alone)),
        ("least", ConversationEvent::Extended(extended)),
        ("least", ConversationEvent::ReplyOverdue(overdue)),
        ("least", ConversationEvent::Delivered(delivered)),
        ("least", ConversationEvent::Unreached(unreached)),
        ("next", ConversationEvent::Unreached(passed_on)),
        ("least", ConversationEvent::Updated(updated)),
    ]
}
