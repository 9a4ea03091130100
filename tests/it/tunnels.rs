//! Tunnels through a real SSH server: only one that is known, only with a key, and
//! back again when it broke.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::Arc,
    thread,
};

use secrecy::ExposeSecret as _;
use vademecum_core::{auth::local_principal, config::Settings};
use vademecum_sql::{ConnectionTarget, ErrorCode, Profile, Profiles, SqlError};

use crate::program::{Done, Fresh, Library, Sshd};

/// Answers whatever it is sent with the same; where it listens.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut reader = stream.try_clone().unwrap();
                drop(std::io::copy(&mut reader, &mut stream));
            });
        }
    });
    address
}

/// Where nobody listens.
fn nowhere() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

/// Settings of the profile `shop`: a database at that address, through that server.
fn settings(sshd: &Sshd, key: &Path, database: SocketAddr) -> String {
    format!(
        "[profiles.shop]\ndsn = \"postgres://ada@{database}/shop\"\ntls = \"disable\"\n\
         password = \"env:PATH\"\n{}",
        sshd.settings("shop", key)
    )
}

fn profile(text: &str) -> Arc<Profile> {
    let settings = Settings::parse(text).unwrap();
    let profiles =
        Profiles::new(&settings.profiles, &settings.secrets.passphrase_source()).unwrap();
    profiles.find_profile(&local_principal("local".parse().unwrap()), "shop").unwrap()
}

/// The near end of the tunnel.
async fn near_end(profile: &Arc<Profile>) -> Result<SocketAddr, SqlError> {
    match profile.resolve_target().await? {
        ConnectionTarget::Postgres(server) => Ok(server.tunnel_address.unwrap().into()),
        other => panic!("{other:?}"),
    }
}

/// Sends a word through, and gives back what comes of it.
async fn through(near: SocketAddr) -> std::io::Result<String> {
    let exchange = move || {
        let mut stream = TcpStream::connect(near)?;
        stream.write_all(b"bread")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    tokio::task::spawn_blocking(exchange).await.unwrap()
}

/// `profile doctor shop` with these settings.
fn doctor(settings: &str) -> Done {
    let library = Library::new();
    let file = library.write("settings.toml", settings);
    let config = ["--config", file.to_str().unwrap(), "--log", "trace"];
    library.run(&[&["profile", "doctor", "shop"], &config[..]].concat())
}

#[actix::test]
async fn a_database_is_reached_through_an_ssh_server() {
    let (sshd, database) = (Sshd::start(), echo());
    sshd.known_hosts();
    for (kind, more) in [("ed25519", &[][..]), ("ecdsa", &[]), ("rsa", &["-b", "2048"])] {
        let key = sshd.key(kind, "", more);
        let profile = profile(&settings(&sshd, &key, database));
        let near = near_end(&profile).await.unwrap();
        assert!(near.ip().is_loopback() && near != database);
        // Two at the same time go the same way.
        let both = futures_util::future::join(through(near), through(near)).await;
        assert_eq!((both.0.unwrap(), both.1.unwrap()), ("bread".into(), "bread".into()), "{kind}");
        assert_eq!(near_end(&profile).await.unwrap(), near, "the near end stays");
    }
}

#[test]
fn real_databases_are_tested_through_an_ssh_server() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.key("ed25519", "", &[]);
    for (engine, database) in [("postgres", Fresh::postgres()), ("mysql", Fresh::mariadb())] {
        let (library, server) = (Library::new(), database.server());
        let password = server.password.as_ref().unwrap().expose_secret();
        let file = library.write_private("password", password);
        let text = format!(
            "[profiles.shop]\ndsn = \"{engine}://{}@{}:{}/{}\"\ntls = \"disable\"\n\
             password = \"file:{}\"\n{}",
            server.user,
            server.host,
            server.port,
            server.database,
            file.display(),
            sshd.settings("shop", &key)
        );
        let settings = library.write("settings.toml", text);
        let config = ["--config", settings.to_str().unwrap(), "--log", "trace"];
        let tested = library.run(&[&["profile", "test", "shop"], &config[..]].concat());
        assert_eq!(tested.code, 0, "{tested:?}");
        assert!(tested.stdout.starts_with(&format!("shop: {engine} ")), "{tested:?}");
        let looked_at = library.run(&[&["profile", "doctor", "shop"], &config[..]].concat());
        assert_eq!(looked_at.code, 0, "{looked_at:?}");
        assert!(looked_at.stdout.contains("warning: its user is a superuser"), "{looked_at:?}");
        let said = format!("{tested:?}{looked_at:?}");
        assert!(!said.contains(password), "{said}");
    }
}

