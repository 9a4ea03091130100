//! Downloads that go on where they stopped.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read, Seek as _, Write as _},
    path::Path,
    time::Duration,
};

use ring::digest::Context;
use ureq::http::StatusCode;
use vademecum_store::create_private_folder;

use super::{
    error::InstallError,
    model_file::{DigestKind, FileDigest, ModelFile},
};

/// Maximum size of a list of files, in bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// Maximum size of a file whose list does not say it, in bytes.
const MAX_FILE_BYTES: u64 = 8 << 30;
/// Number of bytes that are written at once.
const PART_BYTES: usize = 256 << 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
/// Suffix of a file that is not complete.
const PART: &str = "part";

/// Progress of a download: bytes that are there, of all bytes of the model.
pub type OnBytes<'a> = &'a mut dyn FnMut(u64, u64);

/// Downloads files by HTTP.
#[derive(Debug)]
pub(super) struct Downloader {
    agent: ureq::Agent,
}

impl Downloader {
    /// Creates the client. Redirections are followed, because repositories keep large files on other
    /// servers; the digests come from the first server.
    pub(super) fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(5)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(RESPONSE_TIMEOUT))
            .build();
        Self { agent: config.into() }
    }

    /// Fetches a text.
    pub(super) fn fetch_text(&self, address: &str) -> Result<String, InstallError> {
        let unreachable = |error: ureq::Error| unreachable(address, &error);
        let mut answer = self.agent.get(address).call().map_err(unreachable)?;
        check_status(address, answer.status())?;
        let body = answer.body_mut().with_config().limit(MAX_LIST_BYTES).read_to_vec();
        String::from_utf8(body.map_err(unreachable)?).map_err(|_| InstallError::Malformed {
            address: address.to_owned(),
            reason: "it is no text in UTF-8".to_owned(),
        })
    }

    /// Downloads the files that are not there yet, and checks the digests of all.
    pub(super) fn fetch_all(
        &self,
        files: &[ModelFile],
        folder: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<(), InstallError> {
        let total = files.iter().map(|file| file.bytes).sum();
        let mut before = 0;
        for file in files {
            let path = folder.join(&file.path);
            let parent = path.parent().unwrap_or(folder);
            create_private_folder(parent)?;
            let mut on_file_bytes = |bytes| on_bytes(before + bytes, total);
            if !path.exists() {
                self.fetch_file(file, &path, &mut on_file_bytes)?;
            }
            if let Err(error) = check_digest(file, &path) {
                let removed = fs::remove_file(&path);
                removed.map_err(|error| InstallError::file(&path, error))?;
                return Err(error);
            }
            before += fs::metadata(&path).map_err(|error| InstallError::file(&path, error))?.len();
            on_bytes(before, total);
        }
        Ok(())
    }

    /// Downloads a file beside its path, from the end of the stored part on, and renames it.
    fn fetch_file(
        &self,
        file: &ModelFile,
        path: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<(), InstallError> {
        let part = path.with_added_extension(PART);
        let failed = |error| InstallError::file(&part, error);
        let mut target = File::options().create(true).append(true).open(&part).map_err(failed)?;
        let mut done = target.metadata().map_err(failed)?.len();
        if done > limit(file) {
            target.set_len(0).map_err(failed)?;
            done = 0;
        }
        // A complete file has nothing to go on with.
        if file.bytes == 0 || done < file.bytes {
            let mut request = self.agent.get(&file.address);
            if done > 0 {
                request = request.header("range", format!("bytes={done}-"));
            }
            let mut answer = request.call().map_err(|error| unreachable(&file.address, &error))?;
            match answer.status() {
                StatusCode::PARTIAL_CONTENT if starts_at(answer.headers(), done) => {}
                // All of it is there; or the file has changed, which its digest says.
                StatusCode::RANGE_NOT_SATISFIABLE if done > 0 => {
                    return fs::rename(&part, path).map_err(failed);
                }
                status => {
                    check_status(&file.address, status)?;
                    target.set_len(0).map_err(failed)?;
                    target.rewind().map_err(failed)?;
                    done = 0;
                }
            }
            let limit = limit(file).saturating_sub(done);
            let body = answer.body_mut().with_config().limit(limit.saturating_add(1)).reader();
            copy(body, (&mut target, &part), file, |bytes| on_bytes(done + bytes))?;
        }
        target.sync_all().map_err(failed)?;
        fs::rename(&part, path).map_err(failed)
    }
}

/// Returns the maximum size of a file.
fn limit(file: &ModelFile) -> u64 {
    if file.bytes > 0 { file.bytes } else { MAX_FILE_BYTES }
}

/// Copies the body of an answer. Fails if it breaks off.
fn copy(
    mut body: impl Read,
    (target, path): (&mut File, &Path),
    file: &ModelFile,
    mut on_bytes: impl FnMut(u64),
) -> Result<(), InstallError> {
    let mut buffer = vec![0; PART_BYTES];
    let mut copied = 0;
    loop {
        let count = body.read(&mut buffer).map_err(|error| InstallError::Unreachable {
            address: file.address.clone(),
            reason: error.to_string(),
        })?;
        if count == 0 {
            return Ok(());
        }
        let part = buffer.get(..count).unwrap_or_default();
        target.write_all(part).map_err(|error| InstallError::file(path, error))?;
        copied += count as u64;
        on_bytes(copied);
    }
}

/// Returns whether a part of a file starts at a byte.
fn starts_at(headers: &ureq::http::HeaderMap, start: u64) -> bool {
    let range = headers.get("content-range").and_then(|range| range.to_str().ok());
    let first = range.and_then(|range| range.trim().strip_prefix("bytes ")?.split_once('-'));
    first.is_some_and(|(first, _)| first.trim().parse() == Ok(start))
}

/// Fails if the file has not the digest of its list.
fn check_digest(file: &ModelFile, path: &Path) -> Result<(), InstallError> {
    let Some(FileDigest { hex, kind }) = &file.digest else { return Ok(()) };
    let failed = |error| InstallError::file(path, error);
    let found = digest_file(path, *kind).map_err(failed)?;
    if found == *hex {
        return Ok(());
    }
    let (file, expected) = (file.address.clone(), hex.clone());
    Err(InstallError::WrongDigest { file, found, expected })
}

fn digest_file(path: &Path, kind: DigestKind) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = Context::new(kind.algorithm());
    if kind == DigestKind::GitBlob {
        digest.update(format!("blob {}\0", file.metadata()?.len()).as_bytes());
    }
    let mut buffer = vec![0; PART_BYTES];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        digest.update(buffer.get(..count).unwrap_or_default());
    }
    let digest = digest.finish();
    let mut hex = String::new();
    for byte in digest.as_ref() {
        // Writing into a string does not fail.
        write!(hex, "{byte:02x}").ok();
    }
    Ok(hex)
}

fn check_status(address: &str, status: StatusCode) -> Result<(), InstallError> {
    if status.is_success() {
        return Ok(());
    }
    let hint = match status.as_u16() {
        401 | 403 => {
            "; the model may need a login, which is not supported: install it from a folder"
        }
        404 => "; check the name",
        429 | 500.. => "; try again later",
        _ => "",
    };
    Err(InstallError::Refused { address: address.to_owned(), status: status.as_u16(), hint })
}

fn unreachable(address: &str, error: &ureq::Error) -> InstallError {
    InstallError::Unreachable { address: address.to_owned(), reason: error.to_string() }
}
