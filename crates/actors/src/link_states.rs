//! Notes by the state of their links: all links of a library are resolved at once.

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join_all;
use vademecum_model::{LinkState, SourceName, Uri};
use vademecum_source::SourceError;
use vademecum_vault::links::{
    FilePaths, LinkKind, LinkLookup, LinkOverview, LinkResolver, NameKind, StoredLink, StoredName,
};

use super::links::{LinkGraph, distinct};

impl LinkGraph {
    /// Returns the notes whose links are in a state, with the targets of the broken ones. `files` are the files
    /// that are no items. Costs two requests to each source.
    pub async fn notes_by_links(
        &self,
        state: LinkState,
        files: &FilePaths,
    ) -> Result<HashMap<String, Vec<String>>, SourceError> {
        let overviews = self.sources.iter().map(|it| it.link_overview(self.deadline.clone()));
        let mut all = LinkOverview::default();
        for overview in try_join_all(overviews).await? {
            all.extend(overview);
        }
        let addresses = match state {
            LinkState::Broken => Vec::new(),
            LinkState::Orphan | LinkState::Unlinked => self.links_to_addresses(&all.names).await?,
        };
        all.links.extend(addresses);
        Ok(select_notes(state, all, files))
    }

    /// Returns the web addresses in texts that are those of items.
    async fn links_to_addresses(
        &self,
        names: &[StoredName],
    ) -> Result<Vec<StoredLink>, SourceError> {
        let named = names.iter().filter(|it| it.name.kind == NameKind::Address);
        let linked_keys = distinct(named.map(|it| it.name.key));
        let kinds = vec![LinkKind::Address];
        let lookup = LinkLookup { linked_keys, kinds, ..LinkLookup::default() };
        Ok(self.lookup(|_| lookup.clone()).await?.links)
    }
}

/// Returns the notes whose links are in a state, with the targets of the broken ones.
fn select_notes(
    state: LinkState,
    all: LinkOverview,
    files: &FilePaths,
) -> HashMap<String, Vec<String>> {
    let LinkOverview { links, names, places, items } = all;
    let resolver = LinkResolver::new(names, places);
    let mut broken: HashMap<String, Vec<String>> = HashMap::new();
    let mut connected: HashSet<Uri> = HashSet::new();
    for link in &links {
        match resolver.resolve(link) {
            Some(target) if *target != link.from => {
                if state == LinkState::Unlinked {
                    connected.insert(link.from.clone());
                }
                connected.insert(target.clone());
            }
            Some(_) => {}
            None => {
                let is_file = || files.resolve(link, &resolver.place_of(&link.from)).is_some();
                let is_broken = link.from.source == SourceName::Notes && link.link.needs_target();
                if state == LinkState::Broken && is_broken && !is_file() {
                    let targets = broken.entry(link.from.id.clone()).or_default();
                    if !targets.contains(&link.link.target) {
                        targets.push(link.link.target.clone());
                    }
                }
            }
        }
    }
    if state == LinkState::Broken {
        return broken;
    }
    let unconnected = items.into_iter().filter(|item| !connected.contains(item));
    let notes = unconnected.filter(|item| item.source == SourceName::Notes);
    notes.map(|item| (item.id, Vec::new())).collect()
}
