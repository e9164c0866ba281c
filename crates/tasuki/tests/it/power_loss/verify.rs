//! Checks of many images whether they still hold everything acknowledged.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::{env, fmt, thread};

use super::disk::Disk;
use super::images::{Mode, Traits};
use super::log::{FileId, Log, NameChange, Operation, SyncTarget};
use super::random::Random;
use super::record::monotonic_ns;

/// Something that the recorded process confirmed, with the time at which the client knew.
#[derive(Debug, Clone)]
pub struct Ack<T> {
    pub at_ns: u64,
    pub what: T,
}

impl<T> Ack<T> {
    /// To be called when the answer has been read.
    pub fn received(what: T) -> Self {
        Self { at_ns: monotonic_ns(), what }
    }
}

/// Where the power fails and what happens to the rest: enough to rebuild one image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// The first entry of the log that does not happen.
    pub at: usize,
    pub mode: Mode,
    pub seed: u64,
}

#[derive(Debug, Default)]
pub struct Report {
    pub seed: u64,
    pub n_images: usize,
    pub failures: Vec<Failure>,
    pub reached: Reached,
}

#[derive(Debug)]
pub struct Failure {
    pub cut: Cut,
    pub n_acks: usize,
    pub message: String,
}

/// In how many images each situation occurred. A run that never reached one has not tested it.
#[derive(Debug, Default)]
pub struct Reached {
    pub torn: usize,
    pub lost_writes: usize,
    pub lost_names: usize,
    pub wal_commit: usize,
    pub checkpoint: usize,
    pub with_acks: usize,
    /// For each file, the images in which it had unsynced changes.
    pub unsynced: BTreeMap<PathBuf, usize>,
}

