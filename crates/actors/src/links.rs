//! The links between the items of one library, across its sources.
//!
//! Each source stores the links of its own items. A link is resolved here, with the names that the
//! caller may see in all sources, so that a link to an item that does not exist for the caller is
//! unresolved.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    mem::take,
    sync::Arc,
};

use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_model::{Deadline, ItemRef, SourceName, Uri};
use vademecum_source::SourceError;
use vademecum_vault::links::{
    Link, LinkKey, LinkKind, LinkLookup, LinkPlace, LinkResolver, LinkRows, QuotingItem, StoredLink,
};

use super::{blocking_pool::BlockingPool, source::SourceHandle};

/// Number of addresses of an item that are looked up in other items.
const MAX_SHARED_ADDRESSES: usize = 100;
/// An address that more items share than this says nothing about them.
const MAX_SHARING_ITEMS: usize = 30;
/// Number of links and names that are resolved without the blocking pool.
const MAX_INLINE_ROWS: usize = 200;
/// Number of linking items whose texts are read for the contexts of their links, on a page of the item.
const CONTEXTS_ON_PAGE: usize = 40;

/// The links of one library, as far as its caller sees the items.
#[derive(Debug)]
pub struct LinkGraph {
    pub(super) sources: Vec<SourceHandle>,
    pub(super) deadline: Deadline,
    /// Pool on which many links are resolved.
    pub(super) pool: Arc<BlockingPool>,
}

/// A link, and the items at both ends.
#[derive(Clone, Debug)]
pub struct ResolvedLink {
    /// The link as it stands in the text, before it is resolved.
    pub link: StoredLink,
    /// The item that contains it.
    pub from: ItemRef,
    /// The item to which it leads, if there is one.
    pub target: Option<ItemRef>,
    /// Folder or file relative to which the link is resolved.
    pub place: LinkPlace,
}

/// Direction of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkDirection {
    /// Links to the item.
    In,
    /// Links in the item.
    Out,
    /// Both.
    #[default]
    Both,
}

/// The links of some items.
#[derive(Clone, Debug, Default)]
pub struct ConnectedItems {
    /// The links in their texts, in the order of the texts.
    pub out: Vec<ResolvedLink>,
    /// The links of other items that lead to them.
    pub incoming: Vec<ResolvedLink>,
    /// Titles of the items that exist, and of those at the other ends.
    pub titles: HashMap<Uri, String>,
}

/// The links of one item, and what else it has in common with others.
#[derive(Clone, Debug)]
pub struct ItemLinks {
    /// The item to which the links belong.
    pub item: ItemRef,
    /// The links in its text, in the order of the text.
    pub out: Vec<ResolvedLink>,
    /// The items whose text it quotes.
    pub quoted: Vec<ResolvedLink>,
    /// The links of other items to addresses that it links to, the rarest addresses first. Addresses of
    /// items are left out: they are links to these.
    pub shared: Vec<ResolvedLink>,
    /// The links of other items that lead to it.
    pub incoming: Vec<ResolvedLink>,
    /// The items that quote its text.
    pub quoting: Vec<ResolvedLink>,
    /// Number of links in its text that are not read because it has too many.
    pub omitted: usize,
}

impl LinkGraph {
    /// Creates the graph of a library with these sources.
    pub(super) fn new(
        sources: &[SourceHandle],
        deadline: Deadline,
        pool: &Arc<BlockingPool>,
    ) -> Self {
        Self { sources: sources.to_vec(), deadline, pool: Arc::clone(pool) }
    }

    /// Returns the links of an item; `None` if it does not exist for the caller. Costs one request to
    /// the source of the item, one to each source, and one to each source of items that link to it.
    /// The first `contexts` of these have the contexts of their links.
    pub async fn item_links(
        &self,
        uri: &Uri,
        direction: LinkDirection,
        contexts: usize,
    ) -> Result<Option<ItemLinks>, SourceError> {
        let own = self.lookup(|source| {
            let ids = ids_in(source, std::slice::from_ref(uri));
            let has_incoming = direction != LinkDirection::Out;
            let text_of = ids.first().filter(|_| has_incoming).cloned();
            LinkLookup { text_of, ..own_rows(ids, &[], direction) }
        });
        self.links_of_rows(own.await?, uri, (direction, contexts)).await
    }

