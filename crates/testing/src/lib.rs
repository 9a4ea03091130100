//! Test support shared by the crates of the workspace; a dev-dependency only.
#![expect(clippy::expect_used, reason = "test support reports a failure by panicking")]

mod awkward_queries;
mod following;
mod fuzz_inputs;
mod memory_archive;
mod recent_order;
mod source_fixture;
mod source_promises;
#[cfg(unix)]
mod sshd;
mod zip_archive;

pub use awkward_queries::AWKWARD_QUERIES;
pub use following::{FOLLOW_OPTIONS, check_following, follow_archive, follow_plain_tables};
pub use fuzz_inputs::{Mutator, for_each_mutated_seed, seeds, seeds_folder};
pub use memory_archive::{Content, MemoryArchive};
pub use source_fixture::SourceFixture;
pub use source_promises::{check_batched_index_writes, check_source_contract};
#[cfg(unix)]
pub use sshd::Sshd;
pub use zip_archive::zip_archive;
