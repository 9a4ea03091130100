//! `[[folders]]`: folders of files that the server keeps in sync with a library.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

/// A folder whose files the server imports when they change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawFolder")]
pub struct FollowedFolder {
    /// Absolute path.
    pub path: PathBuf,
    /// Whether changes of its notes in the library are written to the files.
    pub two_way: bool,
    /// Folder for notes that clients create, relative to `path`. Without one, they stay in the
    /// library.
    pub new_notes: Option<PathBuf>,
    /// User whose library has the items; only needed in multi-user mode.
    pub user: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFolder {
    path: PathBuf,
    #[serde(default)]
    two_way: bool,
    new_notes: Option<PathBuf>,
    user: Option<String>,
}

impl TryFrom<RawFolder> for FollowedFolder {
    type Error = String;

    fn try_from(written: RawFolder) -> Result<Self, String> {
        let RawFolder { path, two_way, new_notes, user } = written;
        if !path.is_absolute() {
            return Err(format!("`{}` is not an absolute path", path.display()));
        }
        if let Some(inside) = &new_notes {
            if !two_way {
                return Err("`new_notes` needs `two_way = true`".to_owned());
            }
            check_inner_folder(inside)?;
        }
        Ok(Self { path, two_way, new_notes, user })
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
