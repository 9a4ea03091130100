//! PDF: the text of its pages, and what its properties say of it.

use std::{collections::HashSet, time::Duration};

use pdf_oxide::{
    PdfDocument,
    converters::ConversionOptions,
    extractors::xmp::{XmpExtractor, XmpMetadata},
    object::Object,
    optional_content::decode_pdf_text_string,
};
use vademecum_kit::model::{Heading, MediaDraft, SourceName, Timestamp};

use super::{
    bounded::{self, Parts, Stopped, caught},
    document::{titled, unreadable, whole},
};
use crate::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    keywords::{between_commas, distinct},
};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "pdf/2";

/// Longest time that a file is read.
const MAX_TIME: Duration = Duration::from_mins(2);

/// Most pages that are read.
const MAX_PAGES: usize = 10_000;

/// Longest text that is read, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1_024 * 1_024;

/// Of so many signs of a page at most one is a control character; there are more
/// of them where fonts have an order of their own.
const SIGNS_PER_CONTROL: usize = 100;

/// How much of the letters of a page its Markdown must have.
const MIN_PERCENT: usize = 97;

/// What programs write where nobody named a title or an author.
const NAMELESS: [&str; 4] = ["untitled", "anonymous", "(anonymous)", "unknown"];

/// How far into a file it may begin to be one.
const MAX_PREAMBLE: usize = 1_024;

/// Reads PDF.
#[derive(Debug)]
pub(crate) struct Pdf;

/// What is read of a file, in the order in which it is.
enum Part {
    About(Properties),
    Refused(String),
    Page(usize, Result<String, String>),
    LeftOut(usize, String),
}

/// What a file says of itself.
#[derive(Default)]
struct Properties {
    title: Option<String>,
    author: Option<String>,
    keywords: Option<String>,
    modified: Option<Timestamp>,
}

impl Importer for Pdf {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "PDF (.pdf)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.head().get(..MAX_PREAMBLE).unwrap_or(glance.head());
        let is_pdf = opening.windows(5).any(|bytes| bytes == b"%PDF-");
        Fit::Content.when(is_pdf).max(Fit::Name.when(glance.ends_in(&["pdf"])))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let bytes = file.bytes.clone();
        let (parts, stopped) = bounded::parts(MAX_TIME, move |parts| read(bytes, parts));
        let mut pages = Pages::default();
        for part in parts {
            pages.take(part);
        }
        pages.finish(stopped);
        let refused = |reason: String| Err(unreadable(file, "a PDF", &reason));
        if let Some(reason) = pages.refused {
            return refused(reason);
        }
        if pages.text.is_empty() {
            return refused(match pages.problems.first() {
                Some(problem) => problem.reason.clone(),
                None => "there is no text on its pages, only pictures; recognise the text (OCR) \
                         and import the result"
                    .to_owned(),
            });
        }
        let about = pages.about;
        let document = MediaDraft {
            title: titled(about.title.as_deref(), file),
            media_type: "pdf".to_owned(),
            author: about.author,
            tags: distinct(about.keywords.iter().flat_map(|list| between_commas(list))),
            modified_at: about.modified.or(file.modified),
            content: pages.text,
            headings: pages.headings,
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, pages.problems)
    }
}

/// What was read so far.
#[derive(Default)]
struct Pages {
    about: Properties,
    refused: Option<String>,
    text: String,
    headings: Vec<Heading>,
    last: usize,
    problems: Vec<Problem>,
}

impl Pages {
    fn take(&mut self, part: Part) {
        match part {
            Part::About(properties) => self.about = properties,
            Part::Refused(reason) => self.refused = Some(reason),
            Part::Page(number, page) => {
                self.last = number;
                match page {
                    Ok(text) => self.add(number, &text),
                    Err(reason) => self.leave_out(format!("page {number}"), reason),
                }
            }
            Part::LeftOut(number, reason) => {
                self.leave_out(format!("page {number} and what follows"), reason);
            }
        }
    }

