//! `vademecum bundle`.

use std::{
    fs,
    io::{Cursor, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{command::Common, connect::Start, output::say};
use crate::{registry, tools::Tool};
use vademecum_mcp::{Effect, Toolset};

/// The version of the manifest's specification.
const MANIFEST_VERSION: &str = "0.3";

/// Where the user's home is, in the words of a manifest.
const HOME: &str = "${HOME}";

/// Writes a bundle (.mcpb) that installs this program in a client.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The bundle is for machines of the same kind as this one. Open it, or drag it into the extensions
of Claude Desktop. --data is the folder that is proposed there, --user and --config are built in.

Examples:
  vademecum bundle
  vademecum bundle -o ~/Desktop/knowledge.mcpb --data ~/knowledge")]
pub(super) struct Bundle {
    /// File to write [default: vademecum-<version>-<platform>.mcpb]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Platform {
    Darwin,
    Win32,
    Linux,
}

impl Bundle {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let platform = Platform::HERE;
        let folder = proposed(&common.settings()?.storage.folder()?)?;
        let start = Start::of(&Common { data: None, ..common.clone() })?;
        let manifest = manifest(platform, &start.arguments, &folder);
        let manifest = serde_json::to_string_pretty(&manifest)? + "\n";
        let program = fs::read(&start.command)
            .with_context(|| format!("cannot read this program, {}", start.command))?;
        let output = self.output.unwrap_or_else(|| {
            format!("vademecum-{}-{}.mcpb", env!("CARGO_PKG_VERSION"), platform.name()).into()
        });
        let packed = packed(&[
            ("manifest.json", 0o644, manifest.as_bytes()),
            (platform.program(), 0o755, &program),
        ])?;
        fs::write(&output, packed).with_context(|| format!("cannot write {}", output.display()))?;
        say(&format!("Wrote {}; open it with Claude Desktop.", output.display()));
        Ok(ExitCode::SUCCESS)
    }
}

impl Platform {
    const HERE: Self = if cfg!(windows) {
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

    /// Where in the bundle the program is.
    fn program(self) -> &'static str {
        match self {
            Self::Darwin | Self::Linux => "server/vademecum",
            Self::Win32 => "server/vademecum.exe",
        }
    }
}

/// The folder that is proposed for data. Below the home of whoever makes the
/// bundle, it is proposed below the home of whoever installs it.
fn proposed(folder: &Path) -> Result<String> {
    let folder = std::path::absolute(folder)?;
    let below = dirs::home_dir().and_then(|home| Some(folder.strip_prefix(home).ok()?.to_owned()));
    let folder = below.map_or(folder, |below| Path::new(HOME).join(below));
    let text = folder.to_str().map(str::to_owned);
    text.with_context(|| format!("{} is not Unicode, and a bundle is", folder.display()))
}

/// What the bundle says of itself.
fn manifest(platform: Platform, arguments: &[String], folder: &str) -> Value {
    let command = format!("${{__dirname}}/{}", platform.program());
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
            "entry_point": platform.program(),
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
                                The command line uses the same folder unless told otherwise.",
                // Asked for, not assumed: then the client shows the proposal with
                // the user's home in it, and nothing is kept where nobody knows.
                "required": true,
                "default": folder,
            },
        },
        "tools": tools(),
        // The user's own come with the library.
        "prompts_generated": true,
    })
}

/// The tools that a desktop client is shown, under the names that it accepts.
fn tools() -> Vec<Value> {
    let tools = registry::tools();
    let entries = tools.iter().map(Tool::entry);
    let shown = entries
        .filter(|entry| entry.toolset == Toolset::Knowledge && entry.effect == Effect::Reads);
    shown
        .map(|entry| {
            json!({ "name": entry.name.replace('.', "_"), "description": entry.description })
        })
        .collect()
}

/// An archive of these files: path, rights and content. The same files make
/// the same archive, whenever it is made.
fn packed(files: &[(&str, u32, &[u8])]) -> Result<Vec<u8>> {
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
    fn a_bundle_names_the_program_of_its_platform() {
        for (platform, name, program) in [
            (Platform::Linux, "linux", "server/vademecum"),
            (Platform::Darwin, "darwin", "server/vademecum"),
            (Platform::Win32, "win32", "server/vademecum.exe"),
        ] {
            let manifest = manifest(platform, &["mcp".to_owned()], "/data");
            let command = format!("${{__dirname}}/{program}");
            let server = &manifest["server"];
            assert_eq!(server["entry_point"], program);
            assert_eq!(server["mcp_config"]["command"], command);
            assert_eq!(server["mcp_config"]["platform_overrides"][name]["command"], command);
            assert_eq!(manifest["compatibility"]["platforms"], json!([name]));
        }
    }

    #[test]
    fn a_folder_below_the_home_is_proposed_below_any_home() {
        let home = dirs::home_dir().unwrap();
        let below = Path::new(HOME).join("a").join("b");
        assert_eq!(proposed(&home.join("a/b")).unwrap(), below.to_str().unwrap());
        let outside = tempfile::tempdir().unwrap();
        assert_eq!(proposed(outside.path()).unwrap(), outside.path().to_str().unwrap());
    }

    #[test]
    fn the_same_files_make_the_same_archive() {
        let files: [(&str, u32, &[u8]); 2] = [("a", 0o644, b"one"), ("b/c", 0o755, b"two")];
        assert_eq!(packed(&files).unwrap(), packed(&files).unwrap());
    }
}
