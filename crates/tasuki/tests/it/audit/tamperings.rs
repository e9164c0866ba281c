//! Every table, row by row and column by column: what is written past the server is found, or it is
//! listed here with the reason why it has no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde_json::json;
use store::sqlite::FILE_NAME;
use tasuki::audit::{Options, Source, verify};
use tasuki::client::Call;
use tempfile::TempDir;

use super::ledger::{copy_folder, findings, report};
use crate::aaep::bank::Bank;
use crate::power_loss::Random;
use crate::server::{Server, act, initiate, is_full_run, ok, seed};

/// What `verify` cannot tell, and why that does no harm.
const WITHOUT_EFFECT: [(&str, &str, &str); 12] = [
    ("outcomes", "at", "it decides when the row is removed, within a week"),
    ("outcomes", "remove", "a retry is decided again, and the record shows it"),
    ("outbox", "attempts", "it decides when the server gives up, which is listed"),
    ("outbox", "error", "it is shown beside an effect that is not done"),
    ("outbox", "due", "it decides when the next try is, within two hours"),
    ("outbox", "leased_until", "it decides when the next try is, within two hours"),
    ("handoffs", "row", "it decides the order of lists"),
    ("streams", "row", "it decides the order of lists"),
    ("places", "seq", "moved back, it repeats what is safe to repeat; the record is untouched"),
    ("places", "follower", "no loop has that name; its own begins again, as below"),
    ("places", "remove", "the loop begins again, and repeats what is safe to repeat"),
    ("places", "add", "no loop has that name"),
];

/// Of the numbers in a text, so many are changed.
const NUMBERS_MAX: usize = 6;

