//! End-to-end tests of SSH tunnels through a real SSH server: host key verification, authentication
//! and reconnection.

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
use vademecum_testing::Sshd;

use crate::support::{CommandOutput, Library, TestDatabase};

/// Starts a TCP echo server and returns its address.
fn start_echo_server() -> SocketAddr {
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

/// Returns an address on which nothing listens.
fn unused_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

/// Returns the settings of the profile `shop`: a database at the given address, through the given
/// SSH server.
fn profile_settings(sshd: &Sshd, key: &Path, database: SocketAddr) -> String {
    format!(
        "[profiles.shop]\ndsn = \"postgres://ada@{database}/shop\"\ntls = \"disable\"\n\
         password = \"env:PATH\"\n{}",
        sshd.profile_settings("shop", key)
    )
}

fn load_profile(text: &str) -> Arc<Profile> {
    let settings = Settings::parse(text).unwrap();
    let profiles =
        Profiles::new(&settings.profiles, &settings.secrets.passphrase_source()).unwrap();
    profiles.find_profile(&local_principal("local".parse().unwrap()), "shop").unwrap()
}

/// Returns the local address of the tunnel, which is opened if necessary.
async fn tunnel_address(profile: &Arc<Profile>) -> Result<SocketAddr, SqlError> {
    match profile.resolve_target().await? {
        ConnectionTarget::Postgres(server) => Ok(server.tunnel_address.unwrap().into()),
        other => panic!("{other:?}"),
    }
}

/// Sends five bytes through the tunnel and returns the echo.
async fn echo_through(near: SocketAddr) -> std::io::Result<String> {
    let exchange = move || {
        let mut stream = TcpStream::connect(near)?;
        stream.write_all(b"bread")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    tokio::task::spawn_blocking(exchange).await.unwrap()
}

/// Runs `profile doctor shop` with these settings.
fn run_doctor(settings: &str) -> CommandOutput {
    let library = Library::new();
    let file = library.write_file("settings.toml", settings);
    let config = ["--config", file.to_str().unwrap(), "--log", "trace"];
    library.run(&[&["profile", "doctor", "shop"], &config[..]].concat())
}

#[actix::test]
async fn tunnel_reaches_database_with_every_key_type() {
    let (sshd, database) = (Sshd::start(), start_echo_server());
    sshd.known_hosts();
    for (kind, more) in [("ed25519", &[][..]), ("ecdsa", &[]), ("rsa", &["-b", "2048"])] {
        let key = sshd.create_authorized_key(kind, "", more);
        let profile = load_profile(&profile_settings(&sshd, &key, database));
        let near = tunnel_address(&profile).await.unwrap();
        assert!(near.ip().is_loopback() && near != database);
        // Concurrent connections share one tunnel.
        let both = futures_util::future::join(echo_through(near), echo_through(near)).await;
        assert_eq!((both.0.unwrap(), both.1.unwrap()), ("bread".into(), "bread".into()), "{kind}");
        assert_eq!(tunnel_address(&profile).await.unwrap(), near, "the local address is reused");
    }
}

#[test]
fn profile_test_and_doctor_work_through_tunnel() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    for (engine, database) in
        [("postgres", TestDatabase::postgres()), ("mysql", TestDatabase::mariadb())]
    {
        let (library, server) = (Library::new(), database.server());
        let password = server.password.as_ref().unwrap().expose_secret();
        let file = library.write_private_file("password", password);
        let text = format!(
            "[profiles.shop]\ndsn = \"{engine}://{}@{}:{}/{}\"\ntls = \"disable\"\n\
             password = \"file:{}\"\n{}",
            server.user,
            server.host,
            server.port,
            server.database,
            file.display(),
            sshd.profile_settings("shop", &key)
        );
        let settings = library.write_file("settings.toml", text);
        let config = ["--config", settings.to_str().unwrap(), "--log", "trace"];
        let tested = library.run(&[&["profile", "test", "shop"], &config[..]].concat());
        assert_eq!(tested.code, 0, "{tested:?}");
        assert!(tested.stdout.starts_with(&format!("shop: {engine} ")), "{tested:?}");
        let looked_at = library.run(&[&["profile", "doctor", "shop"], &config[..]].concat());
        assert_eq!(looked_at.code, 0, "{looked_at:?}");
        assert!(looked_at.stdout.contains("warning: its user is a superuser"), "{looked_at:?}");
        let output = format!("{tested:?}{looked_at:?}");
        assert!(!output.contains(password), "{output}");
    }
}

#[actix::test]
async fn encrypted_keys_of_common_formats_are_opened() {
    let (sshd, database) = (Sshd::start(), start_echo_server());
    sshd.known_hosts();
    let words = sshd.file_path("words");
    for (kind, form) in
        [("ed25519", &[][..]), ("ecdsa", &["-m", "PKCS8"]), ("rsa", &["-m", "PKCS8"])]
    {
        let key = sshd.create_authorized_key(kind, "open sesame", form);
        let with = |passphrase: &str| {
            fs::write(&words, passphrase).unwrap();
            Command::new("chmod").arg("600").arg(&words).status().unwrap();
            let text = profile_settings(&sshd, &key, database);
            load_profile(&format!("{text}passphrase = \"file:{}\"\n", words.display()))
        };
        let near = tunnel_address(&with("open sesame")).await;
        let near = near.unwrap_or_else(|error| panic!("{kind} {form:?}: {error:?}"));
        assert_eq!(near.ip(), Ipv4Addr::LOCALHOST, "{kind} {form:?}");
        let error = tunnel_address(&with("s3cret-barley")).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlSshAuthFailed);
        assert!(error.detail.as_ref().unwrap().contains("profiles.shop.ssh.passphrase"));
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[actix::test]
async fn broken_tunnel_is_reopened_at_same_address() {
    let (mut sshd, database) = (Sshd::start(), start_echo_server());
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    let profile = load_profile(&profile_settings(&sshd, &key, database));
    let near = tunnel_address(&profile).await.unwrap();
    assert_eq!(echo_through(near).await.unwrap(), "bread");
    sshd.break_connections();
    profile.ensure_tunnel().await.unwrap();
    assert_eq!(echo_through(near).await.unwrap(), "bread", "the local address is unchanged");
}

#[actix::test]
async fn tunnel_failures_have_codes_and_hide_hosts() {
    let (sshd, database) = (Sshd::start(), start_echo_server());
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    fs::write(sshd.file_path("authorized"), "").unwrap();
    let error =
        tunnel_address(&load_profile(&profile_settings(&sshd, &key, database))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlSshAuthFailed);
    assert!(error.message.contains("`shop`") && !error.message.contains("127.0.0.1"), "{error}");
    assert!(error.detail.unwrap().contains(&format!("[127.0.0.1]:{}", sshd.port())));

    let nobody = profile_settings(&sshd, &sshd.file_path("missing"), database);
    let error = tunnel_address(&load_profile(&nobody)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlSecretNotFound);

    let text = profile_settings(&sshd, &key, database);
    drop(sshd);
    let error = tunnel_address(&load_profile(&text)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlSshDialFailed);
    assert!(!error.message.contains("127.0.0.1"), "{error}");
}

#[test]
fn passphrase_never_appears_in_logs() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "s3cr3t-marker", &[]);
    let meant = "[profiles.shop]\nallow_plaintext = true\n";
    let text = profile_settings(&sshd, &key, unused_address()).replace("[profiles.shop]\n", meant);
    for passphrase in ["s3cr3t-marker", "s3cr3t-marker-of-another"] {
        let done = run_doctor(&format!("{text}passphrase = \"{passphrase}\"\n"));
        assert!(!format!("{done:?}").contains("s3cr3t-marker"), "{done:?}");
        assert!(done.stdout.contains("plain-text secret"), "{done:?}");
    }
}

