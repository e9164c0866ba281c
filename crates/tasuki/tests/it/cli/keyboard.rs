//! A person at a real terminal: keys arrive one by one, and the screen is read back.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::shell::split;

/// More pieces than a test shows.
const PIECES_MAX: usize = 10_000;

pub struct Keyboard {
    child: Child,
    /// The person's end.
    keys: File,
    /// The program's end, kept open so that its mode can be read afterwards.
    terminal: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
    /// Where to search on: text that was awaited is not found twice.
    seen_to: usize,
}

impl Keyboard {
    pub fn open(folder: &Path, command: &str) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller).and_then(|()| unlockpt(&controller)).expect("it is ours");
        let name = ptsname(&controller, Vec::new()).expect("it has a name");
        let name = name.to_str().expect("which is a path").to_owned();
        let terminal = OpenOptions::new().read(true).write(true).open(name).expect("it opens");
        let end = || Stdio::from(terminal.try_clone().expect("there are files left"));
        let child = Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .args(split(command))
            .current_dir(folder)
            .env_clear()
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the executable starts");
        let keys = File::from(controller);
        let mut from = keys.try_clone().expect("there are files left");
        let (sender, screen) = sync_channel(PIECES_MAX);
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(n_bytes @ 1..) = from.read(&mut piece) {
                if sender.send(piece[..n_bytes].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, terminal, screen, shown: String::new(), seen_to: 0 }
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("they are read");
    }

    /// Reads on until these words stand on the screen.
    pub fn sees(&mut self, words: &str) {
        loop {
            if let Some(at) = self.shown[self.seen_to..].find(words) {
                self.seen_to += at + words.len();
                return;
            }
            let piece = self.screen.recv_timeout(Duration::from_secs(60));
            let piece = piece.unwrap_or_else(|_| panic!("no {words:?} in {}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether the terminal echoes keys by itself, as shells expect.
    pub fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.terminal).expect("it is a terminal").local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("pids are small");
        kill_process(Pid::from_raw(pid).expect("a pid is not 0"), signal).expect("it runs");
    }

    pub fn ends(&mut self) {
        self.child.wait().expect("it ends");
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
