//! The tools there are, under each of their names.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::auth::Right;

/// A tool as it is listed.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The canonical name, with dots.
    pub name: &'static str,
    /// What people see.
    pub title: &'static str,
    /// What it does and when to use it, for the model.
    pub description: &'static str,
    /// To which set of tools it belongs.
    pub toolset: Toolset,
    /// What a principal must be allowed to call it.
    pub right: Right,
    /// What it takes and answers.
    pub schemas: Schemas,
}

/// What a tool takes and what it answers, as JSON Schema 2020-12.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// What it takes.
    pub input: Value,
    /// What it answers, if that is always the same.
    pub output: Option<Value>,
}

/// A set of tools that is shown or hidden as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Toolset {
    /// The library.
    Knowledge,
    /// `search` and `fetch` as deep-research clients know them.
    DeepResearch,
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// `knowledge.search`.
    Dotted,
    /// `knowledge_search`, for clients that refuse dots.
    Underscored,
}

/// What a client is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// How names are written.
    pub names: NameStyle,
    /// Whether `search` and `fetch` are there.
    pub deep_research: bool,
}

/// All tools, in the order in which they are listed.
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

impl Entry {
    /// The name as it is written for a client.
    fn name_in(&self, names: NameStyle) -> String {
        match names {
            NameStyle::Dotted => self.name.to_owned(),
            NameStyle::Underscored => self.name.replace('.', "_"),
        }
    }

    /// The tool as `tools/list` shows it.
    pub fn to_json(&self, names: NameStyle) -> Value {
        let mut tool = json!({
            "name": self.name_in(names),
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schemas.input,
            "annotations": {
                "title": self.title,
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
        });
        if let (Value::Object(fields), Some(output)) = (&mut tool, &self.schemas.output) {
            fields.insert("outputSchema".to_owned(), output.clone());
        }
        tool
    }
}

impl Catalog {
    /// A catalogue of these tools.
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut by_name = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            by_name.insert(entry.name.to_owned(), index);
            by_name.insert(entry.name.replace('.', "_"), index);
        }
        Self { entries, by_name }
    }

    /// The tool of that name, dotted or underscored, if it is shown.
    pub fn find(&self, name: &str, listing: Listing) -> Option<&Entry> {
        let entry = self.entries.get(*self.by_name.get(name)?)?;
        listing.shows(entry).then_some(entry)
    }

    /// All tools.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The names of the tools that are shown, as they are shown.
    pub fn names(&self, listing: Listing) -> Vec<String> {
        let shown = self.entries.iter().filter(|entry| listing.shows(entry));
        shown.map(|entry| entry.name_in(listing.names)).collect()
    }

    /// The tools that are shown, as `tools/list` answers.
    pub fn list(&self, listing: Listing) -> Vec<Value> {
        let shown = self.entries.iter().filter(|entry| listing.shows(entry));
        shown.map(|entry| entry.to_json(listing.names)).collect()
    }
}

impl Listing {
    fn shows(self, entry: &Entry) -> bool {
        match entry.toolset {
            Toolset::Knowledge => true,
            Toolset::DeepResearch => self.deep_research,
        }
    }
}
