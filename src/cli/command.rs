//! What can be said on the command line.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use super::{
    backup, bundle, check, collection, connect, demo, eval, explain, export, get, import, key, mcp,
    output, profile, query, restore, schema, search, serve, sources, user,
};
use crate::app::App;
use vademecum_core::{config::Settings, telemetry};

/// One server that holds what you know, and lets your AI agents find it.
#[derive(Debug, Parser)]
#[command(name = "vademecum", version, about, after_help = EXAMPLES)]
struct Line {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  vademecum demo                            try it on a small library that comes along
  vademecum import ~/Documents/Vault        bring in files of any known kind
  vademecum serve                           serve HTTP and WebSocket at 127.0.0.1:7744/mcp
  vademecum connect cursor --write          let a client use it (also: claude-desktop, vscode, …)
  vademecum mcp                             serve one client over standard input and output
  vademecum search \"when does rye bread rise\"";

/// What every command takes.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Common {
    /// Folder that knowledge is kept in [default: the platform's folder for application data]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Whose library is meant [default: local]
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// File with settings; config.example.toml names them all
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// What is logged to standard error: error, warn, info, debug or trace [default: warn]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(super) log: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try it: a small library, one search through the server, and how to connect
    Demo(demo::Demo),
    /// Serve HTTP and WebSocket
    Serve(serve::Serve),
    /// Serve one MCP client over standard input and output, or what mcp.transport says
    Mcp(mcp::Mcp),
    /// Connect a client: show what to put into its settings, or put it there
    Connect(connect::Connect),
    /// Take the server out of a client's settings again
    Disconnect(connect::Disconnect),
    /// Write a file that installs the server in Claude Desktop with one click
    Bundle(bundle::Bundle),
    /// Bring files in; bringing them in again updates what they became
    Import(import::Import),
    /// Tell what became of every file that was brought in
    Sources(sources::Sources),
    /// Build, sync, list and remove collections of documents, such as knowledge bases
    #[command(subcommand)]
    Collection(collection::Collection),
    /// List, show and test the databases of the settings
    #[command(subcommand)]
    Profile(profile::Profile),
    /// Run one statement on the database of a profile
    Query(query::Query),
    /// Tell which tables the database of a profile has
    Schema(schema::Schema),
    /// Tell how the database of a profile would run a query
    Explain(explain::Explain),
    /// Write the library as Markdown and JSON files
    Export(export::Export),
    /// Copy the databases, also while a server uses them
    Backup(backup::Backup),
    /// Put a backup back in its place
    Restore(restore::Restore),
    /// Search the library
    Search(search::Search),
    /// Read an item of the library
    Get(get::Get),
    /// Look whether settings, databases, disk, clock and profiles are sound, and mend what is derived
    #[command(visible_alias = "doctor")]
    Check(check::Check),
    /// Add and list the users of a server for many
    #[command(subcommand)]
    User(user::User),
    /// Make, list and revoke API keys
    #[command(subcommand)]
    Key(key::Key),
    /// Measure search on a judged collection
    Eval(eval::Eval),
}

impl Common {
    /// The settings in the file, and what the command line says instead.
    pub(super) fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::load(self.config.as_deref())?;
        if let Some(data) = &self.data {
            settings.storage.data = Some(data.clone());
        }
        if let Some(user) = &self.user {
            settings.storage.user.clone_from(user);
        }
        if let Some(level) = &self.log {
            settings.log.level.clone_from(level);
        }
        Ok(settings)
    }

    /// The program, put together.
    pub(super) fn app(&self) -> Result<App> {
        Ok(App::new(self.settings()?)?)
    }
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    let line = Line::parse();
    // What is wrong with the settings is said by the command that takes them.
    let log = line.common.settings().map(|settings| settings.log);
    telemetry::start(&log.unwrap_or_default());
    let done = actix::System::new().block_on(async {
        match line.command {
            Command::Demo(command) => command.run(&line.common).await,
            Command::Serve(command) => command.run(&line.common).await,
            Command::Mcp(command) => command.run(&line.common).await,
            Command::Connect(command) => command.run(&line.common),
            Command::Disconnect(command) => command.run(&line.common),
            Command::Bundle(command) => command.run(&line.common),
            Command::Import(command) => command.run(&line.common).await,
            Command::Sources(command) => command.run(&line.common),
            Command::Collection(command) => command.run(&line.common).await,
            Command::Profile(command) => command.run(&line.common).await,
            Command::Query(command) => command.run(&line.common).await,
            Command::Schema(command) => command.run(&line.common).await,
            Command::Explain(command) => command.run(&line.common).await,
            Command::Export(command) => command.run(&line.common),
            Command::Backup(command) => command.run(&line.common),
            Command::Restore(command) => command.run(&line.common),
            Command::Search(command) => command.run(&line.common).await,
            Command::Get(command) => command.run(&line.common).await,
            Command::Check(command) => command.run(&line.common).await,
            Command::User(command) => command.run(&line.common),
            Command::Key(command) => command.run(&line.common),
            Command::Eval(command) => command.run(&line.common).await,
        }
    });
    done.unwrap_or_else(|error| {
        output::complain(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_makes_sense() {
        Line::command().debug_assert();
    }
}
