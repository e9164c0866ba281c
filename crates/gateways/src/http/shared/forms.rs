//! The schemas of the request types, each made once. A request is checked against its published
//! schema before it is parsed, so that the two cannot differ.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use protocol::form::Form;
use schemars::JsonSchema;

type Forms = HashMap<TypeId, &'static Form>;

/// As many as there are types of requests.
static FORMS: LazyLock<RwLock<Forms>> = LazyLock::new(RwLock::default);

pub fn of<T: JsonSchema + 'static>() -> &'static Form {
    let id = TypeId::of::<T>();
    let known = FORMS.read().unwrap_or_else(PoisonError::into_inner).get(&id).copied();
    known.unwrap_or_else(|| {
        let made: &'static Form = Box::leak(Box::new(Form::of::<T>()));
        *FORMS.write().unwrap_or_else(PoisonError::into_inner).entry(id).or_insert(made)
    })
}
