//! Fields of an answer for people: a name and a value on each line.

use serde_json::Value;

use crate::output;

/// As wide as most names are.
const NAME_WIDTH: usize = 9;

/// One line for each field that says something.
pub fn lines<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Vec<String> {
    let told = fields.into_iter().map(|(name, value)| (name, in_words(value)));
    let told = told.filter(|(_, words)| !words.is_empty());
    told.map(|(name, words)| format!("  {name:<NAME_WIDTH$}  {words}")).collect()
}

/// A value in one line; nothing for what is empty.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => output::clean(text),
        Value::Array(items) => joined(items.iter().map(in_words), "; "),
        Value::Object(fields) => {
            let named = fields.iter().map(|(name, value)| (output::clean(name), in_words(value)));
            let told = named.filter(|(_, words)| !words.is_empty());
            joined(told.map(|(name, words)| format!("{name} {words}")), ", ")
        }
    }
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_told_in_one_line() {
        for (value, expected) in [
            (json!(null), ""),
            (json!({}), ""),
            (json!([[], ""]), ""),
            (json!(true), "yes"),
            (json!(3), "3"),
            (json!("two\nlines"), "two lines"),
            (json!(["de", "en"]), "de; en"),
            (json!({ "skills": [{ "level": 3, "name": "billing" }], "team": null }), {
                "skills level 3, name billing"
            }),
        ] {
            assert_eq!(in_words(&value), expected, "{value}");
        }
    }
}
