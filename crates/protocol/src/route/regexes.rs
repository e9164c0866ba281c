//! Many regexes over one text, in time linear in the text. Word boundaries beyond ASCII would spoil
//! that, so all regexes are first tried without them; the few that match are tried again as
//! written.

use regex::{Error, Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches};

use super::graph::{REGEX_PROGRAM_BYTES_MAX, REGEX_SET_BYTES_MAX};

/// Replaces a word boundary: matches the empty string, and can also be repeated.
const NOTHING: &str = "(?:)";

/// Spellings of word boundaries after their backslash, longest first.
const BOUNDARIES: [&str; 8] =
    ["b{start-half}", "b{end-half}", "b{start}", "b{end}", "b", "B", "<", ">"];

#[derive(Debug, Clone)]
pub struct RegexList {
    /// Matches everything that the regexes match, and a little more: a boundary only ever excludes
    /// matches.
    loose: RegexSet,
    /// The regexes for which `loose` matches too much, as written.
    exact: Vec<Option<Regex>>,
}

impl RegexList {
    /// Takes regexes that compile.
    pub fn new(regexes: &[&str]) -> Result<Self, Error> {
        let loosened: Vec<String> = regexes.iter().map(|regex| loosened(regex)).collect();
        let exact = regexes.iter().zip(&loosened).map(|(regex, loose)| {
            let exact = || RegexBuilder::new(regex).size_limit(REGEX_PROGRAM_BYTES_MAX).build();
            (*regex != loose).then(exact).transpose()
        });
        let exact = exact.collect::<Result<_, _>>()?;
        let loose = RegexSetBuilder::new(&loosened)
            .size_limit(REGEX_SET_BYTES_MAX)
            .dfa_size_limit(REGEX_SET_BYTES_MAX)
            .build()?;
        Ok(Self { loose, exact })
    }

    pub fn on<'l, 't>(&'l self, text: &'t str) -> Matches<'l, 't> {
        Matches { list: self, text, loose: self.loose.matches(text) }
    }
}

impl Default for RegexList {
    fn default() -> Self {
        Self { loose: RegexSet::empty(), exact: Vec::new() }
    }
}

/// The regexes that match a text.
#[derive(Debug)]
pub struct Matches<'l, 't> {
    list: &'l RegexList,
    text: &'t str,
    loose: SetMatches,
}

impl Matches<'_, '_> {
    pub fn has(&self, index: usize) -> bool {
        let exact = || self.list.exact[index].as_ref();
        self.loose.matched(index) && exact().is_none_or(|regex| regex.is_match(self.text))
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.loose.iter().filter(|index| self.has(*index))
    }
}

fn loosened(regex: &str) -> String {
    let mut loose = String::with_capacity(regex.len());
    let mut rest = regex;
    while let Some((before, after)) = rest.split_once('\\') {
        loose.push_str(before);
        rest = match BOUNDARIES.iter().find_map(|boundary| after.strip_prefix(boundary)) {
            Some(after) => {
                loose.push_str(NOTHING);
                after
            }
            None => {
                // The escaped character belongs to its backslash, also if it is one itself.
                let end = after.chars().next().map_or(0, char::len_utf8);
                loose.push('\\');
                loose.push_str(&after[..end]);
                &after[end..]
            }
        };
    }
    loose.push_str(rest);
    // A boundary that cannot be left out, such as within a class, stays.
    if Regex::new(&loose).is_ok() { loose } else { regex.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_left_out_and_looked_at_again() {
        let rows = [
            (r"\bcaf\b", r"(?:)caf(?:)"),
            (r"a\\b", r"a\\b"),
            (r"a\\\b", r"a\\(?:)"),
            (r"\b+x", r"(?:)+x"),
            (r"\<a\>\Bb\b{start}", r"(?:)a(?:)(?:)b(?:)"),
            (r"\d\w", r"\d\w"),
        ];
        for (regex, expected) in rows {
            assert_eq!(loosened(regex), expected);
        }
        let regexes: Vec<&str> = rows.iter().map(|(regex, _)| *regex).collect();
        let list = RegexList::new(&regexes).unwrap();
        for text in ["café", "caf", "un caf!", r"a\b", r"a\", "x", "é1é", "1a", "ab a", ""] {
            let found: Vec<usize> = list.on(text).iter().collect();
            let plainly = regexes.iter().enumerate();
            let plainly = plainly.filter(|(_, regex)| Regex::new(regex).unwrap().is_match(text));
            assert_eq!(found, plainly.map(|(index, _)| index).collect::<Vec<_>>(), "{text}");
        }
    }
}
