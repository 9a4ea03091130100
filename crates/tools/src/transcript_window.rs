//! A part of a transcript by time.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Value, json};
use vademecum_actors::CallError;

use super::display::push_display;
use crate::display::format_clock;

/// Time before and after `around` that is read, in milliseconds.
const AROUND_MS: u64 = 60_000;

/// A time in a recording, in milliseconds. Text may be `h:mm:ss` or `m:ss`, with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordingTime(u64);

impl RecordingTime {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(milliseconds) = text.parse() {
            return Some(Self(milliseconds));
        }
        let (clock, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
        let parts: Vec<&str> = clock.split(':').collect();
        let is_number = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit());
        if !(2..=3).contains(&parts.len()) || !is_number(fraction) {
            return None;
        }
        let seconds = parts.iter().try_fold(0_u64, |sum, part| {
            let number: u64 = part.parse().ok()?;
            sum.checked_mul(60)?.checked_add(number)
        })?;
        let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
        Some(Self(seconds.checked_mul(1_000)?.checked_add(thousandths.parse().ok()?)?))
    }
}

impl<'de> Deserialize<'de> for RecordingTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let time = match &value {
            Value::Number(number) => number.as_u64().map(Self),
            Value::String(text) => Self::parse(text),
            _ => None,
        };
        time.ok_or_else(|| {
            D::Error::custom(format!("expected milliseconds or h:mm:ss, got {value}"))
        })
    }
}

impl JsonSchema for RecordingTime {
    fn schema_name() -> Cow<'static, str> {
        "RecordingTime".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// The requested part of a transcript. Without bounds, it is the whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeWindow {
    from: Option<u64>,
    to: Option<u64>,
}

/// The part of a transcript that was returned, and the number of segments that were not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ReturnedWindow {
    /// Start, in milliseconds.
    from_ms: u64,
    /// End, in milliseconds, exclusive.
    to_ms: u64,
    /// End of the last segment of the whole transcript, in milliseconds.
    total_ms: u64,
    /// Number of segments before the part.
    omitted_before: usize,
    /// Number of segments after the part.
    omitted_after: usize,
    /// `from` of the next part, in milliseconds, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_from: Option<u64>,
}

impl TimeWindow {
    /// Creates a window from the arguments of a call.
    pub(super) fn new(
        from: Option<RecordingTime>,
        to: Option<RecordingTime>,
        around: Option<RecordingTime>,
    ) -> Result<Self, CallError> {
        let invalid = |problem: &str| Err(CallError::Invalid(problem.to_owned()));
        match (from, to, around) {
            (None, None, Some(RecordingTime(middle))) => Ok(Self {
                from: Some(middle.saturating_sub(AROUND_MS)),
                to: Some(middle.saturating_add(AROUND_MS)),
            }),
            (_, _, Some(_)) => invalid("around: pass either around, or from and to"),
            (Some(from), Some(to), None) if to <= from => invalid("to: must be later than from"),
            (from, to, None) => Ok(Self { from: from.map(|it| it.0), to: to.map(|it| it.0) }),
        }
    }

    /// Keeps the segments of a transcript that overlap the window, and their text. Returns `None` for
    /// the whole. Fails if the transcript has no times, or ends before the window.
    pub(super) fn cut(self, spoken: &mut Value) -> Result<Option<ReturnedWindow>, CallError> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(None);
        }
        let times = segment_times(spoken);
        let Some(total_ms) = times.iter().map(|(_, end)| *end).max() else {
            let problem = "this transcript was stored without times; leave out from, to and around";
            return Err(CallError::Refused(problem.to_owned()));
        };
        let (from_ms, to_ms) = (self.from.unwrap_or(0), self.to.unwrap_or(total_ms));
        if from_ms > total_ms {
            let (from, end) = (format_clock(from_ms), format_clock(total_ms));
            let problem =
                format!("from: {from} is after the end of this transcript, which is {end}");
            return Err(CallError::Refused(problem));
        }
        let is_before = |&(start, end): &(u64, u64)| end <= from_ms && start < from_ms;
        let is_after =
            |&(start, _): &(u64, u64)| start > to_ms || (start == to_ms && self.to.is_some());
        let kept: Vec<bool> =
            times.iter().map(|times| !is_before(times) && !is_after(times)).collect();
        let next = times.iter().filter(|times| is_after(times)).map(|(start, _)| *start).min();
        keep_segments(spoken, &kept);
        Ok(Some(ReturnedWindow {
            from_ms,
            to_ms,
            total_ms,
            omitted_before: times.iter().filter(|times| is_before(times)).count(),
            omitted_after: times.iter().filter(|times| is_after(times)).count(),
            next_from: next,
        }))
    }
}

