//! Files below a root, next to a folder with a secret that no path, link or race may reach.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use thread_priority::unix::{
    NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy,
};

use super::super::files::{FileProgress, Way};
use super::*;

const OUTSIDE: &str = "forbidden: it is not below a folder that may be looked into";
const NO_FILE: &str = "missing: there is no such file";
const NOT_REGULAR: &str = "missing: not a regular file";
const CHANGED: &str = "mismatch: changed while it was read";

const HELLO: &[u8] = b"hello";
const SECRET: &[u8] = b"secret";

#[tokio::test]
async fn a_file_is_what_the_package_says_or_not() {
    let ground = Ground::new();
    let (right, wrong) = (sha256(HELLO), sha256(SECRET));
    let other_digest = format!("mismatch: its sha256 is {right}, the package says {wrong}");
    let odd_digest = format!("mismatch: its sha256 is {right}, the package says \u{fffd}[2J");
    let rows = [
        (None, None, "verified 5"),
        (Some(right.as_str()), Some(5), "verified 5"),
        (Some(&right), Some(6), "mismatch: it has 5 bytes, the package says 6"),
        (Some(&wrong), Some(5), &other_digest),
        (Some(&wrong), None, &other_digest),
        (Some("\u{1b}[2J"), None, &odd_digest),
    ];
    for way in [Way::Kernel, Way::Steps] {
        for (sha256, size_bytes, expected) in rows {
            let mut artifact = ground.file("folder/hello");
            artifact.reference.sha256 = sha256.map(str::to_owned);
            artifact.reference.size_bytes = size_bytes;
            let finding = look(&ground.artifacts(way), artifact).await;
            assert_eq!(shown(&finding), expected, "{way:?}");
            if let Finding::Verified { sha256, .. } = finding {
                assert_eq!(sha256, right);
            }
        }
    }
    let finding = look(&ground.artifacts(Way::Kernel), ground.file("large")).await;
    let expected = Finding::Verified { sha256: sha256(&large()), size_bytes: 9_000_001 };
    assert_eq!(finding, expected);
}

#[tokio::test]
async fn no_path_leads_out() {
    let ground = Ground::new();
    let base = ground.base();
    let rows = [
        ("{root}/folder/hello", "verified 5", "verified 5"),
        ("{root}//folder/./hello", "verified 5", "verified 5"),
        ("{root}/folder/gone", NO_FILE, NO_FILE),
        ("{root}/gone/gone", NO_FILE, NO_FILE),
        ("{root}/folder/hello/deeper", NO_FILE, NO_FILE),
        ("{root}", NOT_REGULAR, NOT_REGULAR),
        ("{root}/", NOT_REGULAR, NOT_REGULAR),
        ("{root}/folder", NOT_REGULAR, NOT_REGULAR),
        ("{root}/../root/folder/hello", OUTSIDE, OUTSIDE),
        ("{root}/folder/../../outside/secret", OUTSIDE, OUTSIDE),
        ("{root}/folder/../hello", OUTSIDE, OUTSIDE),
        ("{base}/outside/secret", OUTSIDE, OUTSIDE),
        ("{base}/outside/gone", OUTSIDE, OUTSIDE),
        ("{base}/rootless", OUTSIDE, OUTSIDE),
        ("{base}", OUTSIDE, OUTSIDE),
        ("/etc/passwd", OUTSIDE, OUTSIDE),
        ("/gone", OUTSIDE, OUTSIDE),
        ("/", OUTSIDE, OUTSIDE),
        ("", OUTSIDE, OUTSIDE),
        ("folder/hello", OUTSIDE, OUTSIDE),
        ("./folder/hello", OUTSIDE, OUTSIDE),
        ("file://{root}/folder/hello", OUTSIDE, OUTSIDE),
        ("{root}/folder/hello\0", OUTSIDE, OUTSIDE),
        ("{root}/folder/hello\0/../secret", OUTSIDE, OUTSIDE),
        // Links within the root are followed by the kernel only.
        ("{root}/link-within", "verified 5", OUTSIDE),
        ("{root}/folder-link/hello", "verified 5", OUTSIDE),
        ("{root}/folder/up/folder/hello", "verified 5", OUTSIDE),
        ("{root}/link-to-nothing", NO_FILE, OUTSIDE),
        ("{root}/link-out", OUTSIDE, OUTSIDE),
        ("{root}/link-out-to-nothing", OUTSIDE, OUTSIDE),
        ("{root}/link-out-and-back", OUTSIDE, OUTSIDE),
        ("{root}/link-absolute", OUTSIDE, OUTSIDE),
        ("{root}/link-absolute-within", OUTSIDE, OUTSIDE),
        ("{root}/link-loop", OUTSIDE, OUTSIDE),
        ("{root}/folder-out/secret", OUTSIDE, OUTSIDE),
        ("{root}/folder-out/gone", OUTSIDE, OUTSIDE),
        ("{root}/folder-absolute/secret", OUTSIDE, OUTSIDE),
    ];
    for (path, by_kernel, by_steps) in rows {
        let path = path.replace("{root}", &format!("{base}/root")).replace("{base}", base);
        for (way, expected) in [(Way::Kernel, by_kernel), (Way::Steps, by_steps)] {
            let finding = look(&ground.artifacts(way), artifact(ArtifactKind::File, &path)).await;
            assert_eq!(shown(&finding), expected, "{way:?} {path:?}");
        }
    }
}