    /// Returns all links of an item whose own rows were read; `own` is `None` if the links of items of an
    /// earlier version must be read before.
    pub(super) async fn all_links(
        &self,
        own: Option<LinkRows>,
        uri: &Uri,
    ) -> Result<Option<ItemLinks>, SourceError> {
        let both = LinkDirection::Both;
        match own {
            Some(own) => self.links_of_rows(own, uri, (both, CONTEXTS_ON_PAGE)).await,
            None => self.item_links(uri, both, CONTEXTS_ON_PAGE).await,
        }
    }

    async fn links_of_rows(
        &self,
        mut own: LinkRows,
        uri: &Uri,
        (direction, contexts): (LinkDirection, usize),
    ) -> Result<Option<ItemLinks>, SourceError> {
        let has_out = direction != LinkDirection::In;
        let Some(item) = item_ref(&own.titles, uri) else { return Ok(None) };
        let text = own.text.take().unwrap_or_default();
        let omitted = own.omitted;
        let of_kind = |kind| own.links.iter().filter(move |link| link.link.kind == kind);
        let quotes = of_kind(LinkKind::Quote).map(|link| link.link.target.clone()).collect();
        let lookup = LinkLookup {
            shared_keys: if has_out {
                distinct(of_kind(LinkKind::Address).map(|link| link.link.key))
            } else {
                Vec::new()
            },
            quoting_item: Some(Arc::new(QuotingItem { uri: uri.clone(), quotes, text })),
            ..connected_rows(&own, &[], direction)
        };
        let mut rows = self.lookup(|_| lookup.clone()).await?;
        let (shared, quoted) = (take(&mut rows.shared), take(&mut rows.quoted));
        let quoting = take(&mut rows.quoting);
        let ConnectedItems { out, mut incoming, titles } = self.connect(own, rows).await?;
        let mut quoting: Vec<_> = quoting
            .into_iter()
            .filter_map(|link| with_ends(link, Some(item.clone()), &titles))
            .collect();
        for links in [&mut incoming, &mut quoting] {
            links.sort_by(|one, other| one.from.uri.cmp(&other.from.uri));
        }
        let (incoming, quoting) = self.add_contexts(incoming, quoting, contexts).await?;
        let of_kind =
            |kind| out.iter().filter(move |it| it.link.link.kind == kind).collect::<Vec<_>>();
        let quotes = of_kind(LinkKind::Quote);
        let quoted = quoted.into_iter().filter_map(|(number, to)| {
            let target = Some(item_ref(&titles, &to)?);
            Some(ResolvedLink { target, ..(*quotes.get(number)?).clone() })
        });
        let quoted = if has_out { quoted.collect() } else { Vec::new() };
        let shared = rarest_addresses(&of_kind(LinkKind::Address), shared, uri);
        let shared = shared.into_iter().filter_map(|link| with_ends(link, None, &titles));
        let shared = shared.collect();
        Ok(Some(ItemLinks { item, out, quoted, shared, incoming, quoting, omitted }))
    }

    /// Returns the links of items. Empty `kinds` are all. Costs one request to each source of the
    /// items, and one to each source.
    pub async fn connected_items(
        &self,
        items: &[Uri],
        kinds: &[LinkKind],
        direction: LinkDirection,
    ) -> Result<ConnectedItems, SourceError> {
        let own = self.lookup(|source| own_rows(ids_in(source, items), kinds, direction));
        self.connect_rows(own.await?, kinds, direction).await
    }

    /// Returns the names of an item, and the links with which it supersedes or is superseded.
    pub(super) async fn superseding_rows(&self, item: &Uri) -> Result<LinkRows, SourceError> {
        let items = std::slice::from_ref(item);
        let kinds = LinkKind::SUPERSEDING;
        self.lookup(|source| own_rows(ids_in(source, items), &kinds, LinkDirection::Both)).await
    }

