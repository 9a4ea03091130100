//! Content negotiation of event streams.

use actix_web::{HttpRequest, http::header};

/// Returns `true` if the `Accept` header allows an event stream. Without the header everything is
/// accepted. JSON replies are sent regardless of it.
pub(crate) fn accepts_event_stream(request: &HttpRequest) -> bool {
    let values = request.headers().get_all(header::ACCEPT);
    let types: Vec<&str> = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|kind| kind.split(';').next())
        .map(str::trim)
        .collect();
    let takes = |kind: &str| types.iter().any(|named| named.eq_ignore_ascii_case(kind));
    types.is_empty() || ["*/*", "text/*", "text/event-stream"].into_iter().any(takes)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn event_stream_accepted_unless_header_excludes_it() {
        let takes = |value: &str| {
            accepts_event_stream(
                &TestRequest::get().insert_header((header::ACCEPT, value)).to_http_request(),
            )
        };
        assert!(accepts_event_stream(&TestRequest::get().to_http_request()));
        assert!(takes("*/*") && takes("application/json, Text/Event-Stream;q=0.5"));
        assert!(!takes("application/json") && !takes("text/html"));
    }
}
