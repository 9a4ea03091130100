//! Subtitles: SRT and VTT files, read as what was said when.
//!
//! Both are lists of cues: a line of two times, then lines of text up to a
//! blank one. They are read alike, and generously, since most of these files
//! were written by machines that had not read the specification.

use vademecum_kit::model::{Cue, MediaDraft, SourceName, Transcript};

use super::{
    cue_text::{Voice, voices},
    document::whole,
    speakers::told_apart,
};
use crate::{Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "media/2";

/// Stands between the two times of a cue.
const ARROW: &str = "-->";

/// Reads subtitles.
#[derive(Debug)]
pub(crate) struct Subtitles;

impl Importer for Subtitles {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "subtitles (.srt, .vtt)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let is_srt = || opening.lines().nth(1).is_some_and(|line| times(line).is_ok());
        let named = glance.ends_in(&["srt", "vtt"]);
        Fit::Content.when(opening.starts_with("WEBVTT") || is_srt()).max(Fit::Name.when(named))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let (document, problems) = document(file)?;
        whole(file, VERSION, document, problems)
    }
}

/// Reads subtitles, and says which cues could not be read.
fn document(file: &SourceFile) -> Result<(MediaDraft, Vec<Problem>), ImportError> {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(lines(&file.text()?)) {
        reader.take(number, line);
    }
    reader.finish_cue();
    if reader.cues.is_empty() {
        return Err(ImportError::NoCues { path: file.path.clone() });
    }
    let cues = told_apart(&reader.cues);
    let draft = MediaDraft {
        title: reader.title.unwrap_or_else(|| file.stem()),
        media_type: "audio".to_owned(),
        content: spoken(&cues),
        modified_at: file.modified,
        transcript: Some(Transcript { language: reader.language, cues }),
        ..MediaDraft::default()
    };
    Ok((draft, reader.problems))
}

/// The lines of a text, however they end: `\n`, `\r\n`, `\r`.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    // A doubled `\r\r\n` is one end of line that was converted twice.
    text.lines().flat_map(|line| line.trim_end_matches('\r').split('\r'))
}

/// What is said, a line for each cue, with the name of who begins to speak.
pub(super) fn spoken(cues: &[Cue]) -> String {
    let mut text = String::new();
    let mut speaker = None;
    for cue in cues {
        if cue.speaker != speaker
            && let Some(name) = &cue.speaker
        {
            text.push_str(name);
            text.push_str(": ");
        }
        speaker.clone_from(&cue.speaker);
        text.push_str(&cue.text);
        text.push('\n');
    }
    text
}

/// What has been read so far, and where in a file the reader is.
#[derive(Debug, Default)]
struct Reader {
    title: Option<String>,
    language: Option<String>,
    cues: Vec<Cue>,
    problems: Vec<Problem>,
    block: Block,
}

/// Which kind of block the next line belongs to.
#[derive(Debug, Default)]
enum Block {
    /// None: a blank line came before.
    #[default]
    Outside,
    /// The head of a VTT file.
    Head,
    /// A comment, a style sheet, a region, a cue that could not be read.
    Passed,
    /// A cue's name or number; its times come next.
    Named { number: usize },
    /// A cue's text.
    Cue { start_ms: u64, end_ms: u64, text: Vec<String> },
}

impl Reader {
    fn take(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.contains(ARROW) {
            self.begin_cue(number, line);
        } else if line.is_empty() {
            self.finish_cue();
        } else {
            self.take_text(number, line);
        }
    }

    fn take_text(&mut self, number: usize, line: &str) {
        match &mut self.block {
            Block::Cue { text, .. } => text.push(line.to_owned()),
            Block::Head => self.take_head(line),
            Block::Passed => {}
            Block::Named { .. } => {
                self.finish_cue();
                self.block = Block::Passed;
            }
            Block::Outside if line.starts_with("WEBVTT") && self.cues.is_empty() => {
                let title = line["WEBVTT".len()..].trim_matches([' ', '\t', '-', ':']);
                self.title = Some(title.to_owned()).filter(|title| !title.is_empty());
                self.block = Block::Head;
            }
            Block::Outside if is_aside(line) => self.block = Block::Passed,
            Block::Outside => self.block = Block::Named { number },
        }
    }

