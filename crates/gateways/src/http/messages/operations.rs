//! The operations on messages and notices.

use protocol::message::Outgoing;
use protocol::message::command::Addressed;

use super::mailbox::{InboxInput, InboxView, MailboxStatus, QueryInput};
use super::notices::{MuteNoticesInput, NoticesInput, NoticesView, ReadNoticesInput};
use super::purge::{PurgeInput, PurgeView};
use super::view::MessageView;
use crate::http::shared::input::Nothing;
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::ListPage;

pub const MESSAGES: [Operation; 7] = [
    Operation {
        response: Response::Json(schema::<MessageView>),
        status: 201,
        ..action(
            "/v1/acp/messages",
            "acp_send",
            "Sends a message to agents, to the coordinators, or to everyone.",
            schema::<Addressed>,
        )
    },
    Operation {
        query: Some(schema::<QueryInput>),
        response: Response::Json(schema::<ListPage<MessageView>>),
        ..read("/v1/acp/messages", "acp_query", "Lists messages sent or received, newest first.")
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        ..read("/v1/acp/messages/{message}", "show_message", "Shows a message.")
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        status: 201,
        ..action(
            "/v1/acp/messages/{message}/respond",
            "acp_respond",
            "Answers a message, in its thread and to its sender.",
            schema::<Outgoing>,
        )
    },
    Operation {
        response: Response::Json(schema::<MessageView>),
        ..action(
            "/v1/acp/messages/{message}/read",
            "read_message",
            "A recipient has read the message.",
            schema::<Nothing>,
        )
    },
    Operation {
        query: Some(schema::<InboxInput>),
        response: Response::Json(schema::<InboxView>),
        ..read(
            "/v1/acp/inbox",
            "acp_inbox",
            "What the caller was sent, what it is told, and what waits for it.",
        )
    },
    Operation {
        response: Response::Json(schema::<MailboxStatus>),
        ..read(
            "/v1/acp/status",
            "acp_status",
            "Counts of the caller's inbox, and what it may send.",
        )
    },
];

pub const NOTICES: [Operation; 3] = [
    Operation {
        query: Some(schema::<NoticesInput>),
        response: Response::Json(schema::<NoticesView>),
        ..read("/v1/notices", "list_notices", "What happened to handoffs that concern the caller.")
    },
    Operation {
        response: Response::Json(schema::<NoticesView>),
        ..action(
            "/v1/notices/read",
            "read_notices",
            "The caller has read its notices up to a cursor.",
            schema::<ReadNoticesInput>,
        )
    },
    Operation {
        method: "put",
        response: Response::Json(schema::<NoticesView>),
        ..action(
            "/v1/notices/muted",
            "mute_notices",
            "Says which kinds of notices the caller does not want.",
            schema::<MuteNoticesInput>,
        )
    },
];

pub const PURGE: [Operation; 1] = [Operation {
    who: Who::Operator,
    response: Response::Json(schema::<PurgeView>),
    ..action(
        "/v1/acp/messages/purge",
        "purge_messages",
        "Takes old messages out of every mailbox and erases what they said, on the record.",
        schema::<PurgeInput>,
    )
}];
