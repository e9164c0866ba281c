//! Which accept a call rests on.

use super::question::Target;
use super::{Binding, Consent, Consents, Covers, Grant, Name, Weak};
use crate::flaw::Flaw;
use crate::machine::rules::{self, flaw};
use base::time::Time;

/// The fields of a call that matter for consent.
#[derive(Debug)]
pub(in crate::machine) struct Act<'a> {
    pub(in crate::machine) tool_call_id: Option<&'a str>,
    pub(in crate::machine) action_hash: Option<&'a str>,
    pub(in crate::machine) irreversible: bool,
    pub(in crate::machine) at: Time,
}

const CALL_FIELD: &str = "tool_call_id";
const HASH_FIELD: &str = "extensions.tasuki.action_hash";

impl Consents {
    /// Uses up the accept that the call rests on. A call that needs none may still be the accepted
    /// one.
    pub(in crate::machine) fn act(
        &mut self,
        act: &Act<'_>,
        weak: Weak,
    ) -> Result<Option<Consent>, Flaw> {
        self.check_waiting(act)?;
        let exact = self.exact(act);
        if exact.is_none() {
            self.check_refused(act)?;
        }
        let Some(index) = self.grant(act, exact)? else { return Ok(None) };
        if !act.irreversible {
            self.use_for_reversible(index);
            return Ok(None);
        }
        let binding = self.grants[index].binding();
        if binding == Binding::Weak && weak == Weak::Refused {
            let expected = "a hash that was confirmed";
            return Err(flaw(&rules::BOUND_BY_HASH, HASH_FIELD, expected));
        }
        let Grant { event_id, reply_token, .. } = self.grants.remove(index);
        Ok(Some(Consent { event_id, reply_token, binding }))
    }

    /// A call that should not have been made: uses up the accepts that nearly allowed it.
    pub(in crate::machine) fn suppose_used(&mut self, act: &Act<'_>) {
        self.grants.retain(|grant| {
            let is_lapsed = act.irreversible && grant.is_lapsed(act.at);
            act.touched_by(&grant.target).is_none() && !is_lapsed
        });
    }

    /// The calls that accepts name and wait for.
    pub(in crate::machine) fn accepted_calls(&self) -> impl Iterator<Item = &str> {
        self.grants.iter().filter_map(|grant| grant.target.tool_call_id.as_deref())
    }

    /// The oldest accept that waits for its call is used up.
    pub(in crate::machine) fn suppose_done(&mut self) {
        let owed = self.grants.iter().position(|grant| grant.is_owed);
        owed.map(|index| self.grants.remove(index));
    }

    /// The accept that names exactly this call; of several, one that is enough for it.
    fn exact(&self, act: &Act<'_>) -> Option<usize> {
        let mut exact = (0..self.grants.len()).filter(|index| act.is_of(&self.grants[*index]));
        let first = exact.clone().next();
        exact.find(|index| act.may_rest_on(&self.grants[*index]).is_ok()).or(first)
    }

    /// Checks that no open question is about this call.
    fn check_waiting(&self, act: &Act<'_>) -> Result<(), Flaw> {
        let waiting = self.questions.iter().filter_map(|question| question.target());
        if let Some(field) = waiting.filter_map(|target| act.touched_by(target)).next() {
            let expected = "an accept of the confirmation that waits for this call";
            return Err(flaw(&rules::BLOCKED, field, expected));
        }
        Ok(())
    }

    /// Checks that the call was not refused.
    fn check_refused(&self, act: &Act<'_>) -> Result<(), Flaw> {
        let refused =
            |field: &&str| self.refused.iter().any(|name| act.named_by(name) == Some(field));
        if let Some(field) = [CALL_FIELD, HASH_FIELD].into_iter().find(refused) {
            let expected = "another action, as this one was refused";
            return Err(flaw(&rules::REFUSED, field, expected));
        }
        Ok(())
    }

