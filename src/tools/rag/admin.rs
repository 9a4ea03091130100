//! `rag.admin.stats` and `rag.admin.sync`: how collections are, and bringing
//! them up to date.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_collections::Counts;
use vademecum_kit::model::Timestamp;

use super::{
    limits::{READ, with_collections},
    results::since,
};
use crate::{
    actors::{CallError, chain},
    collections::{Begun, Opened, SyncError},
    tools::{Contract, Form, Replied, Toolbox},
};
use vademecum_core::auth::Right;
use vademecum_mcp::{Call, Effect, Toolset};

/// Tells how much each collection holds.
#[derive(Debug)]
pub struct RagAdminStats;

/// Nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagAdminStatsInput {}

/// How much each collection holds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RagAdminStatsOutput {
    /// One for each source.
    sources: Vec<SourceStats>,
    stats: Spent,
}

/// How much a source holds.
#[derive(Debug, Serialize, JsonSchema)]
struct SourceStats {
    source_id: i64,
    source_name: String,
    docs: u64,
    chunks: u64,
    /// When it was last brought up to date.
    last_sync: Option<Timestamp>,
    /// Why it could not be the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

/// What an answer took.
#[derive(Debug, Serialize, JsonSchema)]
struct Spent {
    ms: u64,
}

impl Contract for RagAdminStats {
    const NAME: &'static str = "rag.admin.stats";
    const TITLE: &'static str = "Count documents";
    const DESCRIPTION: &'static str = "How many documents and chunks each source holds, and when \
        it was last synced.";
    const TOOLSET: Toolset = Toolset::Rag;
    const RIGHT: Right = Right::Admin;
    const FORM: Form = Form::Coded;
    type Input = RagAdminStatsInput;
    type Output = RagAdminStatsOutput;

    async fn call(
        toolbox: &Toolbox,
        _: RagAdminStatsInput,
        call: &Call,
    ) -> Result<Replied<RagAdminStatsOutput>, CallError> {
        let begun = Instant::now();
        let count = with_collections(toolbox, call, READ, |opened, deadline| {
            let mut sources = Vec::new();
            for Opened { collection, .. } in opened {
                let counts =
                    collection.read(deadline.clone(), |reader| collection.counts(reader))?;
                sources.extend(counts.into_iter().map(SourceStats::from));
            }
            Ok(sources)
        });
        let sources = count.await?;
        Ok(RagAdminStatsOutput { sources, stats: Spent { ms: since(begun) } }.into())
    }
}

impl From<Counts> for SourceStats {
    fn from(counts: Counts) -> Self {
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

/// Brings collections up to date.
#[derive(Debug)]
pub struct RagAdminSync;

/// Which collections.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RagAdminSyncInput {
    /// Default all.
    #[serde(default)]
    source_names: Vec<String>,
}

/// What became of the wish.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RagAdminSyncOutput {
    /// Whether a job was begun.
    accepted: bool,
    /// That job; or the one that is still running.
    job_id: String,
    /// Why none was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Contract for RagAdminSync {
    const NAME: &'static str = "rag.admin.sync";
    const TITLE: &'static str = "Sync documents";
    const DESCRIPTION: &'static str = "Bring sources up to date with the folders or tables they \
        are made of, in the background. rag.admin.stats tells when that is done.";
    const TOOLSET: Toolset = Toolset::Rag;
    const RIGHT: Right = Right::Admin;
    const FORM: Form = Form::Coded;
    const EFFECT: Effect = Effect::Replaces;
    type Input = RagAdminSyncInput;
    type Output = RagAdminSyncOutput;

    async fn call(
        toolbox: &Toolbox,
        input: RagAdminSyncInput,
        call: &Call,
    ) -> Result<Replied<RagAdminSyncOutput>, CallError> {
        let (syncs, principal) = (toolbox.syncs().clone(), call.principal.clone());
        let begin = move || syncs.begin(&principal, &input.source_names);
        let begun = tokio::task::spawn_blocking(begin).await.map_err(|_| CallError::Unavailable)?;
        let output = match begun.map_err(|error| refused(&error))? {
            Begun::Accepted { job_id } => {
                RagAdminSyncOutput { accepted: true, job_id, reason: None }
            }
            Begun::Running { job_id, name } => RagAdminSyncOutput {
                accepted: false,
                job_id,
                reason: Some(format!("`{name}` is being synced already")),
            },
        };
        Ok(output.into())
    }
}

/// What a caller is told when no job was begun.
fn refused(error: &SyncError) -> CallError {
    match error {
        SyncError::Unknown { .. } => CallError::Invalid(format!("source_names: {error}")),
        SyncError::Nothing => CallError::Invalid(error.to_string()),
        SyncError::Catalogue(_) | SyncError::Thread(_) => {
            tracing::error!(error = %chain(error), "no job could be begun");
            CallError::Unavailable
        }
    }
}
