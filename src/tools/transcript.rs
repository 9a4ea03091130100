//! `media.transcript`: what is said when, in four forms.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vademecum_kit::model::{ItemId, SourceName};

use super::{Contract, Replied, Toolbox, input::locate};
use crate::actors::{self, CallError};
use vademecum_mcp::Call;

/// Reads the transcript of a recording.
#[derive(Debug)]
pub struct MediaTranscript;

/// Which transcript is read, and in which form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptInput {
    /// `id` or `uri`.
    media_id: ItemId,
    /// Default text.
    format: Option<Format>,
    /// Default for json; srt and vtt have them.
    include_timestamps: Option<bool>,
}

/// The form of a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// Lines.
    #[default]
    Text,
    /// `SubRip`.
    Srt,
    /// `WebVTT`.
    Vtt,
    /// An object with segments.
    Json,
}

/// A transcript.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TranscriptOutput {
    /// Text, or for json an object with `segments`.
    #[schemars(extend("type" = ["string", "object"]))]
    content: Value,
}

/// One thing said.
#[derive(Debug, Deserialize)]
struct Segment {
    start: f64,
    end: f64,
    speaker: Option<String>,
    text: String,
}

impl Contract for MediaTranscript {
    const NAME: &'static str = "media.transcript";
    const TITLE: &'static str = "Read a transcript";
    const DESCRIPTION: &'static str = "Read what is said in a recording.";
    type Input = TranscriptInput;
    type Output = TranscriptOutput;

    async fn call(
        toolbox: &Toolbox,
        input: TranscriptInput,
        call: &Call,
    ) -> Result<Replied<TranscriptOutput>, CallError> {
        let (id, _) = locate(SourceName::Media, input.media_id)?;
        let read = actors::Read {
            source: SourceName::Media,
            id,
            part: Some("transcript".to_owned()),
            options: vademecum_kit::model::RetrievalOptions::default(),
            page: None,
            preferences: call.defaults.preferences,
        };
        let spoken = toolbox.read_item(call, call.scope.as_ref(), read).await?.content;
        let format = input.format.unwrap_or_default();
        let content = write(spoken, format, input.include_timestamps)?;
        let text = match &content {
            Value::String(text) => toolbox.text(|| text.clone()),
            _ => None,
        };
        Ok(Replied { output: TranscriptOutput { content }, text, meta: None })
    }
}

/// Writes a transcript in the form that was asked for.
fn write(mut spoken: Value, format: Format, timed: Option<bool>) -> Result<Value, CallError> {
    if format == Format::Json {
        if timed == Some(false) {
            forget_times(&mut spoken);
        }
        return Ok(spoken);
    }
    let segments: Vec<Segment> = spoken
        .get("segments")
        .and_then(|segments| serde_json::from_value(segments.clone()).ok())
        .unwrap_or_default();
    let wants_times = format != Format::Text || timed == Some(true);
    if segments.is_empty() {
        if wants_times {
            let problem = "this transcript was stored without times; ask for format \"text\" \
                           without include_timestamps";
            return Err(CallError::Refused(problem.to_owned()));
        }
        return Ok(spoken.get("text").cloned().unwrap_or_default());
    }
    Ok(match format {
        Format::Text | Format::Json => lines(&segments, wants_times),
        Format::Srt => srt(&segments),
        Format::Vtt => vtt(&segments),
    }
    .into())
}

fn forget_times(spoken: &mut Value) {
    let segments = spoken.get_mut("segments").and_then(Value::as_array_mut);
    for segment in segments.into_iter().flatten() {
        if let Value::Object(fields) = segment {
            fields.remove("start");
            fields.remove("end");
        }
    }
}

