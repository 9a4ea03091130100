//! One exchanged file: JSON lines, compressed, and encrypted unless the user says otherwise.
//!
//! The first line says to which machine, database and number the file belongs, so that a renamed file is
//! noticed; the last one has the number of items and a digest, so that an incomplete one is.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use age::{DecryptError, Decryptor, Encryptor};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    error::InvalidInput,
    key::SyncKey,
    record::{ItemRecord, to_hex},
    replica::ReplicaId,
};

/// Version of the format. Files of a newer one are left for a newer program.
const FORMAT: u32 = 1;
/// Maximum size of an item, in bytes of JSON.
pub(crate) const MAX_RECORD_BYTES: usize = 256 * 1_024 * 1_024;
/// Maximum size of the content of a file, in bytes of JSON.
const MAX_CONTENT_BYTES: u64 = 1 << 30;
/// Level of the compression.
const COMPRESSION_LEVEL: i32 = 3;
/// Binary logarithm of the most memory that a compressed file may ask of its reader, in bytes.
const MAX_WINDOW_LOG: u32 = 24;
/// Maximum size of the header of an encrypted file, in bytes. That of a file for one X25519 key has 200.
const MAX_HEADER_BYTES: usize = 4 * 1_024;
/// Beginning of the last line of the header of an encrypted file.
const HEADER_END: &[u8] = b"\n--- ";
/// Length of the digest, in bytes.
const DIGEST_BYTES: usize = 32;

/// The file to which a content belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileHeader {
    vademecum_sync: u32,
    /// Machine that wrote the file.
    pub replica: ReplicaId,
    /// Name of the database.
    pub database: String,
    /// Number of the file.
    pub file: u64,
}

impl FileHeader {
    /// Returns the header of a file of this format.
    pub(crate) fn new(replica: ReplicaId, database: &str, file: u64) -> Self {
        Self { vademecum_sync: FORMAT, replica, database: database.to_owned(), file }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct FileEnd {
    items: u64,
    sha256: String,
}

/// Writes a file and returns its writer.
pub(crate) fn write_file<'r, W: Write>(
    output: W,
    key: Option<&SyncKey>,
    header: &FileHeader,
    records: impl Iterator<Item = &'r ItemRecord>,
) -> io::Result<W> {
    match key {
        None => write_content(output, header, records),
        Some(key) => {
            let encryptor = Encryptor::with_recipients(std::iter::once(&key.recipient as _));
            let encrypted = encryptor.map_err(io::Error::other)?.wrap_output(output)?;
            write_content(encrypted, header, records)?.finish()
        }
    }
}

fn write_content<'r, W: Write>(
    output: W,
    header: &FileHeader,
    records: impl Iterator<Item = &'r ItemRecord>,
) -> io::Result<W> {
    let mut output = zstd::Encoder::new(output, COMPRESSION_LEVEL)?;
    let mut digest = Sha256::new();
    let mut items = 0;
    let mut write = |line: Vec<u8>| {
        digest.update(&line);
        output.write_all(&line)
    };
    write(to_line(header)?)?;
    for record in records {
        write(to_line(record)?)?;
        items += 1;
    }
    let sha256 = to_hex(&digest.finalize(), DIGEST_BYTES);
    output.write_all(&to_line(&FileEnd { items, sha256 })?)?;
    output.finish()
}

fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a file and passes its items to `use_record`, in their order. Fails if the file is not complete.
/// `use_record` may end the reading with an error of its own.
pub(crate) fn read_file<E: From<InvalidInput>>(
    input: impl Read,
    key: Option<&SyncKey>,
    expected: &FileHeader,
    use_record: impl FnMut(ItemRecord) -> Result<(), E>,
) -> Result<(), E> {
    match key {
        None => read_content(input, expected, use_record),
        Some(key) => {
            let input = bounded_header(input)?;
            let decryptor = Decryptor::new(input).map_err(decryption_error)?;
            let identity = &key.identity as &dyn age::Identity;
            let input = decryptor.decrypt(std::iter::once(identity)).map_err(decryption_error)?;
            read_content(input, expected, use_record)
        }
    }
}

