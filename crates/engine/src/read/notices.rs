//! What agents are told about handoffs and questions. Notices are derived from the ledger: an index
//! in memory has the newest of each mailbox, grouped by what they are about, so a step costs no
//! write. Each agent keeps a cursor of what it has read.

mod concerned;
mod index;
mod mailboxes;
mod page;

use protocol::agent::{Agent, Kind};
use protocol::caller::{Caller, Role};
use protocol::handoff::notices::Form;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::sealed_cursor::{Purpose, Scope};
use protocol::step::State;
use protocol::visibility::details::serves;

use crate::ports::store::{ListOf, StoreError};
use crate::read::Read;
use crate::read::query::LIST_ROWS_MAX;
pub use concerned::NOTICE_CONCERNED_MAX;
pub use index::NOTICE_ENTRIES_MAX;
pub(crate) use index::{NoticeIndex, run};
use mailboxes::TeamMailboxes;
pub use mailboxes::{About, NOTICE_HANDOFFS_MAX, NOTICE_STEPS_MAX, NOTICE_TEAMSPACE_STEPS_MAX};
pub use page::{NoticePage, Told};

/// The newest agents and tokens among which a coordinator is looked for. If it is not among them,
/// senders are told of escalations too.
pub const COORDINATOR_ROWS_MAX: usize = LIST_ROWS_MAX;

/// Up to where an agent has read its notices.
#[derive(Debug, Clone, Default)]
pub struct NoticesRead {
    /// As it is stored; empty if the agent has read none.
    pub cursor: String,
    pub place: u64,
}

impl Read<'_> {
    /// What the caller is told after a place in the ledger; by default after what it has read.
    /// Operators are told nothing, because they keep no cursor of what they have read.
    pub async fn notices(
        self,
        caller: &Caller,
        after: Option<u64>,
        limit: usize,
    ) -> Result<NoticePage, StoreError> {
        let Some(name) = caller.agent() else { return Ok(NoticePage::default()) };
        let newest = self.engine.store.newest().await?;
        self.notices_reach(newest).await?;
        let own = self.engine.agent(&caller.teamspace, name.clone()).await?;
        let after =
            after.unwrap_or_else(|| own.as_ref().map_or(0, |own| self.read_until(own, caller)));
        let queues = self.queues_with_notices(caller, own.as_ref()).await?;
        let (mut told, mut page) = {
            let mailboxes = self.engine.notices.mailboxes();
            mailboxes.told(caller, own.as_ref(), &queues, after)
        };
        if told.iter().any(|(_, step)| step.form == Form::WithoutCoordinators)
            && self.has_coordinator(&caller.teamspace).await?
        {
            told.retain(|(_, step)| step.form != Form::WithoutCoordinators);
        }
        page.gather(told, limit.clamp(1, LIST_ROWS_MAX));
        Ok(page)
    }

    /// Up to where the caller has read its notices.
    pub async fn notices_read_until(self, caller: &Caller) -> Result<NoticesRead, StoreError> {
        let Some(own) = caller.agent() else { return Ok(NoticesRead::default()) };
        let own = self.engine.agent(&caller.teamspace, own.clone()).await?;
        Ok(own.map_or_else(NoticesRead::default, |own| NoticesRead {
            place: self.read_until(&own, caller),
            cursor: own.notices.read_until.clone(),
        }))
    }

    fn read_until(self, own: &Agent, caller: &Caller) -> u64 {
        let scope = Scope { teamspace: &caller.teamspace, purpose: Purpose::Events };
        let cursor = self.engine.cursor_key.open(scope, &own.notices.read_until);
        cursor.map_or(0, |cursor| cursor.sequence)
    }

    /// The queues that are told something, of which the caller is a human.
    async fn queues_with_notices(
        self,
        caller: &Caller,
        own: Option<&Agent>,
    ) -> Result<Vec<AgentId>, StoreError> {
        let Some(own) = own.filter(|own| own.kind == Kind::Human) else { return Ok(Vec::new()) };
        let told: Vec<AgentId> = {
            let mailboxes = self.engine.notices.mailboxes();
            let team = mailboxes.of.get(&caller.teamspace);
            team.into_iter().flat_map(TeamMailboxes::queues).collect()
        };
        let mut queues = Vec::new();
        for name in told {
            let queue = self.engine.agent(&caller.teamspace, name.clone()).await?;
            if queue.is_some_and(|queue| serves(own, &queue)) {
                queues.push(name);
            }
        }
        Ok(queues)
    }

    /// Whether an agent or a token has the role.
    async fn has_coordinator(self, teamspace: &TeamspaceId) -> Result<bool, StoreError> {
        let now = self.engine.clock.now();
        let is_one = |state: &State| {
            let of_token = || {
                let State::Token(token) = state else { return None };
                token.bearer(now).map(|_| &token.grant.roles)
            };
            let roles = state.as_agent().map(|agent| &agent.roles).or_else(of_token);
            roles.is_some_and(|roles| roles.contains(&Role::Coordinator))
        };
        for of in [ListOf::Agents, ListOf::Tokens] {
            let page = self.list(teamspace, of, None, COORDINATOR_ROWS_MAX).await?;
            if page.items.iter().any(|item| is_one(&item.state)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
