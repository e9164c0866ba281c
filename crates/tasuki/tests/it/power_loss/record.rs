//! Runs a process under the recorder: compiles the C sources and prepares the command.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, process};

/// Prepares `command` so that every change it makes below `root` is appended to `log`. The first
/// recording must start on an empty `root`; a later one may continue the same log, provided that
/// the process before it was idle when it was killed.
///
/// Recorded are calls through libc. `rustix` makes raw system calls, which nothing can preload:
/// the files that matter must be written through `std::fs`.
pub fn record(command: &mut Command, root: &Path, log: &Path) {
    static RECORDER: OnceLock<PathBuf> = OnceLock::new();
    let recorder = RECORDER
        .get_or_init(|| compile("recorder.c", include_str!("recorder.c"), &["-shared", "-fPIC"]));
    fs::create_dir_all(root).expect("the recorded directory can be created");
    let root = root.canonicalize().expect("the recorded directory exists");
    let is_empty = fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_none());
    assert!(is_empty || log.exists(), "{} has a past that no log tells", root.display());
    assert!(!log.starts_with(&root), "the log must lie outside the directory it records");
    command
        .env("LD_PRELOAD", recorder)
        .env("TASUKI_RECORD_ROOT", root)
        .env("TASUKI_RECORD_LOG", log);
}

/// Compiles one C file with `cc` and returns the result's path below the target directory.
pub fn compile(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("power_loss");
    fs::create_dir_all(&directory).expect("the target directory is writable");
    let unique = format!("{name}.{}", process::id());
    let (input, output) = (directory.join(&unique), directory.join(unique + ".out"));
    fs::write(&input, source).expect("the target directory is writable");
    let compiled = Command::new("cc")
        .args(["-O2", "-U_FORTIFY_SOURCE", "-Wall", "-pthread", "-x", "c"])
        .args(flags)
        .arg("-o")
        .args([&output, &input])
        .output()
        .expect("a C compiler is installed as `cc`");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // Renamed into place: another test process may be running the previous one.
    let finished = directory.join(name).with_extension("compiled");
    fs::rename(&output, &finished).expect("both names are in one directory");
    fs::remove_file(&input).expect("it was written above");
    finished
}

/// The clock that the recorder stamps its records with.
pub fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).expect("the clock started at boot");
    let nanoseconds = u64::try_from(time.tv_nsec).expect("the clock started at boot");
    seconds * 1_000_000_000 + nanoseconds
}
