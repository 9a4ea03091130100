//! Transcripts in JSON, as podcasts and speech recognisers write them.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_kit::model::{Cue, MediaDraft, SourceName, Transcript};

use super::{
    document::{titled, unreadable, whole},
    subtitles::{milliseconds, spoken},
};
use crate::{Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, json};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "podcast/1";

/// Reads transcripts.
#[derive(Debug)]
pub(crate) struct Podcast;

#[derive(Deserialize)]
struct Recording<'a> {
    title: Option<String>,
    language: Option<String>,
    #[serde(borrow)]
    segments: Vec<&'a RawValue>,
}

/// One thing said, under the names that podcasts, Whisper and others give it.
#[derive(Deserialize)]
struct Segment {
    #[serde(alias = "startTime", alias = "start_time")]
    start: Value,
    #[serde(default, alias = "endTime", alias = "end_time")]
    end: Value,
    #[serde(alias = "body")]
    text: String,
    #[serde(default)]
    speaker: Option<String>,
}

impl Importer for Podcast {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "transcripts (.json with `segments`)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let opening = glance.opening();
        let says = |name: &str| opening.contains(name);
        let is_object = opening.starts_with('{');
        let is_transcript = is_object
            && says("\"segments\"")
            && ["\"startTime\"", "\"start\"", "\"start_time\""].into_iter().any(says);
        Fit::Content.when(is_transcript).max(Fit::Maybe.when(glance.ends_in(&["json"])))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let is_none = |error| unreadable(file, "a transcript", &json::reason(&error));
        let recording: Recording<'_> = serde_json::from_str(&text).map_err(is_none)?;
        let mut cues = Vec::new();
        let mut problems = Vec::new();
        for (number, segment) in (1..).zip(recording.segments) {
            match cue(segment) {
                Ok(cue) if cue.text.is_empty() => {}
                Ok(cue) => cues.push(cue),
                Err(reason) => {
                    problems.push(Problem { place: format!("segment {number}"), reason });
                }
            }
        }
        if let (true, Some(first)) = (cues.is_empty(), problems.first()) {
            return Err(unreadable(file, "a transcript", first));
        }
        let document = MediaDraft {
            title: titled(recording.title.as_deref(), file),
            media_type: "audio".to_owned(),
            content: spoken(&cues),
            modified_at: file.modified,
            transcript: Some(Transcript { language: recording.language, cues }),
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, problems)
    }
}

fn cue(segment: &RawValue) -> Result<Cue, String> {
    let segment: Segment = serde_json::from_str(segment.get()).map_err(|error| {
        // What nests without end is not of another kind, it is of none.
        let deep = json::entry::<Value>(segment.get()).err();
        deep.unwrap_or_else(|| json::reason(&error))
    })?;
    let start_ms = time(&segment.start)
        .ok_or_else(|| format!("`{}` is not a time in seconds", segment.start))?;
    // Some tell only when one begins to speak.
    let end_ms = time(&segment.end).unwrap_or(start_ms).max(start_ms);
    let words: Vec<&str> = segment.text.split_whitespace().collect();
    Ok(Cue { start_ms, end_ms, speaker: segment.speaker, text: words.join(" ") })
}

/// A time in milliseconds, given in seconds or as `00:01:02.500`.
fn time(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => match text.trim().parse() {
            Ok(seconds) => seconds,
            Err(_) => return milliseconds(text.trim()),
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
        glance::tests::glance,
        media::document::tests::{read, refused},
    };

    #[test]
    fn segments_are_read_under_their_many_names() {
        let transcript = json!({ "version": "1.0.0", "segments": [
            { "speaker": "Ada", "startTime": 0.5, "endTime": 0.75, "body": "Rye" },
            { "speaker": "Ada", "start": 1, "end": "2.5", "text": " is \n slow. " },
            { "start_time": "00:01:00.250", "text": "And?" },
        ]});
        let talk = read(&Podcast, "/talk.json", transcript.to_string());
        assert_eq!(talk.content, "Ada: Rye\nis slow.\nAnd?\n");
        let cues = talk.transcript.unwrap().cues;
        let times: Vec<_> = cues.iter().map(|cue| (cue.start_ms, cue.end_ms)).collect();
        assert_eq!(times, [(500, 750), (1_000, 2_500), (60_250, 60_250)]);
        assert_eq!((talk.title.as_str(), talk.media_type.as_str()), ("talk", "audio"));
    }

    #[test]
    fn a_broken_segment_is_named_and_the_rest_goes_in() {
        let text = r#"{"title": "T", "language": "en", "segments": [
            {"start": -1, "text": "x"}, {"text": "y"}, {"start": 1, "text": "fine"}]}"#;
        let reading = Podcast.read(&SourceFile::example("/a.json", text)).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        let places: Vec<_> = reading.problems.iter().map(|found| found.place.as_str()).collect();
        assert_eq!(places, ["segment 1", "segment 2"]);
        assert!(reading.problems[1].reason.contains("start"), "{:?}", reading.problems);
    }

    #[test]
    fn other_json_is_no_transcript() {
        assert_eq!(Podcast.recognise(&glance("a", r#"{"segments":[{"start":1"#)), Fit::Content);
        assert_eq!(Podcast.recognise(&glance("a.json", r#"{"a": 1}"#)), Fit::Maybe);
        assert_eq!(Podcast.recognise(&glance("a.txt", r#"{"a": 1}"#)), Fit::No);
        assert!(refused(&Podcast, "/a.json", "{}").contains("missing field `segments`"));
        let deep = format!(r#"{{"segments":[{}"#, "[".repeat(100_000));
        assert!(refused(&Podcast, "/a.json", deep).contains("as a transcript"));
    }

    #[test]
    fn a_transcript_that_is_nested_too_deeply_says_so() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for text in [
            format!(r#"{{"segments": [{deep}]}}"#),
            format!(r#"{{"segments": [{{"start": 1, "text": {deep}}}]}}"#),
            format!(
                r#"{{"segments": [{{"start": 1, "text": "x", "words": {deep}, "end": {deep}}}]}}"#
            ),
        ] {
            let reason = refused(&Podcast, "/a.json", text);
            assert!(reason.contains("segment 1: it nests more than 127 values"), "{reason}");
        }
    }
}
