//! Which question is answered. Tested by a table, and by random interleavings of typing, questions,
//! timeouts and Enter against a model that recomputes the result from all events.

use aaep::event::Decision;
use protocol::time::Time;
use serde_json::{Value, json};

use super::*;
use crate::cli::typist::keys::{Did, Keys, Source};

/// How often the random test runs.
const RUNS: u64 = 1_000;
const STEPS_PER_RUN: usize = 200;

fn confirmation(number: usize, action: &str, is_irreversible: bool) -> Question {
    let event = json!({
        "type": "aaep:agent.awaiting.confirmation", "event_id": format!("evt_{number}"),
        "session_id": "sess_1", "timeout_seconds": 60, "action": action,
        "irreversible": is_irreversible, "producer": { "agent_id": "teller" },
    });
    Question::of(&event, number, Time::from_millis(0), Speech::new(None)).expect("it asks")
}

fn clarification(number: usize) -> Question {
    let event = json!({ "type": "aaep:agent.awaiting.clarification", "timeout_seconds": 60 });
    Question::of(&event, number, Time::from_millis(0), Speech::new(None)).expect("it asks")
}

fn choice(number: usize) -> Question {
    let event = json!({ "type": "aaep:agent.awaiting.clarification", "timeout_seconds": 60,
        "question": "Which colour?", "accepted_response_kinds": ["multiple_choice"],
        "choices": [{ "value": "red", "label": "Red" }, { "value": "blue", "label": "Blue" }] });
    Question::of(&event, number, Time::from_millis(0), Speech::new(None)).expect("it asks")
}

