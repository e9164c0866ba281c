//! What an item requires of the person who takes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;
use crate::hidden::is_blank;
use crate::ids::NAME_BYTES_MAX;
use crate::problem::Problem;

pub const SKILL_LEVEL_MAX: u8 = 5;

/// Skills that one item can ask for. A person with more does not exist.
pub const SKILLS_WANTED_MAX: usize = 16;

/// What an item requires of the person who takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, SKILLS_WANTED_MAX))]
    pub skills: Vec<SkillWanted>,
    /// A language tag; a person with `es-MX` also matches `es`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

impl Wanted {
    /// All problems.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut wrong = |field: String, expected: String| {
            problems.push(Problem { field, expected });
        };
        if self.skills.len() > SKILLS_WANTED_MAX {
            wrong("skills".to_owned(), format!("at most {SKILLS_WANTED_MAX}"));
        }
        for (index, skill) in self.skills.iter().enumerate() {
            if is_blank(&skill.name) || skill.name.len() > NAME_BYTES_MAX {
                let expected = format!("1 to {NAME_BYTES_MAX} bytes of text");
                wrong(format!("skills[{index}].name"), expected);
            }
            if !(1..=SKILL_LEVEL_MAX).contains(&skill.level_min) {
                let expected = format!("a number from 1 to {SKILL_LEVEL_MAX}");
                wrong(format!("skills[{index}].level_min"), expected);
            }
        }
        problems
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillWanted {
    #[schemars(transform = form::text(NAME_BYTES_MAX))]
    pub name: String,
    /// From 1 to 5.
    #[schemars(transform = form::range(1, SKILL_LEVEL_MAX))]
    pub level_min: u8,
    /// Dropped if no person with it is found for long enough.
    #[serde(default)]
    pub preferred: bool,
}
