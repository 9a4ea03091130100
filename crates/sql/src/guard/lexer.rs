//! Tokens, by the rules of each engine.
//!
//! This is where a guard and a server must not disagree: what the one takes for a
//! string must not be code to the other. So there is little to disagree about:
//! comments are blanked in what is run, signs that only some take for spaces are
//! refused, and the parser gets a text whose strings are made of underscores.

use super::{
    refusal::{refuse, refuse_at},
    token::{Kind, Token},
};
use crate::{Engine, SqlError};

/// Bytes that a statement may have, at most.
const MOST_BYTES: usize = 256 * 1_024;

/// Brackets within brackets, at most.
const DEEPEST: usize = 100;

/// A text cut into tokens. Its texts are as long as the one they are made of.
#[derive(Debug)]
pub(super) struct Lexed {
    /// The tokens.
    pub(super) tokens: Vec<Token>,
    /// The text, with blanks instead of comments.
    pub(super) clean: String,
    /// The same, with underscores in the strings: what a parser cannot misread.
    pub(super) masked: String,
    /// Whether there were comments.
    pub(super) has_comments: bool,
}

/// Cuts a text into tokens.
pub(super) fn lex(engine: Engine, text: &str) -> Result<Lexed, SqlError> {
    if text.len() > MOST_BYTES {
        return Err(refuse(format!(
            "a statement may have {MOST_BYTES} bytes, this one has {}; ask for less at once",
            text.len()
        )));
    }
    if let Some(at) = text.find('\0') {
        return Err(refuse_at(text, at, "a statement has no NUL bytes; leave it out"));
    }
    let (clean, masked) = (String::with_capacity(text.len()), String::with_capacity(text.len()));
    let lexed = Lexed { tokens: Vec::new(), clean, masked, has_comments: false };
    let mut lexer = Lexer { engine, text, at: 0, open: Vec::new(), escaped: None, lexed };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    match lexer.open.last() {
        Some((bracket, at)) => {
            let message = format!("a closing bracket is missing for this `{bracket}`");
            Err(refuse_at(text, *at, &message))
        }
        None => Ok(lexer.lexed),
    }
}

