//! Test support shared by the crates of the workspace; a dev-dependency only.
#![expect(clippy::expect_used, reason = "test support reports a failure by panicking")]

mod fuzz_inputs;
mod source_promises;

pub use fuzz_inputs::{Mutator, for_each_mutated_seed, seeds, seeds_folder};
pub use source_promises::{
    AWKWARD_QUERIES, SourceFixture, check_batched_index_writes, check_source_contract,
};
