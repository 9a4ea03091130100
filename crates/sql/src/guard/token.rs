//! Tokens of a statement.

/// Kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Unquoted keyword or name.
    Word,
    /// Quoted name.
    Name,
    /// String of any kind.
    Literal,
    /// Number, any other word that begins with a digit, or a parameter `$1`.
    Number,
    /// Single character.
    Symbol,
    /// Place for a value in a template, `:name`; the text is the name.
    Place,
}

/// Token and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Kind of token.
    pub(super) kind: TokenKind,
    /// Text: words in lower case, names and literals without quotes.
    pub(super) text: String,
    /// Byte offset in the statement.
    pub(super) offset: usize,
}

impl Token {
    /// Returns true if the token is this unquoted word.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text == word
    }

    /// Returns true if the token is one of these unquoted words.
    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        self.kind == TokenKind::Word && words.contains(&self.text.as_str())
    }

    /// Returns true if the token is this symbol.
    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// Returns true if the token can be a name, quoted or not.
    pub(super) fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Name)
    }
}

/// Returns true if the tokens from index `at` on are these unquoted words.
pub(super) fn words_at(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    let mut rest = tokens.iter().skip(at);
    words.iter().all(|word| rest.next().is_some_and(|token| token.is_word(word)))
}

/// Returns true if the token at index `at` is this symbol.
pub(super) fn symbol_at(tokens: &[Token], at: usize, symbol: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.is_symbol(symbol))
}
