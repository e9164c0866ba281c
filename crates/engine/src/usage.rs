//! What each teamspace and each principal in it uses now, against its quotas. Everything takes the
//! road, so everything is counted there: a change is counted before it is committed, and taken back
//! if the commit fails. It is all in memory. At the start, what is open is counted before the first
//! command, and what is stored in the background ([`fill`]).

mod fill;
pub mod report;
mod reservation;
mod share;
mod teamspace;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::caller::{Caller, Principal};
use protocol::file::File;
use protocol::ids::TeamspaceId;
use protocol::quota::{Limits, Quota, counted};
use protocol::rejection::Rejection;
use protocol::step::{Change, Command, State};
use protocol::time::Time;

pub use fill::{OpenCount, StoredCount};
pub(crate) use reservation::Reservation;
pub(crate) use teamspace::RoomFor;
use teamspace::{Owned, TeamspaceUsage, Written};

#[derive(Debug)]
pub struct Usage {
    defaults: Limits,
    known: Mutex<HashMap<TeamspaceId, TeamspaceUsage>>,
    /// Whether the rest of the disk is for operators and for what ends something.
    is_reserved: AtomicBool,
    /// Whether what was stored before the start is still being counted.
    is_counting: AtomicBool,
    /// Refusals by quota, and because of the disk.
    refused: [AtomicU64; Quota::ALL.len()],
    refused_for_disk: AtomicU64,
}

impl Usage {
    pub fn new(defaults: Limits) -> Self {
        Self {
            defaults,
            known: Mutex::default(),
            is_reserved: AtomicBool::new(false),
            is_counting: AtomicBool::new(false),
            refused: std::array::from_fn(|_| AtomicU64::new(0)),
            refused_for_disk: AtomicU64::new(0),
        }
    }

    /// Says whether the rest of the disk is reserved.
    pub fn reserve_disk(&self, is_reserved: bool) {
        self.is_reserved.store(is_reserved, Ordering::Relaxed);
    }

    pub fn is_disk_reserved(&self) -> bool {
        self.is_reserved.load(Ordering::Relaxed)
    }

    /// Takes the body of a request from the shares of the caller and of its teamspace, before it is
    /// known what the request asks for.
    pub fn send(&self, caller: &Caller, n_bytes: usize, now: Time) -> Result<(), Rejection> {
        if !is_limited(caller) {
            return Ok(());
        }
        let mut known = self.lock();
        let teamspace = self.teamspace(&mut known, &caller.teamspace);
        let taken = teamspace.take_request(&caller.principal, now);
        let taken =
            taken.and_then(|()| teamspace.take_body(&caller.principal, n_bytes, n_bytes, now));
        taken.inspect_err(|rejection| self.note(rejection))
    }

    /// Takes what a body has beyond its announced length, of which so much has come in all.
    pub fn send_more(
        &self,
        caller: &Caller,
        n_bytes: usize,
        n_so_far: usize,
        now: Time,
    ) -> Result<(), Rejection> {
        if !is_limited(caller) {
            return Ok(());
        }
        let mut known = self.lock();
        let teamspace = self.teamspace(&mut known, &caller.teamspace);
        let taken = teamspace.take_body(&caller.principal, n_bytes, n_so_far, now);
        taken.inspect_err(|rejection| self.note(rejection))
    }

    /// Returns what was taken for something that is counted otherwise.
    pub fn give_back(&self, caller: &Caller, n_bytes: usize) {
        if n_bytes > 0
            && is_limited(caller)
            && let Some(teamspace) = self.lock().get_mut(&caller.teamspace)
        {
            teamspace.give_back_body(&caller.principal, n_bytes);
        }
    }

    /// Counts a change that is about to be committed, or refuses it.
    pub(crate) fn admit(
        self: &Arc<Self>,
        caller: &Caller,
        command: &Command,
        before: Option<&State>,
        change: &Change,
        now: Time,
    ) -> Result<Box<Reservation>, Rejection> {
        let (opened, freed) = moved(before, &change.state);
        let only_frees = freed.is_some() && opened.is_none();
        let is_limited = is_limited(caller) && !only_frees && !command.is_closing();
        if is_limited && self.is_disk_reserved() {
            return Err(Rejection::StorageReserved);
        }
        let bodies = change.events.iter().map(|event| event.body.len());
        let document = change.document.as_ref().map_or(0, |document| document.text.len());
        let written = Written {
            principal: caller.principal.clone(),
            n_entries: change.events.len() as u64,
            n_bytes: (bodies.sum::<usize>() + document) as u64 + stored_file(before, &change.state),
            opened,
            freed,
            is_limited,
        };
        let mut known = self.lock();
        let teamspace = self.teamspace(&mut known, &caller.teamspace);
        teamspace.take(&written, now)?;
        drop(known);
        let removed = removed_file(before, &change.state);
        let quotas = if let State::Teamspace(it) = &change.state {
            Some(it.configuration.quotas.clone())
        } else {
            None
        };
        let (usage, teamspace) = (Arc::clone(self), caller.teamspace.clone());
        Ok(Box::new(Reservation::new(usage, teamspace, written, quotas, removed)))
    }

