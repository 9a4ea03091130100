//! A plugin for many clients: a folder in the format Agent Plugins 1.0.0, which is also a plugin and a
//! marketplace of Claude Code and of Codex.
//!
//! `plugin.json`, `mcp.json` and `skills` are what the format defines; clients of the format ignore the
//! rest. Claude Code reads `.claude-plugin` and `hooks`. A `command` of the format is a bare name or a
//! path in the plugin, so that the program is found on the search path or is part of the plugin.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use vademecum_tools::BUILT_IN_SKILL;

use super::{connect::LaunchCommand, output::print_line};

/// Name of the plugin, of its marketplace and of its server.
const NAME: &str = "vademecum";

/// Time after which a client ends the hook of recall, in seconds.
const HOOK_TIMEOUT_SECONDS: u32 = 5;

/// Text for people who find the plugin.
const README: &str = "\
# Vademecum

Your own knowledge for your agents: this plugin starts the knowledge server Vademecum, which holds
your notes, documents, mails, bookmarks, chats and sessions of coding agents in a folder on your
machine. Agents search and read it, and cite each item by its address. At each prompt, a hook gives
the model what your library has about it, if there is something; it adds nothing otherwise, and
never delays a prompt by more than a tenth of a second.

The program `vademecum` must be on the search path, unless this folder has it in `bin`. Import
something first: `vademecum import ~/Documents`. Nothing leaves your machine.

## Install

    claude plugin marketplace add FOLDER
    claude plugin install vademecum@vademecum

    codex plugin marketplace add FOLDER
    codex plugin add vademecum@vademecum

Other clients of the format Agent Plugins install this folder itself.
";

/// Where the clients of a plugin find the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On the search path.
    SearchPath,
    /// In the plugin.
    Plugin,
}

/// Writes a plugin to a folder that is new, empty or has an earlier version of it. `start` has the
/// arguments of its server.
pub(super) fn write(folder: &Path, start: &LaunchCommand, with_program: bool) -> Result<ExitCode> {
    check_folder(folder)?;
    let place = if with_program { Place::Plugin } else { Place::SearchPath };
    for (path, content) in files(place, &start.arguments)? {
        write_file(&folder.join(&path), content.as_bytes(), false)?;
    }
    let program = folder.join(packed_program());
    match place {
        Place::Plugin => {
            let bytes = fs::read(&start.command)
                .with_context(|| format!("cannot read this program, {}", start.command))?;
            write_file(&program, &bytes, true)?;
        }
        // An earlier version of the plugin may have it.
        Place::SearchPath if program.exists() => fs::remove_file(&program)
            .with_context(|| format!("cannot remove {}", program.display()))?,
        Place::SearchPath => {}
    }
    let shown = folder.display();
    print_line(&format!(
        "Wrote the plugin to {shown}. To install it:\n\n  \
         claude plugin marketplace add {shown} && claude plugin install {NAME}@{NAME}\n  \
         codex plugin marketplace add {shown} && codex plugin add {NAME}@{NAME}"
    ));
    if place == Place::SearchPath {
        print_line(
            "\nClients start `vademecum` from the search path (PATH). Where it is not installed, use \
             --with-program.",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails if the folder has files that are not of an earlier version of the plugin.
fn check_folder(folder: &Path) -> Result<()> {
    let read = |path: &str| fs::read_to_string(folder.join(path)).ok();
    let manifest = read("plugin.json").and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let is_ours = manifest.is_some_and(|manifest| manifest["name"] == NAME);
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => {
            return Err(error).with_context(|| format!("cannot write to {}", folder.display()));
        }
    };
    if !is_empty && !is_ours {
        bail!("{} is not empty; name a new folder for the plugin", folder.display());
    }
    Ok(())
}

/// Writes a file so that it has all its content or does not exist under its name.
fn write_file(path: &Path, content: &[u8], is_program: bool) -> Result<()> {
    let write = || {
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder)?;
        let mut new = NamedTempFile::new_in(folder)?;
        new.write_all(content)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = if is_program { 0o755 } else { 0o644 };
            fs::set_permissions(new.path(), fs::Permissions::from_mode(mode))?;
        }
        #[cfg(not(unix))]
        let _ = is_program;
        new.persist(path).map_err(|failed| failed.error)?;
        std::io::Result::Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Path of the program in a plugin.
fn packed_program() -> PathBuf {
    Path::new("bin").join(if cfg!(windows) { "vademecum.exe" } else { NAME })
}

/// Returns the path and the content of each file of the plugin, without the program.
fn files(place: Place, arguments: &[String]) -> Result<Vec<(String, String)>> {
    let schema = |name| format!("https://agent-plugins.org/schemas/1.0.0/{name}.schema.json");
    let packed = packed_program().to_string_lossy().replace('\\', "/");
    // The format resolves paths in the plugin; Claude Code has a variable for its folder.
    let (command, claude_command, hook_command) = match place {
        Place::SearchPath => (NAME.to_owned(), NAME.to_owned(), NAME.to_owned()),
        Place::Plugin => (
            format!("./{packed}"),
            format!("${{CLAUDE_PLUGIN_ROOT}}/{packed}"),
            format!("\"${{CLAUDE_PLUGIN_ROOT}}/{packed}\""),
        ),
    };
    let mut manifest = json!({ "$schema": schema("plugin") });
    let mut claude_manifest = json!({
        "mcpServers": { NAME: { "command": claude_command, "args": arguments } },
    });
    for part in [&mut manifest, &mut claude_manifest] {
        part["name"] = json!(NAME);
        part["version"] = json!(env!("CARGO_PKG_VERSION"));
        part["description"] = json!(env!("CARGO_PKG_DESCRIPTION"));
        part["author"] = json!({ "name": "Vademecum" });
        part["license"] = json!(env!("CARGO_PKG_LICENSE"));
        part["keywords"] = json!(["knowledge", "notes", "search", "library", "memory"]);
    }
    let servers = json!({
        "$schema": schema("mcp"),
        "mcpServers": { NAME: { "type": "stdio", "command": command, "args": arguments } },
    });
    let library = arguments.get(1..).unwrap_or_default();
    let hook = std::iter::once(format!("{hook_command} recall"))
        .chain(library.iter().map(|word| super::connect::quote_word(word)))
        .collect::<Vec<_>>()
        .join(" ");
    let hooks = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [
        { "type": "command", "command": hook, "timeout": HOOK_TIMEOUT_SECONDS },
    ]}]}});
    let marketplace = json!({
        "name": NAME,
        "owner": { "name": "Vademecum" },
        "metadata": { "description": env!("CARGO_PKG_DESCRIPTION") },
        "plugins": [{
            "name": NAME,
            "source": "./",
            "description": env!("CARGO_PKG_DESCRIPTION"),
            "version": env!("CARGO_PKG_VERSION"),
        }],
    });
    let (skill, skill_text) = BUILT_IN_SKILL;
    let json_files = [
        ("plugin.json", manifest),
        ("mcp.json", servers),
        (".claude-plugin/plugin.json", claude_manifest),
        (".claude-plugin/marketplace.json", marketplace),
        ("hooks/hooks.json", hooks),
    ];
    let mut files = vec![
        ("README.md".to_owned(), README.to_owned()),
        (format!("skills/{skill}/SKILL.md"), skill_text.to_owned()),
    ];
    for (path, value) in json_files {
        files.push((path.to_owned(), serde_json::to_string_pretty(&value)? + "\n"));
    }
    // The manifest last: a folder with it has all other files.
    files.sort_by_key(|(path, _)| path == "plugin.json");
    Ok(files)
}
