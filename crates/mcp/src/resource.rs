//! Things that can be read by their URI.

use std::borrow::Cow;

use serde::Serialize;

/// A resource that is listed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is.
    pub uri: Cow<'static, str>,
    /// What it is called.
    pub name: Cow<'static, str>,
    /// What people see.
    pub title: Cow<'static, str>,
    /// What it holds.
    pub description: Cow<'static, str>,
    /// What form it has.
    pub mime_type: Cow<'static, str>,
}

/// A family of resources.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// Where they are, such as `notes://{id}`.
    pub uri_template: String,
    /// What they are called.
    pub name: String,
    /// What people see.
    pub title: String,
    /// What they hold.
    pub description: String,
    /// What form they have, if all have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'static, str>>,
}
