//! Neighbours that do ordinary work, as many requests a second as the attackers got admitted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;

use super::super::load::{now, sleep};
use super::attack::Counts;
use super::routine::Routine;
use super::stage::Team;
use super::wire::{Side, Wire};

/// Connections: one for each token of a teamspace.
const CALLERS: usize = 100;

/// The resolution of the timer.
const TICK: Duration = Duration::from_millis(1);

/// Works until it is dropped.
pub async fn run(address: SocketAddr, team: Arc<Team>, per_second: f64, counts: Arc<Counts>) {
    let mut running = JoinSet::new();
    let pause = CALLERS as f64 / per_second.max(1.0);
    for number in 0..CALLERS {
        let (team, counts) = (Arc::clone(&team), Arc::clone(&counts));
        running.spawn(async move {
            let mut wire = Wire::new(address, Side::Beside);
            let mut routine = Routine::new(&team, number);
            let started = now();
            // Spread over the pause, as independent callers are.
            let offset = number as f64 / CALLERS as f64;
            for n_asked in 0_u64.. {
                let due = Duration::from_secs_f64((n_asked as f64 + offset) * pause);
                let early = due.saturating_sub(started.elapsed());
                if early > TICK {
                    sleep(early).await;
                }
                let answer = wire.ask(&routine.next_request()).await;
                let count = match &answer {
                    Ok(answer) if answer.is_success() => &counts.admitted,
                    Ok(_) => &counts.refused,
                    Err(_) => &counts.cut_off,
                };
                count.fetch_add(1, Ordering::Relaxed);
                if let Ok(answer) = answer {
                    routine.note(&answer);
                }
            }
        });
    }
    while running.join_next().await.is_some() {}
}
