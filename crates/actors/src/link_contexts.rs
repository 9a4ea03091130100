//! The contexts of links that lead to an item. The database has the keys of links only; the text around a link is
//! read from the items that contain it.

use std::{
    collections::{HashMap, HashSet},
    mem::take,
};

use vademecum_model::Uri;
use vademecum_source::SourceError;
use vademecum_vault::links::{Link, LinkKey, LinkKind, LinkLookup, StoredLink};

use super::links::{LinkGraph, ResolvedLink, ids_in};

impl LinkGraph {
    /// Replaces links that were found by their keys by those in the texts of their items, which have contexts,
    /// for the first `limit` items. A link that a text has several times is there several times.
    pub(super) async fn add_contexts(
        &self,
        mut incoming: Vec<ResolvedLink>,
        mut quoting: Vec<ResolvedLink>,
        limit: usize,
    ) -> Result<(Vec<ResolvedLink>, Vec<ResolvedLink>), SourceError> {
        let items = first_items(incoming.iter().chain(&quoting), limit);
        if items.is_empty() {
            return Ok((incoming, quoting));
        }
        let texts = self.lookup(|source| LinkLookup {
            links_of: ids_in(source, &items),
            ..LinkLookup::default()
        });
        let in_texts = texts.await?.links;
        let work = move || {
            let texts = LinksInTexts::new(&in_texts);
            let places: HashMap<&Uri, usize> = items.iter().zip(0..).collect();
            for links in [&mut incoming, &mut quoting] {
                *links = take(links).into_iter().flat_map(|known| texts.replace(known)).collect();
                // Those of an item are in the order of its text; items that were not read stay at the end.
                links.sort_by_key(|it| {
                    let place = places.get(&it.from.uri).copied();
                    (place.unwrap_or(items.len()), it.link.link.position)
                });
            }
            (incoming, quoting)
        };
        self.run_blocking(work).await
    }
}

/// Returns the first items that contain the links, each once.
fn first_items<'a>(links: impl Iterator<Item = &'a ResolvedLink>, limit: usize) -> Vec<Uri> {
    let mut known = HashSet::new();
    let items = links.map(|link| &link.from.uri).filter(|uri| known.insert(*uri));
    items.take(limit).cloned().collect()
}

/// The parts of a link by which it is found: its item, kind, key and fragment.
type LinkIdentity<'a> = (&'a Uri, LinkKind, LinkKey, &'a str);

/// Links in texts, by what is stored of them.
struct LinksInTexts<'a>(HashMap<LinkIdentity<'a>, HashMap<&'a str, Vec<&'a Link>>>);

impl<'a> LinksInTexts<'a> {
    fn new(links: &'a [StoredLink]) -> Self {
        let mut found = Self(HashMap::new());
        for stored in links {
            let targets = found.0.entry(identity(stored)).or_default();
            targets.entry(stored.link.target.as_str()).or_default().push(&stored.link);
        }
        found
    }

    /// Returns the links in the text of its item that a link stands for; the link itself if there are none.
    fn replace(&self, known: ResolvedLink) -> Vec<ResolvedLink> {
        let targets = self.0.get(&identity(&known.link));
        let wanted = known.link.link.target.as_str();
        // Addresses are stored without their targets.
        let same: Vec<&Link> = match targets {
            Some(targets) if wanted.is_empty() => targets.values().flatten().copied().collect(),
            Some(targets) => targets.get(wanted).into_iter().flatten().copied().collect(),
            None => Vec::new(),
        };
        if same.is_empty() {
            return vec![known];
        }
        let link = |link: &Link| StoredLink { from: known.from.uri.clone(), link: link.clone() };
        same.into_iter().map(|same| ResolvedLink { link: link(same), ..known.clone() }).collect()
    }
}

fn identity(stored: &StoredLink) -> LinkIdentity<'_> {
    let link = &stored.link;
    (&stored.from, link.kind, link.key, link.fragment.as_str())
}

#[cfg(test)]
mod tests {
    use vademecum_model::{ItemRef, SourceName};
    use vademecum_vault::links::LinkPlace;

    use super::*;

    fn link(target: &str, fragment: &str, position: usize) -> StoredLink {
        let (target, fragment) = (target.to_owned(), fragment.to_owned());
        let (kind, context) = (LinkKind::Wikilink, String::new());
        let link = Link { kind, key: LinkKey::default(), target, fragment, position, context };
        StoredLink { from: Uri::item(SourceName::Notes, "1"), link }
    }

    fn resolved(link: StoredLink) -> ResolvedLink {
        let from = ItemRef { uri: link.from.clone(), title: "a".to_owned() };
        ResolvedLink { link, from, target: None, place: LinkPlace::default() }
    }

    #[test]
    fn links_are_found_by_target_and_fragment() {
        let in_texts = [
            link("a/name", "", 1),
            link("b/name", "", 2),
            link("a/name", "", 3),
            link("name", "x", 4),
        ];
        let texts = LinksInTexts::new(&in_texts);
        let positions = |target, fragment| {
            let found = texts.replace(resolved(link(target, fragment, 0)));
            let mut found: Vec<_> = found.iter().map(|it| it.link.link.position).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(positions("a/name", ""), [1, 3]);
        assert_eq!(positions("", ""), [1, 2, 3], "an address is stored without its target");
        assert_eq!(positions("name", "x"), [4]);
        assert_eq!(positions("name", "y"), [0], "the link itself");
    }

    #[test]
    fn items_are_counted_once() {
        let links = [1, 2, 3].map(|position| resolved(link("a", "", position)));
        assert_eq!(first_items(links.iter(), 2).len(), 1);
        assert!(first_items(links.iter(), 0).is_empty());
    }
}
