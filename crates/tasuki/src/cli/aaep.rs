//! `tasuki aaep`: what there is to do about the Agent Accessibility Event Protocol, a file for each
//! subcommand.

mod check;
mod documents;
mod found;
mod keys;
mod lint;
mod validate;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct AaepArgs {
    #[command(subcommand)]
    command: AaepCommand,
}

#[derive(Debug, Subcommand)]
enum AaepCommand {
    /// List and rotate the keys that sign the manifest
    Keys(keys::KeysArgs),
    /// Tell what would make recorded sessions better for somebody who listens; asks nobody
    Lint(lint::LintArgs),
    /// Check recorded events, replies and handshakes, each and in their order; asks nobody
    Validate(validate::ValidateArgs),
}

pub async fn run(args: AaepArgs) -> Result<u8> {
    match args.command {
        AaepCommand::Keys(args) => keys::run(args).await,
        AaepCommand::Lint(args) => lint::run(&args),
        AaepCommand::Validate(args) => validate::run(&args),
    }
}
