//! Every page of help, which is the reference of the flags, and the scripts for shells.

use std::path::Path;
use std::process::{Command, Stdio};

use super::shell::{Outcome, split, tasuki};

#[test]
fn every_command_has_a_page_of_help() {
    let mut pages = String::new();
    let mut waiting = vec![String::new()];
    while let Some(command) = waiting.pop() {
        let page = run(&format!("{command} --help"));
        assert_eq!((page.code, page.stderr.as_str()), (0, ""), "{command}");
        pages.push_str(&format!("$ tasuki{command} --help\n{}\n", page.stdout));
        let below = subcommands(&page.stdout).into_iter().rev();
        waiting.extend(below.map(|name| format!("{command} {name}")));
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("help", pages);
    });
}

/// The commands that a page lists, in its order. `help` only repeats the others.
fn subcommands(page: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        // A description that continues on the next line is indented further.
        let entry = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?;
        entry.split_whitespace().next()
    });
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_version_is_one_line() {
    let shown = run("--version");
    assert_eq!(shown.stdout, format!("tasuki {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn shells_can_complete() {
    let cases = [
        ("bash", "_tasuki()"),
        ("zsh", "#compdef tasuki"),
        ("fish", "complete -c tasuki"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ];
    for (shell, mark) in cases {
        let script = run(&format!("completions {shell}"));
        assert_eq!((script.code, script.stderr.as_str()), (0, ""), "{shell}");
        for word in [mark, "handoff", "initiate", "suggested-fix"] {
            assert!(script.stdout.contains(word), "{shell} lacks {word}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasuki.bash");
    std::fs::write(&file, run("completions bash").stdout).unwrap();
    let mut bash = Command::new("bash");
    let checked = bash.arg("-n").arg(&file).stdin(Stdio::null()).status().unwrap();
    assert!(checked.success(), "bash cannot read its script");
}

fn run(line: &str) -> Outcome {
    tasuki(Path::new("/"), &split(line), &[], "")
}
