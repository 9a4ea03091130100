//! Decoding of the variable-length integers in FTS5 records.

/// Decodes the first SQLite varint of `bytes`: seven bits per byte, most significant first; a ninth
/// byte contributes all eight bits. Returns it and the bytes after it.
pub(crate) fn split_varint(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for length in 1..=9 {
        let (byte, rest) = bytes.split_first()?;
        bytes = rest;
        if length == 9 {
            return Some((value << 8 | u64::from(*byte), bytes));
        }
        value = value << 7 | u64::from(byte & 0x7F);
        if *byte < 0x80 {
            return Some((value, bytes));
        }
    }
    None
}

/// Decodes SQLite varints up to the end of `bytes` or to an incomplete one.
pub(crate) fn decode_varints(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let (value, rest) = split_varint(bytes)?;
        bytes = rest;
        Some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_decode_sqlite_format() {
        let bytes = [0x05, 0x81, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(decode_varints(&bytes).collect::<Vec<_>>(), [5, 128, u64::MAX]);
        assert_eq!(decode_varints(&[0x81]).count(), 0);
    }
}
