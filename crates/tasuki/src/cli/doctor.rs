//! `tasuki doctor`: is this data folder sound, and does its server answer? Changes nothing.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adapters::checkpoint_file::size_of;
use adapters::files::{FOLDER, path_of};
use adapters::{aaep_keys, checkpoint_file, ledger_key};
use anyhow::Result;
use clap::Args;
use engine::ledger::behind::Doubt;
use engine::ledger::seal::{NotKept, signed_edge};
use indicatif::HumanBytes;
use serde::Serialize;
use store::sqlite::{FILE_NAME, KeptFile, Migrated, ReadOnly};

use super::configure;
use super::reach::Reach;
use crate::audit::FIRST_START_INTERRUPTED;
use crate::client::{Call, Client};
use crate::node::control_socket;
use crate::witnesses::Witnesses;
use crate::{checkpoint_check, config, exit_code, output};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    reach: Reach,
    /// The configuration file of the server [default: ./tasuki.toml if it exists]
    #[arg(long, env = "TASUKI_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The witness folder of the server, if it was started with one [env: TASUKI_LEDGER_WITNESS]
    #[arg(long, value_name = "FOLDER")]
    witness: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct DoctorFinding {
    check: &'static str,
    verdict: Verdict,
    detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Good,
    Note,
    /// It is allowed, and something that goes wrong will not be noticed. It is shown last.
    Warning,
    Bad,
}

pub async fn run(args: DoctorArgs) -> Result<u8> {
    let is_elsewhere = args.reach.server.is_some();
    let mut findings = Vec::new();
    // A server elsewhere has no folder here, unless one is named.
    if !is_elsewhere || args.reach.data.is_some() {
        let data = args.reach.data()?;
        let mut ledger = configure(args.config.as_deref())?.ledger;
        ledger.witness = args.witness.unwrap_or(ledger.witness);
        findings.extend([folder(&data), key(&data), database(&data)]);
        findings.extend(files(&data));
        findings.push(sealed(&data, &ledger));
        findings.extend(witnesses(&data, &ledger));
    }
    findings.push(match is_elsewhere {
        true => server(&args.reach.connect().await?.client, bad).await,
        false => server(&Client::socket(control_socket(&args.reach.data()?)), note).await,
    });
    findings.sort_by_key(|finding| finding.verdict == Verdict::Warning);
    if args.reach.json {
        output::json(&findings);
    } else {
        let rows = findings.iter().map(|finding| {
            let verdict = match finding.verdict {
                Verdict::Good => "good",
                Verdict::Note => "note",
                Verdict::Warning => "WARNING",
                Verdict::Bad => "BAD",
            };
            vec![finding.check.to_owned(), verdict.to_owned(), finding.detail.clone()]
        });
        output::line(&output::table(&["check", "verdict", "detail"], rows.collect()));
    }
    let is_bad = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    Ok(if is_bad { exit_code::FAILED } else { exit_code::OK })
}

fn folder(data: &Path) -> DoctorFinding {
    let check = "data folder";
    match std::fs::metadata(data) {
        Err(error) => bad(check, format!("{}: {error}", data.display())),
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            note(check, format!("{} can be read by others; chmod 700 it", data.display()))
        }
        Ok(_) => good(check, data.display().to_string()),
    }
}

fn key(data: &Path) -> DoctorFinding {
    let check = "signing key";
    match std::fs::metadata(data.join(ledger_key::KEY_FILE)) {
        Err(_) if data.join(ledger_key::PUBLIC_FILE).exists() => bad(
            check,
            format!(
                "it is gone, but checkpoints were signed with it, so no server starts; restore \
                 {}, or remove {} to go on with a new key that does not vouch for the past",
                ledger_key::KEY_FILE,
                ledger_key::PUBLIC_FILE
            ),
        ),
        Err(_) if is_unused(data) => {
            note(check, "there is none yet; the next start makes it".to_owned())
        }
        Err(_) => bad(check, "there is none; the first start makes it".to_owned()),
        Ok(metadata) if is_exposed(&metadata) => {
            bad(check, "it can be read by others; chmod 600 it".to_owned())
        }
        Ok(_) if std::fs::metadata(data.join(aaep_keys::FILE)).is_ok_and(|it| is_exposed(&it)) => {
            let file = aaep_keys::FILE;
            bad(check, format!("{file} can be read by others, so no server starts; chmod 600 it"))
        }
        Ok(_) => match ledger_key::has_signed_rows(data) {
            Err(error) => bad(check, format!("{error}; no server starts")),
            Ok(false) if !is_unused(data) => note(
                check,
                "no row of the database is signed with it; the next start compares all rows with \
                 the ledger and signs them, as after an update from an older release"
                    .to_owned(),
            ),
            Ok(_) => good(check, "only its owner can read it".to_owned()),
        },
    }
}

