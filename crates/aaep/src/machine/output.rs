//! Outputs: each chunk continues where the last one ended, and each output is complete once.

use serde::{Deserialize, Serialize};

use super::limits::{ID_BYTES_MAX, OUTPUTS_MAX, kept, room};
use super::rules::{self, flaw};
use super::used_ids::Used;
use crate::event::Chunk;
use crate::flaw::Flaw;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outputs {
    /// The output of the chunks without an id.
    unnamed: Unnamed,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    open: Vec<Output>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unnamed {
    #[default]
    Unstarted,
    /// Its length so far.
    Open(u64),
    Complete,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Output {
    id: String,
    /// In Unicode scalar values.
    length: u64,
}

impl Outputs {
    pub(super) fn add(
        &mut self,
        chunk: &Chunk<'_>,
        is_used: &dyn Fn(&Used) -> bool,
        uses: &mut Vec<Used>,
    ) -> Result<(), Flaw> {
        match &chunk.output_id {
            None => self.add_unnamed(chunk),
            Some(id) => self.add_to(id, chunk, is_used, uses),
        }
    }

    /// A chunk at the wrong position: takes the length from the chunk itself.
    pub(super) fn suppose(&mut self, chunk: &Chunk<'_>) {
        let length = chunk.position.saturating_add(chunk.text.chars().count() as u64);
        match &chunk.output_id {
            None if chunk.complete => self.unnamed = Unnamed::Complete,
            None => self.unnamed = Unnamed::Open(length),
            Some(id) => {
                self.open.retain(|output| output.id != id.as_ref());
                if !chunk.complete && self.open.len() < OUTPUTS_MAX {
                    self.open.push(Output { id: id.as_ref().to_owned(), length });
                }
            }
        }
    }

    pub(super) fn suppose_renamed(&mut self, from: Option<&str>, to: Option<&str>) {
        let open = self.open().into_iter().find(|(id, _)| *id == from);
        let Some((_, length)) = open else { return };
        match from {
            None => self.unnamed = Unnamed::Unstarted,
            Some(id) => self.open.retain(|output| output.id != id),
        }
        match to {
            None => self.unnamed = Unnamed::Open(length),
            Some(id) => self.open.push(Output { id: id.to_owned(), length }),
        }
    }

    pub(super) fn suppose_complete(&mut self, output: Option<&str>) {
        match output {
            None => self.unnamed = Unnamed::Complete,
            Some(id) => self.open.retain(|output| output.id != id),
        }
    }

    pub(super) fn check_all_complete(&self) -> Result<(), Flaw> {
        match self.open().first() {
            None => Ok(()),
            Some((None, _)) => {
                let expected = "a last chunk with complete: true of the output before the end";
                Err(flaw(&rules::OUTPUT_COMPLETE, "type", expected))
            }
            Some((Some(id), _)) => {
                let expected = format!("a last chunk with complete: true of {id} before the end");
                Err(flaw(&rules::OUTPUT_COMPLETE, "type", expected))
            }
        }
    }

    pub(super) fn open(&self) -> Vec<(Option<&str>, u64)> {
        let unnamed = match self.unnamed {
            Unnamed::Open(length) => Some((None, length)),
            Unnamed::Unstarted | Unnamed::Complete => None,
        };
        let named = self.open.iter().map(|output| (Some(output.id.as_str()), output.length));
        unnamed.into_iter().chain(named).collect()
    }

    fn add_unnamed(&mut self, chunk: &Chunk<'_>) -> Result<(), Flaw> {
        let length = match self.unnamed {
            Unnamed::Unstarted => 0,
            Unnamed::Open(length) => length,
            Unnamed::Complete => {
                let expected = "an output_id, as the session's own output is complete";
                return Err(flaw(&rules::OUTPUT_OVER, "output_id", expected));
            }
        };
        let after = continued(length, chunk)?;
        self.unnamed = if chunk.complete { Unnamed::Complete } else { Unnamed::Open(after) };
        Ok(())
    }

    fn add_to(
        &mut self,
        id: &str,
        chunk: &Chunk<'_>,
        is_used: &dyn Fn(&Used) -> bool,
        uses: &mut Vec<Used>,
    ) -> Result<(), Flaw> {
        if let Some(index) = self.open.iter().position(|output| output.id == id) {
            let after = continued(self.open[index].length, chunk)?;
            if chunk.complete {
                self.open.swap_remove(index);
                uses.push(Used::Output(id.to_owned()));
            } else {
                self.open[index].length = after;
            }
            return Ok(());
        }
        kept(id, ID_BYTES_MAX, "output_id")?;
        let output = Used::Output(id.to_owned());
        if is_used(&output) {
            return Err(flaw(&rules::OUTPUT_OVER, "output_id", "an output that is not complete"));
        }
        let length = continued(0, chunk)?;
        if chunk.complete {
            uses.push(output);
            return Ok(());
        }
        room(self.open.len(), OUTPUTS_MAX, "output_id", "open outputs")?;
        self.open.push(Output { id: id.to_owned(), length });
        Ok(())
    }
}

/// The length after this chunk, which must begin where the last one ended.
fn continued(length: u64, chunk: &Chunk<'_>) -> Result<u64, Flaw> {
    if chunk.position != length {
        return Err(flaw(&rules::POSITION, "position", length.to_string()));
    }
    Ok(length.saturating_add(chunk.text.chars().count() as u64))
}
