//! The terms of a subscription, as flags.

use aaep::EXTENSION;
use aaep::capabilities::{Capabilities, Filters, Load};
use aaep::event::{Boundary, Verbosity};
use aaep::negotiate::{Scope, Start};
use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, json};

use super::speech::Speech;
use crate::client::{Call, Client, Identity, Refused, percent_encode};

const NOT_FOUND: u16 = 404;

#[derive(Debug, Clone, Args)]
pub struct TermsArgs {
    /// A language to be told in, such as de or pt-BR, the preferred first; may be repeated
    #[arg(long, value_name = "TAG")]
    language: Vec<String>,
    /// How much to be told
    #[arg(long, value_parser = verbosity(), default_value = "normal")]
    pub verbosity: Verbosity,
    /// Maximum events a second; faster ones are merged or delayed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Cognitive load of the listener; low merges progress and states
    #[arg(long, value_parser = load())]
    load: Option<Load>,
    /// How fast text is spoken, in words a minute
    #[arg(long, value_name = "WORDS", value_parser = clap::value_parser!(u16).range(1..))]
    pace: Option<u16>,
    /// Where text may be cut; may be repeated [default: sentence, completion]
    #[arg(long, value_parser = boundary())]
    boundary: Vec<Boundary>,
}

#[derive(Debug, Clone, Args)]
pub struct ScopeArgs {
    /// Only this session
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only the sessions of this conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
}

impl TermsArgs {
    /// In which language the terminal speaks.
    pub fn speech(&self) -> Speech {
        Speech::new(self.language.first().map(String::as_str))
    }

    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_events_per_second: self.rate,
            preferred_verbosity: Some(self.verbosity),
            languages: (!self.language.is_empty()).then(|| self.language.clone()),
            coalesce_boundaries: (!self.boundary.is_empty()).then(|| self.boundary.clone()),
            cognitive_load: self.load,
            pace_wpm: self.pace,
            ..Capabilities::default()
        }
    }
}

impl ScopeArgs {
    /// Rejects a session or a conversation that does not exist: nothing would ever be heard of it.
    /// Not every token that may listen may also look, so only the owner of the data folder is told.
    pub async fn check(&self, client: &Client) -> Result<()> {
        if client.identity.token.is_some() {
            return Ok(());
        }
        let owner = Identity { act_as: None, ..client.identity.clone() };
        let client = client.clone().with_identity(owner);
        let named = [
            ("session_id", "session", &self.session, "/aaep/v1/sessions/"),
            ("conversation", "conversation", &self.conversation, "/v1/conversations/"),
        ];
        for (field, what, id, path) in named {
            let Some(id) = id else { continue };
            let call = Call::get(format!("{path}{}", percent_encode(id)));
            if client.call(call).await?.status == NOT_FOUND {
                let detail = format!("{field}: no {what} `{id}` in this teamspace");
                return Err(Refused::found("not_found", field, detail).into());
            }
        }
        Ok(())
    }

    pub fn put_into(&self, capabilities: &mut Capabilities, from: Start) {
        let scope = Scope {
            session_id: self.session.clone(),
            conversation_id: self.conversation.clone(),
            from,
            ..Scope::default()
        };
        let scope = serde_json::to_value(scope).expect("a scope is plain data");
        capabilities.others = Map::from_iter([(EXTENSION.to_owned(), scope)]);
    }
}

/// Everything, unchanged.
pub fn verbatim() -> Capabilities {
    let include = Some(vec!["*".to_owned()]);
    Capabilities {
        event_filters: Some(Filters { include, exclude: None }),
        coalesce_boundaries: Some(vec![Boundary::None]),
        ..Capabilities::default()
    }
}

/// What a command such as `/pace 120` asks for, or an example of the expected form; `None` if it is
/// another command.
pub fn asked(verb: &str, rest: &str) -> Option<Result<Capabilities, &'static str>> {
    let none = Capabilities::default();
    let words = || rest.split_whitespace();
    let asked = match verb {
        "terse" | "normal" | "detailed" => {
            Ok(Capabilities { preferred_verbosity: Verbosity::parse(verb), ..none })
        }
        "pace" => match rest.parse() {
            Ok(pace @ 1..) => Ok(Capabilities { pace_wpm: Some(pace), ..none }),
            Ok(_) | Err(_) => Err("/pace 120"),
        },
        "rate" => match rest.parse() {
            Ok(rate @ 1..) => Ok(Capabilities { max_events_per_second: Some(rate), ..none }),
            Ok(_) | Err(_) => Err("/rate 2"),
        },
        "load" => match serde_json::from_value(json!(rest)) {
            Ok(load) => Ok(Capabilities { cognitive_load: Some(load), ..none }),
            Err(_) => Err("/load low"),
        },
        "boundary" => match words().map(Boundary::parse).collect::<Option<Vec<_>>>() {
            Some(all) if !all.is_empty() => {
                Ok(Capabilities { coalesce_boundaries: Some(all), ..none })
            }
            Some(_) | None => Err("/boundary sentence"),
        },
        "language" if !rest.is_empty() => {
            Ok(Capabilities { languages: Some(words().map(str::to_owned).collect()), ..none })
        }
        "language" => Err("/language de en"),
        _ => return None,
    };
    Some(asked)
}

fn verbosity() -> impl TypedValueParser<Value = Verbosity> {
    PossibleValuesParser::new(Verbosity::ALL.iter().map(|it| it.as_str()))
        .map(|word| Verbosity::parse(&word).expect("only its words are possible"))
}

fn boundary() -> impl TypedValueParser<Value = Boundary> {
    PossibleValuesParser::new(Boundary::ALL.iter().map(|it| it.as_str()))
        .map(|word| Boundary::parse(&word).expect("only its words are possible"))
}

fn load() -> impl TypedValueParser<Value = Load> {
    PossibleValuesParser::new(["low", "medium", "high"]).map(|word| match word.as_str() {
        "low" => Load::Low,
        "medium" => Load::Medium,
        _ => Load::High,
    })
}
