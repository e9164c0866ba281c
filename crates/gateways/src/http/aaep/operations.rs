//! The operations on sessions that agents announce.

use crate::http::aaep::answer::{AnswerSessionInput, AnsweredSessionView};
use crate::http::aaep::compat::{AnyMessage, Received, SessionInput};
use crate::http::aaep::erase::{EraseSessionInput, ErasedSessionView};
use crate::http::aaep::listening::ListenInput;
use crate::http::aaep::message_schemas;
use crate::http::aaep::sessions::{
    DecisionInput, DecisionView, EventsInput, EventsRecorded, SessionEvents, SessionEventsInput,
    SessionView, SessionsInput,
};
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::ListPage;

pub const AAEP: [Operation; 16] = [
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<EventsRecorded>),
        ..action(
            "/aaep/v1/events",
            "announce_events",
            "Records AAEP events of a session: one, a list, or one on each line.",
            schema::<EventsInput>,
        )
    },
    Operation {
        query: Some(schema::<SessionsInput>),
        response: Response::Json(schema::<ListPage<SessionView>>),
        ..read("/aaep/v1/sessions", "list_sessions", "Lists sessions, newest first.")
    },
    Operation {
        response: Response::Json(schema::<SessionView>),
        ..read("/aaep/v1/sessions/{session}", "show_session", "Shows how a session stands.")
    },
    Operation {
        query: Some(schema::<SessionEventsInput>),
        response: Response::Json(schema::<SessionEvents>),
        ..read(
            "/aaep/v1/sessions/{session}/events",
            "session_events",
            "The events of a session, in order.",
        )
    },
    Operation {
        query: Some(schema::<DecisionInput>),
        response: Response::Json(schema::<DecisionView>),
        ..read(
            "/aaep/v1/sessions/{session}/decisions/{reply_token}",
            "await_decision",
            "The result of a question; waits for it if asked to.",
        )
    },
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<AnsweredSessionView>),
        ..action(
            "/aaep/v1/sessions/{session}/answer",
            "answer_session",
            "Answers a question of a session, as a human who may hear it.",
            schema::<AnswerSessionInput>,
        )
    },
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<ErasedSessionView>),
        ..action(
            "/aaep/v1/sessions/{session}/erase",
            "erase_session",
            "Erases what one entry of a session says, or all of them, on the record.",
            schema::<EraseSessionInput>,
        )
    },
    Operation {
        is_keyed: false,
        status: 201,
        response: Response::Json(message_schemas::accepted),
        who: Who::Party,
        ..action(
            "/aaep/v1/subscriptions",
            "open_subscription",
            "Agrees on the terms of a subscription.",
            message_schemas::request,
        )
    },
    Operation {
        query: Some(schema::<ListenInput>),
        response: Response::Text("text/event-stream"),
        who: Who::Party,
        ..read(
            "/aaep/v1/events",
            "listen",
            "What agents announce, on the terms of a subscription; resumes after `Last-Event-ID`.",
        )
    },
    Operation {
        is_keyed: false,
        status: 204,
        response: Response::Json(message_schemas::accepted),
        who: Who::Party,
        ..action(
            "/aaep/v1/replies",
            "reply",
            "Answers a question, changes the terms of a subscription, or ends it.",
            message_schemas::reply,
        )
    },
    Operation {
        who: Who::Party,
        response: Response::Text("application/json"),
        status: 101,
        ..read(
            "/aaep/v1/ws",
            "open_aaep_socket",
            "Opens a WebSocket on which to announce, to listen and to answer.",
        )
    },
    Operation {
        response: Response::Text("text/event-stream"),
        ..read(
            "/aaep/compat/{agent}/events",
            "compat_listen",
            "What one agent announces, as other tools read it: frames without a name.",
        )
    },
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<Received>),
        ..action(
            "/aaep/compat/{agent}/messages",
            "compat_message",
            "What a user says to the agent, an answer, or terms; terms are answered on the stream.",
            schema::<AnyMessage>,
        )
    },
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<Received>),
        status: 202,
        ..action(
            "/aaep/compat/{agent}/sessions",
            "compat_session",
            "Begins a session of the agent with what a user says.",
            schema::<SessionInput>,
        )
    },
    Operation {
        response: Response::Text("application/json"),
        ..read(
            "/aaep/compat/{agent}/healthz",
            "compat_health",
            "Whether the agent can be listened to here.",
        )
    },
    Operation {
        response: Response::Text("application/json"),
        status: 101,
        ..read(
            "/aaep/compat/{agent}/ws",
            "compat_socket",
            "The same as `events` and `messages`, on one WebSocket without a subprotocol.",
        )
    },
];
