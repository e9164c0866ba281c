//! A page of notices: the steps of each handoff or question together.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::handoff::notice_kind::NoticeKind;
use protocol::time::Time;

use super::mailboxes::{About, NoticeStep};

/// What a caller is told, what changed first at the beginning.
#[derive(Debug, Clone, Default)]
pub struct NoticePage {
    pub about: Vec<Told>,
    /// All notices up to here are on this page or were on one before.
    pub until: Option<u64>,
    pub has_more: bool,
    /// There may be older notices after the cursor that the index no longer has.
    pub is_incomplete: bool,
}

/// What a caller is told about one handoff or question.
#[derive(Debug, Clone)]
pub struct Told {
    pub about: About,
    /// In their order, each once.
    pub kinds: Vec<NoticeKind>,
    pub n_steps: usize,
    /// Of the last step.
    pub at: Time,
    pub actor: Arc<str>,
}

impl NoticePage {
    /// Groups the steps by what they are about, in their order, until the page is full.
    pub(super) fn gather(&mut self, mut steps: Vec<(About, NoticeStep)>, limit: usize) {
        steps.sort_by_key(|(_, step)| step.seq);
        let mut places: HashMap<About, usize> = HashMap::new();
        for (about, step) in steps {
            let place = places.get(&about).copied();
            if place.is_none() && self.about.len() == limit {
                self.has_more = true;
                break;
            }
            let NoticeStep { seq, at, kind, actor, .. } = step;
            let place = place.unwrap_or_else(|| {
                places.insert(about, self.about.len());
                let (kinds, actor) = (Vec::new(), Arc::clone(&actor));
                self.about.push(Told { about, kinds, n_steps: 0, at, actor });
                self.about.len() - 1
            });
            let told = &mut self.about[place];
            told.n_steps += 1;
            if !told.kinds.contains(&kind) {
                told.kinds.push(kind);
            }
            (told.at, told.actor) = (at, actor);
            self.until = Some(seq);
        }
    }
}
