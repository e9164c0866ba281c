//! Rules about words in the code: each banned word, the one place where it is allowed, and the
//! alternative. Comments and strings are not code, so this table does not ban itself.

use super::Finding;
use super::rust_source::stands_alone;
use super::tree::{SourceFile, Tree};

pub(super) struct Ban {
    pub(super) word: &'static str,
    pub(super) instead: &'static str,
    /// The path prefixes where the word is allowed.
    pub(super) only_in: &'static [&'static str],
    pub(super) tests: Tests,
}

#[derive(PartialEq, Eq)]
pub(super) enum Tests {
    Free,
    Bound,
}

impl Ban {
    pub(super) fn applies(&self, file: &SourceFile, line: usize) -> bool {
        let is_free = self.tests == Tests::Free && file.is_test_at(line);
        !is_free && !self.only_in.iter().any(|place| file.path.starts_with(place))
    }

    const fn new(word: &'static str, instead: &'static str) -> Ban {
        Ban { word, instead, only_in: &[], tests: Tests::Bound }
    }

    const fn only_in(self, only_in: &'static [&'static str]) -> Ban {
        Ban { only_in, ..self }
    }

    const fn tests_are_free(self) -> Ban {
        Ban { tests: Tests::Free, ..self }
    }
}

const CLOCK: &str = "the `Clock` port, or `now` as an argument";
const CLOCK_FILES: &[&str] = &["crates/engine/src/ports/clock.rs", "crates/bench/src/load.rs"];
const ENTROPY: &str = "the `Ids` port";
const ENTROPY_FILES: &[&str] =
    &["crates/engine/src/ports/ids.rs", "crates/engine/src/ports/clock.rs"];
const OUTPUT: &str = "`output` for data, `tracing` for the rest";
const OUTPUT_FILES: &[&str] = &["crates/tasuki/src/output.rs", "crates/tasuki/examples/"];
const WAIT: &str = "the `Clock` port, or a wait for the event itself";
const WAIT_FILES: &[&str] = &["crates/engine/src/ports/clock.rs", "crates/engine/tests/it/support"];
/// What is typed at a terminal, and what other formats call an empty text.
const TERMINAL_TEXT: &[&str] =
    &["crates/tasuki/src/", "crates/protocol/src/tools/", "crates/aaep/examples/"];
const EXPECT: &str = "`#[expect(lint, reason = \"…\")]`";
const UNSAFE: &str = "safe code";
const UNSAFE_FILES: &[&str] = &["crates/tasuki/tests/it/power_loss/"];

pub(super) const BANS: [Ban; 23] = [
    Ban::new("SystemTime::now", CLOCK).only_in(CLOCK_FILES).tests_are_free(),
    Ban::new("Instant::now", CLOCK).only_in(CLOCK_FILES).tests_are_free(),
    Ban::new("Timestamp::now", CLOCK).only_in(CLOCK_FILES).tests_are_free(),
    Ban::new("Zoned::now", CLOCK).only_in(CLOCK_FILES).tests_are_free(),
    Ban::new("Uuid::now_v7", ENTROPY).only_in(ENTROPY_FILES).tests_are_free(),
    Ban::new("Uuid::new_v4", ENTROPY).only_in(ENTROPY_FILES).tests_are_free(),
    Ban::new("getrandom::", ENTROPY).only_in(ENTROPY_FILES).tests_are_free(),
    Ban::new("print!", OUTPUT).only_in(OUTPUT_FILES).tests_are_free(),
    Ban::new("println!", OUTPUT).only_in(OUTPUT_FILES).tests_are_free(),
    Ban::new("eprint!", OUTPUT).only_in(OUTPUT_FILES).tests_are_free(),
    Ban::new("eprintln!", OUTPUT).only_in(OUTPUT_FILES).tests_are_free(),
    Ban::new("thread::sleep", WAIT).only_in(WAIT_FILES),
    Ban::new("time::sleep", WAIT).only_in(WAIT_FILES),
    Ban::new("time::sleep_until", WAIT).only_in(WAIT_FILES),
    Ban::new("unsafe", UNSAFE).only_in(UNSAFE_FILES),
    Ban::new(".unwrap()", "`expect` with why it cannot fail, or `?`").tests_are_free(),
    Ban::new("#[allow(", EXPECT),
    Ban::new("#![allow(", EXPECT),
    Ban::new("#[ignore", "a test that runs, or an assertion of the known wrong behaviour"),
    Ban::new("todo!", "working code, or no code"),
    Ban::new("unimplemented!", "working code, or no code"),
    Ban::new("dbg!", "`tracing`"),
    Ban::new(".trim().is_empty()", "`hidden::is_blank`").only_in(TERMINAL_TEXT).tests_are_free(),
];

const SQL_VERBS: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"];
const SQL_FOLDER: &str = "crates/store/";

pub(super) fn banned_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        for (number, line) in (1..).zip(rust.code.lines()) {
            let stands = |ban: &&Ban| {
                let mut hits = line.match_indices(ban.word);
                hits.any(|(at, word)| stands_alone(line, at, word)) && ban.applies(file, number)
            };
            for ban in BANS.iter().filter(stands) {
                findings.push(file.finding(number, format!("`{}`", ban.word), ban.instead));
            }
        }
    }
    findings
}

/// Words that hide who acts. Some places need one, so there is a budget.
const UNNAMED_ACTORS: [&str; 3] = ["whoever", "somebody", "nobody"];
const UNNAMED_IN_RUST_MAX: usize = 150;
const UNNAMED_IN_DOCS_MAX: usize = 60;

pub(super) fn unnamed_actors(tree: &Tree) -> Vec<Finding> {
    let kinds = [(".rs", UNNAMED_IN_RUST_MAX), (".md", UNNAMED_IN_DOCS_MAX)];
    let mut findings = Vec::new();
    for (ending, most) in kinds {
        let mut n_found = 0;
        for file in tree.files().filter(|file| file.path.ends_with(ending)) {
            for (number, line) in (1..).zip(file.text.lines()) {
                let line = line.to_lowercase();
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let words = line.split(|c| !is_word(c));
                n_found += words.filter(|word| UNNAMED_ACTORS.contains(word)).count();
                if n_found > most {
                    let what = format!("more than {most} times whoever, somebody or nobody");
                    findings.push(file.finding(number, what, "the actor: caller, listener, node"));
                    n_found = 0;
                }
            }
        }
    }
    findings
}

pub(super) fn sql_outside_the_store(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let outside = tree.rust().filter(|(file, _)| !file.path.starts_with(SQL_FOLDER));
    for (file, rust) in outside {
        for literal in &rust.literals {
            let verb = SQL_VERBS.iter().find(|verb| {
                let rest = literal.text.trim_start().strip_prefix(*verb);
                rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
            });
            if let Some(verb) = verb {
                let what = format!("a string that begins with `{verb}`");
                findings.push(file.finding(literal.line, what, "a method of the `Store` port"));
            }
        }
    }
    findings
}
