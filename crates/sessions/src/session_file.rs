//! A file of a program's sessions in memory, and the lines of it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use vademecum_formats::sqlite_image::{ImageError, log_of};
use vademecum_model::Timestamp;

/// Maximum length of a line that is parsed, in bytes. Longer ones hold pictures or copies.
const MAX_LINE_BYTES: usize = 16 * 1_024 * 1_024;
/// Maximum size of an unpacked file, in bytes.
const MAX_UNPACKED_BYTES: u64 = 256 * 1_024 * 1_024;
/// Maximum size of a file beside a session, in bytes.
const MAX_NEIGHBOUR_BYTES: usize = 4 * 1_024 * 1_024;
/// First bytes of a file packed with Zstandard.
const ZSTD_SIGNATURE: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Reason why a file holds no sessions.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is not JSON.
    #[error("it is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It cannot be unpacked.
    #[error("it cannot be unpacked: {0}")]
    Unpack(#[source] std::io::Error),
    /// It is larger than 256 MiB when unpacked.
    #[error("it is larger than 256 MiB when unpacked")]
    TooLarge,
    /// It is not a database that can be read.
    #[error(transparent)]
    Database(#[from] ImageError),
    /// Its lines do not only follow those that were read before: the whole file has to be read.
    #[error("its earlier lines were changed")]
    Rewritten,
    /// It has another form.
    #[error("it has none of the known forms of this program")]
    UnknownForm,
}

impl From<rusqlite::Error> for SessionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

/// A file of sessions, and the files beside it.
#[expect(missing_debug_implementations, reason = "its content is a conversation")]
pub struct SessionFile<'a> {
    /// Absolute path.
    pub path: &'a Path,
    /// Content.
    pub bytes: &'a [u8],
    /// Modification time, if it is known.
    pub modified: Option<Timestamp>,
    /// Reads one of the files that [`session_neighbours`](crate::session_neighbours) names; `None` if
    /// there is none.
    pub read_neighbour: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
}

impl SessionFile<'_> {
    /// Returns the file name without its extensions.
    pub(crate) fn stem(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.strip_suffix(".zst").unwrap_or(&name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    }

    /// Returns the name of the `level`-th folder above the file; 1 is the folder of the file.
    pub(crate) fn folder_name(&self, level: usize) -> Option<String> {
        let name = self.path.ancestors().nth(level)?.file_name()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// Parses a JSON file beside it, at a path relative to its folder; `None` if there is none.
    pub(crate) fn neighbour_json(&self, relative: &str) -> Option<Value> {
        let bytes = self.neighbour(relative)?;
        serde_json::from_slice(without_byte_order_mark(&bytes)).ok()
    }

    /// Returns the text of a file beside it.
    pub(crate) fn neighbour_text(&self, relative: &str) -> Option<String> {
        String::from_utf8(self.neighbour(relative)?).ok()
    }

    /// Returns the write-ahead log of the file, which is a database.
    pub(crate) fn database_log(&self) -> Option<Vec<u8>> {
        (self.read_neighbour)(&log_of(self.path))
    }

    fn neighbour(&self, relative: &str) -> Option<Vec<u8>> {
        let found = (self.read_neighbour)(&beside(self.path, relative)?)?;
        (found.len() <= MAX_NEIGHBOUR_BYTES).then_some(found)
    }

    /// Returns the content, unpacked if it is packed with Zstandard.
    pub(crate) fn unpacked(&self) -> Result<std::borrow::Cow<'_, [u8]>, SessionError> {
        if self.bytes.starts_with(&ZSTD_SIGNATURE) {
            return unpack_zstd(self.bytes).map(Into::into);
        }
        Ok(self.bytes.into())
    }

    /// Parses the content as one JSON document.
    pub(crate) fn json(&self) -> Result<Value, SessionError> {
        Ok(serde_json::from_slice(without_byte_order_mark(self.bytes))?)
    }
}

/// Returns a path relative to the folder of a file. `..` is a folder above.
pub(crate) fn beside(path: &Path, relative: &str) -> Option<PathBuf> {
    let mut folder = path.parent()?;
    let mut rest = relative;
    while let Some(after) = rest.strip_prefix("../") {
        folder = folder.parent()?;
        rest = after;
    }
    Some(folder.join(rest))
}

