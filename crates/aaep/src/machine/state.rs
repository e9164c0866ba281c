//! State continuity: the first change is from idle, each later one from the state before, or from
//! one that other events imply.

use serde::{Deserialize, Serialize};

use super::limits::{STATE_BYTES_MAX, kept};
use super::rules::{self, flaw};
use super::{Followed, Session};
use crate::flaw::Flaw;

pub(super) const IDLE: &str = "idle";
pub(super) const THINKING: &str = "thinking";
pub(super) const DECIDING: &str = "deciding";
pub(super) const CALLING_TOOL: &str = "calling_tool";
pub(super) const AWAITING_INPUT: &str = "awaiting_input";
pub(super) const WRITING_OUTPUT: &str = "writing_output";
pub(super) const HANDING_OFF: &str = "handing_off";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The state after the last change.
    announced: Option<String>,
    pub(super) implied: Implied,
}

/// The states that the events since the last change imply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Implied {
    pub(super) calling_tool: bool,
    pub(super) awaiting_input: bool,
    pub(super) writing_output: bool,
    pub(super) handing_off: bool,
}

impl State {
    pub(super) fn announced(&self) -> &str {
        self.announced.as_deref().unwrap_or(IDLE)
    }
}

impl State {
    pub(super) fn suppose(&mut self, to: &str) {
        if to.len() <= STATE_BYTES_MAX {
            self.announced = Some(to.to_owned());
        }
    }
}

impl Implied {
    fn names(&self) -> impl Iterator<Item = &str> {
        let names = [
            (self.calling_tool, CALLING_TOOL),
            (self.awaiting_input, AWAITING_INPUT),
            (self.writing_output, WRITING_OUTPUT),
            (self.handing_off, HANDING_OFF),
        ];
        names.into_iter().filter_map(|(is_implied, name)| is_implied.then_some(name))
    }
}

impl Session {
    pub(super) fn change_state(&mut self, from: &str, to: &str) -> Result<Followed, Flaw> {
        kept(to, STATE_BYTES_MAX, "to_state")?;
        let Some(announced) = &self.state.announced else {
            if from != IDLE {
                return Err(flaw(&rules::FIRST_STATE, "from_state", IDLE));
            }
            return self.enter(from, to);
        };
        if from != announced && !self.state.implied.names().any(|name| name == from) {
            let known = std::iter::once(announced.as_str()).chain(self.state.implied.names());
            let expected = known.collect::<Vec<_>>().join(" or ");
            return Err(flaw(&rules::CHAINED_STATE, "from_state", expected));
        }
        self.enter(from, to)
    }

    /// Leaving `calling_tool` means that a tool has returned; going from `awaiting_input` back to
    /// thinking withdraws all questions.
    fn enter(&mut self, from: &str, to: &str) -> Result<Followed, Flaw> {
        let is_after_tool =
            from == CALLING_TOOL && ![CALLING_TOOL, AWAITING_INPUT, HANDING_OFF].contains(&to);
        if is_after_tool {
            self.calls.check_one_returned()?;
        }
        let is_withdrawal = from == AWAITING_INPUT && [THINKING, DECIDING].contains(&to);
        let withdrawn = if is_withdrawal { self.consents.withdraw() } else { Vec::new() };
        self.calls.state_changed();
        self.consents.told();
        self.state = State { announced: Some(to.to_owned()), implied: Implied::default() };
        Ok(Followed { consent: None, withdrawn })
    }
}
