//! Runs a page: its blocks in one bash, in a folder of their own, with the executable of this build
//! and a server on a port of its own, which the page calls 7420.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::page::{End, Page, Step};
use super::shown::is_shown;
use crate::python::with_packages;

const PRELUDE: &str = include_str!("prelude.bash");

/// The port of every example.
const PORT_SHOWN: &str = "7420";

/// A page that takes longer hangs.
const PAGE_SECONDS_MAX: &str = "300";

/// The range to search for ports: below those that the system gives to connections.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// The number of output lines that a finding repeats.
const TAIL_LINES: usize = 30;

/// The differences from what the page says.
pub fn play(page: &Page) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (steps, here) = (folder.path().join("steps"), folder.path().join("here"));
    fs::create_dir(&steps).unwrap();
    fs::create_dir(&here).unwrap();
    let port = free_port();
    let script = write_steps(page, &steps, &port);
    let output = shell(folder.path(), &port, &script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let findings = look(page, &steps, &port);
    match findings {
        findings if !findings.is_empty() => findings,
        _ if output.status.success() => Vec::new(),
        _ => vec![format!("{}: {} {said}", page.path, output.status)],
    }
}

/// Each step as a file, and the script that runs them in order.
fn write_steps(page: &Page, steps: &Path, port: &str) -> String {
    let mut script = "begin\n".to_owned();
    let is_text = |step: &Step, words: &[&str]| match step {
        Step::Run { text, .. } => words.iter().any(|word| text.contains(word)),
        Step::Compare { .. } | Step::Write { .. } | Step::Skip { .. } => false,
    };
    let has = |words: &[&str]| page.steps.iter().any(|step| is_text(step, words));
    if has(&["tasuki ", PORT_SHOWN]) && !has(&["tasuki serve", "-- serve"]) {
        script.push_str("tasuki serve >\"$STEPS/serve.out\"\n");
    }
    for (number, step) in page.steps.iter().enumerate() {
        let file = |suffix: &str| steps.join(format!("{number}.{suffix}"));
        match step {
            Step::Run { text, end, .. } => {
                fs::write(file("sh"), text.replace(PORT_SHOWN, port)).unwrap();
                let end = if *end == End::Well { "well" } else { "badly" };
                script.push_str(&format!("run {number} {end}\n"));
            }
            Step::Write { name, text } => {
                fs::write(file("text"), text.replace(PORT_SHOWN, port)).unwrap();
                script.push_str(&format!("cp \"$STEPS/{number}.text\" '{name}'\n"));
            }
            Step::Compare { .. } | Step::Skip { .. } => {}
        }
    }
    script
}

fn shell(folder: &Path, port: &str, script: &str) -> Command {
    let tools = folder.join("tools");
    fs::create_dir(&tools).unwrap();
    symlink(env!("CARGO_BIN_EXE_tasuki"), tools.join("tasuki")).unwrap();
    // An HTTP error is an error of the example.
    fs::write(tools.join(".curlrc"), "silent\nfail-with-body\n").unwrap();
    let file = folder.join("page.bash");
    fs::write(&file, format!("{PRELUDE}\n{script}")).unwrap();
    let python = with_packages(include_str!("requirements.txt")).join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", tools.display(), python.display());
    let mut command = Command::new("timeout");
    command.args(["--kill-after", "5", PAGE_SECONDS_MAX, "bash"]).arg(file);
    command.current_dir(folder.join("here")).stdin(Stdio::null()).env_clear();
    command.env("PATH", path).env("CURL_HOME", &tools);
    command.env("HOME", folder).env("LANG", "C.UTF-8").env("STEPS", folder.join("steps"));
    command.env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    command.env("TASUKI_LISTEN", format!("127.0.0.1:{port}"));
    command
}

/// Compares the output, as far as the page ran.
fn look(page: &Page, steps: &Path, port: &str) -> Vec<String> {
    let printed = |number: usize, suffix: &str| {
        let text = fs::read(steps.join(format!("{number}.{suffix}"))).ok()?;
        Some(String::from_utf8_lossy(&text).replace(port, PORT_SHOWN))
    };
    let mut findings = Vec::new();
    let mut find =
        |line: usize, what: String| findings.push(format!("{}:{line}: {what}", page.path));
    let mut last = String::new();
    for (number, step) in page.steps.iter().enumerate() {
        match step {
            Step::Run { line, .. } => {
                last = printed(number, "out").unwrap_or_default();
                if steps.join(format!("{number}.wrong")).is_symlink() {
                    let how = printed(number, "wrong").unwrap_or("timed out".to_owned());
                    let log = fs::read_to_string(steps.join("server.log")).unwrap_or_default();
                    let (how, last) = (how.trim(), tail(&last));
                    find(*line, format!("failed: {how}\n{last}\nthe server:\n{}", tail(&log)));
                    return findings;
                }
            }
            Step::Compare { line, text, form } => {
                if !is_shown(text, &last, *form) {
                    find(*line, format!("expected\n{text}\nand there was\n{last}"));
                }
            }
            Step::Write { .. } | Step::Skip { .. } => {}
        }
    }
    findings
}

fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// A port without a listener. Pages run in parallel, in one process or in many, so each starts its
/// search at another port.
fn free_port() -> String {
    static N_PAGES: AtomicU32 = AtomicU32::new(0);
    let span = u32::from(PORTS.end - PORTS.start);
    let page = N_PAGES.fetch_add(1, Ordering::Relaxed);
    let begin = (std::process::id().wrapping_mul(7_919) % span + page * 101) % span;
    let ports = (0..span).map(|step| PORTS.start + u16::try_from((begin + step) % span).unwrap());
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.into_iter().find(is_free).unwrap().to_string()
}
