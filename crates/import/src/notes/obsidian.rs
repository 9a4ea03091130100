//! Detection of the template folder of an Obsidian vault.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    SourceFile,
    files::neighbours::{TEMPLATE_SETTINGS, VAULT_SETTINGS_FOLDER},
};

/// Maximum size of a settings file, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1_024 * 1_024;

/// Keys of the template folder in each of [`TEMPLATE_SETTINGS`].
const TEMPLATE_KEYS: [&str; 2] = ["folder", "templates_folder"];

/// Returns the template folder, relative to the vault, that contains the file. Returns `None` for a
/// file that the user named directly or through a folder inside of the vault, because it is wanted.
pub(super) fn template_folder(file: &SourceFile) -> Option<String> {
    let vault = find_vault(file)?;
    let inside = file.path.strip_prefix(&vault).ok()?;
    TEMPLATE_SETTINGS.iter().zip(TEMPLATE_KEYS).find_map(|(settings, key)| {
        let folder = read_setting(file, &vault.join(VAULT_SETTINGS_FOLDER).join(settings), key)?;
        let folder = folder.trim_matches('/');
        (!folder.is_empty() && inside.starts_with(folder)).then(|| folder.to_owned())
    })
}

/// Returns the vault that contains the file, within the folder named by the user.
fn find_vault(file: &SourceFile) -> Option<PathBuf> {
    let root = file.root.as_deref()?;
    let folders = file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    folders
        .into_iter()
        .find(|folder| file.neighbours.has(&folder.join(VAULT_SETTINGS_FOLDER)))
        .map(Path::to_owned)
}

fn read_setting(file: &SourceFile, path: &Path, key: &str) -> Option<String> {
    let opened = file.neighbours.open(path)?;
    let mut settings = Vec::new();
    opened.file.take(MAX_SETTINGS_BYTES).read_to_end(&mut settings).ok()?;
    let settings: Value = serde_json::from_slice(&settings).ok()?;
    Some(settings.get(key)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn template_is_detected_by_vault_settings() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        write("vault/.obsidian/templates.json", r#"{"folder": "Bits/Forms"}"#);
        let form = write("vault/Bits/Forms/day.md", "{{date}}");
        let note = write("vault/Bits/Formsheet.md", "Text");
        let around = |path: &Path, root: Option<&Path>| {
            template_folder(&SourceFile::open(path, root).unwrap())
        };
        assert_eq!(around(&form, Some(folder.path())).as_deref(), Some("Bits/Forms"));
        assert_eq!(around(&note, Some(folder.path())), None);
        assert_eq!(around(&form, None), None);
        assert_eq!(around(&form, form.parent()), None);
        for settings in ["{", "7", r#"{"folder": ""}"#, r#"{"folder": 1}"#] {
            write("vault/.obsidian/templates.json", settings);
            assert_eq!(around(&form, Some(folder.path())), None, "{settings}");
        }
        let settings = r#"{"templates_folder": "Bits/Forms/"}"#;
        write("vault/.obsidian/plugins/templater-obsidian/data.json", settings);
        assert_eq!(around(&form, Some(folder.path())).as_deref(), Some("Bits/Forms"));
    }
}
