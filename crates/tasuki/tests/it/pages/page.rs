//! A page as steps: the commands, their output, the files it writes, and the blocks that are left
//! out. Hidden comments say so where the page itself does not.

use std::iter::Peekable;

/// One page of the documentation.
#[derive(Debug)]
pub struct Page {
    pub path: String,
    pub steps: Vec<Step>,
    /// The faults of the page before anything is run.
    pub findings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Commands, in the one shell of the page.
    Run { line: usize, text: String, end: End },
    /// The output of the last commands.
    Compare { line: usize, text: String, form: Form },
    /// A file that later commands read.
    Write { name: String, text: String },
    /// A block that is not looked at.
    Skip { line: usize, why: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Well,
    Badly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Lines,
    /// Whitespace between JSON tokens does not count.
    Json,
}

/// A comment about the block after it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Note {
    File(String),
    Skip(String),
    Fails,
}

struct Block {
    line: usize,
    language: String,
    text: String,
}

impl Page {
    pub fn parse(path: &str, text: &str) -> Self {
        let mut page = Self { path: path.to_owned(), steps: Vec::new(), findings: Vec::new() };
        let mut lines = (1..).zip(text.lines()).peekable();
        let mut note = None;
        // Whether a command was run in this section whose output was not shown yet.
        let mut has_output = false;
        while let Some((number, line)) = lines.next() {
            let begin = line.trim_start();
            if let Some(comment) = begin.strip_prefix("<!--") {
                let comment = whole_comment(comment, &mut lines);
                match page.comment(number, &comment) {
                    Said::Run => has_output = true,
                    Said::OfTheNext(said) => note = Some(said),
                    Said::Nothing => {}
                }
            } else if let Some(language) = begin.strip_prefix("```") {
                let indent = line.len() - begin.len();
                let block = Block {
                    line: number,
                    language: language.trim().to_owned(),
                    text: String::new(),
                };
                match whole_block(block, indent, &mut lines) {
                    Ok(block) => has_output = page.block(block, note.take(), has_output),
                    Err(block) => page.find(block.line, "a block that does not end"),
                }
            } else if line.starts_with('#') {
                has_output = false;
            }
        }
        page
    }

    fn find(&mut self, line: usize, what: &str) {
        self.findings.push(format!("{}:{line}: {what}", self.path));
    }

    fn comment(&mut self, line: usize, comment: &str) -> Said {
        let (name, value) = comment.split_once(':').unwrap_or((comment, ""));
        match (name.trim(), value.trim()) {
            ("run", commands) => {
                let text = format!("{commands}\n");
                self.steps.push(Step::Run { line, text, end: End::Well });
                Said::Run
            }
            ("file", name) => Said::OfTheNext(Note::File(name.to_owned())),
            ("skip", "") => {
                self.find(line, "a skipped block says why");
                Said::Nothing
            }
            ("skip", why) => Said::OfTheNext(Note::Skip(why.to_owned())),
            ("fails", "") => Said::OfTheNext(Note::Fails),
            (other, _) => {
                self.find(line, &format!("`{other}` is no comment that the test knows"));
                Said::Nothing
            }
        }
    }

    /// Whether the next block may be the output of the last command.
    fn block(&mut self, block: Block, note: Option<Note>, has_output: bool) -> bool {
        let Block { line, language, text } = block;
        let form = match language.as_str() {
            "" | "http" => Some(Form::Lines),
            "json" => Some(Form::Json),
            _ => None,
        };
        match (note, language.as_str(), form) {
            (Some(Note::Skip(why)), ..) => {
                self.steps.push(Step::Skip { line, why });
                has_output
            }
            (Some(Note::File(name)), ..) => {
                self.steps.push(Step::Write { name, text });
                has_output
            }
            (note, "sh", _) => {
                let end = if note.is_some() { End::Badly } else { End::Well };
                self.steps.push(Step::Run { line, text, end });
                true
            }
            (None, _, Some(form)) if has_output => {
                self.steps.push(Step::Compare { line, text, form });
                false
            }
            _ => {
                self.find(line, "a block that is neither run nor the output of one");
                has_output
            }
        }
    }
}

enum Said {
    /// A command that readers do not see.
    Run,
    OfTheNext(Note),
    Nothing,
}

fn whole_comment<'a>(
    first: &str,
    lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>,
) -> String {
    let mut comment = first.to_owned();
    while !comment.contains("-->") {
        let Some((_, line)) = lines.next() else { break };
        comment.push('\n');
        comment.push_str(line);
    }
    let end = comment.find("-->").unwrap_or(comment.len());
    comment[..end].trim().to_owned()
}

/// The block without the indent of its list; or the part that exists.
fn whole_block<'a>(
    mut block: Block,
    indent: usize,
    lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>,
) -> Result<Block, Block> {
    for (_, line) in lines {
        if line.trim() == "```" {
            return Ok(block);
        }
        let n_spaces = line.len() - line.trim_start().len();
        block.text.push_str(&line[n_spaces.min(indent)..]);
        block.text.push('\n');
    }
    Err(block)
}
