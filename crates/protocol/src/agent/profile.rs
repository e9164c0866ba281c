//! The profile of an agent: what it shows of itself.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use crate::conversation::answer_within::{
    ANSWER_WITHIN_MAX, ANSWER_WITHIN_OFF, is_allowed, limit_expected,
};
use crate::hidden::{first_hidden, is_blank};
use crate::ids::AgentId;
use crate::queue::wanted::SKILL_LEVEL_MAX;
use crate::rejection::Rejection;
use crate::time::Span;
use crate::{form, json};
use aaep::AGENT_ID;
use base::lookalike::letters;

/// What an agent shows of itself. Only operators write it, because other agents follow it as
/// advice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = form::patterned(NAME, PROFILE_TEXT_BYTES_MAX, name_expected()))]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = form::bytes(PROFILE_TEXT_BYTES_MAX))]
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = short_items)]
    pub capabilities: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = short_items)]
    pub languages: Vec<String>,
    /// An emoji or a few letters; never a URL, so that showing it fetches nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = icon)]
    pub icon: String,
    /// `#rrggbb`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = form::pattern("^(#[0-9A-Fa-f]{6})?$", COLOR_EXPECTED))]
    pub color: String,
    /// Whether a customer may choose it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_selectable: bool,
    /// How many conversations it holds at once, 1 to 64. When absent: 3 for a human, any number for
    /// a worker or a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(1, CAPACITY_MAX))]
    pub capacity: Option<u16>,
    /// How long a worker has to answer a customer: `0s` for no limit. When absent, as the graph of
    /// the conversation or the teamspace says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(ANSWER_WITHIN_OFF, ANSWER_WITHIN_MAX))]
    pub answer_within: Option<Span>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, PROFILE_LIST_ITEMS_MAX))]
    pub skills: Vec<Skill>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = form::patterned(LABEL_OR_NONE, LABEL_BYTES_MAX, label_expected()))]
    pub team: String,
}

/// Something an agent is good at, and how good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    #[schemars(transform = form::patterned(LABEL, LABEL_BYTES_MAX, label_expected()))]
    pub name: String,
    /// 1 to 5.
    #[schemars(transform = form::range(1, SKILL_LEVEL_MAX))]
    pub level: u8,
}

/// How an agent is introduced in a conversation, in the words that chat clients use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentIdentity {
    pub agent_id: AgentId,
    pub agent_name: String,
    pub agent_icon: String,
    pub agent_color: String,
}

/// A profile is a card, not a document.
pub const PROFILE_TEXT_BYTES_MAX: usize = 2_000;
pub const PROFILE_LIST_ITEMS_MAX: usize = 64;

/// A family of four as one emoji is 7 characters.
pub const ICON_CHARACTERS_MAX: usize = 8;

/// Names of teams and skills are shown in tables.
pub const LABEL_BYTES_MAX: usize = 100;

/// Visible characters without blanks, at most `ICON_CHARACTERS_MAX` of them.
const ICON: &str = r"^[^\s\x00-\x1F\x7F-\x9F\u061C\u200E\u200F]*$";
/// A name appears in the middle of a line.
const NAME: &str = concat!(
    r"^([^\x00-\x1F\x7F-\x9F\u061C\u200E\u200F\u2028\u2029]*",
    r"[^\s\x00-\x1F\x7F-\x9F\u061C\u200E\u200F]",
    r"[^\x00-\x1F\x7F-\x9F\u061C\u200E\u200F\u2028\u2029]*)?$"
);
const COLOR_EXPECTED: &str = "#rrggbb, such as #2f6fde";
const LABEL: &str = concat!(
    r"^[^\s\x00-\x1F\x7F-\x9F\u061C\u200E\u200F]",
    r"([^\x00-\x1F\x7F-\x9F\u061C\u200E\u200F\u2028\u2029]*",
    r"[^\s\x00-\x1F\x7F-\x9F\u061C\u200E\u200F])?$"
);
const LABEL_OR_NONE: &str = concat!(
    r"^([^\s\x00-\x1F\x7F-\x9F\u061C\u200E\u200F]",
    r"([^\x00-\x1F\x7F-\x9F\u061C\u200E\u200F\u2028\u2029]*",
    r"[^\s\x00-\x1F\x7F-\x9F\u061C\u200E\u200F])?)?$"
);

