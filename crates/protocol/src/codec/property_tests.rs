//! Any event survives a round trip, and any text gives a result.

mod agents;
mod completions;
mod conversations;
mod files;
mod graphs;
mod names;
mod questions;
mod sessions;
mod subscriptions;
mod webhooks;
mod work;

use std::collections::BTreeSet;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use completions::completions;
use conversations::conversations;
use names::NAMES;

use super::{decode, encode};
use crate::caller::Role;
use crate::fork::Forked;
use crate::handoff::Status;
use crate::handoff::artifact::{Finding, Seen};
use crate::handoff::event::{
    Accepted, Activated, Approved, Checked, Closed, Countered, Drafted, Escalated,
    Event as HandoffEvent, Parties, Proposed, Refused, Rejected, SlaExtended, SlaWarned,
    ValidationStarted, VerificationUnavailable,
};
use crate::handoff::package::{
    Artifact, ArtifactKind, ArtifactRef, OfferedWorkState, Priority, TaskKind, TestStatus,
    WorkStatus,
};
use crate::handoff::reject_reason::RejectReason;
use crate::handoff::sla::{SlaStage, Slas};
use crate::ids::{AgentId, TaskId, ThreadId};
use crate::ledger::Erased;
use crate::message::event::{Delivered, Event as MessageEvent, Expired, Failed, Read, Sent, Woken};
use crate::message::{self, Kind as MessageKind};
use crate::quota::Quota;
use crate::step::Event;
use crate::teamspace::{self, Configuration, Settings};
use crate::time::{Span, Time};
use crate::token::{self, BearerKind, Grant};

proptest! {
    #[test]
    fn every_event_comes_back_as_itself(event in events()) {
        let recorded = encode(&event);
        let read = decode(recorded.name, recorded.version, &recorded.body);
        prop_assert_eq!(read.as_ref(), Ok(&event));
        prop_assert_eq!(encode(&event), recorded);
    }

    #[test]
    fn any_text_is_answered(name in select(NAMES.to_vec()), version in 0u32..3, text in ".{0,80}") {
        let _ = decode(name, version, &text);
    }

    #[test]
    fn any_name_is_answered(name in ".{0,20}", text in ".{0,20}") {
        prop_assert!(decode(&name, 1, &text).is_err() || NAMES.contains(&name.as_str()));
    }

    #[test]
    fn a_damaged_body_is_answered(
        event in events(), at in any::<usize>(), piece in "[{}\",:0-9a-z]?"
    ) {
        let recorded = encode(&event);
        let mut damaged: Vec<char> = recorded.body.chars().collect();
        let at = at % damaged.len();
        damaged.splice(at..=at, piece.chars());
        let damaged: String = damaged.into_iter().collect();
        // Everything that can be read can be written and read again.
        if let Ok(read) = decode(recorded.name, recorded.version, &damaged) {
            let written = encode(&read);
            prop_assert_eq!(decode(written.name, written.version, &written.body), Ok(read));
        }
    }

    #[test]
    fn fields_of_a_later_release_are_passed_over(event in events()) {
        let recorded = encode(&event);
        let rest = recorded.body.strip_prefix('{').unwrap();
        let comma = if rest == "}" { "" } else { "," };
        let later = format!("{{\"added_later\":[1]{comma}{rest}");
        prop_assert_eq!(decode(recorded.name, recorded.version, &later), Ok(event));
    }

    #[test]
    fn a_version_of_a_later_release_is_refused(event in events(), version in 2u32..) {
        let recorded = encode(&event);
        prop_assert!(decode(recorded.name, version, &recorded.body).is_err());
    }
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => openings().prop_map(Event::Handoff),
        6 => answers().prop_map(Event::Handoff),
        6 => negotiations().prop_map(Event::Handoff),
        6 => endings().prop_map(Event::Handoff),
        9 => work::work().prop_map(Event::Handoff),
        6 => completions().prop_map(Event::Handoff),
        2 => agents::agents().prop_map(Event::Agent),
        1 => tokens(),
        1 => teamspaces(),
        1 => graphs::graphs(),
        1 => sessions::sessions(),
        1 => subscriptions::subscriptions(),
        1 => webhooks::webhooks(),
        1 => files::files(),
        2 => questions::questions(),
        3 => messages(),
        3 => conversations(),
        1 => Just(Event::Token(token::Event::Revoked(token::Revoked {}))),
        1 => (any::<u64>(), text())
            .prop_map(|(position, reason)| Event::Erased(Erased { position, reason })),
        1 => (any::<u64>(), text(), text()).prop_map(|(lost_size, lost_root, reason)| {
            Event::Forked(Forked { lost_size, lost_root, reason })
        }),
    ]
}