struct Lexer<'a> {
    engine: Engine,
    text: &'a str,
    at: usize,
    open: Vec<(char, usize)>,
    /// How many tokens there were when the last of them was a string with escapes.
    escaped: Option<usize>,
    lexed: Lexed,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn refuse<T>(&self, message: &str) -> Result<T, SqlError> {
        Err(refuse_at(self.text, self.at, message))
    }

    /// Reads one token, one comment or one blank.
    fn step(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let mut signs = rest.chars();
        let Some(first) = signs.next() else { return Ok(()) };
        if let Some(length) = self.comment(rest)? {
            self.blank(length);
            self.lexed.has_comments = true;
            return Ok(());
        }
        match first {
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => {
                self.blank(1);
                Ok(())
            }
            '\'' => self.string(0),
            '"' if self.engine == Engine::MySql => self.string(0),
            '"' => self.name('"', '"'),
            '`' if self.engine != Engine::Postgres => self.name('`', '`'),
            '`' => self.refuse("PostgreSQL quotes names with \", not with backticks"),
            '[' if self.engine == Engine::Sqlite => self.name('[', ']'),
            '$' if self.engine == Engine::Postgres && dollar_tag(rest).is_some() => self.dollars(),
            // There, `:a(…)` is one token, whatever stands in the brackets.
            '$' | '@' | ':' | '#' if self.engine == Engine::Sqlite => {
                self.refuse("named parameters cannot be given; write the value")
            }
            // Some versions take `$a$ … $a$` for a string.
            '$' if self.engine == Engine::MySql => {
                self.refuse("names that begin with `$` are not read; put backticks around it")
            }
            // There, dashes begin a comment only before a blank, and one may come
            // to stand here instead of a comment.
            '-' if self.engine == Engine::MySql
                && ["---", "--/", "--#", "--;"].iter().any(|dashes| rest.starts_with(dashes)) =>
            {
                self.refuse("these dashes may become a comment; put a space between them")
            }
            '*' if rest.starts_with("*/") && !rest.starts_with("*/*") => {
                self.refuse("no comment is open that this `*/` could close; leave it out")
            }
            '\\' => self.refuse("a backslash stands only in strings; leave it out"),
            sign if is_word(sign) => self.word(),
            sign if sign.is_ascii_graphic() => self.symbol(sign),
            sign => self.refuse(&format!(
                "the sign U+{:04X} stands only in strings and quoted names; use plain spaces and letters",
                u32::from(sign)
            )),
        }
    }

    /// The length of the comment that begins here, if one does.
    fn comment(&self, rest: &str) -> Result<Option<usize>, SqlError> {
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
            // Only in PostgreSQL does a carriage return end it.
            let is_end = |sign| sign == '\n' || (sign == '\r' && self.engine == Engine::Postgres);
            return Ok(Some(rest.find(is_end).unwrap_or(rest.len())));
        }
        if !rest.starts_with("/*") {
            return Ok(None);
        }
        if self.engine == Engine::MySql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) {
            return self.refuse("`/*!` comments are run by the server; write it without");
        }
        match (end_of_comment(rest, self.engine == Engine::Postgres), self.engine) {
            (Some(end), _) => Ok(Some(end)),
            // It may run to the end of the text there.
            (None, Engine::Sqlite) => Ok(Some(rest.len())),
            (None, _) => self.refuse("this comment has no end; close it with */"),
        }
    }

    /// Reads a string in plain quotes, whose prefix has this many bytes.
    fn string(&mut self, prefix: usize) -> Result<(), SqlError> {
        let head = self.rest().get(..prefix).unwrap_or_default();
        let escapes = match self.engine {
            Engine::Postgres => head.eq_ignore_ascii_case("e"),
            Engine::MySql => true,
            Engine::Sqlite => false,
        };
        // A string on the next line goes on with the last one, and with its escapes.
        if prefix == 0 && self.escaped == Some(self.lexed.tokens.len()) {
            return self.refuse("a string E'…' goes on here; write it as one string");
        }
        let Some(end) = end_of_quotes(self.rest(), prefix, escapes) else {
            return self.refuse("this string has no end; close its quote");
        };
        let inner = self.rest().get(prefix + 1..end - 1).unwrap_or_default();
        let digits = head.eq_ignore_ascii_case("x") || head.eq_ignore_ascii_case("b");
        if digits && !inner.chars().all(|digit| digit.is_ascii_hexdigit()) {
            return self.refuse("only digits stand in X'…' and B'…'; correct it");
        }
        self.push(Kind::Literal, inner.to_owned());
        let is_escaped = escapes && self.engine == Engine::Postgres;
        self.escaped = is_escaped.then_some(self.lexed.tokens.len());
        self.literal(prefix, end);
        Ok(())
    }

    /// Reads a string in dollars.
    fn dollars(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let tag = dollar_tag(rest).unwrap_or_default();
        let body = rest.get(tag.len()..).unwrap_or_default();
        let Some(length) = body.find(tag) else {
            return self.refuse(&format!("this string has no end; close it with {tag}"));
        };
        self.push(Kind::Literal, body.get(..length).unwrap_or_default().to_owned());
        self.literal(0, length + 2 * tag.len());
        Ok(())
    }

    /// Reads a name in quotes.
    fn name(&mut self, open: char, close: char) -> Result<(), SqlError> {
        let rest = self.rest();
        // Brackets cannot be doubled.
        let end = match open {
            '[' => rest.find(']').map(|at| at + 1),
            _ => end_of_quotes(rest, 0, false),
        };
        let Some(end) = end else {
            return self.refuse("this quoted name has no end; close its quote");
        };
        let inner = rest.get(1..end - 1).unwrap_or_default();
        self.push(Kind::Name, inner.replace(&format!("{close}{close}"), &close.to_string()));
        self.lexed.clean.push_str(rest.get(..end).unwrap_or_default());
        self.lexed.masked.push(open);
        for sign in inner.chars() {
            let is_plain = !matches!(sign, '"' | '`' | '[' | ']' | '\\' | '\'');
            self.lexed.masked.push(if is_plain { sign } else { '_' });
        }
        self.lexed.masked.push(close);
        self.at += end;
        Ok(())
    }

    /// Reads a keyword, a name or a number; or the string that it is the prefix of.
    fn word(&mut self) -> Result<(), SqlError> {
        let rest = self.rest();
        let length = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if after.starts_with('\'') && self.is_prefix(word) {
            return self.string(length);
        }
        if self.engine == Engine::Postgres && word.eq_ignore_ascii_case("u") {
            if after.starts_with("&'") {
                return self.string(length + 1);
            }
            if after.starts_with("&\"") {
                return self.refuse("names with U& are not read; write the letters themselves");
            }
        }
        let is_number = word.starts_with(|sign: char| sign.is_ascii_digit() || sign == '$');
        if self.is_joined(word) || (is_number && after.starts_with(['\'', '"'])) {
            return self.refuse("a number runs into what follows; put a space between them");
        }
        let kind = if is_number { Kind::Number } else { Kind::Word };
        self.push(kind, word.to_ascii_lowercase());
        self.copy(length);
        Ok(())
    }

    /// Whether the word begins with the end of a number, and goes on with another
    /// word to some engine, as in `1.5INTO` or `1e1INTO`.
    fn is_joined(&self, word: &str) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let is_fraction = before.strip_suffix('.').is_some_and(|whole| {
            let start = whole.rfind(|sign| !is_word(sign)).map_or(0, |at| at + 1);
            whole.get(start..).is_some_and(|it| !it.is_empty() && is_plain_number(it))
        });
        if !word.starts_with(|sign: char| sign.is_ascii_digit() || sign == '$') {
            return is_fraction && !is_exponent(word);
        }
        if is_plain_number(word) {
            return false;
        }
        // There, names may begin with digits, where no number can be meant.
        let may_be_name = self.engine == Engine::MySql
            && !before.ends_with(['.', '-', '+'])
            && word
                .trim_start_matches(|sign: char| sign.is_ascii_digit())
                .starts_with(|sign| !matches!(sign, 'e' | 'E'));
        !may_be_name
    }

    fn is_prefix(&self, word: &str) -> bool {
        let prefixes: &[&str] = match self.engine {
            Engine::Postgres => &["e", "b", "x", "n"],
            Engine::MySql => &["b", "x", "n"],
            Engine::Sqlite => &["x"],
        };
        prefixes.iter().any(|prefix| word.eq_ignore_ascii_case(prefix))
    }

    fn symbol(&mut self, sign: char) -> Result<(), SqlError> {
        match sign {
            '(' | '[' | '{' => self.open.push((sign, self.at)),
            ')' | ']' | '}' => {
                let opened = self.open.pop().map(|(open, _)| open);
                if !matches!((opened, sign), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}'))
                {
                    return self.refuse(&format!("this `{sign}` closes nothing; leave it out"));
                }
            }
            _ => {}
        }
        if self.open.len() > DEEPEST {
            return self.refuse(&format!(
                "brackets stand in brackets more than {DEEPEST} deep; write it flatter"
            ));
        }
        self.push(Kind::Symbol, sign.to_string());
        self.copy(sign.len_utf8());
        Ok(())
    }

    fn push(&mut self, kind: Kind, text: String) {
        self.lexed.tokens.push(Token { kind, text, at: self.at });
    }

    /// Takes code over as it is.
    fn copy(&mut self, length: usize) {
        let code = self.rest().get(..length).unwrap_or_default();
        self.lexed.clean.push_str(code);
        self.lexed.masked.push_str(code);
        self.at += length;
    }

    /// Takes a string over, and masks it.
    fn literal(&mut self, prefix: usize, end: usize) {
        let literal = self.rest().get(..end).unwrap_or_default();
        self.lexed.clean.push_str(literal);
        let last = literal.len().saturating_sub(1);
        for (at, sign) in literal.bytes().enumerate() {
            self.lexed.masked.push(match sign {
                _ if at < prefix => ' ',
                _ if at == prefix || at == last => '\'',
                b'\n' => '\n',
                _ => '_',
            });
        }
        self.at += end;
    }

    /// Leaves blanks instead, and the ends of lines where they are.
    fn blank(&mut self, length: usize) {
        for sign in self.rest().get(..length).unwrap_or_default().bytes() {
            let blank = if sign == b'\n' { '\n' } else { ' ' };
            self.lexed.clean.push(blank);
            self.lexed.masked.push(blank);
        }
        self.at += length;
    }
}

