//! PDF: text of the pages, and metadata.

use std::collections::HashSet;

use pdf_oxide::{
    PdfDocument,
    converters::ConversionOptions,
    extractors::xmp::{XmpExtractor, XmpMetadata},
    object::Object,
    optional_content::decode_pdf_text_string,
};
use vademecum_model::{Draft, DraftBody, Heading, MediaDraft, SourceName, Timestamp};

use super::{
    document::{ImporterVersion, MAX_TEXT_BYTES, title_or_stem, unreadable_error},
    isolated_thread::{self, ParserFailure, PartSender, catch_panic},
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile, digest,
    text::keywords::{distinct_keywords, split_commas},
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: ImporterVersion = ImporterVersion { current: "pdf/3", former: Some("pdf/2") };

/// Maximum number of pages that are read.
const MAX_PAGES: u32 = 10_000;

/// Minimum number of characters per control character on a page. A page below it uses fonts without
/// a character mapping.
const MIN_CHARS_PER_CONTROL: usize = 100;

/// Minimum percentage of the letters of a page that its Markdown must contain.
const MIN_LETTER_PERCENT: usize = 97;

/// Placeholders that programs write in place of a missing title or author.
const PLACEHOLDER_NAMES: [&str; 4] = ["untitled", "anonymous", "(anonymous)", "unknown"];

/// Maximum number of bytes before the PDF signature.
const MAX_PREAMBLE_BYTES: usize = 1_024;

/// Importer of PDF files.
#[derive(Debug)]
pub(crate) struct PdfImporter;

/// A partial result, in the order of reading.
enum PdfPart {
    Metadata(PdfMetadata),
    Rejected(String),
    Page(u32, Result<String, String>),
    Skipped(u32, String),
}

/// Metadata of a file.
#[derive(Default)]
struct PdfMetadata {
    title: Option<String>,
    author: Option<String>,
    keywords: Option<String>,
    modified: Option<Timestamp>,
}

impl Importer for PdfImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "PDF (.pdf)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head().get(..MAX_PREAMBLE_BYTES).unwrap_or(probe.head());
        let is_pdf = opening.windows(5).any(|bytes| bytes == b"%PDF-");
        Confidence::ByContent
            .when(is_pdf)
            .max(Confidence::ByName.when(probe.has_extension(&["pdf"])))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let (bytes, first) = (file.bytes.clone(), file.read_pages);
        let (parts, stopped) = isolated_thread::run_collecting(file.parsing_time(), move |parts| {
            read_parts(bytes, first, parts);
        });
        let mut pages = PdfCollector { read_pages: first, ..PdfCollector::default() };
        for part in parts {
            pages.add_part(part);
        }
        let begins = first == 0;
        let stopped = match stopped {
            Some(late @ ParserFailure::TimedOut(_)) if begins && pages.has_nothing() => {
                return Err(late.into_error(file, "a PDF"));
            }
            stopped => stopped,
        };
        pages.finish(stopped);
        let refused = |reason: String| Err(unreadable_error(file, "a PDF", &reason));
        if let Some(reason) = pages.rejection {
            return refused(reason);
        }
        if begins && pages.text.is_empty() {
            return refused(match pages.problems.first() {
                Some(problem) => problem.reason.clone(),
                None => "there is no text on its pages, only pictures; recognise the text (OCR) \
                         and import the result"
                    .to_owned(),
            });
        }
        Ok(pages.into_parsed_file(file))
    }
}

/// Partial results received so far.
#[derive(Default)]
struct PdfCollector {
    metadata: PdfMetadata,
    rejection: Option<String>,
    text: String,
    headings: Vec<Heading>,
    /// Number of pages that were read, with those of earlier readings.
    read_pages: u32,
    problems: Vec<Problem>,
    is_cut: bool,
}

impl PdfCollector {
    /// Returns `true` if there is no text, and the file was not rejected.
    fn has_nothing(&self) -> bool {
        self.rejection.is_none() && self.text.is_empty()
    }

