//! `media.transcript`: returns a transcript as text, SRT, `WebVTT` or JSON.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use vademecum_actors as actors;
use vademecum_actors::CallError;
use vademecum_mcp::RequestContext;
use vademecum_model::{ItemId, SourceName};

use super::{
    Tool, ToolOutput, ToolResult, ToolServices,
    input::resolve_item_id,
    transcript_window::{RecordingTime, ReturnedWindow, TimeWindow},
};

/// Reads the transcript of a recording.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaTranscript {
    /// `id` or `uri`.
    #[schemars(description = "Or `uri`.")]
    media_id: ItemId,
    /// Default text.
    #[schemars(extend("description" = "", "default" = "text"))]
    format: Option<TranscriptFormat>,
    /// Default for json.
    #[schemars(description = "In text.")]
    include_timestamps: Option<bool>,
    /// Start of the part to read, in milliseconds or as `h:mm:ss`.
    #[schemars(description = "Milliseconds or h:mm:ss.")]
    from: Option<RecordingTime>,
    /// End of the part to read.
    #[schemars(description = "Exclusive.")]
    to: Option<RecordingTime>,
    /// Middle of the part to read: a minute before to a minute after.
    #[schemars(description = "A minute each way.")]
    around: Option<RecordingTime>,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

/// Format of a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TranscriptFormat {
    /// Plain lines.
    #[default]
    Text,
    /// `SubRip`.
    Srt,
    /// `WebVTT`.
    Vtt,
    /// An object with segments.
    Json,
}

/// Result of `media.transcript`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TranscriptOutput {
    /// Text, or for json an object with `segments`.
    #[schemars(extend("type" = ["string", "object"]))]
    content: Value,
    /// The part that was read, if not the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<ReturnedWindow>,
}

/// A segment of speech; times are in seconds.
#[derive(Debug, Deserialize)]
struct TranscriptSegment {
    start: f64,
    end: f64,
    speaker: Option<String>,
    text: String,
}

impl Tool for MediaTranscript {
    const NAME: &'static str = "media.transcript";
    const TITLE: &'static str = "Read a transcript";
    const DESCRIPTION: &'static str = "Read the transcript of a recording.";
    const HAS_LONG_RESULTS: bool = true;
    type Output = TranscriptOutput;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    fn second_text(output: &Self::Output) -> Option<String> {
        output.window.map(|window| window.remark())
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let window = TimeWindow::new(self.from, self.to, self.around)?;
        let (id, _) = resolve_item_id(SourceName::Media, self.media_id)?;
        let read = actors::ReadRequest {
            source: SourceName::Media,
            id,
            part: Some("transcript".to_owned()),
            options: vademecum_model::RetrievalOptions::default(),
            page: None,
            preferences: call.defaults.preferences,
            with_links: false,
        };
        let mut spoken = services.read_item(call, call.scope.as_ref(), read).await?.content;
        let window = window.cut(&mut spoken)?;
        let format = self.format.unwrap_or_default();
        let content = format_transcript(spoken, format, self.include_timestamps, window.is_some())?;
        let text = match &content {
            Value::String(text) => services.text(|| text.clone()),
            _ => None,
        };
        Ok(ToolOutput { output: TranscriptOutput { content, window }, text, meta: None })
    }
}

/// Formats a transcript. Fails if times are required but the transcript has none; a part of one with
/// times may be silent.
fn format_transcript(
    mut spoken: Value,
    format: TranscriptFormat,
    timed: Option<bool>,
    is_part: bool,
) -> Result<Value, CallError> {
    if format == TranscriptFormat::Json {
        if timed == Some(false) {
            remove_times(&mut spoken);
        }
        return Ok(spoken);
    }
    let segments: Vec<TranscriptSegment> = spoken
        .get("segments")
        .and_then(|segments| serde_json::from_value(segments.clone()).ok())
        .unwrap_or_default();
    let wants_times = format != TranscriptFormat::Text || timed == Some(true);
    if segments.is_empty() {
        if wants_times && !is_part {
            let problem = "this transcript was stored without times; ask for format \"text\" \
                           without include_timestamps";
            return Err(CallError::Refused(problem.to_owned()));
        }
        return Ok(spoken.get("text").cloned().unwrap_or_default());
    }
    Ok(match format {
        TranscriptFormat::Text | TranscriptFormat::Json => to_text(&segments, wants_times),
        TranscriptFormat::Srt => to_srt(&segments),
        TranscriptFormat::Vtt => to_vtt(&segments),
    }
    .into())
}

fn remove_times(spoken: &mut Value) {
    let segments = spoken.get_mut("segments").and_then(Value::as_array_mut);
    for segment in segments.into_iter().flatten() {
        if let Value::Object(fields) = segment {
            fields.remove("start");
            fields.remove("end");
        }
    }
}

