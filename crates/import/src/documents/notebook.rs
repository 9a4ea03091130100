//! Jupyter notebooks: text and code of the cells, without their outputs.

use serde::Deserialize;
use vademecum_model::{MediaDraft, SourceName};

use super::document::{single_document, title_or_stem, unreadable_error};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    text::markdown::MarkdownDocument,
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: &str = "notebook/1";

/// Imports a Jupyter notebook as one document.
#[derive(Debug)]
pub(crate) struct NotebookImporter;

#[derive(Deserialize)]
struct NotebookFile {
    cells: Vec<NotebookCell>,
    #[serde(default)]
    metadata: NotebookMetadata,
}

#[derive(Deserialize)]
struct NotebookCell {
    cell_type: String,
    #[serde(default)]
    source: CellSource,
}

/// The text of a cell, as one string or as lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum CellSource {
    Text(String),
    Lines(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NotebookMetadata {
    title: Option<String>,
    language_info: LanguageInfo,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LanguageInfo {
    name: String,
}

impl Importer for NotebookImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "notebooks (.ipynb)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByName.when(probe.has_extension(&["ipynb"]))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let notebook: NotebookFile = serde_json::from_str(&text)
            .map_err(|error| unreadable_error(file, "a notebook", &error))?;
        let language = &notebook.metadata.language_info.name;
        let cells: Vec<String> =
            notebook.cells.iter().filter_map(|cell| cell.to_markdown(language)).collect();
        let content = cells.join("\n\n");
        let heading = MarkdownDocument::parse(&content).first_heading();
        let document = MediaDraft {
            title: title_or_stem(notebook.metadata.title.as_deref().or(heading), file),
            media_type: "notebook".to_owned(),
            modified_at: file.modified,
            content,
            ..MediaDraft::default()
        };
        single_document(file, VERSION, document, Vec::new())
    }
}

impl Default for CellSource {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

impl NotebookCell {
    /// Returns the cell as Markdown; `None` if it is blank.
    fn to_markdown(&self, language: &str) -> Option<String> {
        let text = match &self.source {
            CellSource::Text(text) => text.clone(),
            CellSource::Lines(lines) => lines.concat(),
        };
        let text = text.trim_matches('\n');
        let markdown = match self.cell_type.as_str() {
            "code" => format!("```{language}\n{text}\n```"),
            _ => text.to_owned(),
        };
        (!text.trim().is_empty()).then_some(markdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::document::tests::{read_document, read_error};

    #[test]
    fn cells_are_read_in_order_without_outputs() {
        let text = r##"{"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": [
            {"cell_type": "markdown", "source": ["# Rye\n", "Knead."]},
            {"cell_type": "code", "source": "print(1)", "outputs": [{"text": ["secret"]}]},
            {"cell_type": "code", "source": []}]}"##;
        let notebook = read_document(&NotebookImporter, "/a.ipynb", text);
        assert_eq!(notebook.content, "# Rye\nKnead.\n\n```python\nprint(1)\n```");
        assert_eq!((notebook.title.as_str(), notebook.media_type.as_str()), ("Rye", "notebook"));
    }

    #[test]
    fn invalid_notebook_is_rejected() {
        assert!(read_error(&NotebookImporter, "/a.ipynb", "{}").contains("missing field `cells`"));
        let deep = r#"{"cells":"#.to_owned() + &"[".repeat(100_000);
        assert!(read_error(&NotebookImporter, "/a.ipynb", deep).contains("as a notebook"));
    }
}
