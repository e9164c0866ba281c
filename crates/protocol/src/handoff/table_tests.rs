//! The rules of a handoff as tables. Everything goes through [`script::check`]: a script of
//! commands on the left, their results on the right. [`cells`] has every state, action and caller;
//! the others have one rule each; [`page`] keeps `docs/transitions.md` up to date.

mod approval;
mod artifacts;
mod audit;
mod bounds;
mod cells;
mod chain;
mod completion;
mod content;
mod delegation;
mod gate;
mod negotiation;
mod package_tests;
mod page;
mod progress;
mod recall;
mod request;
mod script;
mod teamspace;
mod waiting;
mod waits;
mod workq;
