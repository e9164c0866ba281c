//! Rules about the shape of files: how long, how wide, how named, how introduced.

use super::Finding;
use super::tree::{SourceFile, Tree};

/// Past this a file has a second subject. Tests beside the code are free, because a command keeps
/// its rows in its own file; a file of nothing but tests is counted whole.
const FILE_LINES_MAX: usize = 500;

/// One screen, signature included.
const FUNCTION_LINES_MAX: usize = 70;

/// What fits beside another file on a laptop, and what rustfmt is told.
const LINE_COLUMNS_MAX: usize = 100;

/// A clone pays for every large file forever; what is bigger belongs in a release.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// Names that say nothing attract everything.
const NAMES_BANNED: [&str; 6] =
    ["mod.rs", "utils.rs", "helpers.rs", "common.rs", "types.rs", "imp.rs"];

pub(super) fn file_length(tree: &Tree) -> Vec<Finding> {
    let too_long = |file: &SourceFile| {
        let all = file.text.lines().count();
        let counted = (1..=all).take_while(|line| file.is_test() || !file.is_test_at(*line));
        let lines = counted.count();
        let what = format!("{lines} lines without tests (at most {FILE_LINES_MAX})");
        let instead = "a file of its own for the second subject";
        (lines > FILE_LINES_MAX).then(|| file.finding(FILE_LINES_MAX + 1, what, instead))
    };
    tree.rust().filter_map(|(file, _)| too_long(file)).collect()
}

pub(super) fn function_length(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for function in rust.functions() {
            let lines = function.last_line - function.line + 1;
            if lines > FUNCTION_LINES_MAX {
                let name = function.name;
                let what = format!("`{name}` has {lines} lines (at most {FUNCTION_LINES_MAX})");
                findings.push(file.finding(function.line, what, "a function per step"));
            }
        }
    }
    findings
}

/// A link cannot be broken, and neither can a line of a raw string.
pub(super) fn line_width(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for (number, line) in (1..).zip(file.text.lines()) {
            let columns = line.chars().count();
            let is_free = line.contains("http") || rust.is_inside_raw_literal(number);
            if columns > LINE_COLUMNS_MAX && !is_free {
                let what = format!("{columns} columns (at most {LINE_COLUMNS_MAX})");
                findings.push(file.finding(number, what, "a shorter line"));
            }
        }
    }
    findings
}

pub(super) fn module_paragraph(tree: &Tree) -> Vec<Finding> {
    let has_none = |file: &SourceFile| !file.text.trim_start().starts_with("//!");
    let instead = "a leading `//!` that says what it is and what it must not know";
    let bad = tree.rust().filter(|(file, _)| has_none(file));
    bad.map(|(file, _)| file.finding(1, "module without a paragraph", instead)).collect()
}

pub(super) fn file_name(tree: &Tree) -> Vec<Finding> {
    let finding = |file: &SourceFile| {
        let what = format!("a file named `{}`", file.name());
        let instead = match file.name() {
            "mod.rs" => "`foo.rs` beside the folder `foo`",
            _ => "the noun of what is inside",
        };
        file.finding(1, what, instead)
    };
    tree.files().filter(|file| NAMES_BANNED.contains(&file.name())).map(finding).collect()
}

pub(super) fn file_size(tree: &Tree) -> Vec<Finding> {
    let finding = |file: &SourceFile| {
        let what = format!("{} bytes (at most {FILE_BYTES_MAX})", file.bytes.len());
        file.finding(1, what, "a smaller file, or one that is made when needed")
    };
    tree.files().filter(|file| file.bytes.len() > FILE_BYTES_MAX).map(finding).collect()
}
