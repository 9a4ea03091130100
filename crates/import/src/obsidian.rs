//! What an Obsidian vault says about the files in it.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::SourceFile;

/// Longest settings that are read, in bytes.
const MAX_SETTINGS: u64 = 1_024 * 1_024;

/// Where a folder of templates is named: the file below `.obsidian`, and the key.
const TEMPLATES: [(&str, &str); 2] =
    [("templates.json", "folder"), ("plugins/templater-obsidian/data.json", "templates_folder")];

/// The folder of templates in which a file of a vault lies, by its name there.
/// A file that the user named himself, or in a folder below that of the vault,
/// is what he wants.
pub(super) fn templates_around(file: &SourceFile) -> Option<String> {
    let vault = vault(file)?;
    let inside = file.path.strip_prefix(&vault).ok()?;
    TEMPLATES.iter().find_map(|(settings, key)| {
        let folder = setting(&vault.join(".obsidian").join(settings), key)?;
        let folder = folder.trim_matches('/');
        (!folder.is_empty() && inside.starts_with(folder)).then(|| folder.to_owned())
    })
}

/// The vault in which a file lies, within the folder that the user named.
fn vault(file: &SourceFile) -> Option<PathBuf> {
    let root = file.root.as_deref()?;
    let folders = file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    folders.into_iter().find(|folder| folder.join(".obsidian").is_dir()).map(Path::to_owned)
}

fn setting(path: &Path, key: &str) -> Option<String> {
    let mut settings = Vec::new();
    File::open(path).ok()?.take(MAX_SETTINGS).read_to_end(&mut settings).ok()?;
    let settings: Value = serde_json::from_slice(&settings).ok()?;
    Some(settings.get(key)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_template_is_known_by_the_settings_of_its_vault() {
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
            templates_around(&SourceFile::open(path, root).unwrap())
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
