//! Bad samples: the findings of each rule, and near misses in which it finds nothing. A sample is a
//! small tree in one text; a line `//- path` begins each file.

use super::tree::{SourceFile, Tree};
use super::words::{BANS, Tests};
use super::{RULES, lines};

/// A rule, a tree, and the expected findings, a line each.
type Sample = (&'static str, String, String);

#[test]
fn every_rule_finds_its_bad_sample() {
    let samples = [shape(), sizes(), arrows(), words(), codes_and_routes(), documents()].concat();
    for (name, sample, expected) in &samples {
        let rule = RULES.iter().find(|rule| rule.name == *name).expect("a rule of this name");
        let found = lines(&(rule.findings)(&tree(sample)));
        assert_eq!(found, *expected, "{name} in\n{}", &sample[..sample.len().min(400)]);
    }
    for rule in &RULES {
        let is_bad = |(name, _, expected): &Sample| *name == rule.name && !expected.is_empty();
        assert!(samples.iter().any(is_bad), "{} has no bad sample", rule.name);
    }
}

#[test]
fn every_banned_word_is_found_outside_its_place() {
    let rule = RULES.iter().find(|rule| rule.name == "banned words").expect("the rule of words");
    let n_findings = |path: &str, text: &str| {
        let tree = tree(&format!("//- {path}\n{text}\n"));
        (rule.findings)(&tree).len()
    };
    for ban in &BANS {
        let word = ban.word;
        let code = format!("fn f() {{ {word} ; }}");
        let in_tests = format!("#[cfg(test)]\nmod tests {{ {word} ; }}");
        let is_free = ban.tests == Tests::Free;
        assert_eq!(n_findings("crates/gateways/src/a.rs", &code), 1, "{word}");
        assert_eq!(n_findings("crates/gateways/src/a.rs", &in_tests), usize::from(!is_free));
        assert_eq!(n_findings("crates/store/tests/it/a.rs", &code), usize::from(!is_free));
        assert_eq!(n_findings("crates/gateways/src/a.rs", &format!("// {word}")), 0, "{word}");
        assert_eq!(n_findings("crates/gateways/src/a.rs", &format!("f(r#\"{word}\"#)")), 0);
        for place in ban.only_in {
            let path =
                if place.ends_with(".rs") { (*place).into() } else { format!("{place}a.rs") };
            assert_eq!(n_findings(&path, &code), 0, "{word} in {path}");
        }
    }
    assert_eq!(
        n_findings("crates/gateways/src/a.rs", "reprint!(); f(unsafe_code); a.unwrap_or()"),
        0
    );
}

fn shape() -> Vec<Sample> {
    let samples = [
        (
            "module paragraph",
            "//- crates/a/src/b.rs\nuse x;\n//- crates/a/src/c.rs\n//! C.\n",
            "crates/a/src/b.rs:1: module without a paragraph, \
             use a leading `//!` that says what it is and what it must not know",
        ),
        (
            "file name",
            "//- crates/a/src/b/mod.rs\n//- crates/a/src/b/utils.rs\n//- crates/a/src/b.rs\n",
            "crates/a/src/b/mod.rs:1: a file named `mod.rs`, use `foo.rs` beside the folder `foo`\n\
             crates/a/src/b/utils.rs:1: a file named `utils.rs`, use the noun of what is inside",
        ),
    ];
    owned(&samples)
}

fn sizes() -> Vec<Sample> {
    let long = "\n".repeat(501);
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(499), "\n".repeat(9));
    let body = "    x();\n".repeat(69);
    let wide = "x".repeat(101);
    let link = format!("// https://{wide}");
    let table = format!("r#\"\n{wide}\n\"#");
    let owned = |rule, sample: String, expected: &str| (rule, sample, expected.to_owned());
    vec![
        owned(
            "file length",
            format!("//- crates/a/src/b.rs\n{long}//- crates/a/tests/it/c.rs\n{long}"),
            "crates/a/src/b.rs:501: 501 lines without tests (at most 500), \
             use a file of its own for the second subject\n\
             crates/a/tests/it/c.rs:501: 501 lines without tests (at most 500), \
             use a file of its own for the second subject",
        ),
        owned("file length", format!("//- crates/a/src/b.rs\n{tested}"), ""),
        owned(
            "function length",
            format!("//- crates/a/src/b.rs\n//! B.\nfn steps() {{\n{body}}}\n"),
            "crates/a/src/b.rs:2: `steps` has 71 lines (at most 70), use a function per step",
        ),
        owned(
            "line width",
            format!("//- crates/a/src/b.rs\n//! B.\n{wide}\n{link}\n{table}\n"),
            "crates/a/src/b.rs:2: 101 columns (at most 100), use a shorter line",
        ),
        owned(
            "file size",
            format!("//- docs/a.svg\n{}\n", "x".repeat(1024 * 1024)),
            "docs/a.svg:1: 1048577 bytes (at most 1048576), \
             use a smaller file, or one that is made when needed",
        ),
    ]
}

