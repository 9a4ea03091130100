//! Definition and dispatch of the command line.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
    time::Instant,
};

use clap::{CommandFactory as _, Parser, Subcommand, error::ErrorKind};

#[cfg(feature = "local-model")]
use super::model;
use super::{
    audit, backup, bundle, check, client, collection, common::CommonOptions, completions, config,
    connect, demo, eval, explain, export, get, help, import, key, links, list, log, login, man,
    mcp, migrate, open, output, profile, query, recall, restore, schema, search, serve, service,
    sources, sync, tool, undo, user,
};
use vademecum_core::{
    config::{Settings, child_program, first_argument, time_zone},
    telemetry,
};
use vademecum_import::set_reader_program;
use vademecum_services::check::require_sandbox;
use vademecum_sql::driver::{SqliteReaderSettings, set_sqlite_readers};

/// One server that holds what you know, and lets your AI agents find it.
#[derive(Debug, Parser)]
#[command(name = "vademecum", version, about, after_help = EXAMPLES, disable_help_subcommand = true)]
struct CommandLine {
    #[command(flatten)]
    common: CommonOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  vademecum demo                            try it on a small built-in library
  vademecum import ~/Documents/Vault        import files of any supported format
  vademecum open                            look at your library in the browser
  vademecum serve                           serve HTTP and WebSocket at 127.0.0.1:7744/mcp
  vademecum connect --all                   let the clients on this machine use it
  vademecum mcp                             serve one client over standard input and output
  vademecum search \"when does rye bread rise\"
  vademecum help agents                     topics: import, search, agents, vault, backup, security";

#[derive(Debug, Subcommand)]
enum Command {
    /// Try the server: import a small library, search it, and show how to connect a client
    Demo(demo::Demo),
    /// Open the library in the browser; start the server if none runs (the default command)
    Open(open::Open),
    /// Serve HTTP and WebSocket
    Serve(serve::Serve),
    /// Keep a server running as a service of your account
    #[command(subcommand)]
    Service(service::ServiceCommand),
    /// Serve one MCP client over standard input and output, or over the transport in mcp.transport
    Mcp(mcp::Mcp),
    /// Connect a client: show the settings it needs, or write them with --write
    Connect(connect::Connect),
    /// Remove the server from a client's settings
    Disconnect(connect::Disconnect),
    /// Show, change and check the settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Write a bundle or a plugin that installs the server in a client
    Bundle(bundle::Bundle),
    /// Install models that search by meaning
    #[cfg(feature = "local-model")]
    #[command(subcommand)]
    Model(model::ModelCommand),
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
    /// Keep your library on several machines in step: by a folder that all see, or by ssh
    Sync(sync::SyncCommand),
    /// Move libraries into the archive of the settings, or out of it
    Migrate(migrate::Migrate),
    /// Search the library
    Search(search::Search),
    /// List items, newest first
    List(list::List),
    /// Show the links of an item
    Links(links::Links),
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
    /// List the clients that users admitted with a browser, and revoke them
    #[command(subcommand)]
    Client(client::ClientCommand),
    /// Print a one-time link that logs a browser in, to admit clients
    Login(login::Login),
    /// Print the audit log: calls, failed logins and administrative commands
    Audit(audit::Audit),
    /// Print what the library has about a prompt, for the hook of a client
    Recall(recall::Recall),
    /// Measure search quality on a judged collection
    Eval(eval::Eval),
    /// Explain a topic (import, search, agents, vault, backup, security) or a command
    Help(help::Help),
    /// Print the completions of a shell
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),
    /// Parse files for the process that started this one
    #[command(hide = true)]
    Reader,
    /// Read databases for the process that started this one
    #[command(hide = true)]
    SqliteReader,
}

/// Returns the definition of the command line, from which the manual is generated.
pub fn command_line() -> clap::Command {
    CommandLine::command()
}

