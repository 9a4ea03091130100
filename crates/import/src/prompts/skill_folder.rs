//! Folders of agent skills: a skill is a folder with a `SKILL.md`, whose front matter names it.
//!
//! Links are not followed, and names that begin with a dot are ignored. What exceeds a limit is left
//! out, with the reason.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use vademecum_model::{FrontMatterBlock, FrontMatterSyntax};

use crate::{FileStamp, ImportError, files::open_file::OpenFile};

/// Name of the file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Maximum depth of folders below a folder of skills.
const MAX_DEPTH: usize = 8;
/// Maximum number of files and folders that are visited below a folder of skills.
const MAX_VISITED: usize = 20_000;
/// Maximum number of files of a skill, a limit of the extension Skills.
const MAX_FILES: usize = 512;
/// Maximum size of all files of a skill, in bytes; a limit of the extension Skills.
const MAX_SKILL_BYTES: u64 = 16 * 1_024 * 1_024;
/// Maximum size of a `SKILL.md`, in bytes.
const MAX_MAIN_BYTES: u64 = 256 * 1_024;
/// Maximum size of the front matter, as text and as JSON, in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 16 * 1_024;
/// Maximum length of the name of a skill, in characters.
const MAX_NAME_CHARS: usize = 64;
/// Maximum length of the description of a skill, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// A skill as found in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSkill {
    /// Folder from the settings that it is in.
    pub root: PathBuf,
    /// Names of the folders from `root` to the skill; the name of `root` if that is the skill.
    pub path: Vec<String>,
    /// Its files, by their names below the folder of the skill.
    pub files: BTreeMap<Vec<String>, SkillFile>,
}

/// Path, size and modification time of a file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Size and time of the last modification.
    pub stamp: FileStamp,
}

/// A skill that is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProblem {
    /// Path of the skill, or of the folder of skills.
    pub path: PathBuf,
    /// Reason why the skill is not offered, for the operator.
    pub reason: String,
}

/// Finds the skills in and below a folder, sorted by path.
pub fn find_skills(root: &Path) -> (Vec<FoundSkill>, Vec<SkillProblem>) {
    let mut visit = Visit { root, left: MAX_VISITED, files: BTreeMap::new(), failures: Vec::new() };
    visit.folder(&mut Vec::new(), root);
    let Visit { files, failures: mut problems, left, .. } = visit;
    if left == 0 {
        let reason = format!("more than {MAX_VISITED} files and folders; the rest is ignored");
        problems.push(SkillProblem { path: root.to_owned(), reason });
    }
    let mains = files.keys().filter(|names| names.last().is_some_and(|name| name == SKILL_FILE));
    let mut skills = Vec::new();
    for main in mains {
        let folder = main.split_last().map_or(&[][..], |(_, folder)| folder);
        let own: BTreeMap<Vec<String>, SkillFile> = files
            .range(folder.to_vec()..)
            .take_while(|(names, _)| names.starts_with(folder))
            .map(|(names, file)| (names[folder.len()..].to_vec(), file.clone()))
            .collect();
        let root_name = || root.file_name().map(|name| name.to_string_lossy().into_owned());
        let path =
            if folder.is_empty() { root_name().into_iter().collect() } else { folder.to_vec() };
        let skill = FoundSkill { root: root.to_owned(), path, files: own };
        match skill.excess() {
            None => skills.push(skill),
            Some(reason) => problems.push(SkillProblem { path: skill.folder(), reason }),
        }
    }
    (skills, problems)
}

impl FoundSkill {
    /// Returns the name that the front matter must have: that of the folder.
    pub fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Returns the folder that contains `SKILL.md`.
    pub fn folder(&self) -> PathBuf {
        let main = self.files.get([SKILL_FILE.to_owned()].as_slice());
        main.and_then(|file| file.path.parent()).unwrap_or(&self.root).to_owned()
    }

