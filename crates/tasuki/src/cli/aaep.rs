//! `tasuki aaep`: the commands for the Agent Accessibility Event Protocol, a file for each
//! subcommand.

mod announcer;
mod answering;
mod capture;
mod check;
mod closing;
mod documents;
mod erase;
mod found;
mod keys;
mod lint;
mod listen;
mod listener;
mod produce;
mod question;
mod recorder;
mod replay;
mod speech;
mod stdio;
mod subscriber;
mod terms;
mod validate;
mod words;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct AaepArgs {
    #[command(subcommand)]
    command: AaepCommand,
}

#[derive(Debug, Subcommand)]
enum AaepCommand {
    /// Delete the words of a session from the record, as an operator; also ends an open session
    Erase(erase::EraseArgs),
    /// List and rotate the keys that sign the manifest
    Keys(keys::KeysArgs),
    /// Suggest how recorded sessions could be better to listen to; works offline
    Lint(lint::LintArgs),
    /// Hear what agents announce, and answer what they ask, in this terminal
    Listen(listen::ListenArgs),
    /// Record what agents announce, as it was sent
    Capture(capture::CaptureArgs),
    /// Play a recording, to this terminal or into a server
    Replay(replay::ReplayArgs),
    /// Check recorded events, replies and handshakes, each and in their order; works offline
    Validate(validate::ValidateArgs),
    /// Announce and listen over standard input and output, as JSON-RPC 2.0
    Stdio(stdio::StdioArgs),
}

pub async fn run(args: AaepArgs) -> Result<u8> {
    match args.command {
        AaepCommand::Erase(args) => erase::run(args).await,
        AaepCommand::Keys(args) => keys::run(args).await,
        AaepCommand::Lint(args) => lint::run(&args),
        AaepCommand::Listen(args) => listen::run(args).await,
        AaepCommand::Capture(args) => capture::run(args).await,
        AaepCommand::Replay(args) => replay::run(args).await,
        AaepCommand::Validate(args) => validate::run(&args),
        AaepCommand::Stdio(args) => stdio::run(args).await,
    }
}
