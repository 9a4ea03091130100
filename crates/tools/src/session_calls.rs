//! Searching and reading items within a session, for all tools.

use serde_json::json;
use vademecum_actors::{self as actors, CallContext, CallError, SearchPage, WithContext};
use vademecum_mcp::{LogLevel, RequestContext, Scope};
use vademecum_model::{
    ItemId, Preferences, Retrieval, RetrievalMode, RetrievalOptions, SourceName, Uri,
};
use vademecum_search::Item;
use vademecum_source::check_loc;
use vademecum_vault::journal::AsOf;

use super::{
    ToolOutput, ToolResult, ToolServices, documents, input::split_uri, item_lookup::FoundItem,
    link_notes, render, safe_text,
};

/// Returns the request for an item by its URI, without its links.
pub(crate) fn read_of_uri(
    uri: Uri,
    options: RetrievalOptions,
    preferences: Preferences,
) -> actors::ReadRequest {
    let source = uri.source;
    let (id, part) = split_uri(uri);
    actors::ReadRequest { options, preferences, ..read_of_part(source, id, part) }
}

fn read_of_part(source: SourceName, id: ItemId, part: Option<String>) -> actors::ReadRequest {
    actors::ReadRequest {
        source,
        id,
        part,
        options: RetrievalOptions::default(),
        page: None,
        preferences: Preferences::default(),
        with_links: false,
    }
}

/// Part of a media document that is no section.
const TRANSCRIPT: &str = "transcript";

/// Makes the part of a note or a document, which is a heading, the location to read at. Without a mode, the whole
/// section is read.
fn with_section(mut read: actors::ReadRequest) -> actors::ReadRequest {
    let has_sections = matches!(read.source, SourceName::Notes | SourceName::Media);
    let section = read.part.take_if(|part| has_sections && part != TRANSCRIPT);
    if let Some(heading) = section {
        let loc = read.options.loc.get_or_insert_default();
        loc.heading.get_or_insert(heading);
    }
    if read.options.loc.as_ref().is_some_and(|loc| loc.heading.is_some()) {
        read.options.mode.get_or_insert(RetrievalMode::Chunk);
    }
    read
}

impl ToolServices {
    /// Searches within a session. Failed sources are reported as log notifications.
    pub(crate) async fn search_session(
        &self,
        call: &RequestContext,
        scope: Option<&Scope>,
        search: actors::SearchRequest,
    ) -> Result<SearchPage, CallError> {
        let session = self.open_session(&call.principal, scope)?;
        let search = WithContext { request: search, context: CallContext::from_request(call) };
        let mut page = session.send(search).await.unwrap_or(Err(CallError::Unavailable))?;
        if page.has_supersessions {
            link_notes::add_supersessions(self, call, &mut page.hits).await;
        }
        if self.cleans_text {
            // Here and not in the output, so that highlights fit the snippet.
            page.hits.iter_mut().for_each(safe_text::clean_snippet);
        }
        for failed in &page.failed {
            call.send_log(LogLevel::Warning, &json!(failed));
        }
        Ok(page)
    }

    /// Lets a session forget results that were not shown after all.
    pub(crate) async fn forget_shown(
        &self,
        call: &RequestContext,
        scope: Option<&Scope>,
        uris: Vec<Uri>,
    ) -> Result<(), CallError> {
        // Without a scope, the session has ended.
        let (Some(_), false) = (scope, uris.is_empty()) else { return Ok(()) };
        let session = self.open_session(&call.principal, scope)?;
        session.send(actors::ForgetShown(uris)).await.map_err(|_| CallError::Unavailable)
    }

    /// Lets the conversation of a call remember what the call has shown.
    pub(crate) async fn remember_shown(&self, call: &RequestContext) -> Result<(), CallError> {
        let shown = call.items.take_shown();
        if call.scope.is_none() || shown.is_empty() {
            return Ok(());
        }
        let session = self.open_session(&call.principal, call.scope.as_ref())?;
        let deadline = self.deadline(call);
        self.registry.remember_shown(&call.principal, &session, shown, deadline).await
    }

    /// Reads an item within a session.
    pub(crate) async fn read_item(
        &self,
        call: &RequestContext,
        scope: Option<&Scope>,
        read: actors::ReadRequest,
    ) -> Result<Item, CallError> {
        let read = with_section(read);
        if let Some(loc) = &read.options.loc {
            check_loc(read.source, &read.id, loc)?;
        }
        let item = if read.source == SourceName::Collections {
            documents::read_document(self, call, read).await?
        } else {
            let session = self.open_session(&call.principal, scope)?;
            let read = WithContext { request: read, context: CallContext::from_request(call) };
            session.send(read).await.unwrap_or(Err(CallError::Unavailable))?
        };
        call.items.record_hits([&item.meta]);
        Ok(item)
    }

    /// Reads an item by its URI, outside of any session and without its links.
    pub async fn read_uri(
        &self,
        call: &RequestContext,
        uri: Uri,
        options: RetrievalOptions,
    ) -> Result<Item, CallError> {
        self.read_item(call, None, read_of_uri(uri, options, call.defaults.preferences)).await
    }

    /// Reads an item and converts it to a tool output.
    pub(crate) async fn read_item_output(
        &self,
        call: &RequestContext,
        read: actors::ReadRequest,
    ) -> ToolResult<Item> {
        Ok(self.item_output(self.read_item(call, call.scope.as_ref(), read).await?))
    }

    /// Reads an item as it was, and renders it.
    pub(crate) async fn read_past_item(
        &self,
        call: &RequestContext,
        (source, id, part): FoundItem,
        as_of: AsOf,
        options: RetrievalOptions,
    ) -> ToolResult<Item> {
        let read = actors::ReadRequest { options, ..read_of_part(source, id, part) };
        let actors::ReadRequest { id, options, .. } = with_section(read);
        if let Some(loc) = &options.loc {
            check_loc(source, &id, loc)?;
        }
        let library = self.registry.library(&call.principal);
        let source = library.source(source).ok_or_else(|| {
            CallError::Invalid(
                "as_of: documents of collections have no earlier versions".to_owned(),
            )
        })?;
        let retrieval = Retrieval::resolve(options, &call.defaults.preferences);
        let item = source.item_as_of(id, as_of, retrieval, self.deadline(call)).await?;
        call.items.record_hits([&item.meta]);
        Ok(self.item_output(item))
    }

    fn item_output(&self, item: Item) -> ToolOutput<Item> {
        let text = self.text(|| render::render_item(&item));
        ToolOutput { output: item, text, meta: None }
    }
}
