//! Unpacking of one LZ4 block that follows its unpacked size.

/// Maximum unpacked size, in bytes.
const MAX_BYTES: usize = 64 * 1_024 * 1_024;

/// Unpacks a block. The first four bytes are the unpacked size. Fails if the block is damaged or
/// unpacks to more than 64 MiB.
pub(crate) fn unpack_block(packed: &[u8]) -> Result<Vec<u8>, &'static str> {
    const DAMAGED: &str = "the compressed data is damaged";
    let (size, mut rest) = packed.split_first_chunk::<4>().ok_or(DAMAGED)?;
    let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| DAMAGED)?;
    if size > MAX_BYTES {
        return Err("it unpacks to more than 64 MiB");
    }
    let mut unpacked: Vec<u8> = Vec::new();
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        let literals = read_length(usize::from(token >> 4), &mut rest).ok_or(DAMAGED)?;
        let (text, after) = rest.split_at_checked(literals).ok_or(DAMAGED)?;
        unpacked.extend_from_slice(text);
        rest = after;
        if rest.is_empty() || unpacked.len() > size {
            break;
        }
        let (offset, after) = rest.split_first_chunk::<2>().ok_or(DAMAGED)?;
        rest = after;
        let length = read_length(usize::from(token & 15), &mut rest).ok_or(DAMAGED)? + 4;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let start = unpacked.len().checked_sub(offset).filter(|_| offset > 0).ok_or(DAMAGED)?;
        if unpacked.len() + length > size {
            return Err(DAMAGED);
        }
        // A match may overlap the bytes that it adds.
        for at in start..start + length {
            let next = *unpacked.get(at).ok_or(DAMAGED)?;
            unpacked.push(next);
        }
    }
    if unpacked.len() == size { Ok(unpacked) } else { Err(DAMAGED) }
}

/// Reads a length of which `short` are the four bits in the token: bytes of 255 and one less follow
/// if all bits are set.
fn read_length(short: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut length = short;
    if short == 15 {
        loop {
            let (next, after) = rest.split_first()?;
            *rest = after;
            length = length.checked_add(usize::from(*next))?;
            if *next < 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a block that has no matches.
    pub(crate) fn pack_literals(text: &[u8]) -> Vec<u8> {
        let mut packed = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
        packed.push(0xf0);
        let mut rest = text.len() - 15;
        while rest >= 255 {
            packed.push(255);
            rest -= 255;
        }
        packed.push(u8::try_from(rest).unwrap());
        packed.extend_from_slice(text);
        packed
    }

    #[test]
    fn literals_and_matches_are_unpacked() {
        // `ab`, then 8 bytes from 2 back, then `c`.
        let block = [11, 0, 0, 0, 0x24, b'a', b'b', 2, 0, 0x10, b'c'];
        assert_eq!(
            unpack_block(&block).unwrap(),
            b"ababababab".iter().chain(b"c").copied().collect::<Vec<_>>()
        );
        let long = "rye ".repeat(200);
        assert_eq!(unpack_block(&pack_literals(long.as_bytes())).unwrap(), long.as_bytes());
    }

    #[test]
    fn damaged_block_is_rejected() {
        for block in [
            &[][..],
            &[1, 0, 0, 0],
            &[255, 255, 255, 255, 0],
            &[9, 0, 0, 0, 0x10, b'a', 0, 0],
            &[9, 0, 0, 0, 0x10, b'a', 9, 0],
            &[9, 0, 0, 0, 0x1f, b'a', 1, 0, 255, 255, 0],
            &[9, 0, 0, 0, 0xf0, 255],
        ] {
            assert!(unpack_block(block).is_err(), "{block:?}");
        }
    }
}
