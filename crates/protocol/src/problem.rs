//! An invalid field of something that is checked as a whole.

use crate::rejection::Rejection;

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub field: String,
    pub expected: String,
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        Rejection::SchemaInvalid { field: problem.field, expected: problem.expected }
    }
}
