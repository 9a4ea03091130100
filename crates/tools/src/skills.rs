//! Skills: the built-in one and those in the folders of the user, for the extension Skills and as
//! resources.
//!
//! Files are served as they are read, cleaned like all outputs; the digests of a manifest are those of
//! the cleaned content, which is what a client receives. A client can only name URIs of a manifest, so
//! that no path comes from it.

use std::{
    collections::HashMap,
    fmt::Write as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use vademecum_core::{
    auth::{Principal, UserId},
    config::{AuthMode, Skills},
};
use vademecum_import::{FoundSkill, SKILL_FILE, SkillFile, SkillProblem, find_skills, parse_skill};
use vademecum_mcp::{ResourceBody, ResourceContents, Skill, SkillResource};

use super::safe_text;

/// Scheme of the URIs of skills.
pub(super) const SKILL_SCHEME: &str = "skill://";

/// Name and text of the built-in skill.
pub const BUILT_IN_SKILL: (&str, &str) =
    ("use-this-library", include_str!("skills/use-this-library/SKILL.md"));

/// Maximum number of skills of a user, without the built-in one.
const MAX_SKILLS: usize = 100;
/// Maximum size of all skills of a user, in bytes.
const MAX_TOTAL_BYTES: u64 = 64 * 1_024 * 1_024;
/// Maximum number of users whose manifests are kept.
const MAX_CACHED_USERS: usize = 64;
/// Age from which a modification time is trusted: a later change within it may have the same time.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The skills of all users. The default has the built-in one alone.
#[derive(Debug, Default)]
pub struct SkillCatalog {
    settings: Skills,
    mode: AuthMode,
    cleans_text: bool,
    /// Manifests of users, valid as long as their files have the same stamps.
    cache: Mutex<HashMap<UserId, Arc<UserSkills>>>,
}

/// Skills in the folders of a user, of which some may not be offered.
#[derive(Debug, Default)]
struct UserSkills {
    found: Vec<FoundSkill>,
    /// Entries of those that are offered, each with its index in `found`.
    offered: Vec<(usize, Skill)>,
}

impl SkillCatalog {
    /// Creates a catalog of the folders in the settings.
    pub fn new(settings: Skills, mode: AuthMode, cleans_text: bool) -> Self {
        Self { settings, mode, cleans_text, cache: Mutex::default() }
    }

    /// Returns the skills of a principal, the built-in one first. Reads files.
    pub(super) fn list(&self, principal: &Principal) -> Vec<Skill> {
        let own = self.user_skills(principal);
        let own = own.iter().flat_map(|own| own.offered.iter().map(|(_, skill)| skill.clone()));
        std::iter::once(built_in_skill()).chain(own).collect()
    }

    /// Returns the content of a file; `None` if the principal has no skill with this file.
    pub(super) fn read(&self, principal: &Principal, uri: &str) -> Option<ResourceContents> {
        let (name, text) = BUILT_IN_SKILL;
        if uri == file_uri(&[name.to_owned()], &[SKILL_FILE.to_owned()]) {
            return Some(ResourceContents::text(uri, "text/markdown", text.to_owned()));
        }
        let own = self.user_skills(principal)?;
        let (index, names) = own.offered.iter().find_map(|(index, skill)| {
            let position = skill.resources.iter().position(|file| file.uri == uri)?;
            // Files and entries have the same order.
            Some((*index, own.found.get(*index)?.files.keys().nth(position)?))
        })?;
        let skill = own.found.get(index)?;
        let content = self.read_file(skill, skill.files.get(names)?)?;
        let mime_type = mime_type(names, &content);
        Some(match content {
            FileContent::Text(text) => ResourceContents::text(uri, mime_type, text),
            FileContent::Binary(bytes) => ResourceContents {
                uri: uri.to_owned(),
                mime_type: mime_type.to_owned(),
                body: ResourceBody::Blob(STANDARD.encode(bytes)),
                read_on: None,
                meta: None,
            },
        })
    }

    /// Returns the skills in the folders of a principal; `None` for a principal that does not see all
    /// items of its library.
    fn user_skills(&self, principal: &Principal) -> Option<Arc<UserSkills>> {
        let access = principal.access();
        let folders = self.settings.folders_of(principal.user(), self.mode);
        if folders.is_empty() || !access.has_library() || access.item_access().is_some() {
            return None;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled =
            i64::try_from(now.saturating_sub(SETTLED_AFTER).as_nanos()).unwrap_or(i64::MAX);
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for folder in folders {
            let (skills, failed) = find_skills(folder);
            found.extend(skills);
            problems.extend(failed);
        }
        let is_settled = found
            .iter()
            .all(|skill| skill.files.values().all(|file| file.stamp.modified < settled));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = cache.get(principal.user()).filter(|known| is_settled && known.found == found);
        if let Some(known) = known {
            return Some(Arc::clone(known));
        }
        // Reading the files of one user must not delay the others.
        drop(cache);
        let skills = Arc::new(self.read_skills(found, problems));
        cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_CACHED_USERS {
            cache.clear();
        }
        cache.insert(principal.user().clone(), Arc::clone(&skills));
        Some(skills)
    }

    /// Makes the entries of those skills that can be offered, and logs why others cannot.
    fn read_skills(&self, found: Vec<FoundSkill>, mut problems: Vec<SkillProblem>) -> UserSkills {
        let mut skills = UserSkills { found, offered: Vec::new() };
        let mut bytes = 0;
        for (index, skill) in skills.found.iter().enumerate() {
            let entry = if skills.offered.len() >= MAX_SKILLS {
                Err(format!("more than {MAX_SKILLS} skills"))
            } else {
                self.read_skill(skill, &mut bytes)
            };
            let uri = entry.as_ref().map(|entry| entry.uri.clone()).unwrap_or_default();
            let is_known = uri == built_in_skill().uri
                || skills.offered.iter().any(|(_, other)| other.uri == uri);
            match entry {
                Ok(_) if is_known => problems.push(SkillProblem {
                    path: skill.folder(),
                    reason: format!("another skill has the same URI, {uri}"),
                }),
                Ok(entry) => skills.offered.push((index, entry)),
                Err(reason) => problems.push(SkillProblem { path: skill.folder(), reason }),
            }
        }
        for SkillProblem { path, reason } in problems {
            tracing::warn!(path = %path.display(), reason, "a skill is not offered");
        }
        skills
    }

    /// Reads the files of a skill for its manifest. `bytes` counts those of all skills.
    fn read_skill(&self, skill: &FoundSkill, bytes: &mut u64) -> Result<Skill, String> {
        let mut resources = Vec::new();
        let mut frontmatter = None;
        for (names, file) in &skill.files {
            *bytes += file.stamp.size;
            if *bytes > MAX_TOTAL_BYTES {
                return Err(format!("all skills have more than {MAX_TOTAL_BYTES} bytes"));
            }
            let content = self.read_file(skill, file);
            let content = content.ok_or_else(|| format!("cannot read {}", file.path.display()))?;
            if let (FileContent::Text(text), [name]) = (&content, names.as_slice())
                && name == SKILL_FILE
            {
                frontmatter = Some(parse_skill(text, skill.name())?);
            }
            let mime_type = mime_type(names, &content);
            resources.push(manifest_entry(&skill.path, names, content.bytes(), mime_type));
        }
        let frontmatter = frontmatter.ok_or_else(|| format!("{SKILL_FILE} is not UTF-8 text"))?;
        Ok(Skill { uri: file_uri(&skill.path, &[SKILL_FILE.to_owned()]), frontmatter, resources })
    }

    fn read_file(&self, skill: &FoundSkill, file: &SkillFile) -> Option<FileContent> {
        let bytes = skill.read(file).ok()?;
        Some(match String::from_utf8(bytes) {
            Ok(mut text) => {
                if self.cleans_text {
                    safe_text::clean_characters(&mut text);
                    if file.path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
                        safe_text::clean_json_string(&mut text);
                    }
                }
                FileContent::Text(text)
            }
            Err(error) => FileContent::Binary(error.into_bytes()),
        })
    }
}

/// Content of a file as it is served.
enum FileContent {
    Text(String),
    Binary(Vec<u8>),
}

impl FileContent {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

fn built_in_skill() -> Skill {
    let (name, text) = BUILT_IN_SKILL;
    let (path, main) = ([name.to_owned()], [SKILL_FILE.to_owned()]);
    Skill {
        uri: file_uri(&path, &main),
        frontmatter: parse_skill(text, name).unwrap_or_default(),
        resources: vec![manifest_entry(&path, &main, text.as_bytes(), "text/markdown")],
    }
}

fn manifest_entry(
    skill: &[String],
    file: &[String],
    content: &[u8],
    mime_type: &'static str,
) -> SkillResource {
    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        // Writing to a `String` is infallible.
        write!(digest, "{byte:02x}").ok();
    }
    SkillResource { uri: file_uri(skill, file), digest, size: content.len() as u64, mime_type }
}

/// Returns the URI of a file, with the names of folders and file percent-encoded.
fn file_uri(skill: &[String], file: &[String]) -> String {
    let mut uri = SKILL_SCHEME.to_owned();
    for (index, name) in skill.iter().chain(file).enumerate() {
        if index > 0 {
            uri.push('/');
        }
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                write!(uri, "%{byte:02X}").ok();
            }
        }
    }
    uri
}

