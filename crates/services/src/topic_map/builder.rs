//! From items to a map.

use std::collections::BTreeMap;

use super::{
    groups::Groups,
    layout::Layout,
    map::{MapItem, Topic, TopicLink, TopicMap},
    map_input::MapInput,
    names::TopicName,
    neighbours::{SimilarityGraph, find_neighbours},
    number::to_f64,
    terms::TermIndex,
};

/// Average width of a letter of a name on the map.
const LETTER_WIDTH: f64 = 9.0;
/// Minimum strength of a link relative to the strongest.
const MIN_LINK_STRENGTH: f64 = 0.3;

/// Builds the map of items. `vectors` has the vectors of the items that have one.
pub(super) fn build_map(inputs: Vec<MapInput>, vectors: &[Option<Vec<f32>>]) -> TopicMap {
    let terms = TermIndex::new(&inputs);
    let graph = SimilarityGraph::new(&find_neighbours(&terms, vectors));
    let groups = Groups::find(&graph);
    let mut names: Vec<TopicName> =
        groups.members.iter().map(|items| TopicName::of_items(items, &terms)).collect();
    TopicName::make_distinct(&mut names);
    let links = find_links(&groups, &graph);
    place(inputs, groups, names, links)
}

/// Returns the strongest links between groups.
fn find_links(groups: &Groups, graph: &SimilarityGraph) -> Vec<TopicLink> {
    let group_of = groups.group_of_items(graph.edges.len());
    let mut weights: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (edges, from) in graph.edges.iter().zip(&group_of) {
        for (other, weight) in edges {
            if let Some(to) = group_of.get(*other).filter(|to| *to > from) {
                *weights.entry((*from, *to)).or_default() += weight;
            }
        }
    }
    let size = |group: usize| to_f64(groups.members.get(group).map_or(1, Vec::len));
    let relative = |((from, to), weight): ((usize, usize), f64)| {
        let strength = weight / (size(from) * size(to)).sqrt();
        (to < groups.members.len()).then_some(TopicLink { from, to, strength })
    };
    let mut links: Vec<TopicLink> = weights.into_iter().filter_map(relative).collect();
    links.sort_by(|one, other| other.strength.total_cmp(&one.strength));
    let strongest = links.first().map_or(1.0, |link| link.strength);
    for link in &mut links {
        link.strength /= strongest;
    }
    links.retain(|link| link.strength >= MIN_LINK_STRENGTH);
    // More lines than topics are a tangle.
    links.truncate(groups.members.len());
    links
}

/// Places topics and items.
fn place(
    inputs: Vec<MapInput>,
    groups: Groups,
    mut names: Vec<TopicName>,
    links: Vec<TopicLink>,
) -> TopicMap {
    let Groups { mut members, rest } = groups;
    if !rest.is_empty() {
        members.push(rest);
        names.push(TopicName::default());
    }
    let counts: Vec<usize> = members.iter().map(Vec::len).collect();
    // Each part of a name may have a line of its own.
    let name_width = |name: &TopicName| {
        let text = name.to_text().unwrap_or_default();
        let longest = text.split(", ").map(|part| part.chars().count()).max();
        to_f64(longest.unwrap_or(0)) * LETTER_WIDTH
    };
    let widths: Vec<f64> = names.iter().map(name_width).collect();
    let layout = Layout::new(&counts, &widths, &links);
    let mut inputs: Vec<Option<MapInput>> = inputs.into_iter().map(Some).collect();
    let mut map = TopicMap { links, dot_radius: layout.dot_radius(), ..TopicMap::default() };
    for (((topic, own), name), circle) in members.iter().enumerate().zip(names).zip(&layout.circles)
    {
        map.topics.push(Topic {
            name: name.to_text(),
            words: name.words,
            x: circle.x,
            y: circle.y,
            radius: circle.radius,
            count: own.len(),
        });
        for (index, item) in own.iter().enumerate() {
            let Some(input) = inputs.get_mut(*item).and_then(Option::take) else { continue };
            let (x, y) = layout.dot(*circle, index);
            map.items.push(MapItem { uri: input.uri, title: input.title, x, y, topic });
        }
    }
    map
}

#[cfg(test)]
impl MapInput {
    /// Returns an item with this title and text.
    pub(super) fn for_test(title: &str, text: &str) -> Self {
        use vademecum_model::{SourceName, Uri};
        Self {
            uri: Uri::item(SourceName::Notes, title),
            title: title.to_owned(),
            tags: Vec::new(),
            text: text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::map::MAP_SIZE, *};

    #[test]
    fn map_is_deterministic_and_within_its_size() {
        let words = ["bread", "compiler", "violin", "glacier"];
        let inputs = || -> Vec<MapInput> {
            let items = (0..200).map(|number| {
                let word = words[number % words.len()];
                MapInput::for_test(&format!("{word} {number}"), &format!("{word}, {word}"))
            });
            items.collect()
        };
        let map = build_map(inputs(), &[]);
        assert_eq!(map, build_map(inputs(), &[]));
        assert_eq!((map.topics.len(), map.items.len()), (4, 200));
        for item in &map.items {
            assert!((0.0..=MAP_SIZE).contains(&item.x) && (0.0..=MAP_SIZE).contains(&item.y));
            let topic = &map.topics[item.topic];
            assert!((item.x - topic.x).hypot(item.y - topic.y) < topic.radius);
            assert!(item.title.starts_with(&topic.words[0]), "{topic:?}");
        }
    }

    #[test]
    fn items_like_no_other_are_in_a_nameless_topic() {
        let inputs = ["a1 violin", "violin", "violins", "glacier", "compiler"];
        let map = build_map(inputs.map(|text| MapInput::for_test(text, text)).into(), &[]);
        let counts: Vec<_> =
            map.topics.iter().map(|topic| (topic.name.is_some(), topic.count)).collect();
        assert_eq!(counts, [(true, 3), (false, 2)]);
        assert_eq!(build_map(Vec::new(), &[]).items, []);
    }
}
