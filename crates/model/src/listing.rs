//! Lists of items without a query, and the names by which an item is found.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{MAIN_SEPARATOR, Path},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Filters, PropertyCondition, TaskState, Uri, json_list};

/// A request to list the items of a source.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Filters that items must pass: `after`, `before`, `tags`, and the types of media.
    pub filters: Filters,
    /// Notes: only those in this folder or below it. The names of nested folders are separated by `/`.
    pub folder: Option<String>,
    /// Only items from the files that a path below the imported folder means.
    pub path: Option<String>,
    /// Notes: only those whose properties pass all of these.
    pub properties: Vec<PropertyCondition>,
    /// Notes: only those with a task in this state.
    pub tasks: Option<TaskState>,
    /// Only these items, by identifier.
    pub only: Option<HashSet<String>>,
    /// Order of the items.
    pub order: ListOrder,
    /// Maximum number of items to return.
    pub take: usize,
    /// Facets to count over all items that pass.
    pub facets: Vec<Facet>,
}

impl ListRequest {
    /// Returns the parameter `:folder`: lower-case names, one a line.
    pub fn folder_parameter(&self) -> Option<String> {
        let names = self.folder.as_deref()?.split(['/', '\\']).map(str::trim);
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        (!names.is_empty()).then(|| names.join("\n").to_ascii_lowercase())
    }

    /// Returns whether the rows of properties and tasks of notes decide which of them pass.
    pub fn has_note_conditions(&self) -> bool {
        !self.properties.is_empty() || self.tasks.is_some()
    }
}

/// Order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListOrder {
    /// Last modified first.
    #[default]
    Modified,
    /// Last created first.
    Created,
    /// By title, ignoring case.
    Title,
}

impl ListOrder {
    /// Compares the sort keys of two items.
    pub fn compare(self, one: &str, other: &str) -> std::cmp::Ordering {
        match self {
            Self::Modified | Self::Created => other.cmp(one),
            Self::Title => one.cmp(other),
        }
    }
}

/// A property whose values are counted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Facet {
    /// Tags.
    Tags,
    /// Folders of notes. A folder counts the notes in it and below it.
    Folders,
    /// Types of media.
    Types,
    /// Months of the last modification.
    Months,
    /// Sources.
    Sources,
}

impl Facet {
    /// Returns the name in arguments and outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tags => "tags",
            Self::Folders => "folders",
            Self::Types => "types",
            Self::Months => "months",
            Self::Sources => "sources",
        }
    }
}

/// Number of items of each value of each requested facet.
pub type FacetCounts = BTreeMap<Facet, HashMap<String, usize>>;

/// The first items of a source in the requested order.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The items, up to the requested number.
    pub items: Vec<ListedItem>,
    /// Number of all items that pass the filters.
    pub total: usize,
    /// Counts over all items that pass the filters.
    pub facets: FacetCounts,
}

/// An item of a list whose content is not loaded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedItem {
    /// Row in the source's full-text table.
    pub key: i64,
    /// Canonical pointer, such as `media://3`.
    pub uri: Uri,
    /// Text by which the list is ordered: a date, or the title in lower case.
    pub sort_key: String,
}

/// A name of an item other than its identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemName {
    /// Title or name; for notes also the file name or an alias.
    Title(String),
    /// The imported file, or the end of its path. The extension may be missing.
    Path(String),
    /// Web address of a document.
    Url(String),
}

impl ItemName {
    /// Returns the text that the caller gave.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Title(text) | Self::Path(text) | Self::Url(text) => text,
        }
    }

    /// Returns a name of the same kind.
    #[must_use]
    pub fn with_text(&self, text: &str) -> Self {
        match self {
            Self::Title(_) => Self::Title(text.to_owned()),
            Self::Path(_) => Self::Path(text.to_owned()),
            Self::Url(_) => Self::Url(text.to_owned()),
        }
    }

    /// Returns the forms of the name, in the order in which they are tried.
    pub fn forms(&self) -> Vec<NameForm> {
        match self {
            Self::Title(title) => {
                vec![NameForm { title: Some(title.trim().to_owned()), ..NameForm::default() }]
            }
            Self::Path(path) => path_patterns(path)
                .into_iter()
                .map(|path| NameForm { path: Some(path), ..NameForm::default() })
                .collect(),
            Self::Url(url) => {
                vec![NameForm { urls: json_list(&url_forms(url)), ..NameForm::default() }]
            }
        }
    }
}

/// One form of a name. One of the fields is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameForm {
    /// Title or alias to compare, without white space around it.
    pub title: Option<String>,
    /// Pattern of the path, for `LIKE`.
    pub path: Option<String>,
    /// JSON list of web addresses.
    pub urls: Option<String>,
}

/// Returns the patterns, for GLOB, of origins whose path ends with `path`: as it is, and if it has no
/// extension, with any.
fn path_patterns(path: &str) -> Vec<String> {
    let path = path.trim().trim_start_matches("file://").trim_start_matches("./");
    let path = path.replace('/', std::path::MAIN_SEPARATOR_STR);
    let mut end = String::new();
    if !Path::new(&path).is_absolute() {
        end.push(MAIN_SEPARATOR);
    }
    end.push_str(&path);
    let mut pattern = String::from("file:*");
    for letter in end.chars() {
        match letter {
            '*' | '?' | '[' => pattern.extend(['[', letter, ']']),
            _ => pattern.push(letter),
        }
    }
    let with_extension = format!("{pattern}.?*");
    match Path::new(&path).extension() {
        Some(_) => vec![pattern],
        None => vec![pattern, with_extension],
    }
}

/// Returns the forms of a web address that name the same page: with either scheme, and with or
/// without the slash at its end and the part after `#`.
fn url_forms(url: &str) -> Vec<String> {
    let url = url.trim();
    let mut forms = vec![url.to_owned()];
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let whole = rest.split_once('#').map_or(rest, |(before, _)| before);
    for rest in [rest, whole] {
        let bare = rest.trim_end_matches('/');
        for scheme in ["https://", "http://"] {
            forms.extend([format!("{scheme}{bare}"), format!("{scheme}{bare}/")]);
        }
    }
    forms.dedup();
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_parameter_has_one_name_per_line() {
        let parameter = |folder: &str| {
            ListRequest { folder: Some(folder.to_owned()), ..ListRequest::default() }
                .folder_parameter()
        };
        assert_eq!(parameter("/Projects/ House/"), Some("projects\nhouse".to_owned()));
        assert_eq!(parameter(" / "), None);
    }

    #[test]
    fn path_without_extension_has_two_patterns() {
        let sep = MAIN_SEPARATOR;
        assert_eq!(path_patterns("./a*b/c.md"), [format!("file:*{sep}a[*]b{sep}c.md")]);
        assert_eq!(path_patterns("c"), [format!("file:*{sep}c"), format!("file:*{sep}c.?*")]);
    }

    #[test]
    fn url_forms_ignore_scheme_slash_and_fragment() {
        let forms = url_forms("http://example.com/a#b");
        for form in ["http://example.com/a#b", "https://example.com/a", "https://example.com/a/"] {
            assert!(forms.iter().any(|it| it == form), "{form}: {forms:?}");
        }
    }
}
