//! Checks files of documents: each document by itself on several threads, then the order of their
//! sessions on one.

use std::borrow::Cow;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use aaep::event::{Event, Payload};
use aaep::flaw::{Flaw, Tier};
use aaep::handshake::{Handshake, Message, read_handshake, read_message};
use aaep::read::{self, examine};
use aaep::recorded::{Recorded, Remark, Salvaged, Weight, salvage};
use aaep::{EVENT_BYTES_MAX, EXTENSION, RECORDED_FROM_HERE};
use anyhow::Result;
use indicatif::ProgressBar;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::documents::{Document, LINE_BYTES_MAX, Source};
use super::found::{FileFinding, FilePlace, FileReport, Level};

/// Fewer documents than this are not worth a thread.
const DOCUMENTS_PER_THREAD_MIN: usize = 256;

/// Examined documents that are kept at once: many small ones take far more room than their text.
const DOCUMENTS_AT_ONCE: usize = 8_192;

/// What to look for.
#[derive(Debug, Clone)]
pub struct Options {
    /// None for all.
    pub tiers: Vec<Tier>,
    pub warnings: bool,
    /// A missing answer or end in the recording is an error.
    pub strict: bool,
    /// The most errors that are kept of a file, and the most warnings.
    pub findings_max: usize,
}

impl Options {
    fn wants(&self, tier: Tier) -> bool {
        self.tiers.is_empty() || self.tiers.contains(&tier)
    }
}

/// Checks all files, several at once, and reports each in order.
pub fn check_all<'p>(
    files: &[&'p Path],
    options: &Options,
    bar: &ProgressBar,
    mut tell: impl FnMut(&'p Path, Result<FileReport>),
) {
    let n_cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let n_workers = n_cores.min(files.len()).max(1);
    let n_threads = (n_cores / n_workers).max(1);
    let next = AtomicUsize::new(0);
    let (sender, reports) = mpsc::sync_channel(n_workers);
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(at) else { return };
                    let report = check(file, options, n_threads, bar);
                    if sender.send((at, report)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting: Vec<Option<Result<FileReport>>> = files.iter().map(|_| None).collect();
        let mut n_told = 0;
        for (at, report) in reports {
            waiting[at] = Some(report);
            while let Some(report) = waiting.get_mut(n_told).and_then(Option::take) {
                tell(files[n_told], report);
                n_told += 1;
            }
        }
    });
}

fn check(
    file: &Path,
    options: &Options,
    n_threads: usize,
    bar: &ProgressBar,
) -> Result<FileReport> {
    let mut source = Source::open(file)?;
    let file = file.display().to_string();
    let report = FileReport { file, ..FileReport::default() };
    let recorded = Recorded::default();
    let mut checking = Checking { options, report, recorded, line: 1 };
    let mut window = Vec::new();
    while source.read_on(&mut window)? {
        let documents = source.documents(&window);
        for part in documents.chunks(DOCUMENTS_AT_ONCE) {
            examine_all(part, options, n_threads).into_iter().for_each(|it| checking.add(it));
        }
        bar.inc(window.len() as u64);
    }
    Ok(checking.end())
}

/// A document, checked by itself.
struct Examined<'a> {
    line: usize,
    column: Option<usize>,
    content: Content<'a>,
    flaws: Vec<Flaw>,
    warnings: Vec<Flaw>,
}

enum Content<'a> {
    Event(Box<Event<'a>>),
    /// The first recorded event of a session that was already under way.
    Joined(Box<Event<'a>>),
    Message(Box<Handshake>),
    Manifest,
    Broken {
        is_json: bool,
        /// Whether the document may be meant as an event of a session.
        is_event: bool,
        salvaged: Box<Salvaged>,
    },
}

fn examine_all<'w>(
    documents: &[Document<'w>],
    options: &Options,
    n_threads: usize,
) -> Vec<Examined<'w>> {
    let n_parts = (documents.len() / DOCUMENTS_PER_THREAD_MIN).clamp(1, n_threads);
    let examine_part =
        |part: &[Document<'w>]| part.iter().map(|it| examine_one(*it, options)).collect::<Vec<_>>();
    if n_parts == 1 {
        return examine_part(documents);
    }
    std::thread::scope(|scope| {
        let parts = documents.chunks(documents.len().div_ceil(n_parts));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || examine_part(part))).collect();
        let joined = running.into_iter().map(|part| part.join().expect("examining does not panic"));
        joined.flatten().collect()
    })
}

