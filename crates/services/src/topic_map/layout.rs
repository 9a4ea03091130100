//! Positions on the map: one circle for each topic, similar ones near each other, and the dots of its
//! items inside.
//!
//! The circles are bodies that attract each other and the centre and cannot overlap. They grow while
//! they move, so that they can pass each other at first. Of several starts the best result is kept.
//! Nothing is random.

use std::f64::consts::{PI, TAU};

use super::{
    map::{MAP_SIZE, TopicLink},
    number::to_f64,
};

/// Fraction of a turn between successive points that spreads them evenly (golden section).
const GOLDEN_TURN: f64 = 0.381_966_011_250_105;
/// Width of the map relative to its height.
const ASPECT: f64 = 1.4;
/// Share of the area of the map that circles cover, to begin with.
const COVERED_SHARE: f64 = 0.48;
/// Maximum distance between dots divided by 1.8. Few items do not fill the map.
const MAX_DOT_UNIT: f64 = 20.0;
/// Radius of a dot relative to the unit, and its maximum.
const DOT_RADIUS: f64 = 0.55;
const MAX_DOT_RADIUS: f64 = 8.0;
/// Distance between the outermost dots and the circle, in units.
const RIM_UNITS: f64 = 0.9;
/// Distance between circles, for their names.
const GAP: f64 = 24.0;
/// Part of the distance to the centre, and of the gap to a similar circle, that a step removes.
const GRAVITY: f64 = 0.03;
/// Gravity in the direction of the height relative to the mean of both directions.
const PULL: f64 = ASPECT * ASPECT;
const ATTRACTION: f64 = 0.05;
/// Number of times that the map is laid out to find the scale.
const FITTINGS: usize = 3;
/// Number of starts of which the best is kept.
const STARTS: u32 = 8;
/// Number of steps of a start, and how many of them the circles grow.
const STEPS: u32 = 400;
const GROWING_STEPS: u32 = 280;
/// Number of steps at the end that only separate circles.
const SEPARATING_STEPS: u32 = 200;

/// A circle on the map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Circle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) radius: f64,
}

/// Circles of a map and the scale of their dots.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) circles: Vec<Circle>,
    /// Square root of the area of a dot and the space around it, divided by √π.
    unit: f64,
}

impl Layout {
    /// Places a circle for each number of items, of which similar ones are linked. `name_widths` are
    /// the widths of their names on the map.
    pub(super) fn new(counts: &[usize], name_widths: &[f64], links: &[TopicLink]) -> Self {
        let radii: Vec<f64> =
            counts.iter().map(|count| to_f64(*count).sqrt() + RIM_UNITS).collect();
        let area: f64 = radii.iter().map(|radius| PI * radius * radius).sum();
        let available = COVERED_SHARE * MAP_SIZE * MAP_SIZE / ASPECT;
        let unit = (available / area.max(1.0)).sqrt().min(MAX_DOT_UNIT);
        let mut layout = Self { unit, ..Self::default() };
        // The names have a fixed size, so their share of the map is known only when it is fitted.
        for _ in 0..FITTINGS {
            let unit = layout.unit;
            let bodies: Vec<Body> = radii
                .iter()
                .zip(name_widths)
                .map(|(radius, name_width)| Body::new(radius * unit, *name_width))
                .collect();
            let starts = (0..STARTS).map(|start| settle(&bodies, links, start));
            let best = starts.min_by(|one, other| cost(one, links).total_cmp(&cost(other, links)));
            layout = Self::fitted(best.unwrap_or_default(), unit);
        }
        layout
    }

    /// Scales the bodies to fill the map and centres them.
    fn fitted(bodies: Vec<Body>, unit: f64) -> Self {
        let (left, top, right, bottom) = bounds(&bodies);
        let size = (right - left).max(bottom - top).max(1.0);
        let scale = (MAP_SIZE / size).min(MAX_DOT_UNIT / unit);
        let place =
            |at: f64, from: f64, to: f64| MAP_SIZE / 2.0 + (at - f64::midpoint(from, to)) * scale;
        let circle = |body: Body| Circle {
            x: place(body.x, left, right),
            y: place(body.y, top, bottom),
            radius: body.radius * scale,
        };
        Self { circles: bodies.into_iter().map(circle).collect(), unit: unit * scale }
    }

