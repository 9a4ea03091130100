//! The links between the items of one library, across its sources.
//!
//! Each source stores the links of its own items. A link is resolved here, with the names that the
//! caller may see in all sources, so that a link to an item that does not exist for the caller is
//! unresolved.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::try_join_all;
use vademecum_model::{Deadline, ItemId, ItemRef, SourceName, Uri};
use vademecum_source::SourceError;
use vademecum_vault::links::{
    LinkKind, LinkLookup, LinkPlace, LinkResolver, LinkRows, NameKind, StoredLink, StoredName,
};

use super::source::{QuotingItem, SourceHandle};

/// Number of addresses of an item that are looked up in other items.
const MAX_SHARED_ADDRESSES: usize = 100;
/// An address that more items share than this says nothing about them.
const MAX_SHARING_ITEMS: usize = 30;

/// The links of one library, as far as its caller sees the items.
#[derive(Debug)]
pub struct LinkGraph {
    sources: Vec<SourceHandle>,
    deadline: Deadline,
}

/// A link, and the items at both ends.
#[derive(Clone, Debug)]
pub struct ResolvedLink {
    /// The link as it is stored.
    pub link: StoredLink,
    /// The item that contains it.
    pub from: ItemRef,
    /// The item to which it leads, if there is one.
    pub target: Option<ItemRef>,
    /// The place in which it is resolved.
    pub place: LinkPlace,
}

impl LinkGraph {
    /// Creates the graph of a library with these sources.
    pub(super) fn new(sources: &[SourceHandle], deadline: Deadline) -> Self {
        Self { sources: sources.to_vec(), deadline }
    }

    /// Returns an item by its URI; `None` if it does not exist for the caller.
    pub async fn find_item(&self, uri: &Uri) -> Result<Option<ItemRef>, SourceError> {
        let rows = self.lookup(|source| LinkLookup {
            names_of: ids_in(source, std::slice::from_ref(uri)),
            ..LinkLookup::default()
        });
        Ok(item_ref(&rows.await?.titles, uri))
    }

    /// Returns the links in the texts of these items, in the order of the texts. Empty `kinds` are
    /// all.
    pub async fn links_of(
        &self,
        items: &[Uri],
        kinds: &[LinkKind],
    ) -> Result<Vec<ResolvedLink>, SourceError> {
        let rows = self.lookup(|source| LinkLookup {
            links_of: ids_in(source, items),
            names_of: ids_in(source, items),
            kinds: kinds.to_vec(),
            ..LinkLookup::default()
        });
        let mut rows = rows.await?;
        let keys = distinct(rows.links.iter().map(|link| &link.link.key));
        let named = self.names_with(&keys).await?;
        rows.titles.extend(named.titles);
        Ok(resolve_all(rows.links, named.names, rows.names, &rows.titles))
    }

    /// Returns the links of other items that lead to these items.
    pub async fn links_to(
        &self,
        items: &[Uri],
        kinds: &[LinkKind],
    ) -> Result<Vec<ResolvedLink>, SourceError> {
        let own = self.lookup(|source| LinkLookup {
            names_of: ids_in(source, items),
            ..LinkLookup::default()
        });
        let keys = distinct(own.await?.names.iter().map(|name| &name.name.key));
        let rows = self.lookup(|_| LinkLookup {
            keys: keys.clone(),
            linked_keys: keys.clone(),
            kinds: kinds.to_vec(),
            ..LinkLookup::default()
        });
        let LinkRows { links, names, titles } = rows.await?;
        let mut resolved = resolve_all(links, names.clone(), names, &titles);
        resolved.retain(|it| {
            it.target.as_ref().is_some_and(|to| items.contains(&to.uri) && to.uri != it.from.uri)
        });
        Ok(resolved)
    }

    /// Returns the links of other items to addresses that an item links to, the rarest addresses
    /// first. Addresses of items are left out: they are links to these.
    pub async fn shared_addresses(
        &self,
        addresses: &[&ResolvedLink],
        item: &Uri,
    ) -> Result<Vec<ResolvedLink>, SourceError> {
        let unresolved = addresses.iter().filter(|it| it.target.is_none());
        let mut keys = distinct(unresolved.map(|it| &it.link.link.key));
        keys.truncate(MAX_SHARED_ADDRESSES);
        let rows = self.lookup(|_| LinkLookup {
            linked_keys: keys.clone(),
            kinds: vec![LinkKind::Address],
            ..LinkLookup::default()
        });
        let LinkRows { links, titles, .. } = rows.await?;
        let mut by_key: BTreeMap<String, BTreeMap<Uri, StoredLink>> = BTreeMap::new();
        for link in links.into_iter().filter(|link| link.from != *item) {
            let sharing = by_key.entry(link.link.key.clone()).or_default();
            sharing.entry(link.from.clone()).or_insert(link);
        }
        let mut shared: Vec<_> =
            by_key.into_values().filter(|sharing| sharing.len() <= MAX_SHARING_ITEMS).collect();
        shared.sort_by_key(BTreeMap::len);
        let links = shared.into_iter().flat_map(BTreeMap::into_values);
        Ok(links.filter_map(|link| with_ends(link, None, &titles)).collect())
    }