fn examine_one<'w>(document: Document<'w>, options: &Options) -> Examined<'w> {
    let Document { line, bytes } = document;
    let broken = |column, flaws: Vec<Flaw>, text: &str| {
        let Kind { kind } = serde_json::from_str(text).unwrap_or_default();
        let is_event = kind.is_none_or(|kind| kind.starts_with("aaep:"));
        let salvaged = Box::new(salvage(text, &flaws));
        let content = Content::Broken { is_json: !text.is_empty(), is_event, salvaged };
        Examined { line, column, content, flaws, warnings: Vec::new() }
    };
    if bytes.len() > LINE_BYTES_MAX {
        let flaw = flaw(Tier::Spec, "3.7", format!("at most {EVENT_BYTES_MAX} bytes"));
        return broken(None, vec![flaw], "");
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let flaw = flaw(Tier::Schema, "json", "text in UTF-8".to_owned());
            return broken(Some(error.valid_up_to() + 1), vec![flaw], "");
        }
    };
    let whole =
        |content, warnings| Examined { line, column: None, content, flaws: Vec::new(), warnings };
    match event_or_message(text, options) {
        Ok((Message::Event(event), warnings)) if is_joined(&event, text) => {
            whole(Content::Joined(event), warnings)
        }
        Ok((Message::Event(event), warnings)) => whole(Content::Event(event), warnings),
        Ok((Message::Handshake(message), warnings)) => whole(Content::Message(message), warnings),
        Ok((Message::Manifest, warnings)) => whole(Content::Manifest, warnings),
        Err(flaws) if flaws.first().is_some_and(|it| it.rule == "json") => {
            let error = serde_json::from_str::<IgnoredAny>(text).err();
            let (lines, column) = error.map_or((1, 1), |error| (error.line(), error.column()));
            let line = line + lines.saturating_sub(1);
            // The finding has the line and the column in the file.
            let flaw = flaw(Tier::Schema, "json", "valid JSON".to_owned());
            Examined { line, ..broken(Some(column), vec![flaw], "") }
        }
        Err(flaws) => broken(None, flaws, text),
    }
}

/// Whether the recorder marked the event: its session was under way when the recording began. Few
/// events have the mark, and a session's first event never has it.
fn is_joined(event: &Event<'_>, text: &str) -> bool {
    !matches!(event.payload, Payload::SessionStarted { .. })
        && text.contains(RECORDED_FROM_HERE)
        && serde_json::from_str::<Value>(text)
            .is_ok_and(|event| event["extensions"][EXTENSION][RECORDED_FROM_HERE] == true)
}

/// Most documents are events, and are read once.
fn event_or_message<'t>(
    text: &'t str,
    options: &Options,
) -> Result<(Message<'t>, Vec<Flaw>), Vec<Flaw>> {
    if options.warnings {
        let examined = examine(text);
        if let Some(event) = examined.event {
            return Ok((Message::Event(Box::new(event)), examined.warnings));
        }
    } else if text.contains("\"aaep:agent.")
        && let Ok(event) = read::read(text)
    {
        return Ok((Message::Event(Box::new(event)), Vec::new()));
    }
    if is_no_event(text) {
        // Of an unknown type only the type is reported: its fields are unknown.
        return read_handshake(text)
            .map(|message| (Message::Handshake(Box::new(message)), Vec::new()));
    }
    read_message(text).map(|message| (message, Vec::new()))
}

/// Whether a document without the ids of an event is another message of unknown type: its type has
/// another form, or it carries the token of a reply.
fn is_no_event(text: &str) -> bool {
    let Ok(Value::Object(document)) = serde_json::from_str(text) else { return false };
    let kind = document.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_event =
        ["event_id", "session_id", "producer"].iter().any(|it| document.contains_key(*it));
    let is_question = kind.starts_with("aaep:agent.awaiting.");
    let is_reply = document.contains_key("reply_token") && !is_question;
    !is_event && (is_reply || !kind.is_empty() && !kind.contains(':'))
}

