//! `tasuki serve` as a process of its own, so that its resource use can be measured.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use protocol::quota::Quota;

use super::load::now;
use super::usage::Process;

/// The first argument that makes this executable the server.
pub const SERVE: &str = "serve";

/// A server that runs, and ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// From the start of the process until `/readyz` said yes.
    pub ready_after: Duration,
}

impl Server {
    /// A server without limits. Blocks until it is ready.
    pub fn start(folder: &Path) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        Self::start_with(&program, folder, &unlimited())
    }

    /// A server with these settings, as variables, and else the defaults.
    pub fn start_with(
        program: &Path,
        folder: &Path,
        settings: &[(String, String)],
    ) -> Result<Self> {
        let started = now();
        let mut child = Command::new(program)
            .args([SERVE, "--listen", "127.0.0.1:0", "--data"])
            .arg(folder)
            // Ignores any `tasuki.toml` and the caller's environment.
            .current_dir(folder)
            .env_clear()
            .envs(settings.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let stderr = child.stderr.take().context("its remarks are piped")?;
        let mut lines = BufReader::new(stderr).lines();
        let address = loop {
            let Some(line) = lines.next() else {
                bail!("the server ended before it was ready");
            };
            if let Some(address) = address_in(&line.context("cannot read its remarks")?) {
                break address;
            }
        };
        // Drains the pipe, so that the server's output never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        let mut server = Self { child, address, ready_after: Duration::ZERO };
        server.ask_whether_ready()?;
        server.ready_after = started.elapsed();
        Ok(server)
    }

    pub fn process(&self) -> Process {
        Process::Other(self.child.id())
    }

    /// Stops it as an operator would, and waits for its end.
    pub fn stop(mut self) -> Result<()> {
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let id = id.context("the server has no process id")?;
        rustix::process::kill_process(id, rustix::process::Signal::TERM)
            .context("cannot stop the server")?;
        let status = self.child.wait().context("cannot wait for the server")?;
        if !status.success() {
            bail!("the server ended with {status}");
        }
        Ok(())
    }

    fn ask_whether_ready(&self) -> Result<()> {
        let mut stream = TcpStream::connect(self.address).context("cannot reach the server")?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if !answer.starts_with("HTTP/1.1 200") {
            bail!("the server is not ready: {}", answer.lines().next().unwrap_or_default());
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `Tasuki is ready at http://127.0.0.1:7420 (…)`.
fn address_in(line: &str) -> Option<SocketAddr> {
    let rest = line.split_once("ready at http://")?.1;
    rest.split_whitespace().next()?.parse().ok()
}

/// Settings with which quotas are counted like any others, and never reached.
pub fn unlimited() -> Vec<(String, String)> {
    let quotas = Quota::ALL.map(|quota| (variable(quota), "4000000000".to_owned()));
    // Reads can be faster than the limit of a token.
    let limits = [("REQUESTS_PER_SECOND", "1000000"), ("REQUESTS_BURST", "10000000")];
    let limits = limits.map(|(name, value)| (format!("TASUKI_LIMITS_{name}"), value.to_owned()));
    quotas.into_iter().chain(limits).collect()
}

/// The variable that sets a quota.
fn variable(quota: Quota) -> String {
    format!("TASUKI_QUOTAS_{}", quota.as_str().to_uppercase())
}
