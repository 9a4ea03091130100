//! The tokens of a statement.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or a name, without quotes.
    Word,
    /// A name in quotes.
    Name,
    /// A string, of whatever kind.
    Literal,
    /// A number, or anything else that begins with a digit; a parameter `$1`.
    Number,
    /// A single sign.
    Symbol,
}

/// A token, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// What it says: words in small letters, names and literals without their quotes.
    pub(super) text: String,
    /// Its first byte.
    pub(super) at: usize,
}

impl Token {
    /// Whether it is this word, without quotes.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    /// Whether it is one of these words, without quotes.
    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        self.kind == Kind::Word && words.contains(&self.text.as_str())
    }

    /// Whether it is this sign.
    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    /// Whether it may name something, in quotes or not.
    pub(super) fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Name)
    }
}

/// Whether these words, without quotes, stand at `at`.
pub(super) fn words_at(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    let mut rest = tokens.iter().skip(at);
    words.iter().all(|word| rest.next().is_some_and(|token| token.is_word(word)))
}

/// Whether this sign stands at `at`.
pub(super) fn symbol_at(tokens: &[Token], at: usize, symbol: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.is_symbol(symbol))
}
