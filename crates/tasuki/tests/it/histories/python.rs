//! A Python with the packages of the providers, made once and kept in the target folder. What is
//! missing on the machine is installed, as `./test` does.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

const REQUIREMENTS: &str = include_str!("requirements.txt");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/histories/load.py");

/// The interpreter of a folder that has exactly the packages of `requirements.txt`.
pub fn ready() -> PathBuf {
    let digest = Sha256::digest(REQUIREMENTS);
    let name =
        format!("python-{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let lock = File::create(folder.with_extension("lock")).unwrap();
    // Two runs of the tests may share a target folder.
    lock.lock().unwrap();
    let python = folder.join("bin/python");
    let is_complete = folder.join("complete");
    if !is_complete.exists() {
        // What is left of a run that was interrupted.
        let _ = fs::remove_dir_all(&folder);
        make(&folder);
        let requirements = folder.join("requirements.txt");
        fs::write(&requirements, REQUIREMENTS).unwrap();
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.arg("--requirement").arg(&requirements);
        must("cannot install the packages of the providers", &mut pip);
        fs::write(is_complete, "").unwrap();
    }
    python
}

/// The lines that the loader prints about the histories of a folder.
pub fn run(python: &Path, folder: &Path) -> Vec<String> {
    let text = must("the loader failed", Command::new(python).arg(SCRIPT).arg(folder));
    text.lines().map(str::to_owned).collect()
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

fn must(what: &str, command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
