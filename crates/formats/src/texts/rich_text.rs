//! Documents in the Rich Text Format. Pictures, styles and fields without text are left out.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};
use vademecum_model::{MediaDraft, SourceName};

use super::markdown_writer::MarkdownWriter;
use crate::format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat};

/// Maximum number of groups in one another.
const MAX_DEPTH: usize = 1_000;
/// Groups whose content is no text of the document.
const SKIPPED: [&str; 15] = [
    "colortbl",
    "stylesheet",
    "listtable",
    "listoverridetable",
    "revtbl",
    "pict",
    "object",
    "themedata",
    "datastore",
    "fldinst",
    "generator",
    "header",
    "footer",
    "xmlnstbl",
    "filetbl",
];
/// Fields of the description of a document.
const INFO_FIELDS: [&str; 3] = ["title", "author", "keywords"];

/// A document in the Rich Text Format.
#[derive(Debug)]
pub(crate) struct RichText;

impl Format for RichText {
    fn id(&self) -> &'static str {
        "rich_text"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "Rich Text Format (.rtf)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["rtf"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.bytes.starts_with(b"{\\rtf")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut reader = Reader::new();
        reader.read(input.bytes)?;
        let mut writer = MarkdownWriter::default();
        for paragraph in reader.text.split('\n') {
            writer.block(paragraph);
        }
        if writer.text.is_empty() {
            return Err(FormatError::new("it has no text"));
        }
        let [title, author, keywords] = reader.info;
        let tags = crate::text::keywords::split_commas(&keywords);
        let document = MediaDraft {
            title,
            content: writer.text,
            media_type: "document".to_owned(),
            author: Some(author.trim().to_owned()).filter(|author| !author.is_empty()),
            tags: tags.collect(),
            modified_at: input.modified,
            ..MediaDraft::default()
        };
        let mut parsed = ParsedFormat::default();
        parsed.add_document(input.origin(), document, &input.stem());
        Ok(parsed)
    }
}

/// The state of a group.
#[derive(Clone, Copy, Debug)]
struct Group {
    target: Target,
    /// Number of characters that stand for one of `\u` in older programs.
    fallback: usize,
    /// Encoding of the font; `None` for that of the document.
    encoding: Option<&'static Encoding>,
    /// Whether it is in the table of fonts.
    is_font: bool,
}

impl Group {
    fn new(target: Target) -> Self {
        Self { target, fallback: 1, encoding: None, is_font: false }
    }
}

/// Place of the text of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Body,
    /// One of the fields of the description.
    Info(usize),
    Nowhere,
}

#[derive(Debug)]
struct Reader {
    text: String,
    info: [String; 3],
    encoding: &'static Encoding,
    /// Encodings of fonts with a character set of their own, by number.
    fonts: HashMap<i32, &'static Encoding>,
    /// Number of the font of the document, or of the one whose entry is read.
    font: [i32; 2],
    groups: Vec<Group>,
    /// Bytes in the encoding of the document, which are decoded together.
    bytes: Vec<u8>,
    /// First half of a character of two.
    surrogate: Option<u16>,
    /// Number of characters that are still to be left out after `\u`.
    skipped: usize,
}

impl Reader {
    fn new() -> Self {
        Self {
            text: String::new(),
            info: Default::default(),
            encoding: WINDOWS_1252,
            fonts: HashMap::new(),
            font: [0; 2],
            groups: vec![Group::new(Target::Body)],
            bytes: Vec::new(),
            surrogate: None,
            skipped: 0,
        }
    }

    fn group(&self) -> Group {
        self.groups.last().copied().unwrap_or(Group::new(Target::Nowhere))
    }

