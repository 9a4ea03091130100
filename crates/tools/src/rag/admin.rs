//! `rag.admin.stats` and `rag.admin.sync`: collection statistics and background sync.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::{
    CallError,
    collections::{SyncError, SyncStart, VisibleCollection},
    error_chain,
};
use vademecum_collections::SourceCounts;
use vademecum_core::auth::Right;
use vademecum_mcp::{RequestContext, ToolEffect, Toolset};
use vademecum_model::Timestamp;

use super::{
    limits::{READ_TIMEOUT, with_collections},
    results::elapsed_ms,
};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Returns document and chunk counts of each source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagAdminStats {}

/// Result of `rag.admin.stats`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RagAdminStatsOutput {
    /// One for each source.
    pub sources: Vec<RagSourceStats>,
    stats: ElapsedStats,
}

/// Counts and sync status of a source.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RagSourceStats {
    source_id: i64,
    /// Name of the source.
    pub source_name: String,
    /// Number of documents.
    pub docs: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Time of the last successful sync.
    pub last_sync: Option<Timestamp>,
    /// Error of the last sync, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// Timing of the call, in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
struct ElapsedStats {
    ms: u64,
}

impl Tool for RagAdminStats {
    const NAME: &'static str = "rag.admin.stats";
    const TITLE: &'static str = "Count documents";
    const DESCRIPTION: &'static str = "How many documents and chunks each source holds, and when \
        it was last synced.";
    const TOOLSET: Toolset = Toolset::Rag;
    const REQUIRED_RIGHT: Right = Right::Admin;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    type Output = RagAdminStatsOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let begun = Instant::now();
        let count = with_collections(services, call, READ_TIMEOUT, |opened, deadline| {
            let mut sources = Vec::new();
            for VisibleCollection { collection, access, .. } in opened {
                let counts = collection
                    .read(deadline.clone(), |reader| collection.count_visible(reader, access))?;
                sources.extend(counts.into_iter().map(RagSourceStats::from));
            }
            Ok(sources)
        });
        let sources = count.await?;
        Ok(RagAdminStatsOutput { sources, stats: ElapsedStats { ms: elapsed_ms(begun) } }.into())
    }
}

impl From<SourceCounts> for RagSourceStats {
    fn from(counts: SourceCounts) -> Self {
        Self {
            source_id: counts.source_id,
            source_name: counts.name,
            docs: counts.documents,
            chunks: counts.chunks,
            last_sync: counts.last_ok_at,
            last_error: counts.last_error,
        }
    }
}

/// Starts a background sync of collections.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagAdminSync {
    /// Default all.
    #[serde(default)]
    source_names: Vec<String>,
}

/// Result of `rag.admin.sync`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RagAdminSyncOutput {
    /// Whether a job was started.
    accepted: bool,
    /// Id of that job, or of the one still running.
    job_id: String,
    /// Reason if no job was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Tool for RagAdminSync {
    const NAME: &'static str = "rag.admin.sync";
    const TITLE: &'static str = "Sync documents";
    const DESCRIPTION: &'static str = "Sync sources with the folders or tables they are built \
        from, in the background. rag.admin.stats shows when it is done.";
    const TOOLSET: Toolset = Toolset::Rag;
    const REQUIRED_RIGHT: Right = Right::Admin;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::CodedJson;
    const EFFECT: ToolEffect = ToolEffect::Replaces;
    type Output = RagAdminSyncOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let (syncs, principal) = (services.syncs.clone(), call.principal.clone());
        let begin = move || syncs.start_sync(&principal, &self.source_names);
        let begun = tokio::task::spawn_blocking(begin).await.map_err(|_| CallError::Unavailable)?;
        let output = match begun.map_err(|error| sync_call_error(&error))? {
            SyncStart::Accepted { job_id } => {
                RagAdminSyncOutput { accepted: true, job_id, reason: None }
            }
            SyncStart::Running { job_id, name } => RagAdminSyncOutput {
                accepted: false,
                job_id,
                reason: Some(format!("`{name}` is being synced already")),
            },
        };
        Ok(output.into())
    }
}

/// Converts a sync error to the caller's error. Internal errors are logged, not disclosed.
fn sync_call_error(error: &SyncError) -> CallError {
    match error {
        SyncError::Unknown { .. } | SyncError::Forbidden { .. } => {
            CallError::Invalid(format!("source_names: {error}"))
        }
        SyncError::Nothing => CallError::Invalid(error.to_string()),
        SyncError::Catalogue(_) | SyncError::Thread(_) => {
            tracing::error!(error = %error_chain(error), "sync job could not be started");
            CallError::Unavailable
        }
    }
}