#[test]
fn unknown_host_error_prints_known_hosts_line() {
    let sshd = Sshd::start();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    let text = profile_settings(&sshd, &key, unused_address());
    let refused = run_doctor(&text);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stdout.contains("is not a known host"), "{refused:?}");
    assert!(refused.stdout.contains(&sshd.fingerprint()), "{refused:?}");
    let (_, line) = refused.stdout.split_once("add this line to ").unwrap();
    let (_, line) = line.split_once("known_hosts: ").unwrap();
    fs::write(sshd.file_path("known_hosts"), line.lines().next().unwrap()).unwrap();
    let let_in = run_doctor(&text);
    assert!(let_in.stdout.contains("the SSH login succeeded"), "{let_in:?}");
}

#[test]
fn changed_or_revoked_host_key_is_refused() {
    let mut sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    let text = profile_settings(&sshd, &key, unused_address());
    let let_in = run_doctor(&text);
    assert!(let_in.stdout.contains("the SSH login succeeded"), "{let_in:?}");
    let before = sshd.fingerprint();
    sshd.change_host_key();
    let refused = run_doctor(&text);
    assert_eq!(refused.code, 3, "{refused:?}");
    let host = format!("[127.0.0.1]:{}", sshd.port());
    for part in
        ["a different host key than before", &host, &before, &sshd.fingerprint(), "remove line 1"]
    {
        assert!(refused.stdout.contains(part), "{part}: {refused:?}");
    }
    let revoked = format!("@revoked * {}\n{host} {0}\n", sshd.host_key());
    fs::write(sshd.file_path("known_hosts"), revoked).unwrap();
    let refused = run_doctor(&text);
    assert!(refused.stdout.contains("presented a revoked key"), "{refused:?}");
}

