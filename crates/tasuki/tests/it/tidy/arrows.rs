//! Rules about dependencies: between the crates, from each crate to the outside, and between the
//! gateways. Tests are exempt: `[dev-dependencies]` are not read.

use super::Finding;
use super::rust_source::stands_alone;
use super::tree::{SourceFile, Tree};

struct Layer {
    name: &'static str,
    /// The crates of this workspace it may depend on.
    may_use: &'static [&'static str],
    /// Outside crates that are forbidden, with all crates that begin with the name.
    may_not_use: &'static [&'static str],
}

/// What would bring in a clock, randomness, I/O or a web framework.
const OUTSIDE: &[&str] = &["axum", "getrandom", "hyper", "rusqlite", "tokio"];

const LAYERS: [Layer; 9] = [
    Layer { name: "base", may_use: &[], may_not_use: OUTSIDE },
    Layer { name: "aaep", may_use: &["base"], may_not_use: OUTSIDE },
    Layer { name: "protocol", may_use: &["base", "aaep"], may_not_use: OUTSIDE },
    Layer {
        name: "engine",
        may_use: &["aaep", "protocol"],
        may_not_use: &["axum", "hyper", "rusqlite"],
    },
    Layer { name: "store", may_use: &["protocol", "engine"], may_not_use: &["axum", "hyper"] },
    Layer {
        name: "gateways",
        may_use: &["aaep", "protocol", "engine"],
        may_not_use: &["rusqlite"],
    },
    Layer {
        name: "adapters",
        may_use: &["aaep", "protocol", "engine"],
        may_not_use: &["axum", "rusqlite"],
    },
    Layer {
        name: "tasuki",
        may_use: &["aaep", "protocol", "engine", "store", "gateways", "adapters"],
        may_not_use: &["rusqlite"],
    },
    Layer {
        name: "bench",
        may_use: &["aaep", "protocol", "engine", "store", "tasuki"],
        may_not_use: &["axum", "hyper", "rusqlite"],
    },
];

/// The modules of `gateways` that speak one protocol each; the modules beside them are shared.
const GATEWAYS: [&str; 4] = ["a2a", "http", "mcp", "pages"];

/// Through which one gateway calls an operation of another by name.
const DOOR: &str = "crate::http::call";

const DEPENDENCY_TABLES: [&str; 2] = ["dependencies", "build-dependencies"];

pub(super) fn known_crate(tree: &Tree) -> Vec<Finding> {
    let unknown = manifests(tree).filter(|(_, name)| layer(name).is_none());
    let finding = |(file, name): (&SourceFile, &str)| {
        let what = format!("crate `{name}` has no place in the arrows");
        file.finding(1, what, "a folder in one of them, or a row in tidy and a decision record")
    };
    unknown.map(finding).collect()
}

pub(super) fn crate_arrows(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, name) in manifests(tree) {
        let Some(Layer { may_use, may_not_use, .. }) = layer(name) else { continue };
        for dependency in dependencies(&file.text) {
            let brings = |banned: &&str| {
                let rest = dependency.strip_prefix(*banned);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
            };
            let line = line_of(&file.text, &dependency);
            let what = format!("`{name}` depends on `{dependency}`");
            if layer(&dependency).is_some() && !may_use.contains(&&*dependency) {
                findings.push(file.finding(line, what, "a port, or the crate above them both"));
            } else if may_not_use.iter().any(brings) {
                findings.push(file.finding(line, what, "the crate that owns this subject"));
            }
        }
    }
    findings
}

pub(super) fn gateway_walls(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust() {
        let Some(inside) = file.path.strip_prefix("crates/gateways/src/") else { continue };
        let Some(own) = inside.split(['/', '.']).next() else { continue };
        let others = GATEWAYS.iter().filter(|other| **other != own);
        if !GATEWAYS.contains(&own) {
            continue;
        }
        for path in others.map(|other| format!("crate::{other}")) {
            for (number, line) in (1..).zip(rust.code.lines()) {
                let mut hits = line.match_indices(&path);
                let is_door = |at: usize| line[at..].starts_with(DOOR);
                if hits.any(|(at, _)| stands_alone(line, at, &path) && !is_door(at)) {
                    let what = format!("gateway `{own}` reaches into `{path}`");
                    findings.push(file.finding(number, what, "a module that both share"));
                }
            }
        }
    }
    findings
}

fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

fn manifests(tree: &Tree) -> impl Iterator<Item = (&SourceFile, &str)> {
    tree.files().filter_map(|file| {
        let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        Some((file, name))
    })
}

/// The packages a manifest depends on, on any platform, under their real names.
fn dependencies(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("Cargo has read this manifest before us");
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let places = targets.filter_map(toml::Value::as_table).chain([&manifest]);
    let tables = places.flat_map(|place| DEPENDENCY_TABLES.map(|table| place.get(table)));
    let entries = tables.flatten().filter_map(toml::Value::as_table).flatten();
    let real_name = |(name, value): (&String, &toml::Value)| {
        value.get("package").and_then(toml::Value::as_str).unwrap_or(name).to_owned()
    };
    entries.map(real_name).collect()
}

fn line_of(manifest: &str, dependency: &str) -> usize {
    let names = |line: &str| line.contains(dependency);
    let section = manifest.lines().position(|line| line.contains("dependencies]")).unwrap_or(0);
    let inside = manifest.lines().skip(section).position(names).unwrap_or(0);
    1 + section + inside
}