    fn add_part(&mut self, part: PdfPart) {
        match part {
            PdfPart::Metadata(properties) => self.metadata = properties,
            PdfPart::Rejected(reason) => self.rejection = Some(reason),
            PdfPart::Page(number, page) => {
                self.read_pages = number;
                match page {
                    Ok(text) => self.add_page(number, &text),
                    Err(reason) => self.add_problem(format!("page {number}"), reason),
                }
            }
            PdfPart::Skipped(number, reason) => {
                self.add_problem(format!("page {number} and what follows"), reason);
            }
        }
    }

    fn add_page(&mut self, number: u32, text: &str) {
        // A NUL is a glyph that the font maps to no character.
        let text = text.replace('\0', "");
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.headings.push(Heading {
            at: self.text.len(),
            level: 1,
            title: format!("Page {number}"),
        });
        self.text.push_str(text);
    }

    fn add_problem(&mut self, place: String, reason: String) {
        self.problems.push(Problem { place, reason });
    }

    fn finish(&mut self, stopped: Option<ParserFailure>) {
        match stopped {
            Some(ParserFailure::TimedOut(_)) => self.is_cut = true,
            Some(failure) => {
                let place = format!("page {} and what follows", self.read_pages + 1);
                self.add_problem(place, failure.to_string());
            }
            None => {}
        }
        if self.text.contains(is_right_to_left) {
            let place = "the order of its Arabic or Hebrew letters".to_owned();
            let reason = "a PDF does not store it; some words may not be found";
            self.add_problem(place, reason.to_owned());
        }
    }

    /// Returns the pages as a document. One that was cut has a digest of its own, so that the whole one
    /// replaces it.
    fn into_parsed_file(self, file: &SourceFile) -> ParsedFile {
        let about = self.metadata;
        let document = MediaDraft {
            title: title_or_stem(about.title.as_deref(), file),
            media_type: "pdf".to_owned(),
            author: about.author,
            tags: distinct_keywords(about.keywords.iter().flat_map(|list| split_commas(list))),
            modified_at: about.modified.or(file.modified),
            content: self.text,
            headings: self.headings,
            is_part: self.is_cut,
            ..MediaDraft::default()
        };
        let draft = if self.is_cut {
            let part = format!("{} {}", VERSION.current, self.read_pages);
            let digest = digest(&part, [file.bytes.as_slice()]);
            Draft { origin: file.origin(), digest, id: None, body: DraftBody::Media(document) }
        } else {
            VERSION.draft(file.origin(), &file.bytes, document)
        };
        ParsedFile {
            drafts: vec![draft],
            problems: self.problems,
            is_cut: self.is_cut,
            read_pages: if self.is_cut { self.read_pages } else { 0 },
            ..ParsedFile::default()
        }
    }
}

/// Returns `true` for letters of Hebrew, Arabic and related scripts.
fn is_right_to_left(sign: char) -> bool {
    let is_in = matches!(u32::from(sign),
        0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFE | 0x1_0800..=0x1_0FFF
        | 0x1_E800..=0x1_EFFF);
    is_in && sign.is_alphabetic()
}

/// Returns `true` for Unicode direction isolates, which are not part of the text.
fn is_direction_isolate(sign: char) -> bool {
    matches!(sign, '\u{2066}'..='\u{2069}')
}