    fn set_target(&mut self, target: Target) {
        self.flush();
        if let Some(group) = self.groups.last_mut()
            && group.target != Target::Nowhere
        {
            group.target = target;
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), FormatError> {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            match first {
                b'{' => {
                    self.flush();
                    if self.groups.len() >= MAX_DEPTH {
                        let reason =
                            format!("it nests more than {MAX_DEPTH} groups in one another");
                        return Err(FormatError::new(reason));
                    }
                    self.groups.push(self.group());
                }
                b'}' => {
                    self.flush();
                    if self.groups.len() > 1 {
                        self.groups.pop();
                    }
                }
                b'\\' => rest = self.control(rest),
                b'\r' | b'\n' => {}
                byte => self.push_byte(*byte),
            }
        }
        self.flush();
        Ok(())
    }

    /// Reads a control word or sign, and returns the bytes after it.
    fn control<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let Some((first, after)) = rest.split_first() else { return rest };
        if !first.is_ascii_alphabetic() {
            match first {
                b'\'' => {
                    let hex = after.get(..2).and_then(|hex| str::from_utf8(hex).ok());
                    let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
                    if let Some(byte) = byte {
                        self.push_byte(byte);
                        return after.get(2..).unwrap_or_default();
                    }
                }
                b'*' => self.set_target(Target::Nowhere),
                b'~' => self.push_text(" "),
                b'_' => self.push_text("-"),
                b'\\' | b'{' | b'}' => self.push_byte(*first),
                b'\r' | b'\n' => self.push_text("\n"),
                _ => {}
            }
            return after;
        }
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, tail) = rest.split_at(length);
        let is_number =
            |(at, byte): &(usize, &u8)| byte.is_ascii_digit() || *at == 0 && **byte == b'-';
        let digits = tail.iter().enumerate().take_while(is_number).count();
        let (number, tail) = tail.split_at(digits);
        let number = str::from_utf8(number).ok().and_then(|number| number.parse::<i32>().ok());
        self.word(str::from_utf8(word).unwrap_or_default(), number);
        let tail = tail.strip_prefix(b" ").unwrap_or(tail);
        if word == b"bin" {
            // The bytes of a picture, which are no text.
            let count = number.and_then(|count| usize::try_from(count).ok()).unwrap_or_default();
            return tail.get(count..).unwrap_or_default();
        }
        tail
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        match word {
            "par" | "line" | "sect" | "page" | "row" => self.push_text("\n"),
            "tab" | "cell" => self.push_text("\t"),
            "emdash" => self.push_text("—"),
            "endash" => self.push_text("–"),
            "bullet" => self.push_text("•"),
            "lquote" => self.push_text("‘"),
            "rquote" => self.push_text("’"),
            "ldblquote" => self.push_text("“"),
            "rdblquote" => self.push_text("”"),
            "u" => self.push_unit(number.unwrap_or(0)),
            "uc" => {
                let count = usize::try_from(number.unwrap_or(1)).unwrap_or(1);
                if let Some(group) = self.groups.last_mut() {
                    group.fallback = count.min(8);
                }
            }
            "ansicpg" => {
                let label = format!("windows-{}", number.unwrap_or(1252));
                self.encoding = Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252);
            }
            "deff" => self.font[0] = number.unwrap_or_default(),
            "f" if self.group().is_font => self.font[1] = number.unwrap_or_default(),
            "fcharset" if self.group().is_font => {
                let encoding = charset_encoding(number.unwrap_or_default());
                self.fonts.extend(encoding.map(|encoding| (self.font[1], encoding)));
            }
            "f" => self.set_font(number.unwrap_or_default()),
            "plain" => self.set_font(self.font[0]),
            "fonttbl" => {
                self.set_target(Target::Nowhere);
                if let Some(group) = self.groups.last_mut() {
                    group.is_font = true;
                }
            }
            "info" => self.set_target(Target::Nowhere),
            word if SKIPPED.contains(&word) => self.set_target(Target::Nowhere),
            word => {
                if let Some(field) = INFO_FIELDS.iter().position(|known| *known == word) {
                    self.flush();
                    if let Some(group) = self.groups.last_mut() {
                        group.target = Target::Info(field);
                    }
                }
            }
        }
    }

    fn set_font(&mut self, font: i32) {
        self.flush();
        let encoding = self.fonts.get(&font).copied();
        if let Some(group) = self.groups.last_mut() {
            group.encoding = encoding;
        }
    }

    /// Adds a unit of UTF-16. The characters after it stand for it in older programs.
    fn push_unit(&mut self, number: i32) {
        let unit = u16::try_from(number.rem_euclid(0x1_0000)).unwrap_or_default();
        let units: Vec<u16> = self.surrogate.take().into_iter().chain([unit]).collect();
        let skipped = self.group().fallback;
        match char::decode_utf16(units).next() {
            Some(Ok(character)) => self.push_text(character.encode_utf8(&mut [0; 4])),
            Some(Err(_)) if (0xd800..0xdc00).contains(&unit) => self.surrogate = Some(unit),
            Some(Err(_)) | None => {}
        }
        self.skipped = skipped;
    }

    fn push_byte(&mut self, byte: u8) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.bytes.push(byte);
        }
    }

    fn push_text(&mut self, text: &str) {
        self.flush();
        match self.group().target {
            Target::Body => self.text.push_str(text),
            Target::Info(field) => {
                if let Some(known) = self.info.get_mut(field) {
                    known.push_str(text);
                }
            }
            Target::Nowhere => {}
        }
    }

    /// Decodes the bytes so far.
    fn flush(&mut self) {
        self.skipped = 0;
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let encoding = self.group().encoding.unwrap_or(self.encoding);
            let text = encoding.decode_without_bom_handling(&bytes).0.into_owned();
            self.push_text(&text);
        }
    }
}

