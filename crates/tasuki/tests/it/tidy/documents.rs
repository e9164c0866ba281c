//! Rules that keep the documents in step with the code: error codes, routes, the changelog, titles,
//! released migrations and the budget of the lock file.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::Finding;
use super::rust_source::{Literal, RustSource};
use super::tree::{SourceFile, Tree};

const ERRORS_PAGE: &str = "docs/errors.md";
const ERROR_FILES: [&str; 2] = ["rejection.rs", "problem.rs"];

/// Which page of `docs/gateways` lists the routes that begin like this; the first match counts.
const ROUTE_PAGES: [(&str, &str); 16] = [
    ("/v1/", "docs/gateways/http.md"),
    ("/healthz", "docs/gateways/http.md"),
    ("/witness/", "docs/gateways/http.md"),
    ("/readyz", "docs/gateways/http.md"),
    ("/metrics", "docs/gateways/http.md"),
    ("/openapi.json", "docs/gateways/http.md"),
    ("/docs", "docs/gateways/http.md"),
    ("/cockpit", "docs/gateways/http.md"),
    ("/chat", "docs/gateways/http.md"),
    ("/aaep/", "docs/gateways/aaep.md"),
    ("/.well-known/aaep", "docs/gateways/aaep.md"),
    ("/a2a", "docs/gateways/a2a.md"),
    ("/.well-known/agent", "docs/gateways/a2a.md"),
    ("/mcp", "docs/gateways/mcp.md"),
    ("/.well-known/oauth", "docs/gateways/mcp.md"),
    ("/ws", "docs/gateways/ws.md"),
];

const RELEASED: &str = "crates/store/migrations/released.sha256";

/// Every package is compiled by everyone who builds Tasuki, most of them on few cores: HTTP, TLS,
/// SQLite and the command line take some 215, the planned gateways some 100. A package beyond that
/// must replace another.
const LOCK_PACKAGES_MAX: usize = 330;

pub(super) fn error_codes(tree: &Tree) -> Vec<Finding> {
    let page = tree.text(ERRORS_PAGE);
    let mut findings = Vec::new();
    for (file, rust) in tree.rust().filter(|(file, _)| ERROR_FILES.contains(&file.name())) {
        for code in rust.literals.iter().filter(|literal| is_code(file, rust, literal)) {
            let name = &code.text;
            let quoted = format!("`{name}`");
            let is_row = |line: &str| {
                let first = line.strip_prefix("| ").and_then(|cells| cells.split(" |").next());
                first.is_some_and(|cell| cell.contains(&quoted))
            };
            if !page.lines().any(is_row) {
                let what = format!("code `{name}` is missing from {ERRORS_PAGE}");
                findings.push(file.finding(code.line, what, "a row for it there"));
            }
        }
    }
    findings
}

/// A name in one case, as the value of a match arm or of a constant.
fn is_code(file: &SourceFile, rust: &RustSource, literal: &Literal) -> bool {
    let text = &literal.text;
    let is_of = |word: fn(char) -> bool| {
        text.starts_with(word) && text.chars().all(|c| word(c) || c.is_ascii_digit() || c == '_')
    };
    let is_name = is_of(|c| c.is_ascii_lowercase()) || is_of(|c| c.is_ascii_uppercase());
    let before = rust.before(literal);
    let before = before.strip_suffix('{').map_or(before, str::trim_end);
    let is_value = before.ends_with("=>") || before.ends_with("str =");
    is_name && is_value && !file.is_test_at(literal.line)
}

pub(super) fn routes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust().filter(|(file, _)| file.path.starts_with("crates/gateways/")) {
        for literal in &rust.literals {
            let route = same_route(&literal.text);
            let page = ROUTE_PAGES.iter().find(|(start, _)| literal.text.starts_with(start));
            let Some((_, page)) = page.filter(|_| !file.is_test_at(literal.line)) else { continue };
            if route != "/v1" && !routes_on(tree.text(page)).contains(&route) {
                let what = format!("route `{}` is missing from {page}", literal.text);
                findings.push(file.finding(literal.line, what, "a row for it there"));
            }
        }
    }
    findings
}

fn routes_on(page: &str) -> BTreeSet<String> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/.-_~*{}:".contains(c);
    let words = page.split(|c: char| !is_of_path(c));
    words.filter(|word| word.starts_with('/')).map(same_route).collect()
}

/// The route without its query and without the names of its parameters: a link built from a format
/// string is the same route as the one in the document.
fn same_route(route: &str) -> String {
    let path = route.split('?').next().unwrap_or_default();
    let mut same = String::new();
    let mut is_inside = false;
    for character in path.chars() {
        is_inside = is_inside && character != '}';
        if !is_inside {
            same.push(character);
        }
        is_inside = is_inside || character == '{';
    }
    same.trim_end_matches(['/', '.', ':']).to_owned()
}

pub(super) fn changelog(tree: &Tree) -> Vec<Finding> {
    let has = tree.text("CHANGELOG.md").lines().any(|line| line.trim_end() == "## Unreleased");
    let finding = || Finding {
        path: "CHANGELOG.md".to_owned(),
        line: 1,
        what: "no section for what comes next".to_owned(),
        instead: "a line `## Unreleased`".to_owned(),
    };
    if has { Vec::new() } else { vec![finding()] }
}

pub(super) fn titles(tree: &Tree) -> Vec<Finding> {
    let is_page = |file: &&SourceFile| {
        file.path.ends_with(".md") && (file.path.starts_with("docs/") || !file.path.contains('/'))
    };
    let finding = |file: &SourceFile| {
        let titles = title_lines(&file.text);
        let line = titles.get(1).copied().unwrap_or(1);
        let what = format!("{} titles", titles.len());
        (titles.len() != 1).then(|| file.finding(line, what, "exactly one `# ` title"))
    };
    tree.files().filter(is_page).filter_map(finding).collect()
}

/// A `# ` inside a fence is a comment of the shell, not a title.
fn title_lines(page: &str) -> Vec<usize> {
    let mut titles = Vec::new();
    let mut is_fenced = false;
    for (number, line) in (1..).zip(page.lines()) {
        let begin = line.trim_start();
        is_fenced ^= begin.starts_with("```") || begin.starts_with("~~~");
        if !is_fenced && line.starts_with("# ") {
            titles.push(number);
        }
    }
    titles
}

pub(super) fn released_migrations(tree: &Tree) -> Vec<Finding> {
    let Some(list) = tree.file(RELEASED) else { return Vec::new() };
    let folder = RELEASED.trim_end_matches("released.sha256");
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(list.text.lines()) {
        let Some((expected, name)) = line.split_once("  ") else {
            findings.push(list.finding(number, "unreadable line", "`sha256  filename`"));
            continue;
        };
        let actual = tree.file(&format!("{folder}{name}")).map(|file| sha256(&file.bytes));
        if actual.as_deref() != Some(expected) {
            let what = format!("released migration `{name}` was changed or removed");
            findings.push(list.finding(number, what, "a new migration after it"));
        }
    }
    findings
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn lock_budget(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.file("Cargo.lock") else { return Vec::new() };
    let packages = lock.text.lines().filter(|line| *line == "[[package]]").count();
    let what = format!("{packages} packages (at most {LOCK_PACKAGES_MAX})");
    let finding = || lock.finding(1, what, "what is already there, or a lighter dependency");
    if packages > LOCK_PACKAGES_MAX { vec![finding()] } else { Vec::new() }
}
