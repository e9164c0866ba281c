//! What is known of the lines of an entry whose body was erased.

use adapters::audit_log::log::Log;
use protocol::handoff::artifact_line;
use protocol::ids::HandoffId;
use protocol::ledger::{Entry, Subject};
use protocol::time::Time;
use serde::Deserialize;

/// What is known of a line without the body that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    event: &'static str,
    to_status: Option<&'static str>,
    /// There may be any number of such lines.
    pub repeats: bool,
}

/// The fields of a line, those of only some lines as options.
#[derive(Deserialize)]
struct Seen<'l> {
    event: &'l str,
    handoff_id: HandoffId,
    to_status: Option<&'l str>,
    actor: Option<&'l str>,
    timestamp: Time,
}

impl Shape {
    const fn of(event: &'static str) -> Self {
        Self { event, to_status: None, repeats: false }
    }

    const fn to(status: &'static str) -> Self {
        Self { event: "handoff_transition", to_status: Some(status), repeats: false }
    }

    const fn any_number_of(event: &'static str) -> Self {
        Self { event, to_status: None, repeats: true }
    }

    pub fn fits(&self, line: &[u8], entry: &Entry) -> bool {
        let Subject::Handoff(id) = entry.stream.subject else { return false };
        serde_json::from_slice::<Seen<'_>>(line).is_ok_and(|seen| {
            seen.event == self.event
                && seen.to_status == self.to_status
                && seen.handoff_id == id
                && seen.timestamp == entry.at
                && seen.actor.is_none_or(|actor| actor == &*entry.actor)
        })
    }
}

/// The lines that an event adds to a log, by its name alone.
pub fn of(log: Log, name: &str) -> &'static [Shape] {
    match log {
        Log::Handoffs => of_handoff(name),
        Log::Decisions => match name {
            "handoff.approved" => const { &[Shape::of("handoff_approved")] },
            "handoff.refused" => const { &[Shape::of("handoff_refused")] },
            "handoff.confirmed" => const { &[Shape::of("handoff_confirmed")] },
            "handoff.disputed" => const { &[Shape::of("handoff_disputed")] },
            _ => &[],
        },
        Log::Artifacts if artifact_line::VERIFICATIONS.contains(&name) => {
            const { &[Shape::any_number_of("artifact_verified")] }
        }
        // What a message says is not erased.
        Log::Artifacts | Log::Messages | Log::Roles => &[],
    }
}

