//! The scenes. Each is a list of steps; a question has a list for every answer. An irreversible
//! action needs a confirmation first.

use aaep::event::{Risk, ToolStatus};
use serde_json::json;

use super::choose::Scene;
use super::step::{Choice, ScriptedCall, ScriptedQuestion, Sentence, Step, Which};
use super::words::{self, SaidText, Words};

/// An irreversible action deserves time to think, and to find the keyboard.
const CONFIRMATION_SECONDS: u32 = 180;

/// A choice of three is made faster.
const CLARIFICATION_SECONDS: u32 = 120;

const FETCH_BALANCE: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "fetch_balance",
    doing: words::CHECKING_BALANCE,
    done: words::BALANCE_KNOWN,
    arguments: r#"{"account":"checking"}"#,
    args_summary: "account: checking",
    risk: Risk::Low,
    irreversible: false,
};

const TRANSFER_FUNDS: ScriptedCall = ScriptedCall {
    which: Which::Second,
    tool: "transfer_funds",
    doing: words::TRANSFERRING,
    done: words::WORKED,
    arguments: r#"{"amount":500,"currency":"USD","from":"checking","to":"savings"}"#,
    args_summary: "500 USD, from checking to savings",
    risk: Risk::High,
    irreversible: true,
};

const SEND_EMAIL: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "send_email",
    doing: words::SENDING,
    done: words::WORKED,
    arguments: r#"{"subject":"Meeting on Friday","to":"maria@example.com"}"#,
    args_summary: "to: maria@example.com",
    risk: Risk::Medium,
    irreversible: true,
};

const DELETE_FILES: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "delete_files",
    doing: words::DELETING,
    done: words::WORKED,
    arguments: r#"{"files":["notes","draft","photo"]}"#,
    args_summary: "files: 3",
    risk: Risk::High,
    irreversible: true,
};

const CHANGE_SETTING: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "change_setting",
    doing: words::CHANGING,
    done: words::WORKED,
    arguments: r#"{"reminder":"weekly"}"#,
    args_summary: "reminder: weekly",
    risk: Risk::Low,
    irreversible: false,
};

const FIND_TABLES: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "find_tables",
    doing: words::SEARCHING,
    done: words::FOUND,
    arguments: r#"{"guests":2}"#,
    args_summary: "guests: 2",
    risk: Risk::Low,
    irreversible: false,
};

const BOOK_TABLE: ScriptedCall = ScriptedCall {
    which: Which::Second,
    tool: "book_table",
    doing: words::BOOKING,
    done: words::WORKED,
    arguments: r#"{"guests":2}"#,
    args_summary: "guests: 2",
    risk: Risk::Low,
    irreversible: false,
};

const ASK_WEATHER: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "ask_weather",
    doing: words::ASKING_WEATHER,
    done: words::WEATHER_KNOWN,
    arguments: "{}",
    args_summary: "",
    risk: Risk::Low,
    irreversible: false,
};

const FETCH_PAGE: ScriptedCall = ScriptedCall {
    which: Which::First,
    tool: "fetch_page",
    doing: words::FETCHING,
    done: words::FETCHED,
    arguments: r#"{"url":"https://example.com"}"#,
    args_summary: "url: https://example.com",
    risk: Risk::Low,
    irreversible: false,
};

pub fn steps(scene: Scene, language: &'static str) -> Vec<Step> {
    let script = Script { language };
    match scene {
        Scene::Balance => script.balance(),
        Scene::Transfer => script.transfer(),
        Scene::Booking => script.booking(),
        Scene::Report => script.report(),
        Scene::Failure => script.failure(),
        Scene::Person => script.person(),
        Scene::Email => {
            let asked = (words::ASK_EMAIL, words::ACT_EMAIL, words::EFFECT_EMAIL);
            script.confirmed(words::SCENE_EMAIL, SEND_EMAIL, asked, words::SAY_SENT)
        }
        Scene::Delete => {
            let asked = (words::ASK_DELETE, words::ACT_DELETE, words::EFFECT_DELETE);
            script.confirmed(words::SCENE_DELETE, DELETE_FILES, asked, words::SAY_DELETED)
        }
        Scene::Confirm => {
            let asked = (words::ASK_CHANGE, words::ACT_CHANGE, words::EFFECT_CHANGE);
            script.confirmed(words::SCENE_CONFIRM, CHANGE_SETTING, asked, words::SAY_CHANGED)
        }
        Scene::Weather => script.looked_up(words::SCENE_WEATHER, ASK_WEATHER, words::SAY_WEATHER),
        Scene::Fetch => script.looked_up(words::SCENE_FETCH, FETCH_PAGE, words::SAY_FETCHED),
        Scene::Ask => script.ask(),
        Scene::Other => script.other(),
    }
}

