//! Python with given packages, made once and kept in the target folder. Missing programs are
//! installed, as `./test` does.

#![expect(clippy::unwrap_used, reason = "what helps a test fails like the test")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// The folder of a Python that has exactly these packages; its programs are in `bin`.
pub fn with_packages(requirements: &str) -> PathBuf {
    let digest = Sha256::digest(requirements);
    let name =
        format!("python-{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let lock = File::create(folder.with_extension("lock")).unwrap();
    // Two runs of the tests may share a target folder.
    lock.lock().unwrap();
    let is_complete = folder.join("complete");
    if !is_complete.exists() {
        // Left over from an interrupted run.
        let _ = fs::remove_dir_all(&folder);
        make(&folder);
        let file = folder.join("requirements.txt");
        fs::write(&file, requirements).unwrap();
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.arg("--requirement").arg(&file);
        must("cannot install the packages", &mut pip);
        fs::write(is_complete, "").unwrap();
    }
    folder
}

fn make(folder: &Path) {
    let venv = || {
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(folder);
        command
    };
    if venv().output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let script = "if [ \"$(id -u)\" != 0 ]; then set -- sudo; else set --; fi
        \"$@\" apt-get update --quiet --quiet
        \"$@\" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet \
            --no-install-recommends python3 python3-venv";
    must("cannot install python3", Command::new("sh").args(["-e", "-c", script]));
    let _ = fs::remove_dir_all(folder);
    must("cannot make a virtual environment", &mut venv());
}

/// Runs a command that must succeed, and returns what it printed.
pub fn must(what: &str, command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
