//! The terminal key by key. A terminal in its usual mode passes a line on at Enter, which hides
//! when the line was begun.

use std::io::stdin;
use std::sync::Arc;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

/// The number on Linux. Other systems have other numbers for "continue".
#[cfg(target_os = "linux")]
const SIGCONT: i32 = 18;
#[cfg(not(target_os = "linux"))]
const SIGCONT: i32 = 19;

/// While this value lives, keys arrive at once and are not echoed. Dropping it, also while a panic
/// unwinds, restores the terminal.
pub struct Cbreak {
    before: Termios,
    during: Termios,
}

impl std::fmt::Debug for Cbreak {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cbreak").finish_non_exhaustive()
    }
}

impl Cbreak {
    /// None if the terminal does not support it.
    pub fn begin() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut during = before.clone();
        during.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        during.special_codes[SpecialCodeIndex::VMIN] = 1;
        during.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Input from before this refers to nothing on the screen, and is discarded.
        tcsetattr(stdin(), OptionalActions::Flush, &during).ok()?;
        Some(Self { before, during })
    }

    /// A shell takes the terminal back while a process is stopped, as by Ctrl-Z.
    pub fn take_again_after_a_stop(self: &Arc<Self>) {
        let Ok(mut continued) = signal(SignalKind::from_raw(SIGCONT)) else { return };
        let terminal = Arc::downgrade(self);
        tokio::spawn(async move {
            while continued.recv().await.is_some() {
                let Some(terminal) = terminal.upgrade() else { return };
                // Without it, typing still works, line by line.
                let _ = tcsetattr(stdin(), OptionalActions::Flush, &terminal.during);
            }
        });
    }
}

impl Drop for Cbreak {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
