//! Threads that give way to all others. What they ask of the store waits apart, and not in front of
//! what others ask.

use std::cell::Cell;

/// How much lower their priority is: about a tenth of the weight of other threads. Not lower,
/// because such a thread may hold a lock for which another waits.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

thread_local! {
    static IS_SLOW: Cell<bool> = const { Cell::new(false) };
}

/// From now on the calling thread gives way. Elsewhere than on Linux a priority is that of the
/// whole process, so there it stays as it is.
pub fn give_way() {
    IS_SLOW.set(true);
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::warn!(%error, "a thread that should give way does not");
    }
}

/// Whether the calling thread gives way.
pub fn is_slow() -> bool {
    IS_SLOW.get()
}
