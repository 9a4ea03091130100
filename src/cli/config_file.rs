//! The settings file: edited so that comments stay, checked before it is written, and written
//! atomically with access for its owner only.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};
use vademecum_core::config::Settings;

/// The settings file and its text when it was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// Path with links resolved: the target of a link is written, and the link is kept.
    path: PathBuf,
    text: String,
}

impl ConfigFile {
    /// Reads the file. A missing one has an empty text.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        let path = fs::canonicalize(&path).unwrap_or(path);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        Ok(Self { path, text })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value of a setting as TOML, if the file has it.
    pub(super) fn value(&self, key: &str) -> Result<Option<String>> {
        let document: DocumentMut = self.text.parse()?;
        let mut item = document.as_item();
        for part in Key::parse(key)? {
            match item.as_table_like().and_then(|table| table.get(part.get())) {
                Some(inner) => item = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(match item {
            Item::Value(value) => value.clone().decorated("", "").to_string(),
            other => other.to_string().trim().to_owned(),
        }))
    }

    /// Sets a value, which is TOML or a text without quotes. Fails if the settings would be invalid.
    pub(super) fn set(&self, key: &str, value: &str) -> Result<()> {
        let as_text = Value::from(value);
        let (first, second) = match value.parse::<Value>() {
            Ok(value) => (value, Some(as_text)),
            Err(_) => (as_text, None),
        };
        let text = with_value(&self.text, key, first)?;
        let checked = match (check_settings(&text), second) {
            (Ok(()), _) => Ok(text),
            (Err(error), None) => Err(error),
            // `storage.user = 2026` is a text.
            (Err(error), Some(second)) => {
                let text = with_value(&self.text, key, second)?;
                check_settings(&text).map(|()| text).map_err(|_| error)
            }
        };
        self.write(&checked.context("nothing was changed")?)
    }

    /// Writes a text atomically. Fails if the file has changed since it was read.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        let action = || format!("cannot write {}", self.path.display());
        let folder = self.path.parent().context("the root folder is not a file")?;
        vademecum_store::create_private_folder(folder).with_context(action)?;
        // Temporary files are created with mode 0600.
        let mut file = NamedTempFile::new_in(folder).with_context(action)?;
        file.write_all(text.as_bytes()).with_context(action)?;
        file.as_file().sync_all().with_context(action)?;
        if Self::read(&self.path)?.text != self.text {
            bail!("{} was changed by another program; try again", self.path.display());
        }
        file.persist(&self.path).with_context(action)?;
        Ok(())
    }
}

/// Fails if a server with these settings would not start.
pub(super) fn check_settings(text: &str) -> Result<()> {
    let settings = Settings::parse(text)?;
    settings.storage.user.parse::<vademecum_core::auth::UserId>()?;
    settings.listen_address()?;
    if settings.mcp.enabled {
        settings.mcp_transport()?;
    }
    settings.with_oauth_resource()?;
    Ok(())
}

/// Returns the text with this value. The comment behind a value stays.
fn with_value(text: &str, key: &str, mut value: Value) -> Result<String> {
    let mut document: DocumentMut = text.parse()?;
    let keys = Key::parse(key)?;
    let Some((last, sections)) = keys.split_last() else { bail!("name a setting") };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for section in sections {
        let item = table.entry(section.get()).or_insert_with(|| {
            let mut table = Table::new();
            // A section with sections only has no header of its own.
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item
            .as_table_like_mut()
            .with_context(|| format!("`{}` is a value and no section", section.get()))?;
    }
    match table.get_mut(last.get()) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(_) => bail!("`{key}` is a section; name a setting in it"),
        None => drop(table.insert(last.get(), Item::Value(value))),
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_value_keeps_comments() {
        let text =
            "# Mine.\n[server] # here\nlisten = \"127.0.0.1:1\" # local\n\n# Tools.\n[tools]\n";
        let value = |text: &str| text.parse::<Value>().unwrap_or_else(|_| text.into());
        let text = with_value(text, "server.listen", value("127.0.0.1:9000")).unwrap();
        let text = with_value(&text, "tools.write", value("true")).unwrap();
        let text = with_value(&text, "auth.jwt.issuer", value("https://id.example")).unwrap();
        assert_eq!(
            text,
            "# Mine.\n[server] # here\nlisten = \"127.0.0.1:9000\" # local\n\n# Tools.\n[tools]\n\
             write = true\n\n[auth.jwt]\nissuer = \"https://id.example\"\n"
        );
        assert!(with_value(&text, "server", value("1")).is_err());
        assert!(with_value(&text, "server.listen.port", value("1")).is_err());
    }

    #[test]
    fn invalid_value_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let set = |key, value| ConfigFile::read(&path).unwrap().set(key, value);
        set("storage.user", "2026").unwrap();
        let before = fs::read_to_string(&path).unwrap();
        assert_eq!(before, "[storage]\nuser = \"2026\"\n");
        for (key, value, problem) in [
            ("server.lissen", "127.0.0.1:1", "did you mean `listen`"),
            ("server.listen", "0.0.0.0:80", "other machines"),
            ("tools.write", "maybe", "boolean"),
            ("storage.user", "../ada", ""),
        ] {
            let refused = format!("{:#}", set(key, value).unwrap_err());
            assert!(
                refused.contains(problem) && refused.contains("nothing was changed"),
                "{refused}"
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
}