fn lines(segments: &[Segment], timed: bool) -> String {
    let mut text = String::new();
    let mut speaker = None;
    for segment in segments {
        if timed {
            push(&mut text, format_args!("[{}] ", clock(segment.start, '.')));
        }
        if segment.speaker.is_some() && (timed || segment.speaker != speaker) {
            push(&mut text, format_args!("{}: ", segment.speaker.as_deref().unwrap_or_default()));
        }
        speaker.clone_from(&segment.speaker);
        push(&mut text, format_args!("{}\n", segment.text));
    }
    text
}

fn srt(segments: &[Segment]) -> String {
    let mut text = String::new();
    for (number, segment) in (1..).zip(segments) {
        let said = match &segment.speaker {
            Some(speaker) => format!("{speaker}: {}", segment.text),
            None => segment.text.clone(),
        };
        let (start, end) = (clock(segment.start, ','), clock(segment.end, ','));
        push(&mut text, format_args!("{number}\n{start} --> {end}\n{}\n\n", one_block(&said)));
    }
    text
}

fn vtt(segments: &[Segment]) -> String {
    let mut text = "WEBVTT\n\n".to_owned();
    for segment in segments {
        let said = escape(&segment.text);
        let said = match &segment.speaker {
            Some(speaker) => format!("<v {}>{said}", escape(speaker)),
            None => said,
        };
        let (start, end) = (clock(segment.start, '.'), clock(segment.end, '.'));
        push(&mut text, format_args!("{start} --> {end}\n{}\n\n", one_block(&said)));
    }
    text
}

/// An empty line would end the cue.
fn one_block(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.join("\n")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// `HH:MM:SS` and milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float to integer saturates, and times are not negative"
)]
fn clock(seconds: f64, mark: char) -> String {
    let total = (seconds * 1_000.0).round() as u64;
    let (hours, minutes) = (total / 3_600_000, total / 60_000 % 60);
    let (seconds, milliseconds) = (total / 1_000 % 60, total % 1_000);
    format!("{hours:02}:{minutes:02}:{seconds:02}{mark}{milliseconds:03}")
}

fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    let written = text.write_fmt(piece);
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spoken() -> Value {
        json!({ "language": "en", "text": "Hello.\nA < B.", "segments": [
            { "start": 0.5, "end": 2.25, "speaker": "Ada", "text": "Hello." },
            { "start": 3_661.0, "end": 3_662.5, "speaker": "Ada", "text": "A < B." },
        ]})
    }

    fn form(format: Format, timed: Option<bool>) -> String {
        write(spoken(), format, timed).unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn every_form_has_the_real_times() {
        assert_eq!(
            form(Format::Srt, None),
            "1\n00:00:00,500 --> 00:00:02,250\nAda: Hello.\n\n\
             2\n01:01:01,000 --> 01:01:02,500\nAda: A < B.\n\n"
        );
        assert_eq!(
            form(Format::Vtt, None),
            "WEBVTT\n\n00:00:00.500 --> 00:00:02.250\n<v Ada>Hello.\n\n\
             01:01:01.000 --> 01:01:02.500\n<v Ada>A &lt; B.\n\n"
        );
        assert_eq!(form(Format::Text, None), "Ada: Hello.\nA < B.\n");
        assert_eq!(
            form(Format::Text, Some(true)),
            "[00:00:00.500] Ada: Hello.\n[01:01:01.000] Ada: A < B.\n"
        );
        let json = write(spoken(), Format::Json, Some(false)).unwrap();
        assert_eq!(json["segments"][0], json!({ "speaker": "Ada", "text": "Hello." }));
    }

    #[test]
    fn times_that_are_not_there_are_not_made_up() {
        let plain = json!({ "text": "Just words.", "segments": [] });
        assert_eq!(write(plain.clone(), Format::Text, None).unwrap(), "Just words.");
        for (format, timed) in
            [(Format::Srt, None), (Format::Vtt, None), (Format::Text, Some(true))]
        {
            assert!(matches!(write(plain.clone(), format, timed), Err(CallError::Refused(_))));
        }
    }
}
