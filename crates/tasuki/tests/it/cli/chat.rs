//! Two people at two terminals: a customer asks for a person, the person answers, they talk, and
//! the customer is asked how it was. Also with the server away in between.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use serde_json::Value;

use super::shell::{split, tasuki};
use crate::server::Server;

/// More lines than any test reads.
const LINES_MAX: usize = 10_000;

/// A person at a terminal.
pub struct Terminal {
    child: Child,
    keyboard: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Lines that were not awaited yet. Remarks and messages may overtake each other.
    waiting: Vec<String>,
    seen: Vec<String>,
}

impl Terminal {
    pub fn open(folder: &Path, command: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .args(split(command))
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the executable starts");
        let (sender, lines) = sync_channel(LINES_MAX);
        read_lines(child.stdout.take().expect("it is piped"), sender.clone());
        read_lines(child.stderr.take().expect("it is piped"), sender);
        let keyboard = child.stdin.take();
        Self { child, keyboard, lines, waiting: Vec::new(), seen: Vec::new() }
    }

    pub fn enter(&mut self, line: &str) {
        let keyboard = self.keyboard.as_mut().expect("it is still open");
        writeln!(keyboard, "{line}").expect("it is read");
    }

    /// Reads on until a line has these words, unless one has come already.
    pub fn sees(&mut self, words: &str) -> String {
        self.sees_any(&[words])
    }