fn arrows() -> Vec<Sample> {
    let samples = [
        (
            "known crate",
            "//- crates/extras/Cargo.toml\n[package]\n//- crates/store/Cargo.toml\n[package]\n",
            "crates/extras/Cargo.toml:1: crate `extras` has no place in the arrows, \
             use a folder in one of them, or a row in tidy and a decision record",
        ),
        (
            "crate arrows",
            "//- crates/protocol/Cargo.toml\n[dependencies]\nengine.workspace = true\n\
             //- crates/store/Cargo.toml\n[dependencies]\nprotocol.workspace = true\n\
             gateways = { path = \"../gateways\" }\n[dev-dependencies]\ntasuki.workspace = true\n",
            "crates/protocol/Cargo.toml:2: `protocol` depends on `engine`, \
             use a port, or the crate above them both\n\
             crates/store/Cargo.toml:3: `store` depends on `gateways`, \
             use a port, or the crate above them both",
        ),
        (
            "crate arrows",
            "//- crates/engine/Cargo.toml\n[dependencies]\ntokio = \"1\"\nhyper-util = \"1\"\n\
             //- crates/tasuki/Cargo.toml\n[dependencies]\nstore.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\nsqlite = { package = \"rusqlite\" }\n",
            "crates/engine/Cargo.toml:3: `engine` depends on `hyper-util`, \
             use the crate that owns this subject\n\
             crates/tasuki/Cargo.toml:4: `tasuki` depends on `rusqlite`, \
             use the crate that owns this subject",
        ),
        (
            "gateway walls",
            "//- crates/gateways/src/mcp/tools.rs\n//! M.\nuse crate::http::Page;\nuse crate::mcp;\n\
             //- crates/gateways/src/lib.rs\nuse crate::http;\n\
             //- crates/gateways/src/http.rs\nuse crate::auth;\nuse crate::httpx;\n",
            "crates/gateways/src/mcp/tools.rs:2: gateway `mcp` reaches into `crate::http`, \
             use a module that both share",
        ),
    ];
    owned(&samples)
}

fn words() -> Vec<Sample> {
    let samples = [
        (
            "banned words",
            "//- crates/engine/src/a.rs\nlet now = Instant::now();\nlet x = y.unwrap();\n",
            "crates/engine/src/a.rs:1: `Instant::now`, \
             use the `Clock` port, or `now` as an argument\n\
             crates/engine/src/a.rs:2: `.unwrap()`, use `expect` with why it cannot fail, or `?`",
        ),
        (
            "sql",
            "//- crates/tasuki/tests/it/a.rs\n\nrun(r#\"\n    SELECT 1\"#);\nf(\"SELECTED x\");\n\
             //- crates/store/src/a.rs\nrun(\"INSERT INTO t\");\n",
            "crates/tasuki/tests/it/a.rs:2: a string that begins with `SELECT`, \
             use a method of the `Store` port",
        ),
    ];
    let mut all = owned(&samples);
    let many = format!("//- docs/a.md\n{}", "Somebody does it.\n".repeat(61));
    let over = "docs/a.md:61: more than 60 times whoever, somebody or nobody, \
                use the actor: caller, listener, node";
    all.push(("unnamed actors", many, over.to_owned()));
    all
}

