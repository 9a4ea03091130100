//! Pieces of text as rows of numbers: what they are, and where they stand.

use super::{
    encoder::EncodeError, error::FolderError, norm::Norm, settings::Bert, weights::Weights,
};

/// The tables of a model.
pub(super) struct Embedding {
    pieces: Vec<f32>,
    /// The places, with what every text has added: that it is the first segment.
    places: Vec<f32>,
    norm: Norm,
    width: usize,
}

impl Embedding {
    /// Reads them.
    pub(super) fn read(weights: &mut Weights<'_>, bert: &Bert) -> Result<Self, FolderError> {
        let width = bert.hidden_size;
        let mut table = |name: &str, rows: usize| {
            weights.tensor(&format!("embeddings.{name}_embeddings.weight"), &[rows, width])
        };
        let pieces = table("word", bert.vocab_size)?;
        let mut places = table("position", bert.max_position_embeddings)?;
        let segments = table("token_type", bert.type_vocab_size)?;
        for place in places.chunks_exact_mut(width) {
            for (number, segment) in place.iter_mut().zip(&segments) {
                *number += segment;
            }
        }
        let norm = Norm::read(weights, "embeddings.LayerNorm", width, bert.layer_norm_eps)?;
        Ok(Self { pieces, places, norm, width })
    }

    /// A row for each piece of each text.
    pub(super) fn rows(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>, EncodeError> {
        let count: usize = texts.iter().map(Vec::len).sum();
        let mut rows = Vec::with_capacity(count * self.width);
        for text in texts {
            let mut places = self.places.chunks_exact(self.width);
            for piece in text {
                let row = self.piece(*piece).ok_or(EncodeError::UnknownPiece(*piece))?;
                let place = places.next().ok_or(EncodeError::TooLong(text.len()))?;
                rows.extend(row.iter().zip(place).map(|(row, place)| row + place));
            }
        }
        self.norm.apply(&mut rows);
        Ok(rows)
    }

    fn piece(&self, piece: u32) -> Option<&[f32]> {
        let at = usize::try_from(piece).ok()?.checked_mul(self.width)?;
        self.pieces.get(at..at.checked_add(self.width)?)
    }
}
