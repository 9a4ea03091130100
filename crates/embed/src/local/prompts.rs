//! Prompts that a model expects before queries or documents.

use std::collections::HashMap;

use serde::Deserialize;

use super::{super::Purpose, error::FolderError, model_folder::ModelFolder};

const FILE: &str = "config_sentence_transformers.json";

/// Prefixes of queries and documents; often empty.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    query: String,
    document: String,
}

#[derive(Deserialize)]
struct PromptConfig {
    #[serde(default)]
    prompts: Option<HashMap<String, String>>,
}

impl Prompts {
    /// Reads the prompts from the folder. They are empty if it has none.
    pub(super) fn read(folder: &mut ModelFolder) -> Result<Self, FolderError> {
        let named: Option<PromptConfig> = folder.read_optional_json(FILE)?;
        let mut prompts = named.and_then(|it| it.prompts).unwrap_or_default();
        let mut first = |names: &[&str]| {
            names.iter().find_map(|name| prompts.remove(*name)).unwrap_or_default()
        };
        Ok(Self { query: first(&["query"]), document: first(&["document", "passage", "corpus"]) })
    }

    /// Puts the model's prompt for queries or documents before the text.
    pub(super) fn prepend_prompt(&self, text: &str, purpose: Purpose) -> String {
        match purpose {
            Purpose::Query => format!("{}{text}", self.query),
            Purpose::Document => format!("{}{text}", self.document),
        }
    }
}
