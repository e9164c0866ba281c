//! The terminal key by key. A terminal usually passes a line on at Enter, and then it cannot be
//! told what stood on the screen when the line was begun.

use std::io::stdin;
use std::sync::Arc;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::signal::unix::{SignalKind, signal};

/// Of Linux. Other systems have other numbers for "continue".
#[cfg(target_os = "linux")]
const SIGCONT: i32 = 18;
#[cfg(not(target_os = "linux"))]
const SIGCONT: i32 = 19;

/// While it lives, keys are passed on at once and are not echoed. Dropping it, also while a panic
/// unwinds, puts the terminal back as it was.
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
    /// None for a terminal that cannot do this.
    pub fn begin() -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut during = before.clone();
        during.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        during.special_codes[SpecialCodeIndex::VMIN] = 1;
        during.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before this is about nothing that we have shown: it is thrown away.
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
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