/// The open questions, the numbers that were shown when the line was begun, the line, and the
/// result.
type Row<'a> = (&'a [Question], &'a [usize], &'a str, Result<(usize, &'a str), NotAnswered>);

#[test]
fn a_line_is_for_what_was_shown_when_it_began() {
    use NotAnswered::{Closed, NoSuchQuestion, NotNamed, NothingWaits, Several, TypedBefore};
    let pay = || confirmation(1, "Pay 500 dollars to Maria", false);
    let delete = || confirmation(2, "Delete all customer records", true);
    let (both, only_delete) = ([pay(), delete()], [delete()]);
    let (free, japanese) = ([clarification(3)], [confirmation(1, "貯蓄口座に送金する", true)]);
    let mixed = [choice(1), delete(), clarification(3)];
    let number_alone = "question 3: expected #3 and a text";
    let rows: [Row<'_>; 43] = [
        (&[], &[], "accept", Err(NothingWaits)),
        (&[], &[1], "accept", Err(Closed(1))),
        (&[pay()], &[], "accept", Err(TypedBefore(1))),
        (&[pay()], &[1], "accept", Ok((1, "accept"))),
        (&[pay()], &[1], "Accept 1", Ok((1, "accept"))),
        (&only_delete, &[1], "accept", Err(Closed(1))),
        (&only_delete, &[1], "accept 2", Err(TypedBefore(2))),
        (&only_delete, &[1], "#2 accept", Err(TypedBefore(2))),
        (&only_delete, &[1], "accept 1", Err(Closed(1))),
        (&only_delete, &[1], "accept delete all", Err(Closed(1))),
        (&only_delete, &[2], "accept", Err(NotNamed(2))),
        (&only_delete, &[2], "accept 2", Ok((2, "accept"))),
        (&only_delete, &[2], "accept #2", Ok((2, "accept"))),
        (&only_delete, &[2], "#2 accept", Ok((2, "accept"))),
        (&only_delete, &[2], "#2 accept 1", Err(NoSuchQuestion)),
        (&only_delete, &[2], "accept customer records", Ok((2, "accept"))),
        (&only_delete, &[2], "accept all", Err(NotAnswered::Expected(expected(2)))),
        (&only_delete, &[2], "accept Maria", Err(NotAnswered::Expected(expected(2)))),
        (&only_delete, &[2], "reject", Ok((2, "reject"))),
        (&only_delete, &[1, 2], "accept", Err(Several)),
        (&only_delete, &[1, 2], "accept records", Err(Closed(1))),
        (&both, &[1, 2], "accept", Err(Several)),
        (&both, &[1, 2], "reject", Err(Several)),
        (&both, &[1, 2], "accept maria", Ok((1, "accept"))),
        (&both, &[1, 2], "accept 2", Ok((2, "accept"))),
        (&both, &[1], "accept", Ok((1, "accept"))),
        (&both, &[1], "#7 accept", Err(NoSuchQuestion)),
        (&japanese, &[1], "accept 送金", Ok((1, "accept"))),
        (&free, &[3], "accept it as it is", Ok((3, "accept it as it is"))),
        (&free, &[], "as you like", Err(TypedBefore(3))),
        (&free, &[3], "#3", Err(NotAnswered::Expected(number_alone.to_owned()))),
        (&free, &[3], "#4", Ok((3, "#4"))),
        (&both, &[1, 2], "reject 2", Ok((2, "reject"))),
        (&both, &[1, 2], "#2", Err(NotAnswered::Expected(expected(2)))),
        (&mixed, &[1, 2, 3], "2", Err(Several)),
        (&mixed, &[1, 2, 3], "blue", Err(Several)),
        (&mixed, &[1, 2, 3], "#1 2", Ok((1, "blue"))),
        (&mixed, &[1, 2, 3], "#1 red", Ok((1, "red"))),
        (&mixed, &[1, 2, 3], "#1 RED", Ok((1, "red"))),
        (&mixed, &[1, 2, 3], "#3 as you like", Ok((3, "as you like"))),
        (&mixed, &[1, 2, 3], "accept 2", Ok((2, "accept"))),
        (&mixed, &[1, 2, 3], "reject 2", Ok((2, "reject"))),
        (&mixed, &[1, 2], "#3 as you like", Err(TypedBefore(3))),
    ];
    for (open, began, text, expected) in rows {
        let asked = OpenQuestion { open: open.to_vec(), n_asked: 3, speech: Speech::new(None) };
        let line = EditedLine { text: text.to_owned(), began: began.iter().copied().collect() };
        let chosen = asked.choose(&line).map(|(question, answer)| (question.number, tell(&answer)));
        let expected = expected.map(|(number, answer)| (number, answer.to_owned()));
        assert_eq!(chosen, expected, "{text:?}, begun with {began:?}");
    }
}

fn expected(number: usize) -> String {
    format!("question {number}: expected accept {number} or reject {number}")
}

#[test]
fn whoever_names_no_question_hears_what_waits_and_how_each_is_answered() {
    let mut asked = OpenQuestion::new(Speech::new(None));
    asked.add(choice(1));
    asked.add(confirmation(2, "Delete all customer records", true));
    let english = "several questions wait: say which one, with its number\n\
        question 1, Which colour?: type #1 and the number or the name of a choice\n\
        question 2, Delete all customer records: type accept 2 or reject 2";
    assert_eq!(NotAnswered::Several.said(&asked).join("\n"), english);
    assert_eq!(NotAnswered::NoSuchQuestion.said(&asked), ["no such question waits"]);
    // A change of language applies to the questions from then on, and to the answers.
    asked.speak(Speech::new(Some("de")));
    let german = "mehrere Fragen warten: sagen Sie mit der Nummer, welche\n\
        Frage 1, Which colour?: #1 und die Nummer oder den Namen einer Auswahl eintippen\n\
        Frage 2, Delete all customer records: annehmen 2 oder ablehnen 2 eintippen";
    assert_eq!(NotAnswered::Several.said(&asked).join("\n"), german);
    let put = asked.open()[1].asked(Time::from_millis(0)).join("\n");
    assert!(put.starts_with("DRINGEND teller fragt, Frage 2\n  Aktion:"), "{put}");
    let line = EditedLine { text: "ablehnen 2".to_owned(), began: asked.numbers() };
    let (question, answer) = asked.choose(&line).expect("an answer");
    assert_eq!((question.number, tell(&answer)), (2, "reject".to_owned()));
}

fn tell(answer: &TypedAnswer) -> String {
    match answer {
        TypedAnswer::Decision(decision) => decision.as_str().to_owned(),
        TypedAnswer::Response(response) => {
            let told = serde_json::to_value(response).unwrap_or(Value::Null);
            told.as_str().unwrap_or_default().to_owned()
        }
    }
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The question with this number is shown; every other one cannot be undone.
    Show(usize),
    Close(usize),
    Key(u8),
    /// A line that was entered is acted on.
    Act,
}

/// When a line is stamped: a faulty machine gets this wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamped {
    Begun,
    Entered,
    ActedOn,
}

/// What was answered: at which step, which question, with which text.
struct Answered {
    at: usize,
    line: usize,
    number: usize,
    text: String,
    is_accept: bool,
}

fn is_irreversible(number: usize) -> bool {
    number.is_multiple_of(2)
}

/// The machine: the keys, and the questions that wait.
fn run(steps: &[Step], stamped: Stamped) -> Vec<Answered> {
    let mut keys = Keys::new(Source::Terminal);
    let mut asked = OpenQuestion::new(Speech::new(None));
    let (mut lines, mut n_lines, mut answered) = (std::collections::VecDeque::new(), 0, Vec::new());
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Show(number) => {
                let action = format!("Pay bill{number}");
                asked.add(confirmation(*number, &action, is_irreversible(*number)));
            }
            Step::Close(number) => asked.close(*number),
            Step::Key(key) => {
                if let Did::Line(mut line) = keys.key(*key, &asked.numbers()) {
                    if stamped == Stamped::Entered {
                        line.began = asked.numbers();
                    }
                    lines.push_back(line);
                }
            }
            Step::Act => {
                let Some(mut line) = lines.pop_front() else { continue };
                n_lines += 1;
                if stamped == Stamped::ActedOn {
                    line.began = asked.numbers();
                }
                let Ok((question, answer)) = asked.choose(&line) else { continue };
                let number = question.number;
                let is_accept = answer == TypedAnswer::Decision(Decision::Accept);
                answered.push(Answered {
                    at,
                    line: n_lines - 1,
                    number,
                    text: line.text,
                    is_accept,
                });
                asked.close(number);
            }
        }
    }
    answered
}

