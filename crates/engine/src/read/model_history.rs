//! The lines of a transcript as data, and the newest of them as the history of a model.

use protocol::conversation::Event;
use protocol::conversation::part::Part;
use protocol::conversation::transcript_line::TranscriptLine;
use protocol::ids::ConversationId;
use protocol::ledger::Stream;
use protocol::tools::history_form::HistoryForm;
use protocol::tools::transcript::{
    HISTORY_BYTES_MAX, HISTORY_LINES_MAX, History, history, n_text_bytes,
};
use protocol::{codec, step};

use crate::Engine;
use crate::ports::store::{Sequenced, StoreError};
use crate::read::Read;

/// Lines that are read at a time. A line may have files, which are not kept.
const PAGE: u64 = 16;

impl Read<'_> {
    /// The history up to a message: at most so many lines, and no more text than fits. It is read
    /// from its end, so that a long conversation costs no more than a short one.
    pub async fn model_history(
        self,
        stream: &Stream,
        conversation: ConversationId,
        through: u64,
        form: HistoryForm,
        n_lines_max: usize,
    ) -> Result<History, StoreError> {
        let n_lines_max = n_lines_max.min(HISTORY_LINES_MAX) as u64;
        let (mut lines, mut n_bytes, mut end) = (Vec::new(), 0, through);
        let first = through.saturating_sub(n_lines_max);
        while end > first && n_bytes <= HISTORY_BYTES_MAX {
            let after = end.saturating_sub(PAGE).max(first);
            let mut page = self.engine.lines(stream, after, end).await?;
            page.iter_mut().for_each(forget_files);
            n_bytes += n_text_bytes(&page);
            page.append(&mut lines);
            (lines, end) = (page, after);
            // A message may be large, and others wait for this thread.
            tokio::task::yield_now().await;
        }
        Ok(history(form, conversation, &lines))
    }
}

impl Engine {
    /// The lines of a transcript after a number, through another one.
    pub(crate) async fn lines(
        &self,
        stream: &Stream,
        after: u64,
        through: u64,
    ) -> Result<Vec<TranscriptLine>, StoreError> {
        let n_lines = usize::try_from(through.saturating_sub(after)).unwrap_or_default();
        let mut lines: Vec<TranscriptLine> = Vec::new();
        while lines.len() < n_lines {
            let after = after + lines.len() as u64;
            let page = self.transcript(stream, after, n_lines - lines.len()).await?;
            if page.is_empty() {
                break;
            }
            lines.extend((after + 1..).zip(page).map(line));
        }
        Ok(lines)
    }
}

/// A history names files, and does not have them.
fn forget_files(line: &mut TranscriptLine) {
    if let Some(Event::Said(said)) = &mut line.event {
        for part in &mut said.parts {
            if let Part::Attachment(attachment) = part {
                attachment.data = String::new();
            }
        }
    }
}

fn line((number, line): (u64, Sequenced)) -> TranscriptLine {
    let entry = &line.entry;
    let text = entry.body.text();
    let event = text.and_then(|text| codec::decode(&entry.name, entry.version, text).ok());
    let event = match event {
        Some(step::Event::Conversation(event)) => Some(event),
        Some(
            step::Event::Handoff(_)
            | step::Event::Agent(_)
            | step::Event::Token(_)
            | step::Event::Message(_)
            | step::Event::Teamspace(_)
            | step::Event::Graph(_)
            | step::Event::Subscription(_)
            | step::Event::File(_)
            | step::Event::Webhook(_)
            | step::Event::Question(_)
            | step::Event::Session(_)
            | step::Event::Erased(_)
            | step::Event::Forked(_),
        )
        | None => None,
    };
    TranscriptLine { number, at: entry.at, actor: entry.actor.to_string(), event }
}
