//! The flags that say what an agent shows of itself, and whether a human is there.

use clap::{Args, ValueEnum};
use protocol::time::Span;
use serde_json::{Map, Value, json};

use super::put;

/// What `tasuki agent register` says about an agent. What is not named stays as it is.
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// The name people see
    #[arg(long)]
    name: Option<String>,
    /// What it is for, in a sentence
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What it can do; may be repeated
    #[arg(long = "capability", value_name = "TEXT")]
    capabilities: Vec<String>,
    /// A language it speaks; may be repeated
    #[arg(long = "language", value_name = "CODE")]
    languages: Vec<String>,
    /// An emoji or a few letters
    #[arg(long)]
    icon: Option<String>,
    /// The colour of its name, such as #2f6fde
    #[arg(long, value_name = "#RRGGBB")]
    color: Option<String>,
    /// Whether customers may choose it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    user_selectable: Option<bool>,
    /// How many conversations it holds at once, 1 to 64; if it was never said, 3 for a human
    #[arg(long, value_name = "N")]
    capacity: Option<u16>,
    /// How long a worker has to answer a customer, such as 30s; 0s for no limit
    #[arg(long, value_name = "SPAN")]
    answer_within: Option<Span>,
    /// Something it is good at, from 1 to 5: billing=4; may be repeated
    #[arg(long = "skill", value_name = "NAME=LEVEL", value_parser = skill)]
    skills: Vec<(String, u8)>,
    /// The team it belongs to
    #[arg(long)]
    team: Option<String>,
    /// Forget what is not named here
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Presence {
    Available,
    Busy,
    Away,
    Offline,
}

impl Presence {
    pub fn as_str(self) -> &'static str {
        match self {
            Presence::Available => "available",
            Presence::Busy => "busy",
            Presence::Away => "away",
            Presence::Offline => "offline",
        }
    }
}

impl ProfileArgs {
    /// The whole profile: the old one, with the given flags on top.
    pub fn laid_over(self, before: &Value) -> Value {
        let before = before.as_object().filter(|_| !self.replace);
        let mut profile = before.cloned().unwrap_or_else(Map::new);
        put(&mut profile, "name", self.name);
        put(&mut profile, "description", self.description);
        put(&mut profile, "icon", self.icon);
        put(&mut profile, "color", self.color);
        put(&mut profile, "team", self.team);
        let skill = |(name, level): (String, u8)| json!({ "name": name, "level": level });
        let skills: Vec<_> = self.skills.into_iter().map(skill).collect();
        let lists = [
            ("capabilities", json!(self.capabilities)),
            ("languages", json!(self.languages)),
            ("skills", json!(skills)),
        ];
        for (name, list) in lists {
            if list.as_array().is_some_and(|list| !list.is_empty()) {
                profile.insert(name.to_owned(), list);
            }
        }
        if let Some(user_selectable) = self.user_selectable {
            profile.insert("user_selectable".to_owned(), user_selectable.into());
        }
        if let Some(capacity) = self.capacity {
            profile.insert("capacity".to_owned(), capacity.into());
        }
        if let Some(answer_within) = self.answer_within {
            profile.insert("answer_within".to_owned(), json!(answer_within));
        }
        profile.into()
    }
}

fn skill(text: &str) -> Result<(String, u8), String> {
    let expected = || "expected a name and a level from 1 to 5, such as billing=4".to_owned();
    let (name, level) = text.rsplit_once('=').ok_or_else(expected)?;
    Ok((name.to_owned(), level.parse().map_err(|_| expected())?))
}
