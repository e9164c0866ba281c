//! Who may do what, by role: the table of the ACP design. A member without a role may do all that
//! the rules allow; a role restricts the members who have one. The extra rights of a coordinator
//! are described at the commands. `docs/roles.md` maps each row of the table to commands.

pub mod audit_line;

use std::collections::BTreeSet;

use crate::caller::{Caller, Principal, Role};
use crate::handoff::package::TaskKind;
use crate::rejection::Rejection;

/// A restricting row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleAction {
    /// The first handoff of a task.
    CreateTask,
    /// A human approves or refuses a handoff.
    Approve {
        guarded: bool,
    },
    AcceptWork,
    /// Closing a handoff that is restricted or of high sensitivity.
    CloseGuarded,
}

impl RoleAction {
    pub const ALL: [RoleAction; 5] = [
        RoleAction::CreateTask,
        RoleAction::Approve { guarded: false },
        RoleAction::Approve { guarded: true },
        RoleAction::AcceptWork,
        RoleAction::CloseGuarded,
    ];

    /// Whether a role is enough.
    pub fn is_open_to(self, role: Role) -> bool {
        match (self, role) {
            (RoleAction::AcceptWork, Role::Executor | Role::Integrator) => true,
            (RoleAction::AcceptWork, Role::Coordinator | Role::Researcher | Role::Reviewer) => {
                false
            }
            (_, Role::Coordinator) => true,
            (RoleAction::Approve { .. } | RoleAction::CloseGuarded, Role::Integrator) => true,
            (RoleAction::Approve { guarded: true } | RoleAction::CloseGuarded, Role::Reviewer) => {
                true
            }
            (
                RoleAction::CreateTask | RoleAction::Approve { .. } | RoleAction::CloseGuarded,
                Role::Researcher | Role::Executor | Role::Reviewer | Role::Integrator,
            ) => false,
        }
    }

    /// The allowed callers, in words.
    pub fn who(self) -> &'static str {
        match self {
            RoleAction::CreateTask => "a coordinator, or a member without a role,",
            RoleAction::Approve { guarded: false } => "a coordinator or an integrator",
            RoleAction::Approve { guarded: true } => "a coordinator, an integrator or a reviewer",
            RoleAction::AcceptWork => "an executor, an integrator, or a member without a role,",
            RoleAction::CloseGuarded => "a coordinator, an integrator or a reviewer",
        }
    }
}

/// Whether roles allow a deed.
pub fn may(roles: &BTreeSet<Role>, deed: RoleAction) -> bool {
    roles.is_empty() || roles.iter().any(|role| deed.is_open_to(*role))
}

/// Whether a caller may assign a task that it does not own. This row grants instead of restricting:
/// a member without a role may not.
pub fn may_assign(caller: &Caller, kind: TaskKind) -> bool {
    let merges = match kind {
        TaskKind::Merge => caller.agent().is_some() && caller.roles.contains(&Role::Integrator),
        TaskKind::Execution => false,
    };
    merges || caller.is_coordinator()
}

/// Refuses what the caller's roles do not allow. The table does not apply to operators.
pub fn check(caller: &Caller, deed: RoleAction, action: &'static str) -> Result<(), Rejection> {
    match caller.principal {
        Principal::Operator(_) | Principal::System => Ok(()),
        Principal::Agent(_) | Principal::Customer(_) if may(&caller.roles, deed) => Ok(()),
        Principal::Agent(_) | Principal::Customer(_) => {
            Err(Rejection::NotAllowed { action, who: deed.who() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TeamspaceId;

    /// The table as the ACP design has it.
    #[test]
    fn every_cell() {
        let table = "
                            coordinator researcher executor reviewer integrator
            CreateTask      yes         -          -        -        -
            Approve         yes         -          -        -        yes
            ApproveGuarded  yes         -          -        yes      yes
            AcceptWork      -           -          yes      -        yes
            CloseGuarded    yes         -          -        yes      yes
        ";
        let mut lines = table.trim().lines();
        let roles: Vec<Role> =
            lines.next().unwrap().split_whitespace().map(|name| name.parse().unwrap()).collect();
        for (line, deed) in lines.zip(RoleAction::ALL) {
            let cells = line.split_whitespace().skip(1).map(|cell| cell == "yes");
            for (role, expected) in roles.iter().zip(cells) {
                assert_eq!(deed.is_open_to(*role), expected, "{deed:?} by {role}");
                assert_eq!(may(&BTreeSet::from([*role]), deed), expected);
            }
            assert!(may(&BTreeSet::new(), deed), "who has no role is not restricted");
        }
    }

    /// The row of the table that grants something.
    #[test]
    fn who_assigns_a_task_of_somebody_else() {
        let table = "
            none         execution  -
            none         merge      -
            coordinator  execution  yes
            coordinator  merge      yes
            researcher   execution  -
            researcher   merge      -
            executor     execution  -
            executor     merge      -
            reviewer     execution  -
            reviewer     merge      -
            integrator   execution  -
            integrator   merge      yes
        ";
        for line in table.trim().lines() {
            let [role, kind, expected] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("three cells: {line}")
            };
            let caller = Caller {
                teamspace: TeamspaceId::default_teamspace(),
                principal: Principal::Agent("bob".parse().unwrap()),
                roles: role.parse().into_iter().collect(),
                session: "test".to_owned(),
            };
            let kind = serde_json::from_value(kind.into()).unwrap();
            assert_eq!(may_assign(&caller, kind), expected == "yes", "{line}");
        }
    }
}
