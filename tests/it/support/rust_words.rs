//! The words of Rust code: a scan of one pass that knows comments, strings and identifiers.

use std::mem;

/// The part that a word has in a Rust file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// An identifier that is declared there as an item or a field, is called, or is part of a path.
    Name,
    /// Any other identifier, such as a variable or a parameter.
    Variable,
    /// Part of a string that is a key, SQL or JSON.
    Key,
    /// Part of any other string, such as a message.
    Prose,
}

/// A word of a Rust file, without the underscore of an unused parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    /// Counted from 0.
    pub(crate) line: usize,
    pub(crate) kind: WordKind,
}

/// The words of a Rust file outside of comments, in their order. Words that begin with a capital
/// letter are left out.
#[derive(Debug)]
pub(crate) struct RustWords<'a> {
    pub(crate) words: Vec<Word<'a>>,
    /// For each line, whether it begins within a string.
    pub(crate) begins_in_string: Vec<bool>,
}

/// Keywords before the name that they declare.
const DECLARING_KEYWORDS: [&str; 9] =
    ["fn", "struct", "enum", "union", "trait", "type", "mod", "const", "static"];

/// The position in a file, and what precedes it.
#[derive(Debug)]
struct Scanner<'a> {
    text: &'a str,
    position: usize,
    found: RustWords<'a>,
    /// The last two bytes of code that are not white space.
    before: [u8; 2],
    /// The last word is a keyword of [`DECLARING_KEYWORDS`].
    follows_keyword: bool,
    /// Number of open braces.
    depth: usize,
    /// The name of a struct or enum precedes, and not yet its block.
    expects_fields: bool,
    /// Number of open braces in the block of the current struct or enum.
    fields_depth: Option<usize>,
}

impl<'a> RustWords<'a> {
    /// Scans the contents of a Rust file.
    pub(crate) fn scan(text: &'a str) -> Self {
        let mut scanner = Scanner {
            text,
            position: 0,
            found: Self { words: Vec::new(), begins_in_string: vec![false] },
            before: [0; 2],
            follows_keyword: false,
            depth: 0,
            expects_fields: false,
            fields_depth: None,
        };
        while scanner.position < text.len() {
            scanner.read_token();
        }
        scanner.found
    }
}

impl<'a> Scanner<'a> {
    /// The byte at a distance from the position, or 0 after the end.
    fn byte(&self, distance: usize) -> u8 {
        self.text.as_bytes().get(self.position + distance).copied().unwrap_or_default()
    }

    /// Number of the current line, counted from 0.
    fn line(&self) -> usize {
        self.found.begins_in_string.len() - 1
    }

    fn read_token(&mut self) {
        match self.byte(0) {
            b'\n' => {
                self.found.begins_in_string.push(false);
                self.position += 1;
            }
            b' ' => self.position += 1,
            b'/' if self.byte(1) == b'/' => {
                let rest = &self.text[self.position..];
                self.position += rest.find('\n').unwrap_or(rest.len());
            }
            b'"' => self.read_string(),
            b'r' if matches!(self.byte(1), b'"' | b'#') => self.read_raw_string(),
            b'\'' => self.read_quote(),
            byte if is_word_byte(byte) => self.read_word(),
            byte => self.read_sign(byte),
        }
    }

    fn read_sign(&mut self, sign: u8) {
        match sign {
            b'{' => {
                self.depth += 1;
                if mem::take(&mut self.expects_fields) {
                    self.fields_depth = Some(self.depth);
                }
            }
            b'}' => {
                self.fields_depth = self.fields_depth.filter(|depth| *depth < self.depth);
                self.depth = self.depth.saturating_sub(1);
            }
            b';' => self.expects_fields = false,
            _ => {}
        }
        self.follows(sign);
        self.position += 1;
    }

    fn follows(&mut self, sign: u8) {
        self.before = [self.before[1], sign];
        self.follows_keyword = false;
    }

    /// Passes a character literal, or the mark of a lifetime.
    fn read_quote(&mut self) {
        let rest = &self.text[self.position + 1..];
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let length = match rest.as_bytes() {
            [b'\\', _, after @ ..] => {
                after.iter().position(|byte| *byte == b'\'').map(|closing| closing + 4)
            }
            bytes => (bytes.get(first) == Some(&b'\'')).then_some(first + 2),
        };
        self.position += length.unwrap_or(1);
        self.follows(b'\'');
    }

    fn read_string(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.position + 1;
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        self.add_string(start, end, 1);
    }

    fn read_raw_string(&mut self) {
        let rest = &self.text[self.position + 1..];
        let hashes = rest.bytes().take_while(|byte| *byte == b'#').count();
        if rest.as_bytes().get(hashes) != Some(&b'"') {
            return self.read_word();
        }
        let start = self.position + hashes + 2;
        let mark = format!("\"{}", "#".repeat(hashes));
        let length = self.text[start..].find(&mark).unwrap_or(self.text.len() - start);
        self.add_string(start, start + length, mark.len());
    }

    /// Adds the words of a string, and moves behind its closing mark.
    fn add_string(&mut self, start: usize, end: usize, mark_length: usize) {
        let text = self.text.get(start..end).unwrap_or_default();
        let kind = if is_key(text) { WordKind::Key } else { WordKind::Prose };
        for (number, row) in text.split('\n').enumerate() {
            if number > 0 {
                self.found.begins_in_string.push(true);
            }
            for word in row.split(is_edge) {
                self.add(word, kind);
            }
        }
        self.position = (end + mark_length).min(self.text.len());
        self.follows(b'"');
    }

    fn read_word(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.position;
        while is_word_byte(self.byte(0)) {
            self.position += 1;
        }
        let text = &self.text[start..self.position];
        let after = &bytes[self.position..];
        let is_field = self.fields_depth.is_some() && after.first() == Some(&b':');
        let is_in_path = self.before[1] == b'.' || self.before == *b"::";
        let is_called = matches!(after, [b'(' | b'!', ..] | [b':', b':', ..]);
        let is_name = self.follows_keyword || is_field || is_in_path || is_called;
        self.add(text, if is_name { WordKind::Name } else { WordKind::Variable });
        self.expects_fields |= matches!(text, "struct" | "enum" | "union");
        self.follows(b'a');
        self.follows_keyword = DECLARING_KEYWORDS.contains(&text);
    }

    fn add(&mut self, word: &'a str, kind: WordKind) {
        let text = word.trim_start_matches('_');
        if text.starts_with(|first: char| first.is_ascii_lowercase()) {
            let line = self.line();
            self.found.words.push(Word { text, line, kind });
        }
    }
}

/// Checks whether a string is a key, SQL or JSON and not a sentence.
fn is_key(text: &str) -> bool {
    const SQL: [&str; 7] =
        ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "CREATE ", "FROM ", "PRAGMA "];
    !text.contains(' ') || text.contains("\":") || SQL.iter().any(|keyword| text.contains(keyword))
}

/// Checks whether a letter separates words.
pub(crate) fn is_edge(letter: char) -> bool {
    !u8::try_from(letter).is_ok_and(is_word_byte)
}

fn is_word_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_')
}
