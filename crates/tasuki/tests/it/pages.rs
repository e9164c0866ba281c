//! The examples of README and `docs/` run as pasted: block after block, page by page, each page in
//! a fresh folder with a server of its own, and what they print is what the page shows.
//! CONTRIBUTING says how a page is written so that this works.

#![expect(clippy::unwrap_used, reason = "what helps a test fails like the test")]

mod page;
mod play;
mod shown;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use page::{Page, Step};

/// Blocks that are neither run nor compared, on all pages. Each gives its reason; most need root,
/// another machine, or a disaster. A new one must replace an old one.
const SKIPPED_MAX: usize = 22;

/// Pages about past decisions, in the words of their time.
const HISTORY: &str = "docs/decisions/";

/// One test for each page with examples, and the list of them.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];

        $(
            #[test]
            fn $name() {
                holds($path);
            }
        )*
    };
}

pages! {
    aaep: "docs/gateways/aaep.md",
    aaep_manifest: "docs/aaep-manifest.md",
    aaep_tools: "docs/aaep-tools.md",
    conversations: "docs/conversations.md",
    directory: "docs/directory.md",
    errors: "docs/errors.md",
    files: "docs/files.md",
    first_bot: "docs/first-bot.md",
    graphs: "docs/graphs.md",
    http: "docs/gateways/http.md",
    langgraph: "docs/langgraph.md",
    languages: "docs/languages.md",
    ledger: "docs/ledger.md",
    mailbox: "docs/mailbox.md",
    openai_agents: "docs/openai-agents.md",
    operations: "docs/operations.md",
    questions: "docs/questions.md",
    queues: "docs/queues.md",
    readme: "README.md",
    roles: "docs/roles.md",
    signals: "docs/signals.md",
    silence: "docs/silence.md",
    teamspaces: "docs/teamspaces.md",
    tools: "docs/tools.md",
    transfers: "docs/transfers.md",
    webhooks: "docs/webhooks.md",
    workq: "docs/workq.md",
    ws: "docs/gateways/ws.md",
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn holds(path: &str) {
    let page = Page::parse(path, &read(path));
    println!("{path}: {}", Counts::of(&page));
    let findings = [page.findings.clone(), play::play(&page)].concat();
    assert!(findings.is_empty(), "{}", findings.join("\n\n"));
}

#[derive(Debug, Default)]
struct Counts {
    run: usize,
    compared: usize,
    written: usize,
    skipped: usize,
}

impl Counts {
    fn of(page: &Page) -> Self {
        let mut counts = Self::default();
        for step in &page.steps {
            match step {
                Step::Run { .. } => counts.run += 1,
                Step::Compare { .. } => counts.compared += 1,
                Step::Write { .. } => counts.written += 1,
                Step::Skip { .. } => counts.skipped += 1,
            }
        }
        counts
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { run, compared, written, skipped } = self;
        write!(f, "{run} run, {compared} compared, {written} written to files, {skipped} skipped")
    }
}

/// README and every page below `docs/`.
fn all_pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_page_with_examples_is_run_and_few_blocks_are_skipped() {
    let listed: BTreeSet<_> = PAGES.iter().copied().collect();
    let mut total = Counts::default();
    for path in all_pages().iter().filter(|path| !path.starts_with(HISTORY)) {
        let page = Page::parse(path, &read(path));
        assert!(page.findings.is_empty(), "{}", page.findings.join("\n"));
        let has_examples = !page.steps.is_empty();
        assert_eq!(has_examples, listed.contains(path.as_str()), "{path} is in the list or not");
        let Counts { run, compared, written, skipped } = Counts::of(&page);
        total.run += run;
        total.compared += compared;
        total.written += written;
        total.skipped += skipped;
        for step in &page.steps {
            if let Step::Skip { line, why } = step {
                println!("{path}:{line}: skipped: {why}");
            }
        }
    }
    println!("all pages: {total}");
    assert!(total.skipped <= SKIPPED_MAX, "{} are skipped", total.skipped);
}

/// A runner that accepts everything proves nothing.
#[test]
fn a_page_that_is_wrong_is_found() {
    let cases = [
        ("```sh\necho one\n```\n\n```\none\n```\n", ""),
        ("```sh\necho one\n```\n\n```\ntwo\n```\n", "page.md:5: expected"),
        ("```sh\necho one; false; echo two\n```\n", "page.md:1: failed"),
        ("```sh\necho $UNKNOWN\n```\n", "page.md:1: failed"),
        ("```sh\nA=1\n```\n```sh\necho $A\n```\nprose\n```\n1\n```\n", ""),
        ("<!-- fails -->\n```sh\nfalse\n```\n", ""),
        ("<!-- fails -->\n```sh\ntrue\n```\n", "page.md:2: failed: succeeded"),
        ("<!-- run: echo hidden -->\n```\nhidden\n```\n", ""),
        ("<!-- file: a.txt -->\n```toml\nx = 1\n```\n```sh\ncat a.txt\n```\n```\nx = 1\n```\n", ""),
        ("```sh\necho '{\"a\": [1, 2]}'\n```\n```json\n{ \"a\":\n  [1, 2] }\n```\n", ""),
        ("```sh\necho '{\"a\": 1}'\n```\n```json\n{ \"a\": 2 }\n```\n", "page.md:4: expected"),
        ("```toml\nx = 1\n```\n", "page.md:1: a block"),
        ("```sh\ntrue\n```\n## Next\n```\nwhat\n```\n", "page.md:5: a block"),
        ("<!-- skip: needs root -->\n```toml\nx = 1\n```\n", ""),
        ("<!-- skip: -->\n```toml\nx = 1\n```\n", "page.md:1: a skipped block says why"),
        ("<!-- note -->\n", "page.md:1: `note`"),
        ("```sh\ntrue\n", "page.md:1: a block that does not end"),
    ];
    for (text, expected) in cases {
        let page = Page::parse("page.md", text);
        let mut findings = page.findings.clone();
        if findings.is_empty() {
            findings = play::play(&page);
        }
        let found = findings.join("\n");
        let is_as_expected = found.starts_with(expected) && found.is_empty() == expected.is_empty();
        assert!(is_as_expected, "{text}\nexpected: {expected}\nfound: {found}");
    }
}
