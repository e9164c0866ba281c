//! Many regexes over one text, in time linear in the text. Word boundaries beyond ASCII would spoil
//! that, so all regexes are first tried without them; the few that match are tried again as
//! written.
//!
//! The time also grows with the states of the regexes, and a match cannot be interrupted. So they
//! are tried in groups with a limited number of states, and the caller may stop between two groups.

use std::cell::OnceCell;
use std::fmt;

use regex::{Error, Regex, RegexBuilder, RegexSet, RegexSetBuilder, SetMatches};
use regex_automata::nfa::thompson::{NFA, WhichCaptures};

use super::limits::{REGEX_PROGRAM_BYTES_MAX, REGEX_SET_BYTES_MAX};
use super::spent::{IsSpent, Spent};

/// States of the regexes that are tried in one pass. With the longest text that takes a fraction of
/// a second at worst.
const GROUP_STATES_MAX: usize = 2_048;

/// Replaces a word boundary: matches the empty string, and can also be repeated.
const NOTHING: &str = "(?:)";

/// Spellings of word boundaries after their backslash, longest first.
const BOUNDARIES: [&str; 8] =
    ["b{start-half}", "b{end-half}", "b{start}", "b{end}", "b", "B", "<", ">"];

#[derive(Debug, Clone, Default)]
pub struct RegexList {
    /// Match everything that the regexes match, and a little more: a boundary only ever excludes
    /// matches.
    groups: Vec<RegexSet>,
    /// By regex: its group, and its number there.
    places: Vec<(usize, usize)>,
    /// The regexes for which a group matches too much, as written.
    exact: Vec<Option<Regex>>,
    /// Of the largest group.
    states: usize,
}

impl RegexList {
    /// Takes regexes that compile.
    pub fn new(regexes: &[&str]) -> Result<Self, Error> {
        let mut list = Self::default();
        let mut group: Vec<String> = Vec::new();
        let mut states = 0;
        for regex in regexes {
            let loose = loosened(regex);
            let exact = || RegexBuilder::new(regex).size_limit(REGEX_PROGRAM_BYTES_MAX).build();
            list.exact.push((*regex != loose).then(exact).transpose()?);
            let more = n_states(&loose);
            if states + more > GROUP_STATES_MAX && !group.is_empty() {
                list.add_group(&group, states)?;
                group.clear();
                states = 0;
            }
            list.places.push((list.groups.len(), group.len()));
            group.push(loose);
            states += more;
        }
        if !group.is_empty() {
            list.add_group(&group, states)?;
        }
        Ok(list)
    }

    fn add_group(&mut self, group: &[String], states: usize) -> Result<(), Error> {
        let set = RegexSetBuilder::new(group)
            .size_limit(REGEX_SET_BYTES_MAX)
            .dfa_size_limit(REGEX_SET_BYTES_MAX)
            .build()?;
        self.groups.push(set);
        self.states = self.states.max(states);
        Ok(())
    }

    /// The states that are tried between two looks at the time.
    pub fn states_at_once(&self) -> usize {
        self.states
    }

    pub fn on<'l>(&'l self, text: &'l str, is_spent: IsSpent<'l>) -> Matches<'l> {
        let found = vec![OnceCell::new(); self.groups.len()];
        Matches { list: self, text, found, is_spent }
    }
}

/// How many states a regex has once compiled: in the worst case each is visited for every byte of a
/// text.
pub fn n_states(regex: &str) -> usize {
    let config = NFA::config().which_captures(WhichCaptures::None);
    let compiled = NFA::compiler().configure(config).build(regex);
    compiled.map_or(GROUP_STATES_MAX, |compiled| compiled.states().len())
}

/// The regexes that match a text.
pub struct Matches<'l> {
    list: &'l RegexList,
    text: &'l str,
    /// By group, once it was tried.
    found: Vec<OnceCell<SetMatches>>,
    is_spent: IsSpent<'l>,
}

impl fmt::Debug for Matches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matches").field("found", &self.found).finish_non_exhaustive()
    }
}

impl Matches<'_> {
    pub fn has(&self, index: usize) -> Result<bool, Spent> {
        let (group, number) = self.list.places[index];
        let found = match self.found[group].get() {
            Some(found) => found,
            None => {
                self.check_time()?;
                self.found[group].get_or_init(|| self.list.groups[group].matches(self.text))
            }
        };
        if !found.matched(number) {
            return Ok(false);
        }
        let Some(exact) = &self.list.exact[index] else { return Ok(true) };
        self.check_time()?;
        Ok(exact.is_match(self.text))
    }

    pub fn all(&self) -> Result<Vec<usize>, Spent> {
        let mut all = Vec::new();
        for index in 0..self.list.places.len() {
            if self.has(index)? {
                all.push(index);
            }
        }
        Ok(all)
    }

    fn check_time(&self) -> Result<(), Spent> {
        if (self.is_spent)() { Err(Spent) } else { Ok(()) }
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
            let found = list.on(text, &|| false).all().unwrap();
            let plainly = regexes.iter().enumerate();
            let plainly = plainly.filter(|(_, regex)| Regex::new(regex).unwrap().is_match(text));
            assert_eq!(found, plainly.map(|(index, _)| index).collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn the_time_is_looked_at_between_groups() {
        let heavy = "[ab]*a[ab]{1500}c";
        let list = RegexList::new(&[heavy, heavy, "a", heavy]).unwrap();
        assert_eq!(list.groups.len(), 3);
        let looks = std::cell::Cell::new(0);
        let once = || looks.replace(looks.get() + 1) > 0;
        let matches = list.on("ab", &once);
        assert_eq!(
            [matches.has(0), matches.has(1), matches.has(2)],
            [Ok(false), Err(Spent), Err(Spent)]
        );
        assert_eq!(matches.has(0), Ok(false), "known already");
        assert_eq!(list.on("ab", &|| false).all(), Ok(vec![2]));
    }
}
