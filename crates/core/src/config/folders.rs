//! `[[folders]]`: folders of files that the server keeps in sync with a library.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::validation::deserialize_validated;

/// Folder whose files the server imports when they change: one section for each. Such folders are
/// also named by `vademecum import --two-way FOLDER`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct FollowedFolder {
    /// Absolute path.
    #[schemars(example = "/home/ada/Vault")]
    pub path: PathBuf,
    /// Whether changes of notes in the library are written to their files (`.md`, `.txt`, `.org`).
    #[serde(default)]
    #[schemars(example = true)]
    pub two_way: bool,
    /// Folder below `path` for notes that clients create. Default: they stay in the library.
    #[schemars(example = &"Inbox")]
    pub new_notes: Option<PathBuf>,
    /// User whose library has the items; in multi-user mode only.
    #[schemars(example = &"ada")]
    pub user: Option<String>,
}

deserialize_validated!(FollowedFolder);

impl FollowedFolder {
    fn validate(self) -> Result<Self, String> {
        if !self.path.is_absolute() {
            return Err(format!("`{}` is not an absolute path", self.path.display()));
        }
        if let Some(inside) = &self.new_notes {
            if !self.two_way {
                return Err("`new_notes` needs `two_way = true`".to_owned());
            }
            check_inner_folder(inside)?;
        }
        Ok(self)
    }
}

/// Returns an error unless the path names a visible folder inside of another.
pub fn check_inner_folder(path: &Path) -> Result<(), String> {
    let is_inside = |part: Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        Component::CurDir => true,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir => false,
    };
    if path.components().all(is_inside) {
        return Ok(());
    }
    Err(format!(
        "`{}` is not a folder inside of the other; name one such as `Inbox`",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FollowedFolder, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[cfg(unix)]
    #[test]
    fn folder_is_parsed_and_checked() {
        let folder = parse("path = \"/v\"\ntwo_way = true\nnew_notes = \"Agents/In\"").unwrap();
        assert_eq!((folder.two_way, folder.new_notes), (true, Some("Agents/In".into())));
        assert!(!parse("path = \"/v\"").unwrap().two_way);
        for (text, reason) in [
            ("path = \"v\"", "not an absolute path"),
            ("path = \"/v\"\nnew_notes = \"In\"", "needs `two_way = true`"),
            ("path = \"/v\"\ntwo_way = true\nnew_notes = \"../x\"", "inside of the other"),
            ("path = \"/v\"\ntwo_way = true\nnew_notes = \"/x\"", "inside of the other"),
            ("path = \"/v\"\ntwo_way = true\nnew_notes = \".trash\"", "inside of the other"),
            ("path = \"/v\"\ntwoway = true", "unknown field"),
        ] {
            assert!(parse(text).unwrap_err().contains(reason), "{text}");
        }
    }
}
