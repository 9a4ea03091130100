//! A static model: the vector of a text is the mean of the vectors of its tokens, which stand in a table.
//!
//! Such tables are made from a model by computing the vector of each token once. They are read in the forms
//! of model2vec and of the module `StaticEmbedding` of sentence-transformers.

use super::{
    error::{EncodeError, FolderError},
    model_folder::ModelFolder,
    settings::StaticFiles,
    tokenizer::Tokenizer,
    weights::ModelWeights,
};

/// Names of the optional tensors of model2vec: the row of each token, and its weight.
const ROWS: &str = "mapping";
const TOKEN_WEIGHTS: &str = "weights";

/// A table with a vector for each token.
pub(super) struct StaticTable {
    table: Vec<f32>,
    width: usize,
    /// The row of each token; none if it is the number of the token.
    rows: Option<Vec<u32>>,
    /// The weight of each token; none if all have the same.
    weights: Option<Vec<f32>>,
}

impl StaticTable {
    /// Reads the table. Fails if tokens of the tokenizer have no vector.
    pub(super) fn read(
        folder: &mut ModelFolder,
        files: &StaticFiles,
        tokenizer: &Tokenizer,
    ) -> Result<Self, FolderError> {
        let tokens = tokenizer.vocabulary_size();
        let mut weights = ModelWeights::open(folder, &files.path, files.table)?;
        let shape = weights.shape(files.table).unwrap_or_default().to_vec();
        let count = if weights.shape(ROWS).is_some() { shape.first().copied() } else { None };
        let width = shape.get(1).copied().unwrap_or_default().max(1);
        let expected = [count.unwrap_or(tokens), width];
        let table = weights.read_tensor(files.table, &expected)?;
        let has = |weights: &ModelWeights<'_>, name| weights.shape(name).is_some();
        let rows =
            has(&weights, ROWS).then(|| weights.read_integers(ROWS, &[tokens])).transpose()?;
        let token_weights = has(&weights, TOKEN_WEIGHTS)
            .then(|| weights.read_tensor(TOKEN_WEIGHTS, &[tokens]))
            .transpose()?;
        Ok(Self { table, width, rows, weights: token_weights })
    }

    /// Returns the length of a vector.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the mean of the vectors of each text's tokens. The vectors are not normalised.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EncodeError> {
        texts.iter().map(|tokens| self.mean(tokens)).collect()
    }

    fn mean(&self, tokens: &[u32]) -> Result<Vec<f32>, EncodeError> {
        if tokens.is_empty() {
            return Err(EncodeError::NoTokens);
        }
        let mut vector = vec![0.0; self.width];
        for token in tokens {
            let (row, weight) = self.find(*token).ok_or(EncodeError::UnknownToken(*token))?;
            for (sum, number) in vector.iter_mut().zip(row) {
                *sum += weight * number;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a text has thousands of tokens at most")]
        let share = (tokens.len() as f32).recip();
        for sum in &mut vector {
            *sum *= share;
        }
        Ok(vector)
    }

    /// Returns the row and the weight of a token.
    fn find(&self, token: u32) -> Option<(&[f32], f32)> {
        let token = usize::try_from(token).ok()?;
        let row = match &self.rows {
            Some(rows) => usize::try_from(*rows.get(token)?).ok()?,
            None => token,
        };
        let weight = match &self.weights {
            Some(weights) => *weights.get(token)?,
            None => 1.0,
        };
        let start = row.checked_mul(self.width)?;
        Some((self.table.get(start..start.checked_add(self.width)?)?, weight))
    }
}
