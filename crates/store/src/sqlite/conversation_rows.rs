//! The rows of conversations: their snapshots, which entries are the lines of their transcripts,
//! and the lists of both.

use engine::ports::store::{
    Commit, ConversationFilter, List, Listed, Place, Sequenced, WAITING_COUNT_MAX, within_read,
};
use protocol::conversation::Conversation;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::transfer::Transfer;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, params, params_from_iter};

use super::rows::{count, listed, number, readable, row_below, sequenced};
use super::transfer_rows;

/// Writes the snapshot, the new lines of the transcript, and what happened to its transfer.
/// Returns the row.
pub fn put(
    connection: &Connection,
    commit: &Commit,
    conversation: &Conversation,
    known: Option<i64>,
    last_seq: u64,
) -> Result<i64> {
    let last = commit.entries.last().expect("a commit has entries");
    let transfer = conversation.open_transfer();
    let waiting = transfer.and_then(Transfer::waiting);
    let callback = conversation.callback.as_deref();
    connection
        .prepare_cached(
            "INSERT INTO conversations (row, teamspace, id, holder, status, opened_at, position,
                                        last_seq, head, at, state, waits_in, waits_order, asked,
                                        calls_in, calls_at, mac)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
             ON CONFLICT (row) DO UPDATE SET
                holder = excluded.holder, status = excluded.status,
                position = excluded.position, last_seq = excluded.last_seq,
                head = excluded.head, at = excluded.at, state = excluded.state,
                waits_in = excluded.waits_in, waits_order = excluded.waits_order,
                asked = excluded.asked, calls_in = excluded.calls_in,
                calls_at = excluded.calls_at, mac = excluded.mac",
        )?
        .execute(params![
            known,
            commit.stream.teamspace.as_str(),
            conversation.id.to_string(),
            conversation.holder.as_str(),
            conversation.status().as_str(),
            conversation.opened_at.as_millis(),
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            commit.state_text,
            waiting.as_ref().map(|waiting| waiting.queue.as_str()),
            waiting.as_ref().map(|waiting| waiting.order.as_millis()),
            transfer.and_then(Transfer::asked).map(AgentId::as_str),
            callback.map(|callback| callback.queue.as_str()),
            callback.map(|callback| callback.due().as_millis()),
            commit.mac,
        ])?;
    let row = known.unwrap_or_else(|| connection.last_insert_rowid());
    let first_seq = last_seq + 1 - commit.entries.len() as u64;
    for line in &commit.transcript {
        connection
            .prepare_cached(
                "INSERT INTO transcript (conversation, number, seq) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![row, line.number, first_seq + line.event as u64])?;
    }
    transfer_rows::put(connection, commit, last_seq)?;
    Ok(row)
}

/// Lines in order, each found by its number.
pub fn transcript(
    connection: &Connection,
    stream: &Stream,
    after: u64,
    limit: usize,
) -> Result<Vec<Sequenced>> {
    let values =
        params![stream.teamspace.as_str(), stream.subject.id(), number(after), count(limit)];
    within_read(connection.prepare_cached(TRANSCRIPT)?.query_map(values, sequenced)?)
}

const TRANSCRIPT: &str = "SELECT e.seq, e.teamspace, e.subject, e.position, e.name, e.version,
       e.actor, e.at, e.salt, e.body, e.commitment, e.hash, e.prev_seq
  FROM conversations c
  CROSS JOIN transcript t ON t.conversation = c.row
  CROSS JOIN entries e ON e.seq = t.seq
 WHERE c.teamspace = ?1 AND c.id = ?2 AND t.number > ?3
   AND e.teamspace = ?1 AND e.subject = 'conversation/' || ?2
 ORDER BY t.number LIMIT ?4";

pub fn list(
    connection: &Connection,
    list: &List,
    filter: &ConversationFilter,
) -> Result<Vec<Listed>> {
    let (sql, values) = query(list, filter);
    readable(connection.prepare_cached(&sql)?.query_map(params_from_iter(values), listed)?)
}

/// Rows come in order out of one index; a test checks the query plan.
fn query(list: &List, filter: &ConversationFilter) -> (String, Vec<Value>) {
    let mut sql = "SELECT row, teamspace, 'conversation/' || id, state, position, last_seq, at,
                          head, mac
                   FROM conversations WHERE teamspace = ? AND row < ?"
        .to_owned();
    let mut values = vec![Value::from(list.teamspace.to_string()), row_below(list)];
    let wanted = [
        ("holder", filter.holder.as_ref().map(ToString::to_string)),
        ("asked", filter.asked.as_ref().map(ToString::to_string)),
        ("status", filter.status.map(|status| status.as_str().to_owned())),
    ];
    for (column, value) in wanted {
        if let Some(value) = value {
            sql.push_str(&format!(" AND {column} = ?"));
            values.push(Value::from(value));
        }
    }
    sql.push_str(" ORDER BY row DESC LIMIT ?");
    values.push(Value::from(count(list.limit)));
    (sql, values)
}

pub fn waiting_queues(
    connection: &Connection,
    teamspace: &TeamspaceId,
    after: Option<&AgentId>,
    limit: usize,
) -> Result<Vec<AgentId>> {
    let after = after.map_or("", AgentId::as_str);
    let names: Vec<String> = connection
        .prepare_cached(WAITING_QUEUES)?
        .query_map(params![teamspace.as_str(), after, count(limit)], |row| row.get(0))?
        .collect::<Result<_>>()?;
    Ok(names.into_iter().filter_map(|queue| queue.parse().ok()).collect())
}

const WAITING_QUEUES: &str = "SELECT DISTINCT waits_in FROM conversations
 WHERE teamspace = ?1 AND waits_in > ?2 ORDER BY waits_in LIMIT ?3";

