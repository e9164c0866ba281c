//! The rows of messages: their snapshots, who takes part in them, and the lists of both.

use engine::ports::store::{
    Commit, INBOX_COUNT_MAX, InboxStatus, List, Listed, MessageFilter, OldestMessages,
};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::message::{Delivery, Message};
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params, params_from_iter};

use super::rows::{count, listed, number, readable, row_below};

/// Writes the snapshot and the parts of all parties. Returns the row.
pub fn put(
    connection: &Connection,
    commit: &Commit,
    message: &Message,
    known: Option<i64>,
    last_seq: u64,
) -> Result<i64> {
    let last = commit.entries.last().expect("a commit has entries");
    connection
        .prepare_cached(
            "INSERT INTO messages (row, teamspace, id, thread_id, from_agent, type, topic, status,
                                   created_at, position, last_seq, head, at, state, mac)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
             ON CONFLICT (row) DO UPDATE SET
                status = excluded.status, position = excluded.position,
                last_seq = excluded.last_seq, head = excluded.head, at = excluded.at,
                state = excluded.state, mac = excluded.mac",
        )?
        .execute(params![
            known,
            commit.stream.teamspace.as_str(),
            message.id.to_string(),
            message.sent.thread_id.as_str(),
            message.sent.from.as_str(),
            message.sent.kind.as_str(),
            message.sent.topic.as_ref().map(|topic| topic.as_str()),
            message.status().as_str(),
            message.created_at.as_millis(),
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            commit.state_text,
            commit.mac,
        ])?;
    let row = known.unwrap_or_else(|| connection.last_insert_rowid());
    put_parties(connection, &commit.stream.teamspace, message, row)?;
    Ok(row)
}

fn put_parties(
    connection: &Connection,
    teamspace: &TeamspaceId,
    message: &Message,
    row: i64,
) -> Result<()> {
    let mut put = connection.prepare_cached(
        "INSERT INTO parties (teamspace, agent, message, part, status)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET status = excluded.status WHERE status <> excluded.status",
    )?;
    let recipients = message.recipients.iter().map(|(agent, status)| (agent, "to", *status));
    let from = &message.sent.from;
    let sender = (!message.recipients.contains_key(from)).then(|| (from, "from", message.status()));
    for (agent, part, status) in recipients.chain(sender) {
        put.execute(params![teamspace.as_str(), agent.as_str(), row, part, status.as_str()])?;
    }
    Ok(())
}

/// Takes a message out of every list. The rest is kept with the other streams, so that the stream
/// is still found by its id. Returns the row there.
pub fn purge(
    connection: &Connection,
    commit: &Commit,
    message: &Message,
    known: Option<i64>,
    last_seq: u64,
) -> Result<i64> {
    if let Some(row) = known {
        let mut part = connection.prepare_cached(
            "DELETE FROM parties WHERE teamspace = ?1 AND agent = ?2 AND message = ?3",
        )?;
        for agent in message.recipients.keys().chain([&message.sent.from]) {
            part.execute(params![commit.stream.teamspace.as_str(), agent.as_str(), row])?;
        }
        connection.prepare_cached("DELETE FROM messages WHERE row = ?1")?.execute([row])?;
    }
    let last = commit.entries.last().expect("a commit has entries");
    connection
        .prepare_cached(
            "INSERT INTO streams (teamspace, subject, kind, position, last_seq, head, at, state,
                                  mac)
             VALUES (?1, ?2, 'message', ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            commit.stream.teamspace.as_str(),
            commit.stream.subject.to_string(),
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            commit.state_text,
            commit.mac,
        ])?;
    Ok(connection.last_insert_rowid())
}

/// In the order in which they were made.
pub fn oldest(connection: &Connection, oldest: &OldestMessages) -> Result<Vec<Listed>> {
    let (after, limit) = (Value::from(number(oldest.after)), Value::from(count(oldest.limit)));
    let (which, values) = match &oldest.teamspace {
        Some(teamspace) => (
            "m.teamspace = ? AND m.row > ?",
            vec![Value::from(teamspace.to_string()), after, limit],
        ),
        None => ("m.row > ?", vec![after, limit]),
    };
    let sql = format!("SELECT {COLUMNS} FROM messages m WHERE {which} ORDER BY m.row LIMIT ?");
    readable(connection.prepare_cached(&sql)?.query_map(params_from_iter(values), listed)?)
}

pub fn list_messages(
    connection: &Connection,
    list: &List,
    filter: &MessageFilter,
) -> Result<Vec<Listed>> {
    let (sql, values) = messages_query(list, filter);
    readable(connection.prepare_cached(&sql)?.query_map(params_from_iter(values), listed)?)
}

pub fn list_inbox(
    connection: &Connection,
    list: &List,
    agent: &AgentId,
    status: InboxStatus,
) -> Result<Vec<Listed>> {
    let (sql, values) = inbox_query(list, agent, status);
    readable(connection.prepare_cached(&sql)?.query_map(params_from_iter(values), listed)?)
}

pub fn inbox_count(
    connection: &Connection,
    teamspace: &TeamspaceId,
    agent: &AgentId,
    status: Delivery,
) -> Result<usize> {
    let n: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM parties WHERE teamspace = ?1 AND agent = ?2
                                   AND part = 'to' AND status = ?3 LIMIT ?4)",
        )?
        .query_row(
            params![teamspace.as_str(), agent.as_str(), status.as_str(), count(INBOX_COUNT_MAX)],
            |row| row.get(0),
        )?;
    Ok(usize::try_from(n).unwrap_or_default())
}

