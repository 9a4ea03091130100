//! `[[deny]]`: items that do not exist for some callers.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_model::ContentOrigin;

/// Items that do not exist for some callers: one section for each rule. A rule with neither `tags`,
/// `folders` nor `origins` hides everything in its `sources`. `*` stands for any text, and case does not
/// matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deny {
    /// User. Default: all.
    #[schemars(example = &"ada")]
    pub user: Option<String>,
    /// Key, by id or name. Default: all, and callers without a key.
    #[schemars(example = "laptop*")]
    pub key: Option<String>,
    /// Client program, by the name that it gives in the handshake, which is not verified. Default:
    /// all.
    #[schemars(example = "cursor*")]
    pub client: Option<String>,
    /// Sources: notes, media, chats, characters, prompts, collections or databases (the profiles).
    /// Default: all.
    #[schemars(example = ["notes", "media"])]
    pub sources: Vec<String>,
    /// Tags of the hidden items; in collections also their access tags.
    #[schemars(example = ["private"])]
    pub tags: Vec<String>,
    /// Folders whose imported files, and whose documents in collections, are hidden.
    #[schemars(example = ["/home/ada/diary"])]
    pub folders: Vec<PathBuf>,
    /// Origins: items of them are hidden, and those that agents wrote after they had been shown some. A
    /// rule that names one of the last five hides `unknown` as well.
    #[schemars(example = ["mail", "web_page"])]
    pub origins: Vec<ContentOrigin>,
}
