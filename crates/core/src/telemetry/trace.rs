//! W3C Trace Context of a request.

use uuid::Uuid;

/// Position of a request in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    id: u128,
    parent: Option<u64>,
    span: u64,
    sampled: bool,
}

impl TraceContext {
    /// Continues the caller's trace from a `traceparent` value. Returns `None` for invalid values,
    /// which the specification says to ignore.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let version = parse_hex(parts.next()?, 2)?;
        let (id, parent) = (parse_hex(parts.next()?, 32)?, parse_hex(parts.next()?, 16)?);
        let flags = parse_hex(parts.next()?, 2)?;
        // Newer versions may have more fields. Version 255 and all-zero ids are invalid.
        let is_over = parts.next().is_none();
        if version == 0xff || id == 0 || parent == 0 || (version == 0 && !is_over) {
            return None;
        }
        let parent = u64::try_from(parent).ok()?;
        Some(Self { id, parent: Some(parent), span: random_span_id(), sampled: flags & 1 == 1 })
    }

    /// Starts a new, sampled trace.
    pub fn new_root() -> Self {
        Self { id: Uuid::new_v4().as_u128(), parent: None, span: random_span_id(), sampled: true }
    }

    /// Returns the trace id: 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.id)
    }

    /// Returns the span id of this request: 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// Returns the span id of the caller, if the trace was continued.
    pub fn parent_id(&self) -> Option<String> {
        self.parent.map(|parent| format!("{parent:016x}"))
    }

    /// Returns the caller's sampling decision; traces that start here are sampled.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
}

/// Parses exactly `digits` lower-case hexadecimal digits.
fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// Returns a random non-zero span id. It combines both halves of a version 4 UUID, because some of
/// its bits are fixed.
fn random_span_id() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    (high ^ low.rotate_left(32)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn trace_continues_with_new_span() {
        let trace = TraceContext::parse(&format!("00-{ID}-{PARENT}-01")).unwrap();
        assert_eq!((trace.trace_id().as_str(), trace.is_sampled()), (ID, true));
        assert_eq!(trace.parent_id().as_deref(), Some(PARENT));
        assert_ne!(trace.span_id(), PARENT);
        assert!(!TraceContext::parse(&format!("00-{ID}-{PARENT}-02")).unwrap().is_sampled());
        let newer = TraceContext::parse(&format!("cc-{ID}-{PARENT}-01-what-comes-then")).unwrap();
        assert_eq!(newer.trace_id(), ID, "newer versions may say more");
        assert!(TraceContext::parse(&format!("cc-{ID}-{PARENT}-01")).is_some());
    }

    #[test]
    fn invalid_traceparent_is_ignored() {
        let (zeros, none) = ("0".repeat(32), "0".repeat(16));
        for text in [
            String::new(),
            "00".to_owned(),
            format!("ff-{ID}-{PARENT}-01"),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{ID}-{none}-01"),
            format!("00-{ID}-{PARENT}-01-more"),
            format!("00-{ID}-{PARENT}"),
            format!("00-{}-{PARENT}-01", ID.to_uppercase()),
            format!("0-{ID}-{PARENT}-01"),
            format!("00-{ID}-{PARENT}-1"),
            format!("00-+{}-{PARENT}-01", &ID[1..]),
            format!("cc-{ID}-{PARENT}-01."),
            format!(" 00-{ID}-{PARENT}-01"),
        ] {
            assert_eq!(TraceContext::parse(&text), None, "{text:?}");
        }
    }

    #[test]
    fn traces_have_distinct_ids() {
        let (one, other) = (TraceContext::new_root(), TraceContext::new_root());
        assert_ne!((one.trace_id(), one.span_id()), (other.trace_id(), other.span_id()));
        assert_eq!((one.trace_id().len(), one.span_id().len()), (32, 16));
    }
}
