//! Reading of `model.safetensors`, tensor by tensor.
//!
//! The size of the header is bounded before it is read, and no tensor is larger than the file, so
//! that a malicious file cannot exhaust memory.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use half::{bf16, f16};
use safetensors::{
    Dtype,
    tensor::{Metadata, TensorInfo},
};

use super::{error::FolderError, model_folder::ModelFolder};

/// Name of the file with the weights.
const FILE: &str = "model.safetensors";

/// Weight files of formats that are not supported.
const UNSUPPORTED_FILES: [&str; 3] =
    ["pytorch_model.bin", "model.safetensors.index.json", "tf_model.h5"];

/// Maximum size of the header, in bytes. That of the largest BERT has 60 KB.
const MAX_HEADER_BYTES: u64 = 1 << 22;

/// Size of the length field before the header, in bytes.
const LENGTH_BYTES: u64 = 8;

/// Number of bytes that are read at once: a multiple of the size of a number.
const PART_BYTES: usize = 1 << 20;

/// Prefixes of tensor names: none, or that of an encoder saved as part of a larger model.
const PREFIXES: [&str; 4] = ["", "bert.", "roberta.", "model."];

/// The tensors of a safetensors file.
#[derive(Debug)]
pub(super) struct ModelWeights<'a> {
    folder: &'a mut ModelFolder,
    /// Name of the file in the folder.
    name: String,
    file: File,
    header: Metadata,
    /// Offset of the tensor data in the file, in bytes.
    data_start: u64,
    /// One of [`PREFIXES`].
    prefix: &'static str,
}

impl<'a> ModelWeights<'a> {
    /// Opens the file in the subfolder `path` of the model and reads its header. `first` is a tensor that
    /// every model of this type has. Fails if the sizes in the header do not match the file.
    pub(super) fn open(
        folder: &'a mut ModelFolder,
        path: &str,
        first: &str,
    ) -> Result<Self, FolderError> {
        let in_path = |file: &str| ModelFolder::join(path, file);
        let name = in_path(FILE);
        let is_there = |other: &&str| folder.has_file(&in_path(other));
        if !folder.has_file(&name)
            && let Some(other) = UNSUPPORTED_FILES.iter().find(|it| is_there(it))
        {
            return Err(FolderError::NotSafetensors { file: in_path(other) });
        }
        let (mut file, length) = folder.open_file(&name)?;
        let unreadable = |source| unreadable(&name, source);
        let mut length_bytes = [0; size_of::<u64>()];
        file.read_exact(&mut length_bytes).map_err(unreadable)?;
        let header_bytes = u64::from_le_bytes(length_bytes);
        let limit = MAX_HEADER_BYTES.min(length.saturating_sub(LENGTH_BYTES));
        if header_bytes > limit {
            let file = format!("the header of {name}");
            return Err(FolderError::TooLong { file, found: header_bytes, limit });
        }
        let mut header = Vec::new();
        (&mut file).take(header_bytes).read_to_end(&mut header).map_err(unreadable)?;
        folder.fingerprint().update(&header);
        let malformed = |reason: String| FolderError::Malformed { file: name.clone(), reason };
        let header: Metadata =
            serde_json::from_slice(&header).map_err(|error| malformed(error.to_string()))?;
        let data_start = LENGTH_BYTES + header_bytes;
        if data_start.saturating_add(header.data_len() as u64) != length {
            return Err(malformed(format!(
                "it has {length} bytes where its header says {} and {data_start} before them",
                header.data_len()
            )));
        }
        let has_first = |prefix: &&str| header.info(&format!("{prefix}{first}")).is_some();
        let prefix = PREFIXES.into_iter().find(has_first).unwrap_or_default();
        Ok(Self { folder, name, file, header, data_start, prefix })
    }