    fn add(&mut self, number: usize, text: &str) {
        // A NUL is a sign without a meaning in the font.
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

    fn leave_out(&mut self, place: String, reason: String) {
        self.problems.push(Problem { place, reason });
    }

    fn finish(&mut self, stopped: Option<Stopped>) {
        if let Some(stopped) = stopped {
            let place = format!("page {} and what follows", self.last + 1);
            self.leave_out(place, stopped.to_string());
        }
        if self.text.contains(runs_from_the_right) {
            let place = "the order of its Arabic or Hebrew letters".to_owned();
            let reason = "a PDF does not keep it; some of the words may not be found";
            self.leave_out(place, reason.to_owned());
        }
    }
}

/// Whether it is a letter of Hebrew, Arabic or a script like them.
fn runs_from_the_right(sign: char) -> bool {
    let is_in = matches!(u32::from(sign),
        0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFE | 0x1_0800..=0x1_0FFF
        | 0x1_E800..=0x1_EFFF);
    is_in && sign.is_alphabetic()
}

/// Whether it sets a direction apart. The text of a page has none of its own.
fn is_isolate(sign: char) -> bool {
    matches!(sign, '\u{2066}'..='\u{2069}')
}

fn read(bytes: Vec<u8>, parts: &Parts<Part>) {
    let document = match open(bytes) {
        Ok(document) => document,
        Err(reason) => {
            parts.add(Part::Refused(reason));
            return;
        }
    };
    let named = caught(|| Properties::of(&document)).unwrap_or_default();
    let packet = caught(|| XmpExtractor::extract(&document).ok().flatten()).ok().flatten();
    parts.add(Part::About(named.or(packet.map(Properties::from).unwrap_or_default())));
    let count = match document.page_count() {
        Ok(count) => count,
        Err(error) => {
            parts.add(Part::Refused(error.to_string()));
            return;
        }
    };
    let mut left = MAX_TEXT_BYTES;
    for page in 0..count.min(MAX_PAGES) {
        let text = page_text(&document, page);
        let length = text.as_ref().map_or(0, String::len);
        if length > left {
            parts.add(Part::LeftOut(
                page + 1,
                format!("it has more than {MAX_TEXT_BYTES} bytes of text"),
            ));
            return;
        }
        left -= length;
        if !parts.add(Part::Page(page + 1, text)) {
            return;
        }
    }
    if count > MAX_PAGES {
        parts.add(Part::LeftOut(MAX_PAGES + 1, format!("it has {count} pages")));
    }
}

fn open(bytes: Vec<u8>) -> Result<PdfDocument, String> {
    let document = PdfDocument::from_bytes(bytes).map_err(|error| error.to_string())?;
    // Many files are encrypted only against being changed; they open without
    // a password.
    let opens = document.authenticate(b"").unwrap_or(false);
    if document.is_encrypted() && !opens {
        return Err("it is protected by a password; save a copy without one".to_owned());
    }
    Ok(document)
}

/// The text of a page. As Markdown it is in the order in which it is read, but may
/// lack something; as plain text it lacks nothing.
fn page_text(document: &PdfDocument, page: usize) -> Result<String, String> {
    let plain = caught(|| document.extract_text(page).map_err(|error| error.to_string()))
        .unwrap_or_else(|stopped| Err(stopped.to_string()))?;
    let signs = plain.chars().filter(|sign| !sign.is_whitespace()).count();
    let odd = plain.chars().filter(|sign| sign.is_control() && !sign.is_whitespace()).count();
    if odd * SIGNS_PER_CONTROL > signs {
        return Err("its fonts do not tell which letters they show; recognise the text (OCR) and \
                    import the result"
            .to_owned());
    }
    let options = ConversionOptions::default();
    let markdown = caught(|| document.to_markdown(page, &options).ok()).ok().flatten();
    let bare = |text: String| text.replace("**", "").replace(is_isolate, "");
    let markdown = markdown.map(|text| rejoined(&bare(text), &plain));
    Ok(markdown.filter(|text| is_whole(text, &plain)).unwrap_or(plain))
}

/// Whether next to nothing of `plain` is missing.
fn is_whole(text: &str, plain: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|sign| sign.is_alphanumeric()).count();
    letters(text) * 100 >= letters(plain) * MIN_PERCENT
}

