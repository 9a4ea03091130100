//! Notebooks: what is written and computed in them, without what came out.

use serde::Deserialize;
use vademecum_kit::model::{MediaDraft, SourceName};

use super::document::{titled, unreadable, whole};
use crate::{Fit, Glance, ImportError, Importer, Reading, SourceFile, markdown::Markdown};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "notebook/1";

/// Reads notebooks.
#[derive(Debug)]
pub(crate) struct Notebook;

#[derive(Deserialize)]
struct Pages {
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Source,
}

/// A text, whole or by its lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Text(String),
    Lines(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    title: Option<String>,
    language_info: Named,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

impl Importer for Notebook {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "notebooks (.ipynb)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        Fit::Name.when(glance.ends_in(&["ipynb"]))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let notebook: Pages =
            serde_json::from_str(&text).map_err(|error| unreadable(file, "a notebook", &error))?;
        let language = &notebook.metadata.language_info.name;
        let cells: Vec<String> =
            notebook.cells.iter().filter_map(|cell| cell.text(language)).collect();
        let content = cells.join("\n\n");
        let heading = Markdown::parse(&content).first_heading();
        let document = MediaDraft {
            title: titled(notebook.metadata.title.as_deref().or(heading), file),
            media_type: "notebook".to_owned(),
            modified_at: file.modified,
            content,
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, Vec::new())
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

impl Cell {
    /// What it says, as Markdown.
    fn text(&self, language: &str) -> Option<String> {
        let text = match &self.source {
            Source::Text(text) => text.clone(),
            Source::Lines(lines) => lines.concat(),
        };
        let text = text.trim_matches('\n');
        let said = match self.cell_type.as_str() {
            "code" => format!("```{language}\n{text}\n```"),
            _ => text.to_owned(),
        };
        (!text.trim().is_empty()).then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::document::tests::{read, refused};

    #[test]
    fn cells_are_read_in_order_and_their_results_passed_by() {
        let text = r##"{"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": [
            {"cell_type": "markdown", "source": ["# Rye\n", "Knead."]},
            {"cell_type": "code", "source": "print(1)", "outputs": [{"text": ["secret"]}]},
            {"cell_type": "code", "source": []}]}"##;
        let notebook = read(&Notebook, "/a.ipynb", text);
        assert_eq!(notebook.content, "# Rye\nKnead.\n\n```python\nprint(1)\n```");
        assert_eq!((notebook.title.as_str(), notebook.media_type.as_str()), ("Rye", "notebook"));
    }

    #[test]
    fn what_is_no_notebook_is_refused() {
        assert!(refused(&Notebook, "/a.ipynb", "{}").contains("missing field `cells`"));
        let deep = r#"{"cells":"#.to_owned() + &"[".repeat(100_000);
        assert!(refused(&Notebook, "/a.ipynb", deep).contains("as a notebook"));
    }
}
