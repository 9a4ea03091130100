//! The style sheet of all pages, under a name that changes with its content, so that browsers may
//! keep it for ever.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};

const CONTENT: &str = include_str!("style.css");

static PATH: LazyLock<String> = LazyLock::new(|| asset_path("style", "css", CONTENT));

/// The style sheet of all pages, part of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StyleSheet;

impl StyleSheet {
    /// Returns the path, which contains the hash of the content.
    pub(crate) fn path() -> &'static str {
        &PATH
    }

    /// Returns the CSS.
    pub(crate) fn content() -> &'static str {
        CONTENT
    }
}

/// Returns the path of a file that pages load, with a hash of its content in the name.
pub(super) fn asset_path(name: &str, extension: &str, content: &str) -> String {
    let digest = Sha256::digest(content);
    let hash = digest.iter().take(8).fold(0_u64, |hash, byte| (hash << 8) | u64::from(*byte));
    format!("/assets/{name}-{hash:016x}.{extension}")
}
