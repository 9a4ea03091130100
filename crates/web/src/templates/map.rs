//! The map of topics: a picture, and the same as a list.

use maud::{Markup, html};
use vademecum_model::{SourceName, Uri};
use vademecum_services::topic_map::{MapItem, TopicMap};

use super::{
    map_colours::topic_colours,
    map_picture::{Picture, render_picture},
    map_topic::{REST_NAME, ShownTopic, shorten},
};

/// Maximum size of the content, in bytes.
const MAX_BYTES: usize = 98_000;
/// Maximum size of the items in the list, in bytes.
const MAX_LISTED_BYTES: usize = 45_000;
/// Number of items of a topic in the list.
const LISTED_ITEMS: usize = 5;
/// Maximum length of a title in the list, in characters.
const MAX_TITLE_CHARS: usize = 80;

/// Returns the content of the page. `item_path` returns the address of the page of an item.
///
/// The content has at most 98 kB: dots are links with a title as long as that is kept, and the page
/// says how many are not.
pub(crate) fn map_content(map: &TopicMap, item_path: &dyn Fn(&Uri) -> String) -> Markup {
    if map.items.is_empty() {
        return html! {
            h1 { "Map of topics" }
            p { "There are no items yet. The map shows notes, documents, conversations, characters \
                 and prompts." }
        };
    }
    let mut topics: Vec<ShownTopic<'_>> = map
        .topics
        .iter()
        .zip(topic_colours(map))
        .map(|(topic, colour)| ShownTopic { topic, items: Vec::new(), colour })
        .collect();
    for item in &map.items {
        if let Some(shown) = topics.get_mut(item.topic) {
            shown.items.push(item);
        }
    }
    let list = render_list(&topics, item_path);
    let introduction = introduction(map);
    let size = |markup: &Markup| markup.0.len();
    let left = MAX_BYTES.saturating_sub(size(&list) + size(&introduction));
    let Picture { svg, plain_dots } = render_picture(map, &topics, item_path, left);
    html! {
        h1 { "Map of topics" }
        (introduction)
        div.map-frame tabindex="0" role="region" aria-label="Picture of the map" { (svg) }
        @if plain_dots > 0 {
            p.muted {
                (plain_dots) " of the dots are not links, because the page would be too large. \
                              They are the least typical items of their topics."
            }
        }
        (list)
    }
}

fn introduction(map: &TopicMap) -> Markup {
    let named = map.topics.iter().filter(|topic| topic.name.is_some()).count();
    html! {
        p {
            (count_of(map.items.len(), "item")) " in " (count_of(named, "topic")) ". \
            A dot is an item; similar items are in the same circle, and similar topics are near \
            each other. "
            @if map.omitted > 0 {
                "The map has the newest items; " (count_of(map.omitted, "older one"))
                @if map.omitted == 1 { " is" } @else { " are" } " not on it. "
            }
            @if !map.missing_sources.is_empty() {
                "These sources could not be read: " (source_list(&map.missing_sources)) ". "
            }
            a href="#topics" { "Go to the list" }
        }
    }
}

fn source_list(sources: &[SourceName]) -> String {
    sources.iter().map(|source| source.as_str()).collect::<Vec<_>>().join(", ")
}

