//! The listeners that a store tells what it has committed.

use std::sync::{Mutex, Weak};

use engine::ports::store::{Listener, Sequenced};

/// Usually one: the feed of the engine that the store belongs to.
#[derive(Default)]
pub struct Listeners {
    all: Mutex<Vec<Weak<dyn Listener>>>,
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}

impl Listeners {
    pub fn add(&self, listener: Weak<dyn Listener>) {
        self.all.lock().expect("listeners do not panic").push(listener);
    }

    /// Called with entries in the order of their numbers, by one thread at a time.
    pub fn tell(&self, entries: Vec<Sequenced>) {
        if entries.is_empty() {
            return;
        }
        let mut all = self.all.lock().expect("listeners do not panic");
        all.retain(|listener| listener.strong_count() > 0);
        let mut alive = all.iter().filter_map(Weak::upgrade);
        let Some(mut listener) = alive.next() else { return };
        for next in alive {
            listener.committed(entries.clone());
            listener = next;
        }
        listener.committed(entries);
    }
}
