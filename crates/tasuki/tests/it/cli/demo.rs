//! What `serve --demo` prints can be pasted, at its first start and later.

use std::process::Command;

use super::chat::Terminal;

#[test]
fn the_agent_of_the_demo_is_heard_and_answered_as_it_prints() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut server = Terminal::open(folder.path(), "serve --demo --listen 127.0.0.1:0 --data data");
    server.sees("ready url=");
    let printed = server.seen().join("\n").replace("\\\n", "");
    let steps: Vec<_> = printed.lines().map(str::trim).collect();
    let step = |start: &str| steps.iter().find(|step| step.starts_with(start)).expect("a step");
    let listen = step("tasuki aaep listen").strip_prefix("tasuki ").expect("it starts so");
    let mut hana = Terminal::open(folder.path(), listen);
    hana.sees("listening");
    let asked = Command::new("sh").args(["-c", step("curl http")]).output().expect("a shell");
    assert!(asked.status.success(), "{asked:?}");
    hana.sees("To answer, type accept 1 or reject");
    hana.enter("accept 1");
    hana.sees("500 dollars were transferred");
}

/// The second start shows no token; the owner of the folder needs none.
#[test]
fn what_a_later_start_of_the_demo_prints_can_be_pasted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let serve = "serve --demo --listen 127.0.0.1:0 --data data";
    Terminal::open(folder.path(), serve).sees("ready url=");
    let mut server = Terminal::open(folder.path(), serve);
    server.sees("ready url=");
    let commands: Vec<_> =
        server.seen().iter().filter_map(|line| line.trim().strip_prefix("tasuki ")).collect();
    let [list, hana, ana] = commands[..] else { panic!("three commands: {commands:?}") };
    Terminal::open(folder.path(), list).sees("Review the retry logic");
    Terminal::open(folder.path(), hana).sees("you are hana");
    Terminal::open(folder.path(), ana).sees("Bob: Hello Ana");
}

/// Its Bob is not that of the demo, and there may be none.
#[test]
fn a_ledger_of_ones_own_is_no_demo_that_goes_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let serve = "serve --listen 127.0.0.1:0 --data data";
    Terminal::open(folder.path(), serve).sees("ready url=");
    let mut server = Terminal::open(folder.path(), &format!("{serve} --demo"));
    server.sees("ready url=");
    let told = server.seen().join("\n");
    assert!(told.contains("Tasuki is ready at") && !told.contains("tasuki chat"), "{told}");
}

#[test]
fn what_the_demo_prints_can_be_pasted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut server = Terminal::open(folder.path(), "serve --demo --listen 127.0.0.1:0 --data data");
    server.sees("ready url=");
    let commands: Vec<_> =
        server.seen().iter().filter_map(|line| line.trim().strip_prefix("tasuki chat")).collect();
    let [hana, ana] = commands[..] else { panic!("two commands: {commands:?}") };
    let mut hana = Terminal::open(folder.path(), &format!("chat {hana}"));
    let mut ana = Terminal::open(folder.path(), &format!("chat {ana}"));
    hana.sees("you are hana, and available");
    ana.sees("Bob: Hello Ana");
    ana.enter("My bill is wrong");
    ana.sees("Bob: Your bill of May has 10 twice.");
    ana.enter("I want a person");
    hana.sees("* Ana rings");
    hana.sees("the customer asks for a person");
    hana.sees("/accept or /decline");
    hana.enter("/accept");
    hana.sees("you are with Ana");
    ana.sees("* Hana is here");
    hana.enter("//slash, I see it");
    ana.sees("Hana: /slash, I see it");
    ana.enter("thanks");
    hana.sees("Ana (customer): thanks");
    hana.enter("/note charged twice");
    hana.sees("your note, for colleagues only: charged twice");
    hana.enter("/hold");
    hana.sees("you put Ana on hold");
    ana.sees("you are on hold");
    hana.enter("/resume");
    hana.sees("you took Ana off hold");
    ana.sees("you are not on hold any more");
    hana.enter("/transfer nobody");
    hana.sees("(unknown_agent)");
    hana.enter("/complete refunded");
    hana.sees("Ana is not with you any more");
    ana.sees("* your chat is settled; Bob answers again");
    ana.sees("how was it?");
    ana.sees("Bob: I am back.");
    ana.enter("/rate 5 quick and kind");
    ana.sees("thank you");
    ana.enter("When are you open?");
    ana.sees("Bob: I am here day and night.");
    ana.enter("/close");
    ana.sees("the conversation is closed");
    hana.enter("/quit");
    assert_eq!((ana.leave(), hana.leave()), (Some(0), Some(0)));
    for words in ["Hello Ana", "Your bill of May", "I am back", "day and night"] {
        assert_eq!(ana.n_times(words), 1, "Bob says it once: {words}: {:#?}", ana.seen());
    }
    for words in ["charged twice", "refunded"] {
        assert_eq!(ana.n_times(words), 0, "the customer sees {words}: {:#?}", ana.seen());
    }
}
