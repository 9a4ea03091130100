//! Resources and resource templates, as listed to clients.

use std::borrow::Cow;

use serde::Serialize;

/// Resource as listed by `resources/list`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// URI of the resource.
    pub uri: Cow<'static, str>,
    /// Name of the resource.
    pub name: Cow<'static, str>,
    /// Title for people.
    pub title: Cow<'static, str>,
    /// Description of the contents.
    pub description: Cow<'static, str>,
    /// MIME type.
    pub mime_type: Cow<'static, str>,
}

/// Resource template as listed by `resources/templates/list`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// URI template (RFC 6570), such as `notes://{id}`.
    pub uri_template: String,
    /// Name of the template.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Description of the contents.
    pub description: String,
    /// MIME type, if all resources have the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'static, str>>,
}
