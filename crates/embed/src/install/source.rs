//! Where a model comes from.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{catalog::RECOMMENDED_MODELS, error::InstallError};

/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// Branch of a repository.
const DEFAULT_REVISION: &str = "main";

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A repository of a server with the interface of Hugging Face.
    Repository {
        /// Base address of the server.
        server: String,
        /// Owner and name, with a slash between them.
        name: String,
        /// Branch, tag or commit.
        revision: String,
    },
    /// Address of a folder with the files of a model and `SHA256SUMS`, without a slash at the end.
    Address(String),
    /// A folder on this machine.
    Folder(PathBuf),
}

impl ModelSource {
    /// Reads a source: the short name of a recommended model, the name of a repository on the server
    /// `mirror` (with `@REVISION` behind it, if wished), an address, or a path. A path without a separator
    /// is one only if there is such a folder.
    pub fn parse(text: &str, mirror: &str) -> Result<Self, InstallError> {
        let unknown = || InstallError::UnknownSource { text: text.to_owned() };
        let repository = |name: &str, revision: &str| {
            let is_valid = |part: &str| check_name(part).is_ok();
            let (owner, model) =
                name.split_once('/').filter(|(owner, model)| is_valid(owner) && is_valid(model))?;
            (check_name(revision).is_ok()).then(|| Self::Repository {
                server: mirror.trim_end_matches('/').to_owned(),
                name: format!("{owner}/{model}"),
                revision: revision.to_owned(),
            })
        };
        if let Some(known) = RECOMMENDED_MODELS.iter().find(|it| it.name.eq_ignore_ascii_case(text))
        {
            check_address(mirror)?;
            return repository(known.repository, DEFAULT_REVISION).ok_or_else(unknown);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            let address = text.trim_end_matches('/');
            check_address(address)?;
            // The page of a repository, as copied from a browser.
            let server = mirror.trim_end_matches('/');
            let path = address.strip_prefix(server).and_then(|rest| rest.strip_prefix('/'));
            let found = path.and_then(|name| repository(name, DEFAULT_REVISION));
            return Ok(found.unwrap_or_else(|| Self::Address(address.to_owned())));
        }
        if Path::new(text).is_dir() {
            return Ok(Self::Folder(PathBuf::from(text)));
        }
        let (name, revision) = text.split_once('@').unwrap_or((text, DEFAULT_REVISION));
        check_address(mirror)?;
        repository(name, revision).ok_or_else(unknown)
    }

    /// Returns the name of the model: the last part, in lower case.
    pub(super) fn model_name(&self) -> Result<String, InstallError> {
        let name = match self {
            Self::Repository { name, .. } => name.rsplit('/').next().map(str::to_owned),
            Self::Address(address) => address.rsplit('/').next().map(str::to_owned),
            Self::Folder(path) => std::path::absolute(path)
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
        };
        let name = name.unwrap_or_default().to_lowercase();
        check_name(&name)?;
        Ok(name)
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repository { server, name, .. } => write!(formatter, "{server}/{name}"),
            Self::Address(address) => formatter.write_str(address),
            Self::Folder(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// Fails if a text is no name of a folder that every system accepts.
pub(super) fn check_name(name: &str) -> Result<(), InstallError> {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with('.')
        && !name.ends_with('.')
        && name.bytes().all(is_plain);
    if is_name { Ok(()) } else { Err(InstallError::InvalidName { name: name.to_owned() }) }
}

/// Fails if an address has no host, has a login or a query, or is unencrypted and on another machine.
fn check_address(address: &str) -> Result<(), InstallError> {
    let unknown = || InstallError::UnknownSource { text: address.to_owned() };
    let uri: ureq::http::Uri = address.parse().map_err(|_| unknown())?;
    let (Some(scheme), Some(host)) = (uri.scheme_str(), uri.host()) else { return Err(unknown()) };
    let has_login = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    if has_login || uri.query().is_some() {
        return Err(unknown());
    }
    match scheme {
        "https" => Ok(()),
        "http" if matches!(host, "localhost" | "127.0.0.1" | "[::1]") => Ok(()),
        "http" => Err(InstallError::PlainHttp { address: address.to_owned() }),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIRROR: &str = "https://models.example/";

    fn parse(text: &str) -> Result<ModelSource, InstallError> {
        ModelSource::parse(text, MIRROR)
    }

    fn repository(name: &str, revision: &str) -> ModelSource {
        let (server, name) = ("https://models.example".to_owned(), name.to_owned());
        ModelSource::Repository { server, name, revision: revision.to_owned() }
    }

    #[test]
    fn sources_are_told_apart() {
        let potion = repository("minishlab/potion-base-8M", "main");
        assert_eq!(parse("Potion-base-8m").unwrap(), potion);
        assert_eq!(parse("minishlab/potion-base-8M").unwrap(), potion);
        assert_eq!(parse("https://models.example/minishlab/potion-base-8M/").unwrap(), potion);
        assert_eq!(parse("a/b@v1.0").unwrap(), repository("a/b", "v1.0"));
        let address = "https://files.example/models/mine";
        assert_eq!(parse(address).unwrap(), ModelSource::Address(address.to_owned()));
        assert_eq!(parse(address).unwrap().model_name().unwrap(), "mine");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert_eq!(parse(path).unwrap(), ModelSource::Folder(path.into()));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "potion",
            "a/b/c",
            "../models/x",
            "a/..",
            "a/b@../c",
            "ftp://a.example/b",
            "https://ada:pa55@a.example/b",
            "https://a.example/b?c",
            "https://",
        ] {
            assert!(matches!(parse(text), Err(InstallError::UnknownSource { .. })), "{text}");
        }
        assert!(matches!(parse("http://a.example/b"), Err(InstallError::PlainHttp { .. })));
        assert!(ModelSource::parse("a/b", "http://127.0.0.1:8000").is_ok());
        for name in ["", ".", "..", ".a", "a/b", "a\\b", "a b", "con:", "a."] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
