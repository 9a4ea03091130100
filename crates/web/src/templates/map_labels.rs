//! Names of the topics on the map, placed so that they never overlap each other.

use vademecum_services::topic_map::{Topic, TopicMap};

use super::map_topic::REST_NAME;

/// Font sizes of the names of the smallest and the largest topics, in units of the map.
const MIN_FONT_SIZE: f64 = 17.0;
const MAX_FONT_SIZE: f64 = 26.0;
/// Font sizes that are tried, relative to the wanted one.
const SCALES: [f64; 2] = [1.0, 0.8];
/// Height of a line relative to the font size.
pub(super) const LINE_HEIGHT: f64 = 1.15;
/// Distance of the baseline from the middle of a line, relative to the font size.
const BASELINE: f64 = 0.36;
/// Distance of the nearest line's middle from the circle, relative to the font size.
const OUTSIDE: f64 = 0.3;
/// Cost of a later candidate, as the depth in a circle of another topic that it must avoid.
const CANDIDATE_COST: f64 = 1.5;

/// The name of a topic on the map.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) topic: usize,
    pub(super) lines: Vec<String>,
    /// Middle of the first baseline.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) font_size: f64,
    /// Space of the label.
    area: Area,
}

/// A rectangle on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

/// Side of a circle.
#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Returns the depth of the rectangle in the circle of a topic; 0 outside.
    fn depth_in(&self, topic: &Topic) -> f64 {
        let x = topic.x.clamp(self.left, self.right) - topic.x;
        let y = topic.y.clamp(self.top, self.bottom) - topic.y;
        (topic.radius - x.hypot(y)).max(0.0)
    }
}

/// Places the names, those of large topics first. Those that have no space are left out.
pub(super) fn place_labels(map: &TopicMap, inside: Area) -> Vec<Label> {
    let largest = map.topics.iter().map(|topic| topic.radius).fold(1.0, f64::max);
    let mut placed: Vec<Label> = Vec::new();
    for (index, topic) in map.topics.iter().enumerate() {
        let share = topic.radius / largest;
        let font_size = MIN_FONT_SIZE + (MAX_FONT_SIZE - MIN_FONT_SIZE) * share * share;
        let mut best: Option<(f64, Label)> = None;
        let mut candidate_cost = 0.0;
        for label in candidates(map, index, topic, font_size, inside) {
            candidate_cost += CANDIDATE_COST;
            if placed.iter().any(|other| label.area.overlaps(&other.area)) {
                continue;
            }
            let others = map.topics.iter().enumerate().filter(|(other, _)| *other != index);
            let depth: f64 = others.map(|(_, other)| label.area.depth_in(other)).sum();
            let cost = depth + candidate_cost;
            if best.as_ref().is_none_or(|(lowest, _)| cost < *lowest) {
                best = Some((cost, label));
            }
        }
        placed.extend(best.map(|(_, label)| label));
    }
    placed
}

/// Returns the places for the name of a topic, best first.
fn candidates(
    map: &TopicMap,
    index: usize,
    topic: &Topic,
    font_size: f64,
    inside: Area,
) -> Vec<Label> {
    let mut candidates = Vec::new();
    for lines in line_breaks(map, topic.name.as_deref().unwrap_or(REST_NAME)) {
        for scale in SCALES {
            for side in [Side::Above, Side::Below] {
                candidates.extend(place(index, topic, &lines, font_size * scale, side, inside));
            }
        }
    }
    candidates
}

/// Returns the lines of a name: one line, a line for each part, and the first part alone if no other
/// name starts with it.
fn line_breaks(map: &TopicMap, name: &str) -> Vec<Vec<String>> {
    let mut breaks = vec![vec![name.to_owned()]];
    if let Some((first, rest)) = name.split_once(", ") {
        breaks.push(vec![format!("{first},"), rest.to_owned()]);
        let names = map.topics.iter().filter_map(|topic| topic.name.as_deref());
        if names.filter(|other| other.starts_with(first)).count() < 2 {
            breaks.push(vec![first.to_owned()]);
        }
    }
    breaks
}

