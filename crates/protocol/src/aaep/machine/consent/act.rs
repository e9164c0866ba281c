//! Which accept a call rests on.

use super::{Binding, Consent, Consents, Covers, Grant, Target, Weak};
use crate::aaep::flaw::Flaw;
use crate::aaep::machine::rules::{self, flaw};

/// A call, as far as consent matters.
#[derive(Debug)]
pub(in crate::aaep::machine) struct Act<'a> {
    pub(in crate::aaep::machine) tool_call_id: Option<&'a str>,
    pub(in crate::aaep::machine) action_hash: Option<&'a str>,
    pub(in crate::aaep::machine) irreversible: bool,
}

impl Consents {
    /// Uses up the accept that the call rests on. A call that needs none may still be the one that
    /// was accepted.
    pub(in crate::aaep::machine) fn act(
        &mut self,
        act: &Act<'_>,
        weak: Weak,
    ) -> Result<Option<Consent>, Flaw> {
        let is_asked = |target: &Target| act.is_touched_by(target);
        if self.questions.iter().filter_map(|question| question.target()).any(is_asked) {
            let expected = "an accept of the confirmation that waits for this call";
            return Err(flaw(&rules::BLOCKED, act.named_by(), expected));
        }
        if self.refused.iter().any(is_asked) {
            let expected = "another action, as this one was refused";
            return Err(flaw(&rules::REFUSED, act.named_by(), expected));
        }
        let Some(index) = self.grant(act)? else { return Ok(None) };
        if !act.irreversible {
            self.use_for_reversible(index);
            return Ok(None);
        }
        let binding = self.grants[index].binding();
        if binding == Binding::Weak && weak == Weak::Refused {
            let expected = "a hash that was confirmed";
            return Err(flaw(&rules::BOUND_BY_HASH, "extensions.tasuki.action_hash", expected));
        }
        let Grant { event_id, reply_token, .. } = self.grants.remove(index);
        Ok(Some(Consent { event_id, reply_token, binding }))
    }

    /// The accept of this very call, else one that names no call.
    fn grant(&self, act: &Act<'_>) -> Result<Option<usize>, Flaw> {
        let is_its = |grant: &Grant| grant.target.is_linked() && act.fits(&grant.target);
        if let Some(index) = self.grants.iter().position(is_its) {
            let is_enough = !act.irreversible || self.grants[index].covers != Covers::Reversible;
            return if is_enough { Ok(Some(index)) } else { Err(no_consent()) };
        }
        if let Some(near) = self.grants.iter().find(|grant| act.is_touched_by(&grant.target)) {
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
    fn is_touched_by(&self, target: &Target) -> bool {
        let same = |one: &Option<String>, own: Option<&str>| one.is_some() && one.as_deref() == own;
        same(&target.tool_call_id, self.tool_call_id) || same(&target.action_hash, self.action_hash)
    }

    /// Whether it is what a linked confirmation says, in all that it says.
    fn fits(&self, target: &Target) -> bool {
        let fits = |one: &Option<String>, own: Option<&str>| one.is_none() || one.as_deref() == own;
        fits(&target.tool_call_id, self.tool_call_id) && fits(&target.action_hash, self.action_hash)
    }

    fn named_by(&self) -> &'static str {
        match self.tool_call_id {
            Some(_) => "tool_call_id",
            None => "extensions.tasuki.action_hash",
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
        Some(hash) if act.action_hash != Some(hash) => {
            flaw(&rules::BOUND, "extensions.tasuki.action_hash", hash)
        }
        Some(_) | None => {
            let id = target.tool_call_id.as_deref().unwrap_or_default();
            flaw(&rules::BOUND, "tool_call_id", id)
        }
    }
}
