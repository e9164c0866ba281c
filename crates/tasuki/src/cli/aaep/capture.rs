//! `tasuki aaep capture`: records what is announced, as it was sent, one event on each line.

use std::collections::HashSet;
use std::path::PathBuf;

use aaep::event::Verbosity;
use anyhow::Result;
use clap::Args;

use super::announcer::Announcer;
use super::answering::OpenQuestion;
use super::closing::Answered;
use super::listen::{Answers, From, server};
use super::listener::{Listener, Spoken};
use super::recorder::Recorder;
use super::speech::Speech;
use super::subscriber::Subscriber;
use super::terms::{ScopeArgs, verbatim};
use crate::cli::reach::Reach;
use crate::cli::typist::{Questions, Typist};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct CaptureArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Where to; - is standard output. A file that is there already is not written over
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Where to start
    #[arg(long, value_enum, default_value_t = From::Beginning)]
    from: From,
    /// Whether to answer questions; answers are recorded too
    #[arg(long, value_enum, default_value_t = Answers::Never)]
    answer: Answers,
    /// Stop when the sessions that were heard are over
    #[arg(long)]
    until_end: bool,
}

const HELP: &str = "Ctrl-C ends the recording. What others answer is not in it. `tasuki aaep \
                    validate` checks it, `tasuki aaep replay` plays it.";

pub async fn run(args: CaptureArgs) -> Result<u8> {
    let client = server(&args.reach).await?;
    args.scope.check(&client).await?;
    let recorder = Recorder::create(&args.output)?;
    let mut asked = verbatim();
    let answers = args.answer == Answers::Ask;
    asked.supports_confirmation_reply = Some(answers);
    asked.supports_clarification_reply = Some(answers);
    args.scope.put_into(&mut asked, args.from.start());
    let speech = Speech::new(None);
    let (subscriber, accepted) = Subscriber::open(client, "tasuki-capture", asked, speech).await?;
    let can_answer = accepted.honored_capabilities.supports_confirmation_reply == Some(true);
    let typist = Typist::start(Questions::new());
    let listener = Listener {
        subscriber,
        greeting: vec!["recording; Ctrl-C ends it".to_owned()],
        typist,
        telling: Spoken::Nothing,
        announcer: Announcer::new(speech, Verbosity::Normal),
        answers: answers && can_answer,
        recorder: Some(recorder),
        until_end: args.until_end,
        asked: OpenQuestion::new(speech),
        answered: Answered::default(),
        unsent: Vec::new(),
        open: HashSet::new(),
    };
    listener.run().await
}
