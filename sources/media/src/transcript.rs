//! Stored transcripts: JSON with segments, or plain text.
//!
//! Transcription programs name the fields differently. All of them are normalised to `{"language",
//! "text", "segments": [{"start", "end", "speaker", "text"}]}` with times in seconds. Plain text
//! has no segments.

use serde_json::{Map, Value, json};
use vademecum_model::{Cue, Transcript};

/// Parses a stored transcription. Segments without a start time or a text are left out.
pub(crate) fn parse_transcript(stored: &str) -> Value {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(stored) else {
        return json!({ "text": stored, "segments": [] });
    };
    let listed = fields.get("segments").and_then(Value::as_array);
    let segments: Vec<Value> = listed.into_iter().flatten().filter_map(normalize_segment).collect();
    let mut spoken = Map::new();
    for name in ["language", "model"] {
        if let Some(value) = fields.get(name).filter(|value| value.is_string()) {
            spoken.insert(name.to_owned(), value.clone());
        }
    }
    let text = match fields.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => join_texts(&segments),
    };
    spoken.insert("text".to_owned(), text.into());
    spoken.insert("segments".to_owned(), segments.into());
    Value::Object(spoken)
}

/// Returns the number of segments of a parsed transcript.
pub(crate) fn count_segments(spoken: &Value) -> usize {
    spoken.get("segments").and_then(Value::as_array).map_or(0, Vec::len)
}

/// Converts a parsed transcript to a draft, with times in milliseconds.
pub(crate) fn to_transcript(spoken: &Value) -> Transcript {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let time = |segment: &Value, edge: &str| {
        let seconds = segment.get(edge).and_then(Value::as_f64).unwrap_or(0.0);
        // `{:.0}` rounds to an integer; recordings are far shorter than `u64::MAX` milliseconds.
        format!("{:.0}", seconds * 1_000.0).parse().unwrap_or(0)
    };
    let cue = |segment: &Value| Cue {
        start_ms: time(segment, "start"),
        end_ms: time(segment, "end"),
        speaker: text(segment, "speaker"),
        text: text(segment, "text").unwrap_or_default(),
    };
    let segments = spoken.get("segments").and_then(Value::as_array);
    let cues = segments.into_iter().flatten().map(cue).collect();
    Transcript { language: text(spoken, "language"), cues }
}

/// Serializes a transcript as it is stored: JSON with times in seconds.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a recording are far below 2^53")]
pub(crate) fn serialize_transcript(transcript: &Transcript) -> String {
    let seconds = |milliseconds: u64| milliseconds as f64 / 1_000.0;
    let segments: Vec<Value> = transcript
        .cues
        .iter()
        .map(|cue| {
            json!({
                "start": seconds(cue.start_ms),
                "end": seconds(cue.end_ms),
                "speaker": cue.speaker,
                "text": cue.text,
            })
        })
        .collect();
    json!({ "language": transcript.language, "text": join_texts(&segments), "segments": segments })
        .to_string()
}

fn join_texts(segments: &[Value]) -> String {
    let lines: Vec<&str> =
        segments.iter().filter_map(|segment| segment.get("text")?.as_str()).collect();
    lines.join("\n")
}

fn normalize_segment(stored: &Value) -> Option<Value> {
    let any = |names: &[&str]| names.iter().find_map(|name| stored.get(*name));
    let text = any(&["text", "Text", "transcription", "transcript"])?.as_str()?;
    Some(json!({
        "start": read_seconds(stored, "start")?,
        "end": read_seconds(stored, "end").or_else(|| read_seconds(stored, "start"))?,
        "speaker": any(&["speaker", "Speaker", "speaker_label"]).and_then(Value::as_str),
        "text": text.trim(),
    }))
}

/// Reads the `start` or `end` of a segment in seconds, from any known field name and time format.
fn read_seconds(stored: &Value, edge: &str) -> Option<f64> {
    let names = [edge.to_owned(), format!("{edge}_seconds"), format!("{edge}_time")];
    let named = names.iter().find_map(|name| stored.get(name));
    let in_milliseconds = || Some(stored.get(format!("{edge}_ms"))?.as_f64()? / 1_000.0);
    let time = match named {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => parse_clock(text),
        _ => in_milliseconds(),
    };
    time.filter(|time| time.is_finite() && *time >= 0.0)
}

/// Parses seconds, `MM:SS` or `HH:MM:SS` with a decimal point or comma: `75.5`, `01:15.5`,
/// `00:01:15,5`.
pub(crate) fn parse_clock(text: &str) -> Option<f64> {
    let text = text.trim().replace(',', ".");
    text.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_read_under_any_field_name() {
        let stored = json!({ "segments": [
            { "start": 1.5, "end": 2, "text": " one " },
            { "start_seconds": "3.5", "end_seconds": 4, "Text": "two" },
            { "start_time": "00:01:15,5", "end_time": "01:16", "transcription": "three" },
            { "start_ms": 90_000, "end_ms": 91_000, "transcript": "four", "speaker": "Ada" },
            { "text": "no time" },
        ]});
        let spoken = parse_transcript(&stored.to_string());
        let starts: Vec<f64> = spoken["segments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|segment| segment["start"].as_f64().unwrap())
            .collect();
        assert_eq!(starts, [1.5, 3.5, 75.5, 90.0]);
        assert_eq!(spoken["text"], "one\ntwo\nthree\nfour");
        assert_eq!(spoken["segments"][3]["speaker"], "Ada");
    }

    #[test]
    fn plain_text_has_no_segments() {
        let spoken = parse_transcript("Just words.");
        assert_eq!((spoken["text"].as_str(), count_segments(&spoken)), (Some("Just words."), 0));
    }
}
