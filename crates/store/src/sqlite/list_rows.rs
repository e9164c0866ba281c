//! A page of any list.

use engine::ports::store::{List, ListOf, Listed};
use rusqlite::{Connection, Result, params};

use super::rows::{count, listed, readable, row_below};
use super::{conversation_rows, handoff_rows, message_rows};

pub fn list(connection: &Connection, list: &List) -> Result<Vec<Listed>> {
    match &list.of {
        ListOf::Handoffs(filter) => handoff_rows::list(connection, list, filter),
        ListOf::Messages(filter) => message_rows::list_messages(connection, list, filter),
        ListOf::Inbox { agent, status } => {
            message_rows::list_inbox(connection, list, agent, *status)
        }
        ListOf::Conversations(filter) => conversation_rows::list(connection, list, filter),
        ListOf::Agents => list_streams(connection, list, "agent"),
        ListOf::Tokens => list_streams(connection, list, "token"),
        ListOf::Graphs => list_streams(connection, list, "graph"),
        ListOf::Sessions => list_streams(connection, list, "session"),
        ListOf::Webhooks => list_streams(connection, list, "webhook"),
        ListOf::Files => list_streams(connection, list, "file"),
        ListOf::Questions => list_streams(connection, list, "question"),
        ListOf::Waiting { queue, after } => {
            conversation_rows::waiting(connection, &list.teamspace, queue, *after, list.limit)
        }
        ListOf::Callbacks { queue } => {
            conversation_rows::callbacks(connection, &list.teamspace, queue, list.limit)
        }
    }
}

fn list_streams(connection: &Connection, list: &List, kind: &str) -> Result<Vec<Listed>> {
    let mut statement = connection.prepare_cached(
        "SELECT row, teamspace, subject, state, position, last_seq, at, head, mac FROM streams
         WHERE teamspace = ?1 AND kind = ?2 AND row < ?3 ORDER BY row DESC LIMIT ?4",
    )?;
    let values = params![list.teamspace.as_str(), kind, row_below(list), count(list.limit)];
    readable(statement.query_map(values, listed)?)
}