/// Places lines above or below a circle, moved to the side if they would be outside of the map.
fn place(
    topic_index: usize,
    topic: &Topic,
    lines: &[String],
    font_size: f64,
    side: Side,
    inside: Area,
) -> Option<Label> {
    let widest = lines.iter().map(|line| text_width(line)).fold(0.0, f64::max);
    let half = widest * font_size / 2.0;
    let (leftmost, rightmost) = (inside.left + half, inside.right - half);
    if leftmost > rightmost {
        return None;
    }
    let line_height = LINE_HEIGHT * font_size;
    let height = lines.iter().map(|_| line_height).sum::<f64>();
    let distance = topic.radius + OUTSIDE * font_size - line_height / 2.0;
    let top = match side {
        Side::Above => topic.y - distance - height,
        Side::Below => topic.y + distance,
    };
    let x = topic.x.clamp(leftmost, rightmost);
    let y = top + line_height / 2.0 + BASELINE * font_size;
    let area = Area { left: x - half, top, right: x + half, bottom: top + height };
    let is_inside = area.top >= inside.top && area.bottom <= inside.bottom;
    let lines = lines.to_vec();
    is_inside.then_some(Label { topic: topic_index, lines, x, y, font_size, area })
}

/// Returns the width of a text relative to the font size. It is an upper estimate, because the font is
/// not known.
fn text_width(text: &str) -> f64 {
    let width = |letter: char| match letter {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | ',' | '.' | '-' | '\'' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' => 0.95,
        '\u{2e80}'.. => 1.05,
        _ if letter.is_uppercase() => 0.74,
        _ => 0.62,
    };
    text.chars().map(width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSIDE: Area = Area { left: 0.0, top: 0.0, right: 1_000.0, bottom: 1_000.0 };

    fn topic(name: &str, x: f64, y: f64, radius: f64) -> Topic {
        Topic { name: Some(name.to_owned()), words: Vec::new(), x, y, radius, count: 9 }
    }

    fn labels(topics: Vec<Topic>) -> Vec<Label> {
        place_labels(&TopicMap { topics, ..TopicMap::default() }, INSIDE)
    }

    #[test]
    fn labels_never_overlap_and_stay_inside() {
        let topics = (0..60).map(|number| {
            let (name, number) = (format!("A rather long name, and {number}"), f64::from(number));
            topic(&name, 37.0 * number % 1_000.0, 61.0 * number % 1_000.0, 20.0 + number)
        });
        let labels = labels(topics.collect());
        assert!((5..60).contains(&labels.len()), "{}", labels.len());
        for (index, Label { area, .. }) in labels.iter().enumerate() {
            assert!(area.left >= -0.01 && area.right <= 1_000.01, "{area:?}");
            assert!(area.top >= -0.01 && area.bottom <= 1_000.01, "{area:?}");
            assert!(!labels[..index].iter().any(|other| area.overlaps(&other.area)), "{area:?}");
        }
    }

    #[test]
    fn name_has_several_lines_where_width_is_small() {
        let long = "boundary layer";
        let between = |name: &str| {
            labels(vec![
                topic(name, 500.0, 500.0, 60.0),
                topic("Left", 310.0, 500.0, 130.0),
                topic("Right", 690.0, 500.0, 130.0),
            ])
        };
        let one_line = between("Flow, heat");
        let lines_of = |labels: &[Label]| {
            labels.iter().find(|label| label.topic == 0).map(|label| label.lines.clone()).unwrap()
        };
        assert_eq!(lines_of(&one_line), ["Flow, heat"]);
        let several = between(&format!("Flow, {long}"));
        assert_eq!(lines_of(&several), ["Flow,", long]);
        let wider = labels(vec![topic(&format!("Flow, {}", long.repeat(9)), 500.0, 500.0, 30.0)]);
        assert_eq!(lines_of(&wider), ["Flow"]);
    }
}
