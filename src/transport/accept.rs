//! Whether a caller takes a stream.

use actix_web::{HttpRequest, http::header};

/// Whether the caller takes a stream. Who says nothing takes everything; JSON
/// is answered whatever the caller says, so that nobody is sent away for this.
pub(crate) fn takes_stream(request: &HttpRequest) -> bool {
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
    fn a_stream_is_taken_unless_something_else_is_asked_for() {
        let takes = |value: &str| {
            takes_stream(
                &TestRequest::get().insert_header((header::ACCEPT, value)).to_http_request(),
            )
        };
        assert!(takes_stream(&TestRequest::get().to_http_request()));
        assert!(takes("*/*") && takes("application/json, Text/Event-Stream;q=0.5"));
        assert!(!takes("application/json") && !takes("text/html"));
    }
}