const COLUMNS: &str =
    "m.row, m.teamspace, 'message/' || m.id, m.state, m.position, m.last_seq, m.at, m.head, m.mac";

/// Rows come in order out of one index, that of a party or that of the messages; whatever else is
/// asked for is looked up row by row. A test checks the query plan.
fn messages_query(list: &List, filter: &MessageFilter) -> (String, Vec<Value>) {
    let teamspace = || Value::from(list.teamspace.to_string());
    let mut values = Vec::new();
    let (mut sql, row, status) = match filter.parties.first() {
        Some(party) => {
            values.extend([teamspace(), Value::from(party.to_string()), row_below(list)]);
            let sql = format!(
                "SELECT {COLUMNS} FROM parties p CROSS JOIN messages m ON m.row = p.message
                 WHERE p.teamspace = ? AND p.agent = ? AND p.message < ?"
            );
            (sql, "p.message", "p.status")
        }
        None => {
            values.extend([teamspace(), row_below(list)]);
            let sql =
                format!("SELECT {COLUMNS} FROM messages m WHERE m.teamspace = ? AND m.row < ?");
            (sql, "m.row", "m.status")
        }
    };
    let wanted = [
        ("m.thread_id =", filter.thread_id.as_ref().map(|id| Value::from(id.to_string()))),
        ("m.type =", filter.kind.map(|kind| Value::from(kind.to_string()))),
        ("m.topic =", filter.topic.as_ref().map(|topic| Value::from(topic.to_string()))),
        ("m.created_at >=", filter.since.map(|since| Value::from(since.as_millis()))),
        ("m.created_at <", filter.until.map(|until| Value::from(until.as_millis()))),
        (&format!("{status} ="), filter.status.map(|status| Value::from(status.to_string()))),
    ];
    for (is, value) in wanted {
        if let Some(value) = value {
            sql.push_str(&format!(" AND {is} ?"));
            values.push(value);
        }
    }
    for other in filter.parties.iter().skip(1) {
        sql.push_str(
            " AND EXISTS (SELECT 1 FROM parties q
                          WHERE q.teamspace = ? AND q.agent = ? AND q.message = m.row)",
        );
        values.extend([teamspace(), Value::from(other.to_string())]);
    }
    sql.push_str(&format!(" ORDER BY {row} DESC LIMIT ?"));
    values.push(Value::from(count(list.limit)));
    (sql, values)
}

fn inbox_query(list: &List, agent: &AgentId, status: InboxStatus) -> (String, Vec<Value>) {
    let mut values = vec![Value::from(list.teamspace.to_string()), Value::from(agent.to_string())];
    let which = match status {
        // Written exactly like this, so that the partial index can be used.
        InboxStatus::Open => {
            "(p.status = 'pending' OR p.status = 'delivered' OR p.status = 'failed')"
        }
        InboxStatus::Only(status) => {
            values.push(Value::from(status.to_string()));
            "p.status = ?"
        }
    };
    values.extend([row_below(list), Value::from(count(list.limit))]);
    let sql = format!(
        "SELECT {COLUMNS} FROM parties p CROSS JOIN messages m ON m.row = p.message
         WHERE p.teamspace = ? AND p.agent = ? AND p.part = 'to' AND {which} AND p.message < ?
         ORDER BY p.message DESC LIMIT ?"
    );
    (sql, values)
}

#[cfg(test)]
mod tests {
    use engine::ports::store::ListOf;

    use super::*;

    #[test]
    fn no_list_sorts_or_scans() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::sqlite::migrate::run(&mut connection, "test".as_ref()).unwrap();
        crate::sqlite::keep_plans(&connection).unwrap();
        let list = List {
            teamspace: TeamspaceId::default_teamspace(),
            of: ListOf::Agents,
            before: None,
            limit: 50,
        };
        let parties: [&[&str]; 3] = [&[], &["alice"], &["alice", "bob"]];
        for choice in 0..64_u32 {
            let wants = |bit: u32| choice & (1 << bit) != 0;
            for names in parties {
                let filter = MessageFilter {
                    parties: names.iter().map(|name| name.parse().unwrap()).collect(),
                    thread_id: wants(0).then(|| "T".parse().unwrap()),
                    kind: wants(1).then(|| "status.update".parse().unwrap()),
                    topic: wants(2).then(|| "builds".parse().unwrap()),
                    since: wants(3).then(|| "2026-01-01T00:00:00Z".parse().unwrap()),
                    until: wants(4).then(|| "2026-01-01T00:00:00Z".parse().unwrap()),
                    status: wants(5).then_some(Delivery::Read),
                };
                check_plan(&connection, messages_query(&list, &filter));
            }
        }
        for status in [InboxStatus::Open, InboxStatus::Only(Delivery::Read)] {
            let agent = "alice".parse().unwrap();
            let plan = check_plan(&connection, inbox_query(&list, &agent, status));
            let is_of_open = plan.contains("parties_in_inbox");
            assert_eq!(is_of_open, status == InboxStatus::Open, "{plan}");
        }
    }

    /// Returns its first step.
    fn check_plan(connection: &Connection, (sql, values): (String, Vec<Value>)) -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
        let plan: Vec<String> = plan.map(|step| step.unwrap()).collect();
        let is_bad = |step: &String| step.contains("SCAN") || step.contains("TEMP B-TREE");
        assert!(!plan.iter().any(is_bad), "{sql}: {plan:?}");
        assert!(plan[0].contains("row<?") || plan[0].contains("message<?"), "{sql}: {plan:?}");
        plan[0].clone()
    }
}