fn codes_and_routes() -> Vec<Sample> {
    let samples = [
        (
            "error codes",
            "//- docs/errors.md\n| `wrong_state` |\n//- crates/protocol/src/handoff/rejection.rs\n\
             match r {\n    A => \"wrong_state\",\n    B | C => {\n        \"not_listed\"\n    }\n\
             D => \"Some words\",\n}\nconst GONE: &str = \"HANDOFF_GONE\";\nf(\"no_code\");\n\
             //- crates/protocol/src/other.rs\nmatch r { A => \"anything\" }\n",
            "crates/protocol/src/handoff/rejection.rs:4: \
             code `not_listed` is missing from docs/errors.md, use a row for it there\n\
             crates/protocol/src/handoff/rejection.rs:8: \
             code `HANDOFF_GONE` is missing from docs/errors.md, use a row for it there",
        ),
        (
            "routes",
            "//- docs/gateways/http.md\n| `GET /v1/handoffs/{handoff_id}` |\n\
             //- crates/gateways/src/http.rs\nr(\"/v1/handoffs/{id}\");\n\
             f(\"/v1/handoffs/{}?after={}\");\nr(\"/v1/agents\");\nr(\"/mcp\");\np(\"/v1/\");\n",
            "crates/gateways/src/http.rs:3: \
             route `/v1/agents` is missing from docs/gateways/http.md, use a row for it there\n\
             crates/gateways/src/http.rs:4: \
             route `/mcp` is missing from docs/gateways/mcp.md, use a row for it there",
        ),
    ];
    owned(&samples)
}

fn documents() -> Vec<Sample> {
    let lock = format!("//- Cargo.lock\n{}", "[[package]]\n".repeat(331));
    let over = "Cargo.lock:1: 331 packages (at most 330), \
                use what is already there, or a lighter dependency";
    let of_empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let released = format!("//- crates/store/migrations/released.sha256\n{of_empty}  0001.sql\n");
    let edited = format!("{released}//- crates/store/migrations/0001.sql\n-- edited\n");
    let same = format!("{released}//- crates/store/migrations/0001.sql\n");
    let changed = "crates/store/migrations/released.sha256:1: \
                   released migration `0001.sql` was changed or removed, \
                   use a new migration after it";
    let samples = [
        ("lock budget", &*lock, over),
        ("released migrations", &*edited, changed),
        ("released migrations", &*released, changed),
        ("released migrations", &*same, ""),
        (
            "changelog",
            "//- CHANGELOG.md\n# Changelog\n\n## 0.1.0\n",
            "CHANGELOG.md:1: no section for what comes next, use a line `## Unreleased`",
        ),
        ("changelog", "//- CHANGELOG.md\n# Changelog\n\n## Unreleased\n", ""),
        (
            "titles",
            "//- README.md\n# One\n\n# Two\n//- docs/a.md\n## None\n//- web/a.md\n\
             //- docs/b.md\n# One\n```sh\n# a comment\n```\n",
            "README.md:3: 2 titles, use exactly one `# ` title\n\
             docs/a.md:1: 0 titles, use exactly one `# ` title",
        ),
    ];
    owned(&samples)
}

fn owned(samples: &[(&'static str, &str, &str)]) -> Vec<Sample> {
    let owned = |(rule, sample, expected): &(&'static str, &str, &str)| {
        (*rule, (*sample).to_owned(), (*expected).to_owned())
    };
    samples.iter().map(owned).collect()
}

fn tree(sample: &str) -> Tree {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in sample.lines() {
        if let Some(path) = line.strip_prefix("//- ") {
            files.push((path.to_owned(), String::new()));
        } else {
            let (_, text) = files.last_mut().expect("a sample begins with `//- path`");
            text.push_str(line);
            text.push('\n');
        }
    }
    let files = files.into_iter().map(|(path, text)| SourceFile::new(path, text.into_bytes()));
    Tree::of(files.collect())
}
