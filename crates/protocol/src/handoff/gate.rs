//! The gate that every accept passes: nothing is accepted on trust. Checks that need no I/O run
//! here; artifacts are verified outside.

use std::borrow::Cow;

use super::package::{self, Package};
use super::state::Terms;
use crate::handoff::reject_reason::RejectReason;

/// The results of the checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    pub passed: Vec<String>,
    pub failed: Vec<Failure>,
    pub package: Option<Package>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub check: Cow<'static, str>,
    pub reason: RejectReason,
    pub detail: String,
}

impl Failure {
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.check, self.detail)
    }
}

/// Runs every check, even after one failed, so that the sender can fix everything at once.
pub fn inspect(terms: &Terms, stored_package: Option<&str>) -> Findings {
    let package = parse(stored_package);
    // The policy of an unreadable package is unknown, so there is no result about it.
    let policy = package.as_ref().ok().map(|package| check_policy(terms, package));
    let checks = [
        ("schema", Some(check_schema(terms, &package))),
        ("policy", policy),
        ("chain", Some(check_chain(terms))),
        ("package_hash", Some(check_hash(terms, stored_package))),
    ];
    let mut findings = Findings { passed: Vec::new(), failed: Vec::new(), package: package.ok() };
    for (check, result) in checks {
        match result {
            None => {}
            Some(Ok(())) => findings.passed.push(check.to_owned()),
            Some(Err((reason, detail))) => {
                findings.failed.push(Failure { check: check.into(), reason, detail });
            }
        }
    }
    findings
}

type Check = Result<(), (RejectReason, String)>;

/// The package in the store, if it exists and is readable.
pub fn read_package(stored: Option<&str>) -> Option<Package> {
    parse(stored).ok()
}

/// The package in the store, if it is exactly the one that was proposed.
pub fn sealed_package(terms: &Terms, stored: Option<&str>) -> Option<Package> {
    check_hash(terms, stored).ok()?;
    read_package(stored)
}

fn parse(stored: Option<&str>) -> Result<Package, String> {
    let text = stored.ok_or("the package is no longer in the store")?;
    serde_json::from_str(text)
        .map_err(|error| format!("the package does not follow its schema: {error}"))
}

fn check_schema(terms: &Terms, package: &Result<Package, String>) -> Check {
    let invalid = |detail: String| (RejectReason::SchemaInvalid, detail);
    let package = package.as_ref().map_err(|detail| invalid(detail.clone()))?;
    if package.version.split('.').next() != package::PACKAGE_VERSION.split('.').next() {
        return Err(invalid(format!("version {} is not supported", package.version)));
    }
    let is_ours = package.handoff_id == terms.id
        && package.thread_id == terms.thread_id
        && package.task.task_id.as_ref() == Some(&terms.task_id);
    if is_ours { Ok(()) } else { Err(invalid("the package belongs to another handoff".to_owned())) }
}

/// What the policy forbids whatever a human decides. A required approval is not checked here but
/// waited for.
fn check_policy(terms: &Terms, package: &Package) -> Check {
    package.policy.check(&terms.to).map_err(|broken| {
        let detail = format!("{}: {}", broken.field, broken.rule);
        (RejectReason::PolicyViolation, detail)
    })
}

fn check_chain(terms: &Terms) -> Check {
    let is_in_chain = terms.chain.contains(&terms.to);
    if is_in_chain == terms.is_return {
        return Ok(());
    }
    let owners: Vec<_> = terms.chain.iter().map(|owner| owner.as_str()).collect();
    let detail = format!("`{}` against the chain {}", terms.to, owners.join(" → "));
    Err((RejectReason::OwnershipConflict, detail))
}

fn check_hash(terms: &Terms, stored: Option<&str>) -> Check {
    let actual = stored.and_then(package::hash_of_stored).map(|hash| crate::canonical::hex(&hash));
    match actual {
        Some(actual) if actual == terms.package_hash => Ok(()),
        Some(actual) => Err((
            RejectReason::HashMismatch,
            format!("the package hashes to {actual}, and {} was proposed", terms.package_hash),
        )),
        None => {
            let detail = "there is no package with a true seal".to_owned();
            Err((RejectReason::HashMismatch, detail))
        }
    }
}
