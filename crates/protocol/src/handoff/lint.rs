//! All problems of an offer at once, and what could be better. Refusals are what the rules do not
//! allow; advice is what the next owner would ask about.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::package::{Artifact, ArtifactKind, Broken, Offer, Policy, TestStatus};
use crate::form::Form;
use crate::form::check::MISFITS_MAX;
use crate::hidden::{first_hidden, is_blank};
use crate::ids::HandoffId;
use crate::strict::Strict;
use crate::time::Time;

/// One finding, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remark {
    pub weight: Weight,
    /// The place, as in `task.success_criteria[0]`.
    pub field: String,
    pub problem: String,
    pub fix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The server would refuse it.
    Refused,
    /// The server would accept it; people would want it better.
    Advice,
}

/// Words that promise without saying when the promise is kept.
const VAGUE_WORDS: [&str; 14] = [
    "appropriate",
    "appropriately",
    "asap",
    "better",
    "clean",
    "correctly",
    "etc",
    "fast",
    "good",
    "improve",
    "nice",
    "properly",
    "reasonable",
    "soon",
];

/// A criterion with fewer words can hardly be checked.
const CRITERION_WORDS_MIN: usize = 3;

/// A shorter summary leaves the next owner guessing.
const SUMMARY_BYTES_MIN: usize = 40;

/// All findings about a document that should be an offer. Also the offer, as far as it can be read.
pub fn read(document: &Value, form: &Form, now: Time) -> (Option<Offer>, Vec<Remark>) {
    let misfits = form.misfits(document);
    // What has the right form is read all the same.
    let mut readable = document.clone();
    misfits.iter().rev().for_each(|misfit| remove(&mut readable, &misfit.path));
    let n_misfits = misfits.len();
    let misfits = misfits.into_iter();
    let mut remarks: Vec<_> =
        misfits.map(|misfit| not_as_expected(misfit.path, &misfit.expected)).collect();
    if n_misfits >= MISFITS_MAX {
        remarks.push(Remark {
            weight: Weight::Refused,
            field: "body".to_owned(),
            problem: format!("it has {MISFITS_MAX} faults or more; the first are named here"),
            fix: "correct these, and try again".to_owned(),
        });
    }
    let offer = match Offer::deserialize(Strict(readable)) {
        Ok(offer) => offer,
        Err(error) => {
            if remarks.is_empty() {
                let expected = error.reason.strip_prefix("expected ").unwrap_or("an offer");
                remarks.push(not_as_expected(error.path, expected));
            }
            return (None, remarks);
        }
    };
    let is_told = |field: &str| remarks.iter().any(|remark| remark.field == field);
    let more = lint(&offer, now).into_iter().filter(|more| !is_told(&more.field));
    let more: Vec<_> = more.collect();
    remarks.extend(more);
    (Some(offer), remarks)
}