#[test]
fn missing_ssh_is_reported_with_its_package() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    let home = crate::support::TempHome::new();
    let text = profile_settings(&sshd, &key, unused_address());
    let file = home.write_file("settings.toml", &text);
    let arguments = ["profile", "doctor", "shop", "--config", file.to_str().unwrap()];
    let done = home.run_with(&arguments, &[("PATH", &sshd.file_path("no_programs"))]);
    assert_eq!(done.code, 3, "{done:?}");
    assert!(done.stdout.contains("openssh-client"), "{done:?}");
}

#[test]
fn hashed_known_hosts_are_supported() {
    let sshd = Sshd::start();
    let list = sshd.known_hosts();
    let hashed = Command::new("ssh-keygen").arg("-Hf").arg(&list).output().unwrap();
    assert!(hashed.status.success());
    assert!(fs::read_to_string(&list).unwrap().starts_with("|1|"));
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    let let_in = run_doctor(&profile_settings(&sshd, &key, unused_address()));
    assert!(let_in.stdout.contains("the SSH login succeeded"), "{let_in:?}");
}

#[test]
fn agent_keys_used_without_identity_file() {
    let sshd = Sshd::start();
    sshd.known_hosts();
    let key = sshd.create_authorized_key("ed25519", "", &[]);
    let socket = sshd.file_path("agent");
    let mut agent = Command::new("ssh-agent")
        .args(["-D", "-a"])
        .arg(&socket)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The agent prints its socket path once it is listening.
    let mut line = [0; 1];
    agent.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let added = Command::new("ssh-add").arg("-q").arg(&key).env("SSH_AUTH_SOCK", &socket).status();
    let text: String = profile_settings(&sshd, &key, unused_address())
        .lines()
        .filter(|line| !line.starts_with("identity_file"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let home = crate::support::TempHome::new();
    let file = home.write_file("settings.toml", &text);
    let arguments = ["profile", "doctor", "shop", "--config", file.to_str().unwrap()];
    let done = home.run_with(&arguments, &[("SSH_AUTH_SOCK", &socket)]);
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(added.unwrap().success());
    assert!(done.stdout.contains("the SSH login succeeded"), "{done:?}");
}
