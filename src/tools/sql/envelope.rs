//! The envelope of answers for programs: `{ok, schema_version, data}`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::{Replied, tool::SCHEMA_VERSION};

/// An answer for programs. What went wrong has `error` in the place of `data`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Envelope<T> {
    /// Whether it went well.
    ok: bool,
    /// The version of this shape.
    schema_version: u8,
    /// What was asked for.
    data: T,
}

impl<T> Envelope<T> {
    /// Something that went well.
    pub(super) fn of(data: T) -> Replied<Self> {
        Self { ok: true, schema_version: SCHEMA_VERSION, data }.into()
    }
}