/// Returns the MIME type by the extension of the name; text and other data without a known one.
fn mime_type(names: &[String], content: &FileContent) -> &'static str {
    let name = names.last().map(PathBuf::from).unwrap_or_default();
    let extension = name.extension().and_then(|it| it.to_str()).unwrap_or_default();
    match (extension.to_ascii_lowercase().as_str(), content) {
        ("md" | "markdown", FileContent::Text(_)) => "text/markdown",
        ("json", FileContent::Text(_)) => "application/json",
        ("html" | "htm", FileContent::Text(_)) => "text/html",
        ("csv", FileContent::Text(_)) => "text/csv",
        ("yaml" | "yml", FileContent::Text(_)) => "application/yaml",
        (_, FileContent::Text(_)) => "text/plain",
        ("png", FileContent::Binary(_)) => "image/png",
        ("jpg" | "jpeg", FileContent::Binary(_)) => "image/jpeg",
        ("pdf", FileContent::Binary(_)) => "application/pdf",
        (_, FileContent::Binary(_)) => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_skill_is_valid() {
        let (name, text) = BUILT_IN_SKILL;
        parse_skill(text, name).unwrap();
        let mut clean = text.to_owned();
        safe_text::clean_string(&mut clean);
        assert_eq!(clean, text);
        assert!(text.len() < 8_000, "{}", text.len());
    }

    #[test]
    fn uri_encodes_special_characters() {
        let uri = file_uri(&["a b".to_owned(), "bake".to_owned()], &["ä%/x.md".to_owned()]);
        assert_eq!(uri, "skill://a%20b/bake/%C3%A4%25%2Fx.md");
    }
}
