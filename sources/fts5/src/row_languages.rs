//! The languages of the rows of a full-text table.

use crate::{Language, row_lengths::RowNumbers};

/// A set of languages: those with a stemmer, and one bit for all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanguageSet(u64);

impl LanguageSet {
    /// All languages.
    pub const ALL: Self = Self(u64::MAX);
    /// The languages without a stemmer.
    pub const OTHERS: Self = Self(1 << 63);

    /// Returns the set of the language with a code (ISO 639-1).
    pub fn of_code(code: &str) -> Self {
        Language::from_code(code).map_or(Self::OTHERS, Self::from)
    }

    /// Returns whether no language is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether a language is in both sets.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the languages that are in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the languages with a stemmer that are in the set.
    pub fn iter(self) -> impl Iterator<Item = Language> {
        Language::ALL.into_iter().filter(move |language| self.intersects(Self::from(*language)))
    }
}

impl From<Language> for LanguageSet {
    fn from(language: Language) -> Self {
        Self(1 << (language as u64))
    }
}

/// The languages of each row of a table, as its texts tell them.
#[derive(Clone, Debug)]
pub struct RowLanguages {
    /// Position of the languages of each row in `sets`; 0 if no language is known.
    rows: RowNumbers<u16>,
    /// The different sets, each with its number of rows.
    sets: Vec<(LanguageSet, u64)>,
}

impl RowLanguages {
    /// Creates the languages of rows, each with the rows that have it, in ascending order.
    pub fn new(languages: &[(LanguageSet, Vec<i64>)]) -> Self {
        let mut all: Vec<(i64, LanguageSet)> = Vec::new();
        for (language, rows) in languages {
            all.extend(rows.iter().map(|row| (*row, *language)));
        }
        all.sort_unstable_by_key(|(row, _)| *row);
        all.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = kept.1.union(later.1);
            }
            is_same
        });
        let mut made =
            Self { rows: RowNumbers::default(), sets: vec![(LanguageSet::default(), 0)] };
        let positions = all.into_iter().map(|(row, set)| (row, made.add_row(set))).collect();
        Self { rows: RowNumbers::new(positions), sets: made.sets }
    }

    /// Returns a copy with the languages of some rows replaced.
    #[must_use]
    pub fn with_rows(&self, rows: &[(i64, LanguageSet)]) -> Self {
        let mut changed = self.clone();
        let mut positions = Vec::with_capacity(rows.len());
        for (row, set) in rows {
            let before = usize::from(self.rows.number_of_row(*row));
            if let Some((_, rows)) = changed.sets.get_mut(before) {
                *rows = rows.saturating_sub(1);
            }
            positions.push((*row, changed.add_row(*set)));
        }
        Self { rows: self.rows.with_rows(&positions), sets: changed.sets }
    }

    /// Counts a row with a set, and returns the position of the set.
    fn add_row(&mut self, set: LanguageSet) -> u16 {
        let known = self.sets.iter().position(|(known, _)| *known == set);
        let position = known.unwrap_or(self.sets.len());
        // More sets than this cannot be told apart, so they are as good as unknown.
        let Ok(number) = u16::try_from(position) else { return 0 };
        match self.sets.get_mut(position) {
            Some((_, rows)) => *rows += 1,
            None => self.sets.push((set, 1)),
        }
        number
    }

    /// Returns the languages of a row; none if they are not known.
    #[inline]
    pub fn of_row(&self, row: i64) -> LanguageSet {
        let position = usize::from(self.rows.number_of_row(row));
        self.sets.get(position).map(|(set, _)| *set).unwrap_or_default()
    }

    /// Returns whether a form of a word in some languages is one in a row: the row has one of them, or
    /// its languages are not known.
    #[inline]
    pub fn has_form(&self, row: i64, languages: LanguageSet) -> bool {
        let of_row = self.of_row(row);
        of_row.is_empty() || of_row.intersects(languages)
    }

    /// Returns the number of rows in a language.
    pub fn count_rows(&self, language: Language) -> u64 {
        let with_language =
            self.sets.iter().filter(|(set, _)| set.intersects(LanguageSet::from(language)));
        with_language.map(|(_, rows)| rows).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(languages: &[Language]) -> LanguageSet {
        languages.iter().fold(LanguageSet::default(), |set, it| set.union((*it).into()))
    }

    #[test]
    fn rows_have_their_languages() {
        let (german, swedish) = (set(&[Language::German]), set(&[Language::Swedish]));
        let other = LanguageSet::of_code("sk");
        assert_eq!(LanguageSet::of_code("de"), german);
        let languages = RowLanguages::new(&[
            (german, vec![1, 4, 9_000_000_000]),
            (swedish, vec![2, 4]),
            (other, vec![5]),
        ]);
        let of_rows = [1, 2, 3, 4, 5, 9_000_000_000].map(|row| languages.of_row(row));
        let nothing = LanguageSet::default();
        assert_eq!(of_rows, [german, swedish, nothing, german.union(swedish), other, german]);
        assert_eq!(languages.count_rows(Language::German), 3);
        assert_eq!(
            [1, 2, 3, 4, 5].map(|row| languages.has_form(row, german)),
            [true, false, true, true, false]
        );
        let changed = languages.with_rows(&[(1, swedish), (2, nothing), (3, german.union(other))]);
        assert_eq!(
            [1, 2, 3].map(|row| changed.of_row(row)),
            [swedish, nothing, german.union(other)]
        );
        assert_eq!(changed.count_rows(Language::Swedish), 2);
        assert_eq!(changed.count_rows(Language::German), 3);
        assert_eq!(languages.of_row(1), german);
    }

    #[test]
    fn set_lists_languages_with_stemmers() {
        let all = set(&Language::ALL).union(LanguageSet::OTHERS);
        assert!(all.iter().eq(Language::ALL));
    }
}
