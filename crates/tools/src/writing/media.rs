//! `media.add`: adds a document.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_core::auth::Right;
use vademecum_import::digest;
use vademecum_mcp::{RequestContext, ToolEffect};
use vademecum_model::{DraftBody, MediaDraft};

use super::{
    super::{Tool, ToolResult, ToolServices},
    change::{WrittenItem, add_item},
    input::{Author, Content, MediaType, Tags, Title, Url},
};

/// Adds a document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaAdd {
    /// One line.
    title: Title,
    /// Markdown or plain text.
    content: Content,
    /// Such as article; default markdown.
    media_type: Option<MediaType>,
    /// URL of the publication.
    url: Option<Url>,
    /// Its author.
    author: Option<Author>,
    /// Words to find it by.
    tags: Option<Tags>,
}

impl Tool for MediaAdd {
    const NAME: &'static str = "media.add";
    const TITLE: &'static str = "Add a document";
    const DESCRIPTION: &'static str = "Add a document or an article. An identical one is not \
        added again.";
    const REQUIRED_RIGHT: Right = Right::Write;
    const EFFECT: ToolEffect = ToolEffect::AddsOnce;
    type Output = WrittenItem;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let media = MediaDraft {
            title: self.title.0,
            content: self.content.0,
            media_type: self.media_type.unwrap_or_default().0,
            url: self.url.map(|url| url.0),
            author: self.author.map(|author| author.0),
            tags: self.tags.unwrap_or_default().0,
            ..MediaDraft::default()
        };
        let digest = document_digest(&media);
        add_item(services, call, Self::NAME, DraftBody::Media(media), digest).await
    }
}

/// Returns the digest of a document's content, which prevents duplicates.
fn document_digest(media: &MediaDraft) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (url, author) = (text(&media.url), text(&media.author));
    let parts = [&media.title, &media.content, &media.media_type, &url, &author];
    digest("media.add/1", parts.into_iter().chain(&media.tags).map(String::as_bytes))
}
