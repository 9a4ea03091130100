//! The script of all pages, under a name that changes with its content. Pages work without it.

use std::sync::LazyLock;

use super::asset_path;

const CONTENT: &str = include_str!("script.js");

static PATH: LazyLock<String> = LazyLock::new(|| asset_path("script", "js", CONTENT));

/// The script of all pages, part of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script;

impl Script {
    /// Returns the path, which contains the hash of the content.
    pub(crate) fn path() -> &'static str {
        &PATH
    }

    /// Returns the JavaScript.
    pub(crate) fn content() -> &'static str {
        CONTENT
    }
}
