//! Which trace a request belongs to: W3C Trace Context.

use uuid::Uuid;

/// Where a request stands in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    id: u128,
    parent: Option<u64>,
    span: u64,
    sampled: bool,
}

impl Trace {
    /// Goes on with the trace of a caller, if what the caller says of it can be read.
    /// What cannot is passed over, as the specification wants it.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let version = hex(parts.next()?, 2)?;
        let (id, parent) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
        let flags = hex(parts.next()?, 2)?;
        // Newer versions may say more; 255 is none, and nothing but zeros is nobody.
        let is_over = parts.next().is_none();
        if version == 0xff || id == 0 || parent == 0 || (version == 0 && !is_over) {
            return None;
        }
        let parent = u64::try_from(parent).ok()?;
        Some(Self { id, parent: Some(parent), span: mint_span(), sampled: flags & 1 == 1 })
    }

    /// Begins a trace.
    pub fn begin() -> Self {
        Self { id: Uuid::new_v4().as_u128(), parent: None, span: mint_span(), sampled: true }
    }

    /// The id of the trace: 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.id)
    }

    /// The id of this step of it: 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        format!("{:016x}", self.span)
    }

    /// The id of the step that led here, if any did.
    pub fn parent_id(&self) -> Option<String> {
        self.parent.map(|parent| format!("{parent:016x}"))
    }

    /// Whether the caller keeps the trace; what begins here is kept.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
}

/// A number of so many hexadecimal digits, none of which is a capital.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// Random bits, of which a UUID of version 4 has two fixed ones in its upper half: its
/// halves are folded. Never zero.
fn mint_span() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    (high ^ low.rotate_left(32)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn a_trace_goes_on_with_a_step_of_its_own() {
        let trace = Trace::parse(&format!("00-{ID}-{PARENT}-01")).unwrap();
        assert_eq!((trace.trace_id().as_str(), trace.is_sampled()), (ID, true));
        assert_eq!(trace.parent_id().as_deref(), Some(PARENT));
        assert_ne!(trace.span_id(), PARENT);
        assert!(!Trace::parse(&format!("00-{ID}-{PARENT}-02")).unwrap().is_sampled());
        let newer = Trace::parse(&format!("cc-{ID}-{PARENT}-01-what-comes-then")).unwrap();
        assert_eq!(newer.trace_id(), ID, "newer versions may say more");
        assert!(Trace::parse(&format!("cc-{ID}-{PARENT}-01")).is_some());
    }

    #[test]
    fn what_cannot_be_read_is_passed_over() {
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
            assert_eq!(Trace::parse(&text), None, "{text:?}");
        }
    }

    #[test]
    fn no_two_traces_are_one() {
        let (one, other) = (Trace::begin(), Trace::begin());
        assert_ne!((one.trace_id(), one.span_id()), (other.trace_id(), other.span_id()));
        assert_eq!((one.trace_id().len(), one.span_id().len()), (32, 16));
    }
}
