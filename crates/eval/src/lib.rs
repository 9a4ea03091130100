//! Judged evaluation of search, without a library: what `vademecum eval` measures against.
//!
//! [`JudgedCollection`] reads documents, queries and relevance judgements, [`MetricsAccumulator`]
//! scores rankings, [`Fts5Baseline`] is the search that the library is compared with, and
//! [`EvalReport`] holds the figures of both.

mod fts5_baseline;
mod judged_collection;
mod metrics;
mod report;

pub use fts5_baseline::Fts5Baseline;
pub use judged_collection::{
    CollectionError, CorpusDocument, JudgedCollection, JudgedQuery, LineError,
};
pub use metrics::{MetricsAccumulator, RECALL_DEPTH, RelevanceGrades, RetrievalMetrics};
pub use report::{EvalReport, MultiEvalReport, VectorMetrics};
