//! MCP content blocks, as used by tools, prompts and resources.

use serde::Serialize;
use serde_json::{Map, Value};

/// One content block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Image data in base64.
        data: String,
        /// MIME type.
        mime_type: String,
    },
    /// An audio clip.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// Audio data in base64.
        data: String,
        /// MIME type.
        mime_type: String,
    },
    /// A resource with its contents.
    Resource {
        /// The contents.
        resource: ResourceContents,
    },
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Contents of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// URI of the resource.
    pub uri: String,
    /// MIME type.
    pub mime_type: String,
    /// Text or binary data.
    #[serde(flatten)]
    pub body: ResourceBody,
    /// Sentence that tells what was cut and how to read on. It is sent as a text of its own, so that
    /// the body stays as it is stored.
    #[serde(skip)]
    pub read_on: Option<String>,
    /// `_meta` fields.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Text or binary data of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Binary data in base64.
    Blob(String),
}

impl ResourceContents {
    /// Creates the contents of a text resource.
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: String) -> Self {
        Self {
            uri: uri.into(),
            mime_type: mime_type.into(),
            body: ResourceBody::Text(text),
            read_on: None,
            meta: None,
        }
    }

    /// Splits off what was cut, as contents of its own.
    pub(crate) fn into_parts(mut self) -> Vec<Self> {
        let read_on = self.read_on.take();
        let read_on = read_on.map(|text| Self::text(self.uri.clone(), "text/plain", text));
        std::iter::once(self).chain(read_on).collect()
    }
}
