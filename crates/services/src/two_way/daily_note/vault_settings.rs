//! The daily note in the settings of a vault: `.obsidian/daily-notes.json`, or `logseq/config.edn`.

use std::path::{Component, Path, PathBuf};

use chrono::NaiveDateTime;
use serde::Deserialize;

use super::format::{FormatStyle, format_time};

/// Settings of Obsidian, below the vault.
pub(super) const OBSIDIAN_FILE: &str = ".obsidian/daily-notes.json";
/// Settings of Logseq, below the graph.
pub(super) const LOGSEQ_FILE: &str = "logseq/config.edn";

/// The daily note of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DailyFile {
    /// Path of the file below the vault.
    pub(super) path: PathBuf,
    /// File of the template below the vault, with and without its extension.
    pub(super) templates: Vec<PathBuf>,
}

/// The settings of the daily notes of Obsidian.
#[derive(Debug, Default, Deserialize)]
struct ObsidianSettings {
    #[serde(default)]
    folder: Option<String>,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    template: Option<String>,
}

/// Reads the settings of Obsidian; an empty text has the defaults.
pub(super) fn obsidian_file(settings: &str, time: NaiveDateTime) -> Result<DailyFile, String> {
    let settings: ObsidianSettings = if settings.trim().is_empty() {
        ObsidianSettings::default()
    } else {
        serde_json::from_str(settings).map_err(|error| {
            format!("{OBSIDIAN_FILE} cannot be read ({error}); save the settings in Obsidian again")
        })?
    };
    let format = settings.format.filter(|format| !format.trim().is_empty());
    let name = format_time(format.as_deref().unwrap_or("YYYY-MM-DD"), FormatStyle::Moment, time);
    let folder = settings.folder.unwrap_or_default();
    let path = path_inside(&format!("{folder}/{name}.md"), OBSIDIAN_FILE)?;
    let template = settings.template.filter(|template| !template.trim().is_empty());
    let templates = match template {
        Some(template) => vec![
            path_inside(&format!("{template}.md"), OBSIDIAN_FILE)?,
            path_inside(&template, OBSIDIAN_FILE)?,
        ],
        None => Vec::new(),
    };
    Ok(DailyFile { path, templates })
}

/// Reads the settings of Logseq.
pub(super) fn logseq_file(settings: &str, time: NaiveDateTime) -> Result<DailyFile, String> {
    let value = |key: &str| edn_text(settings, key);
    let folder = value(":journals-directory").unwrap_or("journals");
    let format = value(":journal/file-name-format").unwrap_or("yyyy_MM_dd");
    let is_org = value(":preferred-format").is_some_and(|it| it.eq_ignore_ascii_case("org"));
    let extension = if is_org { "org" } else { "md" };
    let name = format_time(format, FormatStyle::Logseq, time).replace(['/', '\\'], "_");
    let path = path_inside(&format!("{folder}/{name}.{extension}"), LOGSEQ_FILE)?;
    Ok(DailyFile { path, templates: Vec::new() })
}

/// Returns the text or the keyword of a key in a file of settings; comments are left out.
fn edn_text<'a>(settings: &'a str, key: &str) -> Option<&'a str> {
    settings.lines().find_map(|line| {
        let code = line.split(';').next().unwrap_or_default();
        let (_, after) = code.split_once(key)?;
        let value = after.strip_prefix([' ', '\t'])?.trim_start();
        let value = match value.strip_prefix('"') {
            Some(text) => text.split('"').next(),
            None => value.strip_prefix(':').and_then(|word| word.split([' ', '}']).next()),
        };
        value.map(str::trim).filter(|value| !value.is_empty())
    })
}

/// Returns a path that is below the vault.
fn path_inside(path: &str, settings: &str) -> Result<PathBuf, String> {
    let names = path.split(['/', '\\']).map(str::trim).filter(|name| !name.is_empty());
    let path: PathBuf = names.collect();
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside && path.file_name().is_some() {
        return Ok(path);
    }
    Err(format!("{settings} names `{}`, which is not below the vault", path.display()))
}

/// Fills the variables of a template of Obsidian: `{{title}}`, `{{date}}`, `{{time}}`, the latter two also with a
/// format after a colon.
pub(super) fn fill_template(template: &str, file: &Path, time: NaiveDateTime) -> String {
    let title = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            text.push_str("{{");
            rest = after;
            continue;
        };
        let (kind, format) = name.split_once(':').unwrap_or((name, ""));
        let format = format.trim();
        let formatted = |default: &str| {
            let format = if format.is_empty() { default } else { format };
            format_time(format, FormatStyle::Moment, time)
        };
        match kind.trim().to_lowercase().as_str() {
            "title" => text.push_str(&title),
            "date" => text.push_str(&formatted("YYYY-MM-DD")),
            "time" => text.push_str(&formatted("HH:mm")),
            _ => text.extend(["{{", name, "}}"]),
        }
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    fn time() -> NaiveDateTime {
        NaiveDate::from_ymd_opt(2026, 1, 2).unwrap().and_hms_opt(15, 4, 5).unwrap()
    }

    #[test]
    fn obsidian_settings_name_folder_format_and_template() {
        let file = obsidian_file(
            r#"{"folder": "Log/", "format": "YYYY/[Day] DD", "template": "T/Day", "autorun": true}"#,
            time(),
        );
        let file = file.unwrap();
        assert_eq!(file.path, Path::new("Log/2026/Day 02.md"));
        assert_eq!(file.templates, [Path::new("T/Day.md"), Path::new("T/Day")]);
        assert_eq!(obsidian_file("", time()).unwrap().path, Path::new("2026-01-02.md"));
        assert!(obsidian_file("{", time()).unwrap_err().contains("daily-notes.json"));
    }

    #[test]
    fn paths_out_of_vault_are_errors() {
        for settings in [
            r#"{"folder": "../x"}"#,
            r#"{"format": "[../../]YYYY"}"#,
            r#"{"template": "a/../../b"}"#,
        ] {
            let error = obsidian_file(settings, time()).unwrap_err();
            assert!(error.contains("not below the vault"), "{error}");
        }
        let inside = obsidian_file(r#"{"folder": "/etc"}"#, time()).unwrap();
        assert_eq!(inside.path, Path::new("etc/2026-01-02.md"), "an absolute path is inside");
        assert!(logseq_file(":journals-directory \"..\"", time()).is_err());
    }

    #[test]
    fn logseq_settings_name_journal() {
        let settings = "{:meta/version 1\n ;; :journal/file-name-format \"yyyy\"\n \
                        :preferred-format :org\n :journal/file-name-format \"yyyy-MM-dd\" ; x\n}";
        assert_eq!(
            logseq_file(settings, time()).unwrap().path,
            Path::new("journals/2026-01-02.org")
        );
        let default = logseq_file("{:preferred-format \"Markdown\"}", time()).unwrap();
        assert_eq!(default.path, Path::new("journals/2026_01_02.md"));
    }

    #[test]
    fn template_variables_are_filled() {
        let filled = fill_template(
            "# {{title}}\n{{date:dddd}} {{ time }} {{x}} {{",
            Path::new("Log/2026-01-02.md"),
            time(),
        );
        assert_eq!(filled, "# 2026-01-02\nFriday 15:04 {{x}} {{");
    }
}