/// Reads the pages after the first `read_pages`.
fn read_parts(bytes: Vec<u8>, read_pages: u32, parts: &PartSender<PdfPart>) {
    let document = match open_document(bytes) {
        Ok(document) => document,
        Err(reason) => {
            parts.send(PdfPart::Rejected(reason));
            return;
        }
    };
    let named = catch_panic(|| PdfMetadata::from_document(&document)).unwrap_or_default();
    let packet = catch_panic(|| XmpExtractor::extract(&document).ok().flatten()).ok().flatten();
    parts.send(PdfPart::Metadata(named.or(packet.map(PdfMetadata::from).unwrap_or_default())));
    let count = match document.page_count() {
        Ok(count) => u32::try_from(count).unwrap_or(u32::MAX),
        Err(error) => {
            parts.send(PdfPart::Rejected(error.to_string()));
            return;
        }
    };
    let mut left = MAX_TEXT_BYTES;
    for page in read_pages..count.min(MAX_PAGES) {
        let text = page_text(&document, page as usize);
        let length = text.as_ref().map_or(0, String::len);
        if length > left {
            parts.send(PdfPart::Skipped(
                page + 1,
                format!("it has more than {MAX_TEXT_BYTES} bytes of text"),
            ));
            return;
        }
        left -= length;
        if !parts.send(PdfPart::Page(page + 1, text)) {
            return;
        }
    }
    if count > MAX_PAGES {
        parts.send(PdfPart::Skipped(MAX_PAGES + 1, format!("it has {count} pages")));
    }
}

fn open_document(bytes: Vec<u8>) -> Result<PdfDocument, String> {
    let document = PdfDocument::from_bytes(bytes).map_err(|error| error.to_string())?;
    // Many files are encrypted only against modification and open without a password.
    let opens = document.authenticate(b"").unwrap_or(false);
    if document.is_encrypted() && !opens {
        return Err("it is protected by a password; save a copy without one".to_owned());
    }
    Ok(document)
}

/// Returns the text of a page. Markdown has the reading order but may be incomplete; in that case
/// the plain text is returned.
fn page_text(document: &PdfDocument, page: usize) -> Result<String, String> {
    let plain = catch_panic(|| document.extract_text(page).map_err(|error| error.to_string()))
        .unwrap_or_else(|stopped| Err(stopped.to_string()))?;
    let signs = plain.chars().filter(|sign| !sign.is_whitespace()).count();
    let odd = plain.chars().filter(|sign| sign.is_control() && !sign.is_whitespace()).count();
    if odd * MIN_CHARS_PER_CONTROL > signs {
        return Err("its fonts have no character mapping; recognise the text (OCR) and \
                    import the result"
            .to_owned());
    }
    let options = ConversionOptions::default();
    let markdown = catch_panic(|| document.to_markdown(page, &options).ok()).ok().flatten();
    let bare = |text: String| text.replace("**", "").replace(is_direction_isolate, "");
    let markdown = markdown.map(|text| join_hyphenated_words(&bare(text), &plain));
    Ok(markdown.filter(|text| is_complete(text, &plain)).unwrap_or(plain))
}

/// Returns `true` if `text` has at least 97 % as many letters as `plain`.
fn is_complete(text: &str, plain: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|sign| sign.is_alphanumeric()).count();
    letters(text) * 100 >= letters(plain) * MIN_LETTER_PERCENT
}

/// Joins words that were hyphenated at line ends, if `plain` contains the joined word.
fn join_hyphenated_words(text: &str, plain: &str) -> String {
    let not_a_word = |sign: char| !sign.is_alphanumeric() && sign != '-';
    let whole: HashSet<&str> = plain.split(not_a_word).collect();
    let parts = text.split_inclusive(not_a_word).map(|part| {
        let word = part.trim_end_matches(not_a_word);
        let joined = word.replacen('-', "", 1);
        let is_broken = !whole.contains(word) && whole.contains(joined.as_str());
        if is_broken { joined + &part[word.len()..] } else { part.to_owned() }
    });
    parts.collect()
}