/// A folder with rows in every table, and two teamspaces.
async fn lively_folder(data: &Path) {
    let server = Server::start_on(data, |command| {
        command.env("TASUKI_MESSAGES_WAKE_PRIVATE_ADDRESSES", "true");
    });
    let bank = Bank::with(server).await;
    let (server, root) = (&bank.server, &bank.operator);
    bank.announce(&bank.story.opening(300)).await;
    let other =
        server.with_token(&server.token("root", &["--kind", "operator", "--teamspace", "other"]));
    ok(&other, Call::put("/v1/agents/alice", json!({ "kind": "worker" }))).await;
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let first = initiate(&alice, "T-1", "bob").await;
    act(&bob, &first, "accept", json!({})).await;
    initiate(&bob, "T-2", "alice").await;
    ok(root, Call::put("/v1/agents/bob/wake", json!({ "url": "http://127.0.0.1:9/" }))).await;
    for to in ["bob", "alice"] {
        let message = json!({ "to": [to], "type": "status.blocked", "priority": "critical",
                              "payload": { "text": "hello" } });
        ok(&alice, Call::post("/v1/acp/messages", message)).await;
    }
    ok(root, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    for _ in 0..2 {
        let opened = ok(&alice, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
        let path = format!("/v1/conversations/{}", opened["conversation_id"].as_str().unwrap());
        let customer = server.with_token(opened["customer_token"].as_str().unwrap());
        let say = json!({ "parts": [{ "type": "text", "text": "hello" }] });
        ok(&customer, Call::post(format!("{path}/messages"), say)).await;
        ok(&customer, Call::post(format!("{path}/transfers"), json!({}))).await;
    }
    ok(root, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let hana = server.agent("hana");
    ok(&hana, Call::put("/v1/agents/hana/presence", json!({ "presence": "available" }))).await;
    let ringing = Call::get("/v1/transfers?ringing_for=me");
    while ok(&hana, ringing.clone()).await["items"] == json!([]) {}
    assert_eq!(server.stop(), Some(0));
}

/// The statements of `tamperings.sql`, by name.
fn statement(name: &str) -> &'static str {
    let mut lines = include_str!("tamperings.sql").lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap()
}

struct Table {
    name: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

struct Column {
    name: String,
    kind: String,
    is_key: bool,
}

/// One change by SQL.
struct Tampering {
    table: String,
    /// A column, or what is done to the row.
    what: String,
    label: String,
    sql: String,
    values: Vec<Value>,
}

fn tables(connection: &Connection) -> Vec<Table> {
    let mut names = connection.prepare(statement("tables")).unwrap();
    let names = names.query_map([], |row| row.get(0)).unwrap();
    let table = |name: rusqlite::Result<String>| {
        let name = name.unwrap();
        let mut info = connection.prepare(&format!("PRAGMA table_info({name})")).unwrap();
        let columns = info.query_map([], |row| {
            let is_key = row.get::<_, i64>(5)? > 0;
            Ok(Column { name: row.get(1)?, kind: row.get(2)?, is_key })
        });
        let columns: Vec<Column> = columns.unwrap().map(|column| column.unwrap()).collect();
        let mut all = connection.prepare(&statement("all").replace("{table}", &name)).unwrap();
        let n_columns = columns.len();
        let rows = all.query_map([], |row| (0..n_columns).map(|index| row.get(index)).collect());
        let rows = rows.unwrap().map(|row| row.unwrap()).collect();
        Table { name, columns, rows }
    };
    names.map(table).collect()
}

impl Table {
    /// The rows that are tampered with: of each group, which is made by the first word of every
    /// text that names a kind.
    fn sample(&self) -> Vec<&Vec<Value>> {
        let group_by = match self.name.as_str() {
            "streams" => "kind",
            "entries" => "name",
            "holds" => "key",
            "handoffs" | "messages" | "conversations" | "parties" => "status",
            "outcomes" => "caller",
            _ => &self.columns[0].name,
        };
        let column = self.columns.iter().position(|column| column.name == group_by).unwrap();
        let mut seen = BTreeSet::new();
        let is_new = |row: &&Vec<Value>| {
            let group = format!("{:?}", row[column]);
            seen.insert(group.split('/').next().unwrap().to_owned())
        };
        self.rows.iter().filter(is_new).collect()
    }

    fn tamperings(&self) -> Vec<Tampering> {
        let mut all = Vec::new();
        for row in self.sample() {
            for (index, column) in self.columns.iter().enumerate() {
                let value = &row[index];
                let mut values = vec![altered(value, &column.kind)];
                values.extend(with_other_numbers(value));
                let others = self.rows.iter().map(|other| &other[index]);
                values.extend(others.filter(|other| *other != value).take(1).cloned());
                values.extend((*value != Value::Null).then_some(Value::Null));
                if column.name == "teamspace" {
                    values.push(Value::Text("other".to_owned()));
                }
                for next in values {
                    let sql = statement("change").replace("{column}", &column.name);
                    all.push(self.tampering(&column.name, row, &sql, vec![next]));
                }
            }
            all.push(self.tampering("remove", row, statement("remove"), Vec::new()));
            let mut copy = row.clone();
            let key = self.columns.iter().rposition(|column| column.is_key).unwrap();
            copy[key] = altered(&copy[key], &self.columns[key].kind);
            let slots: Vec<String> = (1..=copy.len()).map(|number| format!("?{number}")).collect();
            let sql = statement("add").replace("{values}", &slots.join(", "));
            let sql = sql.replace("{table}", &self.name);
            let label = format!("{} add {copy:?}", self.name);
            let (table, what) = (self.name.clone(), "add".to_owned());
            all.push(Tampering { table, what, label, sql, values: copy });
        }
        all
    }

    fn tampering(&self, what: &str, row: &[Value], sql: &str, mut values: Vec<Value>) -> Tampering {
        let label = format!("{} {what} {values:?} of {row:?}", self.name);
        let keys = self.columns.iter().zip(row).filter(|(column, _)| column.is_key);
        let mut condition = Vec::new();
        for (column, value) in keys {
            values.push(value.clone());
            condition.push(format!("{} IS ?{}", column.name, values.len()));
        }
        let sql = sql.replace("{table}", &self.name).replace("{row}", &condition.join(" AND "));
        Tampering { table: self.name.clone(), what: what.to_owned(), label, sql, values }
    }
}

fn altered(value: &Value, kind: &str) -> Value {
    match (value, kind) {
        (Value::Integer(number), _) => Value::Integer(number + 1),
        (Value::Text(text), _) => Value::Text(format!("{text}x")),
        (Value::Blob(bytes), _) => Value::Blob(bytes.iter().map(|byte| byte ^ 1).collect()),
        (Value::Null, "INTEGER") => Value::Integer(1),
        (Value::Null, "BLOB") => Value::Blob(vec![7; 16]),
        (Value::Null | Value::Real(_), _) => Value::Text("x".to_owned()),
    }
}

/// The same text with another last digit in one of its numbers, which only the rules can notice.
fn with_other_numbers(value: &Value) -> Vec<Value> {
    let Value::Text(text) = value else { return Vec::new() };
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let ends = (0..text.len()).filter(|at| is_digit(*at) && !is_digit(at + 1));
    let other = |at: usize| {
        let digit = if text.as_bytes()[at] == b'0' { "1" } else { "0" };
        Value::Text(format!("{}{digit}{}", &text[..at], &text[at + 1..]))
    };
    ends.take(NUMBERS_MAX).map(other).collect()
}

#[tokio::test]
async fn what_is_written_past_the_server_is_found_in_every_table() {
    let made = tempfile::tempdir().unwrap();
    let data = made.path().join("data");
    lively_folder(&data).await;
    assert_eq!(findings(&report(&data)), "");
    let connection = Connection::open(data.join(FILE_NAME)).unwrap();
    let tables = tables(&connection);
    drop(connection);
    for table in &tables {
        assert!(!table.rows.is_empty(), "{} has no rows to tamper with", table.name);
    }
    let mut all: Vec<Tampering> = tables.iter().flat_map(Table::tamperings).collect();
    for name in SCHEMA {
        let (label, sql) = (format!("schema {name}"), statement(name).to_owned());
        let (table, what) = ("schema".to_owned(), name.to_owned());
        all.push(Tampering { table, what, label, sql, values: Vec::new() });
    }
    let mut n_found: BTreeMap<String, usize> = BTreeMap::new();
    let (mut n_refused, mut missed) = (0, Vec::new());
    for one in &all {
        let folder = copied(&data);
        let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        let changed = match one.values.is_empty() {
            true => connection.execute_batch(&one.sql).map(|()| 1),
            false => connection.execute(&one.sql, params_from_iter(&one.values)),
        };
        drop(connection);
        if changed.is_err() {
            // The schema itself does not allow it.
            n_refused += 1;
            continue;
        }
        assert_eq!(changed, Ok(1), "{}", one.label);
        if !report(folder.path()).is_sound() {
            *n_found.entry(one.table.clone()).or_default() += 1;
        } else if !has_no_effect(one) {
            missed.push(one.label.clone());
        }
    }
    assert!(missed.is_empty(), "{} of {}\n{}", missed.len(), all.len(), missed.join("\n"));
    let n_all: usize = n_found.values().sum();
    println!("{} tried, {n_all} found, {n_refused} refused by the schema: {n_found:?}", all.len());
    assert!(n_all >= 150, "{n_all} found, {n_refused} refused by the schema: {n_found:?}");
    assert_eq!(n_found.len(), tables.len(), "{n_found:?}");
}

/// Tampering with the schema, by the names of the statements.
const SCHEMA: [&str; 8] = [
    "trigger",
    "view",
    "new_view",
    "index",
    "new_index",
    "no_longer_unique",
    "new_table",
    "new_column",
];

fn has_no_effect(one: &Tampering) -> bool {
    WITHOUT_EFFECT.iter().any(|(table, what, _)| (*table, *what) == (&*one.table, &*one.what))
}

fn copied(data: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(data, folder.path());
    folder
}

/// Random flips of one bit anywhere in the file: each is found, or the file still says the same.
#[tokio::test]
async fn a_flipped_bit_is_found_or_changes_nothing() {
    let made = tempfile::tempdir().unwrap();
    let data = made.path().join("data");
    lively_folder(&data).await;
    let path = data.join(FILE_NAME);
    // Into one file, so that every bit of it counts.
    let connection = Connection::open(&path).unwrap();
    let fold = "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;";
    connection.execute_batch(fold).unwrap();
    let content = said(&connection).unwrap();
    drop(connection);
    let sound = fs::read(&path).unwrap();
    let filled: Vec<usize> = (0..sound.len()).filter(|at| sound[*at] != 0).collect();
    let mut random = Random::from_seed(seed("a_flipped_bit_is_found_or_changes_nothing"));
    let n_flips = if is_full_run() { 500 } else { 100 };
    let (mut n_found, mut n_unused) = (0, 0);
    for flip in 0..n_flips {
        // Half of the file is empty; every other flip is where there is something.
        let byte = match flip % 2 {
            0 => random.below(sound.len()),
            _ => filled[random.below(filled.len())],
        };
        let bit = random.below(8);
        let folder = copied(&data);
        let mut bytes = sound.clone();
        bytes[byte] ^= 1 << bit;
        fs::write(folder.path().join(FILE_NAME), &bytes).unwrap();
        let source = Source::Data(folder.path().to_owned());
        match verify(&source, &Options::default(), &mut |_, _| {}) {
            Ok(report) if report.is_sound() => {
                let connection = Connection::open(folder.path().join(FILE_NAME)).unwrap();
                let now = said(&connection);
                assert_eq!(now.as_ref(), Some(&content), "bit {bit} of byte {byte}");
                n_unused += 1;
            }
            Ok(_) | Err(_) => n_found += 1,
        }
    }
    println!("{n_found} of {n_flips} found, {n_unused} in unused space");
    assert!(n_found > n_flips / 4, "{n_found} found, {n_unused} in unused space");
}

/// All that a file says, or `None` if it cannot be read.
fn said(connection: &Connection) -> Option<String> {
    let all = std::panic::catch_unwind(AssertUnwindSafe(|| tables(connection))).ok()?;
    let counts = |table: &Table, column: &Column| {
        let known =
            |(name, what, _): &(&str, &str, &str)| *name == table.name && *what == column.name;
        !WITHOUT_EFFECT.iter().any(known)
    };
    let mut said = String::new();
    for table in &all {
        for row in &table.rows {
            let columns = table.columns.iter().zip(row);
            let counted: Vec<_> = columns.filter(|(column, _)| counts(table, column)).collect();
            let values: Vec<_> = counted.into_iter().map(|(_, value)| value).collect();
            said.push_str(&format!("{} {values:?}\n", table.name));
        }
    }
    Some(said)
}
