//! Texts that a damaged one may have been, by another text that has some parts of it, such as an earlier
//! version.

use std::collections::BTreeSet;

/// Number of bytes that the other text must have in common with the damaged one to be aligned with it.
const ANCHOR_BYTES: usize = 24;
/// Number of places of the damaged text that are looked for in the other one.
const MAX_ANCHORS: usize = 64;
/// Maximum number of parts in which two texts differ, for one place of the other text.
const MAX_PARTS: usize = 32;
/// Maximum length of all texts that are tried, in bytes.
const MAX_BYTES: usize = 1 << 30;

/// Returns the texts that differ from `damaged` in one part, which is that of `other` there. An insertion
/// or a removal moves what is behind it, so `other` is aligned with `damaged` at each place at which both
/// have the same bytes.
pub(super) fn repaired_texts<'a>(
    damaged: &'a [u8],
    other: &'a [u8],
) -> impl Iterator<Item = String> + 'a {
    let texts = places(damaged, other).into_iter().flat_map(move |place| {
        let parts = differing_parts(damaged, other, place);
        let (starts, ends) = (parts.clone(), parts);
        // The damage may have left some bytes as they were, and so consists of several parts.
        let ranges = starts.into_iter().enumerate().flat_map(move |(index, (start, _))| {
            let ends: Vec<usize> = ends.iter().skip(index).map(|(_, end)| *end).collect();
            ends.into_iter().map(move |end| (start, end))
        });
        ranges.filter_map(move |(start, end)| {
            let right = other.get(place.of_other(start)?..place.of_other(end)?)?;
            let text = [damaged.get(..start)?, right, damaged.get(end..)?].concat();
            String::from_utf8(text).ok()
        })
    });
    texts.take(MAX_BYTES / damaged.len().max(1))
}

/// An alignment of a text with a damaged one: its byte 0 stands for byte `forward` of that, or its byte
/// `back` for byte 0 of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    forward: usize,
    back: usize,
}

impl Place {
    /// Returns the alignment of byte `one` of the damaged text with byte `other` of the other one.
    fn new(one: usize, other: usize) -> Self {
        Self { forward: one.saturating_sub(other), back: other.saturating_sub(one) }
    }

    /// Returns the byte of the other text that stands for byte `at` of the damaged one.
    fn of_other(self, at: usize) -> Option<usize> {
        (at + self.back).checked_sub(self.forward)
    }
}

/// Returns the places at which both texts begin or end together, or have a part in common.
fn places(damaged: &[u8], other: &[u8]) -> BTreeSet<Place> {
    let step = (damaged.len() / MAX_ANCHORS).max(1);
    let anchors = damaged.windows(ANCHOR_BYTES).enumerate().step_by(step);
    let found = anchors.filter_map(|(at, anchor)| {
        let in_other = other.windows(ANCHOR_BYTES).position(|window| window == anchor)?;
        Some(Place::new(at, in_other))
    });
    let ends = [Place::new(0, 0), Place::new(damaged.len(), other.len())];
    ends.into_iter().chain(found).collect()
}

/// Returns the first parts in which the aligned texts differ.
fn differing_parts(damaged: &[u8], other: &[u8], place: Place) -> Vec<(usize, usize)> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let over = other.get(place.back..).unwrap_or_default();
    for (at, (one, other)) in (place.forward..).zip(damaged.iter().skip(place.forward).zip(over)) {
        if one == other {
            continue;
        }
        if let Some((_, end)) = parts.last_mut()
            && *end == at
        {
            *end = at + 1;
        } else if parts.len() < MAX_PARTS {
            parts.push((at, at + 1));
        } else {
            break;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLIER: &str = "Knead the dough for ten minutes, until it is smooth and elastic.\n\n\
        Let it rest in a warm place, under a cloth, until it has doubled.\n\n\
        Bake it with steam at 240 degrees for twenty minutes, and at 200 for twenty more.\n";

    fn damage(text: &str, place: usize, length: usize) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes[place..place + length].fill(0xD8);
        bytes
    }

    #[test]
    fn unchanged_part_is_taken_from_earlier_text() {
        let present =
            EARLIER.replace("Let it rest", "Fold it twice. Let it rest").replace(" with steam", "")
                + "Cool it on a rack.\n";
        let is_found = |place: usize, length| {
            let damaged = damage(&present, place, length);
            repaired_texts(&damaged, EARLIER.as_bytes()).any(|text| text == present)
        };
        // Before the first change, between two of them, and behind the second.
        for unchanged in ["dough for", "a warm place", "twenty minutes, and"] {
            assert!(is_found(present.find(unchanged).unwrap(), unchanged.len()), "{unchanged}");
        }
        assert!(!is_found(present.find("Fold it").unwrap(), 7), "only the present text has it");
    }

    #[test]
    fn part_of_a_text_is_taken_from_the_whole() {
        let part = &EARLIER[20..150];
        let damaged = damage(part, 60, 30);
        assert!(repaired_texts(&damaged, EARLIER.as_bytes()).any(|text| text == part));
    }

    #[test]
    fn other_texts_are_few() {
        let (damaged, other) = ("rye ".repeat(5_000), "eyr ".repeat(5_000));
        assert!(repaired_texts(damaged.as_bytes(), other.as_bytes()).count() < 10_000);
        assert_eq!(repaired_texts(b"", EARLIER.as_bytes()).count(), 0);
        assert_eq!(repaired_texts(EARLIER.as_bytes(), b"").count(), 0);
    }
}
