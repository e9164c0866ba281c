//! What is read once, at the start of a server, to know what each caller uses.

use engine::usage::{OpenCount, StoredCount};
use protocol::ids::{FileId, TeamspaceId};
use protocol::quota::Thing;
use protocol::subscription::LISTENERS;
use rusqlite::{Connection, Result, params};

use super::rows;

/// All that is open, by owner. The cost depends on what is open, not on what ever was.
pub fn open_counts(connection: &Connection) -> Result<Vec<OpenCount>> {
    let mut counts = handoffs(connection)?;
    counts.extend(sessions(connection)?);
    counts.extend(questions(connection)?);
    for teamspace in rows::teamspaces(connection, None, usize::MAX)? {
        counts.extend(conversations(connection, &teamspace)?);
        counts.extend(subscriptions(connection, &teamspace)?);
        counts.extend(graphs(connection, &teamspace)?);
    }
    Ok(counts)
}

fn handoffs(connection: &Connection) -> Result<Vec<OpenCount>> {
    let mut all = connection.prepare(
        "SELECT teamspace, status = 'draft', from_agent, count(*) FROM handoffs
         WHERE status <> 'closed' AND status <> 'rejected' AND status <> 'completed'
         GROUP BY 1, 2, 3",
    )?;
    let counts = all.query_map([], |row| {
        let thing = if row.get(1)? { Thing::Draft } else { Thing::Handoff };
        let owner = Some(format!("agent:{}", row.get::<_, String>(2)?));
        Ok(OpenCount { teamspace: rows::parsed(row, 0)?, thing, owner, n: row.get(3)? })
    })?;
    counts.collect()
}

/// An open session has a deadline: for its questions, or for its silence.
fn sessions(connection: &Connection) -> Result<Vec<OpenCount>> {
    let mut all = connection.prepare(
        "SELECT s.teamspace, json_extract(s.state, '$.Session.producer'), count(*)
         FROM (SELECT DISTINCT teamspace, subject FROM deadlines WHERE subject GLOB 'session/*') d
         JOIN streams s ON s.teamspace = d.teamspace AND s.subject = d.subject
         WHERE json_extract(s.state, '$.Session.status') = 'open'
         GROUP BY 1, 2",
    )?;
    let counts = all.query_map([], |row| {
        let owner = Some(format!("agent:{}", row.get::<_, String>(1)?));
        let teamspace = rows::parsed(row, 0)?;
        Ok(OpenCount { teamspace, thing: Thing::Session, owner, n: row.get(2)? })
    })?;
    counts.collect()
}

/// An open question has a deadline for its answer.
fn questions(connection: &Connection) -> Result<Vec<OpenCount>> {
    let mut all = connection.prepare(
        "SELECT s.teamspace, json_extract(s.state, '$.Question.asked.asker'), count(*)
         FROM deadlines d JOIN streams s ON s.teamspace = d.teamspace AND s.subject = d.subject
         WHERE d.subject GLOB 'question/*' AND d.name = 'answer'
         GROUP BY 1, 2",
    )?;
    let counts = all.query_map([], |row| {
        let owner = Some(format!("agent:{}", row.get::<_, String>(1)?));
        let teamspace = rows::parsed(row, 0)?;
        Ok(OpenCount { teamspace, thing: Thing::Question, owner, n: row.get(2)? })
    })?;
    counts.collect()
}

fn conversations(connection: &Connection, teamspace: &TeamspaceId) -> Result<Vec<OpenCount>> {
    let mut all = connection.prepare_cached(
        "SELECT json_extract(state, '$.Conversation.setup.opened_by'), count(*)
         FROM conversations WHERE teamspace = ?1 AND status = 'open' GROUP BY 1",
    )?;
    let counts = all.query_map([teamspace.as_str()], |row| {
        let (teamspace, owner) = (teamspace.clone(), row.get(0)?);
        Ok(OpenCount { teamspace, thing: Thing::Conversation, owner, n: row.get(1)? })
    })?;
    counts.collect()
}