    /// Returns the radius of a dot, in units of the map, at most [`MAX_DOT_RADIUS`].
    pub(super) fn dot_radius(&self) -> f64 {
        (self.unit * DOT_RADIUS).min(MAX_DOT_RADIUS)
    }

    /// Returns the position of a dot in a circle, as the seeds of a sunflower: the first in the centre.
    pub(super) fn dot(&self, circle: Circle, index: usize) -> (f64, f64) {
        let distance = self.unit * (to_f64(index) + 0.5).sqrt();
        let angle = TAU * GOLDEN_TURN * to_f64(index);
        (circle.x + distance * angle.cos(), circle.y + distance * angle.sin())
    }
}

/// A moving circle.
#[derive(Clone, Copy, Debug)]
struct Body {
    x: f64,
    y: f64,
    radius: f64,
    /// Radius of the space that the circle and its name need.
    reach: f64,
}

impl Body {
    fn new(radius: f64, name_width: f64) -> Self {
        // The ends of a wide name may be above a neighbour.
        let reach = radius.max(name_width * 0.32) + GAP / 2.0;
        Self { x: 0.0, y: 0.0, radius, reach }
    }

    /// Returns the distance to another body and its direction.
    fn toward(&self, other: &Self) -> (f64, f64, f64) {
        let (x, y) = (other.x - self.x, other.y - self.y);
        let distance = x.hypot(y);
        if distance > 1e-6 { (distance, x / distance, y / distance) } else { (0.0, 1.0, 0.0) }
    }

    fn move_by(&mut self, x: f64, y: f64) {
        self.x += x;
        self.y += y;
    }
}

/// Moves the bodies from one of the starts until they are at rest.
fn settle(bodies: &[Body], links: &[TopicLink], start: u32) -> Vec<Body> {
    let mut bodies = bodies.to_vec();
    let count = to_f64(bodies.len());
    for (index, body) in bodies.iter_mut().enumerate() {
        let number = to_f64(index);
        let distance = MAP_SIZE / 3.0 * ((number + 0.5) / count).sqrt();
        let angle = TAU * GOLDEN_TURN * number * f64::from(start + 1);
        (body.x, body.y) = (distance * angle.cos(), distance * angle.sin());
    }
    for step in 0..STEPS {
        let growth = (f64::from(step) / f64::from(GROWING_STEPS)).min(1.0);
        let growth = 0.2 + 0.8 * growth;
        for link in links {
            attract(&mut bodies, link, growth);
        }
        for body in &mut bodies {
            body.move_by(-body.x * GRAVITY / PULL, -body.y * GRAVITY * PULL);
        }
        separate(&mut bodies, growth);
    }
    for _ in 0..SEPARATING_STEPS {
        separate(&mut bodies, 1.0);
    }
    bodies
}

fn attract(bodies: &mut [Body], link: &TopicLink, growth: f64) {
    let (Some(one), Some(other)) = (bodies.get(link.from), bodies.get(link.to)) else { return };
    let (distance, x, y) = one.toward(other);
    let gap = distance - (one.reach + other.reach) * growth;
    if gap > 0.0 {
        push_pair(bodies, (link.from, link.to), (x, y), -ATTRACTION * link.strength * gap);
    }
}

/// Moves overlapping bodies apart.
fn separate(bodies: &mut [Body], growth: f64) {
    for second in 1..bodies.len() {
        for first in 0..second {
            let (Some(one), Some(other)) = (bodies.get(first), bodies.get(second)) else {
                continue;
            };
            let (distance, x, y) = one.toward(other);
            let overlap = (one.reach + other.reach) * growth - distance;
            if overlap > 0.0 {
                push_pair(bodies, (first, second), (x, y), overlap * 0.5);
            }
        }
    }
}

