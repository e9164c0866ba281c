//! What a proposal must have, and how schemas say it.

use schemars::Schema;

use crate::form;

pub const TO_AGENT: &str = "to_agent";

pub const TASK_ID: &str = "task.task_id";

pub const TITLE: &str = "task.title";

pub const CRITERIA: &str = "task.success_criteria";

pub const SUMMARY: &str = "context.summary";

pub const NEXT_STEP: &str = "work_state.next_step";

pub const NEXT_STEP_EXPECTED: &str = "what to do first";

/// What a proposal must have, in the order people fill it in.
pub const NEEDED: [(&str, &str); 6] = [
    (TO_AGENT, "an agent id"),
    (TASK_ID, "a task id"),
    (TITLE, "a line of text"),
    (CRITERIA, "at least one criterion"),
    (SUMMARY, "what the next owner must know"),
    (NEXT_STEP, NEXT_STEP_EXPECTED),
];

pub const CRITERION_EXPECTED: &str = "a criterion that can be checked, not blank text";

/// A sealed package has what a proposal requires, except the target, which is in the record.
pub fn sealed_form(schema: &mut Schema) {
    add_needed(schema, |field| field != TO_AGENT);
}

/// At least one criterion, and none that is blank.
pub fn criteria_form(schema: &mut Schema) {
    schema.insert("minItems".to_owned(), 1.into());
    form::each(form::not_blank(CRITERION_EXPECTED))(schema);
}

pub fn add_needed(schema: &mut Schema, is_needed: impl Fn(&str) -> bool) {
    for (path, expected) in NEEDED.into_iter().filter(|(path, _)| is_needed(path)) {
        form::needed(schema, path, &mut |field| match path {
            TO_AGENT => {}
            CRITERIA => {
                field.insert("type".to_owned(), "array".into());
                criteria_form(field);
            }
            SUMMARY | NEXT_STEP => {
                field.insert("type".to_owned(), "string".into());
                form::not_blank(expected)(field);
            }
            _ => {
                field.insert("type".to_owned(), "string".into());
                field.insert(form::EXPECTED.to_owned(), expected.into());
            }
        });
    }
}