/// Removes the value at a path such as `task.success_criteria[2]`.
fn remove(document: &mut Value, path: &str) {
    // A name may contain a dot itself.
    if let Value::Object(members) = document
        && members.remove(path).is_some()
    {
        return;
    }
    let steps: Vec<_> = path.split(['.', '[']).map(|step| step.trim_end_matches(']')).collect();
    let Some((last, steps)) = steps.split_last() else { return };
    let inside = steps.iter().try_fold(document, |value, step| match value {
        Value::Object(members) => members.get_mut(*step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    });
    match (inside, last.parse::<usize>()) {
        (Some(Value::Object(members)), _) => drop(members.remove(*last)),
        (Some(Value::Array(items)), Ok(index)) if index < items.len() => drop(items.remove(index)),
        (_, _) => {}
    }
}

/// A refusal of one field.
pub fn not_as_expected(field: String, expected: &str) -> Remark {
    let (problem, expected) = match expected.strip_suffix(", but it is missing") {
        Some(expected) => ("it is missing, or has no text", expected),
        None => ("it does not have the right form", expected),
    };
    let field = if field.is_empty() { "body".to_owned() } else { field };
    let expected = expected.strip_prefix("expected ").unwrap_or(expected);
    if let Some(known) = expected.strip_prefix("to be left out; ") {
        let (problem, fix) =
            ("there is no such field".to_owned(), format!("leave it out: {known}"));
        return Remark { weight: Weight::Refused, field, problem, fix };
    }
    let fix = format!("give {expected}");
    Remark { weight: Weight::Refused, field, problem: problem.to_owned(), fix }
}

/// A copy of the offer with valid sample texts, to try out whether its task may go to its target
/// whatever is wrong with the texts. `no_task` names the task of an offer that has none.
pub fn with_sample_texts(offer: &Offer, no_task: HandoffId) -> Option<Offer> {
    let task = offer.task.as_ref();
    let task_id = task.and_then(|task| task.task_id.clone());
    let task_id = task_id.filter(|id| first_hidden(id.as_str()).is_none());
    let policy = offer.policy.clone();
    let is_sound =
        |policy: &Policy| offer.to_agent.as_ref().is_some_and(|to| policy.check(to).is_ok());
    let texts = json!({
        "task": { "task_id": task_id.map_or(no_task.to_string(), |id| id.to_string()), "title": "t",
            "kind": task.and_then(|task| task.kind), "success_criteria": ["c"] },
        "context": { "summary": "s" },
        "work_state": { "next_step": "n" },
    });
    let sound: Offer = serde_json::from_value(texts).ok()?;
    Some(Offer {
        to_agent: Some(offer.to_agent.clone()?),
        policy: policy.filter(is_sound),
        is_return: offer.is_return,
        ..sound
    })
}

/// All findings about an offer, refusals first.
pub fn lint(offer: &Offer, now: Time) -> Vec<Remark> {
    let refused = offer.problems(now).into_iter();
    let mut remarks: Vec<_> =
        refused.map(|problem| not_as_expected(problem.field, &problem.expected)).collect();
    if let Some(to) = &offer.to_agent
        && let Some(policy) = &offer.policy
        && let Err(Broken { field, rule }) = policy.check(to)
    {
        remarks.push(Remark {
            weight: Weight::Refused,
            field,
            problem: rule,
            fix: "change the policy, or the target".to_owned(),
        });
    }
    remarks.extend(criteria(offer));
    remarks.extend(verifier(offer));
    remarks.extend(context(offer));
    remarks.extend(work_state(offer));
    let artifacts = offer.artifacts.iter().enumerate();
    remarks.extend(artifacts.flat_map(|(index, artifact)| about_artifact(index, artifact)));
    let offered = serde_json::to_value(offer).expect("an offer is plain data");
    look_for_hidden(&offered, String::new(), &mut remarks);
    remarks
}

fn advice(field: impl Into<String>, problem: &str, fix: &str) -> Remark {
    let (problem, fix) = (problem.to_owned(), fix.to_owned());
    Remark { weight: Weight::Advice, field: field.into(), problem, fix }
}

/// Characters that the next owner does not see, but its model does.
fn look_for_hidden(value: &Value, field: String, remarks: &mut Vec<Remark>) {
    match value {
        Value::String(text) => {
            if let Some(character) = first_hidden(text) {
                let code = u32::from(character);
                let problem = format!("it has the character U+{code:04X}, which is hidden");
                let fix = "write it without: a person does not see it, and a program does";
                remarks.push(advice(field, &problem, fix));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look_for_hidden(item, format!("{field}[{index}]"), remarks);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let field = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                look_for_hidden(member, field, remarks);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn criteria(offer: &Offer) -> Vec<Remark> {
    let criteria = offer.task.as_ref().map_or(&[][..], |task| &task.success_criteria);
    let mut remarks = Vec::new();
    let mut said = HashSet::new();
    for (index, criterion) in criteria.iter().enumerate() {
        let words: Vec<String> = criterion
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let vague = words.iter().find(|word| VAGUE_WORDS.contains(&word.as_str()));
        let field = format!("task.success_criteria[{index}]");
        if !said.insert(criterion.trim()) {
            let fix = "say it once; evidence names a criterion by its words";
            remarks.push(advice(field, "it is said twice", fix));
        } else if let Some(word) = vague {
            let problem = format!("`{word}` can be argued about");
            let fix = "say what can be observed, with a number, a command or a name";
            remarks.push(advice(field, &problem, fix));
        } else if words.len() < CRITERION_WORDS_MIN && !words.is_empty() {
            let fix = "say what is true when it is done, and how to see it";
            remarks.push(advice(field, "too short to be checked", fix));
        }
    }
    remarks
}

fn verifier(offer: &Offer) -> Option<Remark> {
    let policy = offer.policy.as_ref().filter(|policy| policy.is_guarded())?;
    let fix = "set it, so that a verifier other than the owner confirms that the work is done";
    let problem = "only the owner says whether guarded work is done";
    (!policy.requires_verifier).then(|| advice("policy.requires_verifier", problem, fix))
}

fn context(offer: &Offer) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let context = offer.context.as_ref();
    let summary = context.and_then(|context| context.summary.as_deref()).unwrap_or_default();
    if !is_blank(summary) && summary.len() < SUMMARY_BYTES_MIN {
        let fix = "say what was tried, what was found, and what is left";
        remarks.push(advice("context.summary", "short for everything that happened so far", fix));
    }
    if context.is_none_or(|context| context.known_risks.is_empty()) {
        let fix = "name what may go wrong, or say that nothing is known";
        remarks.push(advice("context.known_risks", "no risk is named", fix));
    }
    let task = offer.task.as_ref();
    if offer.deadline.is_none() && task.is_none_or(|task| task.deadline.is_none()) {
        let fix = "give a time; without one the work is overdue after 24 hours";
        remarks.push(advice("deadline", "it has no deadline", fix));
    }
    remarks
}

fn work_state(offer: &Offer) -> Vec<Remark> {
    let Some(work) = &offer.work_state else { return Vec::new() };
    let mut remarks = Vec::new();
    let is_pinned = |artifact: &Artifact| {
        artifact.reference.kind == ArtifactKind::Branch && artifact.reference.version.is_some()
    };
    if work.branch.is_some() && !offer.artifacts.iter().any(is_pinned) {
        let fix = "add the branch as an artifact with the commit as its `version`";
        remarks.push(advice("work_state.branch", "the branch may move on", fix));
    }
    if work.test_status == Some(TestStatus::Failing)
        && offer.context.as_ref().is_none_or(|context| context.open_questions.is_empty())
    {
        let fix = "say in `context.open_questions` which tests fail, and since when";
        remarks.push(advice("work_state.test_status", "tests fail and nothing says why", fix));
    }
    remarks
}

fn about_artifact(index: usize, artifact: &Artifact) -> Vec<Remark> {
    let reference = &artifact.reference;
    let field = |name: &str| format!("artifacts[{index}].ref.{name}");
    let mut remarks = Vec::new();
    match reference.kind {
        ArtifactKind::File | ArtifactKind::Url if reference.sha256.is_none() => {
            let fix = "give the SHA-256 of its bytes, so that a change is noticed";
            remarks.push(advice(field("sha256"), "its bytes are not pinned", fix));
        }
        ArtifactKind::Branch | ArtifactKind::Pr if reference.version.is_none() => {
            let fix = "give the commit it stands at";
            remarks.push(advice(field("version"), "it may move on", fix));
        }
        ArtifactKind::File
        | ArtifactKind::Url
        | ArtifactKind::Branch
        | ArtifactKind::Pr
        | ArtifactKind::Session
        | ArtifactKind::WorkqItem => {}
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn remarks(offer: Value) -> Vec<String> {
        let offer: Offer = serde_json::from_value(offer).unwrap();
        let now = "2026-02-21T14:00:00Z".parse().unwrap();
        let shown = |remark: &Remark| match remark.weight {
            Weight::Refused => format!("no {}", remark.field),
            Weight::Advice => remark.field.clone(),
        };
        lint(&offer, now).iter().map(shown).collect()
    }

    fn sound() -> Value {
        json!({
            "to_agent": "tim",
            "deadline": "2026-02-22T14:00:00Z",
            "task": {
                "task_id": "t1",
                "title": "Mend the build",
                "success_criteria": ["`cargo test` exits with 0 on main"],
            },
            "context": {
                "summary": "The linker fails since Tuesday; three crates were bumped that day.",
                "known_risks": ["The lock file is shared"],
            },
            "work_state": { "next_step": "Bisect the lock file" },
        })
    }

    #[test]
    fn of_a_great_many_faults_the_first_are_named() {
        let unknown: Value = (0..149).map(|number| (format!("k{number}"), json!(1))).collect();
        let mut offer = sound();
        offer["artifacts"] = json!(vec![unknown; 1_000]);
        let now = "2026-02-21T14:00:00Z".parse().unwrap();
        let (read, remarks) = read(&offer, &Form::of::<Offer>(), now);
        assert!(read.is_none());
        let n_most = 2 * MISFITS_MAX;
        assert!((100..n_most).contains(&remarks.len()), "{}", remarks.len());
        let last = remarks.last().expect("many remarks");
        assert!(last.problem.contains("the first are named here"), "{}", last.problem);
    }

    #[test]
    fn a_sound_offer_needs_no_remark() {
        assert_eq!(remarks(sound()), [""; 0]);
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let expected = [
            "no to_agent",
            "no task.task_id",
            "no task.title",
            "no task.success_criteria",
            "no context.summary",
            "no work_state.next_step",
            "context.known_risks",
            "deadline",
        ];
        assert_eq!(remarks(json!({ "task": {} })), expected);
    }

    #[test]
    fn what_could_be_better_is_named_with_its_place() {
        let cases = [
            (json!(["It works properly now"]), "task.success_criteria[0]"),
            (json!(["CI is green on main", "Fast."]), "task.success_criteria[1]"),
            (json!(["Green CI"]), "task.success_criteria[0]"),
        ];
        for (criteria, expected) in cases {
            let mut offer = sound();
            offer["task"]["success_criteria"] = criteria;
            assert_eq!(remarks(offer), [expected]);
        }
        let mut offer = sound();
        offer["artifacts"] = json!([
            { "artifact_id": "a", "ref": { "type": "file", "path": "/a" } },
            { "artifact_id": "b", "ref": { "type": "branch", "path": "main" } },
        ]);
        offer["work_state"]["branch"] = json!("main");
        offer["work_state"]["test_status"] = json!("failing");
        let expected = [
            "work_state.branch",
            "work_state.test_status",
            "artifacts[0].ref.sha256",
            "artifacts[1].ref.version",
        ];
        assert_eq!(remarks(offer), expected);
    }

    #[test]
    fn evidence_needs_criteria_it_can_name_and_guarded_work_somebody_who_confirms_it() {
        let mut offer = sound();
        let criterion = offer["task"]["success_criteria"][0].clone();
        offer["task"]["success_criteria"].as_array_mut().unwrap().push(criterion);
        offer["policy"] = json!({ "sensitivity": "high" });
        assert_eq!(
            remarks(offer.clone()),
            ["task.success_criteria[1]", "policy.requires_verifier"]
        );
        offer["policy"]["requires_verifier"] = json!(true);
        assert_eq!(remarks(offer), ["task.success_criteria[1]"]);
    }

    #[test]
    fn what_hides_in_a_text_is_named_with_its_place() {
        for (character, field) in [
            ('\u{200b}', "task.title"),
            ('\u{fe00}', "task.title"),
            ('\u{3164}', "task.title"),
            ('\u{ad}', "task.title"),
        ] {
            let mut offer = sound();
            offer["task"]["title"] = format!("Mend{character} the build").into();
            assert_eq!(remarks(offer), [field], "{character:?}");
        }
        let mut offer = sound();
        offer["context"]["known_risks"] = json!(["The lock file is shared", "a\u{115f}b"]);
        assert_eq!(remarks(offer), ["context.known_risks[1]"]);
        let mut offer = sound();
        offer["task"]["title"] = "Mend the build 👩\u{200d}💻".into();
        assert_eq!(remarks(offer), [""; 0]);
    }

    #[test]
    fn what_the_policy_forbids_is_refused() {
        let mut offer = sound();
        offer["policy"] = json!({ "export_restrictions": ["agent:tim"] });
        assert_eq!(remarks(offer), ["no policy.export_restrictions[0]"]);
    }
}
