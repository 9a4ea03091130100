//! Checks settings, databases and environment, and repairs derived data.
//!
//! Start with `server_check`; each other file is one group of checks.

mod archive;
mod clock;
mod custom_tools;
mod damaged_rows;
mod database_condition;
mod database_files;
mod disk;
mod erasures;
mod findings;
mod logins;
mod orphans;
mod permissions;
mod profile_connection;
mod profile_diagnosis;
mod profiles;
mod proxies;
mod sandbox;
mod server_check;
mod vectors;

pub use damaged_rows::DamageRepair;
pub use profile_connection::{open_database, query_version};
pub use profile_diagnosis::{ProfileDiagnosis, ProfileFinding};
pub use sandbox::require_sandbox;
pub use server_check::ServerCheck;
