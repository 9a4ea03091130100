//! `vademecum service`: a server that the system starts with the session of the user.
//!
//! [`manager`] has the three service managers: their files, as text, and their commands.

mod command;
mod manager;

pub(super) use command::ServiceCommand;
