//! MCP content blocks, as used by tools, prompts and resources.

use serde::Serialize;
use serde_json::{Map, Value};

/// Block of a tool result or a prompt message.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        /// Image data in base64.
        data: String,
        mime_type: String,
    },
    #[serde(rename_all = "camelCase")]
    Audio {
        /// Audio data in base64.
        data: String,
        mime_type: String,
    },
    /// Contents of a resource, embedded in the block.
    Resource {
        resource: ResourceContents,
    },
}

impl ContentBlock {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Contents as `resources/read` returns them, or embedded in a block.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    pub uri: String,
    pub mime_type: String,
    /// Text or binary data.
    #[serde(flatten)]
    pub body: ResourceBody,
    /// Sentence that tells what was cut and how to read on. It is sent as a text of its own, so that
    /// the body stays as it is stored.
    #[serde(skip)]
    pub read_on: Option<String>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Text or binary data of a resource.
#[expect(missing_docs, reason = "text speaks for itself")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    Text(String),
    /// Binary data in base64.
    Blob(String),
}

impl ResourceContents {
    /// Creates the complete contents of a text resource, without `_meta`.
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