    pub fn sees_any(&mut self, words: &[&str]) -> String {
        loop {
            let has_any = |line: &String| words.iter().any(|words| line.contains(words));
            if let Some(at) = self.waiting.iter().position(has_any) {
                return self.waiting.remove(at);
            }
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("no {words:?} in {:#?}", self.seen));
            self.seen.push(line.clone());
            self.waiting.push(line);
        }
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        let pid = i32::try_from(self.child.id()).expect("pids are small");
        let pid = rustix::process::Pid::from_raw(pid).expect("a pid is not 0");
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    }

    /// Reads the rest, and how it ended.
    pub fn leave(&mut self) -> Option<i32> {
        drop(self.keyboard.take());
        let code = self.child.wait().expect("it ends").code();
        self.seen.extend(self.lines.iter());
        code
    }

    /// Everything that was read so far.
    pub fn seen(&self) -> &[String] {
        &self.seen
    }

    pub fn n_times(&self, words: &str) -> usize {
        self.seen.iter().filter(|line| line.contains(words)).count()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const NEW: &str = "chat --new --agent bob --customer-name Ana --data data";

/// A server with a bot, two people, and a queue from which they pick.
fn desk(folder: &Path) -> Server {
    let server = Server::start_on(&folder.join("data"), |_| {});
    let commands = [
        "agent register bob --kind worker",
        "agent register default --kind queue",
        "agent register hana --kind human --name Hana",
        "agent register ivan --kind human --name Ivan",
        "queue set --mode pick",
    ];
    for command in commands {
        let outcome = tasuki(folder, &split(&format!("{command} --data data")), &[], "");
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
    }
    server
}

fn read_lines(from: impl Read + Send + 'static, to: SyncSender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

#[test]
fn people_advise_each_other_and_pass_a_customer_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let _server = desk(folder.path());
    let mut ana = Terminal::open(folder.path(), NEW);
    let mut hana = Terminal::open(folder.path(), "chat --as hana --data data");
    let mut ivan = Terminal::open(folder.path(), "chat --as ivan --data data");
    ivan.sees("you are ivan, and available");
    ana.enter("/person");
    hana.sees("next is Ana");
    hana.enter("/accept");
    hana.sees("you are with Ana");
    hana.enter("/cancel");
    hana.sees("you asked no colleague in, so there is nothing to cancel");
    hana.enter("/consult ivan now?");
    hana.sees("you asked Ivan for advice; Ana does not see it");
    ivan.sees("* Hana asks you for advice about Ana");
    hana.enter("/cancel");
    hana.sees("you do not ask Ivan any more; Ana stays with you");
    ivan.sees("Hana does not ask you any more");
    hana.enter("/consult ivan may I?");
    ivan.sees("* Hana asks you for advice about Ana");
    ivan.enter("/decline");
    ivan.sees("you declined; Hana is told");
    hana.sees("* Ivan declines");
    hana.enter("/consult ivan may I refund it?");
    ivan.sees("* Hana asks you for advice about Ana");
    ivan.sees("| Hana's reason: may I refund it?");
    for (terminal, rung) in [(&mut hana, "Ivan, asked "), (&mut ivan, "Ivan, asked ")] {
        terminal.enter("/queue");
        terminal.sees(rung);
    }
    ivan.enter("hello?");
    ivan.sees("Hana asks you; /accept answers");
    ivan.enter("/accept");
    ivan.sees("you advise Hana; Hana sees what you type, Ana does not");
    hana.sees("* Ivan joins; Ana does not see what Ivan writes");
    ivan.enter("up to 20");
    ivan.sees("you told Hana: up to 20");
    hana.sees("whisper by ivan: up to 20");
    ivan.enter("/complete");
    ivan.sees("you do not advise Hana any more; you are available");
    hana.sees("* Ivan has left");
    hana.enter("/transfer ivan he can do it");
    hana.sees("you asked Ivan to take Ana over; Ana stays with you until then");
    ivan.sees("* Hana asks you to take Ana over");
    ivan.sees("| Hana's reason: he can do it");
    ivan.enter("/accept");
    ivan.sees("you are with Ana");
    ana.sees("* Ivan is here");
    hana.sees("Ana is not with you any more");
    for terminal in [&ana, &hana, &ivan] {
        assert_eq!(terminal.n_times("epoch"), 0, "{:#?}", terminal.seen);
    }

    // A person who leaves gives the customer back, however they leave.
    ivan.interrupt();
    assert_eq!(ivan.leave(), Some(0));
    ana.sees("you are waiting: place 1");
    hana.sees("next is Ana");
    hana.enter("/accept");
    hana.sees("you are with Ana");
    hana.enter("/quit");
    hana.enter("ls");
    hana.sees("you leave; Ana goes back to the queue default");
    assert_eq!(hana.leave(), Some(0));
    ana.sees("you are waiting: place 1");
    assert_eq!(ana.n_times(": ls"), 0, "{:#?}", ana.seen);
    assert_eq!(ana.n_times("up to 20"), 0, "{:#?}", ana.seen);
}

/// A command that comes too early, or lacks an argument, is answered with what would work.
#[test]
fn what_cannot_be_done_yet_is_answered_with_what_can() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let _server = desk(folder.path());
    let cases = [
        ("chat", "say who you are: --new to be a customer"),
        ("chat", "--as NAME to answer as a person (ivan, hana)"),
        ("chat --as bob", "`bob` is a worker, and only a person waits for customers"),
        ("chat --as bob", "`tasuki chat --new --agent bob` talks to it"),
        ("chat --as default", "`default` is a queue, and only a person waits for customers"),
    ];
    for (command, expected) in cases {
        let outcome = tasuki(folder.path(), &split(&format!("{command} --data data")), &[], "");
        assert_eq!(outcome.code, 2, "{command}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{command}: {}", outcome.stderr);
    }
    let mut ana = Terminal::open(folder.path(), NEW);
    let id = ana.sees("conversation ").trim_start_matches("conversation ").to_owned();
    let mut hana = Terminal::open(folder.path(), "chat --as hana --data data");
    let answered = [
        ("ana", "/rate 5", "nothing can be rated yet"),
        ("ana", "/cancel", "nothing to cancel; /person asks for one"),
        ("ana", "/choose", "such as /choose bob"),
        ("hana", "hello", "no customer is with you yet, so nothing was done"),
        ("hana", "/hold", "no customer is with you yet, so nothing was done"),
        ("hana", "/decline", "no customer rings, so there is nothing to decline"),
        ("hana", "/accept", "no customer rings or waits"),
        ("hana", "/transfer", "say more, such as /transfer ivan"),
        ("ana", "/person", "you are waiting: place 1"),
        ("ana", "/person", "a person is being asked already; /cancel takes that back"),
        ("ana", "/close", "* no person is asked into your chat any more: it ends"),
    ];
    for (who, typed, expected) in answered {
        let terminal = if who == "ana" { &mut ana } else { &mut hana };
        terminal.enter(typed);
        terminal.sees(expected);
    }
    assert_eq!(ana.leave(), Some(0));
    assert_eq!(ana.n_times("default answers"), 0, "{:#?}", ana.seen);
    let shown =
        tasuki(folder.path(), &split(&format!("conversation show {id} --data data")), &[], "");
    let expected = "the request for a person was taken back, as the conversation ended";
    assert!(shown.stdout.contains(expected), "{}", shown.stdout);
}

