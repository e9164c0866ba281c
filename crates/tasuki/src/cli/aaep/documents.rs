//! Files with AAEP documents, as people have them: one on each line, one over many lines, several
//! of those, or a list. A file of lines is read a window at a time, so that its size does not
//! matter.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Bytes read at once. Enough to be worth several threads.
pub const WINDOW_BYTES: usize = 4 * 1024 * 1024;

/// A longer line is not a document; an event has at most 256 KiB.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;

/// A document over many lines, or a list, is read whole.
const WHOLE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// A document, and the line on which it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    pub line: usize,
    pub bytes: &'a [u8],
}

/// A file, or standard input.
pub struct Source {
    reader: Box<dyn Read + Send>,
    /// Bytes that were read and not yet handed out.
    rest: Vec<u8>,
    line: usize,
    is_over: bool,
    /// The last line read is too long, and its end is yet to come.
    is_in_long_line: bool,
    form: Option<FileForm>,
    name: String,
}

/// How the documents of a file are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    /// One on each line.
    Lines,
    /// Values wherever they begin and end, and lists of them.
    Values,
}

/// All documents of a file that is read as a whole, each with its line.
pub fn read_whole(path: &Path) -> Result<Vec<(usize, String)>> {
    let mut source = Source::open(path)?;
    let (mut window, mut all, mut n_bytes) = (Vec::new(), Vec::new(), 0);
    while source.read_on(&mut window)? {
        n_bytes += window.len();
        if n_bytes > WHOLE_BYTES_MAX {
            bail!("{}: expected at most {WHOLE_BYTES_MAX} bytes", source.name);
        }
        for Document { line, bytes } in source.documents(&window) {
            all.push((line, String::from_utf8_lossy(bytes).into_owned()));
        }
    }
    Ok(all)
}

/// Checks that all files can be opened, before the first is read.
pub fn check_readable(files: &[PathBuf]) -> Result<()> {
    let mut files = files.iter().filter(|file| file.as_os_str() != "-");
    files.try_for_each(|file| Source::open(file).map(|_| ()))
}

impl Source {
    pub fn open(path: &Path) -> Result<Self> {
        let is_input = path.as_os_str() == "-";
        let name = if is_input { "-".to_owned() } else { path.display().to_string() };
        let reader: Box<dyn Read + Send> = if is_input {
            Box::new(io::stdin())
        } else {
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            if file.metadata().is_ok_and(|about| about.is_dir()) {
                bail!("cannot read {name}: it is a folder");
            }
            Box::new(file)
        };
        let rest = Vec::new();
        Ok(Self { reader, rest, line: 1, is_over: false, is_in_long_line: false, form: None, name })
    }

    /// Reads on into `window`; false at the end.
    pub fn read_on(&mut self, window: &mut Vec<u8>) -> Result<bool> {
        window.clear();
        window.append(&mut self.rest);
        self.fill(window, WINDOW_BYTES)?;
        let form = *self.form.get_or_insert_with(|| form_of(window));
        if form == FileForm::Values {
            self.fill(window, WHOLE_BYTES_MAX + 1)?;
            if window.len() > WHOLE_BYTES_MAX {
                bail!("{}: too large to be read whole: write one document on each line", self.name);
            }
        } else if !self.is_over {
            let end = window.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            self.rest = window.split_off(end.unwrap_or(window.len()));
        }
        Ok(!window.is_empty())
    }

    /// The documents of a window that was just read.
    pub fn documents<'w>(&mut self, window: &'w [u8]) -> Vec<Document<'w>> {
        match self.form {
            Some(FileForm::Values) => values(window),
            Some(FileForm::Lines) | None => self.lines(window),
        }
    }

    fn fill(&mut self, window: &mut Vec<u8>, n_bytes: usize) -> Result<()> {
        let missing = n_bytes.saturating_sub(window.len()) as u64;
        if self.is_over || missing == 0 {
            return Ok(());
        }
        let mut part = (&mut self.reader).take(missing);
        let n_read =
            part.read_to_end(window).with_context(|| format!("cannot read {}", self.name))?;
        self.is_over = (n_read as u64) < missing;
        Ok(())
    }

    /// Skips empty lines. Of a line that is too long only the beginning is a document.
    fn lines<'w>(&mut self, window: &'w [u8]) -> Vec<Document<'w>> {
        let mut documents = Vec::new();
        for line in window.split_inclusive(|byte| *byte == b'\n') {
            let was_in_long_line = self.is_in_long_line;
            let is_whole = line.ends_with(b"\n");
            self.is_in_long_line = !is_whole;
            let bytes = line.trim_ascii();
            if !bytes.is_empty() && !was_in_long_line {
                documents.push(Document { line: self.line, bytes });
            }
            self.line += usize::from(is_whole);
        }
        documents
    }
}