    fn take_head(&mut self, line: &str) {
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("language")
        {
            self.language = Some(value.trim().to_owned()).filter(|tag| !tag.is_empty());
        }
    }

    fn begin_cue(&mut self, number: usize, line: &str) {
        if let Block::Cue { text, .. } = &mut self.block {
            // The blank line between two cues is missing: this is the
            // number of the next one.
            text.pop_if(|line| line.chars().all(|digit| digit.is_ascii_digit()));
        }
        if !matches!(self.block, Block::Named { .. }) {
            self.finish_cue();
        }
        self.block = match times(line) {
            Ok((start_ms, end_ms)) => Block::Cue { start_ms, end_ms, text: Vec::new() },
            Err(reason) => {
                self.refuse(number, reason);
                Block::Passed
            }
        };
    }

    /// Ends the block; what it was decides what becomes of it.
    fn finish_cue(&mut self) {
        match std::mem::take(&mut self.block) {
            Block::Outside | Block::Head | Block::Passed => {}
            Block::Named { number } => {
                self.refuse(number, "text without a time above it".to_owned());
            }
            Block::Cue { start_ms, end_ms, text } => {
                let cues = voices(&text.join("\n"))
                    .into_iter()
                    .map(|Voice { speaker, text }| Cue { start_ms, end_ms, speaker, text });
                self.cues.extend(cues);
            }
        }
    }

    fn refuse(&mut self, number: usize, reason: String) {
        self.problems.push(Problem { place: format!("line {number}"), reason });
    }
}