fn of_handoff(name: &str) -> &'static [Shape] {
    match name {
        "handoff.proposed" => const { &[Shape::to("proposed"), Shape::of("handoff_created")] },
        "handoff.validation_started" => const { &[Shape::to("validating")] },
        "handoff.accepted" => const { &[Shape::to("accepted"), Shape::of("handoff_verification")] },
        "handoff.rejected" => {
            const {
                &[
                    Shape::to("rejected"),
                    Shape::of("handoff_verification"),
                    Shape::of("handoff_rejected"),
                ]
            }
        }
        "handoff.countered" => const { &[Shape::to("proposed")] },
        "handoff.checked"
        | "handoff.verification_unavailable"
        | "handoff.completion_checked"
        | "handoff.completion_failed" => const { &[Shape::of("handoff_verification")] },
        "handoff.activated" => const { &[Shape::to("activated")] },
        "handoff.completed" => const { &[Shape::to("completed"), Shape::of("handoff_completed")] },
        "handoff.closed" => const { &[Shape::to("closed"), Shape::of("handoff_closed")] },
        "handoff.escalated" => const { &[Shape::of("handoff_escalation")] },
        "handoff.workq_settled" => const { &[Shape::of("handoff_workq")] },
        "handoff.workq_degraded" => const { &[Shape::of("handoff_degradation")] },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use protocol::ids::TeamspaceId;
    use protocol::ledger::{Body, GENESIS, Stream};

    use super::*;

    const FOUND: &str = r#""artifacts":[{"artifact_id":"log","path":"/log","finding":
        {"result":"verified","sha256":"ab","size_bytes":7}}]"#;

    /// Every event that makes lines: the shapes must be those of the lines it makes.
    #[test]
    fn shapes_are_those_of_the_lines() {
        let parties = r#""parties":{"from":"tim","to":"barry"}"#;
        let at = r#""at":"2026-02-21T14:00:00Z""#;
        for (name, body) in [
            ("handoff.drafted", r#"{"from":"tim","thread_id":"t","offer_hash":"x"}"#.to_owned()),
            (
                "handoff.proposed",
                format!(
                    r#"{{{parties},"task_id":"1","thread_id":"t","title":"t","chain":["tim"],
                        "origin_session":"s","package_hash":"x"}}"#
                ),
            ),
            (
                "handoff.countered",
                format!(
                    r#"{{"revision":2,"changes":[],{parties},"task_id":"1","thread_id":"t",
                        "title":"t","chain":["tim"],"origin_session":"s","package_hash":"x"}}"#
                ),
            ),
            ("handoff.validation_started", format!("{{{parties}}}")),
            ("handoff.checked", format!(r#"{{{parties},"passed":["schema"],{FOUND}}}"#)),
            (
                "handoff.verification_unavailable",
                format!(r#"{{{parties},"failed":["x"],"artifacts":[]}}"#),
            ),
            ("handoff.approved", format!("{{{parties}}}")),
            ("handoff.refused", format!(r#"{{{parties},"why":"no"}}"#)),
            (
                "handoff.sla_extended",
                format!(
                    r#"{{{parties},"stage":"accepted→activated","why":"w",
                        "due":"2026-02-21T14:00:00Z"}}"#
                ),
            ),
            ("handoff.accepted", format!(r#"{{{parties},"passed":["schema"],{FOUND}}}"#)),
            (
                "handoff.rejected",
                format!(
                    r#"{{{parties},"from_status":"proposed","reason":"other","detail":"a \"b\"",
                        "failed":[],{at}}}"#
                ),
            ),
            ("handoff.activated", format!(r#"{{{parties},"chain":["tim"]}}"#)),
            ("handoff.completed", format!("{{{parties}}}")),
            ("handoff.closed", format!(r#"{{"from":"tim","from_status":"completed",{at}}}"#)),
            (
                "handoff.escalated",
                format!(
                    r#"{{{parties},"trigger":"timeout","stage":"accepted→activated",
                        "sla_configured":"15m","sla_elapsed":"15m",
                        "escalated_to":"coordinator","escalated_at":"2026-02-21T14:00:00Z"}}"#
                ),
            ),
        ]
        .into_iter()
        .chain(completion_bodies(parties))
        {
            let entry = entry(name, &body);
            for log in [Log::Handoffs, Log::Decisions, Log::Artifacts] {
                let text = log.lines(&entry).unwrap();
                let n_lines = text.lines().count();
                assert_eq!(n_lines, of(log, name).len(), "{name}");
                for (line, shape) in text.lines().zip(of(log, name)) {
                    assert!(shape.fits(line.as_bytes(), &entry), "{name}: {line}");
                }
            }
        }
    }

    fn completion_bodies(parties: &str) -> [(&'static str, String); 7] {
        [
            ("handoff.workq_settled", format!(r#"{{{parties},"to":"barry","transferred":["i"]}}"#)),
            (
                "handoff.workq_degraded",
                format!(r#"{{{parties},"to":"tim","reason":"refused","detail":"","orphaned":[]}}"#),
            ),
            ("handoff.completion_started", format!("{{{parties}}}")),
            (
                "handoff.completion_checked",
                format!(r#"{{{parties},"passed":["artifact:log"],{FOUND}}}"#),
            ),
            (
                "handoff.completion_failed",
                format!(
                    r#"{{{parties},"reason":"missing_artifact","detail":"d",
                        "failed":["artifact:log"]}}"#
                ),
            ),
            ("handoff.confirmed", format!("{{{parties}}}")),
            ("handoff.disputed", format!(r#"{{{parties},"why":"no"}}"#)),
        ]
    }

    fn entry(name: &str, body: &str) -> Entry {
        let subject = "handoff/01938c2e-0000-7000-8000-000000000001".parse().unwrap();
        Entry {
            stream: Stream { teamspace: TeamspaceId::default_teamspace(), subject },
            position: 1,
            name: name.to_owned().into(),
            version: 1,
            actor: "agent:barry".into(),
            at: Time::from_millis(1_771_682_400_000),
            body: Body::Kept { salt: [0; 16], text: body.to_owned() },
            hash: GENESIS,
        }
    }
}
