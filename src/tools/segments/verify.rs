//! `verify_document_access`: whether a segment may still be seen by who asks
//! now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_collections::{ChunkId, Filter};
use vademecum_kit::model::{Mode, RetrievalOptions, Uri};

use super::{place::Place, search::visible};
use crate::{
    actors::{self, CallError},
    tools::{Contract, Form, Replied, Toolbox, input::point},
};
use vademecum_core::auth::Right;
use vademecum_mcp::{Call, Toolset};

/// What is said of what is not there for the caller, whether it is anywhere or not.
const DENIED: &str = "there is no such document, or you may not see it";
/// What is said of what was the caller's own.
const DELETED: &str = "the document has been deleted";

/// Tells whether a segment may still be seen.
#[derive(Debug)]
pub struct VerifyDocumentAccess;

/// Which segment.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct VerifyInput {
    /// The unique segment identifier originally provided by your RAG server
    segment_uid: String,
}

/// Whether it may be seen.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerifyOutput {
    /// Whether the caller may see the document now.
    has_access: bool,
    /// Where it is found now.
    refreshed_url: Option<String>,
    /// What the caller may do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_level: Option<&'static str>,
    /// Why not, if not.
    error: Option<&'static str>,
}

impl Contract for VerifyDocumentAccess {
    const NAME: &'static str = "verify_document_access";
    const TITLE: &'static str = "Check access to a segment";
    const DESCRIPTION: &'static str = "Will verify user access to a document and optionally \
        provide a refreshed URL with current credentials";
    const TOOLSET: Toolset = Toolset::RagSearch;
    const FORM: Form = Form::Bare;
    type Input = VerifyInput;
    type Output = VerifyOutput;

    async fn call(
        toolbox: &Toolbox,
        input: VerifyInput,
        call: &Call,
    ) -> Result<Replied<VerifyOutput>, CallError> {
        let place = Place::named(&input.segment_uid, toolbox.server_key()?);
        let place = place.filter(|place| !place.is_foreign(call.principal.user()));
        let found = match place {
            None => Err(DENIED),
            Some(Place::Collection { source_id, doc_id, index }) => {
                in_collection(toolbox, call, source_id, doc_id, index).await?
            }
            Some(Place::Library { uri, .. }) => in_library(toolbox, call, &uri).await?,
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

/// Where it is found and what may be done with it, or why it is not there.
type Found = Result<(Option<String>, &'static str), &'static str>;

async fn in_collection(
    toolbox: &Toolbox,
    call: &Call,
    source_id: i64,
    doc_id: String,
    index: u32,
) -> Result<Found, CallError> {
    let opened = visible(toolbox, call).await?;
    let Some(one) = opened.iter().find(|one| one.record.source_id == source_id).cloned() else {
        return Ok(Err(DENIED));
    };
    let deadline = toolbox.deadline(call);
    let read = toolbox.beside(call, move || {
        let scope = one.scope(&Filter::default());
        let id = ChunkId { doc_id, index };
        one.collection.read(deadline, |reader| {
            // The document may have been cut anew; it is the document that counts.
            if let Some(passage) = one.collection.passage(reader, &id, &scope)? {
                return Ok(Some(passage.document.url));
            }
            let document = one.collection.document(reader, &id.doc_id, &scope)?;
            Ok(document.map(|document| document.url))
        })
    });
    let read = read.await??;
    Ok(read.map(|url| (url, "view")).ok_or(DENIED))
}

async fn in_library(toolbox: &Toolbox, call: &Call, uri: &str) -> Result<Found, CallError> {
    let Ok(uri) = uri.parse::<Uri>() else { return Ok(Err(DENIED)) };
    let source = uri.source;
    let (id, part) = point(uri);
    let options = RetrievalOptions {
        mode: Some(Mode::Snippet),
        snippet_length: Some(1),
        ..RetrievalOptions::default()
    };
    let preferences = call.defaults.preferences;
    let read = actors::Read { source, id, part, options, page: None, preferences };
    let level = if call.principal.may(Right::Write) { "edit" } else { "view" };
    match toolbox.read_item(call, None, read).await {
        Ok(item) => Ok(Ok((item.meta.url.filter(|url| url.starts_with("http")), level))),
        Err(CallError::NotFound(_)) => Ok(Err(DELETED)),
        Err(error) => Err(error),
    }
}
