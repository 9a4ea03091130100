//! `verify_document_access`: checks whether the caller may still see a segment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_collections::{ChunkId, DocumentFilter};
use vademecum_core::auth::Right;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_model::{RetrievalMode, RetrievalOptions, Uri};

use super::{search::visible_collections, segment_location::SegmentLocation};
use crate::{ErrorFormat, Tool, ToolResult, ToolServices};

/// Same reply for a missing document and a forbidden one, so that existence is not disclosed.
const ACCESS_DENIED: &str = "document not found or access denied";
/// Reply for a deleted document of the caller's own library.
const DOCUMENT_DELETED: &str = "the document has been deleted";

/// Checks whether the caller may still see a segment.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct VerifyDocumentAccess {
    /// The unique segment identifier originally provided by your RAG server
    segment_uid: String,
}

/// Result of `verify_document_access`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerifyOutput {
    /// Whether the caller may see the document now.
    has_access: bool,
    /// Current URL of the document.
    refreshed_url: Option<String>,
    /// `view` or `edit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_level: Option<&'static str>,
    /// Reason if access is denied.
    error: Option<&'static str>,
}

impl Tool for VerifyDocumentAccess {
    const NAME: &'static str = "verify_document_access";
    const TITLE: &'static str = "Check access to a segment";
    const DESCRIPTION: &'static str = "Will verify user access to a document and optionally \
        provide a refreshed URL with current credentials";
    const TOOLSET: Toolset = Toolset::RagSearch;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::JsonRpcError;
    type Output = VerifyOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let place = SegmentLocation::open_uid(&self.segment_uid, services.server_key()?);
        let place = place.filter(|place| !place.belongs_to_other(call.principal.user()));
        let found = match place {
            None => Err(ACCESS_DENIED),
            Some(SegmentLocation::Collection { source_id, doc_id, index }) => {
                check_collection(services, call, source_id, doc_id, index).await?
            }
            Some(SegmentLocation::Library { uri, .. }) => {
                check_library(services, call, &uri).await?
            }
        };
        let answer = match found {
            Ok((refreshed_url, access_level)) => VerifyOutput {
                has_access: true,
                refreshed_url,
                access_level: Some(access_level),
                error: None,
            },
            Err(error) => VerifyOutput {
                has_access: false,
                refreshed_url: None,
                access_level: None,
                error: Some(error),
            },
        };
        Ok(answer.into())
    }
}

/// Current URL and access level, or the reason for the denial.
type AccessResult = Result<(Option<String>, &'static str), &'static str>;

async fn check_collection(
    services: &ToolServices,
    call: &RequestContext,
    source_id: i64,
    doc_id: String,
    index: u32,
) -> Result<AccessResult, CallError> {
    let opened = visible_collections(services, call).await?;
    let Some(one) = opened.iter().find(|one| one.record.source_id == source_id).cloned() else {
        return Ok(Err(ACCESS_DENIED));
    };
    let deadline = services.deadline(call);
    let read = services.run_blocking(call, move || {
        let scope = one.scope(&DocumentFilter::default());
        let id = ChunkId { doc_id, index };
        one.collection.read(deadline, |reader| {
            // The document may have been split differently since then; access to the document
            // decides.
            if let Some(passage) = one.collection.read_passage(reader, &id, &scope)? {
                return Ok(Some(one.passage_url(&passage)));
            }
            let document = one.collection.read_document(reader, &id.doc_id, &scope)?;
            Ok(document.map(|document| one.document_url(&document)))
        })
    });
    let read = read.await??;
    Ok(read.map(|url| (url, "view")).ok_or(ACCESS_DENIED))
}

async fn check_library(
    services: &ToolServices,
    call: &RequestContext,
    uri: &str,
) -> Result<AccessResult, CallError> {
    let Ok(uri) = uri.parse::<Uri>() else { return Ok(Err(ACCESS_DENIED)) };
    let options = RetrievalOptions {
        mode: Some(RetrievalMode::Snippet),
        snippet_length: Some(1),
        ..RetrievalOptions::default()
    };
    let level = if call.principal.has_right(Right::Write) { "edit" } else { "view" };
    match services.read_uri(call, uri, options).await {
        Ok(item) => Ok(Ok((item.meta.url.filter(|url| url.starts_with("http")), level))),
        Err(CallError::NotFound(_)) => Ok(Err(DOCUMENT_DELETED)),
        Err(error) => Err(error),
    }
}