    /// Returns the links of items whose own links and names were read. `kinds` are those of the links
    /// that lead to them.
    pub(super) async fn connect_rows(
        &self,
        own: LinkRows,
        kinds: &[LinkKind],
        direction: LinkDirection,
    ) -> Result<ConnectedItems, SourceError> {
        let lookup = connected_rows(&own, kinds, direction);
        let rows = self.lookup(|_| lookup.clone()).await?;
        self.connect(own, rows).await
    }

    /// Returns for these items which other items they replace, and which replace them, as pairs of the
    /// newer and the older item.
    pub async fn supersessions(
        &self,
        items: &[Uri],
    ) -> Result<Vec<(ItemRef, ItemRef)>, SourceError> {
        let kinds = LinkKind::SUPERSEDING;
        Ok(self.connected_items(items, &kinds, LinkDirection::Both).await?.supersessions())
    }

    /// Returns the titles of the items that exist.
    pub async fn titles_of(&self, items: &[Uri]) -> Result<HashMap<Uri, String>, SourceError> {
        let rows = self.lookup(|source| own_rows(ids_in(source, items), &[], LinkDirection::In));
        Ok(rows.await?.titles)
    }

    /// Resolves the own links of items, and the links of other items to them. Many are resolved on the pool.
    async fn connect(&self, own: LinkRows, rows: LinkRows) -> Result<ConnectedItems, SourceError> {
        let count = |rows: &LinkRows| rows.links.len() + rows.names.len();
        if count(&own) + count(&rows) <= MAX_INLINE_ROWS {
            return Ok(connect(own, rows));
        }
        self.run_blocking(move || connect(own, rows)).await
    }

    /// Runs work on many links on the blocking pool of the library.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SourceError> {
        let done = self.pool.spawn(work).await;
        let overloaded = "links: the library is overloaded: try again in a moment";
        done.map_err(|_| SourceError::Unavailable(overloaded.to_owned()))
    }

    /// Looks up rows in all sources of which something is wanted.
    pub(super) async fn lookup(
        &self,
        lookup_of: impl Fn(SourceName) -> LinkLookup,
    ) -> Result<LinkRows, SourceError> {
        let requests = self.sources.iter().filter_map(|source| {
            let lookup = lookup_of(source.name());
            (!lookup.is_empty()).then(|| source.link_rows(lookup, self.deadline.clone()))
        });
        let mut all = LinkRows::default();
        for rows in try_join_all(requests).await? {
            all.extend(rows);
        }
        Ok(all)
    }
}

impl ConnectedItems {
    /// Returns the pairs of a newer item and the older one that it replaces, each once.
    pub(super) fn supersessions(self) -> Vec<(ItemRef, ItemRef)> {
        superseding_pairs(self.out.iter().chain(&self.incoming))
    }
}

impl ItemLinks {
    /// Returns the pairs of a newer item and the older one that it replaces, each once.
    pub(super) fn supersessions(&self) -> Vec<(ItemRef, ItemRef)> {
        superseding_pairs(self.out.iter().chain(&self.incoming))
    }
}