    /// Returns the shape of a tensor, or `None` if there is no such tensor.
    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        let info = self.header.info(&format!("{}{name}", self.prefix))?;
        Some(&info.shape)
    }

    /// Reads the tensor `name` in row-major order. Fails unless it has this shape and finite numbers of 16,
    /// 32 or 64 bits, which are converted to 32 bits.
    pub(super) fn read_tensor(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<f32>, FolderError> {
        let info = self.find(name, shape)?;
        let mut numbers = Vec::with_capacity(shape.iter().product());
        let numbers_of: fn(&[u8], &mut Vec<f32>) = match info.dtype {
            Dtype::F32 => |part, all| all.extend(chunks(part).map(f32::from_le_bytes)),
            Dtype::F16 => {
                |part, all| all.extend(chunks(part).map(|it| f16::from_le_bytes(it).to_f32()))
            }
            Dtype::BF16 => {
                |part, all| all.extend(chunks(part).map(|it| bf16::from_le_bytes(it).to_f32()))
            }
            #[expect(clippy::cast_possible_truncation, reason = "the model computes in 32 bits")]
            Dtype::F64 => {
                |part, all| all.extend(chunks(part).map(|it| f64::from_le_bytes(it) as f32))
            }
            other => return Err(self.unsupported(name, other, "F32, F16, BF16 and F64 are")),
        };
        self.read_parts(&info, |part| numbers_of(part, &mut numbers))?;
        if !numbers.iter().all(|number| number.is_finite()) {
            let (file, tensor) = (self.name.clone(), self.full_name(name));
            return Err(FolderError::NotFinite { file, tensor });
        }
        Ok(numbers)
    }

    /// Reads the tensor `<name>.bias`, or returns zeros if the layer has none.
    pub(super) fn read_bias(
        &mut self,
        name: &str,
        width: usize,
        has_bias: bool,
    ) -> Result<Vec<f32>, FolderError> {
        if has_bias {
            return self.read_tensor(&format!("{name}.bias"), &[width]);
        }
        Ok(vec![0.0; width])
    }

    /// Reads a tensor of integers of 32 or 64 bits. Negative ones are converted to the largest value, which
    /// is no row of a table.
    pub(super) fn read_integers(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<u32>, FolderError> {
        let info = self.find(name, shape)?;
        let to_row = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let mut numbers = Vec::with_capacity(shape.iter().product());
        match info.dtype {
            Dtype::I64 => self.read_parts(&info, |part| {
                numbers.extend(chunks(part).map(|it| to_row(i64::from_le_bytes(it))));
            })?,
            Dtype::I32 => self.read_parts(&info, |part| {
                numbers.extend(chunks(part).map(|it| to_row(i32::from_le_bytes(it).into())));
            })?,
            other => return Err(self.unsupported(name, other, "I64 and I32 are")),
        }
        Ok(numbers)
    }

    /// Returns what the header says of a tensor, which must have this shape.
    fn find(&self, name: &str, shape: &[usize]) -> Result<TensorInfo, FolderError> {
        let tensor = self.full_name(name);
        let Some(info) = self.header.info(&tensor) else {
            return Err(FolderError::NoTensor { file: self.name.clone(), tensor });
        };
        if info.shape != shape {
            let (found, expected) = (info.shape.clone(), shape.to_owned());
            return Err(FolderError::Shape { file: self.name.clone(), tensor, found, expected });
        }
        Ok(info.clone())
    }

    /// Calls `visit` for the bytes of a tensor in parts of whole numbers, and adds them to the fingerprint.
    fn read_parts(
        &mut self,
        info: &TensorInfo,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), FolderError> {
        let unreadable = |source| unreadable(&self.name, source);
        let (begin, end) = info.data_offsets;
        let at = self.data_start + begin as u64;
        self.file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
        let mut part = vec![0; PART_BYTES.min(end - begin)];
        for start in (begin..end).step_by(PART_BYTES) {
            let length = PART_BYTES.min(end - start);
            let part = part.get_mut(..length).unwrap_or_default();
            self.file.read_exact(part).map_err(unreadable)?;
            self.folder.fingerprint().update(part);
            visit(part);
        }
        Ok(())
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn unsupported(&self, name: &str, dtype: Dtype, supported: &'static str) -> FolderError {
        let what = format!("numbers of the type {dtype:?} in `{}`", self.full_name(name));
        FolderError::Unsupported { file: self.name.clone(), what, supported }
    }
}

/// Splits bytes into numbers of `N` bytes.
fn chunks<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks().0.iter().copied()
}

fn unreadable(name: &str, source: io::Error) -> FolderError {
    FolderError::Unreadable { file: name.to_owned(), source }
}
