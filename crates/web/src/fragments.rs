//! Reassembly of fragmented WebSocket messages.

use actix_web::web::BytesMut;
use actix_ws::{CloseCode, Item};

/// Buffer for a fragmented message. It stores bytes only, because a fragment may be a single byte.
#[derive(Debug)]
pub(crate) struct FragmentBuffer {
    buffer: BytesMut,
    max_bytes: usize,
}

impl FragmentBuffer {
    /// Creates an empty buffer for messages of at most `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        Self { buffer: BytesMut::new(), max_bytes: longest }
    }

    /// Returns the memory of the buffer, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the length of a fragment, in bytes.
    pub(crate) fn length(piece: &Item) -> usize {
        match piece {
            Item::FirstText(bytes)
            | Item::FirstBinary(bytes)
            | Item::Continue(bytes)
            | Item::Last(bytes) => bytes.len(),
        }
    }

    /// Appends a fragment. Returns the message with its last fragment, or the close reason if the
    /// message is invalid.
    pub(crate) fn append_fragment(
        &mut self,
        piece: Item,
    ) -> Result<Option<String>, (CloseCode, &'static str)> {
        let (bytes, is_last) = match piece {
            Item::FirstBinary(_) => return Err((CloseCode::Unsupported, "send text frames")),
            Item::FirstText(bytes) | Item::Continue(bytes) => (bytes, false),
            Item::Last(bytes) => (bytes, true),
        };
        if self.buffer.len() + bytes.len() > self.max_bytes {
            return Err((CloseCode::Size, "the message is too long: see server.max_message_bytes"));
        }
        self.buffer.extend_from_slice(&bytes);
        if !is_last {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.buffer);
        let text = String::from_utf8(whole.into());
        text.map(Some).map_err(|_| (CloseCode::Invalid, "the message is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::web::Bytes;

    use super::*;

    fn text_bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn fragments_are_joined_to_messages() {
        let mut fragments = FragmentBuffer::new(5);
        for _ in 0..2 {
            assert_eq!(fragments.append_fragment(Item::FirstText(text_bytes("ab"))), Ok(None));
            assert_eq!(fragments.append_fragment(Item::Continue(text_bytes(""))), Ok(None));
            assert_eq!(fragments.append_fragment(Item::Continue(text_bytes("c"))), Ok(None));
            assert_eq!(
                fragments.append_fragment(Item::Last(text_bytes("de"))),
                Ok(Some("abcde".to_owned()))
            );
        }
    }

    #[test]
    fn oversized_or_binary_fragments_are_rejected() {
        let mut fragments = FragmentBuffer::new(2);
        assert_eq!(fragments.append_fragment(Item::FirstText(text_bytes("ab"))), Ok(None));
        assert_eq!(
            fragments.append_fragment(Item::Last(text_bytes("c"))).unwrap_err().0,
            CloseCode::Size
        );
        let mut fragments = FragmentBuffer::new(2);
        let binary = fragments.append_fragment(Item::FirstBinary(text_bytes("a")));
        assert_eq!(binary.unwrap_err().0, CloseCode::Unsupported);
        let broken = fragments.append_fragment(Item::Last(Bytes::from_static(b"\xff")));
        assert_eq!(broken.unwrap_err().0, CloseCode::Invalid);
    }
}