#[tokio::test]
async fn a_root_may_lie_in_another_one() {
    let ground = Ground::new();
    // `folder-out` leads out of the outer root, but the operator made it a root itself.
    let roots = vec![ground.path("root"), ground.path("root/folder-out")];
    let artifacts = Artifacts::new(Settings { roots, ..Settings::default() }).unwrap();
    for (name, expected) in [("folder-out/secret", "verified 6"), ("folder/hello", "verified 5")] {
        assert_eq!(shown(&look(&artifacts, ground.file(name)).await), expected, "{name}");
    }
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_not_opened() {
    let ground = Ground::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, ground.path("root/pipe"), FileType::Fifo, mode, 0).unwrap();
    let _listener = UnixListener::bind(ground.path("root/socket")).unwrap();
    for way in [Way::Kernel, Way::Steps] {
        let artifacts = ground.artifacts(way);
        for name in ["pipe", "socket", "folder"] {
            let finding = look(&artifacts, ground.file(name)).await;
            assert_eq!(shown(&finding), NOT_REGULAR, "{way:?} {name}");
        }
        let devices = Settings { roots: vec!["/dev".into()], ..Settings::default() };
        let devices = artifacts_in(devices, way);
        for path in ["/dev/zero", "/dev/null", "/dev/tty"] {
            let finding = look(&devices, artifact(ArtifactKind::File, path)).await;
            assert_eq!(shown(&finding), NOT_REGULAR, "{way:?} {path}");
        }
    }
    // The links of `/proc` lead to whatever is open, wherever it is.
    let processes = Settings { roots: vec!["/proc".into()], ..Settings::default() };
    let processes = artifacts_in(processes, Way::Kernel);
    for path in ["/proc/self/root/etc/passwd", "/proc/self/cwd/Cargo.toml", "/proc/self/exe"] {
        let finding = look(&processes, artifact(ArtifactKind::File, path)).await;
        assert_eq!(shown(&finding), OUTSIDE, "{path}");
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_read() {
    let ground = Ground::new();
    let sparse = fs::File::create(ground.path("root/sparse")).unwrap();
    sparse.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let finding = look(&ground.artifacts(Way::Kernel), ground.file("sparse")).await;
    assert_eq!(shown(&finding), "forbidden: it has more than 4294967296 bytes");
    let rows = [(4, "forbidden: it has more than 4 bytes"), (5, "verified 5")];
    for (bytes_max, expected) in rows {
        let settings = Settings { bytes_max, ..ground.settings() };
        let finding = look(&artifacts_in(settings, Way::Kernel), ground.file("folder/hello")).await;
        assert_eq!(shown(&finding), expected);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_missing() {
    let ground = Ground::new();
    let path = ground.path("root/folder/hello");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    let finding = look(&ground.artifacts(Way::Kernel), ground.file("folder/hello")).await;
    assert_eq!(shown(&finding), "missing: the server may not read it");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_no_match() {
    type Change = fn(&fs::File);
    let rows: [(&str, Change, &str); 5] = [
        ("nothing", |_| {}, "verified 9000001"),
        ("grows", |file| file.set_len(9_000_002).unwrap(), CHANGED),
        ("grows without end", |file| file.set_len(1 << 40).unwrap(), CHANGED),
        ("shrinks", |file| file.set_len(5_000_000).unwrap(), CHANGED),
        ("is written to", |file| write_at_start(file), CHANGED),
    ];
    for (what, change, expected) in rows {
        let ground = Ground::new();
        let path = ground.path("root/large");
        let file = fs::File::options().write(true).open(&path).unwrap();
        // Long ago, so that a change now is another time however coarse the clock of the disk is.
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let roots = Roots::open(&[ground.path("root")]).unwrap();
        let mut buffer = vec![0; 256 * 1024];
        let mut progress = roots.begin(path.to_str().unwrap(), u64::MAX).map(FileProgress::More);
        let mut n_slices = 0;
        let finding = loop {
            progress = match progress {
                Ok(FileProgress::More(reading)) => reading.slice(&mut buffer),
                Ok(FileProgress::End(content)) => {
                    let artifact = ground.file("large");
                    break judge(&artifact.reference, &content);
                }
                Err(finding) => break finding,
            };
            n_slices += 1;
            if n_slices == 1 {
                change(&file);
            }
        };
        assert!((2..=10).contains(&n_slices), "{what}: {n_slices} slices");
        assert_eq!(shown(&finding), expected, "{what}");
    }
}

/// An attacker exchanges a file, or its folder, with a link to the secret, as fast as possible. The
/// look is refused or finds the attacker's own file; it never finds the secret.
#[tokio::test]
async fn no_race_leads_out() {
    let inside = Finding::Verified { sha256: sha256(HELLO), size_bytes: 5 };
    let rows = [("folder/secret", "folder", "folder-out"), ("file", "file", "link-out")];
    for way in [Way::Kernel, Way::Steps] {
        for (name, one, other) in rows {
            let ground = Ground::new();
            fs::write(ground.path("root/folder/secret"), HELLO).unwrap();
            fs::write(ground.path("root/file"), HELLO).unwrap();
            let artifacts = ground.artifacts(way);
            let (one, other) = (ground.path("root").join(one), ground.path("root").join(other));
            let is_over = Arc::new(AtomicBool::new(false));
            let racing = std::thread::spawn({
                let is_over = Arc::clone(&is_over);
                move || {
                    while !is_over.load(Ordering::Relaxed) {
                        renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    }
                }
            });
            let (mut n_looks, mut n_inside, mut n_refused) = (0, 0, 0);
            while n_looks < 500 || (n_looks < 50_000 && (n_inside == 0 || n_refused == 0)) {
                n_looks += 1;
                let finding = look(&artifacts, ground.file(name)).await;
                if finding == inside {
                    n_inside += 1;
                } else if matches!(finding, Finding::Verified { .. }) {
                    panic!("{way:?} {name}: {finding:?}");
                } else if shown(&finding) == OUTSIDE {
                    n_refused += 1;
                }
            }
            is_over.store(true, Ordering::Relaxed);
            racing.join().unwrap();
            assert!(n_inside > 0 && n_refused > 0, "{way:?} {name}: {n_inside}, {n_refused}");
        }
    }
}

#[tokio::test]
async fn a_look_that_is_dropped_or_late_lets_go_of_its_file() {
    let ground = Ground::new();
    let sparse = fs::File::create(ground.path("root/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    drop(sparse);
    let settings = Settings { bytes_max: u64::MAX, artifact_ms_max: 50, ..ground.settings() };
    let late = artifacts_in(settings, Way::Kernel);
    let finding = look(&late, ground.file("sparse")).await;
    assert_eq!(shown(&finding), "unavailable: it took more than 50 ms");

    let settings = Settings { bytes_max: u64::MAX, ..ground.settings() };
    let dropped = artifacts_in(settings, Way::Kernel);
    let limit = Duration::from_millis(50);
    let looking = timeout(limit, look(&dropped, ground.file("sparse")));
    assert!(looking.await.is_err(), "a terabyte takes longer");

    for artifacts in [late, dropped] {
        // A running slice has ended when the next one runs.
        artifacts.hashing.run(|_| ()).await.unwrap();
    }
    let sparse = ground.path("root/sparse");
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let is_open = open
        .map(|entry| fs::read_link(entry.path()))
        .any(|path| path.is_ok_and(|path| path == sparse));
    assert!(!is_open, "the file is still open");
}

#[tokio::test]
async fn a_small_file_does_not_wait_for_a_large_one() {
    let ground = Ground::new();
    let sparse = fs::File::create(ground.path("root/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let settings = Settings { bytes_max: u64::MAX, ..ground.settings() };
    let artifacts = artifacts_in(settings, Way::Kernel);
    let finding = tokio::select! {
        biased;
        finding = look(&artifacts, ground.file("sparse")) => finding,
        finding = look(&artifacts, ground.file("folder/hello")) => finding,
    };
    assert_eq!(shown(&finding), "verified 5");
}

#[tokio::test]
async fn the_server_comes_first() {
    let own = thread_schedule_policy().unwrap();
    let hashing = Hashing::start().unwrap();
    let theirs = hashing.run(|_| thread_schedule_policy().unwrap()).await;
    assert_eq!(theirs, Ok(ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle)));
    assert_eq!(thread_schedule_policy().unwrap(), own);
}

#[tokio::test]
async fn a_slice_that_panics_is_one_look_that_fails() {
    let hashing = Hashing::start().unwrap();
    let failed = hashing.run(|_| panic!("on purpose")).await.map(|()| 0);
    let expected = "unavailable: the thread that reads artifacts failed";
    assert_eq!(shown(&failed.unwrap_err()), expected);
    assert_eq!(hashing.run(|_| 1).await, Ok(1));
}

fn write_at_start(mut file: &fs::File) {
    use std::io::{Seek, Write};
    file.rewind().unwrap();
    file.write_all(b"x").unwrap();
}

/// A root with files and links in it, and a secret beside it.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(ground.path("root/folder")).unwrap();
        fs::create_dir_all(ground.path("outside")).unwrap();
        fs::write(ground.path("outside/secret"), SECRET).unwrap();
        fs::write(ground.path("rootless"), SECRET).unwrap();
        fs::write(ground.path("root/folder/hello"), HELLO).unwrap();
        fs::write(ground.path("root/large"), large()).unwrap();
        let links = [
            ("link-within", "folder/hello"),
            ("folder-link", "folder"),
            ("folder/up", ".."),
            ("link-to-nothing", "gone"),
            ("link-out", "../outside/secret"),
            ("link-out-to-nothing", "../outside/gone"),
            ("link-out-and-back", "../root/folder/hello"),
            ("link-loop", "link-loop"),
            ("folder-out", "../outside"),
        ];
        for (name, target) in links {
            symlink(target, ground.path("root").join(name)).unwrap();
        }
        let absolute_links = [
            ("link-absolute", "outside/secret"),
            ("link-absolute-within", "root/folder/hello"),
            ("folder-absolute", "outside"),
        ];
        for (name, target) in absolute_links {
            symlink(ground.path(target), ground.path("root").join(name)).unwrap();
        }
        ground
    }

    fn base(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str) -> Artifact {
        artifact(ArtifactKind::File, self.path("root").join(name).to_str().unwrap())
    }

    fn settings(&self) -> Settings {
        Settings { roots: vec![self.path("root")], ..Settings::default() }
    }

    fn artifacts(&self, way: Way) -> Artifacts {
        artifacts_in(self.settings(), way)
    }
}

fn artifacts_in(settings: Settings, way: Way) -> Artifacts {
    let roots = Roots::open(&settings.roots).unwrap().with_way(way);
    Artifacts { roots: Arc::new(roots), ..Artifacts::new(settings).unwrap() }
}

/// More than two slices, and not a whole number of buffers.
fn large() -> Vec<u8> {
    (0..9_000_001_u32).map(|index| index.to_le_bytes()[1]).collect()
}
