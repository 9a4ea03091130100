//! End-to-end tests of `migrate`: a library goes into an archive and comes back the same, whatever
//! interrupts it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use vademecum_replication::{ArchivedStore, TableDigests};
use vademecum_store::{Database, Store};

use crate::support::{
    CommandOutput, Library, McpClient, SOURCES, SeededRng, TestDatabase, folder_snapshot,
    vademecum_command,
};

/// Variables that name an archive.
const VARIABLES: [&str; 2] = ["VADEMECUM_ARCHIVE_URL", "VADEMECUM_ARCHIVE_SCHEMA"];
/// Notes in the larger library.
const MANY: usize = 1_500;

/// An archive with a database of its own.
struct TestArchive(TestDatabase);

impl TestArchive {
    fn new() -> Self {
        Self(TestDatabase::postgres())
    }

    /// Returns a command whose settings name the archive.
    fn command(&self, data: &Path, arguments: &[&str]) -> Command {
        let server = self.0.server();
        let password = server.password.as_ref().unwrap().expose_secret();
        let (user, host, port, database) =
            (&server.user, &server.host, server.port, &server.database);
        let url = format!("postgres://{user}:{password}@{host}:{port}/{database}");
        let mut command = local_command(data, arguments);
        command.env(VARIABLES[0], url).env(VARIABLES[1], "kept");
        command
    }

    fn run(&self, data: &Path, arguments: &[&str]) -> CommandOutput {
        finish(&mut self.command(data, arguments))
    }

    /// Runs a command that must succeed.
    fn succeed(&self, data: &Path, arguments: &[&str]) -> CommandOutput {
        let done = self.run(data, arguments);
        assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
        done
    }

    /// Returns the users and databases of the archive.
    fn parts(&self) -> String {
        self.0.query_value(
            "SELECT string_agg(user_id || '/' || part, ' ' ORDER BY user_id, part) FROM kept.part",
        )
    }
}

/// Returns a command of a server without an archive.
fn local_command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = vademecum_command();
    command.args(arguments).arg("--data").arg(data).stdin(Stdio::null());
    remove_archive(&mut command);
    command
}

fn remove_archive(command: &mut Command) {
    for name in VARIABLES {
        command.env_remove(name);
    }
}

fn finish(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    output.into()
}

/// Runs a command without an archive, which must succeed.
fn succeed(data: &Path, arguments: &[&str]) -> CommandOutput {
    let done = finish(&mut local_command(data, arguments));
    assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
    done
}

fn import(library: &Library, user: &str, name: &str, text: &str) {
    let path = library.write_file(&format!("{user}/{name}"), text);
    // The user may have been added before.
    finish(&mut local_command(&library.data_folder(), &["user", "add", user]));
    succeed(&library.data_folder(), &["import", path.to_str().unwrap(), "--user", user]);
}

/// Creates a server with two users: all kinds of items, versions, a key and a collection.
fn two_users() -> Library {
    let library = Library::new();
    let data = library.data_folder();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    succeed(&data, &["user", "add", "ada"]);
    succeed(&data, &["key", "create", "--user", "ada"]);
    for kind in SOURCES {
        let folder = fixtures.join(kind);
        succeed(&data, &["import", kind, folder.to_str().unwrap(), "--user", "ada"]);
    }
    for text in ["# Bread\nKnead.", "# Bread\nKnead, rest.", "# Bread\nKnead, rest, bake."] {
        import(&library, "ada", "bread.md", text);
    }
    import(&library, "Bob", "oven.md", "# Oven\nPreheat it.");
    let manual = library.write_file("manual/one.md", "# Manual\nTurn the knob.");
    let folder = manual.parent().unwrap().to_str().unwrap();
    succeed(&data, &["collection", "build", "manual", folder]);
    library
}

