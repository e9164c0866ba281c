//! The holds of sessions: which ids were used, and by which event; which requested handoffs have a
//! result. Each follows from an entry, and is compared when that entry is read. Those that belong
//! to no entry are counted at the end.

use engine::ports::store::StoreError;
use protocol::audit::EntryPlace;
use protocol::ledger::{Entry, Subject};
use protocol::session;
use protocol::session::event::{Announced, Handover};
use protocol::session::state::{EventPlace, handed_key, handover_key, keys_of_recorded};
use protocol::step::Event;
use store::sqlite::ReadOnly;

use super::derived_rows::state_of;
use super::report::Findings;

/// The first words of their keys.
pub const KINDS: [&str; 6] = ["said", "call", "output", "reply", "handover", "handed"];

#[derive(Debug)]
pub struct SessionHolds<'d> {
    database: &'d ReadOnly,
    /// Holds that an entry explains.
    n_explained: u64,
    /// What an erased entry explains cannot be told.
    has_erased: bool,
}

impl<'d> SessionHolds<'d> {
    pub fn of(database: &'d ReadOnly) -> Self {
        Self { database, n_explained: 0, has_erased: false }
    }

    pub fn check(
        &mut self,
        seq: u64,
        entry: &Entry,
        event: Option<&Event>,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let Subject::Session(_) = &entry.stream.subject else { return Ok(()) };
        let missing = match event {
            Some(Event::Session(session::Event::Announced(it))) => self.announced(entry, it)?,
            Some(Event::Session(session::Event::HandedOver(it))) => self.handed_over(entry, it)?,
            Some(_) => None,
            None => {
                self.has_erased = true;
                None
            }
        };
        if let Some(key) = missing {
            let what = format_args!("the use of {key} is not as it should be");
            findings.about(EntryPlace::of(seq, entry), what);
        }
        Ok(())
    }

    /// Returns a key that should be used by one of the events, and is not.
    fn announced(&mut self, entry: &Entry, it: &Announced) -> Result<Option<String>, StoreError> {
        let Subject::Session(id) = &entry.stream.subject else { return Ok(None) };
        let mut missing = None;
        for (index, said) in it.events.iter().enumerate() {
            let place = EventPlace { position: entry.position, index }.to_string();
            for key in keys_of_recorded(id, said.text()) {
                let hold = self.database.hold(&entry.stream.teamspace, &key)?;
                let used_by = hold.value.as_deref().filter(|_| hold.holder.is_none());
                let used_by = used_by.unwrap_or_default();
                let is_here = used_by
                    .strip_prefix(&place)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
                self.n_explained += u64::from(is_here);
                // The server's own words use no ids. Calls and outputs are used by one of several
                // events that name them.
                let is_sure = ["said/", "reply/"].iter().any(|kind| key.starts_with(kind));
                if is_sure && !is_here && entry.actor.starts_with("agent:") {
                    missing = Some(key);
                }
            }
        }
        Ok(missing)
    }

    fn handed_over(&mut self, entry: &Entry, it: &Handover) -> Result<Option<String>, StoreError> {
        let Subject::Session(id) = &entry.stream.subject else { return Ok(None) };
        let outcome = it.outcome.as_str();
        let mut expected = vec![(handover_key(id, &it.event_id), outcome.to_owned())];
        let state = state_of(self.database, &entry.stream)?;
        let session = state.as_ref().and_then(|state| state.as_session());
        if let (Some(conversation), Some(number)) =
            (session.and_then(|session| session.conversation), it.number)
        {
            let value = format!("{id} {} {outcome}", it.event_id);
            expected.push((handed_key(conversation, number), value));
        }
        for (key, value) in expected {
            if self.database.hold(&entry.stream.teamspace, &key)?.value != Some(value) {
                return Ok(Some(key));
            }
            self.n_explained += 1;
        }
        Ok(None)
    }

    /// After the last entry: how many of these holds exist.
    pub fn finish(self, n_rows: u64, findings: &mut Findings) {
        let n_extra = n_rows.saturating_sub(self.n_explained);
        if n_extra > 0 && !self.has_erased {
            findings.general(format_args!("{n_extra} holds of sessions follow from nothing"));
        }
    }
}
