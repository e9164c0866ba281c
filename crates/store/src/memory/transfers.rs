//! What happened to each transfer, and when each person was last rung.

use std::collections::BTreeMap;

use engine::ports::transfers::{TransferList, TransferRow, TransfersOf};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Entry, Subject};
use protocol::time::Time;
use protocol::transfer::record::recorded;
use protocol::transfer::{Event, Record};

#[derive(Debug, Default)]
pub struct Transfers {
    rows: Vec<(TeamspaceId, TransferRow)>,
    last_rings: BTreeMap<(TeamspaceId, AgentId), Time>,
}

impl Transfers {
    pub fn apply(&mut self, seq: u64, entry: &Entry) {
        let teamspace = &entry.stream.teamspace;
        let (Subject::Conversation(conversation), Some(event)) =
            (&entry.stream.subject, recorded(entry))
        else {
            return;
        };
        if let Event::Ringing(ringing) = &event {
            let key = (teamspace.clone(), ringing.agent.clone());
            let last = self.last_rings.entry(key).or_insert(entry.at);
            *last = entry.at.max(*last);
        }
        if let Event::Requested(requested) = &event {
            let (row, conversation) = (seq, *conversation);
            let record = Record::requested(requested, entry.at);
            self.rows.push((teamspace.clone(), TransferRow { row, conversation, record }));
            return;
        }
        let is_it = |(of, row): &&mut (TeamspaceId, TransferRow)| {
            of == teamspace && row.record.transfer == event.transfer()
        };
        if let Some((_, row)) = self.rows.iter_mut().rev().find(is_it) {
            row.record.apply(&event, &entry.actor, entry.at);
        }
    }

    pub fn list(&self, list: &TransferList) -> Vec<TransferRow> {
        let own = self.rows.iter().filter(|(teamspace, _)| *teamspace == list.teamspace);
        let mut rows: Vec<&TransferRow> = own.map(|(_, row)| row).collect();
        let order = |row: &TransferRow| (row.record.requested_at, row.row);
        let after =
            list.after.map(|after| rows.iter().find(|row| row.row == after).map(|row| order(row)));
        match &list.of {
            TransfersOf::One(id) => rows.retain(|row| row.record.transfer == *id),
            TransfersOf::WaitingIn(queue) => {
                rows.retain(|it| it.record.queue == *queue && it.record.waiting_since.is_some());
                rows.sort_by_key(|row| row.record.waiting_since);
            }
            TransfersOf::Requested { since, until } => {
                rows.retain(|row| (*since..*until).contains(&row.record.requested_at));
                let is_after =
                    |row: &TransferRow| after.is_none_or(|it| it.is_some_and(|it| order(row) > it));
                rows.retain(|row| is_after(row));
                rows.sort_by_key(|row| order(row));
            }
            TransfersOf::Matching(filter) => {
                rows.retain(|row| filter.matches(row));
                let is_before =
                    |row: &TransferRow| after.is_none_or(|it| it.is_some_and(|it| order(row) < it));
                rows.retain(|row| is_before(row));
                rows.sort_by_key(|row| std::cmp::Reverse(order(row)));
            }
        }
        rows.into_iter().take(list.limit).cloned().collect()
    }

    pub fn last_rings(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Vec<(AgentId, Time)> {
        let own = self.last_rings.iter().filter(|((of, _), _)| of == teamspace);
        let wanted = own.filter(|((_, agent), _)| after.is_none_or(|after| agent > after));
        wanted.take(limit).map(|((_, agent), at)| (agent.clone(), *at)).collect()
    }
}
