//! Links between items, and the properties and tasks of notes: read from their texts when an item is written.
//! Links are resolved when they are read (`docs/adr/0034-links.md`).
//!
//! [`extract_links`] finds the links of a text, as Obsidian, Logseq and Org mode understand it.
//! [`update_links`] stores them, and the names by which links find the item, in the transaction that
//! writes the item. [`read_link_rows`] reads both, for visible items only, and a [`LinkResolver`]
//! finds the items that links lead to: a database stores only links of its own items, but a link may
//! lead to an item of another one.

mod body_text;
mod dates;
mod dialect;
mod extract;
mod found_link;
mod front_matter;
mod item_rows;
mod key;
mod link;
mod masking;
mod note_conditions;
mod overview;
mod path_pattern;
mod properties;
mod quotes;
mod read;
mod record;
mod resolve;
mod scan;
mod tasks;
mod verify;

pub use self::{
    dialect::Dialect,
    extract::{Extracted, extract_links},
    key::LinkKey,
    link::{Link, LinkKind, LinkName, NameKind, StoredLink, StoredName},
    note_conditions::{NoteDetails, matching_items, read_note_details},
    overview::{LinkOverview, read_link_overview},
    path_pattern::PathPattern,
    quotes::QuotingItem,
    read::{LinkLookup, LinkRows, read_link_rows},
    record::{
        are_links_outdated, read_outdated_links, rebuild_links, update_links, update_renamed,
        update_saved_links,
    },
    resolve::{FilePaths, LinkPlace, LinkResolver},
    verify::are_links_right,
};