    /// Reads a file of the skill. Fails if a part of its path below `root` is a link, or if the
    /// file has grown beyond the limit of a skill.
    pub fn read(&self, file: &SkillFile) -> Result<Vec<u8>, ImportError> {
        let opened = OpenFile::open(&file.path, Some(&self.root))?;
        let mut bytes = Vec::new();
        let read = opened.file.take(MAX_SKILL_BYTES + 1).read_to_end(&mut bytes);
        let read = read.and_then(|length| {
            let is_too_long = length as u64 > MAX_SKILL_BYTES;
            if is_too_long { Err(io::Error::other("the file is too large")) } else { Ok(bytes) }
        });
        read.map_err(|cause| ImportError::Open { path: file.path.clone(), cause })
    }

    /// Returns the limit that the skill exceeds.
    fn excess(&self) -> Option<String> {
        let bytes: u64 = self.files.values().map(|file| file.stamp.size).sum();
        let main = self.files.get([SKILL_FILE.to_owned()].as_slice());
        if self.files.len() > MAX_FILES {
            return Some(format!("{} files; a skill has at most {MAX_FILES}", self.files.len()));
        }
        if bytes > MAX_SKILL_BYTES {
            return Some(format!("{bytes} bytes; a skill has at most {MAX_SKILL_BYTES}"));
        }
        main.filter(|main| main.stamp.size > MAX_MAIN_BYTES)
            .map(|_| format!("{SKILL_FILE} has more than {MAX_MAIN_BYTES} bytes"))
    }
}

/// Reads the front matter of a `SKILL.md` as JSON. Fails if it is not that of a skill in a folder of
/// this name.
pub fn parse_skill(text: &str, folder: &str) -> Result<Map<String, Value>, String> {
    let matter = FrontMatterBlock::find(text)
        .filter(|block| block.syntax == FrontMatterSyntax::Yaml)
        .map(|block| block.matter)
        .ok_or_else(|| format!("{SKILL_FILE} does not begin with front matter between `---`"))?;
    let too_large = || format!("the front matter has more than {MAX_FRONT_MATTER_BYTES} bytes");
    if matter.len() > MAX_FRONT_MATTER_BYTES {
        return Err(too_large());
    }
    let fields: Map<String, Value> = serde_saphyr::from_str(matter)
        .map_err(|error| format!("the front matter is not valid YAML: {error}"))?;
    // An alias repeats what its anchor says.
    if serde_json::to_string(&fields).map_or(usize::MAX, |json| json.len()) > MAX_FRONT_MATTER_BYTES
    {
        return Err(too_large());
    }
    let text = |field: &str| {
        let value = fields.get(field).and_then(Value::as_str);
        value.ok_or_else(|| format!("the front matter has no text `{field}`"))
    };
    let (name, description) = (text("name")?, text("description")?);
    let fits = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    let is_name = (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.chars().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if !is_name {
        return Err("name: use 1 to 64 letters a-z, digits and single hyphens".to_owned());
    }
    if name != folder {
        return Err(format!("name: `{name}` is not the name of the folder, `{folder}`"));
    }
    if description.trim().is_empty() || description.chars().count() > MAX_DESCRIPTION_CHARS {
        return Err(format!("description: use 1 to {MAX_DESCRIPTION_CHARS} characters"));
    }
    Ok(fields)
}

/// A walk through a folder of skills.
struct Visit<'a> {
    root: &'a Path,
    left: usize,
    files: BTreeMap<Vec<String>, SkillFile>,
    failures: Vec<SkillProblem>,
}

