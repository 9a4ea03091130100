//! Log formatter that writes each line as one flat JSON object.
//!
//! The JSON format of `tracing-subscriber` nests the fields of each span in a list, so searching
//! for a request would require knowing its depth.

use std::fmt;

use serde_json::{Map, Value};
use tracing::{Event, Subscriber};
use tracing_serde::fields::AsMap as _;
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    registry::{LookupSpan, Scope},
};

/// Formatter of `{"time":…,"level":…,"message":…}` with the fields of all enclosing spans. Fields
/// of the event override span fields of the same name.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlatJson;

impl<S, N> FormatEvent<S, N> for FlatJson
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Map::new();
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            let extensions = span.extensions();
            let known = extensions.get::<FormattedFields<N>>();
            let known = known.and_then(|it| serde_json::from_str::<Map<String, Value>>(it).ok());
            fields.extend(known.unwrap_or_default());
        }
        if let Ok(Value::Object(own)) = serde_json::to_value(event.field_map()) {
            fields.extend(own);
        }
        let message = fields.remove("message").unwrap_or_default();
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let level = event.metadata().level();
        write!(writer, r#"{{"time":"{time}","level":"{level}","message":{message}"#)?;
        for (name, value) in fields {
            write!(writer, ",{}:{value}", Value::String(name))?;
        }
        writeln!(writer, "}}")
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    use serde_json::json;
    use tracing_subscriber::fmt::format::JsonFields;

    use super::*;

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn log_line_is_flat_object_with_span_fields() {
        let kept = SharedBuffer::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt()
            .fmt_fields(JsonFields::new())
            .event_format(FlatJson)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(log, || {
            let outer = tracing::error_span!("outer", request.id = "a\"b", tool = "one");
            let _outer = outer.enter();
            let inner = tracing::error_span!("inner", tool = tracing::field::Empty);
            inner.record("tool", "two");
            let _inner = inner.enter();
            tracing::info!(duration_ms = 1.5, hits = 3, "answered\n{}", "\"so\"");
        });
        let written = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written.lines().count(), 1, "{written}");
        let mut line: Value = serde_json::from_str(&written).unwrap();
        assert!(line["time"].take().as_str().unwrap().ends_with('Z'));
        let expected = json!({
            "time": null, "level": "INFO", "message": "answered\n\"so\"",
            "request.id": "a\"b", "tool": "two", "duration_ms": 1.5, "hits": 3,
        });
        assert_eq!(line, expected);
    }
}
