//! Colours of the topics: those near each other differ.

use vademecum_services::topic_map::{Topic, TopicMap};

/// Classes of the style sheet, one for each colour.
const COLOURS: [&str; 8] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
/// Class of the items without a topic.
const REST_COLOUR: &str = "c0";

/// Returns the class of each topic. Each topic has the colour whose nearest circle is farthest away.
pub(super) fn topic_colours(map: &TopicMap) -> Vec<&'static str> {
    let mut chosen: Vec<(&Topic, &'static str)> = Vec::new();
    for topic in &map.topics {
        let nearest = |colour: &str| {
            let same = chosen.iter().filter(|(_, other)| *other == colour);
            same.map(|(other, _)| distance(topic, other)).fold(f64::MAX, f64::min)
        };
        let mut best = (REST_COLOUR, f64::MIN);
        for colour in COLOURS.into_iter().filter(|_| topic.name.is_some()) {
            let distance = nearest(colour);
            if distance > best.1 {
                best = (colour, distance);
            }
        }
        chosen.push((topic, best.0));
    }
    chosen.into_iter().map(|(_, colour)| colour).collect()
}

/// Returns the distance between two circles.
fn distance(one: &Topic, other: &Topic) -> f64 {
    (one.x - other.x).hypot(one.y - other.y) - one.radius - other.radius
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_topics_have_different_colours() {
        let topics = (0..20).map(|number| Topic {
            name: (number < 19).then(|| number.to_string()),
            words: Vec::new(),
            x: f64::from(number) * 50.0,
            y: 0.0,
            radius: 20.0,
            count: 3,
        });
        let map = TopicMap { topics: topics.collect(), ..TopicMap::default() };
        let colours = topic_colours(&map);
        assert!(colours.windows(3).all(|near| near[0] != near[1] && near[0] != near[2]));
        assert_eq!(colours[19], "c0");
    }
}