/// Fails if the header of an encrypted file does not end within [`MAX_HEADER_BYTES`]: its parser reads a
/// long one again and again.
fn bounded_header(mut input: impl Read) -> Result<impl Read, InvalidInput> {
    let mut header = Vec::with_capacity(MAX_HEADER_BYTES);
    let limit = u64::try_from(MAX_HEADER_BYTES).unwrap_or(u64::MAX);
    input.by_ref().take(limit).read_to_end(&mut header).map_err(InvalidInput::Read)?;
    let end = header.windows(HEADER_END.len()).position(|part| part == HEADER_END);
    let rest = end.and_then(|end| header.get(end + HEADER_END.len()..)).unwrap_or_default();
    if rest.contains(&b'\n') {
        return Ok(io::Cursor::new(header).chain(input));
    }
    let is_short = header.len() < MAX_HEADER_BYTES;
    Err(if is_short { InvalidInput::Damaged } else { InvalidInput::OtherKey })
}

fn decryption_error(error: DecryptError) -> InvalidInput {
    match error {
        DecryptError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            InvalidInput::Damaged
        }
        DecryptError::Io(error) => InvalidInput::Read(error),
        _ => InvalidInput::OtherKey,
    }
}

fn read_content<E: From<InvalidInput>>(
    input: impl Read,
    expected: &FileHeader,
    mut use_record: impl FnMut(ItemRecord) -> Result<(), E>,
) -> Result<(), E> {
    let mut decoder = zstd::Decoder::new(input).map_err(InvalidInput::Read)?.single_frame();
    decoder.window_log_max(MAX_WINDOW_LOG).map_err(InvalidInput::Read)?;
    let mut input = BufReader::new(decoder.take(MAX_CONTENT_BYTES));
    let (mut line, mut digest, mut items) = (Vec::new(), Sha256::new(), 0);
    read_line(&mut input, &mut line)?;
    let header: FileHeader = parse(&line)?;
    if header.vademecum_sync > FORMAT {
        return Err(InvalidInput::Newer.into());
    }
    if header != *expected {
        return Err(InvalidInput::Misplaced.into());
    }
    digest.update(&line);
    loop {
        read_line(&mut input, &mut line)?;
        if let Ok(end) = serde_json::from_slice::<FileEnd>(&line) {
            let sha256 = to_hex(&digest.finalize(), DIGEST_BYTES);
            let is_whole = end.items == items && end.sha256 == sha256;
            return if is_whole { Ok(()) } else { Err(InvalidInput::Damaged.into()) };
        }
        digest.update(&line);
        items += 1;
        let record: ItemRecord = parse(&line)?;
        use_record(record.check()?)?;
    }
}

fn read_line(input: &mut impl io::BufRead, line: &mut Vec<u8>) -> Result<(), InvalidInput> {
    line.clear();
    let limit = u64::try_from(MAX_RECORD_BYTES).unwrap_or(u64::MAX);
    match input.by_ref().take(limit).read_until(b'\n', line) {
        Ok(_) if line.ends_with(b"\n") => Ok(()),
        Ok(_) if line.len() == MAX_RECORD_BYTES => Err(InvalidInput::TooLarge),
        Ok(_) | Err(_) => Err(InvalidInput::Damaged),
    }
}

fn parse<T: serde::de::DeserializeOwned>(line: &[u8]) -> Result<T, InvalidInput> {
    serde_json::from_slice(line).map_err(|error| InvalidInput::Item(error.to_string()))
}

#[cfg(test)]
mod tests {
    use age::x25519::Identity;
    use vademecum_model::{DraftBody, NoteDraft, SourceName};

    use super::*;
    use crate::{
        record::fingerprint,
        revision::{History, Revision},
    };

    fn header(file: u64) -> FileHeader {
        FileHeader::new("0123456789abcdef".parse().unwrap(), "chacha", file)
    }

