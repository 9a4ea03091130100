//! Definition and dispatch of the command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::{
    audit, backup, bundle, check, collection, common::CommonOptions, connect, demo, eval, explain,
    export, get, import, key, list, log, mcp, output, profile, query, restore, schema, search,
    serve, sources, tool, undo, user,
};
use vademecum_core::{
    config::{Settings, child_program, time_zone},
    telemetry,
};
use vademecum_import::set_reader_program;
use vademecum_sql::driver::{SqliteReaderSettings, set_sqlite_readers};

/// One server that holds what you know, and lets your AI agents find it.
#[derive(Debug, Parser)]
#[command(name = "vademecum", version, about, after_help = EXAMPLES)]
struct CommandLine {
    #[command(flatten)]
    common: CommonOptions,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  vademecum demo                            try it on a small built-in library
  vademecum import ~/Documents/Vault        import files of any supported format
  vademecum serve                           serve HTTP and WebSocket at 127.0.0.1:7744/mcp
  vademecum connect cursor --write          let a client use it (also: claude-desktop, vscode, …)
  vademecum mcp                             serve one client over standard input and output
  vademecum search \"when does rye bread rise\"";

#[derive(Debug, Subcommand)]
enum Command {
    /// Try the server: import a small library, search it, and show how to connect a client
    Demo(demo::Demo),
    /// Serve HTTP and WebSocket
    Serve(serve::Serve),
    /// Serve one MCP client over standard input and output, or over the transport in mcp.transport
    Mcp(mcp::Mcp),
    /// Connect a client: show the settings it needs, or write them with --write
    Connect(connect::Connect),
    /// Remove the server from a client's settings
    Disconnect(connect::Disconnect),
    /// Write a bundle that installs the server in Claude Desktop with one click
    Bundle(bundle::Bundle),
    /// Import files; importing a file again updates its items
    Import(import::Import),
    /// Show the import status of each file
    Sources(sources::Sources),
    /// Build, sync, list and remove collections of documents, such as knowledge bases
    #[command(subcommand)]
    Collection(collection::CollectionCommand),
    /// List, show and test the database profiles of the settings
    #[command(subcommand)]
    Profile(profile::ProfileCommand),
    /// List and test the custom tools of the settings
    #[command(subcommand)]
    Tool(tool::ToolCommand),
    /// Run one statement on the database of a profile
    Query(query::Query),
    /// Show the tables of the database of a profile
    Schema(schema::Schema),
    /// Show the execution plan of a query on the database of a profile
    Explain(explain::Explain),
    /// Write the library as Markdown and JSON files
    Export(export::Export),
    /// Back up the databases, also while a server uses them
    Backup(backup::Backup),
    /// Restore a backup
    Restore(restore::Restore),
    /// Search the library
    Search(search::Search),
    /// List items, newest first
    List(list::List),
    /// Print an item of the library
    Get(get::Get),
    /// List the changes of the library
    Log(log::Log),
    /// Undo changes that clients made in the library
    Undo(undo::Undo),
    /// Check settings and databases; rebuild indexes
    #[command(visible_alias = "doctor")]
    Check(check::Check),
    /// Add, list, suspend and remove the users of a multi-user server
    #[command(subcommand)]
    User(user::UserCommand),
    /// Create, list, rotate and revoke API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Print the audit log: calls, failed logins and administrative commands
    Audit(audit::Audit),
    /// Measure search quality on a judged collection
    Eval(eval::Eval),
    /// Parse files for the process that started this one
    #[command(hide = true)]
    Reader,
    /// Read databases for the process that started this one
    #[command(hide = true)]
    SqliteReader,
}

/// Parses the command line, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    // Everything the program writes belongs to its user alone: databases, exports, backups and
    // temporary files.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let line = CommandLine::parse();
    if let Command::Reader | Command::SqliteReader = line.command {
        return run_reader(&line.command);
    }
    // The command itself reports invalid settings.
    let settings = line.common.load_settings().unwrap_or_default();
    telemetry::init_logging(&settings.log);
    set_reader_programs(&settings);
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
            Command::Tool(command) => command.run(&line.common).await,
            Command::Query(command) => command.run(&line.common).await,
            Command::Schema(command) => command.run(&line.common).await,
            Command::Explain(command) => command.run(&line.common).await,
            Command::Export(command) => command.run(&line.common),
            Command::Backup(command) => command.run(&line.common),
            Command::Restore(command) => command.run(&line.common),
            Command::Search(command) => command.run(&line.common).await,
            Command::List(command) => command.run(&line.common).await,
            Command::Get(command) => command.run(&line.common).await,
            Command::Log(command) => command.run(&line.common).await,
            Command::Undo(command) => command.run(&line.common).await,
            Command::Check(command) => command.run(&line.common).await,
            Command::User(command) => command.run(&line.common),
            Command::Key(command) => command.run(&line.common),
            Command::Audit(command) => command.run(&line.common),
            Command::Eval(command) => command.run(&line.common).await,
            Command::Reader | Command::SqliteReader => Ok(run_reader(&line.command)),
        }
    });
    done.unwrap_or_else(|error| {
        output::print_error(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Makes untrusted files and databases be read by child processes of this program.
fn set_reader_programs(settings: &Settings) {
    let program = match child_program() {
        Ok(program) => program,
        Err(error) => {
            tracing::warn!(%error, "cannot find the program of the reader processes");
            return;
        }
    };
    set_reader_program(program.clone());
    let (memory_mb, temp_mb) = (settings.sqlite.read_memory_mb, settings.sqlite.read_temp_mb);
    set_sqlite_readers(SqliteReaderSettings::new(
        program,
        time_zone(),
        memory_mb.get(),
        temp_mb.get(),
    ));
}

/// Reads files or databases for the process that started this one, until that one ends.
fn run_reader(command: &Command) -> ExitCode {
    let done = match command {
        Command::SqliteReader => vademecum_sql::driver::run_sqlite_reader(),
        _ => vademecum_import::run_reader(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        CommandLine::command().debug_assert();
    }
}