fn openings() -> impl Strategy<Value = HandoffEvent> {
    let drafted =
        (agent(), thread(), text(), option::of(agent()), option::of(task()), option::of(text()))
            .prop_map(|(from, thread_id, offer_hash, to, task_id, title)| {
                HandoffEvent::Drafted(Drafted { from, thread_id, offer_hash, to, task_id, title })
            });
    let proposed = proposals().prop_map(|proposed| HandoffEvent::Proposed(Box::new(proposed)));
    prop_oneof![drafted, proposed]
}

fn proposals() -> impl Strategy<Value = Proposed> {
    let names = (parties(), task(), thread(), text(), text(), text(), text());
    let flags = (any::<[bool; 10]>(), option::of(time()), vec(agent(), 0..4));
    let others = (option::of(work::handoff()), option::of(work::handoff()), any::<u32>());
    (names, flags, others, work::bounds()).prop_map(
        |(names, (flags, deadline, chain), (parent, replaces, parts), bounds)| {
            let (readers, gated, loosens, differences) = bounds;
            let (parties, task_id, thread_id, title, reason, origin_session, package_hash) = names;
            let [
                is_return,
                needs_human,
                target_is_human,
                has_artifacts,
                has_remote_artifacts,
                is_guarded,
                has_workq_items,
                merges,
                requires_evidence,
                requires_verifier,
            ] = flags;
            let task_kind = if merges { TaskKind::Merge } else { TaskKind::Execution };
            Proposed {
                parties,
                task_id,
                thread_id,
                title,
                reason,
                is_return,
                needs_human,
                target_is_human,
                has_artifacts,
                has_remote_artifacts,
                has_workq_items,
                is_guarded,
                task_kind,
                requires_evidence,
                requires_verifier,
                deadline,
                slas: Slas::default(),
                chain,
                parts,
                origin_session,
                package_hash,
                parent,
                replaces,
                readers,
                gated,
                loosens,
                differences,
                files: Vec::new(),
            }
        },
    )
}

fn negotiations() -> impl Strategy<Value = HandoffEvent> {
    let unavailable =
        (parties(), texts(), vec(seen(), 0..3)).prop_map(|(parties, failed, artifacts)| {
            HandoffEvent::VerificationUnavailable(VerificationUnavailable {
                parties,
                failed,
                artifacts,
            })
        });
    let checked =
        (parties(), texts(), vec(seen(), 0..3)).prop_map(|(parties, passed, artifacts)| {
            HandoffEvent::Checked(Checked { parties, passed, artifacts })
        });
    let approved = (parties(), option::of(text()))
        .prop_map(|(parties, why)| HandoffEvent::Approved(Approved { parties, why }));
    let refused = (parties(), text())
        .prop_map(|(parties, why)| HandoffEvent::Refused(Refused { parties, why }));
    let stage = select(SlaStage::ALL.to_vec());
    let extended = (parties(), stage, time(), text(), any::<bool>()).prop_map(
        |(parties, stage, due, why, recall_only)| {
            HandoffEvent::SlaExtended(SlaExtended { parties, stage, due, why, recall_only })
        },
    );
    let stage = select(SlaStage::ALL.to_vec());
    let warned = (parties(), stage, time()).prop_map(|(parties, stage, due)| {
        HandoffEvent::SlaWarned(SlaWarned { parties, stage, due })
    });
    let countered =
        (any::<u32>(), texts(), proposals()).prop_map(|(revision, changes, proposed)| {
            HandoffEvent::Countered(Box::new(Countered { revision, changes, proposed }))
        });
    prop_oneof![unavailable, checked, approved, refused, extended, warned, countered]
}

