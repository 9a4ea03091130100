//! Transcripts in JSON, as written by podcast hosts and speech recognition.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{Cue, MediaDraft, SourceName, Transcript};

use super::subtitles::{parse_milliseconds, transcript_text};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    documents::document::{single_document, title_or_stem, unreadable_error},
    text::json,
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: &str = "podcast/1";

/// Importer of JSON transcripts.
#[derive(Debug)]
pub(crate) struct PodcastImporter;

#[derive(Deserialize)]
struct TranscriptFile<'a> {
    title: Option<String>,
    language: Option<String>,
    #[serde(borrow)]
    segments: Vec<&'a RawValue>,
}

/// A segment of speech; aliases are the field names of podcasts, Whisper and others.
#[derive(Deserialize)]
struct TranscriptSegment {
    #[serde(alias = "startTime", alias = "start_time")]
    start: Value,
    #[serde(default, alias = "endTime", alias = "end_time")]
    end: Value,
    #[serde(alias = "body")]
    text: String,
    #[serde(default)]
    speaker: Option<String>,
}

impl Importer for PodcastImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "transcripts (.json with `segments`)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening = probe.head_text();
        let says = |name: &str| opening.contains(name);
        let is_object = opening.starts_with('{');
        let is_transcript = is_object
            && says("\"segments\"")
            && ["\"startTime\"", "\"start\"", "\"start_time\""].into_iter().any(says);
        Confidence::ByContent
            .when(is_transcript)
            .max(Confidence::Possible.when(probe.has_extension(&["json"])))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let is_none = |error| unreadable_error(file, "a transcript", &json::error_message(&error));
        let recording: TranscriptFile<'_> = serde_json::from_str(&text).map_err(is_none)?;
        let mut cues = Vec::new();
        let mut problems = Vec::new();
        for (number, segment) in (1..).zip(recording.segments) {
            match parse_cue(segment) {
                Ok(cue) if cue.text.is_empty() => {}
                Ok(cue) => cues.push(cue),
                Err(reason) => {
                    problems.push(Problem { place: format!("segment {number}"), reason });
                }
            }
        }
        if let (true, Some(first)) = (cues.is_empty(), problems.first()) {
            return Err(unreadable_error(file, "a transcript", first));
        }
        let document = MediaDraft {
            title: title_or_stem(recording.title.as_deref(), file),
            media_type: "audio".to_owned(),
            content: transcript_text(&cues),
            modified_at: file.modified,
            transcript: Some(Transcript { language: recording.language, cues }),
            ..MediaDraft::default()
        };
        single_document(file, VERSION, document, problems)
    }
}

fn parse_cue(segment: &RawValue) -> Result<Cue, String> {
    let segment: TranscriptSegment = serde_json::from_str(segment.get()).map_err(|error| {
        // Excessive nesting is reported as such and not as a wrong type.
        let deep = json::parse_entry::<Value>(segment.get()).err();
        deep.unwrap_or_else(|| json::error_message(&error))
    })?;
    let start_ms = parse_time(&segment.start)
        .ok_or_else(|| format!("`{}` is not a time in seconds", segment.start))?;
    // Some programs write only the start of a segment.
    let end_ms = parse_time(&segment.end).unwrap_or(start_ms).max(start_ms);
    let words: Vec<&str> = segment.text.split_whitespace().collect();
    Ok(Cue { start_ms, end_ms, speaker: segment.speaker, text: words.join(" ") })
}

/// Returns a time in milliseconds, parsed from seconds or from `00:01:02.500`.
fn parse_time(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => match text.trim().parse() {
            Ok(seconds) => seconds,
            Err(_) => return parse_milliseconds(text.trim()),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    u64::try_from(std::time::Duration::try_from_secs_f64(seconds).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        detection::file_probe::tests::probe_file,
        documents::document::tests::{read_document, read_error},
    };

    #[test]
    fn segments_are_read_under_all_field_names() {
        let transcript = json!({ "version": "1.0.0", "segments": [
            { "speaker": "Ada", "startTime": 0.5, "endTime": 0.75, "body": "Rye" },
            { "speaker": "Ada", "start": 1, "end": "2.5", "text": " is \n slow. " },
            { "start_time": "00:01:00.250", "text": "And?" },
        ]});
        let document = read_document(&PodcastImporter, "/talk.json", transcript.to_string());
        assert_eq!(document.content, "Ada: Rye\nis slow.\nAnd?\n");
        let cues = document.transcript.unwrap().cues;
        let times: Vec<_> = cues.iter().map(|cue| (cue.start_ms, cue.end_ms)).collect();
        assert_eq!(times, [(500, 750), (1_000, 2_500), (60_250, 60_250)]);
        assert_eq!((document.title.as_str(), document.media_type.as_str()), ("talk", "audio"));
    }

    #[test]
    fn broken_segment_is_reported_others_kept() {
        let text = r#"{"title": "T", "language": "en", "segments": [
            {"start": -1, "text": "x"}, {"text": "y"}, {"start": 1, "text": "fine"}]}"#;
        let reading = PodcastImporter.parse(&SourceFile::in_memory("/a.json", text)).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        let found_places: Vec<_> =
            reading.problems.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(found_places, ["segment 1", "segment 2"]);
        assert!(reading.problems[1].reason.contains("start"), "{:?}", reading.problems);
    }

    #[test]
    fn other_json_is_rejected() {
        assert_eq!(
            PodcastImporter.detect(&probe_file("a", r#"{"segments":[{"start":1"#)),
            Confidence::ByContent
        );
        assert_eq!(
            PodcastImporter.detect(&probe_file("a.json", r#"{"a": 1}"#)),
            Confidence::Possible
        );
        assert_eq!(
            PodcastImporter.detect(&probe_file("a.txt", r#"{"a": 1}"#)),
            Confidence::NoMatch
        );
        assert!(read_error(&PodcastImporter, "/a.json", "{}").contains("missing field `segments`"));
        let deep = format!(r#"{{"segments":[{}"#, "[".repeat(100_000));
        assert!(read_error(&PodcastImporter, "/a.json", deep).contains("as a transcript"));
    }

    #[test]
    fn deeply_nested_transcript_is_reported_as_such() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for text in [
            format!(r#"{{"segments": [{deep}]}}"#),
            format!(r#"{{"segments": [{{"start": 1, "text": {deep}}}]}}"#),
            format!(
                r#"{{"segments": [{{"start": 1, "text": "x", "words": {deep}, "end": {deep}}}]}}"#
            ),
        ] {
            let reason = read_error(&PodcastImporter, "/a.json", text);
            assert!(reason.contains("segment 1: it nests more than 127 values"), "{reason}");
        }
    }
}
