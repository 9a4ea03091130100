//! `media.add`.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{Body, MediaDraft, Written};

use super::{
    super::{Contract, Replied, Toolbox},
    change::add,
    input::{Author, Content, MediaType, Tags, Title, Url},
};
use crate::actors::CallError;
use vademecum_core::auth::Right;
use vademecum_import::digest;
use vademecum_mcp::{Call, Effect};

/// Adds a document.
#[derive(Debug)]
pub struct MediaAdd;

/// What a new document says, and where it is from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaAddInput {
    /// One line.
    title: Title,
    /// Markdown or plain text.
    content: Content,
    /// Such as article; default markdown.
    media_type: Option<MediaType>,
    /// Where it was published.
    url: Option<Url>,
    /// Who wrote it.
    author: Option<Author>,
    /// Words to find it by.
    tags: Option<Tags>,
}

impl Contract for MediaAdd {
    const NAME: &'static str = "media.add";
    const TITLE: &'static str = "Add a document";
    const DESCRIPTION: &'static str = "Add a document or an article. One that is there already, \
        just so, is not added again.";
    const RIGHT: Right = Right::Write;
    const EFFECT: Effect = Effect::AddsOnce;
    type Input = MediaAddInput;
    type Output = Written;

    async fn call(
        toolbox: &Toolbox,
        input: MediaAddInput,
        call: &Call,
    ) -> Result<Replied<Written>, CallError> {
        let media = MediaDraft {
            title: input.title.0,
            content: input.content.0,
            media_type: input.media_type.unwrap_or_default().0,
            url: input.url.map(|url| url.0),
            author: input.author.map(|author| author.0),
            tags: input.tags.unwrap_or_default().0,
            ..MediaDraft::default()
        };
        let digest = fingerprint(&media);
        add(toolbox, call, Body::Media(media), digest).await
    }
}

/// The same for the same document, whoever adds it and whenever.
fn fingerprint(media: &MediaDraft) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (url, author) = (text(&media.url), text(&media.author));
    let parts = [&media.title, &media.content, &media.media_type, &url, &author];
    digest("media.add/1", parts.into_iter().chain(&media.tags).map(String::as_bytes))
}
