//! The flags that say what an agent shows of itself, and whether a human is there.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::put;

/// What `tasuki agent register` says about an agent. What is not named is not shown any more.
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// The name people see
    #[arg(long)]
    name: Option<String>,
    #[arg(long)]
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
    /// #rrggbb
    #[arg(long)]
    color: Option<String>,
    /// Customers may choose it
    #[arg(long)]
    user_selectable: bool,
    /// How many conversations it holds at once, 1 to 64; without it, 3 for a human
    #[arg(long, value_name = "N")]
    capacity: Option<u16>,
    /// Something it is good at, from 1 to 5: billing=4; may be repeated
    #[arg(long = "skill", value_name = "NAME=LEVEL", value_parser = skill)]
    skills: Vec<(String, u8)>,
    #[arg(long)]
    team: Option<String>,
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
    pub fn profile(self) -> Value {
        let mut profile = Map::new();
        put(&mut profile, "name", self.name);
        put(&mut profile, "description", self.description);
        put(&mut profile, "icon", self.icon);
        put(&mut profile, "color", self.color);
        put(&mut profile, "team", self.team);
        let skill = |(name, level): (String, u8)| json!({ "name": name, "level": level });
        let skills: Vec<_> = self.skills.into_iter().map(skill).collect();
        profile.insert("capabilities".to_owned(), json!(self.capabilities));
        profile.insert("languages".to_owned(), json!(self.languages));
        profile.insert("skills".to_owned(), json!(skills));
        profile.insert("user_selectable".to_owned(), json!(self.user_selectable));
        profile.insert("capacity".to_owned(), json!(self.capacity));
        profile.into()
    }
}

fn skill(text: &str) -> Result<(String, u8), String> {
    let expected = || "expected a name and a level from 1 to 5, such as billing=4".to_owned();
    let (name, level) = text.rsplit_once('=').ok_or_else(expected)?;
    Ok((name.to_owned(), level.parse().map_err(|_| expected())?))
}
