//! What `deny.toml` allows, held against the dependencies that Cargo has resolved: their licences,
//! where they come from, and those that are banned. `cargo deny check` reads the same file.

use std::process::Command;

use serde_json::Value;

/// Cargo's name for its own registry.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn dependencies_are_allowed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let rules = std::fs::read_to_string(format!("{root}/deny.toml")).expect("deny.toml is there");
    let rules: toml::Table = rules.parse().expect("deny.toml is TOML");
    let allowed = texts(&rules["licenses"]["allow"]);
    let banned: Vec<_> = rules["bans"]["deny"].as_array().expect("a list").iter().collect();
    let banned: Vec<_> = banned.iter().map(|ban| ban["name"].as_str().expect("a name")).collect();
    let mut findings = Vec::new();
    for package in packages(root) {
        let (name, licence) = (text(&package["name"]), text(&package["license"]));
        if banned.contains(&name) {
            findings.push(format!("{name}: is banned"));
        }
        if !is_allowed(licence, &allowed) {
            findings.push(format!("{name}: has the licence `{licence}`, which is not listed"));
        }
        // Our own crates have no source.
        if !package["source"].is_null() && package["source"] != REGISTRY {
            findings.push(format!("{name}: comes from {}", package["source"]));
        }
    }
    assert!(findings.is_empty(), "deny.toml:\n{}", findings.join("\n"));
}

/// The README's `cargo run` must know which program is meant.
#[test]
fn one_program_is_run_by_default() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let manifest = std::fs::read_to_string(format!("{root}/Cargo.toml")).expect("Cargo.toml");
    let manifest: toml::Table = manifest.parse().expect("Cargo.toml is TOML");
    let default = texts(&manifest["workspace"]["default-members"]);
    assert_eq!(default, ["crates/tasuki"]);
}

#[test]
fn licences_are_read() {
    let allowed = ["MIT", "Apache-2.0", "ISC", "Apache-2.0 WITH LLVM-exception"];
    for (licence, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("ISC AND (Apache-2.0 OR GPL-3.0)", true),
        ("ISC AND (GPL-2.0 OR GPL-3.0)", false),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("MIT WITH other-exception", false),
    ] {
        assert_eq!(is_allowed(licence, &allowed), expected, "{licence}");
    }
}

/// The packages that are built on this platform.
fn packages(root: &str) -> Vec<Value> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", &platform])
        .current_dir(root)
        .output()
        .expect("Cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    metadata["packages"].as_array().expect("a list of packages").clone()
}

/// Whether an SPDX expression can be satisfied with the licences that are allowed.
fn is_allowed(licence: &str, allowed: &[&str]) -> bool {
    let licence = licence.trim();
    let of = |word| split(licence, word);
    if let Some(all) = of(" AND ") {
        return all.into_iter().all(|one| is_allowed(one, allowed));
    }
    if let Some(all) = of(" OR ").or_else(|| of("/")) {
        return all.into_iter().any(|one| is_allowed(one, allowed));
    }
    match licence.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_allowed(inner, allowed),
        None => allowed.contains(&licence),
    }
}

/// The parts between a word that stands in no bracket, if it stands anywhere.
fn split<'a>(text: &'a str, word: &str) -> Option<Vec<&'a str>> {
    let depth = |at: usize| {
        let before = &text[..at];
        before.matches('(').count() - before.matches(')').count()
    };
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, found) in text.match_indices(word).filter(|(at, _)| depth(*at) == 0) {
        parts.push(&text[from..at]);
        from = at + found.len();
    }
    parts.push(&text[from..]);
    (parts.len() > 1).then_some(parts)
}

fn texts(list: &toml::Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|it| it.as_str().expect("a text")).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
