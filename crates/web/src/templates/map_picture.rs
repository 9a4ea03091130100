//! The picture of the map as SVG, without script and inline style.
//!
//! A dot with a link costs many bytes, so the most typical items of each topic get one first. The dots
//! of a topic have coordinates relative to its centre, in tenths.

use maud::{Markup, PreEscaped, html};
use vademecum_model::Uri;
use vademecum_services::topic_map::{MAP_SIZE, MapItem, Topic, TopicLink, TopicMap};

use super::{
    map_labels::{Area, LINE_HEIGHT, Label, place_labels},
    map_topic::{ShownTopic, shorten},
};

/// Space around the circles, for names at the edge.
const MARGIN: f64 = 36.0;
/// Coordinates of dots per unit of the map.
const DOT_SCALE: f64 = 10.0;
/// Maximum length of the title of a dot, in characters.
const MAX_TITLE_CHARS: usize = 40;
/// Maximum size of a dot without a link, in bytes.
const PLAIN_DOT_BYTES: usize = 14;
/// Width of the strongest link between topics.
const MAX_LINK_WIDTH: f64 = 5.0;

/// The map as SVG, limited in size.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) svg: Markup,
    /// Number of dots without a link.
    pub(super) plain_dots: usize,
}

/// Dots of a topic.
#[derive(Debug, Default)]
struct Dots {
    linked: String,
    plain: String,
}

/// Renders the picture in at most `max_bytes`, which are enough for all dots without links.
pub(super) fn render_picture(
    map: &TopicMap,
    topics: &[ShownTopic<'_>],
    item_path: &dyn Fn(&Uri) -> String,
    max_bytes: usize,
) -> Picture {
    let bounds = bounds(map);
    let labels = place_labels(map, bounds);
    let without_dots = topics.iter().map(|_| Dots::default()).collect::<Vec<_>>();
    let frame = render_svg(map, topics, &labels, bounds, &without_dots);
    let left = max_bytes.saturating_sub(frame.0.len() + map.items.len() * PLAIN_DOT_BYTES);
    let (dots, plain_dots) = render_dots(topics, item_path, left);
    Picture { svg: render_svg(map, topics, &labels, bounds, &dots), plain_dots }
}

/// Returns the part of the map that is shown: its whole width, and the height of the circles.
fn bounds(map: &TopicMap) -> Area {
    let edge = |choose: fn(f64, f64) -> f64, side: f64| {
        let edges = map.topics.iter().map(|topic| topic.y + side * topic.radius);
        edges.reduce(choose).unwrap_or(MAP_SIZE / 2.0) + side * MARGIN
    };
    Area {
        left: -MARGIN,
        top: edge(f64::min, -1.0),
        right: MAP_SIZE + MARGIN,
        bottom: edge(f64::max, 1.0),
    }
}

/// Renders dots: links with a title in `max_bytes`, the others without.
fn render_dots(
    topics: &[ShownTopic<'_>],
    item_path: &dyn Fn(&Uri) -> String,
    max_bytes: usize,
) -> (Vec<Dots>, usize) {
    let mut dots: Vec<Dots> = topics.iter().map(|_| Dots::default()).collect();
    let (mut left, mut plain_dots) = (max_bytes, 0);
    let ranks = topics.iter().map(|shown| shown.items.len()).max().unwrap_or(0);
    for rank in 0..ranks {
        for (shown, dots) in topics.iter().zip(&mut dots) {
            let Some(item) = shown.items.get(rank) else { continue };
            let place = dot_path(shown.topic, item);
            let dot = html! {
                a href=(item_path(&item.uri)) {
                    title { (shorten(&item.title, MAX_TITLE_CHARS)) }
                    path d=(place) {}
                }
            };
            if let Some(less) = left.checked_sub(dot.0.len()) {
                left = less + PLAIN_DOT_BYTES;
                dots.linked.push_str(&dot.0);
            } else {
                dots.plain.push_str(&place);
                plain_dots += 1;
            }
        }
    }
    (dots, plain_dots)
}

/// Returns a line of length 0, of which the round ends make a dot.
fn dot_path(topic: &Topic, item: &MapItem) -> String {
    let (x, y) = ((item.x - topic.x) * DOT_SCALE, (item.y - topic.y) * DOT_SCALE);
    format!("M{x:.0} {y:.0}h0")
}

fn render_svg(
    map: &TopicMap,
    topics: &[ShownTopic<'_>],
    labels: &[Label],
    bounds: Area,
    dots: &[Dots],
) -> Markup {
    let Area { left, top, right, bottom } = bounds;
    let (width, height) = (right - left, bottom - top);
    let dot_width = 2.0 * map.dot_radius * DOT_SCALE;
    html! {
        svg.map viewBox={ (decimal(left)) " " (decimal(top)) " " (decimal(width)) " " (decimal(height)) }
            xmlns="http://www.w3.org/2000/svg" role="group" aria-label="Topics as circles, items as dots" {
            g.links { @for link in &map.links { (render_link(map, link)) } }
            g stroke-width=(decimal(dot_width)) stroke-linecap="round" {
                @for (shown, dots) in topics.iter().zip(dots) { (render_topic(shown, dots)) }
            }
            g.names text-anchor="middle" {
                @for label in labels { (render_label(label)) }
            }
        }
    }
}

fn render_link(map: &TopicMap, link: &TopicLink) -> Markup {
    let (Some(from), Some(to)) = (map.topics.get(link.from), map.topics.get(link.to)) else {
        return Markup::default();
    };
    html! {
        line x1=(whole(from.x)) y1=(whole(from.y)) x2=(whole(to.x)) y2=(whole(to.y))
            stroke-width=(decimal(link.strength * MAX_LINK_WIDTH)) {}
    }
}

fn render_topic(shown: &ShownTopic<'_>, dots: &Dots) -> Markup {
    let ShownTopic { topic, colour, .. } = shown;
    let place =
        format!("translate({} {}) scale({})", decimal(topic.x), decimal(topic.y), 1.0 / DOT_SCALE);
    html! {
        g class=(colour) transform=(place) {
            circle r=(whole(topic.radius * DOT_SCALE)) {}
            @if !dots.plain.is_empty() { path d=(dots.plain) {} }
            (PreEscaped(&dots.linked))
        }
    }
}

fn render_label(label: &Label) -> Markup {
    let x = whole(label.x);
    html! {
        a href={ "#topic-" (label.topic) } {
            text y=(whole(label.y)) font-size=(decimal(label.font_size)) {
                @for (index, line) in label.lines.iter().enumerate() {
                    @let down = if index == 0 { 0.0 } else { LINE_HEIGHT * label.font_size };
                    tspan x=(x) dy=(decimal(down)) { (line) }
                }
            }
        }
    }
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

fn decimal(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_the_height_of_the_circles() {
        let topic =
            |y, radius| Topic { name: None, words: Vec::new(), x: 500.0, y, radius, count: 1 };
        let map = TopicMap {
            topics: vec![topic(300.0, 50.0), topic(600.0, 90.0)],
            ..TopicMap::default()
        };
        let shown = bounds(&map);
        assert_eq!((shown.top, shown.bottom), (250.0 - MARGIN, 690.0 + MARGIN));
        assert_eq!((shown.left, shown.right), (-MARGIN, MAP_SIZE + MARGIN));
    }
}