/// A scene in the user's language.
struct Script {
    language: &'static str,
}

impl Script {
    fn balance(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_BALANCE, &["fetch_balance"]);
        // The answer says the balance.
        steps.extend(use_tool(ScriptedCall { done: words::WORKED, ..FETCH_BALANCE }));
        steps.push(state("calling_tool", "writing_output", words::WRITING));
        steps.extend(self.write(&[words::SAY_BALANCE.into(), words::SAY_NO_BANK.into()]));
        steps.push(done(words::DONE));
        steps
    }

    /// As in the specification's complete session (§4.6).
    fn transfer(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_TRANSFER, &["fetch_balance", "transfer_funds"]);
        steps.extend(use_tool(FETCH_BALANCE));
        steps.push(state("thinking", "deciding", words::DECIDING));
        steps.push(state("deciding", "thinking", words::THINKING));
        let asked = (words::ASK_TRANSFER, words::ACT_TRANSFER, words::EFFECT_TRANSFER);
        let said = [words::SAY_TRANSFERRED.into(), words::SAY_NEW_BALANCE.into()];
        steps.push(self.confirmation(TRANSFER_FUNDS, asked, &said));
        steps
    }

    /// One action that is confirmed, and then done.
    fn confirmed(
        &self,
        scene: Words,
        call: ScriptedCall,
        asked: (Words, Words, Words),
        said: Words,
    ) -> Vec<Step> {
        let mut steps = begin(scene, &[call.tool]);
        steps.push(self.confirmation(call, asked, &[said.into(), words::SAY_EXAMPLE.into()]));
        steps
    }

    fn confirmation(
        &self,
        call: ScriptedCall,
        asked: (Words, Words, Words),
        said: &[SaidText],
    ) -> Step {
        let (summary, action, consequence) = asked;
        let mut accepted = use_tool(call);
        accepted.push(state("calling_tool", "writing_output", words::WRITING));
        accepted.extend(self.write(said));
        accepted.push(done(words::DONE));
        let mut rejected = vec![state("awaiting_input", "deciding", words::DECLINED)];
        rejected.push(state("deciding", "writing_output", words::WRITING));
        let nothing = [words::SAY_NOTHING_DONE.into(), words::SAY_AS_BEFORE.into()];
        rejected.extend(self.write(&nothing));
        rejected.push(done(words::DONE));
        Step::Ask(Box::new(ScriptedQuestion::Confirmation {
            call,
            action,
            consequence,
            summary,
            timeout_seconds: CONFIRMATION_SECONDS,
            accepted,
            rejected,
            timed_out: given_up("confirmation_timed_out"),
        }))
    }

    fn looked_up(&self, scene: Words, call: ScriptedCall, said: Words) -> Vec<Step> {
        let mut steps = begin(scene, &[call.tool]);
        steps.extend(use_tool(call));
        steps.push(state("calling_tool", "writing_output", words::WRITING));
        steps.extend(self.write(&[said.into(), words::SAY_EXAMPLE.into()]));
        steps.push(done(words::DONE));
        steps
    }

    fn booking(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_BOOKING, &["find_tables", "book_table"]);
        steps.extend(use_tool(FIND_TABLES));
        let at = |value, label: Words| {
            let mut steps = vec![state("awaiting_input", "thinking", words::THINKING)];
            steps.extend(use_tool(BOOK_TABLE));
            steps.push(state("calling_tool", "writing_output", words::WRITING));
            let booked = words::SAY_BOOKED.with("time", label);
            steps.extend(self.write(&[booked, words::SAY_EXAMPLE.into()]));
            steps.push(done(words::DONE));
            Choice { value, label, steps }
        };
        steps.push(clarification(
            words::ASK_TIME,
            words::CONTEXT_TIME,
            vec![
                at("18:00", words::SIX),
                at("19:30", words::HALF_PAST_SEVEN),
                at("21:00", words::NINE),
            ],
        ));
        steps
    }

    fn ask(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_ASK, &[]);
        let colour = |value, label: Words| {
            let mut steps = vec![state("awaiting_input", "writing_output", words::WRITING)];
            steps.extend(self.write(&[words::SAY_COLOUR.with("colour", label)]));
            steps.push(done(words::DONE));
            Choice { value, label, steps }
        };
        steps.push(clarification(
            words::ASK_COLOUR,
            words::CONTEXT_COLOUR,
            vec![
                colour("blue", words::BLUE),
                colour("green", words::GREEN),
                colour("red", words::RED),
            ],
        ));
        steps
    }

    fn report(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_REPORT, &[]);
        let progress = [
            (25, words::GATHERING),
            (50, words::COMPARING),
            (75, words::CHECKING),
            (100, words::READY),
        ];
        for (step, (percent, summary)) in (1..).zip(progress) {
            steps.push(Step::Progress { percent, step, n_steps: 4, summary: summary.into() });
        }
        steps.push(state("thinking", "writing_output", words::WRITING));
        steps.extend(self.write(&[
            words::REPORT_1.into(),
            words::REPORT_2.into(),
            words::REPORT_3.into(),
            words::REPORT_4.into(),
            words::REPORT_5.into(),
        ]));
        steps.push(done(words::DONE));
        steps
    }

    fn failure(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_FAILURE, &[ASK_WEATHER.tool]);
        steps.push(Step::Invoke { call: ASK_WEATHER });
        steps.push(Step::Invoked {
            call: ASK_WEATHER,
            status: ToolStatus::Error,
            summary: words::SERVICE_SILENT.into(),
        });
        steps.push(state("calling_tool", "deciding", words::DECIDING));
        steps.push(Step::Errored {
            summary: words::STOPPED.into(),
            code: "SERVICE_UNAVAILABLE",
            hint: words::HINT,
        });
        steps
    }

    fn person(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_PERSON, &[]);
        steps.push(state("thinking", "handing_off", words::HANDING_OFF));
        steps.push(Step::HandOff {
            summary: words::TO_A_PERSON.into(),
            // The user's words are in the conversation, if there is one, and nowhere else.
            context: json!({
                "user_request_summary": "The user wants to speak with a person.",
                "tools_invoked": [],
                "outstanding_question": "What the matter is; the scripted agent did not ask.",
                "scripted": true,
            }),
        });
        steps.push(done(words::HANDED_OVER));
        steps
    }

    /// A greeting is short: a user who only says hello wants to hear no more.
    fn other(&self) -> Vec<Step> {
        let mut steps = begin(words::SCENE_OTHER, &[]);
        steps.truncate(1);
        steps.push(state("idle", "writing_output", words::WRITING));
        steps.extend(self.write(&[words::SAY_HELLO.into()]));
        steps.push(done(words::DONE));
        steps
    }

    /// Sentences of one output, each after the other.
    fn write(&self, sentences: &[SaidText]) -> Vec<Step> {
        let mut position = 0;
        let (mut steps, mut so_far) = (Vec::with_capacity(sentences.len()), Vec::new());
        // Japanese has no spaces between sentences.
        let space = if self.language == "ja" { "" } else { " " };
        for (index, said) in sentences.iter().enumerate() {
            let complete = index + 1 == sentences.len();
            let before = if index == 0 { "" } else { space };
            let text = format!("{before}{}", said.in_language(self.language));
            let n_chars = text.chars().count();
            so_far.push(Sentence { position, said: *said });
            steps.push(Step::Write { text, position, complete, so_far: so_far.clone() });
            position += n_chars;
        }
        steps
    }
}

fn begin(scene: Words, tools: &[&'static str]) -> Vec<Step> {
    vec![
        Step::Started { summary: words::STARTED.with("scene", scene), tools: tools.to_vec() },
        state("idle", "thinking", words::THINKING),
    ]
}

fn use_tool(call: ScriptedCall) -> Vec<Step> {
    let status = ToolStatus::Success;
    vec![Step::Invoke { call }, Step::Invoked { call, status, summary: call.done.into() }]
}

fn clarification(summary: Words, context: Words, choices: Vec<Choice>) -> Step {
    Step::Ask(Box::new(ScriptedQuestion::Clarification {
        context,
        summary,
        timeout_seconds: CLARIFICATION_SECONDS,
        choices,
        timed_out: given_up("clarification_timed_out"),
    }))
}

fn given_up(reason: &'static str) -> Vec<Step> {
    vec![
        state("awaiting_input", "thinking", words::THINKING),
        Step::Cancelled { summary: words::NO_ANSWER.into(), reason },
    ]
}

fn state(from: &'static str, to: &'static str, words: Words) -> Step {
    Step::State { from, to, summary: words.into() }
}

fn done(words: Words) -> Step {
    Step::Completed { summary: words.into() }
}
