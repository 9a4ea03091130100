//! Lexer with the rules of each engine.
//!
//! The guard and the server must agree on token boundaries: text that one reads as a string must
//! not be code to the other. Little is left to disagree about: comments are blanked in the text
//! that is run, whitespace that only some engines accept is rejected, and the parser gets a text
//! whose strings are masked with underscores.

use super::{
    rejection::{reject, reject_at},
    scan::{
        dollar_tag, find_comment_end, find_quote_end, is_exponent, is_plain_number,
        is_word_character, place_length,
    },
    token::{Token, TokenKind},
};
use crate::{Engine, SqlError};

/// Maximum size of a statement, in bytes.
const MAX_STATEMENT_BYTES: usize = 256 * 1_024;

/// Last version for which all supported versions of `MySQL` and `MariaDB` run `/*!NNNNN` comments.
const LAST_COMMON_VERSION: &str = "50699";

/// Maximum nesting depth of brackets.
const MAX_NESTING: usize = 100;

/// Tokenized statement. Its texts have the same length as the original, so offsets stay valid.
#[derive(Debug)]
pub(super) struct LexedStatement {
    /// Tokens in order.
    pub(super) tokens: Vec<Token>,
    /// Text with blanked comments.
    pub(super) without_comments: String,
    /// The same text with masked strings and special characters in names, for the parser.
    pub(super) masked: String,
    /// True if there were comments.
    pub(super) has_comments: bool,
}

/// Reading of `:name` in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedPlaces {
    /// Code, as the server would read it.
    Code,
    /// A place for a value, which is a token of kind [`TokenKind::Place`].
    Place,
}

/// Splits a statement into tokens as this engine would; `:name` is no place for a value.
pub(super) fn tokenize(engine: Engine, text: &str) -> Result<LexedStatement, SqlError> {
    tokenize_with(engine, text, NamedPlaces::Code)
}

/// Tokenizes a statement in which `:name` is a place for a value.
pub(super) fn tokenize_template(engine: Engine, text: &str) -> Result<LexedStatement, SqlError> {
    tokenize_with(engine, text, NamedPlaces::Place)
}

fn tokenize_with(
    engine: Engine,
    text: &str,
    named_places: NamedPlaces,
) -> Result<LexedStatement, SqlError> {
    if text.len() > MAX_STATEMENT_BYTES {
        return Err(reject(format!(
            "a statement may have at most {MAX_STATEMENT_BYTES} bytes, this one has {}; split it",
            text.len()
        )));
    }
    if let Some(at) = text.find('\0') {
        return Err(reject_at(text, at, "a statement must not contain NUL bytes; leave them out"));
    }
    let (clean, masked) = (String::with_capacity(text.len()), String::with_capacity(text.len()));
    let lexed =
        LexedStatement { tokens: Vec::new(), without_comments: clean, masked, has_comments: false };
    let mut lexer = Lexer {
        engine,
        text,
        named_places,
        offset: 0,
        open_brackets: Vec::new(),
        executable_comment: None,
        escaped_string_end: None,
        lexed,
    };
    while lexer.offset < text.len() {
        lexer.read_token()?;
    }
    if let Some(at) = lexer.executable_comment {
        return Err(reject_at(text, at, "this comment has no end; close it with */"));
    }
    match lexer.open_brackets.last() {
        Some((bracket, at)) => {
            let message = format!("a closing bracket is missing for this `{bracket}`");
            Err(reject_at(text, *at, &message))
        }
        None => Ok(lexer.lexed),
    }
}