/// Moves two bodies apart along a direction, the smaller one farther.
fn push_pair(bodies: &mut [Body], pair: (usize, usize), (x, y): (f64, f64), distance: f64) {
    let weight = |index: usize| bodies.get(index).map_or(1.0, |body| body.reach * body.reach);
    let (one, other) = (weight(pair.0), weight(pair.1));
    let share = other / (one + other);
    if let Some(body) = bodies.get_mut(pair.0) {
        body.move_by(-x * distance * share, -y * distance * share);
    }
    if let Some(body) = bodies.get_mut(pair.1) {
        body.move_by(x * distance * (1.0 - share), y * distance * (1.0 - share));
    }
}

/// Returns the cost of a layout: the distances between similar topics and the size of the map.
fn cost(bodies: &[Body], links: &[TopicLink]) -> f64 {
    let lengths = links.iter().filter_map(|link| {
        let (one, other) = (bodies.get(link.from)?, bodies.get(link.to)?);
        let (distance, ..) = one.toward(other);
        Some(link.strength * (distance - one.reach - other.reach).max(0.0))
    });
    let (left, top, right, bottom) = bounds(bodies);
    lengths.sum::<f64>() + 3.0 * (right - left).max((bottom - top) * ASPECT)
}

/// Returns the bounds of the circles: left, top, right, bottom.
fn bounds(bodies: &[Body]) -> (f64, f64, f64, f64) {
    let empty = (f64::MAX, f64::MAX, f64::MIN, f64::MIN);
    let add = |(left, top, right, bottom): (f64, f64, f64, f64), body: &Body| {
        (
            left.min(body.x - body.radius),
            top.min(body.y - body.radius),
            right.max(body.x + body.radius),
            bottom.max(body.y + body.radius),
        )
    };
    if bodies.is_empty() { (0.0, 0.0, 0.0, 0.0) } else { bodies.iter().fold(empty, add) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: usize, to: usize) -> TopicLink {
        TopicLink { from, to, strength: 1.0 }
    }

    #[test]
    fn circles_do_not_overlap_and_fill_the_map() {
        let counts = [300, 200, 150, 120, 90, 60, 30, 20, 10, 9, 8, 7, 6, 5, 4, 3];
        let layout = Layout::new(&counts, &[120.0; 16], &[link(0, 15), link(2, 9)]);
        for (index, one) in layout.circles.iter().enumerate() {
            for other in &layout.circles[..index] {
                let distance = (one.x - other.x).hypot(one.y - other.y);
                assert!(distance > one.radius + other.radius, "{one:?} {other:?}");
            }
        }
        let left = layout.circles.iter().map(|it| it.x - it.radius).fold(f64::MAX, f64::min);
        let right = layout.circles.iter().map(|it| it.x + it.radius).fold(f64::MIN, f64::max);
        assert!(left.abs() < 0.5 && (right - MAP_SIZE).abs() < 0.5, "{left} {right}");
        let again = Layout::new(&counts, &[120.0; 16], &[link(0, 15), link(2, 9)]);
        assert_eq!(layout, again);
    }

    #[test]
    fn similar_topics_are_near_each_other() {
        let layout = Layout::new(&[50; 12], &[100.0; 12], &[link(0, 11), link(3, 7)]);
        let distance = |one: usize, other: usize| {
            let (one, other) = (layout.circles[one], layout.circles[other]);
            (one.x - other.x).hypot(one.y - other.y) - one.radius - other.radius
        };
        assert!(distance(0, 11) < 60.0 && distance(3, 7) < 60.0);
    }

    #[test]
    fn dots_are_inside_their_circle_and_apart() {
        let layout = Layout::new(&[40], &[80.0], &[]);
        let circle = layout.circles[0];
        let dots: Vec<_> = (0..40).map(|index| layout.dot(circle, index)).collect();
        for (index, (x, y)) in dots.iter().enumerate() {
            let from_centre = (x - circle.x).hypot(y - circle.y);
            assert!(from_centre + layout.dot_radius() < circle.radius);
            for (other_x, other_y) in &dots[..index] {
                assert!((x - other_x).hypot(y - other_y) > 2.0 * layout.dot_radius());
            }
        }
        assert_eq!(Layout::new(&[], &[], &[]), Layout { unit: MAX_DOT_UNIT, ..Layout::default() });
    }
}