    /// The accept of exactly this call, else one that names no call.
    fn grant(&self, act: &Act<'_>, exact: Option<usize>) -> Result<Option<usize>, Flaw> {
        if let Some(index) = exact {
            return act.may_rest_on(&self.grants[index]).map(|()| Some(index));
        }
        if let Some(near) = self.grants.iter().find(|grant| act.touched_by(&grant.target).is_some())
        {
            return Err(bound_otherwise(act, &near.target));
        }
        if act.irreversible {
            return self.unlinked(act).map(Some);
        }
        let is_it = |grant: &Grant| grant.covers == Covers::Reversible && !grant.target.is_linked();
        let reversible = self.grants.iter().position(is_it);
        Ok(reversible.or_else(|| self.grants.iter().position(Grant::may_be_this)))
    }

    /// An accept that allows any irreversible call.
    fn unlinked(&self, act: &Act<'_>) -> Result<usize, Flaw> {
        let mut why = no_consent();
        for covers in [Covers::Irreversible, Covers::Either] {
            for (index, grant) in self.grants.iter().enumerate() {
                if grant.covers != covers || grant.target.is_linked() {
                    continue;
                }
                match act.may_rest_on(grant) {
                    Ok(()) => return Ok(index),
                    Err(flaw) => why = flaw,
                }
            }
        }
        Err(why)
    }

    /// A reversible call may be the accepted one; an irreversible call may still follow.
    fn use_for_reversible(&mut self, index: usize) {
        let grant = &mut self.grants[index];
        if grant.target.is_linked() || grant.covers == Covers::Reversible {
            self.grants.remove(index);
        } else {
            grant.is_owed = false;
        }
    }
}

impl Act<'_> {
    /// Whether it matches everything that a linked confirmation names.
    fn is_of(&self, grant: &Grant) -> bool {
        let fits = |one: &Option<String>, own: Option<&str>| one.is_none() || one.as_deref() == own;
        grant.target.is_linked()
            && fits(&grant.target.tool_call_id, self.tool_call_id)
            && fits(&grant.target.action_hash, self.action_hash)
    }

    /// Whether an accept is enough for it. A reversible call needs none.
    fn may_rest_on(&self, grant: &Grant) -> Result<(), Flaw> {
        if !self.irreversible {
            return Ok(());
        }
        match grant.covers {
            Covers::Reversible => Err(no_consent()),
            Covers::Irreversible | Covers::Either if grant.is_lapsed(self.at) => {
                let expected = format!(
                    "to ask again, as the consent to {} has lapsed before this call",
                    grant.event_id
                );
                Err(flaw(&rules::LAPSED, "irreversible", expected))
            }
            Covers::Irreversible | Covers::Either => Ok(()),
        }
    }

    /// The field that names the same call or the same action.
    fn touched_by(&self, target: &Target) -> Option<&'static str> {
        target.names().find_map(|name| self.named_by(&name))
    }

    fn named_by(&self, name: &Name) -> Option<&'static str> {
        match name {
            Name::Call(id) => (self.tool_call_id == Some(id)).then_some(CALL_FIELD),
            Name::Action(hash) => (self.action_hash == Some(hash)).then_some(HASH_FIELD),
        }
    }
}

impl Grant {
    fn binding(&self) -> Binding {
        match self.target.action_hash {
            Some(_) => Binding::Strong,
            None => Binding::Weak,
        }
    }

    pub(super) fn is_lapsed(&self, at: Time) -> bool {
        self.until.is_some_and(|until| until <= at)
    }

    /// Whether a reversible call without a link may be the owed one.
    fn may_be_this(&self) -> bool {
        self.is_owed && self.covers == Covers::Either && !self.target.is_linked()
    }
}

fn no_consent() -> Flaw {
    let expected = "an accepted confirmation of this irreversible call";
    flaw(&rules::CONSENT, "irreversible", expected)
}

/// The call differs in part from the confirmed one.
fn bound_otherwise(act: &Act<'_>, target: &Target) -> Flaw {
    match &target.action_hash {
        Some(hash) if act.action_hash != Some(hash) => flaw(&rules::BOUND, HASH_FIELD, hash),
        Some(_) | None => {
            let id = target.tool_call_id.as_deref().unwrap_or_default();
            flaw(&rules::BOUND, CALL_FIELD, id)
        }
    }
}
