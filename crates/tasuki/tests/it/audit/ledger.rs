//! One small ledger, made through the engine: two teamspaces, handoffs with every ending, sealed
//! three times. It is made once and copied for each test.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use adapters::audit_log;
use adapters::audit_log::log::Log;
use adapters::checkpoint_file::{CheckpointFiles, LOG_FILE, NEWEST_FILE};
use adapters::ledger_key::{self, KEY_FILE, PUBLIC_FILE};
use engine::Engine;
use engine::ledger::seal::Sealer;
use engine::ports::clock::ManualClock;
use engine::ports::ids::SeededIds;
use protocol::agent::{self, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::handoff::command::Reject;
use protocol::handoff::completion::Completion;
use protocol::handoff::{self, RejectReason};
use protocol::ids::{HandoffId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::row_mac::RowKey;
use protocol::step::Command;
use protocol::time::{Span, Time};
use protocol::token;
use serde_json::json;
use store::Sqlite;
use store::sqlite::FILE_NAME;
use tasuki::audit::{Options, Report, Source, verify};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// An engine on a data folder, with the followers of the audit log beside it.
pub struct Server {
    pub folder: PathBuf,
    pub engine: Engine,
    pub clock: Arc<ManualClock>,
    key: u8,
    stop: watch::Sender<bool>,
    followers: Vec<JoinHandle<()>>,
}

impl Server {
    pub fn start(folder: &Path, seed: u64) -> Self {
        Self::start_with_key(folder, seed, 42)
    }

    fn start_with_key(folder: &Path, seed: u64, key: u8) -> Self {
        let clock = Arc::new(ManualClock::starting_at(Time::from_millis(1_771_682_400_000)));
        let store = Arc::new(Sqlite::open(folder).unwrap());
        let engine = Engine::new(store, Arc::clone(&clock) as _, Arc::new(SeededIds::new(seed)))
            .authenticating_rows_with(RowKey::from_seed(&[key; 32]));
        let (stop, stopped) = watch::channel(false);
        let follow = |log| audit_log::run(engine.clone(), folder.to_owned(), log, stopped.clone());
        let followers = Log::ALL.map(|log| tokio::spawn(follow(log))).into();
        Self { folder: folder.to_owned(), engine, clock, key, stop, followers }
    }

    /// Seals all entries so far.
    pub async fn seal(&self) {
        let signer = ledger_key::open(&self.folder, || [self.key; 32]).unwrap();
        ledger_key::mark_rows_signed(&self.folder).unwrap();
        let files = Arc::new(CheckpointFiles::open(&self.folder).unwrap());
        let mut sealer = Sealer::resume(self.engine.clone(), signer, files).await.unwrap();
        sealer.drain().await.unwrap();
        sealer.seal().await.unwrap();
    }

    /// Lets the followers finish, and closes the database.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for follower in self.followers {
            follower.await.unwrap();
        }
    }

    pub async fn submit(&self, caller: &Caller, subject: Subject, command: Command) {
        let stream = Stream { teamspace: caller.teamspace.clone(), subject };
        self.engine.submit(caller, stream, command, None).await.unwrap();
        self.clock.advance(Span::from_millis(1_000));
    }

    pub async fn handoff(&self, caller: &Caller, id: HandoffId, command: handoff::Command) {
        self.submit(caller, Subject::Handoff(id), Command::Handoff(command)).await;
    }

    pub async fn register(&self, operator: &Caller, name: &str) {
        let profile = Profile { name: name.to_owned(), ..Profile::default() };
        let register = agent::Command::Register { kind: Kind::Worker, profile };
        let subject = Subject::Agent(name.parse().unwrap());
        self.submit(operator, subject, Command::Agent(register)).await;
    }

    pub async fn initiate(&self, from: &Caller, task: &str) -> HandoffId {
        let id = self.engine.new_handoff_id();
        let offer = Some(Box::new(offer(task)));
        self.handoff(from, id, handoff::Command::Initiate { offer }).await;
        id
    }
}

pub fn caller(teamspace: &str, principal: &str) -> Caller {
    let (kind, name) = principal.split_once(':').unwrap();
    let name = name.parse().unwrap();
    Caller {
        teamspace: teamspace.parse().unwrap(),
        principal: match kind {
            "agent" => Principal::Agent(name),
            _ => Principal::Operator(name),
        },
        roles: BTreeSet::new(),
        session: "session-1".to_owned(),
    }
}

/// An offer that is complete, from tim to barry.
pub fn offer(task: &str) -> handoff::Offer {
    serde_json::from_value(json!({
        "to_agent": "barry",
        "task": {
            "task_id": task,
            "title": format!("Review {task}"),
            "success_criteria": ["tests pass"],
        },
        "context": { "summary": "Half of it is done." },
        "work_state": { "next_step": "Read the \"second\" half." },
        "reason": "barry knows the tests",
    }))
    .unwrap()
}

/// A fresh copy of the ledger.
pub fn copy() -> TempDir {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| made(Story::default()));
    let folder = tempfile::tempdir().unwrap();
    copy_folder(made.path(), folder.path());
    folder
}

/// The ledger that an attacker without the key can put in place of the real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// One entry is different, and all that follows is recomputed.
    OtherDetail,
    /// The last entries never happened.
    CutShort,
    /// All of it happened to another agent, and all files are replaced, the key too.
    OtherKey,
}

