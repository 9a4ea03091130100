//! Timestamps: stored as `YYYY-MM-DDTHH:MM:SS.mmmZ`, parsed leniently.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::{
    Date, Duration, OffsetDateTime, PrimitiveDateTime, UtcOffset,
    format_description::well_known::Rfc3339, macros::format_description,
};

/// A point in time in UTC, with millisecond precision.
///
/// The lexicographic order of its text form is the chronological order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(OffsetDateTime);

/// Error for text that is not a date or time.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an ISO 8601 date or time, such as 2026-01-31 or 2026-01-31T08:00:00Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// Returns the current time.
    pub fn now() -> Self {
        Self(OffsetDateTime::now_utc())
    }

    /// Returns the earliest time, at the beginning of the year 0.
    pub fn earliest() -> Self {
        Self(time::macros::datetime!(0000-01-01 00:00 UTC))
    }

    /// Returns the time `age` before now, not before the earliest one.
    pub fn before_now(age: std::time::Duration) -> Self {
        let then =
            OffsetDateTime::now_utc().checked_sub(age.try_into().unwrap_or(time::Duration::MAX));
        then.map_or_else(Self::earliest, |then| Self(then).max(Self::earliest()))
    }

    /// Creates a timestamp from seconds since 1970-01-01, or `None` outside the years 0 to 9999.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked before the cast")]
    pub fn from_unix_seconds(seconds: f64) -> Option<Self> {
        // Beyond year 9999 the text form would not sort chronologically.
        if !(-62_167_219_200.0..253_402_300_800.0).contains(&seconds) {
            return None;
        }
        let moment = OffsetDateTime::from_unix_timestamp_nanos((seconds * 1e9) as i128).ok()?;
        Some(Self(moment))
    }

    /// Returns the milliseconds since 1970-01-01. All values are exact in `f64`.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds up to year 9999 are below 2^53")]
    pub fn as_unix_milliseconds(self) -> f64 {
        (self.0.unix_timestamp() * 1_000 + i64::from(self.0.millisecond())) as f64
    }

    /// Returns the time `duration` earlier.
    #[must_use]
    pub fn minus(self, duration: std::time::Duration) -> Self {
        Self(self.0.saturating_sub(duration.try_into().unwrap_or(Duration::MAX)))
    }

    /// Returns the time `duration` later; `None` after the year 9999.
    pub fn plus(self, duration: std::time::Duration) -> Option<Self> {
        Self::from_unix_seconds(self.as_unix_milliseconds() / 1_000.0 + duration.as_secs_f64())
    }

    /// Parses a date or time, with or without `T`, fraction and offset. A time without an offset is
    /// in UTC.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let trimmed = text.trim();
        Self::parse_datetime(trimmed)
            .or_else(|| parse_date(trimmed).map(|date| Self(date.midnight().assume_utc())))
            .ok_or_else(|| TimestampError(text.to_owned()))
    }

    /// Parses the end of a range: a date without a time means the last millisecond of that day.
    pub fn parse_range_end(text: &str) -> Result<Self, TimestampError> {
        match parse_date(text.trim()) {
            Some(date) => {
                let end = date.midnight().assume_utc() + Duration::days(1);
                Ok(Self(end - Duration::milliseconds(1)))
            }
            None => Self::parse(text),
        }
    }

    fn parse_datetime(text: &str) -> Option<Self> {
        let local = format_description!(
            "[year]-[month]-[day][first [T][ ]][hour]:[minute][optional [:[second][optional [.[subsecond]]]]]"
        );
        OffsetDateTime::parse(&text.replacen(' ', "T", 1), &Rfc3339)
            .ok()
            .or_else(|| Some(PrimitiveDateTime::parse(text, local).ok()?.assume_utc()))
            .map(|moment| Self(moment.to_offset(UtcOffset::UTC)))
            .filter(|moment| (0..=9999).contains(&moment.0.year()))
    }
}

fn parse_date(text: &str) -> Option<Date> {
    Date::parse(text, format_description!("[year]-[month]-[day]")).ok()
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = self.0;
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            moment.year(),
            u8::from(moment.month()),
            moment.day(),
            moment.hour(),
            moment.minute(),
            moment.second(),
            moment.millisecond()
        )
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<std::time::SystemTime> for Timestamp {
    fn from(time: std::time::SystemTime) -> Self {
        Self(time.into())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_formats_parse_to_same_instant() {
        let forms = [
            "2026-01-31T08:30:00.000Z",
            "2026-01-31 08:30:00",
            "2026-01-31T08:30:00",
            "2026-01-31T08:30",
            "2026-01-31T09:30:00+01:00",
            "2026-01-31 09:30:00+01:00",
            " 2026-01-31T08:30:00Z ",
        ];
        for form in forms {
            let moment = Timestamp::parse(form).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(moment.to_string(), "2026-01-31T08:30:00.000Z", "{form}");
        }
    }

    #[test]
    fn range_end_of_date_is_last_millisecond() {
        let end = Timestamp::parse_range_end("2026-02-28").unwrap();
        assert_eq!(end.to_string(), "2026-02-28T23:59:59.999Z");
        let exact = Timestamp::parse_range_end("2026-02-28T10:00:00Z").unwrap();
        assert_eq!(exact.to_string(), "2026-02-28T10:00:00.000Z");
    }

    #[test]
    fn timestamp_rejects_invalid_text() {
        for text in ["", "yesterday", "2026-13-01", "2026-02-30", "10:00"] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
        assert!(Timestamp::from_unix_seconds(f64::NAN).is_none());
        assert!(Timestamp::from_unix_seconds(1e300).is_none());
    }
}
