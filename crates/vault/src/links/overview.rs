//! All links of a library at once, to find those that lead nowhere and the notes to which none leads.

use std::collections::{HashMap, HashSet};

use rusqlite::named_params;
use vademecum_model::Uri;
use vademecum_source::{Source, SourceError};
use vademecum_store::Reader;

use super::{
    LinkPlace, StoredLink, StoredName, key::source_number, link::read_place, read::uri_name,
};

/// Maximum number of links, and of names, of one source.
const MAX_ROWS: usize = 1_000_000;

/// All links and names of one source, of visible items only. No text is read.
#[derive(Clone, Debug, Default)]
pub struct LinkOverview {
    /// The links, but for web addresses.
    pub links: Vec<StoredLink>,
    /// The names.
    pub names: Vec<StoredName>,
    /// Places of the items with links.
    pub places: HashMap<Uri, LinkPlace>,
    /// All items.
    pub items: Vec<Uri>,
}

impl LinkOverview {
    /// Adds the rows of another source.
    pub fn extend(&mut self, other: Self) {
        self.links.extend(other.links);
        self.names.extend(other.names);
        self.places.extend(other.places);
        self.items.extend(other.items);
    }
}

/// Reads all links and names of a source.
pub fn read_link_overview(
    source: &dyn Source,
    reader: &Reader<'_>,
) -> Result<LinkOverview, SourceError> {
    let name = source.name();
    let items = source.list_item_versions(reader)?;
    let mut overview = LinkOverview {
        items: items.into_iter().map(|item| Uri::item(name, item.id)).collect(),
        ..LinkOverview::default()
    };
    let visible: HashSet<&str> = overview.items.iter().map(|uri| uri.id.as_str()).collect();
    let most = i64::try_from(MAX_ROWS).unwrap_or(i64::MAX);
    let all = named_params! { ":number": source_number(name), ":most": most };
    let (mut links, mut names, mut places) = (Vec::new(), Vec::new(), HashMap::new());
    reader.for_each_row(include_str!("sql/all_links.sql"), all, |row| {
        if visible.contains(row.get_ref("item")?.as_str()?) {
            let link = StoredLink::from_row(name, row)?;
            if !places.contains_key(&link.from) {
                let (path, space) = read_place(row)?;
                places.insert(link.from.clone(), LinkPlace { path, space });
            }
            links.push(link);
        }
        Ok(())
    })?;
    reader.for_each_row(include_str!("sql/all_names.sql"), all, |row| {
        if visible.contains(row.get_ref("item")?.as_str()?) {
            names.push(StoredName::from_row(name, row)?);
        }
        Ok(())
    })?;
    if links.len().max(names.len()) >= MAX_ROWS {
        return Err(SourceError::Refused(format!(
            "links: `{name}` has more than {MAX_ROWS} links; read those of one item with knowledge.links"
        )));
    }
    names.extend(overview.items.iter().cloned().filter_map(uri_name));
    (overview.links, overview.names, overview.places) = (links, names, places);
    Ok(overview)
}
