//! A phrase of a query: one or more adjacent words.

use vademecum_fts5::{Language, Script, detect_query_language, exact_token, with_stem};
use vademecum_model::{Field, FtsColumn};

/// Adjacent words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// Words in order.
    pub words: Vec<QueryWord>,
    /// Other ways of writing the phrase, such as `e mail` for `email`. Only a phrase of one
    /// inflected word has them.
    pub spellings: Vec<Vec<QueryWord>>,
    /// Whether the last word is a prefix.
    pub prefix: bool,
    /// Field that must contain the phrase; `None` means any field.
    pub field: Option<Field>,
    /// Number of times the phrase occurs in the query.
    pub repetitions: usize,
}

/// A word that must occur, as it is or in any form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryWord {
    /// The token of the full-text tables (`vademecum_fts5::for_each_index_token`) that must occur.
    Exact(String),
    /// A word of which any form may occur.
    Inflected(InflectedWord),
}

/// A word of which any form may occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InflectedWord {
    /// What words of the query have in common that count as the same word.
    key: String,
    /// The word as typed; several if the query repeats it in other forms.
    pub typed: Vec<TypedWord>,
    /// Language of the query, if it is known.
    pub language: Option<QueryLanguage>,
}

/// Language whose rules apply to the words of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryLanguage {
    /// A language whose words are compared by their stems.
    Stemmed(Language),
    /// Vietnamese, in which accents distinguish words.
    Vietnamese,
}

impl QueryLanguage {
    /// Returns the language of a query, if it can be told.
    pub(crate) fn detect(text: &str) -> Option<Self> {
        match detect_query_language(text)? {
            "vi" => Some(Self::Vietnamese),
            code => Language::from_code(code).map(Self::Stemmed),
        }
    }
}

/// A word as typed, in lowercase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedWord {
    /// Folded letters.
    pub folded: String,
    /// The same with accents, if there are any.
    pub accented: Option<String>,
}

impl QueryWord {
    /// Returns a word of which any form may occur.
    pub(crate) fn inflected(folded: &str, accented: Option<&str>) -> Self {
        let typed = TypedWord { folded: folded.to_owned(), accented: accented.map(str::to_owned) };
        Self::Inflected(InflectedWord { key: word_key(folded), typed: vec![typed], language: None })
    }

    /// Sets the language of the query; exact words ignore it.
    pub(crate) fn with_language(self, language: Option<QueryLanguage>) -> Self {
        match self {
            Self::Inflected(word) => Self::Inflected(InflectedWord { language, ..word }),
            Self::Exact(_) => self,
        }
    }

    /// Returns the word that must occur as it is.
    pub fn exact(folded: &str) -> Self {
        Self::Exact(exact_token(folded))
    }

    /// Returns the word in expressions that are compared, and not run.
    fn label(&self) -> &str {
        match self {
            Self::Exact(token) => token,
            Self::Inflected(word) => &word.key,
        }
    }
}

impl TypedWord {
    /// Returns the word with its accents.
    pub(crate) fn written(&self) -> &str {
        self.accented.as_deref().unwrap_or(&self.folded)
    }

    /// Returns the script, if it is one of words with endings.
    pub fn script(&self) -> Option<Script> {
        Script::of_word(&self.folded)
    }
}

/// Returns what the forms of a word of a query have in common. Texts of other languages than
/// English rarely repeat a word in two forms.
pub(crate) fn word_key(folded: &str) -> String {
    with_stem(Language::English, folded, str::to_owned)
}

impl Default for Phrase {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            spellings: Vec::new(),
            prefix: false,
            field: None,
            repetitions: 1,
        }
    }
}

impl From<QueryWord> for Phrase {
    fn from(word: QueryWord) -> Self {
        Self { words: vec![word], ..Self::default() }
    }
}

impl Phrase {
    /// Returns the phrase of words that start with the folded letters.
    pub(crate) fn beginning(letters: &str) -> Self {
        Self { prefix: true, ..Self::from(QueryWord::Exact(letters.to_owned())) }
    }

    /// Returns the words of each way of writing the phrase.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = &[QueryWord]> {
        [&self.words].into_iter().chain(&self.spellings).map(Vec::as_slice)
    }

    /// Returns a text that is equal for phrases with the same words. It is an FTS5 expression if no
    /// word is inflected.
    pub fn expression(&self) -> String {
        self.join_sequences(|word| word.label().to_owned())
    }

    /// Returns a text that is equal for phrases that match the same rows with the same weights, in
    /// the same table.
    pub fn cache_key(&self) -> String {
        self.join_sequences(|word| match word {
            QueryWord::Exact(token) => token.clone(),
            QueryWord::Inflected(word) => {
                let typed: Vec<&str> = word.typed.iter().map(TypedWord::written).collect();
                format!("{}/{:?}", typed.join("|"), word.language)
            }
        })
    }

    fn join_sequences(&self, to_text: impl Fn(&QueryWord) -> String) -> String {
        let quote = |words: &[QueryWord]| {
            self.quote(&words.iter().map(&to_text).collect::<Vec<_>>().join(" "))
        };
        let sequences: Vec<String> = self.sequences().map(quote).collect();
        match sequences.as_slice() {
            [single] => single.clone(),
            _ => format!("({})", sequences.join(" OR ")),
        }
    }

    /// Returns an expression for the words, which contain no quotes.
    pub fn quote(&self, words: &str) -> String {
        if self.prefix {
            // Only the exact form of an ASCII word starts with the prefix.
            format!("(\"{words}\" * OR \"={words}\" *)")
        } else {
            format!("\"{words}\"")
        }
    }

    /// Returns an expression restricted to the columns in `allowed`, or to all columns if it is
    /// empty. Returns `None` if no such column holds the phrase's field.
    pub fn restrict_to_columns(
        &self,
        expression: String,
        columns: &[FtsColumn],
        allowed: &[&str],
    ) -> Option<String> {
        if self.field.is_none() && allowed.is_empty() {
            return Some(expression);
        }
        let names = self.searched_columns(columns, allowed);
        (!names.is_empty()).then(|| format!("{{{}}} : ({expression})", names.join(" ")))
    }

    /// Returns the columns in `allowed` that hold the phrase's field. Empty means all if the phrase has
    /// no field and `allowed` is empty.
    pub fn searched_columns(&self, columns: &[FtsColumn], allowed: &[&str]) -> Vec<&'static str> {
        if self.field.is_none() && allowed.is_empty() {
            return Vec::new();
        }
        columns
            .iter()
            .filter(|column| self.field.is_none_or(|field| field == column.field))
            .map(|column| column.name)
            .filter(|name| allowed.is_empty() || allowed.contains(name))
            .collect()
    }

    /// Adds the typed forms of another phrase with the same words.
    pub(crate) fn merge(&mut self, other: Self) {
        self.repetitions += other.repetitions;
        for (word, other) in self.words.iter_mut().zip(other.words) {
            if let (QueryWord::Inflected(word), QueryWord::Inflected(other)) = (word, other) {
                let new = other.typed.into_iter().filter(|typed| !word.typed.contains(typed));
                let new: Vec<TypedWord> = new.collect();
                word.typed.extend(new);
            }
        }
    }
}
