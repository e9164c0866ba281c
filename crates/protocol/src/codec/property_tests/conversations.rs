//! Arbitrary events of conversations.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use super::{agent, text, time};
use crate::conversation::Event as ConversationEvent;
use crate::conversation::event::{
    Closed, Delivered, Extended, Fallback, HolderSilent, How, NotHeard, Opened, ReplyOverdue,
    Routed, Said, SignalsObserved, Speaker, Unreached, Updated,
};
use crate::conversation::not_heard::Why;
use crate::conversation::part::{Attachment, Part, Text};
use crate::conversation::state::{Customer, Setup};
use crate::conversation::topology::Topology;
use crate::conversation::turn_route::{TurnDecision, TurnOutcome, TurnRoute};
use crate::conversation::wait::OwedKind;
use crate::ids::GraphId;
use crate::route::graph::Scalar;
use crate::signal::{Escalate, EscalationRule, EscalationRules, SignalKind, SignalScore};
use crate::step::Event;
use crate::time::Span;

pub fn conversations() -> impl Strategy<Value = Event> {
    prop_oneof![
        opened(),
        said(),
        not_heard(),
        routed(),
        delivered(),
        unreached(),
        holder_silent(),
        extended(),
        reply_overdue(),
        updated(),
        observed(),
        closed()
    ]
    .prop_map(Event::Conversation)
}

fn opened() -> impl Strategy<Value = ConversationEvent> {
    let topology = prop_oneof![
        Just(Topology::Free),
        (agent(), vec(agent(), 0..3))
            .prop_map(|(supervisor, workers)| Topology::Supervisor { supervisor, workers }),
        (vec(agent(), 0..3), agent())
            .prop_map(|(members, default_agent)| Topology::Swarm { members, default_agent }),
    ];
    let customer = (option::of(text()), option::of(text()), option::of(text()))
        .prop_map(|(external_id, name, language)| Customer { external_id, name, language });
    let attributes = btree_map(text(), text().prop_map(Scalar::new), 0..3);
    let by_graph = (option::of(graph()), attributes, vec(agent(), 0..3), signals());
    (agent(), text(), customer, topology, any::<u16>(), by_graph).prop_map(
        |(
            holder,
            opened_by,
            customer,
            topology,
            hops_max,
            (graph, attributes, customer_queues, signals),
        )| {
            let setup = Setup {
                opened_by,
                customer,
                topology,
                graph,
                attributes,
                customer_queues,
                signals,
                hops_max,
            };
            ConversationEvent::Opened(Box::new(Opened { holder, setup }))
        },
    )
}

fn signals() -> impl Strategy<Value = EscalationRules> {
    let kind = select(SignalKind::ALL.to_vec());
    let rule = (text(), kind, 0.0..1.0, any::<usize>(), option::of(any::<usize>()));
    let rule =
        (rule, option::of(text())).prop_map(|((name, signal, above, turns, within), reason)| {
            EscalationRule { name, signal, above, turns, within, reason }
        });
    vec(rule, 0..3).prop_map(|rules| EscalationRules { rules })
}

fn scores() -> impl Strategy<Value = Vec<SignalScore>> {
    let score = (select(SignalKind::ALL.to_vec()), 0.0..=1.0)
        .prop_map(|(signal, score)| SignalScore { signal, score });
    vec(score, 0..4)
}

fn escalation() -> impl Strategy<Value = Option<Escalate>> {
    option::of((text(), text()).prop_map(|(rule, reason)| Escalate { rule, reason }))
}

fn observed() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), any::<u64>(), scores(), escalation()).prop_map(
        |(holder, epoch, message, signals, escalation)| {
            let observed = SignalsObserved { holder, epoch, message, signals, escalation };
            ConversationEvent::SignalsObserved(observed)
        },
    )
}

fn said() -> impl Strategy<Value = ConversationEvent> {
    let by = prop_oneof![Just(Speaker::Customer), agent().prop_map(Speaker::Agent)];
    let numbers = (any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    let heard = (scores(), escalation(), option::of(route()));
    let told = (any::<bool>(), any::<bool>(), option::of(agent()), option::of(limit()));
    (agent(), by, parts(), numbers, heard, told).prop_map(
        |(
            holder,
            by,
            parts,
            (number, epoch, in_reply_to),
            (signals, escalation, route),
            (deliver, parting, listener, answer_within),
        )| {
            ConversationEvent::Said(Said {
                holder,
                number,
                by,
                epoch,
                parts,
                in_reply_to,
                deliver,
                parting,
                listener,
                answer_within,
                signals,
                escalation,
                route,
            })
        },
    )
}

fn not_heard() -> impl Strategy<Value = ConversationEvent> {
    let why = select(vec![Why::EpochOutdated, Why::NotHolder, Why::AlreadyAnswered]);
    (agent(), agent(), any::<u64>(), any::<u64>(), why, parts()).prop_map(
        |(holder, agent, epoch, current, why, parts)| {
            ConversationEvent::NotHeard(NotHeard { holder, agent, epoch, current, why, parts })
        },
    )
}

fn routed() -> impl Strategy<Value = ConversationEvent> {
    let how = select(vec![How::AgentHandoff, How::UserSelection, How::Graph, How::NoAnswer]);
    let value = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from)
    ];
    let update = vec((text(), value), 0..3).prop_map(Map::from_iter);
    let numbers = (any::<u64>(), any::<u64>(), any::<bool>());
    let others = (option::of(agent()), option::of(route()), option::of(limit()));
    (agent(), agent(), numbers, how, text(), (text(), text()), update, others).prop_map(
        |(
            holder,
            to,
            (number, epoch, deliver),
            how,
            reason,
            (context, customer_text),
            update,
            (instead_of, route, answer_within),
        )| {
            ConversationEvent::Routed(Routed {
                holder,
                to,
                number,
                epoch,
                how,
                reason,
                context,
                customer_text,
                update,
                instead_of,
                route,
                deliver,
                answer_within,
            })
        },
    )
}

