//! `tasuki aaep`: what there is to do about the Agent Accessibility Event Protocol, a file for each
//! subcommand.

mod keys;
mod stdio;

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
    /// Announce and listen over standard input and output, as JSON-RPC 2.0
    Stdio(stdio::StdioArgs),
}

pub async fn run(args: AaepArgs) -> Result<u8> {
    match args.command {
        AaepCommand::Keys(args) => keys::run(args).await,
        AaepCommand::Stdio(args) => stdio::run(args).await,
    }
}