/// Returns the rows of every database below a data folder that an archive keeps, by path.
fn digests(data: &Path) -> BTreeMap<PathBuf, TableDigests> {
    let kind = |name: &str| match name {
        "chacha.db" => Database::Chacha,
        "media.db" => Database::Media,
        "prompts.db" => Database::Prompts,
        "imports.db" => Database::Imports,
        "server.db" => Database::Server,
        "audit.db" => Database::Audit,
        _ => Database::Collection,
    };
    let paths = folder_snapshot(data).into_keys();
    let databases = paths.filter(|path| path.extension().is_some_and(|it| it == "db"));
    let found = databases.map(|path| {
        let kind = kind(path.file_name().unwrap().to_str().unwrap());
        let rows = Store::with_path(kind, path.clone()).digest_rows().unwrap();
        (path.strip_prefix(data).unwrap().to_owned(), rows)
    });
    found.collect()
}

/// Returns the files of an export.
fn export(library: &Library, name: &str, command: &mut Command) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = library.file_path(name);
    let done = finish(command.arg("export").arg(&folder));
    assert_eq!(done.code, 0, "{done:?}");
    let files = folder_snapshot(&folder).into_iter();
    files
        .map(|(path, (content, _))| (path.strip_prefix(&folder).unwrap().into(), content))
        .collect()
}

#[test]
fn library_returns_from_archive_unchanged() {
    let (library, other) = (two_users(), Library::new());
    let (data, back) = (library.data_folder(), other.data_folder());
    let archive = TestArchive::new();
    let before = digests(&data);
    assert_eq!(before.len(), 9, "{:?}", before.keys());
    let users = ["ada", "Bob"];
    let exports = users.map(|user| {
        export(&library, &format!("{user}1"), &mut local_command(&data, &["--user", user]))
    });
    assert!(exports[0].keys().any(|path| path.to_string_lossy().contains("versions")));
    let log = succeed(&data, &["log", "--user", "ada", "--json"]).stdout;

    let refused = archive.run(&data, &["search", "bread", "--user", "ada"]);
    assert!(refused.code == 1 && refused.stderr.contains("migrate --to archive"), "{refused:?}");
    let done = archive.succeed(&data, &["migrate", "--to", "archive"]);
    let lines: Vec<_> = done.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{done:?}");
    for (line, begin) in lines.iter().zip(["server: moved", "user Bob: moved", "user ada: moved"]) {
        assert!(line.starts_with(begin), "{done:?}");
    }
    let again = archive.succeed(&data, &["migrate", "--to", "archive", "--json"]).parse_json();
    assert_eq!(again["moved"]["databases"], 0, "{again}");
    let with_archive = |data: &Path, name: &str| {
        users.map(|user| {
            export(&other, &format!("{user}{name}"), &mut archive.command(data, &["--user", user]))
        })
    };
    assert_eq!(with_archive(&data, "2"), exports);

    // A new server has everything, and a folder without an archive can be made from it.
    let fresh = other.file_path("fresh");
    assert_eq!(with_archive(&fresh, "3"), exports);
    let done = archive.succeed(&back, &["migrate", "--from", "archive"]);
    assert!(done.stdout.contains("user ada: moved"), "{done:?}");
    assert_eq!(digests(&back), before);
    let local = users.map(|user| {
        export(&other, &format!("{user}4"), &mut local_command(&back, &["--user", user]))
    });
    assert_eq!(local, exports);
    assert_eq!(succeed(&back, &["log", "--user", "ada", "--json"]).stdout, log);
    assert_eq!(fs::read(back.join("server.key")).ok(), fs::read(data.join("server.key")).ok());
    assert!(succeed(&back, &["search", "bread", "--user", "ada"]).stdout.contains("Bread"));
    assert_eq!(finish(&mut local_command(&back, &["check"])).code, 0);
    // Also the folder that it came from.
    archive.succeed(&data, &["migrate", "--from", "archive"]);
    let mut after = digests(&data);
    // Reading a library creates its files.
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after, before);
    succeed(&data, &["search", "bread", "--user", "ada"]);
}

