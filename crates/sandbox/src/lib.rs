//! Child processes that read untrusted data: files to import, and databases of other programs.
//!
//! A parent starts the same program again ([`child_command`]) as a [`Worker`] and exchanges lines of
//! JSON with it. Before the child reads untrusted data ([`serve_requests`]), it gives up what reading
//! does not need ([`enter_sandbox`]). See `docs/adr/0024-reader-process.md` and
//! `docs/adr/0027-sqlite-reader-process.md`.
//!
//! Everything here blocks. Files are imported on threads that may block, and a parent of an
//! asynchronous program runs its worker on the blocking pool, with a [`KillGuard`] for the case that
//! its caller stops waiting.

mod child;
mod cpu_time;
mod input;
mod layers;
mod line;
#[cfg(target_os = "linux")]
mod linux;
mod restrictions;
mod worker;

pub use child::{ChildSettings, enter_sandbox, serve_requests};
#[cfg(unix)]
pub use input::{FileInput, MAX_FILES, ReceivedFiles};
pub use layers::SandboxLayers;
pub use line::write_line;
pub use restrictions::Restrictions;
#[cfg(unix)]
pub use restrictions::limit_cpu_time;
pub use worker::{KillGuard, WorkLimit, Worker, WorkerFailure, child_command};
