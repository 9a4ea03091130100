//! The tools there are, under each of their names.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{Failure, brief::Brief, hint, nearest};
use vademecum_core::auth::Right;

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
    /// What a call leaves behind.
    pub effect: Effect,
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

/// What a call of a tool leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it reads.
    Reads,
    /// Something more, and the same call again leaves it once more.
    Adds,
    /// Something more, once: the same call again leaves nothing.
    AddsOnce,
    /// Something else, so that what was there can be lost. The same call again
    /// leaves nothing.
    Replaces,
    /// Whatever the caller says: anything can be lost, by each call anew.
    Anything,
}

/// A set of tools that is shown or hidden as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Toolset {
    /// The library.
    Knowledge,
    /// `search` and `fetch` as deep-research clients know them.
    DeepResearch,
    /// Vectors of texts.
    Embedding,
    /// `rag.*`: collections in chunks.
    Rag,
    /// `rag_search`, for agents that know nothing else of a server.
    RagSearch,
    /// `search_knowledgebase`.
    Knowledgebase,
    /// Databases, through profiles.
    Databases,
}

impl Toolset {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Knowledge,
        Self::DeepResearch,
        Self::Embedding,
        Self::Rag,
        Self::RagSearch,
        Self::Knowledgebase,
        Self::Databases,
    ];
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// How names are written.
    pub names: NameStyle,
    /// The sets of tools that are there.
    pub toolsets: Vec<Toolset>,
    /// Whether tools that change something are there.
    pub write: bool,
    /// Whether tools for those who look after the server are there.
    pub admin: bool,
}

/// All tools, in the order in which they are listed.
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    switched_off: HashSet<usize>,
}

/// The tool by which clients without resources find them: it is always there.
const NEEDED: &str = "read_resource";

/// Says which tool cannot be switched off, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDisabled {
    /// There is none of that name.
    #[error("there is no tool `{name}` to disable{}", hint(*.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: Option<&'static str>,
    },
    /// It has to be there.
    #[error(
        "the tool `{NEEDED}` cannot be disabled: clients without resources find them by it; take \
         it out of tools.disabled (databases = \"off\" hides it with all tools for databases)"
    )]
    Needed,
}

impl Entry {
    /// The tool as `tools/list` shows it.
    fn to_json(&self, names: NameStyle) -> Value {
        let mut tool = json!({
            "name": names.write(self.name),
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schemas.input,
            "annotations": self.effect.hints(),
        });
        if let (Value::Object(fields), Some(output)) = (&mut tool, &self.schemas.output) {
            fields.insert("outputSchema".to_owned(), output.clone());
        }
        tool
    }
}

impl Effect {
    /// The hints of a tool that leaves this.
    pub fn hints(self) -> Value {
        let (destructive, idempotent) = match self {
            // The other hints mean something only where something is written.
            Self::Reads => return json!({ "readOnlyHint": true, "openWorldHint": false }),
            Self::Anything => (true, false),
            Self::Adds => (false, false),
            Self::AddsOnce => (false, true),
            Self::Replaces => (true, true),
        };
        json!({
            "readOnlyHint": false,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": false,
        })
    }
}

impl NameStyle {
    /// The name of a tool in this style.
    pub fn write(self, name: &str) -> String {
        match self {
            Self::Dotted => name.to_owned(),
            Self::Underscored => name.replace('.', "_"),
        }
    }
}

impl Catalog {
    /// A catalogue of these tools.
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut by_name = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            by_name.insert(entry.name.to_owned(), index);
            by_name.insert(NameStyle::Underscored.write(entry.name), index);
        }
        Self { entries, by_name, switched_off: HashSet::new() }
    }

    /// The same without these tools, each named in either form.
    pub fn without(mut self, disabled: &[String]) -> Result<Self, NotDisabled> {
        for name in disabled {
            let Some(index) = self.by_name.get(name) else {
                let nearest = nearest(name, self.entries.iter().map(|entry| entry.name));
                return Err(NotDisabled::Unknown { name: name.clone(), nearest });
            };
            if self.entries.get(*index).is_some_and(|entry| entry.name == NEEDED) {
                return Err(NotDisabled::Needed);
            }
            self.switched_off.insert(*index);
        }
        Ok(self)
    }

    /// The tool of that name, dotted or underscored, if it is shown; else what
    /// is wrong with the name.
    pub fn find(&self, name: &str, listing: &Listing) -> Result<&Entry, Failure> {
        let index = self.by_name.get(name);
        let known = index.and_then(|index| Some((*index, self.entries.get(*index)?)));
        match known {
            Some((index, entry)) if self.shows(index, entry, listing) => Ok(entry),
            Some((index, _)) if self.switched_off.contains(&index) => {
                Err(self
                    .refuse(&format!("the tool `{name}` is switched off on this server"), listing))
            }
            Some((_, entry)) if entry.toolset == Toolset::Embedding => {
                let problem = "is not enabled on this server: no embeddings.provider is set";
                Err(self.refuse(&format!("the tool `{name}` {problem}"), listing))
            }
            Some(_) | None => {
                let names = self.names(listing);
                let nearest = nearest(name, names.iter().map(String::as_str));
                Err(self.refuse(&format!("unknown tool `{name}`{}", hint(nearest)), listing))
            }
        }
    }

    /// All tools.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The names of the tools that are shown, as they are shown.
    pub fn names(&self, listing: &Listing) -> Vec<String> {
        self.shown(listing).map(|entry| listing.names.write(entry.name)).collect()
    }

    /// The tools that are shown, as `tools/list` answers.
    pub fn list(&self, listing: &Listing) -> Vec<Value> {
        let mut brief = Brief::default();
        let listed = self.shown(listing).map(|entry| {
            let mut tool = entry.to_json(listing.names);
            brief.shorten(entry.name, &mut tool["inputSchema"]);
            if let Some(output) = tool.get_mut("outputSchema") {
                Brief::shorten_output(output);
            }
            if listing.names != NameStyle::Dotted {
                self.rename(&mut tool, listing.names);
            }
            tool
        });
        listed.collect()
    }

    fn shown<'a>(&'a self, listing: &'a Listing) -> impl Iterator<Item = &'a Entry> {
        let all = self.entries.iter().enumerate();
        all.filter(move |(index, entry)| self.shows(*index, entry, listing)).map(|(_, entry)| entry)
    }

    fn shows(&self, index: usize, entry: &Entry, listing: &Listing) -> bool {
        let toolset = listing.toolsets.contains(&entry.toolset);
        let right = match entry.right {
            // What those change is not the library.
            Right::Admin => listing.admin,
            Right::Read | Right::Write => entry.effect == Effect::Reads || listing.write,
        };
        toolset && right && !self.switched_off.contains(&index)
    }

    /// A text in which tools are named as they are listed.
    pub(crate) fn tell(&self, text: &str, style: NameStyle) -> String {
        self.entries
            .iter()
            .fold(text.to_owned(), |text, entry| text.replace(entry.name, &style.write(entry.name)))
    }

    /// Names the tools in every description as they are listed.
    fn rename(&self, value: &mut Value, style: NameStyle) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == "description" => {
                            *text = self.tell(text, style);
                        }
                        value => self.rename(value, style),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.rename(value, style)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn refuse(&self, problem: &str, listing: &Listing) -> Failure {
        let known = self.names(listing).join(", ");
        Failure::parameters(format!("{problem}; expected one of {known}"))
    }
}
