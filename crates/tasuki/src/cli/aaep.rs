//! `tasuki aaep`: what there is to do about the Agent Accessibility Event Protocol, a file for each
//! subcommand.

mod keys;

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
}

pub async fn run(args: AaepArgs) -> Result<u8> {
    match args.command {
        AaepCommand::Keys(args) => keys::run(args).await,
    }
}
