//! Marks the threads that give way to all others. What they ask of the store waits there too, and
//! not in front of what others ask.

use std::cell::Cell;

thread_local! {
    static IS_SLOW: Cell<bool> = const { Cell::new(false) };
}

/// From now on this thread is one of them.
pub fn mark() {
    IS_SLOW.set(true);
}

/// Whether the calling thread is one of them.
pub fn is_marked() -> bool {
    IS_SLOW.get()
}

/// How much lower their priority is: about a tenth of the weight of other threads. Not lower,
/// because such a thread may hold a lock for which another waits.
pub const NICE: i32 = 10;