impl Visit<'_> {
    fn folder(&mut self, names: &mut Vec<String>, path: &Path) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                let reason = format!("cannot read the folder: {error}");
                self.failures.push(SkillProblem { path: path.to_owned(), reason });
                return;
            }
        };
        for entry in entries.filter_map(Result::ok) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let name = entry.file_name();
            // The metadata of an entry is that of a link, not of its target.
            let (Some(name), Ok(metadata)) = (name.to_str(), entry.metadata()) else { continue };
            if name.starts_with('.') {
                continue;
            }
            names.push(name.to_owned());
            if metadata.is_dir() && names.len() <= MAX_DEPTH {
                self.folder(names, &entry.path());
            } else if metadata.is_file() {
                let path = self.root.join(names.iter().collect::<PathBuf>());
                let stamp = FileStamp::from_metadata(&metadata);
                self.files.insert(names.clone(), SkillFile { path, stamp });
            }
            names.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: &str = "---\nname: bake\ndescription: Bakes.\n---\nKnead.\n";

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn skill_has_all_files_below_it() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a/bake/SKILL.md", "a/bake/x/y.txt", "a/bake/rye/SKILL.md", "a/bakery/z.md"] {
            write(folder.path(), path, MAIN);
        }
        write(folder.path(), "a/bake/.git/config", "");
        let (skills, problems) = find_skills(folder.path());
        assert_eq!(problems, []);
        let found: Vec<_> =
            skills.iter().map(|skill| (skill.path.join("/"), skill.files.len())).collect();
        assert_eq!(found, [("a/bake".to_owned(), 3), ("a/bake/rye".to_owned(), 1)]);
        let (skills, _) = find_skills(&folder.path().join("a/bake"));
        assert_eq!(skills[0].path, ["bake"]);
        let file = skills[0].files.values().next().unwrap();
        assert_eq!(skills[0].read(file).unwrap(), MAIN.as_bytes());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(outside.path(), "secret.txt", "secret");
        write(outside.path(), "bake/SKILL.md", MAIN);
        write(folder.path(), "bake/SKILL.md", MAIN);
        write(folder.path(), "bake/late.txt", "text");
        symlink(outside.path().join("secret.txt"), folder.path().join("bake/link.txt")).unwrap();
        symlink(outside.path(), folder.path().join("bake/folder")).unwrap();
        symlink(outside.path().join("bake"), folder.path().join("linked")).unwrap();
        let (skills, _) = find_skills(folder.path());
        let names: Vec<_> = skills[0].files.keys().map(|names| names.join("/")).collect();
        assert_eq!((skills.len(), names), (1, vec!["SKILL.md".to_owned(), "late.txt".to_owned()]));
        // A file that becomes a link after it was found.
        let late = folder.path().join("bake/late.txt");
        fs::remove_file(&late).unwrap();
        symlink(outside.path().join("secret.txt"), &late).unwrap();
        skills[0].read(&skills[0].files[["late.txt".to_owned()].as_slice()]).unwrap_err();
    }

    #[test]
    fn skill_beyond_limits_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "many/SKILL.md", MAIN);
        for number in 0..MAX_FILES {
            write(folder.path(), &format!("many/{number}"), "");
        }
        write(folder.path(), "large/SKILL.md", MAIN);
        let large = fs::File::create(folder.path().join("large/data")).unwrap();
        large.set_len(MAX_SKILL_BYTES).unwrap();
        let (skills, problems) = find_skills(folder.path());
        assert_eq!((skills.len(), problems.len()), (0, 2), "{problems:?}");
    }

    #[test]
    fn front_matter_is_read_verbatim() {
        let text = "---\nname: bake\ndescription: >-\n  Bakes\n  bread.\nlicense: MIT\nmetadata:\n  \
                    version: \"1.0\"\n  tags: [a, b]\n---\n";
        let fields = parse_skill(text, "bake").unwrap();
        let expected = serde_json::json!({ "name": "bake", "description": "Bakes bread.",
            "license": "MIT", "metadata": { "version": "1.0", "tags": ["a", "b"] } });
        assert_eq!(Value::Object(fields), expected);
    }

    #[test]
    fn hostile_front_matter_is_refused() {
        let of = |matter: &str| parse_skill(&format!("---\n{matter}\n---\n"), "bake").unwrap_err();
        let bomb: String = (1..12).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
            let list = vec![format!("*a{}", level - 1); 9].join(", ");
            text + &format!("a{level}: &a{level} [{list}]\n")
        });
        let valid = "name: bake\ndescription: Bakes.\n";
        of(&(bomb + valid));
        of(&format!("{valid}x: {}", "[".repeat(5_000)));
        of(&format!("{valid}x: {}", "y".repeat(MAX_FRONT_MATTER_BYTES)));
        of(&format!("{valid}name: other"));
        for name in ["../x", "a/b", "Bake", "-a", "a-", "a--b", "", "other", "7"] {
            let error = of(&format!("name: {name}\ndescription: x"));
            assert!(error.contains("name"), "{name}: {error}");
        }
        assert!(of("name: bake").contains("description"));
        assert!(parse_skill("no front matter", "bake").is_err());
    }
}
