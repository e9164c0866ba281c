//! Lists and objects, by their tables: how many items, no duplicates, which fields.

use std::cmp::Ordering;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess};

use super::core::LINK;
use super::form::Form;
use super::report::Path;
use super::table::{Kind, Others, Shape, any_length};
use super::walk::{Got, MemberKey, Reading, demand, find};
use crate::{CONTEXT, EXTENSION};

impl<'de> Reading<'_, 'de, '_> {
    pub(super) fn list<A: SeqAccess<'de>>(self, mut items: A) -> Result<Got<'de>, A::Error> {
        let Reading { walk, kind, path, depth } = self;
        let Kind::List { items: kind, min, max, unique } = kind else {
            unreachable!("only lists are read as lists");
        };
        let mut found = Vec::new();
        let mut n_items = 0;
        loop {
            let place = Path::Index(path, n_items);
            let item = Reading { walk: &mut *walk, kind, path: &place, depth: depth + 1 };
            let Some(got) = items.next_element_seed(item)? else { break };
            n_items += 1;
            found.push(got);
        }
        let mut is_good = true;
        if n_items < *min {
            is_good = false;
            walk.report.schema("minItems", path, format_args!("at least {min} items"));
        }
        if n_items > *max {
            is_good = false;
            walk.report.schema("maxItems", path, format_args!("at most {max} items"));
        }
        if *unique && let Some(at) = twice(&found) {
            is_good = false;
            let place = Path::Index(path, at);
            walk.report.schema("uniqueItems", &place, format_args!("each item once"));
        }
        // Rules look only at lists without flaws; a flawed list counts as present, but empty.
        if !is_good || found.contains(&Got::Absent) {
            return Ok(Got::Texts(Vec::new()));
        }
        let texts = found.into_iter().filter_map(|got| match got {
            Got::Text(text) => Some(text),
            Got::Texts(texts) => texts.into_iter().next(),
            Got::Absent
            | Got::Moment(_)
            | Got::Integer(_)
            | Got::Number(_)
            | Got::Truth(_)
            | Got::Json(_) => None,
        });
        Ok(Got::Texts(texts.collect()))
    }

    pub(super) fn contexts<A: SeqAccess<'de>>(self, mut items: A) -> Result<Got<'de>, A::Error> {
        static URI: Kind = any_length(Form::Uri);
        let Reading { walk, kind: _, path, depth } = self;
        let mut n_items = 0;
        loop {
            let place = Path::Index(path, n_items);
            let kind = if n_items == 0 { &Kind::Context } else { &URI };
            // A list in a list is no context, whatever it begins with.
            let item = Reading { walk: &mut *walk, kind, path: &place, depth: depth + 1 };
            let Some(got) = items.next_element_seed(FirstIsText { item })? else { break };
            n_items += 1;
            if let Got::Text(uri) = got {
                walk.contexts.push(uri);
            }
        }
        if n_items == 0 {
            walk.report.schema("minItems", path, format_args!("at least 1 items"));
        }
        Ok(Got::Absent)
    }

    pub(super) fn any_items<A: SeqAccess<'de>>(self, mut items: A) -> Result<Got<'de>, A::Error> {
        let Reading { walk, kind: _, path, depth } = self;
        for index in 0.. {
            let place = Path::Index(path, index);
            let item =
                Reading { walk: &mut *walk, kind: &Kind::Any, path: &place, depth: depth + 1 };
            if items.next_element_seed(item)?.is_none() {
                break;
            }
        }
        Ok(Got::Absent)
    }

