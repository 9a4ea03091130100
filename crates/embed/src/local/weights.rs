//! The numbers of a model: `model.safetensors`, read tensor by tensor.
//!
//! The header is bounded before it is read, and no tensor is longer than the
//! file: what a hostile file can cost is its own size.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use safetensors::{Dtype, tensor::Metadata};

use super::{error::FolderError, folder::Folder};

const FILE: &str = "model.safetensors";

/// What other formats call the same.
const OTHERS: [&str; 3] = ["pytorch_model.bin", "model.safetensors.index.json", "tf_model.h5"];

/// The longest header, in bytes: that of the largest BERT has 60 KB.
const MAX_HEADER_BYTES: u64 = 1 << 22;

/// How many bytes before the header say how long it is.
const LENGTH_BYTES: u64 = 8;

/// The tensors of a file.
#[derive(Debug)]
pub(super) struct Weights<'a> {
    folder: &'a mut Folder,
    file: File,
    header: Metadata,
    /// Where the numbers begin.
    begin: u64,
    /// What stands before each name where a model was saved as part of another.
    prefix: &'static str,
}

impl<'a> Weights<'a> {
    /// Reads what tensors there are.
    pub(super) fn open(folder: &'a mut Folder) -> Result<Self, FolderError> {
        if !folder.has(FILE)
            && let Some(other) = OTHERS.into_iter().find(|other| folder.has(other))
        {
            return Err(FolderError::NotSafetensors { file: other.to_owned() });
        }
        let (mut file, length) = folder.open(FILE)?;
        let mut said = [0; size_of::<u64>()];
        file.read_exact(&mut said).map_err(unreadable)?;
        let header_bytes = u64::from_le_bytes(said);
        let limit = MAX_HEADER_BYTES.min(length.saturating_sub(LENGTH_BYTES));
        if header_bytes > limit {
            let file = format!("the header of {FILE}");
            return Err(FolderError::TooLong { file, found: header_bytes, limit });
        }
        let mut header = Vec::new();
        (&mut file).take(header_bytes).read_to_end(&mut header).map_err(unreadable)?;
        folder.fingerprint().add(&header);
        let header: Metadata =
            serde_json::from_slice(&header).map_err(|error| malformed(error.to_string()))?;
        let begin = LENGTH_BYTES + header_bytes;
        if begin.saturating_add(header.data_len() as u64) != length {
            return Err(malformed(format!(
                "it has {length} bytes where its header says {} and {begin} before them",
                header.data_len()
            )));
        }
        let whole = header.info("embeddings.word_embeddings.weight").is_some();
        let prefix = if whole { "" } else { "bert." };
        Ok(Self { folder, file, header, begin, prefix })
    }

    /// The numbers of the tensor `name`, row by row.
    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, FolderError> {
        let tensor = format!("{}{name}", self.prefix);
        let file = || FILE.to_owned();
        let Some(about) = self.header.info(&tensor) else {
            return Err(FolderError::NoTensor { file: file(), tensor });
        };
        if about.shape != shape {
            let (found, expected) = (about.shape.clone(), shape.to_owned());
            return Err(FolderError::Shape { file: file(), tensor, found, expected });
        }
        if about.dtype != Dtype::F32 {
            return Err(FolderError::Unsupported {
                file: file(),
                what: format!("numbers of the type {:?} in `{tensor}`", about.dtype),
                supported: "F32 is",
            });
        }
        let mut numbers = vec![0.0; shape.iter().product()];
        let at = self.begin + about.data_offsets.0 as u64;
        self.file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
        let bytes = bytemuck::cast_slice_mut::<f32, u8>(&mut numbers);
        self.file.read_exact(bytes).map_err(unreadable)?;
        self.folder.fingerprint().add(bytes);
        if cfg!(target_endian = "big") {
            for number in &mut numbers {
                *number = f32::from_bits(number.to_bits().swap_bytes());
            }
        }
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(FolderError::NotFinite { file: file(), tensor });
        }
        Ok(numbers)
    }
}

fn unreadable(source: io::Error) -> FolderError {
    FolderError::Unreadable { file: FILE.to_owned(), source }
}

fn malformed(reason: String) -> FolderError {
    FolderError::Malformed { file: FILE.to_owned(), reason }
}