impl PdfMetadata {
    fn from_document(document: &PdfDocument) -> Self {
        let info = document.trailer().as_dict().and_then(|trailer| trailer.get("Info"));
        let info = info.and_then(|info| document.resolve_object(info).ok());
        let text = |name: &str| {
            let value = info.as_ref().and_then(Object::as_dict)?.get(name)?;
            let value = document.resolve_object(value).ok()?;
            let text = decode_pdf_text_string(value.as_string()?);
            let text = text.replace('\0', "");
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let named = |name: &str| {
            text(name).filter(|text| !PLACEHOLDER_NAMES.contains(&text.to_lowercase().as_str()))
        };
        let date = |name: &str| parse_pdf_date(&text(name)?);
        Self {
            title: named("Title"),
            author: named("Author"),
            keywords: text("Keywords"),
            modified: date("ModDate").or_else(|| date("CreationDate")),
        }
    }

    /// Returns the metadata with missing fields taken from `others`.
    fn or(self, others: Self) -> Self {
        Self {
            title: self.title.or(others.title),
            author: self.author.or(others.author),
            keywords: self.keywords.or(others.keywords),
            modified: self.modified.or(others.modified),
        }
    }
}

/// XMP metadata, the successor of the info dictionary.
impl From<XmpMetadata> for PdfMetadata {
    fn from(packet: XmpMetadata) -> Self {
        let non_empty = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let date = |text: Option<String>| Timestamp::parse(&text?).ok();
        Self {
            title: packet.dc_title.and_then(non_empty),
            author: non_empty(packet.dc_creator.join(", ")),
            keywords: packet
                .pdf_keywords
                .or(Some(packet.dc_subject.join(", ")))
                .and_then(non_empty),
            modified: date(packet.xmp_modify_date).or_else(|| date(packet.xmp_create_date)),
        }
    }
}

/// Parses `D:20240503100000+02'00'`; everything after the year is optional.
fn parse_pdf_date(text: &str) -> Option<Timestamp> {
    let text = text.trim().strip_prefix("D:").unwrap_or(text.trim());
    let (digits, zone) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let part = |from: usize, missing: &'static str| digits.get(from..from + 2).unwrap_or(missing);
    let year = digits.get(..4)?;
    let zone: String = zone.chars().filter(|sign| *sign != '\'').collect();
    let zone = match (zone.get(..1), zone.get(1..3), zone.get(3..5)) {
        (Some(sign @ ("+" | "-")), Some(hours), minutes) => {
            format!("{sign}{hours}:{}", minutes.unwrap_or("00"))
        }
        _ => "Z".to_owned(),
    };
    let day = format!("{year}-{}-{}", part(4, "01"), part(6, "01"));
    let time = format!("{}:{}:{}", part(8, "00"), part(10, "00"), part(12, "00"));
    Timestamp::parse(&format!("{day}T{time}{zone}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        PartialDocument,
        detection::file_probe::tests::probe_file,
        documents::document::tests::{read_document, read_error},
    };

    /// Returns a PDF with these pages. Objects 1 to 4 are catalogue, pages, font and properties.
    fn build_pdf(pages: &[&str], trailer: &str) -> Vec<u8> {
        let mut objects = vec![
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            String::new(),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
            "<</Title(Rye bread)/Author(Ada)/Keywords(bread, rye)/ModDate(D:20240503100000+02'00')>>"
                .to_owned(),
        ];
        let mut kids = String::new();
        for text in pages {
            let number = objects.len() + 1;
            kids.extend([number.to_string().as_str(), " 0 R "]);
            objects.push(format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {} 0 R\
                 /Resources<</Font<</F1 3 0 R>>>>>>",
                number + 1
            ));
            let lines: Vec<String> =
                text.lines().map(|line| format!("({line}) Tj 0 -14 Td ")).collect();
            let shown = format!("BT /F1 12 Tf 72 720 Td {}ET", lines.concat());
            objects.push(format!("<</Length {}>>stream\n{shown}\nendstream", shown.len()));
        }
        objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len());
        let mut file = "%PDF-1.4\n".to_owned();
        let mut offsets = String::new();
        for (number, object) in (1..).zip(&objects) {
            offsets.extend([format!("{:010} 00000 n \n", file.len())]);
            file.extend([format!("{number} 0 obj\n{object}\nendobj\n")]);
        }
        let (start, size) = (file.len(), objects.len() + 1);
        let end = format!(
            "xref\n0 {size}\n0000000000 65535 f \n{offsets}trailer\n\
             <</Size {size}/Root 1 0 R/Info 4 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n"
        );
        file += &end;
        file.into_bytes()
    }

