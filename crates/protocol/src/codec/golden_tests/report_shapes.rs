//! What is recorded beside the stage of a handoff: reports of progress, recalls; and a draft that
//! its sender discarded.

use super::handoff_shapes::{agent, parties, time};
use crate::handoff::Status;
use crate::handoff::event::{
    Closed, Escalated, Event as HandoffEvent, Progressed, Recalled, SlaExtended,
};
use crate::handoff::progress::{ProgressReport, ProgressStep};
use crate::handoff::sla::SlaStage;
use crate::time::Span;

pub fn report_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let progressed =
        |report| HandoffEvent::Progressed(Box::new(Progressed { parties: parties(), report }));
    let step = |text: &str, done| ProgressStep { text: text.to_owned(), done };
    let limit = Span::from_minutes(15);
    vec![
        ("least", progressed(ProgressReport { percent: Some(0), ..ProgressReport::default() })),
        (
            "most",
            progressed(ProgressReport {
                percent: Some(40),
                note: Some("the linker is mended".to_owned()),
                steps: vec![step("mend the linker", true), step("run the tests", false)],
                blocked_by: Some("a free runner".to_owned()),
            }),
        ),
        (
            "least",
            HandoffEvent::Recalled(Recalled {
                parties: parties(),
                reason: "plans changed".to_owned(),
                until: time(),
            }),
        ),
        (
            "recall",
            HandoffEvent::Escalated(Escalated::recall(
                parties(),
                SlaStage::Activated,
                limit,
                limit,
                time(),
            )),
        ),
        (
            "recall",
            HandoffEvent::SlaExtended(SlaExtended {
                parties: parties(),
                stage: SlaStage::Activated,
                due: time(),
                why: "the parts end first".to_owned(),
                recall_only: true,
            }),
        ),
        (
            "discarded",
            HandoffEvent::Closed(Closed {
                from: agent("barry"),
                to: None,
                from_status: Status::Draft,
                closure_notes: None,
                forced: false,
                withdrawn: false,
                reassigned_to: None,
                at: time(),
            }),
        ),
    ]
}
