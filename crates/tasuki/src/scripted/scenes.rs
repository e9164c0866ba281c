//! The scenes. Each is a list of steps; a question has a list for every answer.

use protocol::aaep::event::{Risk, ToolStatus};
use serde_json::json;

use super::choose::Scene;
use super::step::{Asked, Call, Step, Summary, Which};
use super::words::{self, Words};

/// Moving money is worth a while to think about, and to find the keyboard.
const CONFIRMATION_SECONDS: u32 = 180;

/// A choice of three is made faster.
const CLARIFICATION_SECONDS: u32 = 120;

const FETCH_BALANCE: Call = Call {
    which: Which::First,
    tool: "fetch_balance",
    description: "Reads the balance of the account.",
    arguments: r#"{"account":"checking"}"#,
    args_summary: "account: checking",
    risk: Risk::Low,
    irreversible: false,
};

const TRANSFER_FUNDS: Call = Call {
    which: Which::Second,
    tool: "transfer_funds",
    description: "Moves money from one account to another.",
    arguments: r#"{"amount":500,"currency":"USD","from":"checking","to":"savings"}"#,
    args_summary: "500 USD, from checking to savings",
    risk: Risk::High,
    irreversible: true,
};

const FIND_TABLES: Call = Call {
    which: Which::First,
    tool: "find_tables",
    description: "Looks for tables that are free.",
    arguments: r#"{"guests":2}"#,
    args_summary: "guests: 2",
    risk: Risk::Low,
    irreversible: false,
};

const BOOK_TABLE: Call = Call {
    which: Which::Second,
    tool: "book_table",
    description: "Books a table. It can be cancelled at any time.",
    arguments: r#"{"guests":2}"#,
    args_summary: "guests: 2",
    risk: Risk::Low,
    irreversible: false,
};

const ASK_WEATHER: Call = Call {
    which: Which::First,
    tool: "ask_weather",
    description: "Asks a weather service.",
    arguments: "{}",
    args_summary: "",
    risk: Risk::Low,
    irreversible: false,
};

pub fn steps(scene: Scene) -> Vec<Step> {
    match scene {
        Scene::Balance => balance(),
        Scene::Transfer => transfer(),
        Scene::Booking => booking(),
        Scene::Report => report(),
        Scene::Failure => failure(),
        Scene::Person => person(),
        Scene::Other => other(),
    }
}

fn balance() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_BALANCE, &["fetch_balance"]);
    steps.extend(use_tool(FETCH_BALANCE, &words::CHECKING_BALANCE, &words::BALANCE_KNOWN));
    steps.push(state("calling_tool", "writing_output", &words::WRITING));
    steps.extend(write(&["The balance is $12,500.", " It is an example; no bank was asked."]));
    steps.push(done(&words::DONE));
    steps
}

/// As in the specification's complete session (§4.6).
fn transfer() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_TRANSFER, &["fetch_balance", "transfer_funds"]);
    steps.extend(use_tool(FETCH_BALANCE, &words::CHECKING_BALANCE, &words::BALANCE_KNOWN));
    steps.push(state("thinking", "deciding", &words::DECIDING));
    steps.push(state("deciding", "thinking", &words::THINKING));

    let mut accepted = use_tool(TRANSFER_FUNDS, &words::TRANSFERRING, &words::TRANSFERRED);
    accepted.push(state("calling_tool", "writing_output", &words::WRITING));
    accepted.extend(write(&["Transferred $500 successfully.", " New balance: $12,000."]));
    accepted.push(done(&words::DONE));

    let mut rejected = vec![state("awaiting_input", "deciding", &words::DECLINED)];
    rejected.push(state("deciding", "writing_output", &words::WRITING));
    rejected.extend(write(&["Nothing was transferred.", " The balance is still $12,500."]));
    rejected.push(done(&words::DECLINED));

    steps.push(Step::Ask(Box::new(Asked::Confirmation {
        call: TRANSFER_FUNDS,
        action: "Transfer 500 US dollars from the checking account to the savings account.",
        consequence: "The money leaves the checking account at once. This cannot be undone.",
        summary: Summary {
            normal: &words::ASK_TRANSFER,
            terse: Some("Transfer 500 dollars?"),
            detailed: Some(
                "Transfer 500 US dollars from the checking account, which holds 12,500 dollars, to \
                 the savings account? The money leaves at once, and this cannot be undone. Without \
                 an answer within three minutes nothing is done.",
            ),
        },
        timeout_seconds: CONFIRMATION_SECONDS,
        accepted,
        rejected,
        timed_out: given_up("confirmation_timed_out"),
    })));
    steps
}

