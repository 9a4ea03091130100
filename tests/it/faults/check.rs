//! `vademecum check`: what it looks at beside the databases, and whom.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use serde_json::Value;

use super::{is_sound, lines};
use crate::support::Library;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn everything_is_a_line_and_the_same_as_json_under_either_name() {
    let library = Library::with_lanterns();
    let check = library.run(&["check"]);
    is_sound(&check);
    let listed = library.run(&["doctor", "--json"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    let findings = listed.parse_json();
    let line = |it: &Value| {
        let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
        let remedy = it.get("do").map_or_else(String::new, |_| format!("; {}", text("do")));
        format!("{}: {}: {}{remedy}", text("level"), text("where"), text("what"))
    };
    let told: Vec<String> = findings.as_array().unwrap().iter().map(line).collect();
    // How much is free may change meanwhile.
    let still = |line: &&str| !line.contains("disk of");
    let told: Vec<&str> = told.iter().map(String::as_str).filter(still).collect();
    assert_eq!(told, check.stdout.lines().filter(still).collect::<Vec<_>>());
    let disk = check.stdout.lines().find(|line| line.contains("disk of")).unwrap();
    assert!(disk.contains(" free"), "{disk}");
}

#[test]
fn a_folder_that_others_can_look_into_is_told_with_the_command_that_mends_it() {
    let library = Library::with_lanterns();
    let folder = library.data_folder();
    mode(&folder, 0o755);
    let check = library.run(&["check"]);
    is_sound(&check);
    let command = format!("chmod -R go= {}", folder.display());
    assert!(lines(&check, "warning").iter().any(|line| line.contains(&command)), "{check:?}");
    mode(&folder, 0o700);
    assert!(!library.run(&["check"]).stdout.contains("chmod"));
}

#[test]
fn what_broken_off_work_left_is_told_and_taken_away_unless_it_is_needed() {
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
        lines(&check, level).iter().any(|line| line.contains(&path.display().to_string()))
    };
    assert!(warned(&stray[0], "warning") && warned(&stray[2], "warning"), "{check:?}");
    assert!(warned(&old, "warning") && warned(&new, "warning"), "{check:?}");
    assert!(warned(&needed, "wrong") && check.code == 1, "{check:?}");
    let repaired = library.run(&["check", "--repair"]);
    assert!(lines(&repaired, "mended").len() >= 3, "{repaired:?}");
    assert!(stray.iter().all(|path| !path.exists()) && !old.exists(), "{repaired:?}");
    assert!(new.exists() && needed.exists() && collections.join("kb.1.db").exists());
    fs::remove_dir_all(&needed).unwrap();
    is_sound(&library.run(&["check"]));
}

#[test]
fn all_users_are_looked_at_or_the_one_that_is_named() {
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
    assert!(lines(&check, "wrong").iter().all(|line| line.contains("users/bob/chacha.db")));
    let ada = library.run(&["check", "--user", "ada"]);
    is_sound(&ada);
    assert!(!ada.stdout.contains("bob") && !ada.stdout.contains("users/local"), "{ada:?}");
    assert_eq!(library.run(&["check", "--user", "bob"]).code, 1);
}

#[test]
fn a_profile_that_cannot_be_reached_is_a_warning_and_one_without_its_secret_is_wrong() {
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
    is_sound(&away);
    assert!(lines(&away, "warning").iter().any(|line| line.contains("profile shop")), "{away:?}");
    let lost = check("file:/no/such/secret");
    assert!(lost.code == 1 && lines(&lost, "wrong")[0].contains("profile shop"), "{lost:?}");
}