/// A ring is also shown to a person who comes later, as long as it rings.
#[test]
fn a_ring_that_began_before_is_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let _server = desk(folder.path());
    for command in ["queue set --mode offer --ring 10m", "agent presence hana available"] {
        let outcome = tasuki(folder.path(), &split(&format!("{command} --data data")), &[], "");
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
    }
    let mut ana = Terminal::open(folder.path(), NEW);
    ana.enter("/person my bill is wrong");
    ana.sees("a person is being asked");
    let mut hana = Terminal::open(folder.path(), "chat --as hana --data data");
    hana.sees("* Ana rings");
    hana.sees("| the customer's reason: my bill is wrong");
    for (command, rung) in [
        ("transfer list --queue default", "agent:hana: accept, decline; since"),
        ("queue show", "Hana, for 9 min more"),
        ("queue show --as hana", "Hana, for 9 min more"),
    ] {
        let outcome = tasuki(folder.path(), &split(&format!("{command} --data data")), &[], "");
        assert!(outcome.stdout.contains(rung), "{command}: {}", outcome.stdout);
    }
    hana.enter("/queue");
    hana.sees("Hana, for 9 min more");
    hana.enter("/accept");
    hana.sees("you are with Ana");
    ana.sees("* Hana is here");
    ana.enter("/close");
    hana.sees("Ana is not with you any more");
    assert_eq!((ana.leave(), hana.leave()), (Some(0), Some(0)));
    assert_eq!(hana.n_times("* Ana rings"), 1, "{:#?}", hana.seen);
}

/// The first ring is answered first, unless another one is named. When a customer has gone, the
/// person is told who still rings.
#[test]
fn all_that_rings_can_be_answered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let _server = desk(folder.path());
    let run = |command: &str| {
        let outcome = tasuki(folder.path(), &split(&format!("{command} --data data")), &[], "");
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
        outcome.stdout
    };
    run("queue set --mode offer --ring 10m");
    let mut hana = Terminal::open(folder.path(), "chat --as hana --data data");
    hana.sees("you are hana, and available");
    for name in ["Mia", "Noa", "Uma"] {
        let opened = run(&format!("conversation open --agent bob --customer-name {name}"));
        let id = opened.lines().next().expect("the conversation's id");
        run(&format!("transfer request {id} --as bob --reason bills"));
        hana.sees(&format!("* {name} rings"));
    }
    hana.sees("/accept answers Mia first, /accept Uma answers Uma");
    // What is typed, the customer who is then here, and who still rings after that.
    let cases = [
        ("/accept uma", "Uma", vec!["Mia", "Noa"]),
        ("/accept", "Mia", vec!["Noa"]),
        ("/accept", "Noa", vec![]),
    ];
    for (typed, with, still) in cases {
        hana.enter(typed);
        hana.sees(&format!("you are with {with}"));
        hana.enter("/complete");
        hana.sees(&format!("{with} is not with you any more; you are available"));
        for name in still {
            hana.sees(&format!("* {name} rings"));
        }
    }
    hana.enter("/accept zoe");
    hana.sees("no customer zoe rings or waits; /queue shows who does");
    assert_eq!(hana.leave(), Some(0));
    let n_rings = ["Mia", "Noa", "Uma"].map(|name| hana.n_times(&format!("* {name} rings")));
    assert_eq!(n_rings, [2, 3, 1], "{:#?}", hana.seen);
}