/// Decided by the beginning, whatever the name of the file is. A document over many lines, or a
/// list, is `Values`, also if it is broken. `Lines` if the first line is a whole document, or the
/// second begins another.
fn form_of(start: &[u8]) -> FileForm {
    let lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return FileForm::Lines };
    let is_whole = serde_json::from_slice::<IgnoredAny>(first).is_ok();
    let second = lines.next().and_then(|line| line.first());
    match (first.first(), second) {
        // A list in a file of lines is a wrong document, and not a list of documents.
        (Some(b'['), Some(b'{')) if is_whole => FileForm::Lines,
        (Some(b'['), _) => FileForm::Values,
        (Some(b'{'), _) if is_whole => FileForm::Lines,
        (Some(b'{'), _) if is_longer_value(first, start) => FileForm::Values,
        (Some(b'{'), Some(b'"' | b'}')) => FileForm::Values,
        (Some(_) | None, _) => FileForm::Lines,
    }
}

/// Whether the first value goes on after the first line.
fn is_longer_value(first: &[u8], start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    values.next().is_some_and(|value| value.is_ok()) && values.byte_offset() > first.len()
}

/// The values of a text, those in lists one by one. From the first byte that is not JSON, the rest
/// is one document.
fn values(bytes: &[u8]) -> Vec<Document<'_>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return vec![Document { line: 1, bytes }];
    };
    let mut documents = Vec::new();
    let mut place = DocumentPlace { text, offset: 0, line: 1 };
    let mut read = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let start = read.byte_offset();
        let Some(value) = read.next() else { return documents };
        let Ok(value) = value else {
            let rest = text[start..].trim_start();
            documents.push(place.document(rest));
            return documents;
        };
        let items = value.get().starts_with('[').then(|| value.get());
        match items.and_then(|items| serde_json::from_str::<Vec<&RawValue>>(items).ok()) {
            Some(items) => documents.extend(items.iter().map(|item| place.document(item.get()))),
            None => documents.push(place.document(value.get())),
        }
    }
}

/// Counts lines up to where a part begins.
struct DocumentPlace<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> DocumentPlace<'a> {
    fn document(&mut self, part: &'a str) -> Document<'a> {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        let between = &self.text.as_bytes()[self.offset..offset];
        self.line += between.iter().filter(|byte| **byte == b'\n').count();
        self.offset = offset;
        Document { line: self.line, bytes: part.as_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        let mut source = Source {
            reader: Box::new(io::Cursor::new(text.to_owned())),
            rest: Vec::new(),
            line: 1,
            is_over: false,
            is_in_long_line: false,
            form: None,
            name: "test".to_owned(),
        };
        let mut window = Vec::new();
        let mut all = Vec::new();
        while source.read_on(&mut window).expect("it is in memory") {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            all.extend(source.documents(&window).iter().map(|it| (it.line, text(it.bytes))));
        }
        all
    }

    #[test]
    fn documents_are_found_in_every_form() {
        let cases: [(&str, &[(usize, &str)]); 17] = [
            ("", &[]),
            ("{\"a\":1}", &[(1, "{\"a\":1}")]),
            ("\n{\"a\":1}\r\n\n{\"b\":2}\n", &[(2, "{\"a\":1}"), (4, "{\"b\":2}")]),
            ("{\"a\":\n{\"b\":2}\n", &[(1, "{\"a\":"), (2, "{\"b\":2}")]),
            ("{\n\"a\":1}\n{\n}", &[(1, "{\n\"a\":1}"), (3, "{\n}")]),
            ("[\n {},\n\n {\"a\":[]}]", &[(2, "{}"), (4, "{\"a\":[]}")]),
            ("{\n\"a\":1}\n{\n", &[(1, "{\n\"a\":1}"), (3, "{\n")]),
            ("[{},\n", &[(1, "[{},\n")]),
            ("hello\nworld", &[(1, "hello"), (2, "world")]),
            ("[{},{\"a\":1}]\n", &[(1, "{}"), (1, "{\"a\":1}")]),
            ("[{}]\n[{}]\n", &[(1, "{}"), (2, "{}")]),
            ("[1,2]\n{}\n", &[(1, "[1,2]"), (2, "{}")]),
            ("{}x\n{}\n", &[(1, "{}x"), (2, "{}")]),
            ("null\n{}\n", &[(1, "null"), (2, "{}")]),
            ("{\"a\":\n{\"b\":2}}\n", &[(1, "{\"a\":\n{\"b\":2}}")]),
            ("{\n\"a\":tru\n}\n", &[(1, "{\n\"a\":tru\n}\n")]),
            ("{\"a\":\nnull\n{}\n", &[(1, "{\"a\":"), (2, "null"), (3, "{}")]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(at, it)| (*at, (*it).to_owned())).collect();
            assert_eq!(found(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_that_does_not_end_is_one_document() {
        let long = "x".repeat(WINDOW_BYTES * 2 + 10);
        let found = found(&format!("{{}}\n{long}\n{{}}\n"));
        let shape: Vec<_> = found.iter().map(|(line, text)| (*line, text.len().min(3))).collect();
        assert_eq!(shape, [(1, 2), (2, 3), (3, 2)]);
    }
}
