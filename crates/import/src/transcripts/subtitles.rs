//! Subtitles: SRT and VTT files, read as transcripts.
//!
//! Both are lists of cues: a line with two times, then lines of text up to a blank line. One
//! lenient parser reads both, because most of these files are generated and deviate from the
//! specifications.

use vademecum_model::{Cue, MediaDraft, SourceName, Transcript};

use super::{
    cue_text::{SpeakerText, split_speakers},
    speakers::assign_speakers,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    documents::document::single_document,
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: &str = "media/2";

/// Separator of the two times of a cue.
const TIME_SEPARATOR: &str = "-->";

/// Importer of subtitles.
#[derive(Debug)]
pub(crate) struct SubtitleImporter;

impl Importer for SubtitleImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "subtitles (.srt, .vtt)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let is_srt = || opening.lines().nth(1).is_some_and(|line| parse_times(line).is_ok());
        let named = probe.has_extension(&["srt", "vtt"]);
        Confidence::ByContent
            .when(opening.starts_with("WEBVTT") || is_srt())
            .max(Confidence::ByName.when(named))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let (document, problems) = read_subtitles(file)?;
        single_document(file, VERSION, document, problems)
    }
}

/// Reads subtitles and the problems of unreadable cues. Fails if there is no cue.
fn read_subtitles(file: &SourceFile) -> Result<(MediaDraft, Vec<Problem>), ImportError> {
    let mut reader = SubtitleParser::default();
    for (number, line) in (1..).zip(split_lines(&file.text()?)) {
        reader.parse_line(number, line);
    }
    reader.finish_block();
    if reader.cues.is_empty() {
        return Err(ImportError::NoCues { path: file.path.clone() });
    }
    let cues = assign_speakers(&reader.cues);
    let draft = MediaDraft {
        title: reader.title.unwrap_or_else(|| file.file_stem()),
        media_type: "audio".to_owned(),
        content: transcript_text(&cues),
        modified_at: file.modified,
        transcript: Some(Transcript { language: reader.language, cues }),
        ..MediaDraft::default()
    };
    Ok((draft, reader.problems))
}

/// Splits a text at `\n`, `\r\n` and `\r`.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    // `\r\r\n` is one line end that was converted twice.
    text.lines().flat_map(|line| line.trim_end_matches('\r').split('\r'))
}

/// Returns the text of all cues, one line each. A change of speaker is marked with the name.
pub(super) fn transcript_text(cues: &[Cue]) -> String {
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

/// State of the line-by-line parser.
#[derive(Debug, Default)]
struct SubtitleParser {
    title: Option<String>,
    language: Option<String>,
    cues: Vec<Cue>,
    problems: Vec<Problem>,
    block: SubtitleBlock,
}

/// Block to which the next line belongs.
#[derive(Debug, Default)]
enum SubtitleBlock {
    /// None; the preceding line was blank.
    #[default]
    BetweenBlocks,
    /// Header of a VTT file.
    Header,
    /// Comment, style sheet, region or unreadable cue.
    Ignored,
    /// Name or number of a cue; the line with its times follows.
    Named { number: usize },
    /// Text of a cue.
    Cue { start_ms: u64, end_ms: u64, text: Vec<String> },
}

impl SubtitleParser {
    fn parse_line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if line.contains(TIME_SEPARATOR) {
            self.begin_cue(number, line);
        } else if line.is_empty() {
            self.finish_block();
        } else {
            self.parse_text_line(number, line);
        }
    }

    fn parse_text_line(&mut self, number: usize, line: &str) {
        match &mut self.block {
            SubtitleBlock::Cue { text, .. } => text.push(line.to_owned()),
            SubtitleBlock::Header => self.parse_header_line(line),
            SubtitleBlock::Ignored => {}
            SubtitleBlock::Named { .. } => {
                self.finish_block();
                self.block = SubtitleBlock::Ignored;
            }
            SubtitleBlock::BetweenBlocks if line.starts_with("WEBVTT") && self.cues.is_empty() => {
                let title = line["WEBVTT".len()..].trim_matches([' ', '\t', '-', ':']);
                self.title = Some(title.to_owned()).filter(|title| !title.is_empty());
                self.block = SubtitleBlock::Header;
            }
            SubtitleBlock::BetweenBlocks if is_non_cue_block(line) => {
                self.block = SubtitleBlock::Ignored;
            }
            SubtitleBlock::BetweenBlocks => self.block = SubtitleBlock::Named { number },
        }
    }

    fn parse_header_line(&mut self, line: &str) {
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("language")
        {
            self.language = Some(value.trim().to_owned()).filter(|tag| !tag.is_empty());
        }
    }

    fn begin_cue(&mut self, number: usize, line: &str) {
        if let SubtitleBlock::Cue { text, .. } = &mut self.block {
            // The blank line between two cues is missing, so this is the number of the next cue.
            text.pop_if(|line| line.chars().all(|digit| digit.is_ascii_digit()));
        }
        if !matches!(self.block, SubtitleBlock::Named { .. }) {
            self.finish_block();
        }
        self.block = match parse_times(line) {
            Ok((start_ms, end_ms)) => SubtitleBlock::Cue { start_ms, end_ms, text: Vec::new() },
            Err(reason) => {
                self.add_problem(number, reason);
                SubtitleBlock::Ignored
            }
        };
    }

    /// Ends the block: adds a finished cue, or a problem if its times are missing.
    fn finish_block(&mut self) {
        match std::mem::take(&mut self.block) {
            SubtitleBlock::BetweenBlocks | SubtitleBlock::Header | SubtitleBlock::Ignored => {}
            SubtitleBlock::Named { number } => {
                self.add_problem(number, "text without a time above it".to_owned());
            }
            SubtitleBlock::Cue { start_ms, end_ms, text } => {
                let cues = split_speakers(&text.join("\n"))
                    .into_iter()
                    .map(|SpeakerText { speaker, text }| Cue { start_ms, end_ms, speaker, text });
                self.cues.extend(cues);
            }
        }
    }

    fn add_problem(&mut self, number: usize, reason: String) {
        self.problems.push(Problem { place: format!("line {number}"), reason });
    }
}

