//! What somebody changes in the library itself, instead of bringing it in.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Draft, ItemId, Uri};

/// Longest text of what is written in the library, in characters (code points).
pub const LONGEST_CONTENT: usize = 1_000_000;

/// A change of what one source holds.
#[derive(Clone, Debug)]
pub enum Change {
    /// Something new. Where it comes from is not remembered.
    Add(Box<Draft>),
    /// Other tags on something.
    Tag {
        /// What it is.
        id: ItemId,
        /// Which tags.
        tagging: Tagging,
    },
    /// Another text, or none any more.
    Edit {
        /// What it is.
        id: ItemId,
        /// The version that was read: any other is left alone.
        version: Option<i64>,
        /// What becomes of it.
        edit: Edit,
    },
}

/// What becomes of something that is edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// More text at its end, on a line of its own.
    Append(String),
    /// Other values for those of its fields that are given.
    Replace(Replacement),
    /// Nothing is found or read of it any more.
    Delete,
}

/// New values for some of the fields of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Its title.
    pub title: Option<String>,
    /// Its text.
    pub content: Option<String>,
    /// Its tags, all of them.
    pub tags: Option<Vec<String>>,
}

/// Tags that are put on something and taken off it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tagging {
    /// What it is to have.
    pub add: Vec<String>,
    /// What it is not to have.
    pub remove: Vec<String>,
}

/// What a change has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Written {
    /// Identifier inside the source; what the source's `get` tool takes.
    pub id: ItemId,
    /// Canonical pointer, such as `media://3`.
    pub uri: Uri,
    /// How often it was changed, starting at 1.
    pub version: i64,
    /// Its tags.
    pub tags: Vec<String>,
}

impl Tagging {
    /// The tags of something that has `before`; `None` if they stay as they are.
    /// Case makes no difference: a tag that is there keeps the form it has.
    pub fn applied_to(&self, before: &[String]) -> Option<Vec<String>> {
        let gone: HashSet<String> = self.remove.iter().map(|tag| tag.to_lowercase()).collect();
        let mut known = HashSet::new();
        let after: Vec<String> = before
            .iter()
            .chain(&self.add)
            .filter(|tag| !gone.contains(&tag.to_lowercase()) && known.insert(tag.to_lowercase()))
            .cloned()
            .collect();
        (after != before).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(before: &[&str], add: &[&str], remove: &[&str]) -> Option<Vec<String>> {
        let own = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        Tagging { add: own(add), remove: own(remove) }.applied_to(&own(before))
    }

    #[test]
    fn tags_are_added_and_taken_off_whatever_their_case() {
        assert_eq!(tags(&["Rye", "oat"], &["bran"], &["rye"]).unwrap(), ["oat", "bran"]);
        assert_eq!(tags(&["Äpfel"], &["x", "X"], &["äpfel"]).unwrap(), ["x"]);
    }

    #[test]
    fn tags_that_are_there_already_or_are_not_there_change_nothing() {
        assert_eq!(tags(&["Rye"], &["rye", "RYE"], &["oat"]), None);
        assert_eq!(tags(&[], &[], &[]), None);
    }
}
