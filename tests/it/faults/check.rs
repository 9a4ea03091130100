//! End-to-end tests of `vademecum check` beyond the integrity of databases: permissions, orphaned
//! files, users and profiles.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use serde_json::Value;

use super::{assert_healthy, report_lines};
use crate::support::Library;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn check_lines_equal_doctor_json() {
    let library = Library::with_lanterns();
    let check = library.run(&["check"]);
    assert_healthy(&check);
    let listed = library.run(&["doctor", "--json"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let findings = listed.parse_json();
    let line = |it: &Value| {
        let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
        let remedy = it.get("do").map_or_else(String::new, |_| format!("; {}", text("do")));
        format!("{}: {}: {}{remedy}", text("level"), text("where"), text("what"))
    };
    let findings_as_lines: Vec<String> = findings.as_array().unwrap().iter().map(line).collect();
    // The free disk space may change between the two runs.
    let still = |line: &&str| !line.contains("disk of");
    let findings_as_lines: Vec<&str> =
        findings_as_lines.iter().map(String::as_str).filter(still).collect();
    assert_eq!(findings_as_lines, check.stdout.lines().filter(still).collect::<Vec<_>>());
    let disk = check.stdout.lines().find(|line| line.contains("disk of")).unwrap();
    assert!(disk.contains(" free"), "{disk}");
}

#[test]
fn readable_folder_is_warned_with_chmod_command() {
    let library = Library::with_lanterns();
    let folder = library.data_folder();
    set_mode(&folder, 0o755);
    let check = library.run(&["check"]);
    assert_healthy(&check);
    let command = format!("chmod -R go= {}", folder.display());
    assert!(
        report_lines(&check, "warning").iter().any(|line| line.contains(&command)),
        "{check:?}"
    );
    set_mode(&folder, 0o700);
    assert!(!library.run(&["check"]).stdout.contains("chmod"));
}

#[test]
fn orphans_are_reported_and_removed_if_unneeded() {
    let library = Library::with_lanterns();
    library.write_file("docs/a.md", "# A\n\nText.\n");
    let docs = library.file_path("docs");
    assert_eq!(library.run(&["collection", "build", "kb", docs.to_str().unwrap()]).code, 0);
    let collections = library.data_folder().join("collections");
    let stray = ["kb.7.db", "kb.7.db-wal", "gone.1.db"].map(|name| collections.join(name));
    for path in &stray {
        fs::write(path, "x").unwrap();
    }
    let [old, new, needed] = [".vademecum-old", ".vademecum-new", ".vademecum-needed"]
        .map(|it| library.data_folder().join(it));
    for folder in [&old, &new, &needed] {
        fs::create_dir_all(folder.join("users/local")).unwrap();
        fs::write(folder.join("users/local/media.db"), "x").unwrap();
    }
    fs::rename(needed.join("users/local"), needed.join("users/eve")).unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(2);
    fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    let check = library.run(&["check"]);
    let warned = |path: &Path, level: &str| {
        report_lines(&check, level).iter().any(|line| line.contains(&path.display().to_string()))
    };
    assert!(warned(&stray[0], "warning") && warned(&stray[2], "warning"), "{check:?}");
    assert!(warned(&old, "warning") && warned(&new, "warning"), "{check:?}");
    assert!(warned(&needed, "error") && check.code == 1, "{check:?}");
    let repaired = library.run(&["check", "--repair"]);
    assert!(report_lines(&repaired, "repaired").len() >= 3, "{repaired:?}");
    assert!(stray.iter().all(|path| !path.exists()) && !old.exists(), "{repaired:?}");
    assert!(new.exists() && needed.exists() && collections.join("kb.1.db").exists());
    fs::remove_dir_all(&needed).unwrap();
    assert_healthy(&library.run(&["check"]));
}

#[test]
fn check_covers_all_users_or_the_selected_one() {
    let library = Library::new();
    for user in ["ada", "bob"] {
        library.create_key(user);
        library.import_for_user(user, "notes", "a.md", "A thimble.");
    }
    let bobs = library.data_folder().join("users/bob/chacha.db");
    fs::write(&bobs, "no database at all, but a text that is long enough".repeat(20)).unwrap();
    let check = library.run(&["check"]);
    assert_eq!(check.code, 1, "{check:?}");
    assert!(check.stdout.contains("users/ada/chacha.db") && check.stdout.contains("server.db"));
    assert!(report_lines(&check, "error").iter().all(|line| line.contains("users/bob/chacha.db")));
    let ada = library.run(&["check", "--user", "ada"]);
    assert_healthy(&ada);
    assert!(!ada.stdout.contains("bob") && !ada.stdout.contains("users/local"), "{ada:?}");
    assert_eq!(library.run(&["check", "--user", "bob"]).code, 1);
}

#[test]
fn unreachable_profile_warns_and_missing_secret_fails() {
    let library = Library::with_lanterns();
    let check = |password: &str| {
        let settings = format!(
            "[profiles.shop]\nengine = \"postgres\"\nhost = \"127.0.0.1\"\nport = 9\n\
             database = \"shop\"\nuser = \"ada\"\npassword = \"{password}\"\n"
        );
        let file = library.write_file("settings.toml", settings);
        library.run(&["check", "--config", file.to_str().unwrap()])
    };
    let secret = library.write_private_file("secret", "guess");
    let away = check(&format!("file:{}", secret.display()));
    assert_healthy(&away);
    assert!(
        report_lines(&away, "warning").iter().any(|line| line.contains("profile shop")),
        "{away:?}"
    );
    let lost = check("file:/no/such/secret");
    assert!(lost.code == 1 && report_lines(&lost, "error")[0].contains("profile shop"), "{lost:?}");
}