/// The type of a broken document, where it can be read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

fn flaw(tier: Tier, rule: &'static str, expected: String) -> Flaw {
    Flaw { tier, rule, field: "document".to_owned(), expected }
}

/// A file that is checked.
struct Checking<'a> {
    options: &'a Options,
    report: FileReport,
    recorded: Recorded,
    /// Of the last document.
    line: usize,
}

impl Checking<'_> {
    fn add(&mut self, examined: Examined<'_>) {
        let Examined { line, column, content, flaws, warnings } = examined;
        let index = self.report.n_documents;
        self.report.n_documents += 1;
        self.line = line;
        let mut place = FilePlace { line, column, index, ..FilePlace::default() };
        let remark = match &content {
            Content::Event(event) | Content::Joined(event) => {
                let id = event.envelope.session_id.as_ref();
                let is_joined = matches!(content, Content::Joined(_));
                let joined = is_joined.then(|| self.recorded.joined(id)).flatten();
                let remark = joined.or_else(|| self.recorded.event(event));
                if remark.is_some() || !warnings.is_empty() {
                    place.event_id = Some(event.envelope.event_id.as_ref().to_owned());
                    place.session_id = Some(event.envelope.session_id.as_ref().to_owned());
                }
                remark
            }
            Content::Message(message) => self.recorded.reply(message),
            Content::Manifest => None,
            Content::Broken { is_event, salvaged, .. } => {
                place.event_id.clone_from(&salvaged.event_id);
                place.session_id.clone_from(&salvaged.session_id);
                let is_counted = *is_event || salvaged.session_id.is_some();
                is_counted.then(|| self.recorded.broken(salvaged)).flatten()
            }
        };
        for flaw in flaws {
            if self.options.wants(flaw.tier) || self.is_in_the_way(&content) {
                self.find(&place, Level::Error, flaw);
            }
        }
        for flaw in warnings {
            if self.options.wants(flaw.tier) {
                self.find(&place, Level::Warning, flaw);
            }
        }
        if let Some(remark) = remark {
            self.remark(&place, remark);
        }
    }

    /// Whether a document prevents the requested check: an unreadable document is not valid by any
    /// rule, and if one of its events is missing, the order of a session cannot be checked.
    fn is_in_the_way(&self, content: &Content<'_>) -> bool {
        match content {
            Content::Broken { is_json, .. } => !is_json || self.options.wants(Tier::Session),
            Content::Event(_) | Content::Joined(_) | Content::Message(_) | Content::Manifest => {
                false
            }
        }
    }

    fn end(mut self) -> FileReport {
        let (line, index) = (self.line, self.report.n_documents.saturating_sub(1));
        let recorded = std::mem::take(&mut self.recorded);
        for (session_id, remark) in recorded.unfinished() {
            let session_id = Some(session_id.to_owned());
            let place = FilePlace { line, index, session_id, ..FilePlace::default() };
            self.remark(&place, remark);
        }
        FileReport { n_sessions: recorded.n_sessions(), ..self.report }
    }

    fn remark(&mut self, place: &FilePlace, remark: Remark) {
        let level = match remark.weight {
            Weight::Broken => Level::Error,
            Weight::Assumed if self.options.strict => Level::Error,
            Weight::Assumed | Weight::Idle => Level::Warning,
        };
        if self.options.wants(remark.flaw.tier) {
            self.find(place, level, remark.flaw);
        }
    }

    fn find(&mut self, place: &FilePlace, level: Level, flaw: Flaw) {
        let (n_found, is_wanted) = match level {
            Level::Error => {
                self.report.failed.add(flaw.tier);
                (&mut self.report.n_errors, true)
            }
            Level::Warning => (&mut self.report.n_warnings, self.options.warnings),
        };
        *n_found += 1;
        if is_wanted && *n_found <= self.options.findings_max {
            self.report.findings.push(FileFinding::new(&self.report.file, place, level, flaw));
        }
    }
}
