//! A value that never changes once it is made. Successive states share it instead of copying it,
//! and it is serialized to JSON once.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

#[derive(Debug)]
pub struct Fixed<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    value: T,
    json: OnceLock<Box<RawValue>>,
}

impl<T> From<T> for Fixed<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(Inner { value, json: OnceLock::new() }))
    }
}

impl<T> Clone for Fixed<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: Eq> Eq for Fixed<T> {}

impl<T: PartialEq> PartialEq for Fixed<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl<T: Serialize> Serialize for Fixed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = self.0.json.get_or_init(|| {
            serde_json::value::to_raw_value(&self.0.value).expect("our states are plain data")
        });
        json.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fixed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_and_writes_like_what_it_holds() {
        let value = vec!["a".to_owned(), "\"b\"".to_owned()];
        let fixed = Fixed::from(value.clone());
        let text = serde_json::to_string(&value).unwrap();
        for again in [fixed.clone(), fixed] {
            assert_eq!(serde_json::to_string(&again).unwrap(), text);
            assert_eq!(serde_json::from_str::<Fixed<Vec<String>>>(&text).unwrap(), again);
        }
    }
}