fn name_expected() -> String {
    format!(
        "one line of at most {PROFILE_TEXT_BYTES_MAX} bytes that can be seen, without `{AGENT_ID}`"
    )
}

fn icon_expected() -> String {
    format!("an emoji or at most {ICON_CHARACTERS_MAX} characters, no spaces")
}

fn icon(schema: &mut Schema) {
    form::patterned(ICON, 4 * ICON_CHARACTERS_MAX, icon_expected())(schema);
    schema.insert("maxLength".to_owned(), ICON_CHARACTERS_MAX.into());
}

fn short_items(schema: &mut Schema) {
    form::items(0, PROFILE_LIST_ITEMS_MAX)(schema);
    form::each(form::bytes(PROFILE_TEXT_BYTES_MAX))(schema);
}

/// More chats at once than anyone can follow. All slots of an agent are read together, so their
/// number must be bounded.
pub const CAPACITY_MAX: u16 = 64;

/// What people in contact centers manage without long delays.
pub const HUMAN_CAPACITY: u16 = 3;

pub(super) fn check(kind: Kind, profile: &Profile) -> Result<(), Rejection> {
    let invalid = |field: &str, expected: String| {
        Err(Rejection::SchemaInvalid { field: format!("profile.{field}"), expected })
    };
    let name = &profile.name;
    let is_plain = !name.chars().any(is_unprintable) && first_hidden(name).is_none();
    let shows_nothing = !name.is_empty() && is_blank(name);
    if name.len() > PROFILE_TEXT_BYTES_MAX
        || !is_plain
        || shows_nothing
        || letters(name).contains(AGENT_ID)
    {
        return invalid("name", name_expected());
    }
    if profile.description.len() > PROFILE_TEXT_BYTES_MAX {
        return invalid("description", format!("at most {PROFILE_TEXT_BYTES_MAX} bytes"));
    }
    let lists = [("capabilities", &profile.capabilities), ("languages", &profile.languages)];
    for (field, list) in lists {
        let is_small = list.len() <= PROFILE_LIST_ITEMS_MAX
            && list.iter().all(|item| item.len() <= PROFILE_TEXT_BYTES_MAX);
        if !is_small {
            return invalid(field, format!("at most {PROFILE_LIST_ITEMS_MAX} short items"));
        }
    }
    let is_icon = profile.icon.chars().count() <= ICON_CHARACTERS_MAX
        && !profile.icon.chars().any(|it| it.is_whitespace() || is_unprintable(it));
    if !is_icon {
        return invalid("icon", icon_expected());
    }
    if !profile.color.is_empty() && !is_color(&profile.color) {
        return invalid("color", COLOR_EXPECTED.to_owned());
    }
    if profile.user_selectable && kind == Kind::System {
        let expected = "false for a system agent, which is never given work";
        return invalid("user_selectable", expected.to_owned());
    }
    if profile.capacity.is_some_and(|capacity| !(1..=CAPACITY_MAX).contains(&capacity)) {
        return invalid("capacity", format!("1 to {CAPACITY_MAX}"));
    }
    if let Some(limit) = profile.answer_within {
        match kind {
            Kind::Worker | Kind::System if is_allowed(limit) => {}
            Kind::Worker | Kind::System => return invalid("answer_within", limit_expected()),
            Kind::Human | Kind::Queue => {
                let expected = "to be left out; a queue has a `reply_target` for its people";
                return invalid("answer_within", expected.to_owned());
            }
        }
    }
    if !profile.team.is_empty() && !is_label(&profile.team) {
        return invalid("team", label_expected());
    }
    check_skills(&profile.skills)
}

