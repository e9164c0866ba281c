//! A person at the keyboard, or a script in their place. Each line comes with what was shown when
//! its first character was typed: an answer is for what its author saw then, and for nothing that
//! appeared while they were typing.

pub mod keys;
mod terminal;

use std::collections::BTreeSet;
use std::io::{BufRead, ErrorKind, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use self::keys::{Did, EditedLine, Keys, LINE_BYTES_MAX, Source};
use self::terminal::Cbreak;
use crate::output::{self, Echo};

/// Lines that were typed or piped in, and not handled yet. Beyond this the pipe waits.
const LINES_MAX: usize = 64;

/// What is on the screen, as far as lines can refer to it.
#[derive(Debug)]
pub struct Screen<S>(Arc<Mutex<S>>);

impl<S> Clone for Screen<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Clone> Screen<S> {
    pub fn new(shown: S) -> Self {
        Self(Arc::new(Mutex::new(shown)))
    }

    pub fn set(&self, shown: S) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    pub fn get(&self) -> S {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The questions that are open and shown, by their numbers.
pub type Questions = BTreeSet<usize>;

#[derive(Debug)]
pub struct Typist<S> {
    pub screen: Screen<S>,
    lines: mpsc::Receiver<EditedLine<S>>,
    /// How often Ctrl-C was pressed.
    pub interrupts: watch::Receiver<u32>,
    /// Dropped with the typist, which restores the terminal.
    _terminal: Option<Arc<Cbreak>>,
}

impl<S: Clone + Send + Sync + 'static> Typist<S> {
    pub fn start(shown: S) -> Self {
        let is_terminal = std::io::stdin().is_terminal();
        let interrupts = interrupts(is_terminal);
        // After the signals: no signal may end the process before the terminal is restored.
        let terminal = is_terminal.then(Cbreak::begin).flatten().map(Arc::new);
        let source = if terminal.is_some() { Source::Terminal } else { Source::Pipe };
        let screen = Screen::new(shown);
        let (sender, lines) = mpsc::channel(LINES_MAX);
        let seen = screen.clone();
        // A thread of its own: it may still block on a key when the process ends.
        std::thread::spawn(move || read(source, &seen, &sender));
        if let Some(terminal) = &terminal {
            terminal.take_again_after_a_stop();
        }
        Self { screen, lines, interrupts, _terminal: terminal }
    }

    /// Resolves when Ctrl-C was pressed so often.
    pub fn interrupted(&self, n_times: u32) -> impl Future<Output = ()> + use<S> {
        let mut interrupts = self.interrupts.clone();
        async move {
            // The sender is never dropped.
            let _ = interrupts.wait_for(|n_pressed| *n_pressed >= n_times).await;
        }
    }

    /// The next line; none after the last, or after Ctrl-C.
    pub async fn next(&mut self) -> Option<EditedLine<S>> {
        let interrupted = self.interrupted(1);
        tokio::select! {
            line = self.lines.recv() => line,
            () = interrupted => None,
        }
    }
}

/// How often Ctrl-C was pressed. At a terminal, other signals that would end the process count too.
fn interrupts(is_terminal: bool) -> watch::Receiver<u32> {
    let (interrupt, interrupts) = watch::channel(0);
    let others = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()];
    let others = others.into_iter().filter(|_| is_terminal);
    for kind in others.chain([SignalKind::interrupt()]) {
        // Without a handler the signal ends the process directly.
        let Ok(mut signals) = signal(kind) else { continue };
        let interrupt = interrupt.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                interrupt.send_modify(|n_times| *n_times += 1);
            }
        });
    }
    tokio::spawn(async move {
        // The channel stays open.
        let _interrupt = interrupt;
        std::future::pending::<()>().await;
    });
    interrupts
}

fn read<S: Clone>(source: Source, screen: &Screen<S>, lines: &mpsc::Sender<EditedLine<S>>) {
    let mut keys = Keys::new(source);
    let mut input = std::io::stdin().lock();
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        // Read before anything else can be shown: these bytes are already typed.
        let seen = screen.get();
        let n_bytes = bytes.len();
        let done: Vec<Did<S>> = match n_bytes {
            0 => vec![keys.end(&seen), Did::End],
            _ => bytes.iter().map(|byte| keys.key(*byte, &seen)).collect(),
        };
        input.consume(n_bytes);
        for did in done {
            match did {
                Did::Nothing => {}
                Did::Added(text) => output::echo(Echo::Added(&text)),
                Did::Removed(text) => output::echo(Echo::Removed(&text)),
                Did::TooLong => {
                    output::echo(Echo::Entered);
                    output::remark(&format!("a line has at most {LINE_BYTES_MAX} bytes"));
                }
                Did::Line(line) => {
                    if source == Source::Terminal {
                        output::echo(Echo::Entered);
                    }
                    if lines.blocking_send(line).is_err() {
                        return;
                    }
                }
                Did::End => return,
            }
        }
    }
}