#[test]
fn dry_run_changes_neither_archive_nor_folder() {
    let (library, other) = (two_users(), Library::new());
    let (data, back) = (library.data_folder(), other.data_folder());
    let archive = TestArchive::new();
    let rows = digests(&data);
    let schemas = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'kept'";
    let planned = archive.succeed(&data, &["migrate", "--to", "archive", "--dry-run"]).stdout;
    assert!(planned.contains("user ada: would move 4 databases"), "{planned}");
    assert!(planned.contains("nothing was changed"), "{planned}");
    assert_eq!((digests(&data), archive.0.query_value(schemas).as_str()), (rows, "0"));
    // The first reader of a file moves its write-ahead log into it.
    let before = folder_snapshot(&data);
    archive.succeed(&data, &["migrate", "--to", "archive", "--dry-run"]);
    let after = folder_snapshot(&data);
    let changed: Vec<_> = before.iter().filter(|(path, it)| after.get(*path) != Some(it)).collect();
    assert!(changed.is_empty() && after.len() == before.len(), "{:?}", changed.first());
    let done = archive.succeed(&data, &["migrate", "--to", "archive"]).stdout;
    let amounts = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.replace("would move", "moved"));
        lines.map(|line| line.split(';').next().unwrap().to_owned()).collect()
    };
    assert_eq!(amounts(&planned), amounts(&done));
    let planned = archive.succeed(&back, &["migrate", "--from", "archive", "--dry-run"]).stdout;
    assert!(!back.exists());
    let done = archive.succeed(&back, &["migrate", "--from", "archive"]).stdout;
    assert_eq!(amounts(&planned), amounts(&done));
}

#[test]
fn migration_of_one_user_leaves_others() {
    let (library, other) = (two_users(), Library::new());
    let (data, back) = (library.data_folder(), other.data_folder());
    let archive = TestArchive::new();
    archive.succeed(&data, &["migrate", "--to", "archive", "--user", "ada"]);
    assert_eq!(archive.parts(), "ada/chacha ada/imports ada/media ada/prompts");
    archive.succeed(&data, &["search", "bread", "--user", "ada"]);
    succeed(&data, &["search", "oven", "--user", "Bob"]);
    archive.succeed(&back, &["migrate", "--from", "archive", "--user", "ada"]);
    let only_ada = |all: BTreeMap<PathBuf, TableDigests>| -> BTreeMap<PathBuf, TableDigests> {
        all.into_iter().filter(|(path, _)| path.starts_with("users/ada")).collect()
    };
    assert_eq!(digests(&back), only_ada(digests(&data)));
    for direction in ["--to", "--from"] {
        let refused = archive.run(&back, &["migrate", direction, "archive", "--user", "eve"]);
        assert!(
            refused.code == 1 && refused.stderr.contains("`eve` has no library"),
            "{refused:?}"
        );
    }
}

#[test]
fn occupied_user_is_refused_others_go_on() {
    let (library, other) = (two_users(), Library::new());
    let (data, own) = (library.data_folder(), other.data_folder());
    let archive = TestArchive::new();
    import(&other, "ada", "other.md", "# Other\nA thimble.");
    archive.succeed(&own, &["migrate", "--to", "archive", "--user", "ada"]);
    for extra in [&["--dry-run"][..], &[]] {
        let arguments = [&["migrate", "--to", "archive"], extra].concat();
        let refused = archive.run(&data, &arguments);
        assert_eq!(refused.code, 1, "{refused:?}");
        for part in ["user ada: chacha: the archive has other rows", "chacha.db elsewhere"] {
            assert!(refused.stderr.contains(part), "{refused:?}");
        }
        assert!(refused.stdout.contains("user Bob: "), "{refused:?}");
    }
    // The library is usable as before.
    succeed(&data, &["search", "bread", "--user", "ada"]);
    archive.succeed(&data, &["search", "oven", "--user", "Bob"]);
    let found = archive.succeed(&own, &["search", "thimble", "--user", "ada"]).stdout;
    assert!(found.contains("Other"), "{found}");
    // Rows of the folder are not replaced by those of the archive.
    let before = digests(&data);
    let refused = archive.run(&data, &["migrate", "--from", "archive"]);
    assert!(refused.code == 1 && refused.stderr.contains("would be lost"), "{refused:?}");
    assert_eq!(digests(&data), before);
}