fn seen() -> impl Strategy<Value = Seen> {
    let finding = prop_oneof![
        (text(), any::<u64>())
            .prop_map(|(sha256, size_bytes)| Finding::Verified { sha256, size_bytes }),
        Just(Finding::Present),
        text().prop_map(|detail| Finding::NotVerifiable { detail }),
        text().prop_map(|detail| Finding::Missing { detail }),
        text().prop_map(|detail| Finding::Mismatch { detail }),
        text().prop_map(|detail| Finding::Forbidden { detail }),
        text().prop_map(|detail| Finding::Unavailable { detail }),
    ];
    (text(), option::of(text()), finding).prop_map(|(artifact_id, path, finding)| Seen {
        artifact_id,
        path,
        finding,
    })
}

fn answers() -> impl Strategy<Value = HandoffEvent> {
    let started = (parties(), option::of(text()), option::of(texts())).prop_map(
        |(parties, notes, artifacts)| {
            HandoffEvent::ValidationStarted(ValidationStarted { parties, notes, artifacts })
        },
    );
    let accepted =
        (parties(), texts(), vec(seen(), 0..3)).prop_map(|(parties, passed, artifacts)| {
            HandoffEvent::Accepted(Accepted { parties, passed, artifacts })
        });
    let why = (select(Status::ALL.to_vec()), select(RejectReason::ALL.to_vec()), text());
    let rejected = (parties(), why, option::of(text()), texts(), texts(), time()).prop_map(
        |(parties, (from_status, reason, detail), suggested_fix, passed, failed, at)| {
            HandoffEvent::Rejected(Rejected {
                parties,
                from_status,
                reason,
                detail,
                suggested_fix,
                passed,
                failed,
                at,
            })
        },
    );
    prop_oneof![started, accepted, rejected]
}

fn endings() -> impl Strategy<Value = HandoffEvent> {
    let activated = (parties(), vec(agent(), 0..4), option::of(work_state())).prop_map(
        |(parties, chain, update)| {
            let work_state_update = update.map(Box::new);
            HandoffEvent::Activated(Activated { parties, chain, work_state_update })
        },
    );
    let status = select(Status::ALL.to_vec());
    let flags = (any::<bool>(), any::<bool>(), option::of(work::handoff()));
    let closed = (agent(), option::of(agent()), status, option::of(text()), flags, time())
        .prop_map(|(from, to, from_status, closure_notes, flags, at)| {
            let (forced, withdrawn, reassigned_to) = flags;
            HandoffEvent::Closed(Closed {
                from,
                to,
                from_status,
                closure_notes,
                forced,
                withdrawn,
                reassigned_to,
                at,
            })
        });
    let stage = select(SlaStage::ALL.to_vec());
    let escalated = (parties(), stage, text(), text(), text(), text(), time()).prop_map(
        |(parties, stage, trigger, sla_configured, sla_elapsed, escalated_to, escalated_at)| {
            HandoffEvent::Escalated(Escalated {
                parties,
                trigger,
                stage,
                sla_configured,
                sla_elapsed,
                escalated_to,
                escalated_at,
            })
        },
    );
    prop_oneof![activated, closed, escalated]
}

fn tokens() -> impl Strategy<Value = Event> {
    let kind = select(vec![BearerKind::Agent, BearerKind::Operator, BearerKind::Customer]);
    let roles = btree_set(select(Role::ALL.to_vec()), 0..5);
    (agent(), kind, roles, option::of(time()), text()).prop_map(
        |(bearer, bearer_kind, roles, expires_at, secret_hash)| {
            let roles: BTreeSet<Role> = roles;
            let grant = Grant { bearer, bearer_kind, roles, expires_at };
            Event::Token(token::Event::Issued(token::Issued { grant, secret_hash }))
        },
    )
}

fn teamspaces() -> impl Strategy<Value = Event> {
    let flags = (any::<[bool; 4]>(), any::<[Option<u32>; 3]>());
    let quotas = btree_map(select(&Quota::ALL), any::<u32>(), 0..4);
    (text(), text(), flags, quotas).prop_map(|(name, description, (flags, numbers), quotas)| {
        let [consent_seconds, message_retention_days, session_silence_minutes] = numbers;
        let [evidence_required, verifier_required, strong_consent_required, is_new] = flags;
        let sla = Slas::default();
        let answer_within = consent_seconds.map(|n| Span::from_millis(i64::from(n)));
        let settings = Settings {
            answer_within,
            consent_seconds,
            evidence_required,
            message_retention_days,
            session_silence_minutes,
            sla,
            strong_consent_required,
            verifier_required,
        };
        let configuration = Configuration { name, description, settings, quotas };
        Event::Teamspace(match is_new {
            true => teamspace::Event::Created(configuration),
            false => teamspace::Event::Configured(configuration),
        })
    })
}

