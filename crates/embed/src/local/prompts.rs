//! What a model wants to read before a text, by what the vector is for.

use std::collections::HashMap;

use serde::Deserialize;

use super::{super::Purpose, error::FolderError, folder::Folder};

const FILE: &str = "config_sentence_transformers.json";

/// What stands before queries and before documents; usually nothing.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    query: String,
    document: String,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    prompts: Option<HashMap<String, String>>,
}

impl Prompts {
    /// Reads them, if the folder has any.
    pub(super) fn read(folder: &mut Folder) -> Result<Self, FolderError> {
        let named: Option<Named> = folder.optional_json(FILE)?;
        let mut prompts = named.and_then(|it| it.prompts).unwrap_or_default();
        let mut first = |names: &[&str]| {
            names.iter().find_map(|name| prompts.remove(*name)).unwrap_or_default()
        };
        Ok(Self { query: first(&["query"]), document: first(&["document", "passage", "corpus"]) })
    }

    /// A text as the model wants it.
    pub(super) fn before(&self, text: &str, purpose: Purpose) -> String {
        match purpose {
            Purpose::Query => format!("{}{text}", self.query),
            Purpose::Document => format!("{}{text}", self.document),
        }
    }
}