/// A text without the hyphens at which its words were broken at the end of a
/// line: `plain` has those words whole.
fn rejoined(text: &str, plain: &str) -> String {
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

impl Properties {
    fn of(document: &PdfDocument) -> Self {
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
            text(name).filter(|text| !NAMELESS.contains(&text.to_lowercase().as_str()))
        };
        let date = |name: &str| moment(&text(name)?);
        Self {
            title: named("Title"),
            author: named("Author"),
            keywords: text("Keywords"),
            modified: date("ModDate").or_else(|| date("CreationDate")),
        }
    }

    /// What is missing here as `others` have it.
    fn or(self, others: Self) -> Self {
        Self {
            title: self.title.or(others.title),
            author: self.author.or(others.author),
            keywords: self.keywords.or(others.keywords),
            modified: self.modified.or(others.modified),
        }
    }
}

/// The newer place for properties: a packet of XML.
impl From<XmpMetadata> for Properties {
    fn from(packet: XmpMetadata) -> Self {
        let said = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let date = |text: Option<String>| Timestamp::parse(&text?).ok();
        Self {
            title: packet.dc_title.and_then(said),
            author: said(packet.dc_creator.join(", ")),
            keywords: packet.pdf_keywords.or(Some(packet.dc_subject.join(", "))).and_then(said),
            modified: date(packet.xmp_modify_date).or_else(|| date(packet.xmp_create_date)),
        }
    }
}

