//! A text in chunks, where none are stored.

use text_splitter::{Characters, ChunkConfig, TextSplitter};

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Where it begins, in characters (code points).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it says.
    pub text: &'a str,
}

/// Cuts a text into chunks of at most `size` characters, at paragraphs,
/// sentences or words where it can; neighbours share up to `overlap`
/// characters. The chunks cover the text without a gap.
pub fn chunks(text: &str, size: usize, overlap: usize) -> Vec<Chunk<'_>> {
    let size = size.max(1);
    let plain = ChunkConfig::new(size).with_trim(false);
    let config = match ChunkConfig::new(size).with_trim(false).with_overlap(overlap.min(size / 2)) {
        Ok(config) => config,
        Err(_) => plain,
    };
    let splitter: TextSplitter<Characters> = TextSplitter::new(config);
    splitter
        .chunk_char_indices(text)
        .map(|piece| Chunk {
            start: piece.char_offset,
            end: piece.char_offset + piece.chunk.chars().count(),
            text: piece.chunk,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_text_and_keep_to_their_size() {
        let text = "Ein Satz über Brot. Noch ein Satz!\n\nEin Absatz mit 東京 und 🙂.\n".repeat(40);
        for (size, overlap) in [(80, 0), (80, 20), (1, 0), (10_000, 50)] {
            let chunks = chunks(&text, size, overlap);
            let mut covered = 0;
            for chunk in &chunks {
                assert!(chunk.start <= covered && chunk.end - chunk.start <= size);
                let slice: String =
                    text.chars().skip(chunk.start).take(chunk.end - chunk.start).collect();
                assert_eq!(slice, chunk.text);
                covered = chunk.end;
            }
            assert_eq!(covered, text.chars().count());
        }
    }
}
