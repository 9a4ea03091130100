//! `vademecum bundle`.

use std::{
    fs,
    io::{Cursor, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vademecum_mcp::{ToolEffect, Toolset};
use vademecum_tools::RegisteredTool;
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{common::CommonOptions, connect::LaunchCommand, output::print_line, plugin};
use crate::registry;

/// Version of the manifest's specification.
const MANIFEST_VERSION: &str = "0.3";

/// Placeholder for the user's home folder in a manifest.
const HOME_PLACEHOLDER: &str = "${HOME}";

/// Write a bundle (.mcpb) that installs this program in a client, or a plugin
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The bundle is for machines of the same platform. Open it, or drag it into the extensions
of Claude Desktop. --data is the default folder there, --user and --config are built in.

--plugin writes a folder in the format Agent Plugins 1.0.0, with the server, the hook of recall and
the skill of the library, which is also a marketplace of Claude Code and Codex:

  claude plugin marketplace add DIR   claude plugin install vademecum@vademecum
  codex plugin marketplace add DIR    codex plugin add vademecum@vademecum

Examples:
  vademecum bundle
  vademecum bundle --plugin ~/vademecum-plugin
  vademecum bundle -o ~/Desktop/knowledge.mcpb --data ~/knowledge")]
pub(super) struct Bundle {
    /// File to write [default: vademecum-<version>-<platform>.mcpb]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a plugin to this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    plugin: Option<PathBuf>,
    /// Put the program into the plugin, which then needs no installed program, but is for this
    /// platform only
    #[arg(long, requires = "plugin")]
    with_program: bool,
}

/// Operating system of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Platform {
    Darwin,
    Win32,
    Linux,
}

impl Bundle {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        if let Some(folder) = &self.plugin {
            let start = LaunchCommand::from_options(common)?;
            return plugin::write(folder, &start, self.with_program);
        }
        let platform = Platform::CURRENT;
        let output = self.output.unwrap_or_else(|| {
            format!("vademecum-{}-{}.mcpb", env!("CARGO_PKG_VERSION"), platform.name()).into()
        });
        // Packing the program takes a while.
        let folder = output.parent().filter(|it| !it.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("cannot write {}: there is no folder {}", output.display(), folder.display());
        }
        let folder = default_data_folder(&common.load_settings()?.storage.data_folder()?)?;
        let start = LaunchCommand::from_options(&CommonOptions { data: None, ..common.clone() })?;
        let manifest = build_manifest(platform, &start.arguments, &folder);
        let manifest = serde_json::to_string_pretty(&manifest)? + "\n";
        let program = fs::read(&start.command)
            .with_context(|| format!("cannot read this program, {}", start.command))?;
        let packed = build_archive(&[
            ("manifest.json", 0o644, manifest.as_bytes()),
            (platform.program_path(), 0o755, &program),
        ])?;
        fs::write(&output, packed).with_context(|| format!("cannot write {}", output.display()))?;
        print_line(&format!("Wrote {}; open it with Claude Desktop.", output.display()));
        Ok(ExitCode::SUCCESS)
    }
}

impl Platform {
    const CURRENT: Self = if cfg!(windows) {
        Self::Win32
    } else if cfg!(target_os = "macos") {
        Self::Darwin
    } else {
        Self::Linux
    };

    fn name(self) -> &'static str {
        match self {
            Self::Darwin => "darwin",
            Self::Win32 => "win32",
            Self::Linux => "linux",
        }
    }

    /// Path of the program in the bundle.
    fn program_path(self) -> &'static str {
        match self {
            Self::Darwin | Self::Linux => "server/vademecum",
            Self::Win32 => "server/vademecum.exe",
        }
    }
}

/// Returns the default data folder in the manifest. A folder below this user's home becomes one
/// below the home of the user who installs the bundle.
fn default_data_folder(folder: &Path) -> Result<String> {
    let folder = std::path::absolute(folder)?;
    let below = dirs::home_dir().and_then(|home| Some(folder.strip_prefix(home).ok()?.to_owned()));
    let folder = below.map_or(folder, |below| Path::new(HOME_PLACEHOLDER).join(below));
    let text = folder.to_str().map(str::to_owned);
    text.with_context(|| {
        format!("{} is not valid Unicode, which a bundle requires", folder.display())
    })
}