    /// What a change of something new would meet. What it takes is given back at once.
    pub(crate) fn check(
        self: &Arc<Self>,
        caller: &Caller,
        command: &Command,
        change: &Change,
        now: Time,
    ) -> Result<(), Rejection> {
        self.admit(caller, command, None, change, now).map(drop)
    }

    /// Whether there is room for bytes of which none are stored yet.
    pub(crate) fn check_bytes(
        &self,
        caller: &Caller,
        room: RoomFor,
        now: Time,
    ) -> Result<(), Rejection> {
        if !is_limited(caller) {
            return Ok(());
        }
        let checked = if self.is_disk_reserved() {
            Err(Rejection::StorageReserved)
        } else {
            let mut known = self.lock();
            let teamspace = self.teamspace(&mut known, &caller.teamspace);
            teamspace.check_room(&caller.principal, room, now)
        };
        checked.inspect_err(|rejection| self.note(rejection))
    }

    /// Takes back what was stored and is now erased.
    pub(crate) fn free(&self, teamspace: &TeamspaceId, actor: &str, n_bytes: u64) {
        if let Some(teamspace) = self.lock().get_mut(teamspace) {
            teamspace.unstore(actor.parse().ok().as_ref(), n_bytes);
        }
    }

    /// The usage of a teamspace, made if need be.
    fn teamspace<'t>(
        &self,
        known: &'t mut HashMap<TeamspaceId, TeamspaceUsage>,
        id: &TeamspaceId,
    ) -> &'t mut TeamspaceUsage {
        // A lookup needs no copy of the name, and nearly every teamspace is known.
        if !known.contains_key(id) {
            known.insert(id.clone(), TeamspaceUsage::new(self.defaults));
        }
        known.get_mut(id).expect("it was just made")
    }

    /// Counts a refusal, if it is because of a quota or the disk.
    pub(crate) fn note(&self, rejection: &Rejection) {
        if let Rejection::QuotaReached { quota, .. }
        | Rejection::LargerThanQuota { quota, .. }
        | Rejection::QuotaFull { quota, .. } = rejection
        {
            self.refused[*quota as usize].fetch_add(1, Ordering::Relaxed);
        }
        if *rejection == Rejection::StorageReserved {
            self.refused_for_disk.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TeamspaceId, TeamspaceUsage>> {
        self.known.lock().expect("nothing panics in here")
    }
}

/// Operators, and the server itself, are counted and not limited.
fn is_limited(caller: &Caller) -> bool {
    match caller.principal {
        Principal::Agent(_) | Principal::Customer(_) => true,
        Principal::Operator(_) | Principal::System => false,
    }
}

/// What a change opens, and what it frees.
fn moved(before: Option<&State>, after: &State) -> (Option<Owned>, Option<Owned>) {
    let (was, is) = (before.and_then(counted::open_thing), counted::open_thing(after));
    if was == is {
        return (None, None);
    }
    let opened = is.map(|thing| (thing, counted::owner(after)));
    let freed = was.map(|thing| (thing, before.and_then(counted::owner)));
    (opened, freed)
}

/// The bytes of a file that a change stores anew.
fn stored_file(before: Option<&State>, after: &State) -> u64 {
    let was_kept = before.and_then(State::as_file).is_some_and(File::is_kept);
    let stored = after.as_file().filter(|file| file.is_kept() && !was_kept);
    stored.map_or(0, |file| file.size_bytes)
}

/// The file that a change removes, and who stored it.
fn removed_file(before: Option<&State>, after: &State) -> Option<(String, u64)> {
    let file = before.and_then(State::as_file).filter(|file| file.is_kept())?;
    let is_removed = after.as_file().is_some_and(|file| !file.is_kept());
    is_removed.then(|| (file.stored_by.clone(), file.size_bytes))
}