    #[test]
    fn pdf_has_page_text_and_metadata() {
        let bytes = build_pdf(&["Knead the dough.", "", "Let it rest."], "");
        assert_eq!(PdfImporter.detect(&probe_file("a.bin", &bytes)), Confidence::ByContent);
        let paper = read_document(&PdfImporter, "/a.pdf", bytes);
        assert_eq!(paper.content, "Knead the dough.\n\nLet it rest.");
        assert_eq!((paper.title.as_str(), paper.media_type.as_str()), ("Rye bread", "pdf"));
        assert_eq!(paper.author.as_deref(), Some("Ada"));
        assert_eq!(paper.tags, ["bread", "rye"]);
        assert_eq!(paper.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
        let heading = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        assert_eq!(paper.headings, [heading(0, "Page 1"), heading(18, "Page 3")]);
    }

    #[test]
    fn xmp_fills_missing_metadata() {
        let xml = "<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'>\
            <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\
            <rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' \
            xmlns:xmp='http://ns.adobe.com/xap/1.0/'>\
            <dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Oat bread</rdf:li></rdf:Alt></dc:title>\
            <dc:creator><rdf:Seq><rdf:li>Bob</rdf:li><rdf:li>Eve</rdf:li></rdf:Seq></dc:creator>\
            <xmp:ModifyDate>2024-06-01T00:00:00Z</xmp:ModifyDate>\
            </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>";
        let packet = XmpExtractor::parse_xmp(xml).unwrap().unwrap();
        let known = PdfMetadata { author: Some("Ada".to_owned()), ..PdfMetadata::default() };
        let all = known.or(PdfMetadata::from(packet.clone()));
        assert_eq!((all.title.as_deref(), all.author.as_deref()), (Some("Oat bread"), Some("Ada")));
        assert_eq!(all.modified, Timestamp::parse("2024-06-01").ok());
        assert_eq!(PdfMetadata::from(packet).author.as_deref(), Some("Bob, Eve"));
        assert!(PdfMetadata::from(XmpMetadata::default()).title.is_none());
    }

    #[test]
    fn right_to_left_text_is_reported() {
        let count_problems = |text: &str| {
            let mut pages = PdfCollector::default();
            pages.add_part(PdfPart::Page(1, Ok(text.to_owned())));
            pages.finish(None);
            pages.problems.len()
        };
        assert_eq!(
            (count_problems("bread"), count_problems("bread ﺧﺒﺰ"), count_problems("לחם")),
            (0, 1, 1)
        );
    }

    #[test]
    fn unreadable_pdf_is_rejected_with_reason() {
        let refused = |bytes: Vec<u8>| read_error(&PdfImporter, "/a.pdf", bytes);
        assert!(refused(build_pdf(&["", ""], "")).contains("only pictures"));
        let locked = "/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<00000000000000000000000000000000\
                      00000000000000000000000000000000>/U<000000000000000000000000000000000000\
                      0000000000000000000000000000>>>/ID[<00><00>]";
        assert!(refused(build_pdf(&["Knead."], locked)).contains("password"));
        assert!(refused(b"%PDF-1.4\nand nothing else".to_vec()).contains("as a PDF"));
        assert!(refused(b"words".to_vec()).contains("as a PDF"));
    }

    #[test]
    fn inconsistent_pdf_does_not_panic() {
        let text = String::from_utf8(build_pdf(&["Knead."], "")).unwrap();
        for (truth, lie) in [
            ("/Count 1", "/Count 2000000000"),
            ("/Kids[5 0 R ]", "/Kids[2 0 R 2 0 R 5 0 R ]"),
            ("/Contents 6 0 R", "/Contents[6 0 R 6 0 R 5 0 R]"),
            ("/Length ", "/Length 99999999999"),
            ("/MediaBox[0 0 595 842]", "/MediaBox[0 0 1e30 -1e30]"),
            ("/Root 1 0 R", "/Root 1 0 R/Prev 0"),
        ] {
            let file = SourceFile::in_memory("/a.pdf", text.replace(truth, lie));
            assert!(text.contains(truth), "{truth}");
            // Either result is fine; the importer must not panic.
            if let Ok(reading) = PdfImporter.parse(&file) {
                assert_eq!(reading.drafts.len(), 1, "{lie}");
            }
        }
    }

    #[test]
    fn partial_dates_are_parsed() {
        for (text, date) in [
            ("D:20240503100000+02'00'", "2024-05-03T08:00:00Z"),
            ("D:20240503100000Z", "2024-05-03T10:00:00Z"),
            ("20240503", "2024-05-03"),
            ("D:2024", "2024-01-01"),
        ] {
            assert_eq!(parse_pdf_date(text), Timestamp::parse(date).ok(), "{text}");
        }
        assert_eq!(parse_pdf_date("yesterday"), None);
    }

    /// Reads a file up to a page, as if its time was over then.
    fn read_until(file: &SourceFile, last_page: u32) -> ParsedFile {
        let (parts, stopped) = isolated_thread::run_collecting(file.time_limit, {
            let (bytes, first) = (file.bytes.clone(), file.read_pages);
            move |parts| read_parts(bytes, first, parts)
        });
        assert!(stopped.is_none());
        let mut pages = PdfCollector { read_pages: file.read_pages, ..PdfCollector::default() };
        for part in parts {
            if !matches!(part, PdfPart::Page(number, _) if number > last_page) {
                pages.add_part(part);
            }
        }
        pages.finish(Some(ParserFailure::TimedOut(std::time::Duration::from_secs(1))));
        pages.into_parsed_file(file)
    }

    #[test]
    fn pdf_read_in_parts_is_as_if_read_at_once() {
        let pages = ["Knead the dough.", "", "Let it rest.", "Bake it.", ""];
        let file = SourceFile::in_memory("/a.pdf", build_pdf(&pages, ""));
        let whole = PdfImporter.parse(&file).unwrap();
        assert_eq!((whole.is_cut, whole.read_pages), (false, 0));
        let after = |read_pages| SourceFile { read_pages, ..file.clone() };
        for cuts in [[1, 2], [2, 3], [3, 4], [1, 4], [4, 5]] {
            let first = read_until(&file, cuts[0]);
            assert_eq!((first.is_cut, first.read_pages), (true, cuts[0]));
            assert_ne!(first.drafts[0].digest, whole.drafts[0].digest);
            let partial = PartialDocument::of(&first, Some("digest")).unwrap();
            let second = partial.continue_with(read_until(&after(cuts[0]), cuts[1]));
            assert_eq!((second.is_cut, second.read_pages), (true, cuts[1]));
            let partial = PartialDocument::of(&second, Some("digest")).unwrap();
            let last = partial.continue_with(PdfImporter.parse(&after(cuts[1])).unwrap());
            assert_eq!((last.is_cut, last.read_pages), (false, 0));
            let texts = |parsed: &ParsedFile| serde_json::to_value(&parsed.drafts).unwrap();
            assert_eq!(texts(&last), texts(&whole), "{cuts:?}");
        }
    }

    #[test]
    fn hyphenated_words_are_joined() {
        let text = join_hyphenated_words(
            "ad-ipiscing, well-known and co-op",
            "adipiscing, well-known and co-op",
        );
        assert_eq!(text, "adipiscing, well-known and co-op");
    }
}
