//! Edits an offer field by field, with the merge rules of RFC 7386: an absent field stays, `null`
//! clears it, a list is replaced as a whole. Also lists the differences, for the
//! approvers.

use super::needed::NEXT_STEP_EXPECTED;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::needed;
use super::package::{
    Artifact, Classification, ExternalRef, HumanGate, Offer, OfferedContext, OfferedProvenance,
    OfferedTask, OfferedWorkState, PERCENT_MAX, Package, Policy, Priority, Sensitivity, TITLE,
    TITLE_BYTES_MAX, TaskKind, TestStatus, Visibility, WorkStatus, title_expected,
};
use super::sla::{SLA_MAX, SLA_MIN, Slas, WARN_PERCENT_MAX, WARN_PERCENT_MIN};
use crate::form;
use crate::ids::{AgentId, TaskId, ThreadId};
use crate::notes::NOTES_BYTES_MAX;
use crate::time::{Span, Time};

/// A value is shown in a difference up to this size; the package has all of it.
pub const SHOWN_BYTES_MAX: usize = 1_000;

/// The edit of one field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Edit<T> {
    #[default]
    Stay,
    Clear,
    Set(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Edit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| value.map_or(Edit::Clear, Edit::Set))
    }
}

impl<T: JsonSchema> JsonSchema for Edit<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

/// A field that an edit of this kind changes.
trait Field<E> {
    fn clear(&mut self);
    fn set(&mut self, edit: E);
}

impl<T: Default> Field<T> for T {
    fn clear(&mut self) {
        *self = T::default();
    }

    fn set(&mut self, value: T) {
        *self = value;
    }
}

impl<T> Field<T> for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }

    fn set(&mut self, value: T) {
        *self = Some(value);
    }
}

impl<T> Edit<T> {
    fn apply(self, field: &mut impl Field<T>) {
        match self {
            Edit::Stay => {}
            Edit::Clear => field.clear(),
            Edit::Set(edit) => field.set(edit),
        }
    }
}