/// Reads `D:20240503100000+02'00'`, of which all but the year may be missing.
fn moment(text: &str) -> Option<Timestamp> {
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
        glance::tests::glance,
        media::document::tests::{read, refused},
    };

    /// A paper: what each of its objects holds, after the catalogue, the pages,
    /// the font and the properties.
    fn paper(pages: &[&str], trailer: &str) -> Vec<u8> {
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
        let mut places = String::new();
        for (number, object) in (1..).zip(&objects) {
            places.extend([format!("{:010} 00000 n \n", file.len())]);
            file.extend([format!("{number} 0 obj\n{object}\nendobj\n")]);
        }
        let (start, size) = (file.len(), objects.len() + 1);
        let end = format!(
            "xref\n0 {size}\n0000000000 65535 f \n{places}trailer\n\
             <</Size {size}/Root 1 0 R/Info 4 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n"
        );
        file += &end;
        file.into_bytes()
    }

    #[test]
    fn a_paper_is_the_text_of_its_pages_with_what_it_says_of_itself() {
        let bytes = paper(&["Knead the dough.", "", "Let it rest."], "");
        assert_eq!(Pdf.recognise(&glance("a.bin", &bytes)), Fit::Content);
        let paper = read(&Pdf, "/a.pdf", bytes);
        assert_eq!(paper.content, "Knead the dough.\n\nLet it rest.");
        assert_eq!((paper.title.as_str(), paper.media_type.as_str()), ("Rye bread", "pdf"));
        assert_eq!(paper.author.as_deref(), Some("Ada"));
        assert_eq!(paper.tags, ["bread", "rye"]);
        assert_eq!(paper.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
        let heading = |at, title: &str| Heading { at, level: 1, title: title.to_owned() };
        assert_eq!(paper.headings, [heading(0, "Page 1"), heading(18, "Page 3")]);
    }

    #[test]
    fn what_only_the_packet_says_is_read_from_it() {
        let xml = "<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'>\
            <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\
            <rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' \
            xmlns:xmp='http://ns.adobe.com/xap/1.0/'>\
            <dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Oat bread</rdf:li></rdf:Alt></dc:title>\
            <dc:creator><rdf:Seq><rdf:li>Bob</rdf:li><rdf:li>Eve</rdf:li></rdf:Seq></dc:creator>\
            <xmp:ModifyDate>2024-06-01T00:00:00Z</xmp:ModifyDate>\
            </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>";
        let packet = XmpExtractor::parse_xmp(xml).unwrap().unwrap();
        let known = Properties { author: Some("Ada".to_owned()), ..Properties::default() };
        let all = known.or(Properties::from(packet.clone()));
        assert_eq!((all.title.as_deref(), all.author.as_deref()), (Some("Oat bread"), Some("Ada")));
        assert_eq!(all.modified, Timestamp::parse("2024-06-01").ok());
        assert_eq!(Properties::from(packet).author.as_deref(), Some("Bob, Eve"));
        assert!(Properties::from(XmpMetadata::default()).title.is_none());
    }

    #[test]
    fn letters_that_run_from_the_right_are_told_of() {
        let told = |text: &str| {
            let mut pages = Pages::default();
            pages.take(Part::Page(1, Ok(text.to_owned())));
            pages.finish(None);
            pages.problems.len()
        };
        assert_eq!((told("bread"), told("bread ﺧﺒﺰ"), told("לחם")), (0, 1, 1));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        let refused = |bytes: Vec<u8>| refused(&Pdf, "/a.pdf", bytes);
        assert!(refused(paper(&["", ""], "")).contains("only pictures"));
        let locked = "/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<00000000000000000000000000000000\
                      00000000000000000000000000000000>/U<000000000000000000000000000000000000\
                      0000000000000000000000000000>>>/ID[<00><00>]";
        assert!(refused(paper(&["Knead."], locked)).contains("password"));
        assert!(refused(b"%PDF-1.4\nand nothing else".to_vec()).contains("as a PDF"));
        assert!(refused(b"words".to_vec()).contains("as a PDF"));
    }

    #[test]
    fn a_file_that_lies_about_itself_does_no_harm() {
        let text = String::from_utf8(paper(&["Knead."], "")).unwrap();
        for (truth, lie) in [
            ("/Count 1", "/Count 2000000000"),
            ("/Kids[5 0 R ]", "/Kids[2 0 R 2 0 R 5 0 R ]"),
            ("/Contents 6 0 R", "/Contents[6 0 R 6 0 R 5 0 R]"),
            ("/Length ", "/Length 99999999999"),
            ("/MediaBox[0 0 595 842]", "/MediaBox[0 0 1e30 -1e30]"),
            ("/Root 1 0 R", "/Root 1 0 R/Prev 0"),
        ] {
            let file = SourceFile::example("/a.pdf", text.replace(truth, lie));
            assert!(text.contains(truth), "{truth}");
            // What is in it is read, or it is refused.
            if let Ok(reading) = Pdf.read(&file) {
                assert_eq!(reading.drafts.len(), 1, "{lie}");
            }
        }
    }

    #[test]
    fn dates_are_read_as_far_as_they_go() {
        for (text, date) in [
            ("D:20240503100000+02'00'", "2024-05-03T08:00:00Z"),
            ("D:20240503100000Z", "2024-05-03T10:00:00Z"),
            ("20240503", "2024-05-03"),
            ("D:2024", "2024-01-01"),
        ] {
            assert_eq!(moment(text), Timestamp::parse(date).ok(), "{text}");
        }
        assert_eq!(moment("yesterday"), None);
    }

    #[test]
    fn words_that_were_broken_at_the_end_of_a_line_are_whole() {
        let text =
            rejoined("ad-ipiscing, well-known and co-op", "adipiscing, well-known and co-op");
        assert_eq!(text, "adipiscing, well-known and co-op");
    }
}
