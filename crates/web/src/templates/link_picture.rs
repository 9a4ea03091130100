//! The picture of the links around an item: items that link to it on the left, items to which it
//! links on the right.

use maud::{Markup, html};
use vademecum_services::permalink::item_path;
use vademecum_tools::LinkedItem;

/// Maximum number of items on each side.
const MAX_SIDE: usize = 10;
/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 26;
/// Width of the picture, in units of its own.
const WIDTH: usize = 720;
/// Height of a line, in units of its own.
const LINE: usize = 30;

/// Returns the picture. The lists below it say the same, so readers of screens skip it.
pub(super) fn link_picture(
    title: &str,
    incoming: &[LinkedItem],
    outgoing: &[LinkedItem],
) -> Markup {
    let (left, right) = (distinct(incoming), distinct(outgoing));
    let lines = left.len().max(right.len()).max(2);
    let height = lines * LINE + 20;
    let middle = height / 2;
    html! {
        svg.link-picture viewBox=(format!("0 0 {WIDTH} {height}")) aria-hidden="true" focusable="false" {
            (side(&left, middle, Side::Left))
            (side(&right, middle, Side::Right))
            circle.node cx=(WIDTH / 2) cy=(middle) r="9" {}
            text.centre x=(WIDTH / 2) y=(middle + 28) text-anchor="middle" { (shorten(title)) }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

fn side(items: &[&LinkedItem], middle: usize, side: Side) -> Markup {
    let (x, label, anchor) = match side {
        Side::Left => (230, 218, "end"),
        Side::Right => (WIDTH - 230, WIDTH - 218, "start"),
    };
    let centre = WIDTH / 2;
    let bend = x.midpoint(centre);
    let top = middle.saturating_sub(items.len() * LINE / 2) + LINE / 2;
    html! {
        @for (index, item) in items.iter().enumerate() {
            @let y = top + index * LINE;
            path.edge d=(format!("M{x} {y} C{bend} {y} {bend} {middle} {centre} {middle}")) {}
            a href=(item_path(&item.uri, None)) tabindex="-1" {
                circle.dot cx=(x) cy=(y) r="5" {}
                text x=(label) y=(y + 5) text-anchor=(anchor) { (shorten(&item.title)) }
            }
        }
    }
}

/// Returns the first items, each once.
fn distinct(items: &[LinkedItem]) -> Vec<&LinkedItem> {
    let mut found: Vec<&LinkedItem> = Vec::new();
    for item in items {
        if found.len() < MAX_SIDE && found.iter().all(|known| known.uri != item.uri) {
            found.push(item);
        }
    }
    found
}

fn shorten(title: &str) -> String {
    let mut short: String = title.chars().take(MAX_TITLE).collect();
    if title.chars().nth(MAX_TITLE).is_some() {
        short.push('…');
    }
    short
}