fn messages() -> impl Strategy<Value = Event> {
    let flags =
        (any::<bool>(), option::of(any::<u64>()), option::of(time()), select(&MessageKind::ALL));
    let sent = (agent(), vec(agent(), 1..4), thread(), text(), text(), flags).prop_map(
        |(from, to, thread_id, word, value, (broadcast, sequence, expires_at, kind))| {
            let priority = Priority::default();
            MessageEvent::Sent(Box::new(Sent {
                version: "1.0.0".to_owned(),
                from,
                to,
                broadcast,
                team: None,
                thread_id,
                reply_to: None,
                kind,
                topic: None,
                priority,
                sequence,
                expires_at,
                payload: serde_json::Map::from_iter([(word, value.into())]),
                policy: message::context::MessagePolicy::default(),
                context: None,
                wake: Vec::new(),
                per_sender: sequence.is_some(),
            }))
        },
    );
    let parties = || (agent(), vec(agent(), 1..4));
    prop_oneof![
        sent,
        parties().prop_map(|(from, to)| MessageEvent::Delivered(Delivered { from, to })),
        parties().prop_map(|(from, to)| MessageEvent::Read(Read { from, to })),
        parties().prop_map(|(from, to)| MessageEvent::Expired(Expired { from, to })),
        parties().prop_map(|(from, to)| MessageEvent::Woken(Woken { from, to })),
        (parties(), text()).prop_map(|((from, to), detail)| MessageEvent::Failed(Failed {
            from,
            to,
            detail
        })),
    ]
    .prop_map(Event::Message)
}

fn work_state() -> impl Strategy<Value = OfferedWorkState> {
    let status = select(vec![
        WorkStatus::NotStarted,
        WorkStatus::InProgress,
        WorkStatus::Blocked,
        WorkStatus::Review,
    ]);
    let tests = select(vec![TestStatus::Passing, TestStatus::Failing, TestStatus::Untested]);
    let words = (texts(), option::of(text()), option::of(text()), option::of(text()));
    (option::of(status), option::of(0.0..=100.0), words, option::of(tests)).prop_map(
        |(status, percent_complete, words, test_status)| {
            let (completed_steps, next_step, branch, worktree_path) = words;
            OfferedWorkState {
                status,
                percent_complete,
                completed_steps,
                next_step,
                branch,
                worktree_path,
                test_status,
            }
        },
    )
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let kind = select(vec![ArtifactKind::File, ArtifactKind::Branch, ArtifactKind::WorkqItem]);
    let words = (text(), text(), option::of(text()), option::of(text()), option::of(text()));
    (kind, words, option::of(any::<u64>()), option::of(any::<bool>())).prop_map(
        |(kind, words, size_bytes, required)| {
            let (artifact_id, path, sha256, description, version) = words;
            let reference =
                ArtifactRef { kind, path, sha256, description, version, size_bytes, required };
            Artifact { artifact_id, reference }
        },
    )
}

fn parties() -> impl Strategy<Value = Parties> {
    (agent(), agent()).prop_map(|(from, to)| Parties { from, to })
}

fn agent() -> impl Strategy<Value = AgentId> {
    "[a-z0-9][a-z0-9._-]{0,63}".prop_map(|name| name.parse().expect("an agent id"))
}

fn task() -> impl Strategy<Value = TaskId> {
    "[!-~é日]{1,40}".prop_map(|name| name.parse().expect("a task id"))
}

fn thread() -> impl Strategy<Value = ThreadId> {
    "[!-~é日]{1,40}".prop_map(|name| name.parse().expect("a thread id"))
}

fn time() -> impl Strategy<Value = Time> {
    (0..=253_402_300_799_999i64).prop_map(Time::from_millis)
}

fn text() -> impl Strategy<Value = String> {
    ".{0,30}"
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}
