//! The settings file that is found without `--config`, and `vademecum config`.

use std::fs;

use crate::support::{Library, TempHome};

/// Path of the platform's settings file in a home folder on Linux.
const PLATFORM_FILE: &str = ".config/vademecum/config.toml";
/// Path of the settings file in the default data folder on Linux.
const DATA_FILE: &str = ".local/share/vademecum/config.toml";

/// Settings that only say who the user is.
fn user(name: &str) -> String {
    format!("[storage]\nuser = \"{name}\"\n")
}

#[cfg(target_os = "linux")]
#[test]
fn settings_are_found_in_one_order() {
    let home = TempHome::new();
    let get = |more: &[&str]| {
        let done = home.run(&[&["config", "get", "storage.user"], more].concat());
        (done.stdout.trim().to_owned(), done.stderr)
    };
    assert_eq!(get(&[]), ("\"local\"".to_owned(), "this is the default\n".to_owned()));
    home.write_file(PLATFORM_FILE, &user("platform"));
    assert_eq!(get(&[]).0, "\"platform\"");
    home.write_file(DATA_FILE, &user("data"));
    assert_eq!(get(&[]).0, "\"data\"");
    let named = home.write_file("named.toml", &user("named"));
    let named = ["--config", named.to_str().unwrap()];
    assert_eq!(get(&named).0, "\"named\"");
    let other = home.write_file("other/config.toml", &user("other"));
    let folder = other.parent().unwrap().to_str().unwrap();
    assert_eq!(get(&["--data", folder]).0, "\"other\"");
    // The file takes effect, and the check says which one is in force and which is not.
    let checked = home.run(&["config", "check"]);
    let force = format!("valid, in force: {}\n", home.file_path(DATA_FILE).display());
    assert_eq!((checked.code, checked.stdout), (0, force));
    let ignored = home.file_path(PLATFORM_FILE).display().to_string();
    assert!(checked.stderr.contains(&ignored), "{}", checked.stderr);
    let checked = home.run(&["check"]).stdout;
    assert!(checked.contains(&format!("{ignored} is not read")), "{checked}");
    fs::remove_file(home.file_path(DATA_FILE)).unwrap();
    home.write_file(PLATFORM_FILE, "[server]\npages = false\n");
    let refused = home.run(&["open", "--print"]);
    assert!(refused.stderr.contains("server.pages is off"), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn file_that_others_can_change_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;

    let library = Library::new();
    fs::create_dir_all(library.data_folder()).unwrap();
    let path = library.data_folder().join("config.toml");
    fs::write(&path, user("ada")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    for command in [&["search", "lantern"][..], &["config", "check"], &["mcp"], &["serve"]] {
        let refused = library.run(command);
        assert_eq!(refused.code, 1, "{command:?}");
        assert!(refused.stderr.contains("can be changed by another account"), "{refused:?}");
    }
}

#[test]
fn unknown_setting_names_nearest() {
    let library = Library::new();
    let file = library.write_file("settings.toml", "[tools]\nwrites = true\n");
    let refused = library.run(&["search", "a", "--config", file.to_str().unwrap()]);
    assert!(refused.code == 1 && refused.stderr.contains("did you mean `write`?"), "{refused:?}");
    let refused = library.run(&["config", "get", "tools.wirte"]);
    let near = "there is no setting `tools.wirte`; did you mean `tools.write`?";
    assert!(refused.code == 1 && refused.stderr.contains(near), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn changed_setting_keeps_comments_and_is_private() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let library = Library::new();
    let set = |key: &str, value: &str| library.run(&["config", "set", key, value]);
    let done = set("server.listen", "127.0.0.1:7745");
    let path = library.data_folder().join("config.toml");
    assert_eq!(done.stdout, format!("set server.listen in {}\n", path.display()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // The file is a link to one with comments, which others could read.
    let target = library.write_file("dotfiles.toml", "# Mine.\n[tools] # and yours\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&target, &path).unwrap();
    assert_eq!(set("tools.write", "true").code, 0);
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    let text = "# Mine.\n[tools] # and yours\nwrite = true\n";
    assert_eq!(fs::read_to_string(&target).unwrap(), text);
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    for (key, value) in [("tools.wirte", "true"), ("tools.write", "perhaps"), ("tools", "1")] {
        let refused = set(key, value);
        assert_eq!(refused.code, 1, "{key} {value}: {refused:?}");
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), text);
    assert_eq!(library.run(&["config", "get", "tools.write"]).stdout, "true\n");
}

#[cfg(unix)]
#[test]
fn invalid_edit_is_kept_beside_unchanged_settings() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = TempHome::new();
    let editor = |script: &str| {
        let path = home.write_file("editor", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        home.run_with(&["config", "edit"], &[("VISUAL", &path)])
    };
    let done = editor("printf '[tools]\\nwrite = true\\n' >> \"$1\"");
    assert_eq!(done.code, 0, "{done:?}");
    let settings = home.run(&["config", "get"]).stdout;
    assert!(settings.starts_with("# Settings of Vademecum") && settings.contains("write = true"));
    let refused = editor("echo 'wirte = 1' >> \"$1\"");
    assert!(refused.code == 1 && refused.stderr.contains("did you mean `write`?"), "{refused:?}");
    let kept = refused.stderr.split("your text is in ").nth(1).unwrap();
    let kept = kept.split([':', '\n']).next().unwrap().trim();
    assert!(fs::read_to_string(kept).unwrap().contains("wirte = 1"));
    fs::remove_file(kept).unwrap();
    assert_eq!(home.run(&["config", "get"]).stdout, settings);
}
