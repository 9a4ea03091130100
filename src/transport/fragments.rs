//! A message of a WebSocket that comes in pieces.

use actix_web::web::BytesMut;
use actix_ws::{CloseCode, Item};

/// What has come of a message so far: its bytes, and nothing for each piece. A piece
/// may be a single byte.
#[derive(Debug)]
pub(crate) struct Fragments {
    begun: BytesMut,
    longest: usize,
}

impl Fragments {
    /// Nothing yet; a message has at most so many bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { begun: BytesMut::new(), longest }
    }

    /// Adds a piece; gives back the message with its last one, or why there is none.
    pub(crate) fn add(&mut self, piece: Item) -> Result<Option<String>, (CloseCode, &'static str)> {
        let (bytes, is_last) = match piece {
            Item::FirstBinary(_) => return Err((CloseCode::Unsupported, "send text frames")),
            Item::FirstText(bytes) | Item::Continue(bytes) => (bytes, false),
            Item::Last(bytes) => (bytes, true),
        };
        if self.begun.len() + bytes.len() > self.longest {
            return Err((CloseCode::Size, "the message is too long"));
        }
        self.begun.extend_from_slice(&bytes);
        if !is_last {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.begun);
        let text = String::from_utf8(whole.into());
        text.map(Some).map_err(|_| (CloseCode::Invalid, "the message is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::web::Bytes;

    use super::*;

    fn piece(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn pieces_make_one_message_and_then_the_next() {
        let mut fragments = Fragments::new(5);
        for _ in 0..2 {
            assert_eq!(fragments.add(Item::FirstText(piece("ab"))), Ok(None));
            assert_eq!(fragments.add(Item::Continue(piece(""))), Ok(None));
            assert_eq!(fragments.add(Item::Continue(piece("c"))), Ok(None));
            assert_eq!(fragments.add(Item::Last(piece("de"))), Ok(Some("abcde".to_owned())));
        }
    }

    #[test]
    fn what_is_too_long_or_no_text_says_so() {
        let mut fragments = Fragments::new(2);
        assert_eq!(fragments.add(Item::FirstText(piece("ab"))), Ok(None));
        assert_eq!(fragments.add(Item::Last(piece("c"))).unwrap_err().0, CloseCode::Size);
        let mut fragments = Fragments::new(2);
        let binary = fragments.add(Item::FirstBinary(piece("a")));
        assert_eq!(binary.unwrap_err().0, CloseCode::Unsupported);
        let broken = fragments.add(Item::Last(Bytes::from_static(b"\xff")));
        assert_eq!(broken.unwrap_err().0, CloseCode::Invalid);
    }
}