    pub(super) fn any_entries<A: MapAccess<'de>>(
        self,
        mut entries: A,
    ) -> Result<Got<'de>, A::Error> {
        let Reading { walk, kind: _, path, depth } = self;
        let mut keys = Vec::new();
        while let Some(key) = entries.next_key_seed(MemberKey)? {
            let place = Path::Key(path, &key);
            walk.check_characters(&key, Form::Any, &place);
            let value =
                Reading { walk: &mut *walk, kind: &Kind::Any, path: &place, depth: depth + 1 };
            entries.next_value_seed(value)?;
            keys.push(key);
        }
        walk.unnamed_twice(&mut keys, path);
        // An open object was present, which is all that `OpenText` needs.
        Ok(Got::Truth(true))
    }

    pub(super) fn extensions<A: MapAccess<'de>>(
        self,
        mut entries: A,
    ) -> Result<Got<'de>, A::Error> {
        static OWN: Kind = Kind::Object(&LINK);
        let Reading { walk, kind: _, path, depth } = self;
        let mut keys = Vec::new();
        while let Some(key) = entries.next_key_seed(MemberKey)? {
            let place = Path::Key(path, &key);
            walk.check_characters(&key, Form::Any, &place);
            let kind = if key == EXTENSION { &OWN } else { &Kind::Open };
            let value = Reading { walk: &mut *walk, kind, path: &place, depth: depth + 1 };
            entries.next_value_seed(value)?;
            keys.push(key);
        }
        walk.unnamed_twice(&mut keys, path);
        walk.prefixes = keys;
        Ok(Got::Absent)
    }

    pub(super) fn object<A: MapAccess<'de>>(
        self,
        shape: &'static Shape,
        mut entries: A,
    ) -> Result<Got<'de>, A::Error> {
        let Reading { walk, kind, path, depth } = self;
        let is_own = std::ptr::eq(shape, &raw const LINK);
        if is_own {
            walk.report.set_own_rule(Some("tasuki.extension"));
        }
        let is_choice = matches!(kind, Kind::Choice(_));
        let mut texts = Vec::new();
        let mut unnamed = Vec::new();
        let (mut seen, mut next) = (0_u64, 0);
        while let Some(key) = entries.next_key_seed(MemberKey)? {
            let place = Path::Key(path, &key);
            let Some(at) = find(shape.fields, &key, &mut next) else {
                walk.check_characters(&key, Form::Any, &place);
                let kind = match shape.others {
                    Others::Objects => &Kind::Open,
                    Others::Pass | Others::Refused => &Kind::Any,
                };
                if shape.others == Others::Refused {
                    let expected = format_args!("no such field");
                    walk.report.schema("additionalProperties", &place, expected);
                }
                let value = Reading { walk: &mut *walk, kind, path: &place, depth: depth + 1 };
                entries.next_value_seed(value)?;
                unnamed.push(key);
                continue;
            };
            if seen & (1 << at) != 0 {
                walk.same_key_twice(&place);
            }
            seen |= 1 << at;
            let field = &shape.fields[at];
            let value =
                Reading { walk: &mut *walk, kind: &field.kind, path: &place, depth: depth + 1 };
            let got = entries.next_value_seed(value)?;
            if !is_choice {
                walk.keep(field, got);
            } else if let Got::Text(text) = got {
                texts.push((at, text));
            }
        }
        walk.unnamed_twice(&mut unnamed, path);
        demand(walk, shape, seen, path);
        if (seen.count_ones() as usize) + unnamed.len() < shape.min_fields {
            let expected = format_args!("at least {} of its fields", shape.min_fields);
            walk.report.schema("minProperties", path, expected);
        }
        if is_own {
            walk.report.set_own_rule(None);
        }
        texts.sort_unstable();
        Ok(if is_choice {
            Got::Texts(texts.into_iter().map(|(_, text)| text).collect())
        } else {
            Got::Absent
        })
    }
}

/// An item of `@context`: a text, not a list again.
struct FirstIsText<'w, 'de, 'p> {
    item: Reading<'w, 'de, 'p>,
}

impl<'de> DeserializeSeed<'de> for FirstIsText<'_, 'de, '_> {
    type Value = Got<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Got<'de>, D::Error> {
        static NONE: Kind = any_length(Form::Any);
        let FirstIsText { item } = self;
        let is_first = matches!(item.kind, Kind::Context);
        if !is_first {
            return item.deserialize(deserializer);
        }
        let Reading { walk, kind: _, path, depth } = item;
        let got =
            Reading { walk: &mut *walk, kind: &NONE, path, depth }.deserialize(deserializer)?;
        if let Got::Text(text) = &got
            && text != CONTEXT
        {
            walk.report.schema("const", path, format_args!("{CONTEXT}"));
        }
        Ok(Got::Absent)
    }
}

/// Up to this many items are compared pairwise; more are sorted first.
const FEW_ITEMS: usize = 16;

/// The index of a duplicate item.
fn twice(items: &[Got<'_>]) -> Option<usize> {
    if items.len() <= FEW_ITEMS {
        return (1..items.len())
            .find(|at| items[*at] != Got::Absent && items[..*at].contains(&items[*at]));
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|left, right| compared(&items[*left], &items[*right]));
    let same = order.windows(2).find(|two| {
        items[two[0]] != Got::Absent && compared(&items[two[0]], &items[two[1]]).is_eq()
    })?;
    Some(same[1])
}

/// Texts, integers and lists of texts have an order; flawed values come first.
fn compared(left: &Got<'_>, right: &Got<'_>) -> Ordering {
    match (left, right) {
        (Got::Text(left), Got::Text(right)) => left.cmp(right),
        (Got::Integer(left), Got::Integer(right)) => left.cmp(right),
        (Got::Texts(left), Got::Texts(right)) => left.cmp(right),
        (left, right) => (*left != Got::Absent).cmp(&(*right != Got::Absent)),
    }
}
