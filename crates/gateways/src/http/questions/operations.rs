//! The operations on questions.

use protocol::question::{Ask, Claim, Finish, Withdraw};

use super::lifecycle::{AnswerInput, RenewInput, ShowInput};
use super::list::{ListInput, ListedView};
use super::tool::{ToolCallsInput, ToolCallsView, ToolInput, ToolView};
use super::view::{ClaimView, QuestionView};
use crate::http::handoffs::erase::EraseInput;
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::ListPage;

pub const QUESTIONS: [Operation; 11] = [
    Operation {
        status: 201,
        response: Response::Json(schema::<QuestionView>),
        ..action("/v1/questions", "ask_question", "Asks a person or a queue.", schema::<Ask>)
    },
    Operation {
        query: Some(schema::<ListInput>),
        response: Response::Json(schema::<ListPage<ListedView>>),
        ..read("/v1/questions", "list_questions", "Lists questions, or what waits for you.")
    },
    Operation {
        query: Some(schema::<ShowInput>),
        response: Response::Json(schema::<QuestionView>),
        ..read("/v1/questions/{question}", "show_question", "Shows a question, or waits for it.")
    },
    Operation {
        response: Response::Json(schema::<QuestionView>),
        ..action(
            "/v1/questions/{question}/answer",
            "answer_question",
            "A human answers, once.",
            schema::<AnswerInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<QuestionView>),
        ..action(
            "/v1/questions/{question}/withdraw",
            "withdraw_question",
            "The asker needs no answer any more.",
            schema::<Withdraw>,
        )
    },
    Operation {
        response: Response::Json(schema::<ClaimView>),
        ..action(
            "/v1/questions/{question}/claim",
            "claim_question",
            "One worker at a time goes on with the answer.",
            schema::<Claim>,
        )
    },
    Operation {
        response: Response::Json(schema::<ClaimView>),
        ..action(
            "/v1/questions/{question}/renew",
            "renew_claim",
            "The worker needs more time.",
            schema::<RenewInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<QuestionView>),
        ..action(
            "/v1/questions/{question}/finish",
            "finish_question",
            "The work that follows the answer is done.",
            schema::<Finish>,
        )
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<QuestionView>),
        ..action(
            "/v1/questions/{question}/erase",
            "erase_question",
            "Erases the content of one entry of a question.",
            schema::<EraseInput>,
        )
    },
    Operation {
        query: Some(schema::<ToolInput>),
        response: Response::Json(schema::<ToolView>),
        ..read("/v1/questions/tool", "ask_tool", "The tool with which a model asks a human.")
    },
    Operation {
        response: Response::Json(schema::<ToolCallsView>),
        ..action(
            "/v1/questions/tool_calls",
            "ask_by_tool",
            "Asks what a model's calls of `ask_human` ask, and returns the answers.",
            schema::<ToolCallsInput>,
        )
    },
];
