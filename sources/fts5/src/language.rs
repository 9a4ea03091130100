//! Languages with a stemmer, and the scripts that they are written in.

use snowball_stemmers_rs::Algorithm;

/// A language with a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the languages")]
pub enum Language {
    English,
    Arabic,
    Armenian,
    Basque,
    Catalan,
    Czech,
    Danish,
    Dutch,
    Estonian,
    Finnish,
    French,
    German,
    Greek,
    Hindi,
    Hungarian,
    Indonesian,
    Irish,
    Italian,
    Lithuanian,
    Nepali,
    Norwegian,
    Persian,
    Polish,
    Portuguese,
    Romanian,
    Russian,
    Serbian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    Ukrainian,
    Yiddish,
}

/// A script of words that have endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of the scripts")]
pub enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Hebrew,
    Arabic,
    Devanagari,
    Tamil,
}

impl Script {
    /// Returns the script of a word, by its first letter that belongs to one.
    pub fn of_word(word: &str) -> Option<Self> {
        word.chars().find_map(Self::of_letter)
    }

    pub(crate) fn of_letter(letter: char) -> Option<Self> {
        match u32::from(letter) {
            0x41..=0x5A | 0x61..=0x7A | 0xC0..=0x24F | 0x1E00..=0x1EFF => Some(Self::Latin),
            0x370..=0x3FF | 0x1F00..=0x1FFF => Some(Self::Greek),
            0x400..=0x52F => Some(Self::Cyrillic),
            0x530..=0x58F => Some(Self::Armenian),
            0x590..=0x5FF => Some(Self::Hebrew),
            0x600..=0x6FF | 0x750..=0x77F => Some(Self::Arabic),
            0x900..=0x97F => Some(Self::Devanagari),
            0xB80..=0xBFF => Some(Self::Tamil),
            _ => None,
        }
    }

    /// Returns the most common language of the script, for texts of which the language is unknown.
    pub fn default_language(self) -> Option<Language> {
        match self {
            Self::Latin => Some(Language::English),
            Self::Greek => Some(Language::Greek),
            Self::Cyrillic => Some(Language::Russian),
            Self::Armenian => Some(Language::Armenian),
            Self::Hebrew => None,
            Self::Arabic => Some(Language::Arabic),
            Self::Devanagari => Some(Language::Hindi),
            Self::Tamil => Some(Language::Tamil),
        }
    }
}

impl Language {
    /// All languages with a stemmer.
    pub const ALL: [Self; 33] = [
        Self::English,
        Self::Arabic,
        Self::Armenian,
        Self::Basque,
        Self::Catalan,
        Self::Czech,
        Self::Danish,
        Self::Dutch,
        Self::Estonian,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hindi,
        Self::Hungarian,
        Self::Indonesian,
        Self::Irish,
        Self::Italian,
        Self::Lithuanian,
        Self::Nepali,
        Self::Norwegian,
        Self::Persian,
        Self::Polish,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Serbian,
        Self::Spanish,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
        Self::Ukrainian,
        Self::Yiddish,
    ];

    /// Returns the code of the language (ISO 639-1).
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Arabic => "ar",
            Self::Armenian => "hy",
            Self::Basque => "eu",
            Self::Catalan => "ca",
            Self::Czech => "cs",
            Self::Danish => "da",
            Self::Dutch => "nl",
            Self::Estonian => "et",
            Self::Finnish => "fi",
            Self::French => "fr",
            Self::German => "de",
            Self::Greek => "el",
            Self::Hindi => "hi",
            Self::Hungarian => "hu",
            Self::Indonesian => "id",
            Self::Irish => "ga",
            Self::Italian => "it",
            Self::Lithuanian => "lt",
            Self::Nepali => "ne",
            Self::Norwegian => "no",
            Self::Persian => "fa",
            Self::Polish => "pl",
            Self::Portuguese => "pt",
            Self::Romanian => "ro",
            Self::Russian => "ru",
            Self::Serbian => "sr",
            Self::Spanish => "es",
            Self::Swedish => "sv",
            Self::Tamil => "ta",
            Self::Turkish => "tr",
            Self::Ukrainian => "uk",
            Self::Yiddish => "yi",
        }
    }

    /// Returns the language with a code (ISO 639-1), if it has a stemmer.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// Returns the script in which the language is usually written.
    pub fn script(self) -> Script {
        match self {
            Self::Arabic | Self::Persian => Script::Arabic,
            Self::Armenian => Script::Armenian,
            Self::Greek => Script::Greek,
            Self::Hindi | Self::Nepali => Script::Devanagari,
            Self::Russian | Self::Ukrainian | Self::Serbian => Script::Cyrillic,
            Self::Tamil => Script::Tamil,
            Self::Yiddish => Script::Hebrew,
            _ => Script::Latin,
        }
    }

    /// Returns the beginnings that the stemmer removes from words, the empty one included.
    pub fn removed_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Arabic => &[
                "", "ال", "وال", "بال", "كال", "فال", "لل", "ولل", "و", "ف", "ب", "ك", "ل", "س",
                "ا", "ي", "ت", "ن",
            ],
            Self::Persian => &["", "مي", "نمي", "ن", "ب"],
            Self::Indonesian => &[
                "", "di", "ke", "me", "mem", "men", "meng", "meny", "ber", "bel", "be", "ter",
                "te", "pe", "pem", "pen", "peng", "peny", "per", "se",
            ],
            Self::Dutch => &["", "ge"],
            _ => &[""],
        }
    }

    pub(crate) fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::Arabic => Algorithm::Arabic,
            Self::Armenian => Algorithm::Armenian,
            Self::Basque => Algorithm::Basque,
            Self::Catalan => Algorithm::Catalan,
            Self::Czech => Algorithm::Czech,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::Estonian => Algorithm::Estonian,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Greek => Algorithm::Greek,
            Self::Hindi => Algorithm::Hindi,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Indonesian => Algorithm::Indonesian,
            Self::Irish => Algorithm::Irish,
            Self::Italian => Algorithm::Italian,
            Self::Lithuanian => Algorithm::Lithuanian,
            Self::Nepali => Algorithm::Nepali,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Persian => Algorithm::Persian,
            Self::Polish => Algorithm::Polish,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Serbian => Algorithm::Serbian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Tamil => Algorithm::Tamil,
            Self::Turkish => Algorithm::Turkish,
            Self::Ukrainian => Algorithm::Ukrainian,
            Self::Yiddish => Algorithm::Yiddish,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_languages_have_their_own_code() {
        let codes: std::collections::HashSet<_> = Language::ALL.map(Language::code).into();
        assert_eq!(codes.len(), Language::ALL.len());
    }

    #[test]
    fn script_is_that_of_first_letter() {
        assert_eq!(Script::of_word("2über"), Some(Script::Latin));
        assert_eq!(Script::of_word("дом"), Some(Script::Cyrillic));
        assert_eq!(Script::of_word("東京"), None);
        for language in Language::ALL.into_iter().filter(|it| *it != Language::Yiddish) {
            let default = language.script().default_language().unwrap();
            assert_eq!(default.script(), language.script());
        }
    }
}
