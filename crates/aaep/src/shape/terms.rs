//! The honored terms, as shaping needs them.

use super::super::capabilities::{Capabilities, Filters, Load};
use super::super::event::{Boundary, Verbosity};
use super::super::language::LANGUAGE;
use super::super::text::{Boundaries, Cut, last_cut};
use super::prepared::{Output, Prepared};

pub const TERSE: &str = "summary_terse";
pub const DETAILED: &str = "summary_detailed";

#[derive(Debug, Clone)]
pub struct Terms {
    pub filters: Filters,
    pub boundaries: Boundaries,
    pub languages: Vec<String>,
    pub rate: Option<u32>,
    pub pace_wpm: Option<u16>,
    /// Whether the listener takes in little at once.
    pub is_low: bool,
    /// Which summary of an event is delivered.
    pub verbosity: Verbosity,
    /// Whether every event arrives unchanged, so that sequence numbers are meaningful.
    pub keeps_numbers: bool,
    /// Whether the listener is a customer, who does not get what is for colleagues.
    pub is_customer: bool,
}

/// How a single event must be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changes<'a> {
    pub language: Option<&'a str>,
    /// The summary that replaces `summary_normal`.
    pub summary: Option<&'static str>,
    pub is_unnumbered: bool,
    pub is_masked: bool,
}

impl Terms {
    pub fn new(honored: &Capabilities) -> Self {
        let filters = honored.event_filters.clone().unwrap_or_default();
        let boundaries: Boundaries = match &honored.coalesce_boundaries {
            Some(all) => all.iter().copied().collect(),
            None => [Boundary::Sentence, Boundary::Completion].into_iter().collect(),
        };
        let is_low = honored.cognitive_load == Some(Load::Low);
        let rate = honored.max_events_per_second;
        Self {
            is_customer: false,
            keeps_numbers: filters.pass_all()
                && boundaries.contains(Boundary::None)
                && rate.is_none()
                && honored.pace_wpm.is_none()
                && !is_low,
            languages: honored.languages.clone().unwrap_or_else(|| vec![LANGUAGE.to_owned()]),
            pace_wpm: honored.pace_wpm,
            filters,
            boundaries,
            rate,
            is_low,
            verbosity: match is_low {
                true => Verbosity::Terse,
                false => honored.preferred_verbosity.unwrap_or(Verbosity::Normal),
            },
        }
    }

    /// Whether text goes out as it comes.
    pub fn is_immediate(&self) -> bool {
        self.boundaries.contains(Boundary::None)
    }

    /// Whether text goes out only when it is complete.
    pub fn is_only_completion(&self) -> bool {
        !self.is_immediate() && !self.boundaries.cut_inside()
    }

    /// How much of a text may go out that ends with this chunk, which begins at `from`.
    pub fn cut(&self, text: &str, from: usize, chunk: &Output) -> Option<Cut> {
        let end = |boundary| Some(Cut { at: text.len(), boundary });
        match chunk.hint {
            _ if chunk.is_complete => end(Boundary::Completion),
            _ if self.is_immediate() => end(chunk.hint.unwrap_or(Boundary::None)),
            Some(hint) if self.boundaries.contains(hint) => end(hint),
            Some(_) | None => last_cut(text, from, self.boundaries),
        }
    }

    /// Whether the listener accepts this `coalesce_hint` of an event.
    pub fn allows_hint(&self, hint: Option<Boundary>) -> bool {
        hint.is_none_or(|hint| self.boundaries.contains(hint))
    }

    pub fn changes<'a>(&'a self, event: &'a Prepared) -> Changes<'a> {
        Changes {
            language: event.languages.as_ref().and_then(|offered| offered.choose(&self.languages)),
            summary: self.summary(event),
            is_unnumbered: event.has_sequence_number && !self.keeps_numbers,
            is_masked: event.masked.is_some() || self.withholds(event),
        }
    }

    /// Whether something in the event is for colleagues.
    pub fn withholds(&self, event: &Prepared) -> bool {
        self.is_customer && event.is_for_colleagues
    }

    /// Critical events keep their full summary.
    fn summary(&self, event: &Prepared) -> Option<&'static str> {
        match self.verbosity {
            Verbosity::Terse => (event.has_terse && !event.is_critical).then_some(TERSE),
            Verbosity::Normal => None,
            Verbosity::Detailed => event.has_detailed.then_some(DETAILED),
        }
    }
}
