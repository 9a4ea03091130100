//! Differences between two versions of a text.

/// The part of a text in which an older version differs: the older version has `text` in place of
/// the bytes from `start` to `end` bytes before the end of the newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delta {
    start: usize,
    end: usize,
    text: String,
}

impl Delta {
    /// Returns the difference that leads from `newer` to `older`.
    pub(super) fn between(newer: &str, older: &str) -> Self {
        let start = common_prefix(newer, older);
        let (new_rest, old_rest) = (newer.split_at(start).1, older.split_at(start).1);
        let end = common_suffix(new_rest, old_rest);
        let text = old_rest.split_at(old_rest.len() - end).0.to_owned();
        Self { start, end, text }
    }

    /// Returns the older version. `None` if `newer` is not the text of which this is the difference.
    pub(super) fn apply(&self, newer: &str) -> Option<String> {
        let before = newer.get(..self.start)?;
        let after =
            newer.get(newer.len().checked_sub(self.end).filter(|at| *at >= self.start)?..)?;
        Some([before, &self.text, after].concat())
    }

    /// Returns the part that the older version has.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Converts the difference to `start end text`.
    pub(super) fn to_text(&self) -> String {
        format!("{} {} {}", self.start, self.end, self.text)
    }

    /// Reads what [`to_text`](Self::to_text) has written; `None` if it is damaged.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ');
        let (start, end) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { start, end, text: parts.next()?.to_owned() })
    }
}

/// Returns the length in bytes of the longest common beginning.
fn common_prefix(one: &str, other: &str) -> usize {
    let same = |(one, other): &(u8, u8)| one == other;
    let length = one.bytes().zip(other.bytes()).take_while(same).count();
    one.floor_char_boundary(length).min(other.floor_char_boundary(length))
}

/// Returns the length in bytes of the longest common end.
fn common_suffix(one: &str, other: &str) -> usize {
    let same = |(one, other): &(u8, u8)| one == other;
    let length = one.bytes().rev().zip(other.bytes().rev()).take_while(same).count();
    one.len() - one.ceil_char_boundary(one.len() - length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_restores_older_text() {
        let texts = ["", "a", "ab", "aab", "aaab", "über", "ober", "öber", "xüy", "xöy", "a\nb c"];
        for newer in texts {
            for older in texts {
                let delta = Delta::between(newer, older);
                assert_eq!(delta.apply(newer).as_deref(), Some(older), "{newer} {older}");
                assert_eq!(Delta::from_text(&delta.to_text()), Some(delta));
            }
        }
    }

    #[test]
    fn delta_of_small_change_is_small() {
        let before = "word ".repeat(1_000);
        let after = before.replacen("word word", "word changed word", 1);
        assert!(Delta::between(&after, &before).to_text().len() < 20);
    }

    #[test]
    fn delta_of_other_text_is_refused() {
        let delta = Delta::between("one long text", "one short text");
        assert_eq!(delta.apply("one"), None);
        for damaged in ["", "1", "1 x y", "x 1 y"] {
            assert_eq!(Delta::from_text(damaged), None);
        }
    }
}
