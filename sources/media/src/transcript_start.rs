//! The time in a recording at which a part of its text is spoken.
//!
//! A transcript has several times the bytes of its text, and a search asks for one time of each
//! hit. So segments are parsed in order, up to the one of the place, and only the fields that it
//! takes; `transcript` makes values of the same fields.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{from_str, value::RawValue};

use crate::transcript::parse_clock;

/// Maximum length of the text between two segments, such as the name of a speaker, in bytes.
const MAX_GAP_BYTES: usize = 512;
/// Gaps that are looked at first: most segments are on lines of their own.
const USUAL_GAPS: [usize; 3] = [0, 1, 2];

/// Returns the start of the segment in which the byte `at` of `content` is, in milliseconds. The
/// content has the texts of the segments in order, perhaps with other text between them. Returns
/// `None` if the transcription has no segments.
pub(crate) fn start_at(transcription: &str, content: &str, at: usize) -> Option<u64> {
    last_segment(transcription, content, |begin, _| begin <= at).map(|(_, start)| start)
}

/// Returns the byte of `content` at which the segment begins that is spoken at `time`, in milliseconds; for a
/// time before the first segment, that of the first. Returns `None` if the transcription has no segments.
pub(crate) fn place_at(transcription: &str, content: &str, time: u64) -> Option<usize> {
    let mut is_first = true;
    let is_wanted = |_, start| std::mem::take(&mut is_first) || start <= time;
    last_segment(transcription, content, is_wanted).map(|(begin, _)| begin)
}

/// Returns the byte at which a segment begins and its start in milliseconds: of the last one before the
/// first that is not wanted.
fn last_segment(
    transcription: &str,
    content: &str,
    mut is_wanted: impl FnMut(usize, u64) -> bool,
) -> Option<(usize, u64)> {
    let stored: Transcription<'_> = from_str(transcription).ok()?;
    let (mut position, mut last) = (0, None);
    for segment in stored.segments {
        let Ok(segment) = from_str::<Segment<'_>>(segment.get()) else { continue };
        let Some((spoken, seconds)) = segment.text().zip(segment.start()) else { continue };
        let Some(gap) = find_near(content, position, spoken.trim()) else { continue };
        let (begin, start) = (position + gap, to_milliseconds(seconds));
        if !is_wanted(begin, start) {
            break;
        }
        last = Some((begin, start));
        position = begin + spoken.trim().len();
    }
    last
}

/// A stored transcription with the segments as they are written.
#[derive(Deserialize)]
struct Transcription<'t> {
    #[serde(borrow, default)]
    segments: Vec<&'t RawValue>,
}

/// The names under which transcription programs store the text and the start of a segment.
#[derive(Deserialize)]
struct Segment<'t> {
    #[serde(borrow)]
    text: Option<&'t RawValue>,
    #[serde(borrow, rename = "Text")]
    capital_text: Option<&'t RawValue>,
    #[serde(borrow)]
    transcription: Option<&'t RawValue>,
    #[serde(borrow)]
    transcript: Option<&'t RawValue>,
    #[serde(borrow)]
    start: Option<&'t RawValue>,
    #[serde(borrow)]
    start_seconds: Option<&'t RawValue>,
    #[serde(borrow)]
    start_time: Option<&'t RawValue>,
    #[serde(borrow)]
    start_ms: Option<&'t RawValue>,
}

/// A text that is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'t> Segment<'t> {
    fn text(&self) -> Option<Cow<'t, str>> {
        let named = self.text.or(self.capital_text).or(self.transcription).or(self.transcript)?;
        from_str(named.get()).ok().map(|Text(text)| text)
    }

    /// Returns the start in seconds.
    fn start(&self) -> Option<f64> {
        let named = self.start.or(self.start_seconds).or(self.start_time).map(RawValue::get);
        let number = |json: &str| from_str::<f64>(json).ok();
        let time = match named.map(|json| (json, from_str::<Text<'_>>(json))) {
            Some((_, Ok(Text(clock)))) => parse_clock(&clock),
            Some((json, Err(_))) if number(json).is_some() => number(json),
            Some(_) | None => number(self.start_ms?.get()).map(|time| time / 1_000.0),
        };
        time.filter(|time| time.is_finite() && *time >= 0.0)
    }
}

