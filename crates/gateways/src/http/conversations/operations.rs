//! The operations on conversations, and the socket on which they are followed.

use protocol::conversation::command::{ObserveSignals, Open, Route, Say};

use crate::http::admin::token_view::TokenIssued;
use crate::http::conversations::by_tools::{CalledInput, CalledView, ToolsInput, ToolsView};
use crate::http::conversations::choices::ChoiceView;
use crate::http::conversations::erase::{EraseConversationInput, ErasedView};
use crate::http::conversations::lifecycle::{
    AgentChanged, CloseInput, ConversationOpened, ListInput, ProgressInput, SelectInput, Taken,
};
use crate::http::conversations::model_history::{HistoryInput, HistoryView};
use crate::http::conversations::transcript::{LineView, TranscriptInput};
use crate::http::conversations::view::ConversationView;
use crate::http::shared::input::Nothing;
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

pub const CONVERSATIONS: [Operation; 19] = [
    Operation {
        query: Some(schema::<ListInput>),
        response: Response::Json(schema::<ListPage<ConversationView>>),
        ..read(
            "/v1/conversations",
            "list_conversations",
            "Lists conversations, newest first: those that the caller holds, and all of them for \
             coordinators.",
        )
    },
    Operation {
        status: 201,
        response: Response::Json(schema::<ConversationOpened>),
        ..action(
            "/v1/conversations",
            "open_conversation",
            "Begins a conversation, with a token for its customer.",
            schema::<Open>,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<ConversationView>),
        ..read(
            "/v1/conversations/{conversation}",
            "show_conversation",
            "Shows who holds a conversation, and in which epoch.",
        )
    },
    Operation {
        who: Who::Party,
        query: Some(schema::<TranscriptInput>),
        response: Response::Json(schema::<ListPage<LineView>>),
        ..read(
            "/v1/conversations/{conversation}/messages",
            "read_transcript",
            "What was said, oldest first.",
        )
    },
    Operation {
        who: Who::Party,
        status: 201,
        response: Response::Json(schema::<Taken>),
        ..action(
            "/v1/conversations/{conversation}/messages",
            "say",
            "The customer or the holder says something.",
            schema::<Say>,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Text("application/octet-stream"),
        ..read(
            "/v1/conversations/{conversation}/messages/{number}/attachments/{index}",
            "download_attachment",
            "The file of a part, as a download.",
        )
    },
    Operation {
        query: Some(schema::<HistoryInput>),
        response: Response::Json(schema::<HistoryView>),
        ..read(
            "/v1/conversations/{conversation}/history",
            "read_history",
            "What was said, as the history of a model.",
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<Taken>),
        ..action(
            "/v1/conversations/{conversation}/commands",
            "route_conversation",
            "The holder hands the conversation on, updates what is shared, or ends it.",
            schema::<Route>,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<Taken>),
        ..action(
            "/v1/conversations/{conversation}/signals",
            "observe_signals",
            "A program outside says how a message of the customer sounds.",
            schema::<ObserveSignals>,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<Taken>),
        ..action(
            "/v1/conversations/{conversation}/progress",
            "show_progress",
            "The holder shows that it is working on its answer.",
            schema::<ProgressInput>,
        )
    },
    Operation {
        method: "put",
        who: Who::Party,
        response: Response::Json(schema::<AgentChanged>),
        ..action(
            "/v1/conversations/{conversation}/agent",
            "select_agent",
            "The customer chooses who shall answer.",
            schema::<SelectInput>,
        )
    },
    Operation {
        who: Who::Party,
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<ChoiceView>>),
        ..read(
            "/v1/conversations/{conversation}/agents",
            "list_choices",
            "The agents that the customer may choose.",
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<CalledView>),
        ..action(
            "/v1/conversations/{conversation}/tool-calls",
            "call_tools",
            "Performs the handoff that a model called for, and answers its calls.",
            schema::<CalledInput>,
        )
    },
    Operation {
        is_keyed: false,
        status: 201,
        response: Response::Json(schema::<TokenIssued>),
        ..action(
            "/v1/conversations/{conversation}/tokens",
            "mint_customer_token",
            "Another token for the customer, shown once.",
            schema::<Nothing>,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<ConversationView>),
        ..action(
            "/v1/conversations/{conversation}/close",
            "close_conversation",
            "Ends a conversation.",
            schema::<CloseInput>,
        )
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<ErasedView>),
        ..action(
            "/v1/conversations/{conversation}/erase",
            "erase_message",
            "Erases what one entry of a conversation says, or all of them, on the record.",
            schema::<EraseConversationInput>,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Text("application/x-ndjson"),
        ..read(
            "/v1/conversations/{conversation}/export",
            "export_conversation",
            "Everything that was said, with files and hashes, one JSON object to a line.",
        )
    },
    Operation {
        query: Some(schema::<ToolsInput>),
        response: Response::Json(schema::<ToolsView>),
        ..read(
            "/v1/agents/{agent}/handoff-tools",
            "handoff_tools",
            "The tools with which an agent's model hands over.",
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Text("application/json"),
        status: 101,
        ..read("/ws", "open_socket", "Opens a WebSocket on which to ask and to be told.")
    },
];