/// Returns the encoding of a character set of Windows; `None` for those that the document chooses.
fn charset_encoding(charset: i32) -> Option<&'static Encoding> {
    let label = match charset {
        77 => "macintosh",
        128 => "shift_jis",
        129 => "euc-kr",
        134 => "gbk",
        136 => "big5",
        161 => "windows-1253",
        162 => "windows-1254",
        163 => "windows-1258",
        177 => "windows-1255",
        178 => "windows-1256",
        186 => "windows-1257",
        204 => "windows-1251",
        222 => "windows-874",
        238 => "windows-1250",
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const DOCUMENT: &str = r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Rye}{\author Ada}}
{\pict\pngblip 89504e470d0a}{\*\generator x;}\pard Caf\'e9 \u8364?10 \{a\}\par
{\b Knead} the dough\line \u-10179?\u-8704? rise.\par}";

    #[test]
    fn text_keeps_letters_and_leaves_pictures_out() {
        assert!(detects(&RichText, "/a.rtf", DOCUMENT));
        let parsed = parse(&RichText, "/a.rtf", DOCUMENT);
        let found = documents(&parsed)[0];
        assert_eq!(found.content, "Café €10 {a}\n\nKnead the dough\n\n😀 rise.");
        assert_eq!((found.title.as_str(), found.author.as_deref()), ("Rye", Some("Ada")));
    }

    #[test]
    fn font_has_encoding_and_binary_data_is_left_out() {
        let text = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}
\f1 \'f0\'ee\'e6\'fc {\f0 caf\'e9} \'e8 \plain \'e9\par {\bin7 }}\'e9{{x}\f1\'e8\par}";
        let parsed = parse(&RichText, "/a.rtf", text);
        assert_eq!(documents(&parsed)[0].content, "рожь café и é\n\nxи");
        assert!(try_parse(&RichText, "/a.rtf", r"{\rtf1 {\bin99 a}").is_err());
    }

    #[test]
    fn deep_and_empty_documents_fail() {
        let deep = format!("{{\\rtf1{}", "{".repeat(100_000));
        assert!(try_parse(&RichText, "/a.rtf", deep).is_err());
        assert!(try_parse(&RichText, "/a.rtf", "{\\rtf1}").is_err());
        assert!(try_parse(&RichText, "/a.rtf", "{\\rtf1 \\").is_err());
        let cut = parse(&RichText, "/a.rtf", "{\\rtf1 Rye \\'e");
        assert_eq!(documents(&cut).len(), 1);
    }
}