#[test]
fn a_customer_is_told_in_plain_words_that_the_queue_is_closed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let _server = desk(folder.path());
    let never_open = r#"{ "hours": { "utc_offset_minutes": 0 } }"#;
    std::fs::write(folder.path().join("closed.json"), never_open).expect("a file");
    let outcome =
        tasuki(folder.path(), &split("queue set --file closed.json --data data"), &[], "");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let mut ana = Terminal::open(folder.path(), NEW);
    ana.enter("/person");
    ana.sees("the queue is closed, so no person can be asked");
    assert_eq!(ana.leave(), Some(0));
    assert_eq!(ana.n_times("queue_closed"), 0, "{:#?}", ana.seen);
}

#[test]
fn a_chat_goes_on_where_it_was_when_the_server_comes_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let server = desk(folder.path());
    let mut ana = Terminal::open(folder.path(), NEW);
    let id = ana.sees("conversation ").trim_start_matches("conversation ").to_owned();
    ana.enter("one");
    ana.enter("/person");
    ana.sees("you are waiting: place 1");
    let mut hana = Terminal::open(folder.path(), "chat --as hana --data data");
    hana.sees("next is Ana, of 1 who wait");
    hana.enter("/accept");
    hana.sees("Ana (customer): one");
    hana.sees("you are with Ana");
    ana.sees("* Hana is here");

    server.kill();
    ana.sees("the server does not answer");
    ana.enter("two");
    hana.enter("three");
    let server = Server::start_on(&data, |_| {});
    ana.sees("Hana: three");
    hana.sees("Ana (customer): two");
    ana.enter("four");
    hana.sees("Ana (customer): four");
    hana.enter("/complete");
    ana.sees("how was it?");
    assert_eq!((ana.leave(), hana.leave()), (Some(0), Some(0)));
    let shown = [(&ana, "Hana: three"), (&hana, ": one"), (&hana, ": two"), (&hana, ": four")];
    for (terminal, words) in shown {
        assert_eq!(terminal.n_times(words), 1, "{words}: {:#?}", terminal.seen);
    }

    // And as a program would: output as JSON, input piped as words.
    let typed = split(&format!("chat --conversation {id} --as bob --json --data data"));
    let outcome = tasuki(folder.path(), &typed, &[], "anything else?\n");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let lines: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let texts: Vec<_> = lines.iter().filter_map(|it| it["parts"][0]["text"].as_str()).collect();
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert_eq!((texts[0], texts[4]), ("one", "anything else?"));
    drop(server);
}

/// A person has two terminals: leaving one sets the person offline, and the other one says so.
#[test]
fn a_second_terminal_hears_that_its_person_is_offline() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let _server = desk(folder.path());
    let mut first = Terminal::open(folder.path(), "chat --as hana --data data");
    first.sees("you are hana, and available");
    let mut second = Terminal::open(folder.path(), "chat --as hana --data data");
    second.sees("you are hana, and available");
    second.enter("/quit");
    assert_eq!(second.leave(), Some(0));
    first.sees("you are offline now; /available makes you available again");
    first.enter("/available");
    first.sees("you are available");
    let mut ana = Terminal::open(folder.path(), NEW);
    ana.sees("you are the customer");
    ana.enter("/person");
    first.sees("next is Ana");
    first.enter("/accept");
    ana.sees("* Hana is here");
}
