//! The result envelope `{ok, schema_version, data}` of the xsql tools.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{ToolOutput, tool::SCHEMA_VERSION};

/// A successful result. Errors have `error` instead of `data`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Envelope<T> {
    /// Always true; false in errors.
    ok: bool,
    /// Version of the envelope.
    schema_version: u8,
    /// Result of the tool.
    data: T,
}

impl<T> Envelope<T> {
    /// Wraps a successful result.
    pub(super) fn success(data: T) -> ToolOutput<Self> {
        Self { ok: true, schema_version: SCHEMA_VERSION, data }.into()
    }
}