/// Renders the topics as a list with their first items.
fn render_list(topics: &[ShownTopic<'_>], item_path: &dyn Fn(&Uri) -> String) -> Markup {
    let mut left = MAX_LISTED_BYTES;
    // The items of all topics have the same right to the space.
    let mut listed: Vec<Vec<Markup>> = topics.iter().map(|_| Vec::new()).collect();
    for rank in 0..LISTED_ITEMS {
        for (shown, entries) in topics.iter().zip(&mut listed) {
            let Some(item) = shown.items.get(rank) else { continue };
            let entry = list_entry(item, item_path);
            if let Some(less) = left.checked_sub(entry.0.len()) {
                left = less;
                entries.push(entry);
            }
        }
    }
    html! {
        h2 #topics { "Topics" }
        div.topic-list {
            @for (number, (shown, entries)) in topics.iter().zip(&listed).enumerate() {
                (list_topic(number, shown, entries))
            }
        }
    }
}

fn list_topic(number: usize, shown: &ShownTopic<'_>, entries: &[Markup]) -> Markup {
    let ShownTopic { topic, items, colour } = shown;
    let more = items.len().saturating_sub(entries.len());
    // The name has the first words already.
    let name = topic.name.as_deref().unwrap_or(REST_NAME);
    let in_name = name.split(", ").count();
    let words = topic.words.get(in_name..).unwrap_or_default().join(", ");
    html! {
        section.topic aria-labelledby={ "topic-" (number) } {
            h3 id={ "topic-" (number) } {
                span class={ "chip " (colour) } aria-hidden="true" {}
                (name) " " span.muted { (topic.count) }
            }
            @if !words.is_empty() && topic.name.is_some() { p.muted { (words) } }
            ul {
                @for entry in entries { (entry) }
                @if more > 0 { li.muted { "and " (more) " more" } }
            }
        }
    }
}

fn list_entry(item: &MapItem, item_path: &dyn Fn(&Uri) -> String) -> Markup {
    html! {
        li {
            a href=(item_path(&item.uri)) { (shorten(&item.title, MAX_TITLE_CHARS)) }
            @if let Some(kind) = kind_name(item.uri.source) { " " span.muted { (kind) } }
        }
    }
}

/// Returns the kind of an item; none for notes, which most items are.
fn kind_name(source: SourceName) -> Option<&'static str> {
    match source {
        SourceName::Notes => None,
        SourceName::Media => Some("document"),
        SourceName::Chats => Some("conversation"),
        SourceName::Characters => Some("character"),
        SourceName::Prompts => Some("prompt"),
        SourceName::Collections => Some("collection"),
    }
}

fn count_of(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use vademecum_services::topic_map::Topic;

    use super::*;

    fn map(counts: &[usize], title: &str, name: &str) -> TopicMap {
        let mut map = TopicMap { dot_radius: 5.0, ..TopicMap::default() };
        for (topic, count) in counts.iter().enumerate() {
            let x = 40.0 * f64::from(u32::try_from(topic).unwrap());
            map.topics.push(Topic {
                name: Some(format!("{name}{topic}")),
                words: vec![format!("{name}{topic}"), "more".to_owned()],
                x,
                y: 300.0,
                radius: 20.0,
                count: *count,
            });
            map.items.extend((0..*count).map(|number| {
                let id = format!("0b9f4c9e-7d1c-4a75-8c3e-{topic:06}{number:06}");
                let uri = Uri::item(SourceName::Notes, id);
                MapItem { uri, title: format!("{title} {number}"), x, y: 300.0, topic }
            }));
        }
        map
    }

    fn path(uri: &Uri) -> String {
        format!("/i/{}/{}", uri.source, uri.id)
    }

    #[test]
    fn map_has_links_dots_and_list() {
        let page = map_content(&map(&[7, 2], "Bread", "Baking"), &path).into_string();
        let first = "/i/notes/0b9f4c9e-7d1c-4a75-8c3e-000000000000";
        assert!(page.contains("9 items in 2 topics"), "{page}");
        assert!(page.contains(&format!("<a href=\"{first}\"><title>Bread 0</title><path d=\"M")));
        assert!(page.contains(&format!("<li><a href=\"{first}\">Bread 0</a></li>")), "{page}");
        assert!(page.contains("and 2 more") && page.contains("<p class=\"muted\">more</p>"));
        assert!(!page.contains("too large") && !page.contains("style="), "{page}");
        let empty = map_content(&TopicMap::default(), &path).into_string();
        assert!(empty.contains("no items yet") && !empty.contains("<svg"), "{empty}");
    }

    #[test]
    fn hostile_titles_are_escaped() {
        let hostile = map(&[4], "</title><script>alert(1)</script>\"'&", "<b onclick=x>");
        let hostile_path = |_: &Uri| "/i/notes/\"><script>".to_owned();
        let page = map_content(&hostile, &hostile_path).into_string();
        assert!(!page.contains("<script") && !page.contains("<b "), "{page}");
    }

    #[test]
    fn page_size_is_bounded() {
        let usual = ("A title of the usual length", "Topic");
        let hostile = (&*"&".repeat(500), &*"\u{5b57}&".repeat(30));
        for ((title, name), least) in [(usual, 300), (hostile, 50)] {
            let map = map(&[63; 24], title, name);
            let page = map_content(&map, &path).into_string();
            assert!((80_000..=100_000).contains(&page.len()), "{}", page.len());
            let (dots, links) = (page.matches("h0").count(), page.matches("><title>").count());
            assert_eq!(dots, map.items.len());
            assert!(links > least, "{links}");
            assert!(page.contains(&format!("{} of the dots", dots - links)));
        }
    }
}
