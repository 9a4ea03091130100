//! Database profiles: settings, access by user, and secrets that never appear in output.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    thread::{self, JoinHandle},
};

use serde_json::json;
use vademecum_accounts::{Authenticator, Credentials};
use vademecum_core::{
    auth::{Principal, local_principal},
    config::{Auth, AuthMode, Settings},
};
use vademecum_sql::{ErrorCode, Profiles};

use crate::support::{CommandOutput, Library, open_data_folder, vademecum_command};

const MARK: &str = "s3cr3t-marker";

/// Runs `profile …` with these settings.
fn run_profile_command(library: &Library, settings: &str, arguments: &[&str]) -> CommandOutput {
    let file = library.write_file("settings.toml", settings);
    let config = ["--config", file.to_str().unwrap()];
    library.run(&[&["profile"], arguments, &config].concat())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns a port on which nothing listens.
fn closed_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Creates a library and returns the path of one of its `SQLite` databases.
fn sqlite_database(library: &Library) -> PathBuf {
    library.import_file("notes", "note.md", "An amethyst.");
    library.data_folder().join("users/local/chacha.db")
}

#[test]
fn profile_commands_list_and_show_profiles() {
    let library = Library::new();
    let settings = "[profiles.shop]\ndescription = \"orders\"\nengine = \"postgres\"\n\
                    host = \"db.example\"\nuser = \"ada\"\ndatabase = \"shop\"\n\
                    password = \"env:NOBODY\"\nunsafe_allow_write = true\n\
                    [profiles.shop.ssh]\nhost = \"bastion\"\nuser = \"tunnel\"\n\
                    identity_file = \"/keys/one\"\n\
                    [profiles.attic]\ndsn = \"/srv/attic.db\"\n";
    let listed = run_profile_command(&library, settings, &["list", "--json"]).parse_json();
    assert_eq!(
        listed,
        json!([
            { "name": "attic", "description": "", "db": "sqlite", "mode": "read-only" },
            { "name": "shop", "description": "orders", "db": "postgres", "mode": "read-write" },
        ])
    );
    let lines = run_profile_command(&library, settings, &["list"]);
    assert_eq!(lines.stdout, "attic\tsqlite\tread-only\t\nshop\tpostgres\tread-write\torders\n");
    let shown = run_profile_command(&library, settings, &["show", "shop", "--json"]).parse_json();
    assert_eq!(
        shown,
        json!({
            "name": "shop", "description": "orders", "db": "postgres", "host": "db.example",
            "port": 5432, "user": "ada", "database": "shop", "unsafe_allow_write": true,
            "allow_plaintext": false, "password": "***", "ssh_host": "bastion", "ssh_port": 22,
            "ssh_user": "tunnel",
        })
    );
    let lines = run_profile_command(&library, settings, &["show", "attic"]).stdout;
    assert!(lines.contains("database: attic.db\n") && !lines.contains("/srv"), "{lines}");
}

#[test]
fn profile_command_exit_code_matches_error() {
    let library = Library::new();
    let port = closed_port();
    let settings = format!(
        "[profiles.closed]\ndsn = \"postgres://ada@127.0.0.1:{port}/shop\"\n\
         [profiles.closed_too]\ndsn = \"mysql://ada@127.0.0.1:{port}/shop\"\n\
         [profiles.secretive]\ndsn = \"mysql://ada@127.0.0.1/shop\"\npassword = \"env:NOBODY\"\n\
         [profiles.gone]\ndsn = \"{}\"\n",
        library.file_path("gone.db").display()
    );
    for (arguments, code, name) in [
        (["show", "cellar"], 2, "XSQL_CFG_INVALID"),
        (["test", "cellar"], 2, "XSQL_CFG_INVALID"),
        (["test", "secretive"], 2, "XSQL_SECRET_NOT_FOUND"),
        (["test", "closed"], 3, "XSQL_DB_CONNECT_FAILED"),
        (["test", "closed_too"], 3, "XSQL_DB_CONNECT_FAILED"),
        (["test", "gone"], 3, "XSQL_DB_CONNECT_FAILED"),
    ] {
        let done =
            run_profile_command(&library, &settings, &[&arguments[..], &["--json"]].concat());
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert_eq!(done.parse_json()["error"]["code"], name, "{arguments:?}");
        assert!(done.stderr.starts_with("error: "), "{done:?}");
    }
    let one = run_profile_command(&library, &settings, &["doctor", "secretive"]);
    assert!(one.code == 2 && one.stdout.contains("NOBODY"), "{one:?}");
    let all = run_profile_command(&library, &settings, &["doctor", "--json"]);
    assert_eq!(all.code, 3, "exit code of the first failing profile: {all:?}");
    assert_eq!(all.parse_json().as_array().unwrap().len(), 4);
    let none = run_profile_command(&library, "", &["list", "--json"]);
    assert_eq!((none.code, none.parse_json()), (0, json!([])));
}

#[test]
fn invalid_profile_error_names_location() {
    let library = Library::new();
    let settings = "[profiles.shop]\nengine = \"postgres\"\nuser = \"ada\"\n";
    let done = run_profile_command(&library, settings, &["list"]);
    assert_eq!(done.code, 2, "{done:?}");
    let file = library.file_path("settings.toml");
    let check = library.run(&["check", "--config", file.to_str().unwrap()]);
    for error in [done.stderr, check.stderr] {
        for part in ["profiles.shop", "`database`", "add database =", "line 1"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn profile_test_and_doctor_accept_reachable_database() {
    let library = Library::new();
    let path = sqlite_database(&library);
    let settings =
        format!("[profiles.notes]\nengine = \"sqlite\"\npath = \"{}\"\n", path.display());
    let done = run_profile_command(&library, &settings, &["test", "notes", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let tested = done.parse_json();
    assert_eq!((&tested["ok"], &tested["name"]), (&json!(true), &json!("notes")));
    assert!(tested["version"].as_str().unwrap().starts_with("3."), "{tested}");
    let lines = run_profile_command(&library, &settings, &["test", "notes"]).stdout;
    assert!(lines.starts_with("notes: sqlite 3."), "{lines}");
    let found = run_profile_command(&library, &settings, &["doctor", "notes", "--json"]);
    assert_eq!(found.code, 0, "{found:?}");
    assert_eq!(found.parse_json()[0]["ok"], true);
}

#[test]
fn profile_doctor_warns_of_unsafe_settings() {
    let library = Library::new();
    let settings = format!(
        "auth.mode = \"multi\"\n[profiles.shop]\ndsn = \"postgres://ada:{MARK}@db.invalid/shop\"\n\
         allow_plaintext = true\nunsafe_allow_write = true\nconnect_timeout_ms = 1000\n"
    );
    let found = run_profile_command(&library, &settings, &["doctor"]).stdout;
    for part in ["plain-text secret", "unsafe_allow_write is on", "`users` is empty", "unencrypted"]
    {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(found.matches("warning: ").count() == 4, "{found}");
}

#[test]
fn secrets_never_appear_in_output_or_log() {
    let library = Library::new();
    let (port, key) = (closed_port(), library.write_private_file("key", MARK));
    let sealed = library.file_path("sealed");
    let phrase = library.write_private_file("phrase", format!("{MARK}-phrase"));
    let secrets = format!("[secrets]\npassphrase = \"file:{}\"\n", phrase.display());
    let made = encrypt_secret(&library, &secrets, &sealed, MARK);
    assert_eq!(made.code, 0, "{made:?}");
    let dsn =
        library.write_private_file("dsn", format!("postgres://ada:{MARK}@127.0.0.1:{port}/shop"));
    let settings = format!(
        "{secrets}[profiles.plain]\ndsn = \"postgres://ada:{MARK}@127.0.0.1:{port}/shop\"\n\
         allow_plaintext = true\n\
         [profiles.go]\ndsn = \"ada:{MARK}@tcp(127.0.0.1:{port})/shop\"\nallow_plaintext = true\n\
         [profiles.filed]\ndsn = \"mysql://ada@127.0.0.1:{port}/shop\"\npassword = \"file:{}\"\n\
         [profiles.sealed]\ndsn = \"mysql://ada@127.0.0.1:{port}/shop\"\n\
         password = \"encrypted:{}\"\n\
         [profiles.hidden]\nengine = \"postgres\"\ndsn = \"file:{}\"\n\
         [profiles.tunnel]\ndsn = \"postgres://ada@127.0.0.1:{port}/shop\"\n\
         allow_plaintext = true\n[profiles.tunnel.ssh]\nhost = \"127.0.0.1\"\nport = {port}\n\
         user = \"ada\"\nidentity_file = \"/keys/one\"\npassphrase = \"{MARK}\"\n",
        key.display(),
        sealed.display(),
        dsn.display()
    );
    let mut outputs = vec![made];
    for name in ["plain", "go", "filed", "sealed", "hidden", "tunnel"] {
        for arguments in [["show", name], ["test", name], ["doctor", name]] {
            for more in [&["--log", "trace"][..], &["--log", "trace", "--json"]] {
                outputs.push(run_profile_command(
                    &library,
                    &settings,
                    &[&arguments[..], more].concat(),
                ));
            }
        }
    }
    outputs.push(run_profile_command(&library, &settings, &["list", "--log", "trace"]));
    let file = library.file_path("settings.toml");
    let config = ["--config", file.to_str().unwrap(), "--log", "trace"];
    for command in ["check", "mcp", "search lantern"] {
        outputs.push(library.run(&[&command.split(' ').collect::<Vec<_>>()[..], &config].concat()));
    }
    for done in &outputs {
        assert!(!done.stdout.contains(MARK) && !done.stderr.contains(MARK), "{done:?}");
    }
    let failed = outputs.iter().filter(|done| done.code == 3).count();
    assert_eq!(failed, 24, "each `test` and `doctor` got as far as the closed port");
}

/// Starts a fake `PostgreSQL` server that rejects every password. Returns its port and a handle
/// that yields the password it received.
fn password_rejecting_server() -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut length = [0; 4];
        let mut body = |stream: &mut TcpStream| {
            stream.read_exact(&mut length).unwrap();
            let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
            stream.read_exact(&mut body).unwrap();
            body
        };
        body(&mut stream);
        stream.write_all(b"R\0\0\0\x08\0\0\0\x03").unwrap();
        stream.read_exact(&mut [0; 1]).unwrap();
        let password = body(&mut stream);
        let problem = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0";
        let length = u32::try_from(problem.len() + 4).unwrap().to_be_bytes();
        stream.write_all(&[b"E", &length[..], problem].concat()).unwrap();
        password
    });
    (port, serving)
}

#[test]
fn rejected_password_is_not_shown() {
    let library = Library::new();
    let key = library.write_private_file("key", MARK);
    for command in ["test", "doctor"] {
        let (port, serving) = password_rejecting_server();
        let settings = format!(
            "[profiles.shop]\ndsn = \"postgres://ada@127.0.0.1:{port}/shop?sslmode=disable\"\n\
             password = \"file:{}\"\n",
            key.display()
        );
        let done = run_profile_command(&library, &settings, &[command, "shop", "--log", "trace"]);
        assert_eq!(done.code, 3, "{done:?}");
        assert_eq!(serving.join().unwrap(), [MARK.as_bytes(), b"\0"].concat());
        let output = format!("{}{}", done.stdout, done.stderr);
        assert!(output.contains("rejected the login") && !output.contains(MARK), "{output}");
    }
}

#[test]
fn settings_errors_do_not_reveal_secrets() {
    let library = Library::new();
    for settings in [
        format!("[profiles.shop]\npasword = \"{MARK}\"\n"),
        format!("[profiles.shop]\npassword = \"{MARK}\nengine = 1"),
        format!("[profiles.shop]\ndsn = \"postgres://ada:{MARK}@db/shop\"\n"),
        format!("[profiles.shop]\nengine = \"mysql\"\ndsn = \"ada:{MARK}@unix(/run/db)/shop\"\n"),
    ] {
        let done = run_profile_command(&library, &settings, &["list"]);
        assert_eq!(done.code, 2, "{done:?}");
        assert!(!done.stderr.contains(MARK) && done.stderr.contains("line "), "{done:?}");
    }
}

#[cfg(unix)]
#[test]
fn readable_secret_file_error_suggests_chmod() {
    let library = Library::new();
    let key = library.write_private_file("key", MARK);
    let settings = format!(
        "[profiles.shop]\ndsn = \"mysql://ada@127.0.0.1:{}/shop\"\npassword = \"file:{}\"\n",
        closed_port(),
        key.display()
    );
    assert_eq!(run_profile_command(&library, &settings, &["test", "shop"]).code, 3);
    set_mode(&key, 0o644);
    let refused = run_profile_command(&library, &settings, &["test", "shop"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(&format!("chmod 600 {}", key.display())), "{refused:?}");
}

/// Encrypts a secret that is passed on standard input.
fn encrypt_secret(library: &Library, settings: &str, file: &Path, secret: &str) -> CommandOutput {
    let config = library.write_file("settings.toml", settings);
    let mut process = vademecum_command()
        .args(["profile", "encrypt"])
        .arg(file)
        .arg("--config")
        .arg(&config)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(format!("{secret}\n").as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    output.into()
}

#[test]
fn encrypted_secret_requires_passphrase() {
    let library = Library::new();
    let (phrase, sealed) =
        (library.write_private_file("phrase", "open sesame"), library.file_path("sealed"));
    let secrets = format!("[secrets]\npassphrase = \"file:{}\"\n", phrase.display());
    let done = encrypt_secret(&library, &secrets, &sealed, MARK);
    assert_eq!(done.code, 0, "{done:?}");
    let again = encrypt_secret(&library, &secrets, &sealed, "other");
    assert!(again.code == 2 && again.stderr.contains("already"), "{again:?}");
    let shop = format!(
        "[profiles.shop]\ndsn = \"mysql://ada@127.0.0.1:{}/shop\"\npassword = \"encrypted:{}\"\n",
        closed_port(),
        sealed.display()
    );
    let test = |settings: &str| run_profile_command(&library, settings, &["test", "shop"]);
    assert_eq!(test(&format!("{secrets}{shop}")).code, 3, "it gets as far as the closed port");
    let locked = test(&shop);
    assert!(locked.code == 2 && locked.stderr.contains("secrets.passphrase"), "{locked:?}");
    fs::write(&phrase, "open barley").unwrap();
    let wrong = test(&format!("{secrets}{shop}"));
    assert!(wrong.code == 2 && wrong.stderr.contains("wrong passphrase"), "{wrong:?}");
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn keyring_secret_is_read_or_error_suggests_alternatives() {
    let library = Library::new();
    let settings = format!(
        "[profiles.shop]\ndsn = \"mysql://ada@127.0.0.1:{}/shop\"\npassword = \"keyring:ada\"\n",
        closed_port()
    );
    let config = library.write_file("settings.toml", &settings);
    let folder = library.file_path("bin");
    let test = || {
        let output = vademecum_command()
            .args(["profile", "test", "shop", "--config"])
            .arg(&config)
            .env("PATH", &folder)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, error) = test();
    assert!(code == 2 && error.contains("secret-tool is not installed"), "{error}");
    assert!(error.contains("file:PATH") && error.contains("encrypted:PATH"), "{error}");
    let script = "#!/bin/sh\n[ \"$*\" = 'lookup service vademecum username ada' ] && echo s3cret\n";
    set_mode(&library.write_file("bin/secret-tool", script), 0o700);
    assert_eq!(test().0, 3, "it gets as far as the closed port");
    fs::write(library.file_path("bin/secret-tool"), "#!/bin/sh\nexit 1\n").unwrap();
    let (code, error) = test();
    assert!(code == 2 && error.contains("secret-tool store"), "{error}");
}

/// Authenticates with a new API key of a user.
async fn authenticate_with_key(library: &Library, user: &str) -> Principal {
    let key = library.create_key(user);
    let auth = Auth { mode: AuthMode::Multi, ..Auth::default() };
    let owner = local_principal("local".parse().unwrap());
    let authenticator =
        Authenticator::open(&auth, open_data_folder(&library.data_folder()), owner).unwrap();
    let credentials = Credentials { token: Some(key.as_str().into()), ..Credentials::default() };
    authenticator.authenticate(&credentials).await.unwrap()
}

#[actix::test]
async fn profile_is_limited_to_named_users_and_owner() {
    let library = Library::new();
    let settings = Settings::parse(
        "[profiles.hers]\ndsn = \"postgres://a@b/c\"\nusers = [\"ada\"]\n\
         [profiles.theirs]\ndsn = \"postgres://a@b/c\"\nusers = [\"ada\", \"eve\"]\n\
         [profiles.nobodys]\ndsn = \"postgres://a@b/c\"\n",
    );
    let profiles = Profiles::new(
        &settings.unwrap().profiles,
        &vademecum_core::config::PassphraseSource::Unset,
    );
    let profiles = Arc::new(profiles.unwrap());
    let owner = local_principal("local".parse().unwrap());
    assert_eq!(profiles.visible_names(&owner), ["hers", "nobodys", "theirs"]);
    let (ada, eve) = (
        authenticate_with_key(&library, "ada").await,
        authenticate_with_key(&library, "eve").await,
    );
    assert_eq!(profiles.visible_names(&ada), ["hers", "theirs"]);
    assert_eq!(profiles.visible_names(&eve), ["theirs"]);
    assert_eq!(
        profiles.visible_names(&authenticate_with_key(&library, "bob").await),
        Vec::<&str>::new()
    );
    assert!(profiles.find_profile(&ada, "hers").is_ok());
    let hidden = profiles.find_profile(&eve, "hers").unwrap_err();
    assert_eq!(hidden.code, ErrorCode::XsqlCfgInvalid);
    let missing = profiles.find_profile(&eve, "none").unwrap_err();
    assert_eq!(
        hidden.message.replace("hers", "none"),
        missing.message,
        "a forbidden profile looks like a missing one"
    );
}
