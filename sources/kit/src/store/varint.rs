//! The numbers in FTS5's records.

/// The numbers that a record of FTS5 consists of, in SQLite's own form: seven
/// bits a byte, highest first, the ninth byte whole.
pub(crate) fn varints(mut bytes: &[u8]) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let mut value = 0;
        for length in 1..=9 {
            let (byte, rest) = bytes.split_first()?;
            bytes = rest;
            if length == 9 {
                return Some(value << 8 | u64::from(*byte));
            }
            value = value << 7 | u64::from(byte & 0x7F);
            if *byte < 0x80 {
                return Some(value);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_sqlite_writes_them() {
        let bytes = [0x05, 0x81, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(varints(&bytes).collect::<Vec<_>>(), [5, 128, u64::MAX]);
        assert_eq!(varints(&[0x81]).count(), 0);
    }
}
