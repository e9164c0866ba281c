//! One layer of settings over another: a file over the defaults, the environment over both.

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

const ENVIRONMENT_PREFIX: &str = "TASUKI_";

/// Puts the values of a file over the current ones; a key that is unknown or of another type is an
/// error.
pub fn overlay(base: &mut Table, given: Table, path: &str) -> Result<()> {
    for (key, value) in given {
        let name = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(given)) => overlay(base, given, &name)?,
            (Some(slot), value) if slot.type_str() == value.type_str() => *slot = value,
            (Some(slot), _) => bail!("{name}: expected a {}", slot.type_str()),
            (None, _) => bail!("{name}: no such setting"),
        }
    }
    Ok(())
}

/// `TASUKI_LIMITS_STREAMS` sets `limits.streams`. Variables of the command line that are no
/// settings, such as the token, are left to it.
pub fn overlay_environment(
    table: &mut Table,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<()> {
    const OTHERS: [&str; 6] = ["CONFIG", "SERVER", "TOKEN", "AS", "TEAMSPACE", "CA_CERT"];
    for (variable, text) in environment {
        let Some(name) = variable.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
        let is_testing = ["TEST", "SEED", "CANARY", "RECORD", "FAIL"]
            .iter()
            .any(|word| name == *word || name.starts_with(&format!("{word}_")));
        if OTHERS.contains(&name) || is_testing {
            continue;
        }
        let slot = find(table, name)
            .with_context(|| format!("{variable}: no such setting (see config.default.toml)"))?;
        *slot = match slot {
            Value::String(_) => Value::String(text),
            Value::Integer(_) => Value::Integer(
                text.parse().with_context(|| format!("{variable}: expected a whole number"))?,
            ),
            Value::Boolean(_) => Value::Boolean(
                text.parse().with_context(|| format!("{variable}: expected true or false"))?,
            ),
            Value::Array(_) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
            }
            Value::Table(_) | Value::Float(_) | Value::Datetime(_) => {
                bail!("{variable}: no such setting")
            }
        };
    }
    Ok(())
}

fn find<'a>(table: &'a mut Table, name: &str) -> Option<&'a mut Value> {
    for (key, value) in table.iter_mut() {
        let upper = key.to_uppercase();
        if upper == name {
            return Some(value);
        }
        if let Value::Table(inner) = value
            && let Some(rest) = name.strip_prefix(&upper).and_then(|rest| rest.strip_prefix('_'))
        {
            return find(inner, rest);
        }
    }
    None
}