/// Returns the distance from `position` to a text near it. A text that is not near the end of the
/// one before is not that of this segment.
fn find_near(content: &str, position: usize, text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let end = content.floor_char_boundary(position + text.len() + MAX_GAP_BYTES);
    let near = content.get(position..end)?;
    let is_at =
        |gap: &usize| near.as_bytes().get(*gap..).is_some_and(|it| it.starts_with(text.as_bytes()));
    USUAL_GAPS.into_iter().find(is_at).or_else(|| near.find(text))
}

/// Rounds half to even. A time beyond the range is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the value is from 0 to 2^64"
)]
fn to_milliseconds(seconds: f64) -> u64 {
    let milliseconds = (seconds * 1_000.0).round_ties_even();
    if milliseconds < u64::MAX as f64 { milliseconds as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::transcript::{parse_transcript, to_transcript};

    #[test]
    fn offset_in_content_has_start_of_segment() {
        let segment = |start: f64, text: &str| json!({ "start": start, "text": text });
        let segments = [
            segment(0.0, "Rye."),
            segment(1.0, "Nöt here"),
            segment(2.0, "Rye."),
            segment(3.0, "Ö"),
        ];
        let stored = json!({ "segments": segments }).to_string();
        let content = "Ada: Rye.\nBob: Rye.\nÖ\n";
        let start = |word: &str| start_at(&stored, content, content.rfind(word).unwrap());
        assert_eq!((start("Ö"), start("Rye"), start("Bob")), (Some(3_000), Some(2_000), Some(0)));
        assert_eq!(start_at(&stored, content, 5), Some(0));
        assert_eq!(start_at(&stored, content, 0), None);
    }

    #[test]
    fn start_is_that_of_whole_transcript() {
        let segments = json!([
            { "start": 1.5, "end": 2, "text": " one " },
            { "start_seconds": "3.0625", "end_seconds": 4, "Text": "t\"wo" },
            { "start_time": "00:01:15,5", "end_time": "01:16", "transcription": "three" },
            { "start_ms": 90_000, "end_ms": 91_000, "transcript": "four", "speaker": "Ada" },
            { "start": true, "start_ms": 91_000.5, "text": "five" },
            { "start": [4], "text": "six" },
            { "start": -1, "text": "seven" },
            { "start": 93, "text": 8 },
            { "start": 0.0005, "text": "nine" },
            { "start": 0.0015, "text": "ten" },
            { "start": 1e300, "text": "eleven" },
            { "start": "soon", "text": "twelve" },
            "thirteen",
            { "text": "no time" },
        ]);
        let content =
            "One: one\nt\"wo three four five\nsix seven 8 nine ten eleven twelve thirteen";
        let whole = json!({ "language": "en", "segments": segments, "text": "one" }).to_string();
        let cut = whole.get(..whole.len() - 1).unwrap();
        let other = json!({ "segments": { "start": 1, "text": "one" } }).to_string();
        for stored in [whole.as_str(), cut, "one", "[1]", "{}", other.as_str()] {
            for at in 0..content.len() {
                let expected = start_in_values(&parse_transcript(stored), content, at);
                assert_eq!(start_at(stored, content, at), expected, "{at} in {stored}");
            }
        }
        assert_eq!(start_at(&whole, content, content.len()), Some(0));
        assert_eq!(start_at(&whole, content, content.find("nine").unwrap()), Some(0));
        assert_eq!(start_at(&whole, content, content.find("ten").unwrap()), Some(2));
    }

    #[test]
    fn time_has_place_of_its_segment() {
        let segment = |start: f64, text: &str| json!({ "start": start, "text": text });
        let segments = [segment(1.0, "Rye."), segment(2.5, "Ö"), segment(9.0, "Oat")];
        let stored = json!({ "segments": segments }).to_string();
        let content = "Ada: Rye.\nÖ\nOat";
        let place = |time| place_at(&stored, content, time);
        let at = |word: &str| content.find(word);
        assert_eq!((place(0), place(2_499)), (at("Rye"), at("Rye")));
        assert_eq!((place(2_500), place(99_000)), (at("Ö"), at("Oat")));
        assert_eq!(place_at("{}", content, 1), None);
    }

    /// Finds the start by the values of all segments.
    fn start_in_values(spoken: &Value, content: &str, at: usize) -> Option<u64> {
        let (mut position, mut start_ms) = (0, None);
        for cue in to_transcript(spoken).cues {
            let near = &content[position..];
            let Some(gap) = near.find(&cue.text).filter(|_| !cue.text.is_empty()) else { continue };
            if position + gap > at {
                break;
            }
            start_ms = Some(cue.start_ms);
            position += gap + cue.text.len();
        }
        start_ms
    }
}
