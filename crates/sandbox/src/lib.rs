//! Child processes that read untrusted data: files to import, and databases of other programs.
//!
//! A parent starts the same program again ([`child_command`]) and exchanges lines of JSON with it
//! ([`read_line`], [`to_line`]). Before the child reads untrusted data, it gives up what reading
//! does not need ([`Restrictions`]). See `docs/adr/0024-reader-process.md` and
//! `docs/adr/0027-sqlite-reader-process.md`.

mod command;
mod line;
#[cfg(target_os = "linux")]
mod linux;
mod restrictions;

pub use command::child_command;
pub use line::{read_line, to_line};
pub use restrictions::Restrictions;
#[cfg(unix)]
pub use restrictions::limit_cpu_time;
