//! An agent of the directory: any party that can hold work.

pub mod command;
pub mod decide;
pub mod event;
mod evolve;
pub mod kind;
pub mod presence;
pub mod profile;
pub mod slot;
pub mod state;

pub use command::Command;
pub use decide::decide;
pub use event::{
    EndpointChanged, Event, NoticesMuted, NoticesRead, Registered, RolesChanged, WakeChanged,
};
pub use evolve::evolve;
pub use kind::Kind;
pub use presence::{Attendance, Presence};
pub use profile::{AgentIdentity, Profile, Skill};
pub use slot::{free_slot, is_slot, slot_key, slot_prefix};
pub use state::{Agent, NoticeSettings};