fn check_skills(skills: &[Skill]) -> Result<(), Rejection> {
    let invalid = |field: String, expected: String| {
        Err(Rejection::SchemaInvalid { field: format!("profile.skills{field}"), expected })
    };
    if skills.len() > PROFILE_LIST_ITEMS_MAX {
        return invalid(String::new(), format!("at most {PROFILE_LIST_ITEMS_MAX} skills"));
    }
    for (index, skill) in skills.iter().enumerate() {
        if !is_label(&skill.name) {
            return invalid(format!("[{index}].name"), label_expected());
        }
        if !(1..=SKILL_LEVEL_MAX).contains(&skill.level) {
            return invalid(format!("[{index}].level"), format!("1 to {SKILL_LEVEL_MAX}"));
        }
        if skills[..index].iter().any(|earlier| earlier.name == skill.name) {
            return invalid(format!("[{index}].name"), "each skill once".to_owned());
        }
    }
    Ok(())
}

fn label_expected() -> String {
    format!("1 to {LABEL_BYTES_MAX} bytes of text in one line")
}

fn is_label(text: &str) -> bool {
    (1..=LABEL_BYTES_MAX).contains(&text.len())
        && text.trim() == text
        && !text.chars().any(is_unprintable)
}

/// Control characters, and characters that change how the text around them is displayed.
fn is_unprintable(character: char) -> bool {
    let is_mark =
        matches!(character, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{2029}');
    is_mark || character.is_control() || json::is_forbidden(character)
}

fn is_color(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('#') else { return false };
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_profile_may_hold() {
        let long = "x".repeat(LABEL_BYTES_MAX + 1);
        for (kind, profile, field) in [
            (Kind::Human, r#"{}"#, ""),
            (Kind::Human, r##"{"icon":"🛟","color":"#2F6fde","team":"Bills & more"}"##, ""),
            (
                Kind::Human,
                r#"{"icon":"\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67\u200d\ud83d\udc66"}"#,
                "",
            ),
            (Kind::Human, r#"{"icon":"ABCDEFGHI"}"#, "profile.icon"),
            (Kind::Human, r#"{"icon":"a b"}"#, "profile.icon"),
            (Kind::Human, r#"{"icon":"\u202Eab"}"#, "profile.icon"),
            (Kind::Human, r#"{"icon":"\u200F"}"#, "profile.icon"),
            (Kind::Human, r#"{"icon":"https://x/y"}"#, "profile.icon"),
            (Kind::Human, r#"{"color":"red"}"#, "profile.color"),
            (Kind::Human, r##"{"color":"#12345"}"##, "profile.color"),
            (Kind::Human, r##"{"color":"#12345é"}"##, "profile.color"),
            (Kind::Human, r#"{"capacity":0}"#, "profile.capacity"),
            (Kind::Human, r#"{"capacity":64}"#, ""),
            (Kind::Human, r#"{"capacity":65}"#, "profile.capacity"),
            (Kind::Worker, r#"{"answer_within":"0s"}"#, ""),
            (Kind::Worker, r#"{"answer_within":"30s"}"#, ""),
            (Kind::Worker, r#"{"answer_within":"25h"}"#, "profile.answer_within"),
            (Kind::Worker, r#"{"answer_within":"999ms"}"#, "profile.answer_within"),
            (Kind::Human, r#"{"answer_within":"30s"}"#, "profile.answer_within"),
            (Kind::Human, r#"{"team":"two\nlines"}"#, "profile.team"),
            (Kind::Human, &format!(r#"{{"team":"{long}"}}"#), "profile.team"),
            (Kind::Worker, r#"{"user_selectable":true}"#, ""),
            (Kind::System, r#"{"user_selectable":true}"#, "profile.user_selectable"),
            (Kind::Human, r#"{"skills":[{"name":"bills","level":5}]}"#, ""),
            (Kind::Human, r#"{"skills":[{"name":"bills","level":6}]}"#, "profile.skills[0].level"),
            (Kind::Human, r#"{"skills":[{"name":"","level":1}]}"#, "profile.skills[0].name"),
            (
                Kind::Human,
                r#"{"skills":[{"name":"a","level":1},{"name":"a","level":2}]}"#,
                "profile.skills[1].name",
            ),
        ] {
            let read: Profile = serde_json::from_str(profile).expect("a profile");
            let checked = check(kind, &read);
            let refused = checked.as_ref().err().and_then(Rejection::field).unwrap_or_default();
            assert_eq!(refused, field, "{profile}");
        }
    }
}