/// Parses the command line, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    make_files_private();
    let begun = Instant::now();
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        // A hook that fails can stop a prompt.
        Err(error) if error.use_stderr() && is_recall() => return ExitCode::SUCCESS,
        Err(error) => error.exit(),
    };
    let Some(command) = line.command.or_else(default_command) else { report_missing_command() };
    if let Command::Recall(command) = command {
        return command.run(line.common, begun);
    }
    if let Command::Reader | Command::SqliteReader = command {
        return run_reader(&command);
    }
    // The command itself reports invalid settings.
    let settings = line.common.load_settings().unwrap_or_default();
    telemetry::init_logging(&settings.log);
    #[cfg(unix)]
    if let Command::Mcp(command) = &command
        && let Some(code) = command.relay(&line.common)
    {
        return code;
    }
    set_reader_programs(&settings);
    if command.reads_untrusted_data()
        && let Err(error) = require_sandbox(&settings)
    {
        output::print_error(&format!("error: {error}"));
        return ExitCode::FAILURE;
    }
    let done = actix::System::new().block_on(async {
        match command {
            Command::Demo(command) => Box::pin(command.run(&line.common)).await,
            Command::Open(command) => command.run(&line.common).await,
            Command::Serve(command) => command.run(&line.common).await,
            Command::Service(command) => command.run(&line.common),
            Command::Mcp(command) => Box::pin(command.run(&line.common)).await,
            Command::Connect(command) => command.run(&line.common),
            Command::Disconnect(command) => command.run(&line.common),
            Command::Config(command) => command.run(&line.common),
            Command::Bundle(command) => command.run(&line.common),
            #[cfg(feature = "local-model")]
            Command::Model(command) => command.run(&line.common),
            Command::Import(command) => Box::pin(command.run(&line.common)).await,
            Command::Sources(command) => command.run(&line.common).await,
            Command::Collection(command) => command.run(&line.common).await,
            Command::Profile(command) => command.run(&line.common).await,
            Command::Tool(command) => command.run(&line.common).await,
            Command::Query(command) => command.run(&line.common).await,
            Command::Schema(command) => command.run(&line.common).await,
            Command::Explain(command) => command.run(&line.common).await,
            Command::Export(command) => command.run(&line.common),
            Command::Backup(command) => command.run(&line.common),
            Command::Restore(command) => command.run(&line.common),
            Command::Sync(command) => command.run(&line.common).await,
            Command::Migrate(command) => command.run(&line.common),
            Command::Search(command) => command.run(&line.common).await,
            Command::Links(command) => command.run(&line.common).await,
            Command::List(command) => command.run(&line.common).await,
            Command::Get(command) => command.run(&line.common).await,
            Command::Log(command) => command.run(&line.common).await,
            Command::Undo(command) => command.run(&line.common).await,
            Command::Check(command) => command.run(&line.common).await,
            Command::User(command) => command.run(&line.common),
            Command::Key(command) => command.run(&line.common),
            Command::Client(command) => command.run(&line.common),
            Command::Login(command) => command.run(&line.common),
            Command::Audit(command) => command.run(&line.common),
            Command::Eval(command) => command.run(&line.common).await,
            Command::Help(command) => command.run(documented_commands()),
            Command::Completions(command) => Ok(command.run(documented_commands())),
            Command::Man(command) => command.run(documented_commands()),
            Command::Recall(command) => Ok(command.run(line.common, begun)),
            Command::Reader | Command::SqliteReader => Ok(run_reader(&command)),
        }
    });
    done.unwrap_or_else(|error| report_error(&error))
}

fn report_error(error: &anyhow::Error) -> ExitCode {
    output::print_error(&format!("error: {error:#}"));
    ExitCode::FAILURE
}

/// Returns the command line without the commands that only the program itself uses.
fn documented_commands() -> clap::Command {
    let all = CommandLine::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
    clap::Command::new("vademecum")
        .version(env!("CARGO_PKG_VERSION"))
        .about(all.get_about().cloned().unwrap_or_default())
        .after_help(EXAMPLES)
        .disable_help_subcommand(true)
        .args(all.get_arguments().cloned())
        .subcommands(shown.cloned())
}

/// Ends the program. A client that names no command must not wait for a server.
fn report_missing_command() -> ! {
    let error = CommandLine::command().error(
        ErrorKind::MissingSubcommand,
        "name a command: clients start `vademecum mcp`; `vademecum --help` lists all",
    );
    error.exit()
}

/// Makes all files that the program writes belong to its user alone: databases, exports, backups and
/// temporary files.
fn make_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

impl Command {
    /// Returns whether the command serves, imports, or reads databases of others.
    fn reads_untrusted_data(&self) -> bool {
        matches!(
            self,
            Self::Demo(_)
                | Self::Open(_)
                | Self::Serve(_)
                | Self::Mcp(_)
                | Self::Import(_)
                | Self::Collection(_)
                | Self::Profile(_)
                | Self::Tool(_)
                | Self::Query(_)
                | Self::Schema(_)
                | Self::Explain(_)
        )
    }
}

/// Returns the command of a person who names none: to see the library.
fn default_command() -> Option<Command> {
    let is_person = io::stdout().is_terminal() && io::stdin().is_terminal();
    is_person.then(|| Command::Open(open::Open::default()))
}

/// Returns true if the command line is that of the recall hook.
fn is_recall() -> bool {
    first_argument().is_some_and(|command| command == "recall")
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
    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        CommandLine::command().debug_assert();
    }
}
