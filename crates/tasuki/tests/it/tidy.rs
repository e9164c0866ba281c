//! Tidy enforces the house rules: it reads every file of the repository once, prints each breach as
//! `path:line: what, use instead`, and fails if there is one.
//!
//! A rule is a function from the tree to its findings. It does not know which other rules exist,
//! and it has a bad sample in `samples`: a rule that cannot fail is itself a failure.

mod arrows;
mod dependencies;
mod documents;
mod rust_source;
mod samples;
mod shape;
mod tree;
mod words;

use std::fmt;

use tree::Tree;

struct Rule {
    name: &'static str,
    findings: fn(&Tree) -> Vec<Finding>,
}

const RULES: [Rule; 18] = [
    Rule { name: "file length", findings: shape::file_length },
    Rule { name: "function length", findings: shape::function_length },
    Rule { name: "line width", findings: shape::line_width },
    Rule { name: "module paragraph", findings: shape::module_paragraph },
    Rule { name: "file name", findings: shape::file_name },
    Rule { name: "file size", findings: shape::file_size },
    Rule { name: "known crate", findings: arrows::known_crate },
    Rule { name: "crate arrows", findings: arrows::crate_arrows },
    Rule { name: "gateway walls", findings: arrows::gateway_walls },
    Rule { name: "banned words", findings: words::banned_words },
    Rule { name: "unnamed actors", findings: words::unnamed_actors },
    Rule { name: "sql", findings: words::sql_outside_the_store },
    Rule { name: "error codes", findings: documents::error_codes },
    Rule { name: "routes", findings: documents::routes },
    Rule { name: "changelog", findings: documents::changelog },
    Rule { name: "titles", findings: documents::titles },
    Rule { name: "released migrations", findings: documents::released_migrations },
    Rule { name: "lock budget", findings: documents::lock_budget },
];

/// One breach of one rule. `instead` completes the sentence "use …".
struct Finding {
    path: String,
    line: usize,
    what: String,
    instead: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}, use {}", self.path, self.line, self.what, self.instead)
    }
}

#[test]
fn tidy() {
    let tree = Tree::read();
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.findings)(&tree)).collect();
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), lines(&findings));
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n")
}