fn superseding_pairs<'a>(links: impl Iterator<Item = &'a ResolvedLink>) -> Vec<(ItemRef, ItemRef)> {
    let mut pairs = Vec::new();
    let mut known = HashSet::new();
    for ResolvedLink { link, from, target, .. } in links {
        let Some(target) = target.as_ref().filter(|target| target.uri != from.uri) else {
            continue;
        };
        let pair = match link.link.kind {
            LinkKind::Supersedes => (from.clone(), target.clone()),
            LinkKind::SupersededBy => (target.clone(), from.clone()),
            _ => continue,
        };
        if known.insert((pair.0.uri.clone(), pair.1.uri.clone())) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Returns the lookup of the names of items, and of their links unless only those to them are wanted.
fn own_rows(ids: Vec<String>, kinds: &[LinkKind], direction: LinkDirection) -> LinkLookup {
    let links_of = if direction == LinkDirection::In { Vec::new() } else { ids.clone() };
    LinkLookup { links_of, names_of: ids, kinds: kinds.to_vec(), ..LinkLookup::default() }
}

/// Returns the lookup of what the own links of items may lead to, and of the links to their names.
fn connected_rows(own: &LinkRows, kinds: &[LinkKind], direction: LinkDirection) -> LinkLookup {
    let named = own.names.iter().map(|name| name.name.key);
    let linked_keys = if direction == LinkDirection::Out { Vec::new() } else { distinct(named) };
    let linking = own.links.iter().map(|link| link.link.key);
    let keys = distinct(linking.chain(linked_keys.iter().copied()));
    let uris: BTreeSet<Uri> = own.links.iter().filter_map(|it| it.link.target_uri()).collect();
    let uris = uris.into_iter().collect();
    LinkLookup { keys, uris, linked_keys, kinds: kinds.to_vec(), ..LinkLookup::default() }
}

/// Resolves the own links of items, and the links of other items to them.
fn connect(own: LinkRows, rows: LinkRows) -> ConnectedItems {
    let items: BTreeSet<Uri> = own.titles.keys().cloned().collect();
    let mut titles = own.titles;
    titles.extend(rows.titles);
    let mut places = own.places;
    places.extend(rows.places);
    let resolver = LinkResolver::new(own.names.into_iter().chain(rows.names), places);
    let out = resolve_all(own.links, &resolver, &titles);
    let mut incoming = resolve_all(rows.links, &resolver, &titles);
    incoming.retain(|it| {
        it.target.as_ref().is_some_and(|to| items.contains(&to.uri) && to.uri != it.from.uri)
    });
    ConnectedItems { out, incoming, titles }
}

/// Returns the links in `sharing` to those of the addresses that lead to no item, one of each other
/// item, the rarest addresses first, each written as in the item.
fn rarest_addresses(
    addresses: &[&ResolvedLink],
    sharing: Vec<StoredLink>,
    item: &Uri,
) -> Vec<StoredLink> {
    let unresolved = addresses.iter().filter(|it| it.target.is_none());
    let own: BTreeMap<LinkKey, &Link> =
        unresolved.rev().map(|it| (it.link.link.key, &it.link.link)).collect();
    let own: BTreeMap<_, _> = own.into_iter().take(MAX_SHARED_ADDRESSES).collect();
    let mut by_key: BTreeMap<LinkKey, BTreeMap<Uri, StoredLink>> = BTreeMap::new();
    for mut link in sharing {
        if link.from != *item
            && let Some(own) = own.get(&link.link.key)
        {
            link.link.target.clone_from(&own.target);
            let sharing = by_key.entry(link.link.key).or_default();
            sharing.entry(link.from.clone()).or_insert(link);
        }
    }
    let mut shared: Vec<_> =
        by_key.into_values().filter(|sharing| sharing.len() <= MAX_SHARING_ITEMS).collect();
    let written = |sharing: &BTreeMap<Uri, StoredLink>| {
        sharing.values().next().map(|link| link.link.target.clone())
    };
    shared.sort_by_cached_key(|sharing| (sharing.len(), written(sharing)));
    shared.into_iter().flat_map(BTreeMap::into_values).collect()
}

/// Returns the identifiers of the items of one source.
pub(super) fn ids_in(source: SourceName, items: &[Uri]) -> Vec<String> {
    items.iter().filter(|uri| uri.source == source).map(|uri| uri.id.clone()).collect()
}

pub(super) fn distinct(keys: impl Iterator<Item = LinkKey>) -> Vec<LinkKey> {
    let keys: BTreeSet<LinkKey> = keys.collect();
    keys.into_iter().collect()
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

fn resolve_all(
    links: Vec<StoredLink>,
    resolver: &LinkResolver,
    titles: &HashMap<Uri, String>,
) -> Vec<ResolvedLink> {
    let resolved = links.into_iter().filter_map(|link| {
        let target = resolver.resolve(&link).and_then(|uri| item_ref(titles, uri));
        let place = resolver.place_of(&link.from);
        Some(ResolvedLink { place, ..with_ends(link, target, titles)? })
    });
    resolved.collect()
}
