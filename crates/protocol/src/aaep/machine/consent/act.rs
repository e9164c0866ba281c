//! Which accept a call rests on.

use super::{Binding, Consent, Consents, Covers, Grant, Name, Target, Weak};
use crate::aaep::flaw::Flaw;
use crate::aaep::machine::rules::{self, flaw};

/// A call, as far as consent matters.
#[derive(Debug)]
pub(in crate::aaep::machine) struct Act<'a> {
    pub(in crate::aaep::machine) tool_call_id: Option<&'a str>,
    pub(in crate::aaep::machine) action_hash: Option<&'a str>,
    pub(in crate::aaep::machine) irreversible: bool,
}

const CALL_FIELD: &str = "tool_call_id";
const HASH_FIELD: &str = "extensions.tasuki.action_hash";

impl Consents {
    /// Uses up the accept that the call rests on. A call that needs none may still be the one that
    /// was accepted.
    pub(in crate::aaep::machine) fn act(
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

    /// The accept that names this very call; of several, one that is enough for it.
    fn exact(&self, act: &Act<'_>) -> Option<usize> {
        let is_enough = |grant: &Grant| !act.irreversible || grant.covers != Covers::Reversible;
        let mut exact = (0..self.grants.len()).filter(|index| act.is_of(&self.grants[*index]));
        let first = exact.clone().next();
        exact.find(|index| is_enough(&self.grants[*index])).or(first)
    }

    /// Whether nobody is asked for this call.
    fn check_waiting(&self, act: &Act<'_>) -> Result<(), Flaw> {
        let waiting = self.questions.iter().filter_map(|question| question.target());
        if let Some(field) = waiting.filter_map(|target| act.touched_by(target)).next() {
            let expected = "an accept of the confirmation that waits for this call";
            return Err(flaw(&rules::BLOCKED, field, expected));
        }
        Ok(())
    }

    /// Whether nobody has refused it.
    fn check_refused(&self, act: &Act<'_>) -> Result<(), Flaw> {
        let refused =
            |field: &&str| self.refused.iter().any(|name| act.named_by(name) == Some(field));
        if let Some(field) = [CALL_FIELD, HASH_FIELD].into_iter().find(refused) {
            let expected = "another action, as this one was refused";
            return Err(flaw(&rules::REFUSED, field, expected));
        }
        Ok(())
    }

    /// The accept of this very call, else one that names no call.
    fn grant(&self, act: &Act<'_>, exact: Option<usize>) -> Result<Option<usize>, Flaw> {
        if let Some(index) = exact {
            let is_enough = !act.irreversible || self.grants[index].covers != Covers::Reversible;
            return if is_enough { Ok(Some(index)) } else { Err(no_consent()) };
        }
        if let Some(near) = self.grants.iter().find(|grant| act.touched_by(&grant.target).is_some())
        {
            return Err(bound_otherwise(act, &near.target));
        }
        let unlinked = |covers: Covers| {
            let is_it = |grant: &Grant| grant.covers == covers && !grant.target.is_linked();
            self.grants.iter().position(is_it)
        };
        if act.irreversible {
            let any = unlinked(Covers::Irreversible).or_else(|| unlinked(Covers::Either));
            return any.map(Some).ok_or_else(no_consent);
        }
        Ok(unlinked(Covers::Reversible).or_else(|| self.grants.iter().position(Grant::may_be_this)))
    }

    /// A call that names nothing may be what was accepted; then an irreversible one may still come.
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
    /// Whether it is what a linked confirmation says, in all that it says.
    fn is_of(&self, grant: &Grant) -> bool {
        let fits = |one: &Option<String>, own: Option<&str>| one.is_none() || one.as_deref() == own;
        grant.target.is_linked()
            && fits(&grant.target.tool_call_id, self.tool_call_id)
            && fits(&grant.target.action_hash, self.action_hash)
    }

    /// The field in which it is the same call or the same action.
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

    /// Whether a reversible call without a link may be the one that is owed.
    fn may_be_this(&self) -> bool {
        self.is_owed && self.covers == Covers::Either && !self.target.is_linked()
    }
}

fn no_consent() -> Flaw {
    let expected = "an accepted confirmation of this irreversible call";
    flaw(&rules::CONSENT, "irreversible", expected)
}

/// The call is nearly the one that was confirmed.
fn bound_otherwise(act: &Act<'_>, target: &Target) -> Flaw {
    match &target.action_hash {
        Some(hash) if act.action_hash != Some(hash) => flaw(&rules::BOUND, HASH_FIELD, hash),
        Some(_) | None => {
            let id = target.tool_call_id.as_deref().unwrap_or_default();
            flaw(&rules::BOUND, CALL_FIELD, id)
        }
    }
}
