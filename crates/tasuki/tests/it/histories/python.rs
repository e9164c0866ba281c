//! The providers' packages, and how they read histories.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{must, with_packages};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/histories/load.py");

/// An interpreter that has them.
pub fn ready() -> PathBuf {
    with_packages(include_str!("requirements.txt")).join("bin/python")
}

/// The lines that the loader prints about the histories of a folder.
pub fn run(python: &Path, folder: &Path) -> Vec<String> {
    let text = must("the loader failed", Command::new(python).arg(SCRIPT).arg(folder));
    text.lines().map(str::to_owned).collect()
}
