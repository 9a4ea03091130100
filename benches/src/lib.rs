//! Shared parts of the benches: text, filled libraries, baselines and clocks.
//!
//! Start with [`Options`], the command line of a bench, and [`TextSource`], the source of the
//! passages.

mod agreement;
mod archive_database;
mod canned_tool;
mod client;
mod clock;
mod combined_index;
mod deployment;
mod fill;
mod fts5_baseline;
mod options;
mod private_postgres;
mod process;
mod queries;
mod rank_request;
mod report;
mod server_process;
mod stem_copy;
mod stems;
mod tantivy_index;
mod text;
mod vectors;

pub use agreement::{Agreement, ScoredResult, compare_results};
pub use archive_database::{ArchiveDatabase, DatabaseWork};
pub use canned_tool::{CannedTool, call_message, canned_result};
pub use client::{ClientConnection, HttpClient, WebSocketClient, rpc_message, tool_call};
pub use clock::{Timing, measure_thread_cpu, median_and_p99};
pub use combined_index::CombinedIndex;
pub use deployment::Deployment;
pub use fill::{
    LibraryFolder, LibrarySizes, fill_library, fill_notes, fill_stores, find_source, save_notes,
};
pub use fts5_baseline::{Fts5Baseline, SOURCE_STATEMENTS, SourceStatement};
pub use options::{CommonOptions, Options};
pub use private_postgres::PrivatePostgres;
pub use process::Process;
pub use queries::{PassageSample, QueryKind, QuerySet, WordCounts};
pub use rank_request::{RANK_DEPTH, RANK_VARIANTS, RankVariant, TIMEOUT};
pub use report::{Report, TimingSummary, mean};
pub use server_process::{ServerProcess, create_users, run_bench_or_program};
pub use stem_copy::copy_with_stems;
pub use tantivy_index::{TantivyIndex, TantivyWriter};
pub use text::{Passage, Passages, SeededRng, TextSource};
pub use vectors::{BenchVectors, DIMENSIONS};