    /// Returns the items whose text an item quotes, and the items that quote its text.
    pub async fn quotes(
        &self,
        own: &[&ResolvedLink],
        item: &ItemRef,
    ) -> Result<(Vec<ResolvedLink>, Vec<ResolvedLink>), SourceError> {
        let uri = &item.uri;
        let Some(home) = self.sources.iter().find(|source| source.name() == uri.source) else {
            return Ok(Default::default());
        };
        let id = ItemId::Text(uri.id.clone());
        let text = home.quotable_text(&id, self.deadline.clone()).await?;
        let quotes: Vec<String> = own.iter().map(|it| it.link.link.target.clone()).collect();
        let compared = self.sources.iter().map(|source| {
            let quoting =
                QuotingItem { uri: uri.clone(), quotes: quotes.clone(), text: text.clone() };
            source.compare_quotes(quoting, self.deadline.clone())
        });
        let found = try_join_all(compared).await?;
        let (mut quoted, mut quoting) = (Vec::new(), Vec::new());
        for found in found {
            quoted.extend(found.quoted);
            quoting.extend(found.quoting);
        }
        let mut seen: Vec<Uri> = quoted.iter().map(|(_, uri)| uri.clone()).collect();
        seen.extend(quoting.iter().map(|link| link.from.clone()));
        let titles = self.titles_of(&seen).await?;
        let out = quoted.into_iter().filter_map(|(number, to)| {
            Some(ResolvedLink { target: item_ref(&titles, &to), ..(*own.get(number)?).clone() })
        });
        let quoting = quoting.into_iter();
        let quoting = quoting.filter_map(|link| with_ends(link, Some(item.clone()), &titles));
        Ok((out.filter(|it| it.target.is_some()).collect(), quoting.collect()))
    }

    /// Returns for these items which other items they replace, and which replace them, as pairs of the
    /// newer and the older item.
    pub async fn supersessions(
        &self,
        items: &[Uri],
    ) -> Result<Vec<(ItemRef, ItemRef)>, SourceError> {
        let kinds = LinkKind::SUPERSEDING;
        let mut links = self.links_of(items, &kinds).await?;
        links.extend(self.links_to(items, &kinds).await?);
        let mut pairs = Vec::new();
        for ResolvedLink { link, from, target, .. } in links {
            let Some(target) = target.filter(|target| target.uri != from.uri) else { continue };
            let pair = match link.link.kind {
                LinkKind::Supersedes => (from, target),
                _ => (target, from),
            };
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        Ok(pairs)
    }

    /// Returns the titles of the items that exist.
    pub async fn titles_of(&self, items: &[Uri]) -> Result<HashMap<Uri, String>, SourceError> {
        let rows = self.lookup(|source| LinkLookup {
            names_of: ids_in(source, items),
            ..LinkLookup::default()
        });
        Ok(rows.await?.titles)
    }

    async fn names_with(&self, keys: &[String]) -> Result<LinkRows, SourceError> {
        self.lookup(|_| LinkLookup { keys: keys.to_vec(), ..LinkLookup::default() }).await
    }

    /// Looks up rows in all sources of which something is wanted.
    async fn lookup(
        &self,
        wanted: impl Fn(SourceName) -> LinkLookup,
    ) -> Result<LinkRows, SourceError> {
        let asked = self.sources.iter().filter_map(|source| {
            let lookup = wanted(source.name());
            (!lookup.is_empty()).then(|| source.link_rows(lookup, self.deadline.clone()))
        });
        let mut all = LinkRows::default();
        for rows in try_join_all(asked).await? {
            all.extend(rows);
        }
        Ok(all)
    }
}

/// Returns the identifiers of the items of one source.
fn ids_in(source: SourceName, items: &[Uri]) -> Vec<String> {
    items.iter().filter(|uri| uri.source == source).map(|uri| uri.id.clone()).collect()
}

fn distinct<'a>(keys: impl Iterator<Item = &'a String>) -> Vec<String> {
    let keys: BTreeSet<&String> = keys.collect();
    keys.into_iter().cloned().collect()
}

fn item_ref(titles: &HashMap<Uri, String>, uri: &Uri) -> Option<ItemRef> {
    let title = titles.get(uri)?.clone();
    Some(ItemRef { uri: uri.clone(), title })
}

fn with_ends(
    link: StoredLink,
    target: Option<ItemRef>,
    titles: &HashMap<Uri, String>,
) -> Option<ResolvedLink> {
    let from = item_ref(titles, &link.from)?;
    Some(ResolvedLink { from, target, link, place: LinkPlace::default() })
}

/// Resolves links. `candidates` are the names with their keys, `own` those of the items that contain
/// them.
fn resolve_all(
    links: Vec<StoredLink>,
    candidates: Vec<StoredName>,
    own: Vec<StoredName>,
    titles: &HashMap<Uri, String>,
) -> Vec<ResolvedLink> {
    let own = own.into_iter().filter(|it| it.name.kind != NameKind::Uri);
    let resolver = LinkResolver::new(candidates, own);
    let resolved = links.into_iter().filter_map(|link| {
        let target = resolver.resolve(&link).and_then(|uri| item_ref(titles, uri));
        let place = resolver.place_of(&link.from);
        Some(ResolvedLink { place, ..with_ends(link, target, titles)? })
    });
    resolved.collect()
}
