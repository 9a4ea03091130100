//! Reading of `model.safetensors`, tensor by tensor.
//!
//! The size of the header is bounded before it is read, and no tensor is larger than the file, so
//! that a malicious file cannot exhaust memory.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use safetensors::{Dtype, tensor::Metadata};

use super::{error::FolderError, model_folder::ModelFolder};

const FILE: &str = "model.safetensors";

/// Weight files of formats that are not supported.
const UNSUPPORTED_FILES: [&str; 3] =
    ["pytorch_model.bin", "model.safetensors.index.json", "tf_model.h5"];

/// Maximum size of the header, in bytes. That of the largest BERT has 60 KB.
const MAX_HEADER_BYTES: u64 = 1 << 22;

/// Size of the length field before the header, in bytes.
const LENGTH_BYTES: u64 = 8;

/// The tensors of a safetensors file.
#[derive(Debug)]
pub(super) struct ModelWeights<'a> {
    folder: &'a mut ModelFolder,
    file: File,
    header: Metadata,
    /// Offset of the tensor data in the file, in bytes.
    data_start: u64,
    /// Prefix of tensor names: `bert.` if the encoder was saved as part of a larger model.
    prefix: &'static str,
}

impl<'a> ModelWeights<'a> {
    /// Opens the file and reads its header. Fails if the sizes in the header do not match the file.
    pub(super) fn open(folder: &'a mut ModelFolder) -> Result<Self, FolderError> {
        if !folder.has_file(FILE)
            && let Some(other) = UNSUPPORTED_FILES.into_iter().find(|other| folder.has_file(other))
        {
            return Err(FolderError::NotSafetensors { file: other.to_owned() });
        }
        let (mut file, length) = folder.open_file(FILE)?;
        let mut length_bytes = [0; size_of::<u64>()];
        file.read_exact(&mut length_bytes).map_err(unreadable)?;
        let header_bytes = u64::from_le_bytes(length_bytes);
        let limit = MAX_HEADER_BYTES.min(length.saturating_sub(LENGTH_BYTES));
        if header_bytes > limit {
            let file = format!("the header of {FILE}");
            return Err(FolderError::TooLong { file, found: header_bytes, limit });
        }
        let mut header = Vec::new();
        (&mut file).take(header_bytes).read_to_end(&mut header).map_err(unreadable)?;
        folder.fingerprint().update(&header);
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
        Ok(Self { folder, file, header, data_start: begin, prefix })
    }

    /// Reads the tensor `name` in row-major order. Fails unless it has this shape and finite 32-bit
    /// numbers.
    pub(super) fn read_tensor(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<f32>, FolderError> {
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
        let at = self.data_start + about.data_offsets.0 as u64;
        self.file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
        let bytes = bytemuck::cast_slice_mut::<f32, u8>(&mut numbers);
        self.file.read_exact(bytes).map_err(unreadable)?;
        self.folder.fingerprint().update(bytes);
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