#[test]
fn folder_in_use_is_refused() {
    let library = two_users();
    let data = library.data_folder();
    let archive = TestArchive::new();
    let mut command = vademecum_command();
    remove_archive(&mut command);
    let settings = "[storage]\nuser = \"ada\"";
    let server = library.serve_with_command(&mut command, settings);
    let found = server.client().call_tool("knowledge.search", &json!({ "query": "bread" }));
    assert!(!found["results"].as_array().unwrap().is_empty());
    for direction in ["--to", "--from"] {
        let refused = archive.run(&data, &["migrate", direction, "archive"]);
        assert_eq!(refused.code, 1, "{refused:?}");
    }
    let refused = archive.run(&data, &["migrate", "--to", "archive"]);
    assert!(refused.stderr.contains("in use; stop the server first"), "{refused:?}");
    assert_eq!(archive.0.query_value("SELECT to_regclass('kept.part') IS NULL"), "t");
    drop(server);
    archive.succeed(&data, &["migrate", "--to", "archive"]);
}

/// Kills a command after a time, or returns true if it has ended before.
fn kill_after(command: &mut Command, time: Duration) -> bool {
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < time {
        if process.try_wait().unwrap().is_some() {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    false
}

#[test]
fn killed_migration_completes_when_repeated() {
    let (library, other) = (two_users(), Library::new());
    for number in 0..MANY {
        library.write_file(&format!("many/{number}.md"), format!("# Note {number}\nA thimble."));
    }
    let many = library.file_path("many");
    let (data, back) = (library.data_folder(), other.data_folder());
    succeed(&data, &["import", "notes", many.to_str().unwrap(), "--user", "ada"]);
    let archive = TestArchive::new();
    let before = digests(&data);
    let mut random = SeededRng(23);
    for (data, direction) in [(&data, "--to"), (&back, "--from")] {
        let begun = Instant::now();
        let mut kills = 0;
        loop {
            // Later attempts run longer, so that one succeeds.
            let time = u64::try_from(random.next_below(200 + 100 * kills)).unwrap();
            let time = Duration::from_millis(time);
            let arguments = ["migrate", direction, "archive"];
            if kill_after(&mut archive.command(data, &arguments), time) {
                break;
            }
            kills += 1;
            assert!(begun.elapsed() < Duration::from_mins(2), "{kills} kills");
        }
        assert!(kills > 0, "the first attempt was too fast");
        let again = archive.succeed(data, &["migrate", direction, "archive", "--json"]);
        let again: Value = again.parse_json();
        assert_eq!(again["moved"]["databases"], 0, "{again}");
        assert_eq!(digests(data), before, "{kills} kills");
    }
    assert_eq!(finish(&mut local_command(&back, &["check"])).code, 0);
    let found = succeed(&back, &["search", "thimble", "--user", "ada", "--limit", "3"]).stdout;
    assert!(found.contains("Note"), "{found}");
}

#[test]
fn check_reports_archive_and_files() {
    let library = two_users();
    let data = library.data_folder();
    let archive = TestArchive::new();
    let multi = library.write_file("multi.toml", "[auth]\nmode = \"multi\"\n");
    let arguments = ["check", "--config", multi.to_str().unwrap()];
    let found = archive.run(&data, &arguments);
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.stdout.contains("ok: archive: has no tables yet"), "{found:?}");
    let missing = found.stdout.matches("not in the archive; run `vademecum migrate --to archive`");
    assert_eq!(missing.count(), 9, "{found:?}");
    archive.succeed(&data, &["migrate", "--to", "archive"]);
    let found = archive.succeed(&data, &arguments).stdout;
    assert!(found.contains("databases of this folder in it"), "{found}");
    assert!(found.contains("ok: archive: schema 1"), "{found}");
    let mut unreachable = archive.command(&data, &arguments);
    let found = finish(unreachable.env(VARIABLES[0], "postgres://a:b@127.0.0.1:1/c"));
    assert!(found.code == 1 && found.stdout.contains("error: archive: "), "{found:?}");
    assert!(found.stdout.contains("check `url` in `[archive]`"), "{found:?}");
    // Another archive does not have the states of these files.
    let mut empty = archive.command(&data, &["check"]);
    let found = finish(empty.env(VARIABLES[1], "other"));
    assert!(found.stdout.contains("has no tables yet"), "{found:?}");
    assert!(found.stdout.contains("server.db: its state is not in the archive"), "{found:?}");
}