struct Lexer<'a> {
    engine: Engine,
    text: &'a str,
    named_places: NamedPlaces,
    offset: usize,
    open_brackets: Vec<(char, usize)>,
    /// Start of the `/*!` comment whose contents are being read.
    executable_comment: Option<usize>,
    /// Number of tokens right after the last string with escapes; detects a string that directly
    /// follows it.
    escaped_string_end: Option<usize>,
    lexed: LexedStatement,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn reject_here<T>(&self, message: &str) -> Result<T, SqlError> {
        Err(reject_at(self.text, self.offset, message))
    }

    /// Reads one token, one comment or one whitespace character.
    fn read_token(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let mut signs = rest.chars();
        let Some(first) = signs.next() else { return Ok(()) };
        if self.read_executable_comment(rest)? {
            return Ok(());
        }
        if let Some(length) = self.comment_length(rest)? {
            self.blank_out(length);
            self.lexed.has_comments = true;
            return Ok(());
        }
        match first {
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => {
                self.blank_out(1);
                Ok(())
            }
            '\'' => self.read_string(0),
            '"' if self.engine == Engine::MySql => self.read_string(0),
            '"' => self.read_quoted_name('"', '"'),
            '`' if self.engine != Engine::Postgres => self.read_quoted_name('`', '`'),
            '`' => self.reject_here("PostgreSQL quotes names with \", not with backticks"),
            '[' if self.engine == Engine::Sqlite => self.read_quoted_name('[', ']'),
            '$' if self.engine == Engine::Postgres && dollar_tag(rest).is_some() => self.read_dollar_string(),
            ':' if self.named_places == NamedPlaces::Place && place_length(rest).is_some() => {
                self.read_place()
            }
            // In `SQLite`, `:a(…)` is one token, whatever is inside the parentheses.
            '$' | '@' | ':' | '#' if self.engine == Engine::Sqlite => {
                self.reject_here("named parameters are not supported; write the value")
            }
            // Some versions read `$a$ … $a$` as a string.
            '$' if self.engine == Engine::MySql => {
                self.reject_here("names that begin with `$` are not supported; put backticks around it")
            }
            // In `MySQL`, dashes begin a comment only before whitespace, and a blanked comment may
            // put a blank here.
            '-' if self.engine == Engine::MySql
                && ["---", "--/", "--#", "--;"].iter().any(|dashes| rest.starts_with(dashes)) =>
            {
                self.reject_here("these dashes may become a comment; put a space between them")
            }
            '*' if rest.starts_with("*/") && !rest.starts_with("*/*") => {
                self.reject_here("this `*/` closes no comment; leave it out")
            }
            '\\' => self.reject_here("a backslash is allowed only in strings; leave it out"),
            sign if is_word_character(sign) => self.read_word(),
            sign if sign.is_ascii_graphic() => self.read_symbol(sign),
            sign => self.reject_here(&format!(
                "the character U+{:04X} is allowed only in strings and quoted names; use plain spaces and letters",
                u32::from(sign)
            )),
        }
    }

    /// Reads the beginning or the end of a comment whose contents `MySQL` runs. They are read like
    /// any other text, and are part of the text that is run, without the comment. Returns true if
    /// something was read.
    fn read_executable_comment(&mut self, rest: &str) -> Result<bool, SqlError> {
        if self.engine != Engine::MySql {
            return Ok(false);
        }
        if rest.starts_with("*/") && self.executable_comment.take().is_some() {
            self.blank_out(2);
            return Ok(true);
        }
        if rest.starts_with("/*M!") {
            return self.reject_here("only MariaDB runs `/*M!` comments; leave it out");
        }
        if rest.starts_with("/*") && self.executable_comment.is_some() {
            return self
                .reject_here("a comment inside a `/*!` comment is not supported; leave it out");
        }
        let Some(after) = rest.strip_prefix("/*!") else { return Ok(false) };
        let version = after.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(after.len());
        let number = after.get(..version).unwrap_or_default();
        if version != 5 || number > LAST_COMMON_VERSION {
            return self.reject_here(
                "only `/*!NNNNN` comments up to /*!50699 are run by every server; leave this one out",
            );
        }
        self.executable_comment = Some(self.offset);
        self.lexed.has_comments = true;
        self.blank_out(3 + version);
        Ok(true)
    }

    /// Returns the length of the comment that begins here, if any.
    fn comment_length(&self, rest: &str) -> Result<Option<usize>, SqlError> {
        let line = match self.engine {
            Engine::Postgres | Engine::Sqlite => rest.starts_with("--"),
            Engine::MySql => {
                let bare = rest.strip_prefix("--").is_some_and(|after| {
                    after.chars().next().is_none_or(|next| next == ' ' || next.is_ascii_control())
                });
                bare || rest.starts_with('#')
            }
        };
        if line {
            // Only in PostgreSQL does a carriage return end a line comment.
            let is_end = |sign| sign == '\n' || (sign == '\r' && self.engine == Engine::Postgres);
            return Ok(Some(rest.find(is_end).unwrap_or(rest.len())));
        }
        if !rest.starts_with("/*") {
            return Ok(None);
        }
        match (find_comment_end(rest, self.engine == Engine::Postgres), self.engine) {
            (Some(end), _) => Ok(Some(end)),
            // In `SQLite`, an unclosed comment extends to the end of the text.
            (None, Engine::Sqlite) => Ok(Some(rest.len())),
            (None, _) => self.reject_here("this comment has no end; close it with */"),
        }
    }

    /// Reads a quoted string whose prefix is `prefix` bytes long.
    fn read_string(&mut self, prefix: usize) -> Result<(), SqlError> {
        let head = self.rest().get(..prefix).unwrap_or_default();
        let escapes = match self.engine {
            Engine::Postgres => head.eq_ignore_ascii_case("e"),
            Engine::MySql => true,
            Engine::Sqlite => false,
        };
        // A string on the next line continues the previous one, including its escape rules.
        if prefix == 0 && self.escaped_string_end == Some(self.lexed.tokens.len()) {
            return self.reject_here("a string E'…' continues here; write it as one string");
        }
        let Some(end) = find_quote_end(self.rest(), prefix, escapes) else {
            return self.reject_here("this string has no end; close its quote");
        };
        let inner = self.rest().get(prefix + 1..end - 1).unwrap_or_default();
        let digits = head.eq_ignore_ascii_case("x") || head.eq_ignore_ascii_case("b");
        if digits && !inner.chars().all(|digit| digit.is_ascii_hexdigit()) {
            return self.reject_here("only digits are allowed in X'…' and B'…'; correct it");
        }
        self.push_token(TokenKind::Literal, inner.to_owned());
        let is_escaped = escapes && self.engine == Engine::Postgres;
        self.escaped_string_end = is_escaped.then_some(self.lexed.tokens.len());
        self.mask_string(prefix, end);
        Ok(())
    }

    /// Reads a dollar-quoted string.
    fn read_dollar_string(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let tag = dollar_tag(rest).unwrap_or_default();
        let body = rest.get(tag.len()..).unwrap_or_default();
        let Some(length) = body.find(tag) else {
            return self.reject_here(&format!("this string has no end; close it with {tag}"));
        };
        self.push_token(TokenKind::Literal, body.get(..length).unwrap_or_default().to_owned());
        self.mask_string(0, length + 2 * tag.len());
        Ok(())
    }

    /// Reads a quoted name.
    fn read_quoted_name(&mut self, open: char, close: char) -> Result<(), SqlError> {
        let rest = self.rest();
        // Closing brackets cannot be escaped by doubling.
        let end = match open {
            '[' => rest.find(']').map(|at| at + 1),
            _ => find_quote_end(rest, 0, false),
        };
        let Some(end) = end else {
            return self.reject_here("this quoted name has no end; close its quote");
        };
        let inner = rest.get(1..end - 1).unwrap_or_default();
        self.push_token(
            TokenKind::Name,
            inner.replace(&format!("{close}{close}"), &close.to_string()),
        );
        self.lexed.without_comments.push_str(rest.get(..end).unwrap_or_default());
        self.lexed.masked.push(open);
        for sign in inner.chars() {
            let is_plain = !matches!(sign, '"' | '`' | '[' | ']' | '\\' | '\'');
            self.lexed.masked.push(if is_plain { sign } else { '_' });
        }
        self.lexed.masked.push(close);
        self.offset += end;
        Ok(())
    }

    /// Reads a place for a value, `:name`.
    fn read_place(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let length = place_length(rest).unwrap_or_default();
        if rest.get(length..).is_some_and(|after| after.starts_with(is_word_character)) {
            return self.reject_here(
                "the name of a parameter consists of ASCII letters, digits and `_`; rename it",
            );
        }
        self.push_token(TokenKind::Place, rest.get(1..length).unwrap_or_default().to_owned());
        self.copy_code(length);
        Ok(())
    }

    /// Reads a keyword, a name, a number, or the string that the word is a prefix of.
    fn read_word(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let length = rest.find(|sign| !is_word_character(sign)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if after.starts_with('\'') && self.is_string_prefix(word) {
            return self.read_string(length);
        }
        if self.engine == Engine::Postgres && word.eq_ignore_ascii_case("u") {
            if after.starts_with("&'") {
                return self.read_string(length + 1);
            }
            if after.starts_with("&\"") {
                return self.reject_here(
                    "names with U& are not supported; write the characters themselves",
                );
            }
        }
        let is_number = word.starts_with(|sign: char| sign.is_ascii_digit() || sign == '$');
        if self.is_joined_number(word) || (is_number && after.starts_with(['\'', '"'])) {
            return self.reject_here(
                "a number must be separated from the next word; put a space between them",
            );
        }
        let kind = if is_number { TokenKind::Number } else { TokenKind::Word };
        self.push_token(kind, word.to_ascii_lowercase());
        self.copy_code(length);
        Ok(())
    }

    /// Returns true if some engine would split the word after a number, as in `1.5INTO` or
    /// `1e1INTO`.
    fn is_joined_number(&self, word: &str) -> bool {
        let before = self.text.get(..self.offset).unwrap_or_default();
        let is_fraction = before.strip_suffix('.').is_some_and(|whole| {
            let start = whole.rfind(|sign| !is_word_character(sign)).map_or(0, |at| at + 1);
            whole.get(start..).is_some_and(|it| !it.is_empty() && is_plain_number(it))
        });
        if !word.starts_with(|sign: char| sign.is_ascii_digit() || sign == '$') {
            return is_fraction && !is_exponent(word);
        }
        if is_plain_number(word) {
            return false;
        }
        // In `MySQL`, names may begin with digits where no number is possible.
        let may_be_name = self.engine == Engine::MySql
            && !before.ends_with(['.', '-', '+'])
            && word
                .trim_start_matches(|sign: char| sign.is_ascii_digit())
                .starts_with(|sign| !matches!(sign, 'e' | 'E'));
        !may_be_name
    }

    fn is_string_prefix(&self, word: &str) -> bool {
        let prefixes: &[&str] = match self.engine {
            Engine::Postgres => &["e", "b", "x", "n"],
            Engine::MySql => &["b", "x", "n"],
            Engine::Sqlite => &["x"],
        };
        prefixes.iter().any(|prefix| word.eq_ignore_ascii_case(prefix))
    }

    fn read_symbol(&mut self, sign: char) -> Result<(), SqlError> {
        if self.rest().starts_with("::") && self.engine == Engine::Postgres {
            // A cast; what follows the second colon is a type.
            self.push_token(TokenKind::Symbol, ":".to_owned());
            self.copy_code(1);
        }
        match sign {
            '(' | '[' | '{' => self.open_brackets.push((sign, self.offset)),
            ')' | ']' | '}' => {
                let opened = self.open_brackets.pop().map(|(open, _)| open);
                if !matches!((opened, sign), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}'))
                {
                    return self
                        .reject_here(&format!("this `{sign}` closes nothing; leave it out"));
                }
            }
            _ => {}
        }
        if self.open_brackets.len() > MAX_NESTING {
            return self.reject_here(&format!(
                "brackets are nested more than {MAX_NESTING} levels deep; reduce the nesting"
            ));
        }
        self.push_token(TokenKind::Symbol, sign.to_string());
        self.copy_code(sign.len_utf8());
        Ok(())
    }

    fn push_token(&mut self, kind: TokenKind, text: String) {
        self.lexed.tokens.push(Token { kind, text, offset: self.offset });
    }

    /// Copies code unchanged.
    fn copy_code(&mut self, length: usize) {
        let code = self.rest().get(..length).unwrap_or_default();
        self.lexed.without_comments.push_str(code);
        self.lexed.masked.push_str(code);
        self.offset += length;
    }

    /// Copies a string to the clean text and masks it in the other.
    fn mask_string(&mut self, prefix: usize, end: usize) {
        let literal = self.rest().get(..end).unwrap_or_default();
        self.lexed.without_comments.push_str(literal);
        let last = literal.len().saturating_sub(1);
        for (at, sign) in literal.bytes().enumerate() {
            self.lexed.masked.push(match sign {
                _ if at < prefix => ' ',
                _ if at == prefix || at == last => '\'',
                b'\n' => '\n',
                _ => '_',
            });
        }
        self.offset += end;
    }

    /// Replaces text with spaces and keeps line feeds.
    fn blank_out(&mut self, length: usize) {
        for sign in self.rest().get(..length).unwrap_or_default().bytes() {
            let blank = if sign == b'\n' { '\n' } else { ' ' };
            self.lexed.without_comments.push(blank);
            self.lexed.masked.push(blank);
        }
        self.offset += length;
    }
}
