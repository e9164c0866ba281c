//! A timer that a connection sets again for every request.
//!
//! Starting a timer adds it to a list that all threads share, under a lock, and dropping it removes
//! it again. Waits for requests hardly ever time out, and each deadline is later than the one
//! before. A timer that is kept and reset pays for the list once.
//!
//! A timer that is no longer awaited may still wake its task once, without effect.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;

/// Keeps a timer between two waits. Waits that overlap get one each.
#[derive(Default)]
pub(super) struct SpareSleep(Mutex<Option<Pin<Box<dyn Sleep>>>>);

impl SpareSleep {
    pub(super) fn sleep(self: &Arc<Self>, time: Duration) -> LentSleep {
        self.sleep_until(TokioTimer::new().now() + time)
    }

    pub(super) fn sleep_until(self: &Arc<Self>, deadline: Instant) -> LentSleep {
        let sleep = match self.kept().take() {
            Some(mut kept) => {
                TokioTimer::new().reset(&mut kept, deadline);
                kept
            }
            None => TokioTimer::new().sleep_until(deadline),
        };
        LentSleep { sleep: Some(sleep), owner: Arc::clone(self) }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Pin<Box<dyn Sleep>>>> {
        self.0.lock().expect("nothing panics while it is locked")
    }
}

impl std::fmt::Debug for SpareSleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpareSleep").finish_non_exhaustive()
    }
}

/// A wait. Its timer goes back to its owner when it is dropped.
pub(super) struct LentSleep {
    /// `None` only while being dropped.
    sleep: Option<Pin<Box<dyn Sleep>>>,
    owner: Arc<SpareSleep>,
}

impl LentSleep {
    /// Waits this long from now instead.
    pub(super) fn restart(&mut self, time: Duration) {
        let timer = TokioTimer::new();
        timer.reset(self.lent(), timer.now() + time);
    }

    fn lent(&mut self) -> &mut Pin<Box<dyn Sleep>> {
        self.sleep.as_mut().expect("it is lent until the drop")
    }
}

impl Future for LentSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.lent().as_mut().poll(context)
    }
}

impl Drop for LentSleep {
    fn drop(&mut self) {
        *self.owner.kept() = self.sleep.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_wait_lasts_as_long_as_it_was_set_for_whatever_came_before() {
        let spare = Arc::new(SpareSleep::default());
        let timer = TokioTimer::new();
        // Dropped before it was polled, dropped while waiting, and completed.
        drop(spare.sleep(LONG));
        assert!(tokio::time::timeout(SHORT, spare.sleep(LONG)).await.is_err());
        for _ in 0..2 {
            let began = timer.now();
            tokio::time::timeout(LONG / 2, spare.sleep(SHORT)).await.expect("the short wait");
            assert!(began.elapsed() >= SHORT);
        }
        // Reset to a later time, and to an earlier one again.
        let mut wait = spare.sleep(SHORT);
        wait.restart(LONG);
        assert!(tokio::time::timeout(SHORT * 3, &mut wait).await.is_err());
        wait.restart(SHORT);
        tokio::time::timeout(LONG / 2, wait).await.expect("the short wait");
    }

    #[tokio::test]
    async fn waits_that_overlap_do_not_disturb_each_other() {
        let spare = Arc::new(SpareSleep::default());
        let (mut long, short) = (spare.sleep(LONG), spare.sleep(SHORT));
        tokio::time::timeout(LONG / 2, short).await.expect("the short wait");
        assert!(tokio::time::timeout(SHORT, &mut long).await.is_err());
    }
}
