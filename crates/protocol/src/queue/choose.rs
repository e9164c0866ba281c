//! Chooses who takes an item: of the eligible candidates, the one idle longest.

use super::wanted::{SkillWanted, Wanted};
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::Agent;
use crate::ids::AgentId;
use crate::route::language::is_language;
use crate::time::Time;

/// An agent at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub agent: AgentId,
    /// Declares itself available, and is reachable.
    pub is_available: bool,
    /// Skills by name, with their level.
    pub skills: BTreeMap<String, u8>,
    pub languages: Vec<String>,
    pub teams: BTreeSet<String>,
    /// How much it takes at once, and how much of that is in use.
    pub capacity: u32,
    pub load: u32,
    /// When it was last given an item; the beginning of its shift if none yet.
    pub last_assigned_at: Time,
}

impl Candidate {
    /// An agent of the directory with this load and this last assignment.
    pub fn of(agent: &Agent, load: u32, last_assigned_at: Time) -> Self {
        let profile = &agent.profile;
        let skills = profile.skills.iter().map(|skill| (skill.name.clone(), skill.level));
        let team = Some(profile.team.clone()).filter(|team| !team.is_empty());
        Self {
            agent: agent.id.clone(),
            is_available: agent.is_available(),
            skills: skills.collect(),
            languages: profile.languages.clone(),
            teams: team.into_iter().collect(),
            capacity: agent.capacity().map_or(u32::MAX, u32::from),
            load,
            last_assigned_at,
        }
    }
}

/// Why an agent cannot take an item; the first reason that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ineligible {
    Unavailable,
    /// It has declined this item.
    Declined,
    OtherTeam,
    OtherLanguage,
    MissingSkill,
    NoCapacity,
}

/// Whether an agent can take an item. `declined` are the agents who declined this item.
pub fn eligible(
    candidate: &Candidate,
    wanted: &Wanted,
    declined: &BTreeSet<AgentId>,
) -> Result<(), Ineligible> {
    if !candidate.is_available {
        return Err(Ineligible::Unavailable);
    }
    if declined.contains(&candidate.agent) {
        return Err(Ineligible::Declined);
    }
    if wanted.team.as_ref().is_some_and(|team| !candidate.teams.contains(team)) {
        return Err(Ineligible::OtherTeam);
    }
    let speaks = |wanted: &String| {
        let mut spoken = candidate.languages.iter();
        // A speaker of Spanish also matches Mexican Spanish, and the reverse.
        spoken.any(|spoken| is_language(spoken, wanted) || is_language(wanted, spoken))
    };
    if wanted.language.as_ref().is_some_and(|language| !speaks(language)) {
        return Err(Ineligible::OtherLanguage);
    }
    let has = |skill: &SkillWanted| {
        candidate.skills.get(&skill.name).is_some_and(|level| *level >= skill.level_min)
    };
    if !wanted.skills.iter().all(has) {
        return Err(Ineligible::MissingSkill);
    }
    if candidate.load >= candidate.capacity {
        return Err(Ineligible::NoCapacity);
    }
    Ok(())
}

/// Of the eligible candidates, the one with the oldest assignment; then the one with the smallest
/// share of its capacity in use; then the first by id. The order of the arguments does not matter.
pub fn choose<'c>(
    candidates: impl IntoIterator<Item = &'c Candidate>,
    wanted: &Wanted,
    declined: &BTreeSet<AgentId>,
) -> Option<&'c Candidate> {
    let able = candidates.into_iter().filter(|one| eligible(one, wanted, declined).is_ok());
    able.min_by(|a, b| {
        // Compares a.load / a.capacity with b.load / b.capacity, without fractions.
        let taken =
            |one: &Candidate, other: &Candidate| u64::from(one.load) * u64::from(other.capacity);
        (a.last_assigned_at.cmp(&b.last_assigned_at))
            .then(taken(a, b).cmp(&taken(b, a)))
            .then(a.agent.cmp(&b.agent))
    })
}
