//! One language file: `language`, `name` and `direction`, then each text under its name in
//! brackets. A line is `key = text`; the text is everything after the sign.

use std::collections::BTreeMap;

/// The names of texts, with their placeholders.
pub type Known = [(&'static str, &'static [&'static str])];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// BCP 47.
    pub language: &'static str,
    /// What its speakers call it.
    pub name: &'static str,
    pub direction: Direction,
    pub texts: BTreeMap<&'static str, Levels>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    LeftToRight,
    RightToLeft,
}

/// A text, with a shorter and a longer form where that helps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    pub terse: Option<&'static str>,
    pub normal: &'static str,
    pub detailed: Option<&'static str>,
}

impl Direction {
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::LeftToRight => "ltr",
            Direction::RightToLeft => "rtl",
        }
    }
}

impl Levels {
    pub fn all(&self) -> [(&'static str, Option<&'static str>); 3] {
        [("terse", self.terse), ("normal", Some(self.normal)), ("detailed", self.detailed)]
    }
}

impl Catalogue {
    /// Parses a file with the known texts. The error names the line and what was expected there.
    pub fn read(file: &'static str, known: &Known) -> Result<Self, String> {
        let (mut language, mut name, mut direction) = (None, None, None);
        let mut texts: BTreeMap<&'static str, Levels> = BTreeMap::new();
        let mut section: Option<&'static str> = None;
        for (index, line) in file.lines().enumerate() {
            let at = |expected: String| format!("line {}: expected {expected}", index + 1);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(key) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let is_known = known.iter().any(|(known, _)| *known == key);
                if !is_known || texts.insert(key, Levels::default()).is_some() {
                    return Err(at(format!("a text that there is, once, not [{key}]")));
                }
                section = Some(key);
                continue;
            }
            let (key, text) = line.split_once('=').ok_or_else(|| at("key = text".to_owned()))?;
            let (key, text) = (key.trim(), text.trim());
            if text.is_empty() {
                return Err(at(format!("a text after {key}")));
            }
            let taken = match (section, key) {
                (None, "language") => language.replace(text).is_some(),
                (None, "name") => name.replace(text).is_some(),
                (None, "direction") => {
                    let parsed = match text {
                        "ltr" => Direction::LeftToRight,
                        "rtl" => Direction::RightToLeft,
                        _ => return Err(at("ltr or rtl".to_owned())),
                    };
                    direction.replace(parsed).is_some()
                }
                (None, _) => return Err(at("language, name or direction".to_owned())),
                (Some(section), level) => {
                    check_placeholders(section, text, known).map_err(at)?;
                    let levels = texts.get_mut(section).expect("a section is entered first");
                    match level {
                        "terse" => levels.terse.replace(text).is_some(),
                        "normal" => !std::mem::replace(&mut levels.normal, text).is_empty(),
                        "detailed" => levels.detailed.replace(text).is_some(),
                        _ => return Err(at("terse, normal or detailed".to_owned())),
                    }
                }
            };
            if taken {
                return Err(at(format!("{key} once")));
            }
        }
        if let Some((key, _)) = texts.iter().find(|(_, levels)| levels.normal.is_empty()) {
            return Err(format!("expected a normal text in [{key}]"));
        }
        Ok(Self {
            language: language.ok_or("expected a language")?,
            name: name.ok_or("expected a name")?,
            direction: direction.ok_or("expected a direction")?,
            texts,
        })
    }
}

/// The names in braces, in the order of the text.
pub fn placeholders(text: &str) -> Vec<&str> {
    let parts = text.split('{').skip(1);
    parts.map(|part| part.split_once('}').map_or(part, |(name, _)| name)).collect()
}

fn check_placeholders(section: &str, text: &str, known: &Known) -> Result<(), String> {
    let known = known.iter().find(|(key, _)| *key == section).map_or(&[][..], |(_, known)| *known);
    if text.matches('{').count() != text.matches('}').count() {
        return Err("each { with its }".to_owned());
    }
    match placeholders(text).into_iter().find(|name| !known.contains(name)) {
        Some(unknown) => Err(format!("one of {known:?} in braces, not {{{unknown}}}")),
        None => Ok(()),
    }
}