#[actix::test]
async fn a_key_with_a_passphrase_is_opened_in_any_common_form() {
    let (sshd, database) = (Sshd::start(), echo());
    sshd.known_hosts();
    let words = sshd.file("words");
    for (kind, form) in
        [("ed25519", &[][..]), ("ecdsa", &["-m", "PKCS8"]), ("rsa", &["-m", "PKCS8"])]
    {
        let key = sshd.key(kind, "open sesame", form);
        let with = |said: &str| {
            fs::write(&words, said).unwrap();
            Command::new("chmod").arg("600").arg(&words).status().unwrap();
            let text = settings(&sshd, &key, database);
            profile(&format!("{text}passphrase = \"file:{}\"\n", words.display()))
        };
        let near = near_end(&with("open sesame")).await;
        let near = near.unwrap_or_else(|error| panic!("{kind} {form:?}: {error:?}"));
        assert_eq!(near.ip(), Ipv4Addr::LOCALHOST, "{kind} {form:?}");
        let error = near_end(&with("s3cret-barley")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlSshAuthFailed);
        assert!(error.detail.as_ref().unwrap().contains("profiles.shop.ssh.passphrase"));
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[actix::test]
async fn a_tunnel_that_broke_is_opened_again() {
    let (mut sshd, database) = (Sshd::start(), echo());
    sshd.known_hosts();
    let key = sshd.key("ed25519", "", &[]);
    let profile = profile(&settings(&sshd, &key, database));
    let near = near_end(&profile).await.unwrap();
    assert_eq!(through(near).await.unwrap(), "bread");
    sshd.break_connections();
    profile.ensure_tunnel().await.unwrap();
    assert_eq!(through(near).await.unwrap(), "bread", "at the same place");
}

#[actix::test]
async fn whoever_is_not_let_in_is_told_so_and_callers_learn_no_names() {
    let (sshd, database) = (Sshd::start(), echo());
    sshd.known_hosts();
    let key = sshd.key("ed25519", "", &[]);
    fs::write(sshd.file("authorized"), "").unwrap();
    let error = near_end(&profile(&settings(&sshd, &key, database))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlSshAuthFailed);
    assert!(error.message.contains("`shop`") && !error.message.contains("127.0.0.1"), "{error}");
    assert!(error.detail.unwrap().contains(&format!("[127.0.0.1]:{}", sshd.port())));

    let nobody = settings(&sshd, &sshd.file("missing"), database);
    let error = near_end(&profile(&nobody)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlSecretNotFound);

    let text = settings(&sshd, &key, database);
    drop(sshd);
    let error = near_end(&profile(&text)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlSshDialFailed);
    assert!(!error.message.contains("127.0.0.1"), "{error}");
}

#[test]
fn a_passphrase_shows_in_no_log() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.key("ed25519", "s3cr3t-marker", &[]);
    let meant = "[profiles.shop]\nallow_plaintext = true\n";
    let text = settings(&sshd, &key, nowhere()).replace("[profiles.shop]\n", meant);
    for passphrase in ["s3cr3t-marker", "s3cr3t-marker-of-another"] {
        let done = doctor(&format!("{text}passphrase = \"{passphrase}\"\n"));
        assert!(!format!("{done:?}").contains("s3cr3t-marker"), "{done:?}");
        assert!(done.stdout.contains("in plain text"), "{done:?}");
    }
}

#[test]
fn an_unknown_host_is_refused_with_the_line_that_makes_it_known() {
    let sshd = Sshd::start();
    let key = sshd.key("ed25519", "", &[]);
    let text = settings(&sshd, &key, nowhere());
    let refused = doctor(&text);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stdout.contains("is not known"), "{refused:?}");
    assert!(refused.stdout.contains(&sshd.fingerprint()), "{refused:?}");
    let (_, line) = refused.stdout.split_once("add to ").unwrap();
    let (_, line) = line.split_once("the line: ").unwrap();
    fs::write(sshd.file("known_hosts"), line.lines().next().unwrap()).unwrap();
    let let_in = doctor(&text);
    assert!(let_in.stdout.contains("the SSH server lets us in"), "{let_in:?}");
}

#[test]
fn a_host_key_that_changes_is_refused_and_named() {
    let mut sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.key("ed25519", "", &[]);
    let text = settings(&sshd, &key, nowhere());
    let let_in = doctor(&text);
    assert!(let_in.stdout.contains("the SSH server lets us in"), "{let_in:?}");
    let before = sshd.fingerprint();
    sshd.change_host_key();
    let refused = doctor(&text);
    assert_eq!(refused.code, 3, "{refused:?}");
    let host = format!("[127.0.0.1]:{}", sshd.port());
    for part in ["another than it was", &host, &before, &sshd.fingerprint(), "remove line 1"] {
        assert!(refused.stdout.contains(part), "{part}: {refused:?}");
    }
    let revoked = format!("@revoked * {}\n{host} {0}\n", sshd.host_key());
    fs::write(sshd.file("known_hosts"), revoked).unwrap();
    let refused = doctor(&text);
    assert!(refused.stdout.contains("must not be trusted"), "{refused:?}");
}

#[test]
fn a_hashed_list_of_known_hosts_is_read() {
    let sshd = Sshd::start();
    let list = sshd.known_hosts();
    let hashed = Command::new("ssh-keygen").arg("-Hf").arg(&list).output().unwrap();
    assert!(hashed.status.success());
    assert!(fs::read_to_string(&list).unwrap().starts_with("|1|"));
    let key = sshd.key("ed25519", "", &[]);
    let let_in = doctor(&settings(&sshd, &key, nowhere()));
    assert!(let_in.stdout.contains("the SSH server lets us in"), "{let_in:?}");
}

#[test]
fn the_keys_of_an_agent_are_shown_where_no_file_is_named() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.key("ed25519", "", &[]);
    let socket = sshd.file("agent");
    let mut agent = Command::new("ssh-agent")
        .args(["-D", "-a"])
        .arg(&socket)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // It says where it is as soon as it is there.
    let mut line = [0; 1];
    agent.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let added = Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", &socket).status();
    let text: String = settings(&sshd, &key, nowhere())
        .lines()
        .filter(|line| !line.starts_with("identity_file"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let home = crate::program::Home::new();
    let file = home.write("settings.toml", &text);
    let arguments = ["profile", "doctor", "shop", "--config", file.to_str().unwrap()];
    let done = home.run_with(&arguments, &[("SSH_AUTH_SOCK", &socket)]);
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(added.unwrap().success());
    assert!(done.stdout.contains("the SSH server lets us in"), "{done:?}");
}
