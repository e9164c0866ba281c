//! Tool calls: each returns once, paired by id or else by name.

use serde::{Deserialize, Serialize};

use super::consent::Act;
use super::limits::{CALLS_MAX, ID_BYTES_MAX, TOOL_BYTES_MAX, kept, room};
use super::rules::{self, flaw};
use super::{Followed, Session, Step, Used};
use crate::event::Payload;
use crate::flaw::Flaw;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Calls {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<OpenCall>,
    /// Whether one has returned since the last change of state.
    has_returned: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenCall {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

impl Session {
    pub(super) fn invoke(
        &mut self,
        step: &Step<'_>,
        uses: &mut Vec<Used>,
    ) -> Result<Followed, Flaw> {
        let Payload::ToolInvoked { tool, tool_call_id, irreversible, .. } = &step.event.payload
        else {
            unreachable!("only a call is invoked");
        };
        kept(tool, TOOL_BYTES_MAX, "tool")?;
        let mut used = None;
        if let Some(id) = tool_call_id {
            kept(id, ID_BYTES_MAX, "tool_call_id")?;
            let call = Used::Call(id.as_ref().to_owned());
            if (step.is_used)(&call) {
                let expected = "an id that no earlier call of the session has";
                return Err(flaw(&rules::CALL_ONCE, "tool_call_id", expected));
            }
            used = Some(call);
        }
        room(self.calls.open.len(), CALLS_MAX, "tool", "open calls")?;
        let act = Act {
            tool_call_id: tool_call_id.as_deref(),
            action_hash: step.event.envelope.link.action_hash.as_deref(),
            irreversible: *irreversible,
            at: step.at,
        };
        let consent = self.consents.act(&act, step.weak)?;
        self.calls.open.push(OpenCall {
            tool: tool.as_ref().to_owned(),
            tool_call_id: tool_call_id.as_deref().map(str::to_owned),
        });
        self.state.implied.calling_tool = true;
        uses.extend(used);
        Ok(Followed { consent, withdrawn: Vec::new() })
    }
}

impl Calls {
    pub(super) fn complete(&mut self, tool: &str, id: Option<&str>) -> Result<(), Flaw> {
        let index = match id {
            Some(id) => self.with_id(tool, id)?,
            None => self.without_id(tool)?,
        };
        self.open.remove(index);
        self.has_returned = true;
        Ok(())
    }

    pub(super) fn open(&self) -> Vec<(&str, Option<&str>)> {
        self.open.iter().map(|call| (call.tool.as_str(), call.tool_call_id.as_deref())).collect()
    }

    /// A call that was made, whether it was allowed or not.
    pub(super) fn suppose_open(&mut self, tool: &str, id: Option<&str>) {
        if self.open.len() < CALLS_MAX {
            let tool_call_id = id.map(str::to_owned);
            self.open.push(OpenCall { tool: tool.to_owned(), tool_call_id });
        }
    }

    /// A return that fits no call: the call that was probably meant has returned.
    pub(super) fn suppose_returned(&mut self, tool: &str, id: Option<&str>) {
        let has_id = |call: &OpenCall| id.is_some() && call.tool_call_id.as_deref() == id;
        let is_it = |call: &OpenCall| call.tool == tool && call.tool_call_id.as_deref() == id;
        let at = self.open.iter().position(is_it);
        let at = at.or_else(|| self.open.iter().position(has_id));
        if let Some(at) = at.or_else(|| self.open.iter().position(|call| call.tool == tool)) {
            self.open.remove(at);
        }
        self.has_returned = true;
    }

    pub(super) fn state_changed(&mut self) {
        self.has_returned = false;
    }

    /// Parallel calls may go on after one of them has returned.
    pub(super) fn check_one_returned(&self) -> Result<(), Flaw> {
        match self.open.first() {
            Some(call) if !self.has_returned => {
                let expected = format!("tool.completed of {} before this change", call.tool);
                Err(flaw(&rules::RETURN_BEFORE_STATE, "from_state", expected))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn check_none_open(&self) -> Result<(), Flaw> {
        let Some(call) = self.open.first() else { return Ok(()) };
        let expected = format!("tool.completed of {} before the end, at least timeout", call.tool);
        Err(flaw(&rules::CALLS_CLOSED, "type", expected))
    }

    fn with_id(&self, tool: &str, id: &str) -> Result<usize, Flaw> {
        let is_it = |call: &OpenCall| call.tool_call_id.as_deref() == Some(id);
        let Some(index) = self.open.iter().position(is_it) else {
            let expected = "the id of a call that has not returned";
            return Err(flaw(&rules::PAIRED, "tool_call_id", expected));
        };
        let invoked = &self.open[index].tool;
        if invoked != tool {
            return Err(flaw(&rules::SAME_TOOL, "tool", invoked));
        }
        Ok(index)
    }

    fn without_id(&self, tool: &str) -> Result<usize, Flaw> {
        let is_it = |call: &OpenCall| call.tool == tool && call.tool_call_id.is_none();
        if let Some(index) = self.open.iter().position(is_it) {
            return Ok(index);
        }
        if self.open.iter().any(|call| call.tool == tool) {
            let expected = "the tool_call_id that the call has";
            return Err(flaw(&rules::PAIRED, "tool_call_id", expected));
        }
        Err(flaw(&rules::PAIRED, "tool", "the tool of a call that has not returned"))
    }
}