/// Checks the machine's answers against everything that happened.
fn check(steps: &[Step], answered: &[Answered]) -> Result<(), String> {
    let (begun, texts) = lines_of(steps);
    let is_open = |number: usize, before: usize| {
        let past = &steps[..before];
        let is_answered = answered.iter().any(|it| it.number == number && it.at < before);
        past.contains(&Step::Show(number)) && !past.contains(&Step::Close(number)) && !is_answered
    };
    for Answered { at, line, number, text, is_accept } in answered {
        if !is_open(*number, begun[*line]) {
            return Err(format!("line {line} answers {number}, not shown when it was begun"));
        }
        if !is_open(*number, *at) {
            return Err(format!("line {line} answers {number}, which was closed"));
        }
        let names = [number.to_string(), format!("bill{number}")];
        let is_named = text.split([' ', '#']).any(|word| names.iter().any(|name| name == word));
        if *is_accept && is_irreversible(*number) && !is_named {
            return Err(format!("line {line} accepts {number} without its name"));
        }
    }
    // A line that names a question that was shown and is still open counts.
    let mut acted = steps.iter().enumerate().filter(|(_, step)| **step == Step::Act);
    for (line, text) in texts.iter().enumerate() {
        let entered = begun[line];
        let Some((at, _)) = acted.find(|(at, _)| is_entered(steps, line, *at)) else { break };
        let Some(number) = text.strip_prefix("accept ").and_then(|it| it.parse().ok()) else {
            continue;
        };
        let counts = is_open(number, entered) && is_open(number, at);
        if counts && !answered.iter().any(|it| it.at == at && it.number == number) {
            return Err(format!("line {line}, {text}, did not count"));
        }
    }
    Ok(())
}

/// Whether a line was complete at a step.
fn is_entered(steps: &[Step], line: usize, at: usize) -> bool {
    steps[..at].iter().filter(|step| **step == Step::Key(b'\n')).count() > line
}

/// When each line was begun, and its text.
fn lines_of(steps: &[Step]) -> (Vec<usize>, Vec<String>) {
    let (mut begun, mut texts) = (Vec::new(), Vec::new());
    let (mut text, mut began) = (String::new(), 0);
    for (at, step) in steps.iter().enumerate() {
        let Step::Key(key) = step else { continue };
        match key {
            b'\n' => {
                begun.push(if text.is_empty() { at } else { began });
                texts.push(std::mem::take(&mut text));
            }
            0x7f => drop(text.pop()),
            key => {
                if text.is_empty() {
                    began = at;
                }
                text.push(char::from(*key));
            }
        }
    }
    (begun, texts)
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n_sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % n_sides
    }
}

/// Lines are typed key by key, with anything else between two keys.
fn random_steps(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut steps, mut typing, mut n_shown) = (Vec::new(), Vec::new(), 0);
    while steps.len() < STEPS_PER_RUN {
        match dice.below(8) {
            0 => {
                n_shown += 1;
                steps.push(Step::Show(n_shown));
            }
            1 if n_shown > 0 => steps.push(Step::Close(1 + dice.below(n_shown))),
            2 => steps.push(Step::Act),
            _ if typing.is_empty() => {
                let number = 1 + dice.below(n_shown + 1);
                let texts =
                    ["accept", "reject", "a\u{7f}accept", "accept #", "xx\u{7f}\u{7f}accept"];
                let text = match dice.below(8) {
                    at @ 0..5 if at != 3 => texts[at].to_owned(),
                    5 => format!("#{number} accept"),
                    6 => format!("accept bill{number}"),
                    _ => format!("accept {number}"),
                };
                typing = text.bytes().chain([b'\n']).rev().collect();
            }
            _ => steps.extend(typing.pop().map(Step::Key)),
        }
    }
    steps.extend(std::iter::repeat_n(Step::Act, 4));
    steps
}

#[test]
fn no_answer_counts_for_a_question_that_was_not_shown_when_its_line_began() {
    let mut n_answered = 0;
    for seed in 0..RUNS {
        let steps = random_steps(seed);
        let answered = run(&steps, Stamped::Begun);
        if let Err(why) = check(&steps, &answered) {
            panic!("seed {seed}: {why}\n{steps:?}");
        }
        n_answered += answered.len();
    }
    assert!(n_answered > RUNS as usize / 2, "{n_answered} answers say little");
    for faulty in [Stamped::Entered, Stamped::ActedOn] {
        let is_caught = |seed: u64| {
            let steps = random_steps(seed);
            check(&steps, &run(&steps, faulty)).is_err()
        };
        let n_caught = (0..RUNS).filter(|seed| is_caught(*seed)).count();
        assert!(n_caught > 10, "a machine that is wrong, {faulty:?}, is caught {n_caught} times");
    }
}