impl ReturnedWindow {
    /// Returns a sentence that says what was cut and how to read on.
    pub(super) fn remark(&self) -> String {
        let mut text = format!(
            "[{} to {} of {}; {} segments before, {} after",
            format_clock(self.from_ms),
            format_clock(self.to_ms.min(self.total_ms)),
            format_clock(self.total_ms),
            self.omitted_before,
            self.omitted_after
        );
        if let Some(next) = self.next_from {
            let width = self.to_ms.saturating_sub(self.from_ms);
            let next = json!({ "from": next, "to": next.saturating_add(width) });
            push_display(&mut text, format_args!("; read on with {next}"));
        }
        text.push(']');
        text
    }
}

/// Returns the start and the end of each segment, in milliseconds.
fn segment_times(spoken: &Value) -> Vec<(u64, u64)> {
    let milliseconds = |segment: &Value, edge: &str| {
        let seconds = segment.get(edge).and_then(Value::as_f64).unwrap_or(0.0);
        // `{:.0}` rounds to an integer.
        format!("{:.0}", seconds * 1_000.0).parse().unwrap_or(0)
    };
    let segments = spoken.get("segments").and_then(Value::as_array).into_iter().flatten();
    segments.map(|it| (milliseconds(it, "start"), milliseconds(it, "end"))).collect()
}

/// Removes the segments that are not kept, and makes the text that of the others.
fn keep_segments(spoken: &mut Value, kept: &[bool]) {
    let Some(segments) = spoken.get_mut("segments").and_then(Value::as_array_mut) else { return };
    let mut kept = kept.iter();
    segments.retain(|_| kept.next().copied().unwrap_or(false));
    let texts: Vec<&str> =
        segments.iter().filter_map(|segment| segment.get("text")?.as_str()).collect();
    spoken["text"] = texts.join("\n").into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_milliseconds_or_clock() {
        for (text, expected) in [
            ("90000", Some(90_000)),
            ("1:30", Some(90_000)),
            ("1:01:01.5", Some(3_661_500)),
            ("0:00:02,25", Some(2_250)),
            ("soon", None),
            ("1:2:3:4", None),
            ("1:-2", None),
            ("99999999999999999999:00", None),
        ] {
            assert_eq!(RecordingTime::parse(text).map(|it| it.0), expected, "{text}");
        }
    }

    /// Returns a transcript of six segments, one a minute, each of 30 seconds.
    fn six_minutes() -> Value {
        let segment = |number: u32| {
            let start = f64::from(number) * 60.0;
            json!({ "start": start, "end": start + 30.0, "text": number.to_string() })
        };
        json!({ "text": "…", "segments": (0..6).map(segment).collect::<Vec<_>>() })
    }

    fn cut(from: Option<u64>, to: Option<u64>) -> (String, ReturnedWindow) {
        let mut spoken = six_minutes();
        let window = TimeWindow { from, to }.cut(&mut spoken).unwrap().unwrap();
        (spoken["text"].as_str().unwrap().replace('\n', " "), window)
    }

    #[test]
    fn window_keeps_overlapping_segments_and_counts_others() {
        let (text, window) = cut(Some(80_000), Some(180_000));
        assert_eq!(text, "1 2");
        assert_eq!((window.omitted_before, window.omitted_after), (1, 3));
        assert_eq!(window.next_from, Some(180_000));
        assert_eq!(cut(Some(90_000), None).0, "2 3 4 5");
        assert_eq!(cut(None, Some(60_000)).0, "0");
    }

    #[test]
    fn parts_read_one_after_another_miss_nothing() {
        let (mut from, mut read) = (0, Vec::new());
        loop {
            let (text, window) = cut(Some(from), Some(from + 100_000));
            read.push(text);
            match window.next_from {
                Some(next) => from = next,
                None => break,
            }
        }
        assert_eq!(read.join(" "), "0 1 2 3 4 5");
    }

    #[test]
    fn window_is_refused_beyond_end_and_without_times() {
        let beyond = TimeWindow { from: Some(400_000), to: None }.cut(&mut six_minutes());
        assert!(beyond.unwrap_err().to_string().contains("0:05:30"));
        let mut plain = json!({ "text": "Words.", "segments": [] });
        assert!(TimeWindow { from: Some(0), to: None }.cut(&mut plain).is_err());
        let (time, at) = (Some(RecordingTime(1)), Some(RecordingTime(2)));
        assert!(TimeWindow::new(time, None, at).is_err());
        assert!(TimeWindow::new(at, time, None).is_err());
    }
}
