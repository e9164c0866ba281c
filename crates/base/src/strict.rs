//! Strict deserialization. Derived readers also accept the fields of an object as a list, in order;
//! here an object must be an object, so that a wrong type is refused and not guessed at. An error
//! names the field.

use std::fmt::Display;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// A value that structs are read from strictly, at every depth.
#[derive(Debug)]
pub struct Strict(pub Value);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Error {
    /// Such as `task.success_criteria[2]`, empty for the whole value.
    pub path: String,
    pub reason: String,
}

impl serde::de::Error for Error {
    fn custom<T: Display>(reason: T) -> Error {
        Error { path: String::new(), reason: reason.to_string() }
    }
}

impl Error {
    fn below(mut self, name: &str) -> Error {
        let separator = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{separator}{}", self.path);
        self
    }
}

impl<'de> Deserializer<'de> for Strict {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(it) => visitor.visit_bool(it),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(it), _) => visitor.visit_u64(it),
                (None, Some(it)) => visitor.visit_i64(it),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(it) => visitor.visit_string(it),
            Value::Array(items) => visit_items(items, visitor),
            Value::Object(fields) => visit_fields(fields, visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Value::Object(fields) = self.0 else { return Err(unexpected(&self.0, &visitor)) };
        visit_fields(fields, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Value::Array(items) = self.0 else { return Err(unexpected(&self.0, &visitor)) };
        visit_items(items, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Value::String(text) = self.0 else { return Err(unexpected(&self.0, &visitor)) };
        visitor.visit_string(text)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor).map_err(Error::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct identifier ignored_any
    }
}

// What follows without a type parameter is compiled once, not for every type that is read.

fn unexpected(value: &Value, expected: &dyn Expected) -> Error {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(it) => Unexpected::Bool(*it),
        Value::Number(_) => Unexpected::Other("number"),
        Value::String(it) => Unexpected::Str(it),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

fn surplus(count: usize) -> Error {
    Error::invalid_length(count, &"fewer elements")
}

fn visit_items<'de, V: Visitor<'de>>(items: Vec<Value>, visitor: V) -> Result<V::Value, Error> {
    let count = items.len();
    let mut items = Items { items: items.into_iter(), index: 0 };
    let read = visitor.visit_seq(&mut items)?;
    if items.items.len() > 0 {
        return Err(surplus(count));
    }
    Ok(read)
}

fn visit_fields<'de, V: Visitor<'de>>(
    fields: Map<String, Value>,
    visitor: V,
) -> Result<V::Value, Error> {
    visitor.visit_map(&mut Fields { fields: fields.into_iter(), name: String::new(), value: None })
}

struct Items {
    items: std::vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut Items {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some(item) = self.items.next() else { return Ok(None) };
        self.index += 1;
        match seed.deserialize(Strict(item)) {
            Ok(read) => Ok(Some(read)),
            Err(error) => Err(error.below(&format!("[{}]", self.index - 1))),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Fields {
    fields: serde_json::map::IntoIter,
    /// Of the field that is read now.
    name: String,
    value: Option<Value>,
}

impl<'de> MapAccess<'de> for &mut Fields {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some((name, value)) = self.fields.next() else { return Ok(None) };
        self.value = Some(value);
        self.name.clone_from(&name);
        let name: StringDeserializer<Error> = name.into_deserializer();
        match seed.deserialize(name) {
            Ok(read) => Ok(Some(read)),
            Err(error) => Err(error.below(&self.name)),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let value = self.value.take().unwrap_or_default();
        seed.deserialize(Strict(value)).map_err(|it| it.below(&self.name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        name: Option<String>,
        #[serde(default)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        part: f64,
        kind: Kind,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Good,
    }

    #[test]
    fn a_list_is_never_taken_for_an_object() {
        let good = json!({ "name": "a", "inner": [{ "part": 1, "kind": "good" }] });
        let read = Outer::deserialize(Strict(good.clone())).unwrap();
        assert_eq!(read, Outer::deserialize(good).unwrap());
        for bad in [json!([]), json!(["a"]), json!({ "inner": [[1, "good"]] })] {
            Outer::deserialize(bad.clone()).expect("which is why this file exists");
            let error = Outer::deserialize(Strict(bad)).unwrap_err().to_string();
            assert!(error.contains("invalid type: sequence, expected struct"), "{error}");
        }
    }
}