/// One step of the index for each queue, however many customers it shall call.
pub fn calling_queues(
    connection: &Connection,
    teamspace: &TeamspaceId,
    after: Option<&AgentId>,
    limit: usize,
) -> Result<Vec<AgentId>> {
    let mut next = connection.prepare_cached(NEXT_CALLING_QUEUE)?;
    let mut last = after.map(ToString::to_string).unwrap_or_default();
    let mut found = Vec::new();
    while found.len() < limit {
        let name: Option<String> =
            next.query_row(params![teamspace.as_str(), last], |row| row.get(0)).optional()?;
        let Some(name) = name else { break };
        found.extend(name.parse().ok());
        last = name;
    }
    Ok(found)
}

const NEXT_CALLING_QUEUE: &str = "SELECT calls_in FROM conversations
 WHERE teamspace = ?1 AND calls_in > ?2 ORDER BY calls_in LIMIT 1";

pub fn waiting(
    connection: &Connection,
    teamspace: &TeamspaceId,
    queue: &AgentId,
    after: Option<Place>,
    limit: usize,
) -> Result<Vec<Listed>> {
    let (order, id) = match after {
        Some((order, id)) => (order.as_millis(), id.to_string()),
        None => (i64::MIN, String::new()),
    };
    let values = params![teamspace.as_str(), queue.as_str(), order, id, count(limit)];
    readable(connection.prepare_cached(WAITING)?.query_map(values, listed)?)
}

const WAITING: &str = "SELECT row, teamspace, 'conversation/' || id, state, position, last_seq, at,
       head, mac
  FROM conversations
 WHERE teamspace = ?1 AND waits_in = ?2 AND (waits_order, id) > (?3, ?4)
 ORDER BY waits_order, id LIMIT ?5";

pub fn callbacks(
    connection: &Connection,
    teamspace: &TeamspaceId,
    queue: &AgentId,
    limit: usize,
) -> Result<Vec<Listed>> {
    let values = params![teamspace.as_str(), queue.as_str(), count(limit)];
    readable(connection.prepare_cached(CALLBACKS)?.query_map(values, listed)?)
}

const CALLBACKS: &str =
    "SELECT row, teamspace, 'conversation/' || id, state, position, last_seq, at, head, mac
  FROM conversations WHERE teamspace = ?1 AND calls_in = ?2
 ORDER BY calls_at, id LIMIT ?3";

pub fn n_waiting(
    connection: &Connection,
    teamspace: &TeamspaceId,
    queue: &AgentId,
    before: Option<Place>,
) -> Result<usize> {
    let (order, id) = match before {
        Some((order, id)) => (order.as_millis(), id.to_string()),
        None => (i64::MAX, String::new()),
    };
    let n: i64 = connection.prepare_cached(N_WAITING)?.query_row(
        params![teamspace.as_str(), queue.as_str(), order, id, count(WAITING_COUNT_MAX)],
        |row| row.get(0),
    )?;
    Ok(usize::try_from(n).unwrap_or_default())
}

const N_WAITING: &str = "SELECT count(*) FROM (SELECT 1 FROM conversations
 WHERE teamspace = ?1 AND waits_in = ?2 AND (waits_order, id) < (?3, ?4) LIMIT ?5)";

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ports::store::ListOf;
    use protocol::conversation::Status;

    #[test]
    fn nothing_sorts_or_scans() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::sqlite::migrate::run(&mut connection, "test".as_ref()).unwrap();
        crate::sqlite::keep_plans(&connection).unwrap();
        for choice in 0..8_u32 {
            let filter = ConversationFilter {
                holder: (choice & 1 != 0).then(|| "alice".parse().unwrap()),
                status: (choice & 2 != 0).then_some(Status::Open),
                asked: (choice & 4 != 0).then(|| "hana".parse().unwrap()),
            };
            let teamspace = TeamspaceId::default_teamspace();
            let of = ListOf::Conversations(filter.clone());
            let (sql, values) = query(&List { teamspace, of, before: None, limit: 50 }, &filter);
            let plan = plan(&connection, &sql, values);
            let [step] = plan.as_slice() else { panic!("{filter:?}: {plan:?}") };
            assert!(step.contains("USING INDEX") && step.contains("row<?"), "{filter:?}: {step}");
        }
        let values = ["default", "id"].map(|text| Value::from(text.to_owned()));
        let values = values.into_iter().chain([Value::from(9), Value::from(50)]).collect();
        let plan = plan(&connection, TRANSCRIPT, values);
        assert!(plan.iter().all(|step| step.starts_with("SEARCH")), "{plan:?}");
        assert!(plan[1].contains("number>?"), "{plan:?}");
        let queue = ["default", "support"].map(|text| Value::from(text.to_owned()));
        let place = [Value::from(9), Value::from("id".to_owned())];
        let limit = [Value::from(50)];
        let waiting: Vec<Value> = queue.iter().chain(&limit).cloned().collect();
        let counted: Vec<Value> = queue.iter().chain(&place).chain(&limit).cloned().collect();
        let callbacks = (CALLBACKS, waiting.clone(), "conversations_callbacks");
        let calling = (NEXT_CALLING_QUEUE, queue.to_vec(), "conversations_callbacks");
        for (sql, values, index) in [
            (WAITING_QUEUES, waiting, "conversations_waiting"),
            (WAITING, counted.clone(), "conversations_waiting"),
            (N_WAITING, counted, "conversations_waiting"),
            callbacks,
            calling,
        ] {
            let plan = self::plan(&connection, sql, values);
            let by_index = |step: &String| step.contains(index);
            assert!(plan.iter().any(by_index), "{plan:?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
        }
    }

    fn plan(connection: &Connection, sql: &str, values: Vec<Value>) -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
        plan.map(|step| step.unwrap()).collect()
    }
}