/// Whether a name may have this sign in it.
fn is_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric()
        || matches!(sign, '_' | '$')
        || (!sign.is_ascii() && sign.is_alphanumeric())
}

/// Whether it is nothing but a number, perhaps up to the sign of its exponent; or a
/// parameter.
fn is_plain_number(word: &str) -> bool {
    if let Some(parameter) = word.strip_prefix('$') {
        return !parameter.is_empty() && parameter.bytes().all(|digit| digit.is_ascii_digit());
    }
    let digits = word.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '_');
    let is_other_base = word.starts_with('0')
        && digits.len() + 1 == word.len()
        && digits.starts_with(['x', 'X', 'o', 'O', 'b', 'B'])
        && digits.bytes().skip(1).all(|sign| sign.is_ascii_hexdigit() || sign == b'_');
    digits.is_empty() || is_exponent(digits) || is_other_base
}

/// Whether it is the exponent of a number, perhaps up to its sign.
fn is_exponent(word: &str) -> bool {
    word.strip_prefix(['e', 'E'])
        .is_some_and(|digits| digits.bytes().all(|sign| sign.is_ascii_digit() || sign == b'_'))
}

/// The `$tag$` that a string begins with.
fn dollar_tag(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix('$')?;
    let length = after.find('$')?;
    let tag = after.get(..length)?;
    let is_tag = !tag.starts_with(|sign: char| sign.is_ascii_digit())
        && tag.chars().all(|sign| sign == '_' || sign.is_ascii_alphanumeric() || !sign.is_ascii());
    if is_tag { rest.get(..length + 2) } else { None }
}

/// Where a comment ends that begins `rest`; perhaps with others inside.
fn end_of_comment(rest: &str, nests: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (1_usize, 2);
    while at < bytes.len() {
        match bytes.get(at..at + 2)? {
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            b"/*" if nests => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    None
}

/// Where a quote ends that opens at `open`. It is doubled to stand for itself.
fn end_of_quotes(rest: &str, open: usize, escapes: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let quote = *bytes.get(open)?;
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && escapes {
            at += 2;
        } else if *byte != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
    None
}
