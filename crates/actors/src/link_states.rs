//! Notes by the state of their links: all links of a library are resolved at once.

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join_all;
use vademecum_model::{Deadline, LinkState, SourceName, Uri};
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
        let (files, deadline) = (files.clone(), self.deadline.clone());
        let select = move || select_notes(state, all, &files, &deadline);
        self.run_blocking(select).await?.ok_or_else(timed_out)
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

fn timed_out() -> SourceError {
    let problem =
        "links: the links of this library took too long to resolve; try again in a moment";
    SourceError::Unavailable(problem.to_owned())
}

/// Returns the notes whose links are in a state, with the targets of the broken ones; `None` if the deadline
/// passes before.
fn select_notes(
    state: LinkState,
    all: LinkOverview,
    files: &FilePaths,
    deadline: &Deadline,
) -> Option<HashMap<String, Vec<String>>> {
    let LinkOverview { links, names, places, items } = all;
    let resolver = LinkResolver::new(names, places);
    let mut broken: HashMap<String, Vec<String>> = HashMap::new();
    let mut known_targets: HashSet<(&str, &str)> = HashSet::new();
    let mut connected: HashSet<Uri> = HashSet::new();
    for link in &links {
        // Many items can have the name of each link.
        if deadline.has_passed() {
            return None;
        }
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
                let mut is_new = || known_targets.insert((&link.from.id, &link.link.target));
                if state == LinkState::Broken && is_broken && is_new() && !is_file() {
                    let targets = broken.entry(link.from.id.clone()).or_default();
                    targets.push(link.link.target.clone());
                }
            }
        }
    }
    if state == LinkState::Broken {
        return Some(broken);
    }
    let unconnected = items.into_iter().filter(|item| !connected.contains(item));
    let notes = unconnected.filter(|item| item.source == SourceName::Notes);
    Some(notes.map(|item| (item.id, Vec::new())).collect())
}