/// Returns the manifest of the bundle.
fn build_manifest(platform: Platform, arguments: &[String], folder: &str) -> Value {
    let command = format!("${{__dirname}}/{}", platform.program_path());
    let folder_arguments = ["--data".to_owned(), "${user_config.data}".to_owned()];
    let arguments = [arguments, &folder_arguments].concat();
    json!({
        "manifest_version": MANIFEST_VERSION,
        "name": "vademecum",
        "display_name": "Vademecum",
        "version": env!("CARGO_PKG_VERSION"),
        "description": env!("CARGO_PKG_DESCRIPTION"),
        "author": { "name": "Vademecum" },
        "license": env!("CARGO_PKG_LICENSE"),
        "keywords": ["knowledge", "notes", "search", "library", "personal"],
        "server": {
            "type": "binary",
            "entry_point": platform.program_path(),
            "mcp_config": {
                "command": command,
                "args": arguments,
                "env": {},
                "platform_overrides": { platform.name(): { "command": command } },
            },
        },
        "compatibility": { "claude_desktop": ">=0.10.0", "platforms": [platform.name()] },
        "user_config": {
            "data": {
                "type": "directory",
                "title": "Folder of your library",
                "description": "Where your notes, media, chats, characters and prompts are kept. \
                                The command line uses the same folder by default.",
                // Required, so that the client shows the default with the user's home in it, and
                // the user knows where the data is stored.
                "required": true,
                "default": folder,
            },
        },
        "tools": tool_entries(),
        // More prompts come from the user's library.
        "prompts_generated": true,
    })
}

/// Returns the tools that a desktop client shows, under names that it accepts.
fn tool_entries() -> Vec<Value> {
    let tools = registry::tools();
    let entries = tools.iter().map(RegisteredTool::entry);
    let shown = entries
        .filter(|entry| entry.toolset == Toolset::Knowledge && entry.effect == ToolEffect::Reads);
    shown
        .map(|entry| {
            json!({ "name": entry.name.replace('.', "_"), "description": entry.description })
        })
        .collect()
}

/// Returns a ZIP archive of these files: path, permissions and content. The result is reproducible:
/// it contains no current time.
fn build_archive(files: &[(&str, u32, &[u8])]) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, rights, content) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(*rights);
        archive.start_file(*path, options)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_names_program_of_platform() {
        for (platform, name, program) in [
            (Platform::Linux, "linux", "server/vademecum"),
            (Platform::Darwin, "darwin", "server/vademecum"),
            (Platform::Win32, "win32", "server/vademecum.exe"),
        ] {
            let manifest = build_manifest(platform, &["mcp".to_owned()], "/data");
            let command = format!("${{__dirname}}/{program}");
            let server = &manifest["server"];
            assert_eq!(server["entry_point"], program);
            assert_eq!(server["mcp_config"]["command"], command);
            assert_eq!(server["mcp_config"]["platform_overrides"][name]["command"], command);
            assert_eq!(manifest["compatibility"]["platforms"], json!([name]));
        }
    }

    #[test]
    fn folder_below_home_uses_home_placeholder() {
        let home = dirs::home_dir().unwrap();
        let below = Path::new(HOME_PLACEHOLDER).join("a").join("b");
        assert_eq!(default_data_folder(&home.join("a/b")).unwrap(), below.to_str().unwrap());
        let outside = tempfile::tempdir().unwrap();
        assert_eq!(default_data_folder(outside.path()).unwrap(), outside.path().to_str().unwrap());
    }

    #[test]
    fn archive_is_reproducible() {
        let files: [(&str, u32, &[u8]); 2] = [("a", 0o644, b"one"), ("b/c", 0o755, b"two")];
        assert_eq!(build_archive(&files).unwrap(), build_archive(&files).unwrap());
    }
}