    fn note(content: &str) -> ItemRecord {
        let content = content.to_owned();
        let body = DraftBody::Note(NoteDraft { content, ..NoteDraft::default() });
        ItemRecord {
            source: SourceName::Notes,
            key: "k".to_owned(),
            id: None,
            revision: Revision::default(),
            fingerprint: fingerprint(&body).unwrap(),
            history: History::default(),
            body: Some(body),
            image: None,
            versions: vademecum_vault::journal::ExportedVersions::default(),
            origins: Vec::new(),
            import_base: None,
        }
    }

    fn written(key: Option<&SyncKey>, records: &[ItemRecord]) -> Vec<u8> {
        write_file(Vec::new(), key, &header(1), records.iter()).unwrap()
    }

    fn read(bytes: &[u8], key: Option<&SyncKey>, file: u64) -> Result<usize, InvalidInput> {
        let mut count = 0;
        read_file(bytes, key, &header(file), |_| {
            count += 1;
            Ok::<_, InvalidInput>(())
        })?;
        Ok(count)
    }

    #[test]
    fn files_are_read_as_written() {
        let key = SyncKey::from(Identity::generate());
        for key in [None, Some(&key)] {
            let bytes = written(key, &[note("one"), note("two")]);
            assert_eq!(read(&bytes, key, 1).unwrap(), 2);
            assert!(matches!(read(&bytes, key, 2), Err(InvalidInput::Misplaced)));
        }
        let bytes = written(Some(&key), &[note("rye bread")]);
        assert!(!bytes.windows(3).any(|part| part == b"rye"));
    }

    #[test]
    fn incomplete_and_changed_files_are_refused() {
        let key = SyncKey::from(Identity::generate());
        for key in [None, Some(&key)] {
            let bytes = written(key, &[note("one"), note("two")]);
            for length in 0..bytes.len() {
                assert!(read(&bytes[..length], key, 1).is_err(), "{length} {key:?}");
            }
            for place in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[place] ^= 0x10;
                // A changed bit of a compressed block may leave its content as it is.
                if let Ok(count) = read(&changed, key, 1) {
                    assert!(key.is_none() && count == 2, "{place}");
                }
            }
        }
    }

    #[test]
    fn files_of_strangers_are_refused() {
        let [own, other] = [(); 2].map(|()| SyncKey::from(Identity::generate()));
        let foreign = written(Some(&other), &[note("one")]);
        assert!(matches!(read(&foreign, Some(&own), 1), Err(InvalidInput::OtherKey)));
        assert!(read(&written(None, &[note("one")]), Some(&own), 1).is_err());
        assert!(read(&foreign, None, 1).is_err());
    }

    /// Counts the bytes that are read.
    struct Counted<'a, R>(R, &'a std::cell::Cell<usize>);

    impl<R: Read> Read for Counted<'_, R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read(buffer)?;
            self.1.set(self.1.get() + count);
            Ok(count)
        }
    }

    #[test]
    fn long_headers_are_not_read() {
        let key = SyncKey::from(Identity::generate());
        for line in ["-> X25519 x\n", "A"] {
            let text = format!("age-encryption.org/v1\n{}", line.repeat(4 << 20));
            let count = std::cell::Cell::new(0);
            let input = Counted(text.as_bytes(), &count);
            let found = read_file(input, Some(&key), &header(1), |_| Ok::<_, InvalidInput>(()));
            assert!(matches!(found, Err(InvalidInput::OtherKey)), "{found:?}");
            assert_eq!(count.get(), MAX_HEADER_BYTES);
        }
    }

    #[test]
    fn content_beyond_the_maximum_is_refused() {
        // A few kilobytes that would become more than a gigabyte in one line.
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        io::copy(&mut io::repeat(b' ').take(MAX_CONTENT_BYTES), &mut encoder).unwrap();
        let bytes = encoder.finish().unwrap();
        assert!(matches!(read(&bytes, None, 1), Err(InvalidInput::TooLarge)));
    }
}
