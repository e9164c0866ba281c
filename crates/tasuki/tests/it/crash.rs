//! The server is killed in the middle of its work, again and again, and restarted on its folder.
//! Nothing acknowledged is missing, nothing is done twice, and the record is whole.
//!
//! A kill does not lose the page cache; `power_loss` covers that.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::ledger::{self, Ledger, Verdict};
use crate::load::{Load, Repeat, Repeated, Tokens, WRITERS};
use crate::power_loss::Random;
use crate::server::{Server, is_full_run, seed};

/// Kills of one folder. After each the whole ledger is verified, so a longer life would mostly be
/// spent on that.
const KILLS_PER_FOLDER: usize = 6;

/// The situations that occurred. Unexpected zeros would mean that nothing was tested.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    acknowledged: usize,
    unanswered: usize,
    committed_unanswered: usize,
    killed_while_starting: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_has_lost_nothing_it_acknowledged() {
    let n_kills = if is_full_run() { 200 } else { 12 };
    let seed = seed("crash");
    let mut random = Random::from_seed(seed);
    let mut tally = Tally::default();
    while tally.kills < n_kills {
        let left = n_kills - tally.kills;
        live_and_die(&mut random, left.min(KILLS_PER_FOLDER), &mut tally).await;
        println!("{tally:?}");
    }
    assert!(tally.acknowledged > 20 * n_kills, "{tally:?}");
    assert!(tally.committed_unanswered > n_kills / 4, "{tally:?}");
    assert!(tally.unanswered > tally.committed_unanswered, "{tally:?}");
}

/// One folder, killed `n_kills` times under load.
async fn live_and_die(random: &mut Random, n_kills: usize, tally: &mut Tally) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let mut server = Server::start_on(&data, |_| {});
    let tokens = Tokens::make(&server);
    let mut load = Load::new("crash", WRITERS, random.draw());
    for _ in 0..n_kills {
        kill_under_load(&server, &mut load, &tokens, random).await;
        tally.kills += 1;
        let left = Ledger::read(&data).expect("what is left can be read");
        check_promises(&left, &load).expect("nothing is lost");
        left.check_recorded_lines(&data).expect("the audit log is a beginning");
        if random.happens(25) {
            kill_while_starting(&data, random);
            tally.killed_while_starting += 1;
        }
        server = Server::start_on(&data, |_| {});
        let repeated = load.repeat(&tokens.crew(&server)).await;
        let now = ledger::until_lines(&data).await;
        for one in &repeated {
            tally.unanswered += 1;
            tally.committed_unanswered += usize::from(left.effect_of(&one.request).is_some());
            check_repeated(one, &left, &now);
        }
        check_promises(&now, &load).expect("nothing is lost or doubled");
        ledger::audit(&data).expect("the record is whole");
    }
    tally.acknowledged += load.acks.count();
}

/// Kills after a random number of acknowledgements, plus a random delay, so that not every kill
/// comes right after an answer.
async fn kill_under_load(server: &Server, load: &mut Load, tokens: &Tokens, random: &mut Random) {
    let acks = load.acks.clone();
    let n_more = 1 + random.below(400);
    let pause = Duration::from_micros(random.below(6_000) as u64);
    let kill = async {
        acks.until(acks.count() + n_more).await;
        std::thread::park_timeout(pause);
        server.kill();
    };
    let crew = tokens.crew(server);
    tokio::join!(load.run(&crew, usize::MAX), kill);
}

/// A start that is killed; the next start repeats its work.
fn kill_while_starting(data: &Path, random: &mut Random) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the executable starts");
    std::thread::park_timeout(Duration::from_micros(random.below(60_000) as u64));
    child.kill().expect("it still runs, or has ended by itself");
    child.wait().expect("it was killed");
}

fn check_promises(ledger: &Ledger, load: &Load) -> Verdict {
    let acks = load.acks.all();
    ledger.check_acknowledged(acks.iter().map(|ack| &ack.what))?;
    ledger.check_single_effects()?;
    ledger.check_one_active()
}

/// A request that took effect before the kill is answered with that effect, and has no other.
fn check_repeated(Repeated { request, answer }: &Repeated, before: &Ledger, now: &Ledger) {
    match (before.effect_of(request), answer) {
        (Some(handoff), Repeat::Confirmed(transition)) => {
            assert_eq!(transition.handoff, handoff, "{request:?}");
            assert_eq!(transition.position, before.length_of(handoff), "{request:?}");
            assert_eq!(now.length_of(handoff), before.length_of(handoff), "{request:?}");
        }
        (None, Repeat::Confirmed(transition)) => {
            assert_eq!(transition.position, now.length_of(&transition.handoff), "{request:?}");
        }
        (None, Repeat::Refused) => assert_eq!(request.handoff, None, "{request:?}"),
        (Some(_), Repeat::Refused) | (_, Repeat::FailedAgain) => panic!("{request:?}: {answer:?}"),
    }
}