fn booking() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_BOOKING, &["find_tables", "book_table"]);
    steps.extend(use_tool(FIND_TABLES, &words::SEARCHING, &words::FOUND));
    let booked = |sentence| {
        let mut steps = vec![state("awaiting_input", "thinking", &words::THINKING)];
        steps.extend(use_tool(BOOK_TABLE, &words::BOOKING, &words::BOOKED));
        steps.push(state("calling_tool", "writing_output", &words::WRITING));
        steps.extend(write(&[
            sentence,
            " It is an example; no restaurant was asked.",
            " A real agent would tell here how to cancel.",
        ]));
        steps.push(done(&words::BOOKED));
        steps
    };
    steps.push(Step::Ask(Box::new(Asked::Clarification {
        question: "For which time should the table be booked?",
        context: "There are free tables for two at three times this evening.",
        summary: Summary {
            normal: &words::ASK_TIME,
            terse: Some("Which time?"),
            detailed: Some(
                "For which time should the table be booked? The choices are six o'clock, half past \
                 seven, and nine o'clock. Without an answer within two minutes nothing is booked.",
            ),
        },
        timeout_seconds: CLARIFICATION_SECONDS,
        choices: vec![
            ("18:00", "Six o'clock", booked("A table for two is booked for six o'clock.")),
            ("19:30", "Half past seven", booked("A table for two is booked for half past seven.")),
            ("21:00", "Nine o'clock", booked("A table for two is booked for nine o'clock.")),
        ],
        timed_out: given_up("clarification_timed_out"),
    })));
    steps
}

fn report() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_REPORT, &[]);
    let progress = [
        (25, &words::GATHERING),
        (50, &words::COMPARING),
        (75, &words::CHECKING),
        (100, &words::READY),
    ];
    for (step, (percent, words)) in (1..).zip(progress) {
        steps.push(Step::Progress { percent, step, n_steps: 4, summary: plain(words) });
    }
    steps.push(state("thinking", "writing_output", &words::WRITING));
    steps.extend(write(&[
        "This is an example of a report, and all of its figures are invented.",
        " In the last quarter 1,240 conversations were held.",
        " That is 8 percent more than in the quarter before.",
        " A person took over in 310 of them.",
        " The median wait for a person was 40 seconds.",
        "\n\nMost people asked about deliveries.",
        " Questions about invoices became fewer.",
        " Nothing needs to be decided today.",
    ]));
    steps.push(done(&words::DONE));
    steps
}

fn failure() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_FAILURE, &["ask_weather"]);
    steps.push(Step::Invoke { call: ASK_WEATHER, summary: plain(&words::ASKING_SERVICE) });
    steps.push(Step::Invoked {
        call: ASK_WEATHER,
        status: ToolStatus::Error,
        error: Some("The weather service did not answer."),
        summary: plain(&words::SERVICE_SILENT),
    });
    steps.push(state("calling_tool", "deciding", &words::DECIDING));
    steps.push(Step::Errored {
        summary: Summary {
            normal: &words::STOPPED,
            terse: Some("Stopped: the weather service does not answer."),
            detailed: None,
        },
        code: "SERVICE_UNAVAILABLE",
        hint: "Try again in a few minutes.",
    });
    steps
}

fn person() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_PERSON, &[]);
    steps.push(state("thinking", "handing_off", &words::HANDING_OFF));
    steps.push(Step::HandOff {
        summary: Summary {
            normal: &words::TO_A_PERSON,
            terse: Some("A handover, as a demo."),
            detailed: None,
        },
        // What the user said is in the conversation, if there is one, and nowhere else.
        context: json!({
            "user_request_summary": "The user wants to speak with a person.",
            "tools_invoked": [],
            "outstanding_question": "What the matter is; the scripted agent did not ask.",
            "scripted": true,
        }),
    });
    steps.push(done(&words::HANDED_OVER));
    steps
}

fn other() -> Vec<Step> {
    let mut steps = begin(&words::STARTED_OTHER, &[]);
    steps.push(state("thinking", "writing_output", &words::WRITING));
    steps.extend(write(&[
        "I am a scripted agent for demonstrations and understand only a few words.",
        " Say balance, transfer, booking, report, failure or person, and I play that scene.",
    ]));
    steps.push(done(&words::DONE));
    steps
}

fn begin(started: &'static Words, tools: &'static [&'static str]) -> Vec<Step> {
    vec![
        Step::Started {
            summary: Summary {
                normal: started,
                terse: Some("Scripted demo."),
                detailed: Some(
                    "Scripted demo. An agent that plays from a script answers here: it asks \
                     nobody, changes nothing, and does not understand what is said beyond a few \
                     words.",
                ),
            },
            tools,
        },
        state("idle", "thinking", &words::THINKING),
    ]
}

fn use_tool(call: Call, doing: &'static Words, done: &'static Words) -> Vec<Step> {
    let status = ToolStatus::Success;
    vec![
        Step::Invoke { call, summary: plain(doing) },
        Step::Invoked { call, status, error: None, summary: plain(done) },
    ]
}

fn given_up(reason: &'static str) -> Vec<Step> {
    vec![
        state("awaiting_input", "thinking", &words::NO_ANSWER),
        Step::Cancelled { summary: plain(&words::NO_ANSWER), reason },
    ]
}

/// Sentences of one output, each after the other.
fn write(sentences: &[&'static str]) -> Vec<Step> {
    let mut position = 0;
    let mut steps = Vec::with_capacity(sentences.len());
    for (index, text) in sentences.iter().enumerate() {
        let complete = index + 1 == sentences.len();
        steps.push(Step::Write { text, position, complete });
        position += text.chars().count();
    }
    steps
}

fn state(from: &'static str, to: &'static str, words: &'static Words) -> Step {
    Step::State { from, to, summary: plain(words) }
}

fn done(words: &'static Words) -> Step {
    Step::Completed { summary: plain(words) }
}

/// A few words already.
fn plain(normal: &'static Words) -> Summary {
    Summary { normal, terse: Some(normal.en), detailed: None }
}
