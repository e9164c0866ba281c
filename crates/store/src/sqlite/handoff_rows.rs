//! The lists of handoffs.

use engine::ports::store::{HandoffFilter, List, Listed};
use protocol::handoff::Status;
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params_from_iter};

use super::rows::{count, listed, readable, row_below};

pub fn list(connection: &Connection, list: &List, filter: &HandoffFilter) -> Result<Vec<Listed>> {
    let (sql, values) = handoffs_query(list, filter);
    readable(connection.prepare_cached(&sql)?.query_map(params_from_iter(values), listed)?)
}

/// Each combination of filters finds its rows in order in an index; a test checks the query plan.
/// All open ones are found by merging the lists of the open statuses.
fn handoffs_query(list: &List, filter: &HandoffFilter) -> (String, Vec<Value>) {
    let is_narrow = filter.task_id.is_some()
        || filter.from_agent.is_some()
        || filter.to_agent.is_some()
        || filter.status.is_some();
    let statuses: Vec<Option<Status>> = match filter.is_open && !is_narrow {
        true => Status::ALL.into_iter().filter(|it| *it != Status::Closed).map(Some).collect(),
        false => vec![filter.status],
    };
    let mut values = Vec::new();
    let parts = statuses.into_iter().map(|status| {
        let filter = HandoffFilter { status, ..filter.clone() };
        handoffs_part(list, &filter, &mut values)
    });
    let mut sql = parts.collect::<Vec<_>>().join(" UNION ALL ");
    sql.push_str(" ORDER BY row DESC LIMIT ?");
    values.push(Value::from(count(list.limit)));
    (sql, values)
}

fn handoffs_part(list: &List, filter: &HandoffFilter, values: &mut Vec<Value>) -> String {
    let mut sql =
        "SELECT row, teamspace, 'handoff/' || id, state, position, last_seq, at, head, mac
                   FROM handoffs WHERE teamspace = ? AND row < ?"
            .to_owned();
    values.extend([Value::from(list.teamspace.to_string()), row_below(list)]);
    // Named in the query so that the index of the open ones can be used for it.
    if filter.is_open || filter.status.is_some_and(|status| status != Status::Closed) {
        sql.push_str(" AND status <> 'closed'");
    }
    // The open ones are few, and those of one agent in all of history may be many: the signs keep
    // SQLite from the index by agent.
    if let Some(party) = &filter.party {
        sql.push_str(" AND (+from_agent = ? OR +to_agent = ?)");
        values.extend([party, party].map(|party| Value::from(party.to_string())));
    }
    let wanted = [
        ("task_id", filter.task_id.as_ref().map(ToString::to_string)),
        ("from_agent", filter.from_agent.as_ref().map(ToString::to_string)),
        ("to_agent", filter.to_agent.as_ref().map(ToString::to_string)),
        ("status", filter.status.map(|status| status.to_string())),
    ];
    for (column, value) in wanted {
        if let Some(value) = value {
            sql.push_str(&format!(" AND {column} = ?"));
            values.push(Value::from(value));
        }
    }
    sql
}

#[cfg(test)]
mod tests {
    use engine::ports::store::ListOf;
    use protocol::ids::TeamspaceId;

    use super::*;

    #[test]
    fn no_list_sorts_or_scans() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::sqlite::migrate::run(&mut connection, "test".as_ref()).unwrap();
        crate::sqlite::keep_plans(&connection).unwrap();
        let statuses = [None, Some("proposed"), Some("closed")];
        for choice in 0..24 {
            let wants = |bit: u32| (choice / 3) & (1 << bit) != 0;
            let filter = HandoffFilter {
                task_id: wants(0).then(|| "T-1".parse().unwrap()),
                from_agent: wants(1).then(|| "alice".parse().unwrap()),
                to_agent: wants(2).then(|| "bob".parse().unwrap()),
                status: statuses[choice % 3].map(|status| status.parse().unwrap()),
                ..HandoffFilter::default()
            };
            let plan = plan_of(&connection, &filter);
            let [step] = plan.as_slice() else { panic!("{filter:?}: {plan:?}") };
            assert!(step.contains("USING INDEX") && step.contains("row<?"), "{filter:?}: {step}");
        }
        for party in [None, Some("bob".parse().unwrap())] {
            let open = HandoffFilter { is_open: true, party, ..HandoffFilter::default() };
            let plan = plan_of(&connection, &open);
            let is_merged =
                |step: &&String| step.contains("handoffs_open") && step.contains("row<?");
            let n_lists = plan.iter().filter(is_merged).count();
            assert_eq!(n_lists, Status::ALL.len() - 1, "{plan:?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
        }
    }

    fn plan_of(connection: &Connection, filter: &HandoffFilter) -> Vec<String> {
        let teamspace = TeamspaceId::default_teamspace();
        let of = ListOf::Handoffs(filter.clone());
        let list = List { teamspace, of, before: None, limit: 50 };
        let (sql, values) = handoffs_query(&list, filter);
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let plan = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
        plan.map(|step| step.unwrap()).collect()
    }
}