fn to_text(segments: &[TranscriptSegment], timed: bool) -> String {
    let mut text = String::new();
    let mut speaker = None;
    for segment in segments {
        if timed {
            push_fmt(&mut text, format_args!("[{}] ", format_timestamp(segment.start, '.')));
        }
        if segment.speaker.is_some() && (timed || segment.speaker != speaker) {
            push_fmt(
                &mut text,
                format_args!("{}: ", segment.speaker.as_deref().unwrap_or_default()),
            );
        }
        speaker.clone_from(&segment.speaker);
        push_fmt(&mut text, format_args!("{}\n", segment.text));
    }
    text
}

fn to_srt(segments: &[TranscriptSegment]) -> String {
    let mut text = String::new();
    for (number, segment) in (1..).zip(segments) {
        let line = match &segment.speaker {
            Some(speaker) => format!("{speaker}: {}", segment.text),
            None => segment.text.clone(),
        };
        let (start, end) =
            (format_timestamp(segment.start, ','), format_timestamp(segment.end, ','));
        push_fmt(
            &mut text,
            format_args!("{number}\n{start} --> {end}\n{}\n\n", remove_blank_lines(&line)),
        );
    }
    text
}

fn to_vtt(segments: &[TranscriptSegment]) -> String {
    let mut text = "WEBVTT\n\n".to_owned();
    for segment in segments {
        let line = escape_markup(&segment.text);
        let line = match &segment.speaker {
            Some(speaker) => format!("<v {}>{line}", escape_markup(speaker)),
            None => line,
        };
        let (start, end) =
            (format_timestamp(segment.start, '.'), format_timestamp(segment.end, '.'));
        push_fmt(&mut text, format_args!("{start} --> {end}\n{}\n\n", remove_blank_lines(&line)));
    }
    text
}

/// Removes blank lines, because a blank line ends a cue.
fn remove_blank_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.join("\n")
}

fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Formats seconds as `HH:MM:SS` and milliseconds, separated by `mark`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float to integer saturates, and times are not negative"
)]
fn format_timestamp(seconds: f64, mark: char) -> String {
    let total = (seconds * 1_000.0).round() as u64;
    let (hours, minutes) = (total / 3_600_000, total / 60_000 % 60);
    let (seconds, milliseconds) = (total / 1_000 % 60, total % 1_000);
    format!("{hours:02}:{minutes:02}:{seconds:02}{mark}{milliseconds:03}")
}

fn push_fmt(text: &mut String, piece: std::fmt::Arguments<'_>) {
    let written = text.write_fmt(piece);
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample_transcript() -> Value {
        json!({ "language": "en", "text": "Hello.\nA < B.", "segments": [
            { "start": 0.5, "end": 2.25, "speaker": "Ada", "text": "Hello." },
            { "start": 3_661.0, "end": 3_662.5, "speaker": "Ada", "text": "A < B." },
        ]})
    }

    fn formatted(format: TranscriptFormat, timed: Option<bool>) -> String {
        format_transcript(sample_transcript(), format, timed, false)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn every_format_has_recorded_times() {
        assert_eq!(
            formatted(TranscriptFormat::Srt, None),
            "1\n00:00:00,500 --> 00:00:02,250\nAda: Hello.\n\n\
             2\n01:01:01,000 --> 01:01:02,500\nAda: A < B.\n\n"
        );
        assert_eq!(
            formatted(TranscriptFormat::Vtt, None),
            "WEBVTT\n\n00:00:00.500 --> 00:00:02.250\n<v Ada>Hello.\n\n\
             01:01:01.000 --> 01:01:02.500\n<v Ada>A &lt; B.\n\n"
        );
        assert_eq!(formatted(TranscriptFormat::Text, None), "Ada: Hello.\nA < B.\n");
        assert_eq!(
            formatted(TranscriptFormat::Text, Some(true)),
            "[00:00:00.500] Ada: Hello.\n[01:01:01.000] Ada: A < B.\n"
        );
        let json =
            format_transcript(sample_transcript(), TranscriptFormat::Json, Some(false), false)
                .unwrap();
        assert_eq!(json["segments"][0], json!({ "speaker": "Ada", "text": "Hello." }));
    }

    #[test]
    fn transcript_without_times_rejects_timed_formats() {
        let plain = json!({ "text": "Just words.", "segments": [] });
        assert_eq!(
            format_transcript(plain.clone(), TranscriptFormat::Text, None, false).unwrap(),
            "Just words."
        );
        for (format, timed) in [
            (TranscriptFormat::Srt, None),
            (TranscriptFormat::Vtt, None),
            (TranscriptFormat::Text, Some(true)),
        ] {
            assert!(matches!(
                format_transcript(plain.clone(), format, timed, false),
                Err(CallError::Refused(_))
            ));
        }
    }
}
