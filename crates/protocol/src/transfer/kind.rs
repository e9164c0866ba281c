//! How a conversation passes to a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    BotToHuman,
    BotToBot,
    HumanToHuman,
    SupervisorConsult,
    /// Without context.
    Blind,
    /// With full context.
    Warm,
}

impl Kind {
    /// The kinds of a request for a person.
    pub const REQUESTED: [Kind; 3] = [Kind::BotToHuman, Kind::Warm, Kind::Blind];

    /// The kinds by which a person asks another one in, or passes the conversation on.
    pub const PASSED_ON: [Kind; 4] =
        [Kind::HumanToHuman, Kind::Warm, Kind::Blind, Kind::SupervisorConsult];
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::BotToHuman => "bot_to_human",
            Kind::BotToBot => "bot_to_bot",
            Kind::HumanToHuman => "human_to_human",
            Kind::SupervisorConsult => "supervisor_consult",
            Kind::Blind => "blind",
            Kind::Warm => "warm",
        }
    }
}
