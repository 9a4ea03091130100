//! Compression of the contents of rows, which are mostly text.
//!
//! A compressed content is a frame of zstd. Its first byte differs from those of all encoded values,
//! so that contents of both kinds share a column.

use std::{borrow::Cow, fmt, io};

use zstd::bulk::{Compressor, Decompressor};

/// Compression level. The default of zstd: higher ones take longer and save little.
const LEVEL: i32 = 3;
/// Minimum size of a content that is compressed, in bytes.
const MIN_COMPRESSED_BYTES: usize = 256;
/// The first bytes of every frame.
const MAGIC_NUMBER: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Maximum size of a content that is decompressed, in bytes. A damaged frame can state any size.
const MAX_CONTENT_BYTES: u64 = 1 << 30;

/// Compresses the contents of some rows.
pub(crate) struct RowCompressor(Option<Compressor<'static>>);

impl RowCompressor {
    /// Creates a compressor. If there is no memory for it, contents are stored as they are.
    pub(crate) fn new() -> Self {
        Self(Compressor::new(LEVEL).ok())
    }

    /// Returns the content as it is stored, compressed if that is shorter.
    pub(crate) fn compress<'a>(&mut self, content: &'a [u8]) -> Cow<'a, [u8]> {
        let compressor = self.0.as_mut().filter(|_| content.len() > MIN_COMPRESSED_BYTES);
        let frame = compressor.and_then(|compressor| compressor.compress(content).ok());
        match frame.filter(|frame| frame.len() < content.len()) {
            Some(frame) => frame.into(),
            None => content.into(),
        }
    }
}

/// Reads the contents of rows, compressed or not.
#[derive(Default)]
pub(crate) struct RowDecompressor(Option<Decompressor<'static>>);

impl RowDecompressor {
    /// Returns the content of a stored row. Fails if it is damaged.
    pub(crate) fn decompress(&mut self, stored: Vec<u8>) -> io::Result<Vec<u8>> {
        if !stored.starts_with(&MAGIC_NUMBER) {
            return Ok(stored);
        }
        let size = zstd::zstd_safe::get_frame_content_size(&stored).ok().flatten();
        let size = size.filter(|size| *size <= MAX_CONTENT_BYTES);
        let capacity = size.and_then(|size| usize::try_from(size).ok());
        let capacity = capacity.ok_or_else(|| io::Error::other("a compressed row is damaged"))?;
        let decompressor = match &mut self.0 {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new()?),
        };
        decompressor.decompress(&stored, capacity)
    }
}

impl fmt::Debug for RowCompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RowCompressor").finish_non_exhaustive()
    }
}

impl fmt::Debug for RowDecompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RowDecompressor").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn contents_survive_compression() {
        let text = b"\x03 knead the dough, ".repeat(100);
        let random: Vec<u8> =
            (0..64_u32).flat_map(|number| Sha256::digest(number.to_le_bytes())).collect();
        let (mut compressor, mut decompressor) = (RowCompressor::new(), RowDecompressor::default());
        for (content, is_compressed) in [(&text[..], true), (&text[..100], false), (b"", false)] {
            let stored = compressor.compress(content).into_owned();
            assert_eq!(stored.len() < content.len(), is_compressed);
            assert_eq!(decompressor.decompress(stored).unwrap(), content);
        }
        let stored = compressor.compress(&random).into_owned();
        assert_eq!(decompressor.decompress(stored).unwrap(), random);
    }

    #[test]
    fn damaged_frames_are_refused() {
        let stored = RowCompressor::new().compress(&[3; 5_000]).into_owned();
        let mut decompressor = RowDecompressor::default();
        for end in [4, 6, stored.len() - 1] {
            assert!(decompressor.decompress(stored[..end].to_vec()).is_err(), "{end}");
        }
    }
}
