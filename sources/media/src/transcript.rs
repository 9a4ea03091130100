//! Transcripts as they are stored: JSON with segments, or plain text.
//!
//! Stored by many programs over the years, the same thing has several names;
//! whatever they are, a transcript is read as
//! `{"language", "text", "segments": [{"start", "end", "speaker", "text"}]}`
//! with times in seconds. Plain text has no segments.

use serde_json::{Map, Value, json};
use vademecum_kit::model::{Cue, Transcript};

/// Reads a stored transcription.
pub(crate) fn read(stored: &str) -> Value {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(stored) else {
        return json!({ "text": stored, "segments": [] });
    };
    let listed = fields.get("segments").and_then(Value::as_array);
    let segments: Vec<Value> = listed.into_iter().flatten().filter_map(segment).collect();
    let mut spoken = Map::new();
    for name in ["language", "model"] {
        if let Some(value) = fields.get(name).filter(|value| value.is_string()) {
            spoken.insert(name.to_owned(), value.clone());
        }
    }
    let text = match fields.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => said(&segments),
    };
    spoken.insert("text".to_owned(), text.into());
    spoken.insert("segments".to_owned(), segments.into());
    Value::Object(spoken)
}

/// How many segments a transcript has.
pub(crate) fn cues(spoken: &Value) -> usize {
    spoken.get("segments").and_then(Value::as_array).map_or(0, Vec::len)
}

/// A transcript that was read, as a draft.
pub(crate) fn draft(spoken: &Value) -> Transcript {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let time = |segment: &Value, edge: &str| {
        let seconds = segment.get(edge).and_then(Value::as_f64).unwrap_or(0.0);
        // A whole number, and no sound is longer than that many milliseconds.
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

/// Writes a transcript as it is stored.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of a recording are far below 2^53")]
pub(crate) fn write(transcript: &Transcript) -> String {
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
    json!({ "language": transcript.language, "text": said(&segments), "segments": segments })
        .to_string()
}

fn said(segments: &[Value]) -> String {
    let lines: Vec<&str> =
        segments.iter().filter_map(|segment| segment.get("text")?.as_str()).collect();
    lines.join("\n")
}

fn segment(stored: &Value) -> Option<Value> {
    let any = |names: &[&str]| names.iter().find_map(|name| stored.get(*name));
    let text = any(&["text", "Text", "transcription", "transcript"])?.as_str()?;
    Some(json!({
        "start": seconds(stored, "start")?,
        "end": seconds(stored, "end").or_else(|| seconds(stored, "start"))?,
        "speaker": any(&["speaker", "Speaker", "speaker_label"]).and_then(Value::as_str),
        "text": text.trim(),
    }))
}

/// A time in seconds, under any of its names and in any of its forms.
fn seconds(stored: &Value, edge: &str) -> Option<f64> {
    let names = [edge.to_owned(), format!("{edge}_seconds"), format!("{edge}_time")];
    let named = names.iter().find_map(|name| stored.get(name));
    let in_milliseconds = || Some(stored.get(format!("{edge}_ms"))?.as_f64()? / 1_000.0);
    let time = match named {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => clock(text),
        _ => in_milliseconds(),
    };
    time.filter(|time| time.is_finite() && *time >= 0.0)
}

/// Reads `75.5`, `01:15.5` and `00:01:15,5` alike.
fn clock(text: &str) -> Option<f64> {
    let text = text.trim().replace(',', ".");
    text.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_read_under_any_of_its_names() {
        let stored = json!({ "segments": [
            { "start": 1.5, "end": 2, "text": " one " },
            { "start_seconds": "3.5", "end_seconds": 4, "Text": "two" },
            { "start_time": "00:01:15,5", "end_time": "01:16", "transcription": "three" },
            { "start_ms": 90_000, "end_ms": 91_000, "transcript": "four", "speaker": "Ada" },
            { "text": "no time" },
        ]});
        let spoken = read(&stored.to_string());
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
    fn plain_text_is_a_transcript_without_segments() {
        let spoken = read("Just words.");
        assert_eq!((spoken["text"].as_str(), cues(&spoken)), (Some("Just words."), 0));
    }
}
