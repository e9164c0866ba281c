//! The provider format of a history.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Form, Malformed};

/// The provider format of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HistoryForm {
    /// `messages` of Chat Completions.
    #[default]
    OpenAi,
    /// `input` of the Responses API.
    Responses,
    /// `messages` of Anthropic's Messages.
    Anthropic,
    /// Messages of LangChain, flat.
    LangChain,
    /// `contents` of Gemini.
    Gemini,
}

impl HistoryForm {
    pub const ALL: [HistoryForm; 5] = [
        HistoryForm::OpenAi,
        HistoryForm::Responses,
        HistoryForm::Anthropic,
        HistoryForm::LangChain,
        HistoryForm::Gemini,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            HistoryForm::OpenAi => Form::OpenAi.as_str(),
            HistoryForm::Responses => Form::Responses.as_str(),
            HistoryForm::Anthropic => Form::Anthropic.as_str(),
            HistoryForm::LangChain => Form::LangChain.as_str(),
            HistoryForm::Gemini => "gemini",
        }
    }
}

impl FromStr for HistoryForm {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<HistoryForm, Malformed> {
        let known = HistoryForm::ALL.into_iter().find(|form| form.as_str() == text);
        let expected = "openai, responses, anthropic, langchain or gemini";
        known.ok_or_else(|| Malformed::new("form", expected))
    }
}