/// Whether there is a database in which nothing was recorded.
fn is_unused(data: &Path) -> bool {
    ReadOnly::open(data).is_ok_and(|store| !store.newest().is_ok_and(|newest| newest > 0))
}

fn is_exposed(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o077 != 0
}

fn database(data: &Path) -> DoctorFinding {
    let check = "database";
    let path = data.join(FILE_NAME);
    let store = match ReadOnly::open(data) {
        Ok(store) => store,
        Err(error) => return bad(check, error.to_string()),
    };
    match store.check_version(&path) {
        Ok(Migrated::NotBegun) => return note(check, FIRST_START_INTERRUPTED.to_owned()),
        Ok(Migrated::Completely | Migrated::Partly { .. }) => {}
        Err(error) => return bad(check, error.to_string()),
    }
    match (store.damage(), store.newest_entry(), store.newest()) {
        (Err(error), _, _) | (_, _, Err(error)) => bad(check, error.to_string()),
        (Ok(Some(damage)), _, _) => bad(check, damage),
        (_, Err(error), _) => bad(check, format!("the newest entry cannot be read: {error}")),
        (Ok(None), Ok(_), Ok(newest)) => exposed_database(data).unwrap_or_else(|| {
            good(
                check,
                format!("readable, {newest} entries; `tasuki audit verify` checks what they say"),
            )
        }),
    }
}

/// The first file of the database that others can use. The folder may keep them out at present.
fn exposed_database(data: &Path) -> Option<DoctorFinding> {
    let check = "database";
    let files = ["", "-wal", "-shm"].map(|ending| format!("{FILE_NAME}{ending}"));
    files.iter().find_map(|file| {
        let mode = std::fs::metadata(data.join(file)).ok()?.permissions().mode();
        match (mode & 0o022 != 0, mode & 0o044 != 0) {
            (true, _) => Some(bad(check, format!("others can write to {file}; chmod 600 it"))),
            (false, true) => Some(note(check, format!("others can read {file}; chmod 600 it"))),
            (false, false) => None,
        }
    })
}

/// Whether the bytes of every stored file are there, if there are any; what they are takes longer
/// to check.
fn files(data: &Path) -> Option<DoctorFinding> {
    let check = "files";
    let kept = match ReadOnly::open(data).map(|store| store.kept_files()) {
        Ok(Ok(kept)) if !kept.is_empty() => kept,
        // What is wrong with the database is said elsewhere.
        Ok(Ok(_) | Err(_)) | Err(_) => return None,
    };
    let root = data.join(FOLDER);
    let is_there = |one: &&KeptFile| {
        let found = std::fs::symlink_metadata(path_of(&root, &one.teamspace, &one.file));
        found.is_ok_and(|found| found.is_file() && found.len() == one.size_bytes)
    };
    let n_bytes = kept.iter().map(|one| one.size_bytes).sum::<u64>();
    Some(match kept.len() - kept.iter().filter(is_there).count() {
        0 => {
            let n_bytes = HumanBytes(n_bytes);
            good(check, format!("{} stored, {n_bytes}; their sizes are right", kept.len()))
        }
        n => bad(check, format!("{n} of {} are missing or cut; restore a backup", kept.len())),
    })
}

/// Without one, an old folder that is put back as a whole cannot be noticed.
fn witnesses(data: &Path, ledger: &config::Ledger) -> Vec<DoctorFinding> {
    let check = "witness";
    let folder = ledger.witness().map(|folder| match folder.is_dir() {
        true => good(check, folder.display().to_string()),
        false => bad(check, format!("{} is no folder", folder.display())),
    });
    let mut findings: Vec<_> = folder.into_iter().chain(http_witness(data, ledger)).collect();
    if findings.is_empty() {
        findings.push(warning(
            check,
            "NONE: if the whole data folder is put back to an older state, no one will notice; \
             set `ledger.witness` to a folder elsewhere, or `ledger.witness_url`"
                .to_owned(),
        ));
    }
    findings
}

