//! The extension Skills (SEP-2640): manifests of skills, and the directories that their files form.
//!
//! The files themselves are resources. Manifests are complete, so directories are derived from them.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Resource;

/// MIME type of a directory.
const DIRECTORY_TYPE: &str = "inode/directory";

/// End of the URI of a skill.
const MAIN_FILE: &str = "/SKILL.md";

/// Entry of a skill in `skills/list` and `skills/get`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    /// URI of its `SKILL.md`.
    pub uri: String,
    /// Front matter of its `SKILL.md`.
    pub frontmatter: Map<String, Value>,
    /// All its files, `SKILL.md` included.
    pub resources: Vec<SkillResource>,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillResource {
    /// URI of the file.
    pub uri: String,
    /// `sha256:` and the SHA-256 of the content in hexadecimal digits.
    pub digest: String,
    /// Length of the content, in bytes.
    pub size: u64,
    /// MIME type, for `resources/directory/read`.
    #[serde(skip)]
    pub mime_type: &'static str,
}

impl Skill {
    /// Returns the `SKILL.md` as a resource for `resources/list`.
    pub(crate) fn to_resource(&self) -> Resource {
        let text = |name: &str| {
            self.frontmatter.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Resource {
            uri: self.uri.clone().into(),
            name: text("name").into(),
            title: text("name").into(),
            description: text("description").into(),
            mime_type: "text/markdown".into(),
        }
    }
}

/// Returns the files and directories directly in a directory of these skills, by name. `None` if
/// there is no such directory.
pub(crate) fn list_directory(skills: &[Skill], uri: &str) -> Option<Vec<Resource>> {
    let mut children: BTreeMap<&str, Resource> = BTreeMap::new();
    for skill in skills {
        let Some(root) = skill.uri.strip_suffix(MAIN_FILE) else { continue };
        // A folder above a skill belongs to no skill.
        let is_in_skill =
            uri.strip_prefix(root).is_some_and(|below| below.is_empty() || below.starts_with('/'));
        for file in skill.resources.iter().filter(|_| is_in_skill) {
            let Some(path) = file.uri.strip_prefix(uri).and_then(|path| path.strip_prefix('/'))
            else {
                continue;
            };
            let (name, mime_type) = match path.split_once('/') {
                Some((folder, _)) => (folder, DIRECTORY_TYPE),
                None => (path, file.mime_type),
            };
            children.entry(name).or_insert_with(|| child(uri, name, mime_type));
        }
    }
    Some(children.into_values().collect()).filter(|children: &Vec<_>| !children.is_empty())
}

fn child(folder: &str, name: &str, mime_type: &'static str) -> Resource {
    let name: Cow<'static, str> = name.to_owned().into();
    Resource {
        uri: format!("{folder}/{name}").into(),
        title: name.clone(),
        name,
        description: "".into(),
        mime_type: mime_type.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(root: &str, files: &[&str]) -> Skill {
        let file = |path: &&str| SkillResource {
            uri: format!("{root}/{path}"),
            digest: String::new(),
            size: 0,
            mime_type: "text/plain",
        };
        let uri = format!("{root}{MAIN_FILE}");
        Skill { uri, frontmatter: Map::new(), resources: files.iter().map(file).collect() }
    }

    #[test]
    fn directory_lists_direct_children_once() {
        let skills = [
            skill("skill://a", &["SKILL.md", "docs/x.md", "docs/y/z.md", "b/SKILL.md"]),
            skill("skill://a/b", &["SKILL.md"]),
        ];
        let names = |uri: &str| {
            let found = list_directory(&skills, uri)?;
            let name = |it: &Resource| format!("{} {}", it.name, it.mime_type);
            Some(found.iter().map(name).collect::<Vec<_>>())
        };
        let root = ["SKILL.md text/plain", "b inode/directory", "docs inode/directory"];
        assert_eq!(names("skill://a").unwrap(), root);
        assert_eq!(names("skill://a/docs").unwrap(), ["x.md text/plain", "y inode/directory"]);
        assert_eq!(names("skill://a/b").unwrap(), ["SKILL.md text/plain"]);
        for unknown in
            ["skill://a/", "skill://a/docs/x.md", "skill://", "skill:/", "", "skill://a/do"]
        {
            assert_eq!(names(unknown), None, "{unknown}");
        }
    }
}