/// A type of edits, one for each field of another type.
macro_rules! edits {
    ($(#[$about:meta])* $name:ident of $whole:ident {
        $($(#[$note:meta])* $field:ident: $kind:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$note])* #[serde(default)] pub $field: Edit<$kind>,)*
        }

        impl $name {
            fn apply(self, whole: &mut $whole) {
                $(self.$field.apply(&mut whole.$field);)*
            }
        }

        impl Field<$name> for Option<$whole> {
            fn clear(&mut self) {
                *self = None;
            }

            fn set(&mut self, edit: $name) {
                edit.apply(self.get_or_insert_default());
            }
        }
    };
}

edits! {
    /// What a counter-offer changes in the package. An absent field stays as it was, `null` clears
    /// it, a list is replaced as a whole.
    OfferEdit of Offer {
        artifacts: Vec<Artifact>,
        context: ContextEdit,
        /// Overrides `task.deadline`.
        deadline: Time,
        policy: PolicyEdit,
        provenance: ProvenanceEdit,
        /// Why the task changes hands.
        #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
        reason: String,
        /// As it was, or left out.
        #[serde(rename = "return")]
        is_return: bool,
        /// How long each stage may take; `null` gives a stage the limit of the teamspace.
        sla: SlasEdit,
        task: TaskEdit,
        /// As it was, or left out.
        thread_id: ThreadId,
        /// As it was, or left out.
        to_agent: AgentId,
        work_state: WorkStateEdit,
    }
}

edits! {
    ContextEdit of OfferedContext {
        assumptions: Vec<String>,
        constraints: Vec<String>,
        known_risks: Vec<String>,
        open_questions: Vec<String>,
        #[schemars(transform = form::not_blank("what the next owner must know"))]
        summary: String,
    }
}

edits! {
    /// An absent field stays as it was. A counter-offer that is laxer than the one before needs the
    /// approval of a human; a part of a task is never laxer than the whole.
    PolicyEdit of Policy {
        classification: Classification,
        #[schemars(transform = form::each(form::not_blank("a rule")))]
        export_restrictions: Vec<String>,
        human_gate: HumanGate,
        requires_evidence: bool,
        requires_human_approval: bool,
        requires_verifier: bool,
        sensitivity: Sensitivity,
        visibility: Visibility,
    }
}

impl OfferEdit {
    /// The new rules of `policy.export_restrictions`, if they change.
    pub fn export_restrictions(&self) -> &[String] {
        match &self.policy {
            Edit::Set(PolicyEdit { export_restrictions: Edit::Set(rules), .. }) => rules,
            Edit::Set(_) | Edit::Stay | Edit::Clear => &[],
        }
    }
}

edits! {
    ProvenanceEdit of OfferedProvenance {
        decision_refs: Vec<String>,
        related_sessions: Vec<String>,
    }
}

edits! {
    SlasEdit of Slas {
        #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
        accepted: Span,
        #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
        activated: Span,
        #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
        proposed: Span,
        #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
        validating: Span,
        #[schemars(transform = form::range(WARN_PERCENT_MIN, WARN_PERCENT_MAX))]
        warn_percent: u8,
    }
}

edits! {
    TaskEdit of OfferedTask {
        deadline: Time,
        external_refs: Vec<ExternalRef>,
        /// As it was, or left out.
        kind: TaskKind,
        objective: String,
        priority: Priority,
        #[schemars(transform = needed::criteria_form)]
        success_criteria: Vec<String>,
        /// As it was, or left out.
        task_id: TaskId,
        #[schemars(transform = form::patterned(TITLE, TITLE_BYTES_MAX, title_expected()))]
        title: String,
    }
}

edits! {
    WorkStateEdit of OfferedWorkState {
        branch: String,
        completed_steps: Vec<String>,
        #[schemars(transform = form::not_blank(NEXT_STEP_EXPECTED))]
        next_step: String,
        /// 0 to 100.
        #[schemars(transform = form::range(0.0, PERCENT_MAX))]
        percent_complete: f64,
        status: WorkStatus,
        test_status: TestStatus,
        worktree_path: String,
    }
}

impl OfferEdit {
    /// The offer after the changes.
    pub fn applied_to(self, mut offer: Offer) -> Offer {
        // It overrides the task's deadline, so clearing it clears that one too, unless it is set
        // anew.
        if self.deadline == Edit::Clear
            && let Some(task) = &mut offer.task
        {
            task.deadline = None;
        }
        self.apply(&mut offer);
        offer
    }
}

/// The offer of a part: the policy of the whole with the part's changes.
pub fn with_policy_of(offer: Offer<PolicyEdit>, mut policy: Policy) -> Offer {
    if let Some(edit) = offer.policy {
        edit.apply(&mut policy);
    }
    Offer {
        policy: Some(policy),
        artifacts: offer.artifacts,
        context: offer.context,
        deadline: offer.deadline,
        provenance: offer.provenance,
        reason: offer.reason,
        is_return: offer.is_return,
        sla: offer.sla,
        task: offer.task,
        thread_id: offer.thread_id,
        to_agent: offer.to_agent,
        work_state: offer.work_state,
    }
}

/// The offer that leads to this package, as the base of another one.
pub fn offer_of(package: Package) -> Offer {
    Offer {
        artifacts: package.artifacts,
        context: Some(package.context),
        policy: Some(package.policy),
        provenance: Some(OfferedProvenance {
            decision_refs: package.provenance.decision_refs,
            related_sessions: package.provenance.related_sessions,
        }),
        task: Some(package.task),
        thread_id: Some(package.thread_id),
        work_state: Some(package.work_state),
        ..Offer::default()
    }
}

impl OfferedWorkState {
    /// The latest state of the work: these values, and for missing ones those before.
    pub fn or(self, before: OfferedWorkState) -> OfferedWorkState {
        let completed_steps = match self.completed_steps.is_empty() {
            true => before.completed_steps,
            false => self.completed_steps,
        };
        OfferedWorkState {
            branch: self.branch.or(before.branch),
            completed_steps,
            next_step: self.next_step.or(before.next_step),
            percent_complete: self.percent_complete.or(before.percent_complete),
            status: self.status.or(before.status),
            test_status: self.test_status.or(before.test_status),
            worktree_path: self.worktree_path.or(before.worktree_path),
        }
    }
}

/// A part of a package that changed. An absent side did not exist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Its path in the package, such as `policy.visibility`.
    pub field: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// The differences between two packages, with both values.
pub fn differences(before: &Package, after: &Package) -> Vec<Difference> {
    let value = |package: &Package| {
        serde_json::to_value(package).expect("a package holds only strings, numbers and lists")
    };
    let (old, new) = (value(before), value(after));
    let at = |value: &Value, path: &str| {
        path.split('.').try_fold(value, |value, name| value.get(name)).map(shown)
    };
    let difference =
        |field: String| Difference { before: at(&old, &field), after: at(&new, &field), field };
    changes(before, after).into_iter().map(difference).collect()
}

/// The paths of the parts of a package that differ from another. Parts that the server fills in do
/// not count.
pub fn changes(before: &Package, after: &Package) -> Vec<String> {
    let value = |package: &Package| {
        serde_json::to_value(package).expect("a package holds only strings, numbers and lists")
    };
    let (before, after) = (value(before), value(after));
    let mut changes = Vec::new();
    for part in ["task", "context", "work_state", "artifacts", "policy"] {
        let empty = serde_json::Map::new();
        match (before[part].as_object(), after[part].as_object()) {
            (None, None) if before[part] != after[part] => changes.push(part.to_owned()),
            (None, None) => {}
            (old, new) => {
                let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
                let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
                let differs = |name: &&&String| old.get(**name) != new.get(**name);
                changes.extend(names.iter().filter(differs).map(|name| format!("{part}.{name}")));
            }
        }
    }
    let (old, new) = (&before["provenance"], &after["provenance"]);
    let given = ["decision_refs", "related_sessions"].into_iter();
    let differing = given.filter(|name| old.get(name) != new.get(name));
    changes.extend(differing.map(|name| format!("provenance.{name}")));
    changes
}

/// The differences between two policies, with their paths in a package.
pub fn policy_differences(before: &Policy, after: &Policy) -> Vec<Difference> {
    let value = |policy: &Policy| serde_json::to_value(policy).expect("a policy is plain data");
    let (old, new) = (value(before), value(after));
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (old, new) = (fields(&old), fields(&new));
    let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differing = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    differing
        .map(|name| Difference {
            field: format!("policy.{name}"),
            before: old.get(name).map(shown),
            after: new.get(name).map(shown),
        })
        .collect()
}

/// A long value is cut short.
fn shown(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= SHOWN_BYTES_MAX {
        return value.clone();
    }
    let text = value.as_str().unwrap_or(&text);
    let end = (0..=SHOWN_BYTES_MAX).rfind(|end| text.is_char_boundary(*end)).unwrap_or_default();
    Value::String(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compared with RFC 7386 itself, on JSON: the same change by hand and by type.
    #[test]
    fn an_edit_merges_as_rfc_7386_does() {
        let offer = json!({
            "artifacts": [],
            "context": { "summary": "red", "known_risks": ["a", "b"] },
            "policy": {
                "classification": "restricted",
                "requires_human_approval": true,
                "requires_verifier": true,
                "export_restrictions": ["eu"],
            },
            "task": { "title": "Mend", "priority": "high", "success_criteria": ["green"] },
            "work_state": { "next_step": "bisect", "percent_complete": 20.0 },
            "sla": { "proposed": "1m", "accepted": "2m" },
            "reason": "mine no longer",
        });
        let patches = [
            json!({}),
            json!({ "policy": { "visibility": "private" } }),
            json!({ "policy": { "requires_verifier": null, "export_restrictions": [] } }),
            json!({ "policy": null, "reason": null }),
            json!({ "context": { "known_risks": ["c"], "summary": null } }),
            json!({ "context": { "open_questions": ["why?"] }, "work_state": null }),
            json!({ "task": { "priority": null, "objective": "green again" } }),
            json!({ "sla": { "proposed": null, "warn_percent": 80 } }),
            json!({ "provenance": { "decision_refs": ["d1"], "related_sessions": null } }),
        ];
        for patch in patches {
            let mut expected = offer.clone();
            merge(&mut expected, &patch);
            let expected: Offer = serde_json::from_value(expected).unwrap();
            let edit: OfferEdit = serde_json::from_value(patch.clone()).unwrap();
            let offer: Offer = serde_json::from_value(offer.clone()).unwrap();
            assert_eq!(edit.applied_to(offer), expected, "{patch}");
        }
        let unknown = serde_json::from_value::<OfferEdit>(json!({ "policy": { "gate": null } }));
        assert!(unknown.unwrap_err().to_string().contains("unknown field `gate`"));
    }

    fn merge(into: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else { return *into = patch.clone() };
        if !into.is_object() {
            *into = json!({});
        }
        let fields = into.as_object_mut().unwrap();
        for (name, value) in patch {
            if value.is_null() {
                fields.remove(name);
            } else {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
    }

    #[test]
    fn a_long_value_is_shown_by_its_beginning() {
        assert_eq!(shown(&json!("short")), json!("short"));
        let long = shown(&json!("ä".repeat(SHOWN_BYTES_MAX)));
        assert_eq!(long.as_str().unwrap().len(), SHOWN_BYTES_MAX + "…".len());
        let list = shown(&json!(vec!["criterion"; 200]));
        assert!(list.as_str().unwrap().starts_with("[\"criterion\",\"criterion\""));
    }
}
