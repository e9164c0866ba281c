//! The resources that a process uses, as Linux reports them. Elsewhere nothing is read or shown.

use std::path::PathBuf;

/// `/proc` counts processor time in these. Linux has had 100 of them in a second for two decades.
const TICK_US: u64 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Own,
    Other(u32),
    /// Only the thread that asks.
    Thread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub cpu_us: u64,
    pub written_bytes: u64,
    pub resident_bytes: u64,
    /// The largest `resident_bytes` since the start, or since [`Process::forget_peak`].
    pub peak_bytes: u64,
}

impl Process {
    pub fn usage(self) -> Option<Usage> {
        let stat = self.read("stat")?;
        // The second field is a name in brackets that may itself hold spaces.
        let after_name = stat.rsplit_once(')')?.1;
        let fields: Vec<_> = after_name.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let status = self.read("status")?;
        let io = self.read("io")?;
        Some(Usage {
            cpu_us: (ticks(11)? + ticks(12)?) * TICK_US,
            written_bytes: field(&io, "write_bytes:")?,
            resident_bytes: field(&status, "VmRSS:")? * 1_024,
            peak_bytes: field(&status, "VmHWM:")? * 1_024,
        })
    }

    /// Restarts the peak. Only possible for processes of this user.
    pub fn forget_peak(self) {
        // Where it is not possible, the peak since the start is shown.
        let _ = std::fs::write(self.path("clear_refs"), "5");
    }

    fn read(self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.path(file)).ok()
    }

    fn path(self, file: &str) -> PathBuf {
        match self {
            Process::Own => format!("/proc/self/{file}").into(),
            Process::Other(id) => format!("/proc/{id}/{file}").into(),
            Process::Thread => format!("/proc/thread-self/{file}").into(),
        }
    }
}

fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}
