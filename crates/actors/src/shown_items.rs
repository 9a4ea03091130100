//! Items that a conversation was shown, and the origins of their contents. An agent that writes an item
//! may have put any of it there.

use std::collections::VecDeque;

use vademecum_model::{ContentOrigin, DerivedFrom, OriginSet, Provenance, Uri};

/// Maximum number of items that a conversation remembers as shown. Their origins are remembered
/// however many they are.
const MAX_ITEMS: usize = 100;

/// Items that a conversation was shown, and their origins.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownItems {
    /// The items, the oldest first.
    items: VecDeque<DerivedFrom>,
    origins: OriginSet,
}

impl ShownItems {
    /// Creates that of a conversation of which it is not known what it was shown before.
    pub(crate) fn unknown() -> Self {
        Self { origins: OriginSet::from_iter([ContentOrigin::Unknown]), ..Self::default() }
    }

    /// Adds an item. Of too many, the oldest of those with the weakest origin is forgotten.
    pub(crate) fn add(&mut self, uri: Option<Uri>, origins: OriginSet) {
        self.origins = self.origins.union(origins);
        let Some(uri) = uri else { return };
        let uri = Uri { part: None, ..uri };
        let origin = origins.strictest();
        self.items.retain(|known| known.uri != uri);
        self.items.push_back(DerivedFrom { uri, origin });
        if self.items.len() > MAX_ITEMS
            && let Some(weakest) = self.items.iter().map(|item| item.origin).min()
            && let Some(at) = self.items.iter().position(|item| item.origin == weakest)
        {
            self.items.remove(at);
        }
    }

    /// Returns the provenance of an item that this conversation writes now.
    pub(crate) fn provenance(&self, client: &str) -> Provenance {
        let mut provenance = Provenance::of_agent(client);
        let derived_from = self.items.iter().rev().cloned().collect();
        let shown = Provenance { agents: Vec::new(), origins: self.origins, derived_from };
        provenance.merge(&shown);
        provenance
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::SourceName;

    use super::*;

    fn uri(number: usize) -> Uri {
        Uri::item(SourceName::Media, number.to_string())
    }

    fn set(origins: &[ContentOrigin]) -> OriginSet {
        origins.iter().copied().collect()
    }

    #[test]
    fn shown_mail_outlives_many_other_items() {
        let mut shown = ShownItems::default();
        shown.add(Some(uri(0)), set(&[ContentOrigin::Agent, ContentOrigin::Mail]));
        shown.add(None, set(&[ContentOrigin::Database]));
        for number in 1..10 * MAX_ITEMS {
            shown.add(Some(uri(number)), set(&[ContentOrigin::Own]));
        }
        assert_eq!(shown.items.len(), MAX_ITEMS);
        let provenance = shown.provenance("client");
        assert_eq!(
            provenance.derived_from[0],
            DerivedFrom { uri: uri(0), origin: ContentOrigin::Mail }
        );
        let latest = DerivedFrom { uri: uri(10 * MAX_ITEMS - 1), origin: ContentOrigin::Own };
        assert_eq!(provenance.derived_from[1], latest);
        let all = [
            ContentOrigin::Mail,
            ContentOrigin::Database,
            ContentOrigin::Agent,
            ContentOrigin::Own,
        ];
        assert_eq!(provenance.origins, set(&all));
    }
}