/// A ledger that is consistent in itself, with the checkpoints and the key of the real one. Its
/// rows pass for those of an older release, which are not signed.
pub fn forged(forgery: Forgery) -> TempDir {
    let story = Story { key: 43, ..Story::default() };
    let forged = match forgery {
        Forgery::OtherDetail => made(Story { detail: "no time this month", ..story }),
        Forgery::CutShort => made(Story { is_cut_short: true, ..story }),
        Forgery::OtherKey => return made(Story { seed: 2, ..story }),
    };
    let real = copy();
    for name in [KEY_FILE, PUBLIC_FILE, NEWEST_FILE, LOG_FILE] {
        fs::copy(real.path().join(name), forged.path().join(name)).unwrap();
    }
    fs::write(forged.path().join(KEY_FILE), seed_of(forged.path())).unwrap();
    let database = rusqlite::Connection::open(forged.path().join(FILE_NAME)).unwrap();
    database.execute_batch(include_str!("unsigned.sql")).unwrap();
    forged
}

/// The seed of a folder's key, which is all that the file of an older release has.
pub fn seed_of(folder: &Path) -> String {
    let line = fs::read_to_string(folder.join(KEY_FILE)).unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

/// The differences between one ledger and another.
#[derive(Debug, Clone, Copy)]
struct Story {
    seed: u64,
    key: u8,
    detail: &'static str,
    is_cut_short: bool,
}

impl Default for Story {
    fn default() -> Self {
        Self { seed: 1, key: 42, detail: "no time this week", is_cut_short: false }
    }
}

fn made(story: Story) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    // A test has a runtime of its own, and one cannot run inside another.
    let make = move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(make(&path, story));
    };
    std::thread::spawn(make).join().unwrap();
    folder
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

async fn make(folder: &Path, story: Story) {
    let server = Server::start_with_key(folder, story.seed, story.key);
    for teamspace in ["default", "other"] {
        let operator = caller(teamspace, "operator:root");
        server.register(&operator, "tim").await;
        server.register(&operator, "barry").await;
    }
    let operator = caller("default", "operator:root");
    let token = token::Command::Issue {
        grant: serde_json::from_value(json!({ "bearer": "tim", "bearer_kind": "agent" })).unwrap(),
        secret_hash: "5e".repeat(32),
    };
    let id = server.engine.new_token_id();
    server.submit(&operator, Subject::Token(id), Command::Token(token)).await;
    let (tim, barry) = (caller("default", "agent:tim"), caller("default", "agent:barry"));

    let draft = server.engine.new_handoff_id();
    let drafted = handoff::Command::Draft { offer: Box::new(offer("drafted")) };
    server.handoff(&tim, draft, drafted).await;
    let done = server.initiate(&tim, "done").await;
    server.seal().await;

    server
        .handoff(&barry, done, handoff::Command::Accept(handoff::command::Accept::default()))
        .await;
    let refused = server.initiate(&tim, "refused").await;
    let activate = handoff::Command::Activate { work_state_update: None };
    server.handoff(&barry, done, activate).await;
    let reject = Reject {
        reason: RejectReason::CapacityUnavailable,
        detail: story.detail.to_owned(),
        suggested_fix: None,
    };
    server.handoff(&barry, refused, handoff::Command::Reject(reject)).await;
    let complete = handoff::Command::Complete(Completion {
        notes: Some("all of it".to_owned()),
        ..Completion::default()
    });
    server.handoff(&barry, done, complete).await;
    server.seal().await;

    let (other_tim, other_barry) = (caller("other", "agent:tim"), caller("other", "agent:barry"));
    let elsewhere = server.initiate(&other_tim, "done").await;
    server
        .handoff(
            &other_barry,
            elsewhere,
            handoff::Command::Accept(handoff::command::Accept::default()),
        )
        .await;
    server.handoff(&tim, done, handoff::Command::Close { closure_notes: None }).await;
    if story.is_cut_short {
        server.seal().await;
        return server.stop().await;
    }
    server.initiate(&tim, "late").await;
    server.clock.advance(Span::from_minutes(6));
    server.engine.fire_due_deadlines().await.unwrap();
    server.seal().await;
    // Not sealed any more when the server stopped.
    let initiate = handoff::Command::Initiate { offer: None };
    server.handoff(&tim, draft, initiate).await;
    server.stop().await;
}

/// The report on a data folder.
pub fn report(folder: &Path) -> Report {
    report_with(folder, &Options::default())
}

pub fn report_with(folder: &Path, options: &Options) -> Report {
    verify(&Source::Data(folder.to_owned()), options, &mut |_, _| {}).unwrap()
}

pub fn findings(report: &Report) -> String {
    let lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Each line of `expected` is a finding, with `…` for anything in it and anything after it; in any
/// order, without others.
#[track_caller]
pub fn assert_findings(name: &str, report: &Report, expected: &str) {
    let expected: Vec<&str> = expected.lines().collect();
    if let Err(difference) = compare(report, &expected) {
        panic!("{name}\n{difference}");
    }
}

pub fn compare(report: &Report, expected: &[&str]) -> Result<(), String> {
    let found = findings(report);
    let fits = |line: &str, expected: &str| {
        let mut parts = expected.split('…');
        let first = parts.next().unwrap_or_default();
        let rest = line.strip_prefix(first);
        rest.is_some_and(|rest| parts.all(|part| rest.contains(part)))
    };
    let is_same = !report.is_sound()
        && found.lines().count() == expected.len()
        && expected.iter().all(|expected| found.lines().any(|line| fits(line, expected)))
        && found.lines().all(|line| expected.iter().any(|expected| fits(line, expected)));
    if is_same {
        return Ok(());
    }
    Err(format!("expected:\n{}\nfound:\n{found}", expected.join("\n")))
}

pub fn lines_path(folder: &Path, teamspace: &str) -> PathBuf {
    let teamspace: TeamspaceId = teamspace.parse().unwrap();
    audit_log::files::lines_path(folder, &teamspace)
}
