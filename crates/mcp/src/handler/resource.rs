//! Resources and resource templates, as listed to clients.

use std::borrow::Cow;

use serde::Serialize;

/// Resource as listed by `resources/list`.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: Cow<'static, str>,
    pub name: Cow<'static, str>,
    pub title: Cow<'static, str>,
    pub description: Cow<'static, str>,
    pub mime_type: Cow<'static, str>,
}

/// Resource template as listed by `resources/templates/list`.
#[expect(missing_docs, reason = "fields of the protocol, with the names of its schema")]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// URI template (RFC 6570), such as `notes://{id}`.
    pub uri_template: String,
    pub name: String,
    pub title: String,
    pub description: String,
    /// MIME type, if all resources have the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'static, str>>,
}
