//! The gate that every accept passes: nothing is accepted on trust.

use super::command::RejectReason;
use super::package::{self, Package};
use super::state::Terms;

/// What the checks found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    pub passed: Vec<String>,
    pub failed: Vec<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub check: &'static str,
    pub reason: RejectReason,
    pub detail: String,
}

/// Runs every check, even after one failed: whoever mends the package wants to know all of it.
pub fn inspect(terms: &Terms, stored_package: Option<&str>) -> Findings {
    let checks = [
        ("schema", check_schema(terms, stored_package)),
        ("policy", check_policy(terms)),
        ("chain", check_chain(terms)),
        ("package_hash", check_hash(terms, stored_package)),
    ];
    let mut findings = Findings { passed: Vec::new(), failed: Vec::new() };
    for (check, result) in checks {
        match result {
            Ok(()) => findings.passed.push(check.to_owned()),
            Err((reason, detail)) => findings.failed.push(Failure { check, reason, detail }),
        }
    }
    findings
}

type Check = Result<(), (RejectReason, String)>;

fn check_schema(terms: &Terms, stored: Option<&str>) -> Check {
    let invalid = |detail: String| (RejectReason::SchemaInvalid, detail);
    let text = stored.ok_or_else(|| invalid("the package is no longer in the store".to_owned()))?;
    let package: Package = serde_json::from_str(text)
        .map_err(|error| invalid(format!("the package does not follow its schema: {error}")))?;
    if package.version.split('.').next() != package::PACKAGE_VERSION.split('.').next() {
        return Err(invalid(format!("version {} is not supported", package.version)));
    }
    let is_ours = package.handoff_id == terms.id
        && package.thread_id == terms.thread_id
        && package.task.task_id.as_ref() == Some(&terms.task_id);
    if is_ours { Ok(()) } else { Err(invalid("the package belongs to another handoff".to_owned())) }
}

fn check_policy(terms: &Terms) -> Check {
    if terms.needs_human && !terms.target_is_human {
        let detail = "the policy requires a human, and the target is none".to_owned();
        return Err((RejectReason::PolicyViolation, detail));
    }
    Ok(())
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