/// Unpacks data that is packed with Zstandard.
pub(crate) fn unpack_zstd(bytes: &[u8]) -> Result<Vec<u8>, SessionError> {
    use std::io::Read as _;

    let decoder = zstd::stream::read::Decoder::new(bytes).map_err(SessionError::Unpack)?;
    let mut unpacked = Vec::new();
    // A session that is still written has no end; its lines so far count.
    let read = decoder.take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut unpacked);
    if unpacked.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(SessionError::TooLarge);
    }
    match read {
        Err(error) if unpacked.is_empty() => Err(SessionError::Unpack(error)),
        Err(_) | Ok(_) => Ok(unpacked),
    }
}

fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Parses each line as JSON, and returns the number of lines that could not be read.
pub(crate) fn for_each_line(
    bytes: &[u8],
    skips: impl Fn(&[u8]) -> bool,
    mut handle: impl FnMut(Value),
) -> usize {
    read_lines(bytes, skips, |value, _| handle(value)).unread
}

/// A place between the lines of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinePlace {
    /// Number of bytes before it.
    pub(crate) offset: usize,
    /// Number of lines before it that could not be read.
    pub(crate) unread: usize,
}

/// Parses each line as JSON, with the place of its end. Returns the place where reading ended: a last
/// line without a line break is being written if it is not complete, and waits. `skips` is asked about
/// the beginning of a line, so that long lines of no interest are not parsed.
pub(crate) fn read_lines(
    bytes: &[u8],
    skips: impl Fn(&[u8]) -> bool,
    mut handle: impl FnMut(Value, LinePlace),
) -> LinePlace {
    let mut place = LinePlace::default();
    let mut unread = 0;
    let mut rest = without_byte_order_mark(bytes);
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = match end {
            Some(end) => (rest.get(..end).unwrap_or_default(), rest.get(end + 1..)),
            None => (rest, None),
        };
        rest = after.unwrap_or_default();
        let offset = bytes.len() - rest.len();
        let line = line.trim_ascii();
        let is_skipped = line.is_empty() || skips(line.get(..300).unwrap_or(line));
        let value = (!is_skipped && line.len() <= MAX_LINE_BYTES)
            .then(|| serde_json::from_slice::<Value>(line).ok())
            .flatten()
            .filter(Value::is_object);
        unread += usize::from(value.is_none() && !is_skipped && end.is_some());
        if value.is_some() || end.is_some() {
            place = LinePlace { offset, unread };
        }
        if let Some(value) = value {
            handle(value, place);
        }
    }
    place
}

/// Returns whether a line contains some bytes at its beginning.
pub(crate) fn begins_with_field(beginning: &[u8], field: &str) -> bool {
    let field = field.as_bytes();
    beginning.windows(field.len()).any(|window| window == field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_last_line_waits_and_broken_line_counts() {
        let read = |text: &str| {
            let mut seen = 0;
            let unread = for_each_line(text.as_bytes(), |_| false, |_| seen += 1);
            (seen, unread)
        };
        let end = |text: &str| read_lines(text.as_bytes(), |_| false, |_, _| {}).offset;
        assert_eq!(end("\u{feff}{\"a\":1}\n\n{\"b\""), 12);
        assert_eq!(end("{\"a\":1}\n{\"b\":1}"), 15);
        assert_eq!(read("\u{feff}{\"a\":1}\n{\"b\":\n{\"c\":1}\n{\"d\""), (2, 1));
        assert_eq!(read("{\"a\":1}\r\n\n{\"d\":1}"), (2, 0));
        assert_eq!(read("7\n"), (0, 1));
        assert_eq!(read(""), (0, 0));
        let deep = format!("{}\n", "[".repeat(100_000));
        assert_eq!(read(&deep), (0, 1));
    }

    #[test]
    fn packed_file_is_bounded() {
        let zeros = zstd::bulk::compress(&vec![0; 300 << 20], 1).unwrap();
        assert!(matches!(unpack_zstd(&zeros), Err(SessionError::TooLarge)));
        assert_eq!(unpack_zstd(&zstd::bulk::compress(b"abc", 1).unwrap()).unwrap(), b"abc");
        assert!(unpack_zstd(b"\x28\xb5\x2f\xfdxxxx").is_err());
    }

    #[test]
    fn neighbour_is_found_above() {
        let beside = |relative| beside(Path::new("/a/b/c.json"), relative);
        assert_eq!(beside("d.json"), Some("/a/b/d.json".into()));
        assert_eq!(beside("../state/d.json"), Some("/a/state/d.json".into()));
        assert_eq!(beside("../../../../d"), None);
    }
}
