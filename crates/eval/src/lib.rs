//! Judged evaluation of search, without a library: what `vademecum eval` measures against.
//!
//! [`JudgedCollection`] reads documents, queries and relevance judgements, [`ScoredRanking`] scores
//! a ranking, [`Fts5Baseline`] is the search that the library is compared with, and [`EvalReport`]
//! holds the metrics of both. [`EarlierReports`] compares them with those of an earlier run.
//! [`read_memory_file`] reads questions about long conversations, and [`MemoryReport`] holds their metrics.

mod bootstrap;
mod comparison;
mod fts5_baseline;
mod judged_collection;
mod memory_file;
mod memory_report;
mod methods;
mod metrics;
mod report;
mod tables;

pub use bootstrap::{ConfidenceInterval, Difference};
pub use comparison::{ComparisonError, EarlierReports, MetricDifferences};
pub use fts5_baseline::Fts5Baseline;
pub use judged_collection::{
    CollectionError, CollectionSummary, CorpusDocument, JudgedCollection, JudgedQuery, LineError,
    MessagePlace,
};
pub use memory_file::{
    MemoryFileError, MemoryHistory, MemoryQuestion, MemorySession, read_memory_file,
};
pub use memory_report::{MemoryMetrics, MemoryReport, MemoryResult, MemoryScores};
pub use methods::{ByMethod, MethodMetrics, OracleMetrics, QueryResult};
pub use metrics::{QueryScores, RECALL_DEPTH, RelevanceGrades, RetrievalMetrics, ScoredRanking};
pub use report::{EvalReport, LanguageReport, MultiEvalReport};
