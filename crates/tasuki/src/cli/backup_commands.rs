//! `tasuki backup` and `tasuki restore`.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use indicatif::HumanBytes;

use super::audit_commands::{progress_bar, show};
use super::ending::{NoLedger, usage};
use super::token::now;
use crate::backup::{self, BackupStage, Contents, Damaged, Made, Old, Restored, SigningKey};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The data folder, of a server that runs or not [default: ./tasuki-data]
    #[arg(long, env = "TASUKI_DATA", value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// A new file, or a folder in which to make one named after the time
    #[arg(long, value_name = "FILE|FOLDER")]
    to: PathBuf,
    /// Put the signing key beside it too: with both, an attacker can sign a forged ledger
    #[arg(long)]
    with_key: bool,
    /// Back up the rest if stored files are missing or damaged; the backup says which are missing
    #[arg(long)]
    leave_out_damaged: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The backup
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The data folder, empty or not there yet [default: ./tasuki-data]
    #[arg(long, env = "TASUKI_DATA", value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Put a database that is there aside; its checkpoints and its key stay
    #[arg(long)]
    force: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn back_up(args: BackupArgs) -> Result<u8> {
    let data = folder(args.data)?;
    if !data.join(store::sqlite::FILE_NAME).exists() {
        return Err(NoLedger(data).into());
    }
    let key = if args.with_key { SigningKey::Along } else { SigningKey::Apart };
    let damaged = if args.leave_out_damaged { Damaged::LeaveOut } else { Damaged::Refuse };
    let contents = Contents { key, damaged };
    let made = with_bar(|progress| backup::make(&data, &args.to, contents, now(), progress))?;
    if args.json {
        output::json(&made);
    } else {
        let Made { file, made_at, n_entries, n_sealed, n_bytes, n_files, n_file_bytes, missing } =
            made;
        output::line(&format!(
            "backed up {n_entries} entries, {n_sealed} sealed, {} to {} at {made_at}",
            HumanBytes(n_bytes),
            file.display(),
        ));
        if n_files > 0 {
            let n_file_bytes = HumanBytes(n_file_bytes);
            output::remark(&format!("with {n_files} stored files, {n_file_bytes}, beside it"));
        }
        if !missing.is_empty() {
            let (n, names) = (missing.len(), missing.join("\n  "));
            output::remark(&format!(
                "WITHOUT {n} stored files, which are missing or damaged:\n  {names}"
            ));
        }
    }
    Ok(exit_code::OK)
}

pub fn restore(args: RestoreArgs) -> Result<u8> {
    let data = folder(args.data)?;
    if !args.from.is_file() {
        return usage(Err(anyhow!("--from: cannot read {}: no such file", args.from.display())));
    }
    let old = if args.force { Old::MoveAside } else { Old::Refuse };
    let restored = with_bar(|progress| backup::restore(&args.from, &data, old, now(), progress))?;
    if args.json {
        output::json(&restored);
        return Ok(exit_code::OK);
    }
    let Restored { data, n_entries, n_sealed, moved_to, has_key, lost_size, missing } = restored;
    let data = data.display();
    output::line(&format!("restored {n_entries} entries, {n_sealed} sealed, to {data}"));
    if let Some(moved_to) = moved_to {
        output::remark(&format!("the database that was there is now {data}/{moved_to}"));
    }
    if !missing.is_empty() {
        output::remark(&format!(
            "the backup was made WITHOUT {} stored files: a server refuses them until they are \
             stored again",
            missing.len()
        ));
    }
    if let Some(lost_size) = lost_size {
        output::remark(&format!(
            "a checkpoint of {lost_size} entries was signed here: a server will only read until \
             you declare the loss\nhint: tasuki ledger fork --data {data} --reason TEXT"
        ));
    }
    if !has_key {
        output::remark(&format!(
            "the signing key was not in the backup\nhint: put your copy of ledger.key into {data}, \
             or remove ledger.pub to go on with a new key that does not vouch for the past"
        ));
    }
    Ok(exit_code::OK)
}

fn folder(data: Option<PathBuf>) -> Result<PathBuf> {
    match data {
        Some(data) => Ok(data),
        None => Ok(super::configure(None)?.data),
    }
}

fn with_bar<T>(work: impl FnOnce(backup::Progress<'_>) -> Result<T>) -> Result<T> {
    let bar = progress_bar("");
    let done = work(&mut |stage, done, all| {
        bar.set_message(match stage {
            BackupStage::Copying => "copying",
            BackupStage::Verifying => "verifying",
        });
        show(&bar, done, all);
    });
    bar.finish_and_clear();
    done
}