fn graph() -> impl Strategy<Value = GraphId> {
    "[a-z]{1,8}".prop_map(|name| name.parse().expect("a name"))
}

fn route() -> impl Strategy<Value = TurnRoute> {
    let outcome = select(vec![
        TurnOutcome::Moved,
        TurnOutcome::Stayed,
        TurnOutcome::HumanAsked,
        TurnOutcome::NobodyToAsk,
        TurnOutcome::UnknownAgent,
        TurnOutcome::NoGraph,
    ]);
    let intent = (option::of(text()), option::of(0.0..=1.0), 0.0..9.0);
    let decision = (text(), text(), option::of(text()), option::of(any::<u32>()), intent).prop_map(
        |(from, to, reason, rule_index, (intent_label, intent_confidence, latency_ms))| {
            TurnDecision {
                from,
                to,
                reason,
                rule_index,
                intent_label,
                intent_confidence,
                latency_ms,
            }
        },
    );
    (graph(), option::of(any::<u64>()), outcome, option::of(decision), vec(text(), 0..3)).prop_map(
        |(graph, version, outcome, decision, path)| TurnRoute {
            graph,
            version,
            outcome,
            decision,
            path,
        },
    )
}

fn delivered() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), any::<u64>()).prop_map(|(holder, epoch, through)| {
        ConversationEvent::Delivered(Delivered { holder, epoch, through })
    })
}

fn unreached() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), any::<u64>(), text(), option::of(fallback())).prop_map(
        |(holder, epoch, through, detail, next)| {
            ConversationEvent::Unreached(Unreached { holder, epoch, through, detail, next })
        },
    )
}

fn limit() -> impl Strategy<Value = Span> {
    (0..90_000_i64).prop_map(Span::from_millis)
}

fn fallback() -> impl Strategy<Value = Fallback> {
    prop_oneof![
        agent().prop_map(Fallback::Agent),
        agent().prop_map(Fallback::Queue),
        Just(Fallback::Nothing)
    ]
}

fn holder_silent() -> impl Strategy<Value = ConversationEvent> {
    let owed = select(vec![OwedKind::Answer, OwedKind::Transfer]);
    (agent(), any::<u64>(), any::<u64>(), owed, time(), limit(), fallback(), any::<bool>())
        .prop_map(|(holder, epoch, number, owed, since, within, next, no_person)| {
            let silent =
                HolderSilent { holder, epoch, number, owed, since, within, next, no_person };
            ConversationEvent::HolderSilent(silent)
        })
}

fn extended() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), time()).prop_map(|(holder, epoch, until)| {
        ConversationEvent::Extended(Extended { holder, epoch, until })
    })
}

fn reply_overdue() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), agent(), any::<u64>(), time(), limit()).prop_map(
        |(holder, epoch, queue, message, since, within)| {
            let overdue = ReplyOverdue { holder, epoch, queue, message, since, within };
            ConversationEvent::ReplyOverdue(overdue)
        },
    )
}

fn updated() -> impl Strategy<Value = ConversationEvent> {
    (agent(), any::<u64>(), text(), text()).prop_map(|(holder, epoch, name, value)| {
        let update = [(name, value.into())].into_iter().collect();
        ConversationEvent::Updated(Updated { holder, epoch, update })
    })
}

fn closed() -> impl Strategy<Value = ConversationEvent> {
    (agent(), text())
        .prop_map(|(holder, reason)| ConversationEvent::Closed(Closed { holder, reason }))
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let attachment = (text(), text(), text(), option::of(text()), option::of(any::<u64>()))
        .prop_map(|(name, media_type, data, sha256, size_bytes)| {
            Part::Attachment(Attachment { name, media_type, data, sha256, size_bytes })
        });
    vec(prop_oneof![text().prop_map(|text| Part::Text(Text { text })), attachment], 0..3)
}