/// Whether it answers, and how far behind it is.
fn http_witness(data: &Path, ledger: &config::Ledger) -> Option<DoctorFinding> {
    let check = "witness";
    let key_name = ledger_name(data).unwrap_or_default();
    let asked = match ledger.open_http_witness(data, &key_name) {
        Ok(witness) => witness?.ask(),
        Err(error) => return Some(bad(check, format!("{error:#}"))),
    };
    let url = &ledger.witness_url;
    let sealed = ReadOnly::open(data).ok().and_then(|store| store.sealed().ok().flatten());
    let sealed_size = sealed.map_or(0, |sealed| sealed.size);
    Some(match asked {
        Err(error @ (NotKept::Ahead { .. } | NotKept::Split { .. })) => {
            bad(check, format!("{url}: {error}"))
        }
        Err(NotKept::Failed(error)) => bad(
            check,
            format!("{url}: {error}; a server that starts now is read-only until it answers"),
        ),
        Err(error @ NotKept::Replaced(_)) => bad(check, format!("{url}: {error}")),
        Ok(None) => note(check, format!("{url} has no checkpoint yet")),
        Ok(Some(found)) => match size_of(&found) {
            Some(size) if size < sealed_size => {
                note(check, format!("{url} knows {size} of {sealed_size} sealed entries"))
            }
            Some(_) => good(check, url.clone()),
            None => bad(check, format!("{url} has something that is no checkpoint")),
        },
    })
}

/// The name of the key, which is that of the ledger.
fn ledger_name(data: &Path) -> Option<String> {
    let key = std::fs::read_to_string(data.join(ledger_key::PUBLIC_FILE)).ok()?;
    key.split('+').next().map(str::to_owned)
}

fn sealed(data: &Path, ledger: &config::Ledger) -> DoctorFinding {
    let check = "checkpoint";
    let Ok(store) = ReadOnly::open(data) else {
        return bad(check, "no database to compare with".to_owned());
    };
    if matches!(store.check_version(&data.join(FILE_NAME)), Ok(Migrated::NotBegun)) {
        return note(check, "nothing is sealed yet".to_owned());
    }
    let key = std::fs::read_to_string(data.join(ledger_key::PUBLIC_FILE)).ok();
    if let Some(key) = &key {
        let name = ledger_name(data).unwrap_or_default();
        let asked = Witnesses::open(ledger, data, &name).and_then(|witnesses| witnesses.ask());
        match asked.and_then(|found| checkpoint_check::behind(data, found, key.trim_end())) {
            Ok(None) => {}
            Ok(Some(behind)) if behind.doubt == Doubt::Unreached => {
                return bad(check, behind.to_string());
            }
            Ok(Some(behind)) => {
                return bad(check, format!("{behind}; restore, or `tasuki ledger fork`"));
            }
            Err(error) => return bad(check, format!("{error:#}")),
        }
    }
    match (store.sealed(), store.newest()) {
        (Ok(Some(sealed)), Ok(newest)) if sealed.size > newest => {
            bad(check, format!("{} entries were sealed, and only {newest} are there", sealed.size))
        }
        (Ok(Some(sealed)), Ok(_))
            if key.is_some_and(|key| signed_edge(&sealed, key.trim_end()).is_none()) =>
        {
            bad(check, "the seal in the database was changed; the next start makes it again".into())
        }
        (Ok(Some(sealed)), Ok(newest)) => {
            good(check, format!("{} of {newest} entries are sealed", sealed.size))
        }
        (Ok(None), Ok(_)) if data.join(checkpoint_file::NEWEST_FILE).exists() => {
            bad(check, "the seal is gone from the database; the next start makes it again".into())
        }
        (Ok(None), Ok(_)) => note(check, "nothing is sealed yet".to_owned()),
        (Err(error), _) | (_, Err(error)) => bad(check, error.to_string()),
    }
}

/// `absent` decides whether a missing server matters.
async fn server(
    client: &Client,
    absent: fn(&'static str, String) -> DoctorFinding,
) -> DoctorFinding {
    let check = "server";
    match client.call(Call::get("/readyz")).await {
        Ok(answer) if answer.status == 200 => match answer.body["warning"].as_str() {
            Some(warning) => note(check, format!("running and ready, but {warning}")),
            None => good(check, "running and ready".to_owned()),
        },
        Ok(answer) => {
            let code = answer.body["code"].as_str().unwrap_or_default().to_owned();
            bad(check, format!("running, but not ready (status {} {code})", answer.status))
        }
        Err(_) => absent(check, "not running".to_owned()),
    }
}

fn good(check: &'static str, detail: String) -> DoctorFinding {
    DoctorFinding { check, verdict: Verdict::Good, detail }
}

fn note(check: &'static str, detail: String) -> DoctorFinding {
    DoctorFinding { check, verdict: Verdict::Note, detail }
}

fn warning(check: &'static str, detail: String) -> DoctorFinding {
    DoctorFinding { check, verdict: Verdict::Warning, detail }
}

fn bad(check: &'static str, detail: String) -> DoctorFinding {
    DoctorFinding { check, verdict: Verdict::Bad, detail }
}
