//! `tasuki aaep lint`: whether recorded sessions are good to listen to. Advice, not rules; works
//! offline.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use aaep::event::Event;
use aaep::handshake::{Message, read_message};
use aaep::lint::{Heard, LintFinding, Texts, lint};
use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::documents::{check_readable, read_whole};
use super::found::counted;
use crate::{exit_code, output};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LintArgs {
    /// Files with recorded sessions; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object for each finding instead of text
    #[arg(long)]
    json: bool,
}

const HELP: &str = "Exit codes: 0 nothing to say, 1 there is advice or a document that is not \
                    valid, 2 usage or a file that cannot be opened.";

/// One finding, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Advised<'a> {
    file: &'a str,
    line: usize,
    session_id: &'a str,
    #[serde(flatten)]
    finding: LintFinding,
}

#[derive(Debug, Default)]
struct Counts {
    n_sessions: usize,
    n_findings: usize,
    n_invalid: usize,
}

pub fn run(args: &LintArgs) -> Result<u8> {
    if let Err(error) = check_readable(&args.files) {
        output::remark(&format!("error: {}", output::clean(&format!("{error:#}"))));
        return Ok(exit_code::USAGE);
    }
    let mut counts = Counts::default();
    for file in &args.files {
        look(file, args.json, &mut counts)?;
    }
    let Counts { n_sessions, n_findings, n_invalid } = counts;
    output::remark(&format!(
        "{}, {}: {}",
        counted(args.files.len(), "file"),
        counted(n_sessions, "session"),
        if n_findings == 0 { "nothing to say".to_owned() } else { counted(n_findings, "finding") },
    ));
    if n_invalid > 0 {
        let n_invalid = counted(n_invalid, "document");
        output::remark(&format!("passed over as not valid: {n_invalid}"));
        output::remark("hint: `tasuki aaep validate` tells what is wrong");
    }
    let is_fine = n_findings == 0 && n_invalid == 0;
    Ok(if is_fine { exit_code::OK } else { exit_code::FAILED })
}

fn look(file: &Path, json: bool, counts: &mut Counts) -> Result<()> {
    let documents = read_whole(file)?;
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut sessions: Vec<Vec<(usize, Event<'_>, Texts)>> = Vec::new();
    for (line, text) in &documents {
        match read_message(text) {
            Ok(Message::Event(event)) => {
                let id = event.envelope.session_id.as_ref().to_owned();
                let at = *places.entry(id).or_insert(sessions.len());
                if at == sessions.len() {
                    sessions.push(Vec::new());
                }
                sessions[at].push((*line, *event, Texts::read(text)));
            }
            Ok(Message::Handshake(_) | Message::Manifest) => {}
            Err(_) => counts.n_invalid += 1,
        }
    }
    let file = file.display().to_string();
    for session in &sessions {
        let heard = session.iter().map(|(_, event, texts)| Heard { event, texts: texts.clone() });
        let heard: Vec<_> = heard.collect();
        let session_id = heard.first().map_or("", |it| &it.event.envelope.session_id);
        counts.n_sessions += 1;
        for finding in lint(&heard) {
            counts.n_findings += 1;
            let line = session[finding.index].0;
            tell(&Advised { file: &file, line, session_id, finding }, json);
        }
    }
    Ok(())
}

fn tell(advised: &Advised<'_>, json: bool) {
    if json {
        output::json(advised);
        return;
    }
    let Advised { file, line, finding, .. } = advised;
    let n_events = match finding.n_events {
        1 => String::new(),
        n_events => format!(" ({n_events} events)"),
    };
    let text = format!("{file}:{line}: {}  {}{n_events}", finding.name, finding.advice);
    output::line(&output::clean(&text));
}
