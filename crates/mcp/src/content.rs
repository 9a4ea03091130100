//! Pieces of content, as tools, prompts and resources hand them out.

use serde::Serialize;

/// A piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// What it says.
        text: String,
    },
    /// A picture.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The picture in base64.
        data: String,
        /// What form it has.
        mime_type: String,
    },
    /// A sound.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The sound in base64.
        data: String,
        /// What form it has.
        mime_type: String,
    },
    /// A resource with what it holds.
    Resource {
        /// The resource.
        resource: Contents,
    },
}

impl Block {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contents {
    /// Where it is.
    pub uri: String,
    /// What form it has.
    pub mime_type: String,
    /// What it says, or what it is.
    #[serde(flatten)]
    pub body: Body,
}

/// Text or bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

impl Contents {
    /// A resource that is text.
    pub fn text(uri: impl Into<String>, mime_type: impl Into<String>, text: String) -> Self {
        Self { uri: uri.into(), mime_type: mime_type.into(), body: Body::Text(text) }
    }
}
