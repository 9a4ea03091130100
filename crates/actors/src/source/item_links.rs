//! Reading of links, and of items with their links.

use std::time::Instant;

use vademecum_model::Deadline;
use vademecum_search::{GetRequest, Item};
use vademecum_source::{Source, SourceError, set_content_origins, set_derived_from};
use vademecum_store::{Reader, ShownRows, Store};
use vademecum_vault::links::{
    LinkKind, LinkLookup, LinkRows, are_links_outdated, read_link_rows, read_outdated_links,
};

use super::{actor::ReadSource, handle::SourceHandle};

/// Part of the time of a call that reading links of earlier items may take.
const SHARE_OF_TIME: u32 = 2;

impl SourceHandle {
    /// Reads links and names of visible items. A source without items is not asked.
    pub(crate) async fn link_rows(
        &self,
        lookup: LinkLookup,
        deadline: Deadline,
    ) -> Result<LinkRows, SourceError> {
        self.read_derived(deadline, move |source, reader| read_link_rows(source, reader, &lookup))
            .await
    }

    /// Reads rows that are derived from texts, after those of items that an earlier version stored.
    pub(super) async fn read_derived<T: Default + Send + 'static>(
        &self,
        deadline: Deadline,
        query: impl Fn(&dyn Source, &Reader<'_>) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        // A replica may create the file now.
        if self.is_hidden() || (self.replica.is_none() && !self.has_store()) {
            return Ok(T::default());
        }
        let bound = deadline.clone();
        let work = move |source: &dyn Source, store: &Store| {
            let current =
                |reader: &Reader<'_>| if_current(source, reader, || query(source, reader));
            if let Some(rows) = store.read(bound.clone(), current)? {
                return Ok(rows);
            }
            bring_up_to_date(source, store, &bound)?;
            store.read(bound, |reader| query(source, reader))
        };
        self.send(Some(&deadline), ReadSource { uses_index: false, work: Box::new(work) }).await
    }

    /// Reads one item, and its own rows of links if requested.
    pub(crate) async fn read_item(
        &self,
        get: GetRequest,
        links: OwnLinks,
        deadline: Deadline,
    ) -> Result<ItemReading, SourceError> {
        if self.is_hidden() {
            return Err(self.hidden_item(&get.id));
        }
        let is_restricted = self.restriction.is_some();
        self.read_visible(deadline, move |source, reader| {
            let mut item = source.load_item(reader, &get)?;
            reader.verify_item(source.name(), &item.meta.uri.id, ShownRows::Item)?;
            set_content_origins(reader, source.name(), [&mut item.meta])?;
            // A caller who does not see all items must not learn of those that an agent was shown.
            if !is_restricted {
                set_derived_from(reader, &mut item.meta)?;
            }
            let links = match links {
                OwnLinks::Skip => Ok(None),
                links => {
                    let lookup = links.lookup_of(item.meta.uri.id.clone());
                    if_current(source, reader, || read_link_rows(source, reader, &lookup))
                }
            };
            Ok(ItemReading { item, links })
        })
        .await
    }
}

/// Own rows of links with which an item is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnLinks {
    /// None.
    Skip,
    /// Its names, and the links with which it supersedes or is superseded.
    Superseding,
    /// Its names, all links in its text, and the text itself, which others may quote.
    All,
}

impl OwnLinks {
    /// Returns the lookup of these rows of an item.
    pub(crate) fn lookup_of(self, id: String) -> LinkLookup {
        let lookup = match self {
            Self::Skip => return LinkLookup::default(),
            Self::Superseding => {
                LinkLookup { kinds: LinkKind::SUPERSEDING.to_vec(), ..LinkLookup::default() }
            }
            Self::All => LinkLookup { text_of: Some(id.clone()), ..LinkLookup::default() },
        };
        LinkLookup { links_of: vec![id.clone()], names_of: vec![id], ..lookup }
    }
}

/// An item, and its own rows of links if they were requested.
#[derive(Debug)]
pub(crate) struct ItemReading {
    /// The item.
    pub(crate) item: Item,
    /// The requested rows. `None` if none were
    /// requested, or if the links of items of an earlier version must be read before.
    pub(crate) links: Result<Option<LinkRows>, SourceError>,
}

/// Reads rows that are derived from texts; `None` if those of items that an earlier version stored must be
/// read before.
fn if_current<T>(
    source: &dyn Source,
    reader: &Reader<'_>,
    read: impl FnOnce() -> Result<T, SourceError>,
) -> Result<Option<T>, SourceError> {
    let is_outdated = are_links_outdated(reader, source.name())?;
    (!is_outdated).then(read).transpose()
}

/// Reads the links of items that an earlier version stored, for a part of the time of a call. The next
/// call continues.
fn bring_up_to_date(
    source: &dyn Source,
    store: &Store,
    deadline: &Deadline,
) -> Result<(), SourceError> {
    let left = deadline.expires_at.saturating_duration_since(Instant::now());
    if read_outdated_links(source, store, Some(&Deadline::after(left / SHARE_OF_TIME)))? {
        return Ok(());
    }
    Err(SourceError::Unavailable(format!(
        "the links of the items in `{}` are being read for the first time: try again in a moment",
        source.name()
    )))
}
