//! Runs the executable as a person would, and writes a transcript: the command, its output, its
//! remarks and its exit code. Values that differ from run to run are replaced by names.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// One run of the executable.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the executable in a folder, with nothing in its environment but `environment`.
pub fn tasuki(
    folder: &Path,
    arguments: &[String],
    environment: &[(&str, &str)],
    input: &str,
) -> Outcome {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the executable starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A command that does not read its input may have closed it by now.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("the command line prints text");
    let code = status.code().expect("it was not killed");
    Outcome { code, stdout: text(stdout), stderr: text(stderr) }
}

/// Splits a line into arguments at spaces; quotes keep them together.
pub fn split(line: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    for (number, part) in line.split('"').enumerate() {
        if number % 2 == 1 {
            arguments.push(part.to_owned());
        } else {
            arguments.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    arguments
}

/// A transcript, with names for values that differ.
#[derive(Debug, Default)]
pub struct Transcript {
    pub text: String,
    names: BTreeMap<String, String>,
}

impl Transcript {
    pub fn add(&mut self, command: &str, outcome: &Outcome) {
        let mut lines = vec![format!("$ {command}")];
        let shown = self.named(&outcome.stdout);
        lines.extend(shown.trim_end_matches('\n').lines().map(str::to_owned));
        let remarks = self.named(&outcome.stderr);
        lines.extend(remarks.trim_end_matches('\n').lines().map(|line| format!("! {line}")));
        if outcome.code != 0 {
            lines.push(format!("(exit {})", outcome.code));
        }
        self.text.push_str(&lines.join("\n"));
        self.text.push_str("\n\n");
    }

    /// Replaces a word wherever it appears.
    pub fn name(&mut self, word: &str, name: &str) {
        self.names.insert(word.to_owned(), name.to_owned());
    }

    fn named(&mut self, text: &str) -> String {
        let mut text = without_secrets(&without_sequence(text));
        // A folder's path may hold any character, so it is replaced before words are split.
        for (word, name) in self.names.iter().filter(|(word, _)| word.starts_with('/')) {
            text = text.replace(word, name);
        }
        let mut named = String::new();
        let mut word = String::new();
        for character in text.chars().chain(['\n']) {
            if character.is_ascii_alphanumeric() || "-_:.+".contains(character) {
                word.push(character);
            } else {
                named.push_str(&self.name_of(&std::mem::take(&mut word)));
                named.push(character);
            }
        }
        named.pop();
        named.lines().map(|line| without_ages(line) + "\n").collect()
    }

    fn name_of(&mut self, word: &str) -> String {
        if let Some(name) = self.names.get(word) {
            return name.clone();
        }
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some(rest) = word.strip_prefix("thread-").filter(|rest| is_uuid(rest)) {
            return format!("thread-{}", self.name_of(rest));
        }
        // The session of a handoff: on the machine itself, or by token.
        if word == "cli" || word.strip_prefix("token:").is_some_and(is_uuid) {
            return "[session]".to_owned();
        }
        if word.strip_prefix("tasuki_").is_some_and(is_hex) {
            return "[token]".to_owned();
        }
        if word.strip_prefix("cur_").is_some_and(|rest| rest.len() == 32) {
            return "[cursor]".to_owned();
        }
        if is_uuid(word) {
            let n_ids = self.names.values().filter(|name| name.starts_with("[id-")).count();
            let name = format!("[id-{}]", n_ids + 1);
            self.names.insert(word.to_owned(), name.clone());
            return name;
        }
        if word.len() == 64 && is_hex(word) {
            return "[hash]".to_owned();
        }
        if word.parse::<protocol::time::Time>().is_ok() {
            return "[time]".to_owned();
        }
        word.to_owned()
    }
}

fn is_uuid(word: &str) -> bool {
    word.parse::<protocol::ids::HandoffId>().is_ok()
}

/// The server's own entries come between the requested ones, at their own times.
fn without_sequence(text: &str) -> String {
    const NAME: &str = "\"seq\":";
    let mut parts = text.split(NAME);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(NAME);
        shown.push_str("\"[seq]\"");
        shown.push_str(part.trim_start_matches(|character: char| character.is_ascii_digit()));
    }
    shown
}

/// Base64 has characters that no other word has.
fn without_secrets(text: &str) -> String {
    let mut parts = text.split("whsec_");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("[secret]");
        let is_base64 = |it: char| it.is_ascii_alphanumeric() || "+/=".contains(it);
        shown.push_str(part.trim_start_matches(is_base64));
    }
    shown
}

/// Ages depend on the speed of the test, and column widths on the ages.
fn without_ages(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_number = |word: &str| word.parse::<u32>().is_ok();
        let is_unit = |word: &str| matches!(bare(word), "s" | "min" | "h" | "d");
        match &words[at..] {
            [number, unit, ago, ..] if is_number(number) && is_unit(unit) && bare(ago) == "ago" => {
                kept.push("[ago]");
                at += 3;
            }
            [number, unit, "in", ..] if is_number(number) && is_unit(unit) => {
                kept.push("[span]");
                at += 2;
            }
            ["in", number, unit, ..] if is_number(number) && is_unit(unit) => {
                kept.push("[ahead]");
                at += 3;
            }
            [now, ..] if bare(now) == "now" && kept.last() != Some(&"is") => {
                kept.push("[ago]");
                at += 1;
            }
            [word, ..] => {
                kept.push(word);
                at += 1;
            }
            [] => break,
        }
    }
    squeezed(&kept.join(" "))
}

/// A word without the mark that ends a part of a sentence.
fn bare(word: &str) -> &str {
    word.trim_end_matches([',', ';'])
}

/// Columns, separated by as few spaces as keep them apart. The indent stays.
fn squeezed(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut shown = line[..indent.min(4)].to_owned();
    let mut n_spaces = 0;
    for character in line.trim_start().chars() {
        n_spaces = if character == ' ' { n_spaces + 1 } else { 0 };
        if n_spaces <= 2 {
            shown.push(character);
        }
    }
    shown.trim_end().to_owned()
}