/// An open subscription holds a slot of its listener.
fn subscriptions(connection: &Connection, teamspace: &TeamspaceId) -> Result<Vec<OpenCount>> {
    let mut all = connection.prepare_cached(
        "SELECT substr(key, ?2 + 1, length(key) - ?2 - 4), count(*) FROM holds
         WHERE teamspace = ?1 AND key >= ?3 AND key < ?3 || char(1114111)
           AND holder IS NOT NULL
         GROUP BY 1",
    )?;
    let n_prefix = LISTENERS.len() as i64;
    let counts = all.query_map(params![teamspace.as_str(), n_prefix, LISTENERS], |row| {
        let (teamspace, owner) = (teamspace.clone(), row.get(0)?);
        Ok(OpenCount { teamspace, thing: Thing::Subscription, owner, n: row.get(1)? })
    })?;
    counts.collect()
}

fn graphs(connection: &Connection, teamspace: &TeamspaceId) -> Result<Option<OpenCount>> {
    let n = connection
        .prepare_cached(
            "SELECT count(*) FROM streams
             WHERE teamspace = ?1 AND kind = 'graph'
               AND NOT json_extract(state, '$.Graph.removed')",
        )?
        .query_row([teamspace.as_str()], |row| row.get(0))?;
    let (teamspace, thing) = (teamspace.clone(), Thing::Graph);
    Ok((n > 0).then_some(OpenCount { teamspace, thing, owner: None, n }))
}

/// The bytes of files that are kept, by who stored them.
pub fn stored_files(connection: &Connection) -> Result<Vec<StoredCount>> {
    let mut counts = Vec::new();
    for teamspace in rows::teamspaces(connection, None, usize::MAX)? {
        let mut all = connection.prepare_cached(
            "SELECT json_extract(state, '$.File.stored_by'),
                    sum(json_extract(state, '$.File.size_bytes'))
             FROM streams WHERE teamspace = ?1 AND kind = 'file'
               AND json_extract(state, '$.File.kept') = 'yes' GROUP BY 1",
        )?;
        let found = all.query_map([teamspace.as_str()], |row| {
            let (teamspace, actor) = (teamspace.clone(), row.get(0)?);
            Ok(StoredCount { teamspace, actor, n_bytes: row.get(1)? })
        })?;
        counts.extend(found.collect::<Result<Vec<_>>>()?);
    }
    Ok(counts)
}

/// The files that are kept, and their sizes.
pub fn kept_files(connection: &Connection) -> Result<Vec<KeptFile>> {
    let mut files = Vec::new();
    for teamspace in rows::teamspaces(connection, None, usize::MAX)? {
        let mut all = connection.prepare_cached(
            "SELECT substr(subject, 6), json_extract(state, '$.File.size_bytes')
             FROM streams WHERE teamspace = ?1 AND kind = 'file'
               AND json_extract(state, '$.File.kept') = 'yes' ORDER BY subject",
        )?;
        let found = all.query_map([teamspace.as_str()], |row| {
            let file = rows::parsed(row, 0)?;
            Ok(KeptFile { teamspace: teamspace.clone(), file, size_bytes: row.get(1)? })
        })?;
        files.extend(found.collect::<Result<Vec<_>>>()?);
    }
    Ok(files)
}

/// A file whose bytes are kept beside the database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeptFile {
    pub teamspace: TeamspaceId,
    pub file: FileId,
    pub size_bytes: u64,
}

/// The bytes that are kept of the entries from one to another, by who wrote them. Only the lengths
/// are read: SQLite finds them without reading the texts.
pub fn stored_counts(connection: &Connection, from: u64, to: u64) -> Result<Vec<StoredCount>> {
    let mut all = connection.prepare_cached(
        "SELECT e.teamspace, e.actor,
                sum(ifnull(octet_length(e.body), 0) + ifnull(octet_length(d.text), 0))
         FROM entries e LEFT JOIN documents d ON d.seq = e.seq
         WHERE e.seq BETWEEN ?1 AND ?2 GROUP BY 1, 2",
    )?;
    let counts = all.query_map(params![from, to], |row| {
        let teamspace = rows::parsed(row, 0)?;
        Ok(StoredCount { teamspace, actor: row.get(1)?, n_bytes: row.get(2)? })
    })?;
    counts.collect()
}

/// The size of the document that came with an entry.
pub fn document_bytes(connection: &Connection, seq: u64) -> Result<u64> {
    connection
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(text)), 0) FROM documents WHERE seq = ?1",
        )?
        .query_row([seq], |row| row.get(0))
}
