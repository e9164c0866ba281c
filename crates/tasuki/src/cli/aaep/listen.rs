//! `tasuki aaep listen`: a subscriber in a terminal. Plain lines, one for each announcement, so
//! that a screen reader can follow: no line is overwritten, and colour carries no meaning.

use std::collections::HashSet;

use aaep::EXTENSION_CONTEXT;
use aaep::negotiate::Start;
use anyhow::Result;
use clap::{Args, ValueEnum};

use super::announcer::Announcer;
use super::answering::OpenQuestion;
use super::closing::Answered;
use super::listener::{Listener, Spoken};
use super::speech::Text;
use super::subscriber::Subscriber;
use super::terms::{ScopeArgs, TermsArgs};
use crate::cli::reach::Reach;
use crate::cli::typist::{Questions, Typist};
use crate::client::{Client, Unreachable};
use crate::node::control_socket;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ListenArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    terms: TermsArgs,
    /// Where to start
    #[arg(long, value_enum, default_value_t = From::Now)]
    from: From,
    /// Whether to answer questions
    #[arg(long, value_enum, default_value_t = Answers::Ask)]
    answer: Answers,
    /// Only listen to a server that signs its manifest
    #[arg(long)]
    signed: bool,
}

const HELP: &str = "Questions are answered by their numbers: accept 2 or reject 2; #2 and a \
                    choice, a number or a text. An empty line answers nothing. /help lists what \
                    else can be typed.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum From {
    Beginning,
    Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Answers {
    Ask,
    Never,
}

impl From {
    pub fn start(self) -> Start {
        match self {
            From::Beginning => Start::Beginning,
            From::Now => Start::Now,
        }
    }
}

pub async fn run(args: ListenArgs) -> Result<u8> {
    let client = server(&args.reach).await?;
    args.scope.check(&client).await?;
    let mut asked = args.terms.capabilities();
    let answers = args.answer == Answers::Ask;
    asked.supports_confirmation_reply = Some(answers);
    asked.supports_clarification_reply = Some(answers);
    asked.supported_extensions = Some(vec![EXTENSION_CONTEXT.to_owned()]);
    asked.accept_signed_manifests_only = args.signed.then_some(true);
    args.scope.put_into(&mut asked, args.from.start());
    let speech = args.terms.speech();
    let (subscriber, accepted) = Subscriber::open(client, "tasuki-listen", asked, speech).await?;
    let can_answer = accepted.honored_capabilities.supports_confirmation_reply == Some(true);
    let typist = Typist::start(Questions::new());
    let mut greeting = vec![speech.word(Text::Listening)];
    if answers && !can_answer {
        greeting.push(speech.word(Text::ForOthers));
    }
    let listener = Listener {
        subscriber,
        greeting,
        typist,
        telling: if args.reach.json { Spoken::Json } else { Spoken::Words },
        announcer: Announcer::new(speech, args.terms.verbosity),
        answers: answers && can_answer,
        recorder: None,
        until_end: false,
        asked: OpenQuestion::new(speech),
        answered: Answered::default(),
        unsent: Vec::new(),
        open: HashSet::new(),
    };
    listener.run().await
}

/// A running server: no agent announces anything to a server that does not run.
pub async fn server(reach: &Reach) -> Result<Client> {
    let reached = reach.connect().await?;
    if reached.node.is_some() {
        return Err(Unreachable(control_socket(&reach.data()?).display().to_string()).into());
    }
    Ok(reached.client)
}
