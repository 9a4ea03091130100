//! Profiles: what the settings say of databases, who may use them, and that no
//! secret ever shows.

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
use vademecum_core::{
    auth::{Authenticator, Credentials, Principal, local_principal},
    config::{Auth, AuthMode, Settings},
};
use vademecum_sql::{ErrorCode, Profiles};

use crate::program::{Done, Library, program};

const MARK: &str = "s3cr3t-marker";

/// Runs `profile …` with these settings.
fn profile(library: &Library, settings: &str, arguments: &[&str]) -> Done {
    let file = library.write("settings.toml", settings);
    let config = ["--config", file.to_str().unwrap()];
    library.run(&[&["profile"], arguments, &config].concat())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A port where nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A database of `SQLite` that there is.
fn database(library: &Library) -> PathBuf {
    library.import("notes", "note.md", "An amethyst.");
    library.data().join("users/local/chacha.db")
}

#[test]
fn profiles_are_listed_and_shown_as_what_they_are() {
    let library = Library::new();
    let settings = "[profiles.shop]\ndescription = \"orders\"\nengine = \"postgres\"\n\
                    host = \"db.example\"\nuser = \"ada\"\ndatabase = \"shop\"\n\
                    password = \"env:NOBODY\"\nunsafe_allow_write = true\n\
                    [profiles.shop.ssh]\nhost = \"bastion\"\nuser = \"tunnel\"\n\
                    identity_file = \"/keys/one\"\n\
                    [profiles.attic]\ndsn = \"/srv/attic.db\"\n";
    let listed = profile(&library, settings, &["list", "--json"]).json();
    assert_eq!(
        listed,
        json!([
            { "name": "attic", "description": "", "db": "sqlite", "mode": "read-only" },
            { "name": "shop", "description": "orders", "db": "postgres", "mode": "read-write" },
        ])
    );
    let lines = profile(&library, settings, &["list"]);
    assert_eq!(lines.stdout, "attic\tsqlite\tread-only\t\nshop\tpostgres\tread-write\torders\n");
    let shown = profile(&library, settings, &["show", "shop", "--json"]).json();
    assert_eq!(
        shown,
        json!({
            "name": "shop", "description": "orders", "db": "postgres", "host": "db.example",
            "port": 5432, "user": "ada", "database": "shop", "unsafe_allow_write": true,
            "allow_plaintext": false, "password": "***", "ssh_host": "bastion", "ssh_port": 22,
            "ssh_user": "tunnel",
        })
    );
    let lines = profile(&library, settings, &["show", "attic"]).stdout;
    assert!(lines.contains("database: attic.db\n") && !lines.contains("/srv"), "{lines}");
}

#[test]
fn a_command_ends_with_the_code_of_what_went_wrong() {
    let library = Library::new();
    let port = closed_port();
    let settings = format!(
        "[profiles.closed]\ndsn = \"postgres://ada@127.0.0.1:{port}/shop\"\n\
         [profiles.closed_too]\ndsn = \"mysql://ada@127.0.0.1:{port}/shop\"\n\
         [profiles.secretive]\ndsn = \"mysql://ada@127.0.0.1/shop\"\npassword = \"env:NOBODY\"\n\
         [profiles.gone]\ndsn = \"{}\"\n",
        library.file("gone.db").display()
    );
    for (arguments, code, name) in [
        (["show", "cellar"], 2, "XSQL_CFG_INVALID"),
        (["test", "cellar"], 2, "XSQL_CFG_INVALID"),
        (["test", "secretive"], 2, "XSQL_SECRET_NOT_FOUND"),
        (["test", "closed"], 3, "XSQL_DB_CONNECT_FAILED"),
        (["test", "closed_too"], 3, "XSQL_DB_CONNECT_FAILED"),
        (["test", "gone"], 3, "XSQL_DB_CONNECT_FAILED"),
    ] {
        let done = profile(&library, &settings, &[&arguments[..], &["--json"]].concat());
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert_eq!(done.json()["error"]["code"], name, "{arguments:?}");
        assert!(done.stderr.starts_with("error: "), "{done:?}");
    }
    let one = profile(&library, &settings, &["doctor", "secretive"]);
    assert!(one.code == 2 && one.stdout.contains("NOBODY"), "{one:?}");
    let all = profile(&library, &settings, &["doctor", "--json"]);
    assert_eq!(all.code, 3, "the first that is wrong: {all:?}");
    assert_eq!(all.json().as_array().unwrap().len(), 4);
    let none = profile(&library, "", &["list", "--json"]);
    assert_eq!((none.code, none.json()), (0, json!([])));
}

#[test]
fn a_profile_that_is_wrong_stops_the_start_and_says_where() {
    let library = Library::new();
    let settings = "[profiles.shop]\nengine = \"postgres\"\nuser = \"ada\"\n";
    let done = profile(&library, settings, &["list"]);
    assert_eq!(done.code, 2, "{done:?}");
    let file = library.file("settings.toml");
    let check = library.run(&["check", "--config", file.to_str().unwrap()]);
    for said in [done.stderr, check.stderr] {
        for part in ["profiles.shop", "`database`", "add database =", "line 1"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[test]
fn a_database_that_answers_is_tested_and_looked_at() {
    let library = Library::new();
    let path = database(&library);
    let settings =
        format!("[profiles.notes]\nengine = \"sqlite\"\npath = \"{}\"\n", path.display());
    let done = profile(&library, &settings, &["test", "notes", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let tested = done.json();
    assert_eq!((&tested["ok"], &tested["name"]), (&json!(true), &json!("notes")));
    assert!(tested["version"].as_str().unwrap().starts_with("3."), "{tested}");
    let lines = profile(&library, &settings, &["test", "notes"]).stdout;
    assert!(lines.starts_with("notes: sqlite 3."), "{lines}");
    let found = profile(&library, &settings, &["doctor", "notes", "--json"]);
    assert_eq!(found.code, 0, "{found:?}");
    assert_eq!(found.json()[0]["ok"], true);
}

#[test]
fn what_is_unsafe_is_warned_of() {
    let library = Library::new();
    let settings = format!(
        "auth.mode = \"multi\"\n[profiles.shop]\ndsn = \"postgres://ada:{MARK}@db.invalid/shop\"\n\
         allow_plaintext = true\nunsafe_allow_write = true\nconnect_timeout_ms = 1000\n"
    );
    let found = profile(&library, &settings, &["doctor"]).stdout;
    for part in ["in plain text", "unsafe_allow_write is on", "`users` is empty", "unencrypted"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(found.matches("warning: ").count() == 4, "{found}");
}

#[test]
fn no_secret_shows_in_any_output_or_log() {
    let library = Library::new();
    let (port, key) = (closed_port(), library.write_private("key", MARK));
    let sealed = library.file("sealed");
    let phrase = library.write_private("phrase", format!("{MARK}-phrase"));
    let secrets = format!("[secrets]\npassphrase = \"file:{}\"\n", phrase.display());
    let made = encrypt(&library, &secrets, &sealed, MARK);
    assert_eq!(made.code, 0, "{made:?}");
    let dsn = library.write_private("dsn", format!("postgres://ada:{MARK}@127.0.0.1:{port}/shop"));
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
    let mut said = vec![made];
    for name in ["plain", "go", "filed", "sealed", "hidden", "tunnel"] {
        for arguments in [["show", name], ["test", name], ["doctor", name]] {
            for more in [&["--log", "trace"][..], &["--log", "trace", "--json"]] {
                said.push(profile(&library, &settings, &[&arguments[..], more].concat()));
            }
        }
    }
    said.push(profile(&library, &settings, &["list", "--log", "trace"]));
    let file = library.file("settings.toml");
    let config = ["--config", file.to_str().unwrap(), "--log", "trace"];
    for command in ["check", "mcp", "search lantern"] {
        said.push(library.run(&[&command.split(' ').collect::<Vec<_>>()[..], &config].concat()));
    }
    for done in &said {
        assert!(!done.stdout.contains(MARK) && !done.stderr.contains(MARK), "{done:?}");
    }
    let failed = said.iter().filter(|done| done.code == 3).count();
    assert_eq!(failed, 24, "each `test` and `doctor` got as far as the closed port");
}

/// A `PostgreSQL` server that asks for the password and likes none; what it was sent.
fn picky() -> (u16, JoinHandle<Vec<u8>>) {
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
fn a_password_that_is_not_accepted_is_not_shown() {
    let library = Library::new();
    let key = library.write_private("key", MARK);
    for command in ["test", "doctor"] {
        let (port, serving) = picky();
        let settings = format!(
            "[profiles.shop]\ndsn = \"postgres://ada@127.0.0.1:{port}/shop?sslmode=disable\"\n\
             password = \"file:{}\"\n",
            key.display()
        );
        let done = profile(&library, &settings, &[command, "shop", "--log", "trace"]);
        assert_eq!(done.code, 3, "{done:?}");
        assert_eq!(serving.join().unwrap(), [MARK.as_bytes(), b"\0"].concat());
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains("does not let") && !said.contains(MARK), "{said}");
    }
}

#[test]
fn settings_that_are_wrong_are_not_repeated_with_their_secrets() {
    let library = Library::new();
    for settings in [
        format!("[profiles.shop]\npasword = \"{MARK}\"\n"),
        format!("[profiles.shop]\npassword = \"{MARK}\nengine = 1"),
        format!("[profiles.shop]\ndsn = \"postgres://ada:{MARK}@db/shop\"\n"),
        format!("[profiles.shop]\nengine = \"mysql\"\ndsn = \"ada:{MARK}@unix(/run/db)/shop\"\n"),
    ] {
        let done = profile(&library, &settings, &["list"]);
        assert_eq!(done.code, 2, "{done:?}");
        assert!(!done.stderr.contains(MARK) && done.stderr.contains("line "), "{done:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_refused_with_the_command_that_helps() {
    let library = Library::new();
    let key = library.write_private("key", MARK);
    let settings = format!(
        "[profiles.shop]\ndsn = \"mysql://ada@127.0.0.1:{}/shop\"\npassword = \"file:{}\"\n",
        closed_port(),
        key.display()
    );
    assert_eq!(profile(&library, &settings, &["test", "shop"]).code, 3);
    set_mode(&key, 0o644);
    let refused = profile(&library, &settings, &["test", "shop"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(&format!("chmod 600 {}", key.display())), "{refused:?}");
}

/// Encrypts a secret that comes over standard input.
fn encrypt(library: &Library, settings: &str, file: &Path, secret: &str) -> Done {
    let config = library.write("settings.toml", settings);
    let mut process = program()
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
    Done {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn an_encrypted_secret_needs_its_passphrase() {
    let library = Library::new();
    let (phrase, sealed) = (library.write_private("phrase", "open sesame"), library.file("sealed"));
    let secrets = format!("[secrets]\npassphrase = \"file:{}\"\n", phrase.display());
    let done = encrypt(&library, &secrets, &sealed, MARK);
    assert_eq!(done.code, 0, "{done:?}");
    let again = encrypt(&library, &secrets, &sealed, "other");
    assert!(again.code == 2 && again.stderr.contains("already"), "{again:?}");
    let shop = format!(
        "[profiles.shop]\ndsn = \"mysql://ada@127.0.0.1:{}/shop\"\npassword = \"encrypted:{}\"\n",
        closed_port(),
        sealed.display()
    );
    let test = |settings: &str| profile(&library, settings, &["test", "shop"]);
    assert_eq!(test(&format!("{secrets}{shop}")).code, 3, "it gets as far as the closed port");
    let locked = test(&shop);
    assert!(locked.code == 2 && locked.stderr.contains("secrets.passphrase"), "{locked:?}");
    fs::write(&phrase, "open barley").unwrap();
    let wrong = test(&format!("{secrets}{shop}"));
    assert!(wrong.code == 2 && wrong.stderr.contains("does not open it"), "{wrong:?}");
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn a_secret_in_the_keyring_is_read_or_what_else_helps_is_said() {
    let library = Library::new();
    let settings = format!(
        "[profiles.shop]\ndsn = \"mysql://ada@127.0.0.1:{}/shop\"\npassword = \"keyring:ada\"\n",
        closed_port()
    );
    let config = library.write("settings.toml", &settings);
    let folder = library.file("bin");
    let test = || {
        let output = program()
            .args(["profile", "test", "shop", "--config"])
            .arg(&config)
            .env("PATH", &folder)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = test();
    assert!(code == 2 && said.contains("secret-tool is missing"), "{said}");
    assert!(said.contains("file:PATH") && said.contains("encrypted:PATH"), "{said}");
    let script = "#!/bin/sh\n[ \"$*\" = 'lookup service vademecum username ada' ] && echo s3cret\n";
    set_mode(&library.write("bin/secret-tool", script), 0o700);
    assert_eq!(test().0, 3, "it gets as far as the closed port");
    fs::write(library.file("bin/secret-tool"), "#!/bin/sh\nexit 1\n").unwrap();
    let (code, said) = test();
    assert!(code == 2 && said.contains("secret-tool store"), "{said}");
}

/// Who comes with a key of that user.
async fn with_key(library: &Library, user: &str) -> Principal {
    let key = library.key(user);
    let auth = Auth { mode: AuthMode::Multi, ..Auth::default() };
    let owner = local_principal("local".parse().unwrap());
    let authenticator = Authenticator::open(&auth, &library.data(), owner).unwrap();
    let credentials = Credentials { token: Some(key.as_str().into()), ..Credentials::default() };
    authenticator.authenticate(&credentials).await.unwrap()
}

#[actix::test]
async fn a_profile_is_for_the_users_it_names_and_whoever_owns_the_machine() {
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
    let (ada, eve) = (with_key(&library, "ada").await, with_key(&library, "eve").await);
    assert_eq!(profiles.visible_names(&ada), ["hers", "theirs"]);
    assert_eq!(profiles.visible_names(&eve), ["theirs"]);
    assert_eq!(profiles.visible_names(&with_key(&library, "bob").await), Vec::<&str>::new());
    assert!(profiles.find_profile(&ada, "hers").is_ok());
    let hidden = profiles.find_profile(&eve, "hers").unwrap_err();
    assert_eq!(hidden.code, ErrorCode::XsqlCfgInvalid);
    let missing = profiles.find_profile(&eve, "none").unwrap_err();
    assert_eq!(hidden.message.replace("hers", "none"), missing.message, "as if it was not there");
}