/// Whether a block of VTT is something else than a cue.
fn is_aside(line: &str) -> bool {
    ["NOTE", "STYLE", "REGION"].iter().any(|name| {
        line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

/// The two times of a cue; settings after them are passed by.
fn times(line: &str) -> Result<(u64, u64), String> {
    let (start, rest) = line.split_once(ARROW).unwrap_or((line, ""));
    let end = rest.split_whitespace().next().unwrap_or_default();
    let read = |text: &str| {
        let text = text.trim();
        milliseconds(text).ok_or_else(|| format!("`{text}` is not a time such as 00:01:02.500"))
    };
    let (start_ms, end_ms) = (read(start)?, read(end)?);
    if end_ms < start_ms {
        return Err(format!("the cue ends at {end}, before it begins at {}", start.trim()));
    }
    Ok((start_ms, end_ms))
}

/// Reads `[hours:]minutes:seconds[.fraction]`, with a point or a comma.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let mut parts = whole.rsplit(':').map(number);
    let seconds = parts.next()?.filter(|seconds| *seconds < 60)?;
    let minutes = parts.next()?.filter(|minutes| *minutes < 60)?;
    let hours = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() {
        return None;
    }
    number(fraction)?;
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    let seconds = minutes.checked_mul(60)?.checked_add(seconds)?;
    // Databases count in signed numbers.
    let total = seconds.checked_mul(1000)?.checked_add(number(&thousandths)?)?;
    (total <= i64::MAX.unsigned_abs()).then_some(total)
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> (MediaDraft, Vec<Cue>, Vec<Problem>) {
        let (mut draft, problems) = document(&SourceFile::example(path, text)).unwrap();
        let cues = std::mem::take(&mut draft.transcript.as_mut().unwrap().cues);
        (draft, cues, problems)
    }

    fn cue(start_ms: u64, end_ms: u64, speaker: Option<&str>, text: &str) -> Cue {
        Cue { start_ms, end_ms, speaker: speaker.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn srt_is_read_with_windows_line_ends_and_a_byte_order_mark() {
        let text = "\u{feff}1\r\n00:00:01,500 --> 00:00:02,000\r\nTwo\r\n<i>lines</i>\r\n\r\n\
                    2\r\n01:00:00,001 --> 01:00:01,000 X1:10 X2:20\r\n{\\an8}Later\r\n";
        let (draft, cues, problems) = read("/talk.srt", text);
        assert_eq!(cues[0], cue(1500, 2000, None, "Two lines"));
        assert_eq!(cues[1], cue(3_600_001, 3_601_000, None, "Later"));
        assert_eq!((draft.content.as_str(), draft.title.as_str()), ("Two lines\nLater\n", "talk"));
        assert!(problems.is_empty());
    }

    #[test]
    fn srt_has_speakers_if_names_stand_before_what_is_said() {
        let said = ["Ada: Rye?", "Eve: Oat.", "Ada: Why?", "Ada: Well?", "Eve: Try it."];
        let cues = (1..).zip(said).map(|(second, text)| {
            format!("{second}\n00:00:0{second},000 --> 00:00:0{second},500\n{text}\n\n")
        });
        let (draft, cues, _) = read("/talk.srt", &cues.collect::<String>());
        assert_eq!(cues[1], cue(2000, 2500, Some("Eve"), "Oat."));
        assert_eq!(draft.content, "Ada: Rye?\nEve: Oat.\nAda: Why?\nWell?\nEve: Try it.\n");
    }

    #[test]
    fn vtt_is_read_with_its_head_asides_settings_and_speakers() {
        let text = "WEBVTT - The talk\nKind: captions\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\n\
                    NOTE\na comment\n\nREGION\nid:x\n\nintro\n00:01.000 --> 00:02.000 align:start\n\
                    <v.loud Ada>Bread &amp; rye\n\n00:02.000 --> 00:03.000\n<v Ada>rises\n\n\
                    00:03.000 --> 00:04.000\n<v Bob>Does it?</v> <v Ada>Yes.\n";
        let (draft, cues, problems) = read("/talk.vtt", text);
        assert_eq!(draft.title, "The talk");
        assert_eq!(draft.transcript.unwrap().language.as_deref(), Some("en"));
        assert_eq!(cues[0], cue(1000, 2000, Some("Ada"), "Bread & rye"));
        assert_eq!(cues[3], cue(3000, 4000, Some("Ada"), "Yes."));
        assert_eq!(draft.content, "Ada: Bread & rye\nrises\nBob: Does it?\nAda: Yes.\n");
        assert_eq!(problems, []);
    }

    #[test]
    fn a_broken_cue_is_named_and_the_rest_goes_in() {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:xx --> 00:00:03,000\nTwo\n\n\
                    3\n00:00:05,000 --> 00:00:04,000\nThree\n\nstray\nwords\n\n\
                    00:00:06,000 --> 00:00:07,000\nFour\n";
        let (draft, _, problems) = read("/a.srt", text);
        assert_eq!(draft.content, "One\nFour\n");
        let places: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["line 6", "line 10", "line 13"]);
        assert!(problems[0].reason.contains("`00:00:xx`"), "{}", problems[0].reason);
    }

    #[test]
    fn a_missing_blank_line_joins_no_cues() {
        let text = "1\n00:01 --> 00:02\nOne\n2\n00:02 --> 00:03\nTwo\r3\r00:03 --> 00:04\rThree";
        let (draft, _, problems) = read("/a.srt", text);
        assert_eq!((draft.content.as_str(), problems.len()), ("One\nTwo\nThree\n", 0));
    }

    #[test]
    fn times_are_read_in_every_form_and_no_other() {
        assert_eq!(milliseconds("01:02"), Some(62_000));
        assert_eq!(milliseconds("1:02,5"), Some(62_500));
        assert_eq!(milliseconds("123:00:00.0019"), Some(442_800_001));
        for text in
            ["", "1", "01:60", "60:00", "1:2:3:4", "-1:00", "1:0x", "99999999999999999:00:00"]
        {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_without_a_cue_is_refused() {
        for text in ["", "WEBVTT\n", "Just words.\n", "1\n00:01 --> 00:02\n\n"] {
            let error = document(&SourceFile::example("/a.vtt", text)).unwrap_err();
            assert!(matches!(error, ImportError::NoCues { .. }), "{error}");
        }
    }
}