/// Returns `true` if a VTT block is not a cue.
fn is_non_cue_block(line: &str) -> bool {
    ["NOTE", "STYLE", "REGION"].iter().any(|name| {
        line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

/// Parses the two times of a cue; settings after them are ignored.
fn parse_times(line: &str) -> Result<(u64, u64), String> {
    let (start, rest) = line.split_once(TIME_SEPARATOR).unwrap_or((line, ""));
    let end = rest.split_whitespace().next().unwrap_or_default();
    let read = |text: &str| {
        let text = text.trim();
        parse_milliseconds(text)
            .ok_or_else(|| format!("`{text}` is not a time such as 00:01:02.500"))
    };
    let (start_ms, end_ms) = (read(start)?, read(end)?);
    if end_ms < start_ms {
        return Err(format!("the cue ends at {end}, before it begins at {}", start.trim()));
    }
    Ok((start_ms, end_ms))
}

/// Parses `[hours:]minutes:seconds[.fraction]`, with a point or a comma, into milliseconds.
pub(super) fn parse_milliseconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let mut parts = whole.rsplit(':').map(parse_digits);
    let seconds = parts.next()?.filter(|seconds| *seconds < 60)?;
    let minutes = parts.next()?.filter(|minutes| *minutes < 60)?;
    let hours = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() {
        return None;
    }
    parse_digits(fraction)?;
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    let seconds = minutes.checked_mul(60)?.checked_add(seconds)?;
    // The database stores signed integers.
    let total = seconds.checked_mul(1000)?.checked_add(parse_digits(&thousandths)?)?;
    (total <= i64::MAX.unsigned_abs()).then_some(total)
}

fn parse_digits(digits: &str) -> Option<u64> {
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_cues(path: &str, text: &str) -> (MediaDraft, Vec<Cue>, Vec<Problem>) {
        let (mut draft, problems) = read_subtitles(&SourceFile::in_memory(path, text)).unwrap();
        let cues = std::mem::take(&mut draft.transcript.as_mut().unwrap().cues);
        (draft, cues, problems)
    }

    fn cue(start_ms: u64, end_ms: u64, speaker: Option<&str>, text: &str) -> Cue {
        Cue { start_ms, end_ms, speaker: speaker.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn srt_accepts_windows_line_ends_and_bom() {
        let text = "\u{feff}1\r\n00:00:01,500 --> 00:00:02,000\r\nTwo\r\n<i>lines</i>\r\n\r\n\
                    2\r\n01:00:00,001 --> 01:00:01,000 X1:10 X2:20\r\n{\\an8}Later\r\n";
        let (draft, cues, problems) = read_cues("/talk.srt", text);
        assert_eq!(cues[0], cue(1500, 2000, None, "Two lines"));
        assert_eq!(cues[1], cue(3_600_001, 3_601_000, None, "Later"));
        assert_eq!((draft.content.as_str(), draft.title.as_str()), ("Two lines\nLater\n", "talk"));
        assert!(problems.is_empty());
    }

    #[test]
    fn srt_speakers_are_detected_from_names() {
        let lines = ["Ada: Rye?", "Eve: Oat.", "Ada: Why?", "Ada: Well?", "Eve: Try it."];
        let cues = (1..).zip(lines).map(|(second, text)| {
            format!("{second}\n00:00:0{second},000 --> 00:00:0{second},500\n{text}\n\n")
        });
        let (draft, cues, _) = read_cues("/talk.srt", &cues.collect::<String>());
        assert_eq!(cues[1], cue(2000, 2500, Some("Eve"), "Oat."));
        assert_eq!(draft.content, "Ada: Rye?\nEve: Oat.\nAda: Why?\nWell?\nEve: Try it.\n");
    }

    #[test]
    fn vtt_is_read_with_header_settings_and_speakers() {
        let text = "WEBVTT - The talk\nKind: captions\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\n\
                    NOTE\na comment\n\nREGION\nid:x\n\nintro\n00:01.000 --> 00:02.000 align:start\n\
                    <v.loud Ada>Bread &amp; rye\n\n00:02.000 --> 00:03.000\n<v Ada>rises\n\n\
                    00:03.000 --> 00:04.000\n<v Bob>Does it?</v> <v Ada>Yes.\n";
        let (draft, cues, problems) = read_cues("/talk.vtt", text);
        assert_eq!(draft.title, "The talk");
        assert_eq!(draft.transcript.unwrap().language.as_deref(), Some("en"));
        assert_eq!(cues[0], cue(1000, 2000, Some("Ada"), "Bread & rye"));
        assert_eq!(cues[3], cue(3000, 4000, Some("Ada"), "Yes."));
        assert_eq!(draft.content, "Ada: Bread & rye\nrises\nBob: Does it?\nAda: Yes.\n");
        assert_eq!(problems, []);
    }

    #[test]
    fn broken_cue_is_reported_others_kept() {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:xx --> 00:00:03,000\nTwo\n\n\
                    3\n00:00:05,000 --> 00:00:04,000\nThree\n\nstray\nwords\n\n\
                    00:00:06,000 --> 00:00:07,000\nFour\n";
        let (draft, _, problems) = read_cues("/a.srt", text);
        assert_eq!(draft.content, "One\nFour\n");
        let found: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(found, ["line 6", "line 10", "line 13"]);
        assert!(problems[0].reason.contains("`00:00:xx`"), "{}", problems[0].reason);
    }

    #[test]
    fn missing_blank_line_keeps_cues_separate() {
        let text = "1\n00:01 --> 00:02\nOne\n2\n00:02 --> 00:03\nTwo\r3\r00:03 --> 00:04\rThree";
        let (draft, _, problems) = read_cues("/a.srt", text);
        assert_eq!((draft.content.as_str(), problems.len()), ("One\nTwo\nThree\n", 0));
    }

    #[test]
    fn only_valid_times_are_parsed() {
        assert_eq!(parse_milliseconds("01:02"), Some(62_000));
        assert_eq!(parse_milliseconds("1:02,5"), Some(62_500));
        assert_eq!(parse_milliseconds("123:00:00.0019"), Some(442_800_001));
        for text in
            ["", "1", "01:60", "60:00", "1:2:3:4", "-1:00", "1:0x", "99999999999999999:00:00"]
        {
            assert_eq!(parse_milliseconds(text), None, "{text}");
        }
    }

    #[test]
    fn file_without_cues_is_rejected() {
        for text in ["", "WEBVTT\n", "Just words.\n", "1\n00:01 --> 00:02\n\n"] {
            let error = read_subtitles(&SourceFile::in_memory("/a.vtt", text)).unwrap_err();
            assert!(matches!(error, ImportError::NoCues { .. }), "{error}");
        }
    }
}