/// Builds `n_images` images of power cuts all over the log, and runs `check` in each with the
/// acknowledgements that the client held before the cut. `check` owns its image and may change it.
pub fn check_images<T: Clone + Sync>(
    log: &Log,
    acks: &[Ack<T>],
    n_images: usize,
    seed: u64,
    check: impl Fn(&Path, &[Ack<T>]) -> Result<(), String> + Sync,
) -> Report {
    let mut acks = acks.to_vec();
    acks.sort_by_key(|ack| ack.at_ns);
    let cuts = plan(log, &acks, n_images, seed);
    let n_workers = thread::available_parallelism().map_or(1, usize::from).min(n_images.max(1));
    let mut report = Report { seed, ..Report::default() };
    thread::scope(|scope| {
        let (cuts, acks, check) = (&cuts, &acks, &check);
        let workers: Vec<_> = (0..n_workers)
            .map(|first| {
                let share = cuts.iter().skip(first).step_by(n_workers);
                scope.spawn(move || check_share(log, acks, share, check))
            })
            .collect();
        for worker in workers {
            match worker.join() {
                Ok(part) => report.add(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    report.failures.sort_by_key(|failure| failure.cut.at);
    report
}

/// Cuts spread evenly over the log. Some instead fall on the first entry after an acknowledgement,
/// where a promise is youngest, and every third just before a sync, where most is at stake: of all
/// files in turns, so that those that are rarely written have theirs too.
fn plan<T>(log: &Log, acks: &[Ack<T>], n_images: usize, seed: u64) -> Vec<Cut> {
    const MODES: [Mode; 4] =
        [Mode::NothingUnsynced, Mode::RandomSectors, Mode::TornPrefix, Mode::EverythingUnsynced];
    let mut random = Random::from_seed(seed);
    let n_places = log.entries.len() + 1;
    let syncs = syncs_in_turns(log, n_images / 3);
    let mut cuts: Vec<Cut> = (0..n_images)
        .map(|nth| {
            let (from, to) = (nth * n_places / n_images, (nth + 1) * n_places / n_images);
            let anywhere = from + random.below((to - from).max(1));
            let before_sync = if nth % 3 == 2 { syncs.get(nth / 3) } else { None };
            let at = if let Some(sync) = before_sync {
                *sync
            } else if !acks.is_empty() && random.happens(25) {
                let ack = acks[random.below(acks.len())].at_ns;
                log.entries.partition_point(|entry| entry.at_ns <= ack)
            } else {
                anywhere
            };
            Cut { at, mode: MODES[nth % MODES.len()], seed: random.draw() }
        })
        .collect();
    cuts.sort_by_key(|cut| cut.at);
    cuts
}

/// Where syncs of files start, at most `limit`: the last of each name, the last but one, and so on.
fn syncs_in_turns(log: &Log, limit: usize) -> Vec<usize> {
    let mut names: HashMap<FileId, &Path> = HashMap::new();
    let mut syncs: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
    for (index, entry) in log.entries.iter().enumerate() {
        match &entry.operation {
            Operation::Name(NameChange::Create { path, file }) => {
                names.insert(*file, path);
            }
            Operation::SyncStarted { target: SyncTarget::File(file), .. } => {
                let name = names.get(file).expect("a file has a name before it is synced");
                syncs.entry(name).or_default().push(index);
            }
            Operation::Name(_)
            | Operation::Contents { .. }
            | Operation::SyncStarted { .. }
            | Operation::SyncEnded { .. } => {}
        }
    }
    let mut turns = Vec::new();
    while turns.len() < limit && !syncs.is_empty() {
        turns.extend(syncs.values_mut().filter_map(Vec::pop));
        syncs.retain(|_, left| !left.is_empty());
    }
    turns.truncate(limit);
    turns
}

/// One worker's cuts, in ascending order, so that its disk only moves forward.
fn check_share<'cuts, T>(
    log: &Log,
    acks: &[Ack<T>],
    cuts: impl Iterator<Item = &'cuts Cut>,
    check: &impl Fn(&Path, &[Ack<T>]) -> Result<(), String>,
) -> Report {
    let place = tempfile::tempdir_in(fast_directory()).expect("there is room for one image");
    let directory = place.path().join("image");
    let mut disk = Disk::empty(log);
    let mut report = Report::default();
    for cut in cuts {
        disk.advance_to(cut.at);
        let image = disk.image(cut.mode, cut.seed);
        image.write(&directory).expect("there is room for one image");
        let cut_ns = log.entries.get(cut.at).map_or(u64::MAX, |entry| entry.at_ns);
        let held = &acks[..acks.partition_point(|ack| ack.at_ns < cut_ns)];
        if let Err(message) = check(&directory, held) {
            report.failures.push(Failure { cut: *cut, n_acks: held.len(), message });
        }
        report.n_images += 1;
        report.reached.with_acks += usize::from(!held.is_empty());
        report.reached.count(&image.traits);
    }
    report
}

/// Memory if there is enough, so that what the check syncs need not reach a disk.
fn fast_directory() -> PathBuf {
    /// For one image and what its check writes, on each core. Containers often have 64 MiB.
    const ENOUGH_BYTES: u64 = 1 << 30;
    let memory = Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(memory)
        .is_ok_and(|status| status.f_bavail * status.f_frsize >= ENOUGH_BYTES);
    let is_usable = has_room && tempfile::tempdir_in(memory).is_ok();
    if is_usable { memory.to_owned() } else { env::temp_dir() }
}

impl Reached {
    fn count(&mut self, traits: &Traits) {
        self.torn += usize::from(traits.is_torn);
        self.lost_writes += usize::from(traits.has_lost_writes);
        self.lost_names += usize::from(traits.has_lost_names);
        self.wal_commit += usize::from(traits.is_in_wal_commit);
        self.checkpoint += usize::from(traits.is_in_checkpoint);
        for path in &traits.unsynced {
            *self.unsynced.entry(path.clone()).or_default() += 1;
        }
    }
}

impl Report {
    fn add(&mut self, part: Report) {
        self.n_images += part.n_images;
        self.failures.extend(part.failures);
        let (total, more) = (&mut self.reached, part.reached);
        total.torn += more.torn;
        total.lost_writes += more.lost_writes;
        total.lost_names += more.lost_names;
        total.wal_commit += more.wal_commit;
        total.checkpoint += more.checkpoint;
        total.with_acks += more.with_acks;
        for (path, n_images) in more.unsynced {
            *total.unsynced.entry(path).or_default() += n_images;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { seed, n_images, failures, reached } = self;
        writeln!(f, "{n_images} images from seed {seed}: {} failed", failures.len())?;
        writeln!(f, "{reached:?}")?;
        for Failure { cut, n_acks, message } in failures.iter().take(10) {
            writeln!(f, "{cut:?} with {n_acks} acks: {message}")?;
        }
        Ok(())
    }
}
