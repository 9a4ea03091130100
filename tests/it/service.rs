//! `vademecum service`, with a service manager that records its commands.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::support::{CommandOutput, Library, TempHome};

/// Path of the unit in the home folder.
const UNIT: &str = ".config/systemd/user/vademecum.service";

/// A home folder with a `systemctl` that appends its arguments to a file and then runs `end`.
struct Session {
    home: TempHome,
}

impl Session {
    fn new(end: &str) -> Self {
        let home = TempHome::new();
        let log = home.file_path("systemctl.log");
        let script = format!("#!/bin/sh\necho \"$@\" >> {}\n{end}\n", log.display());
        let program = home.write_file("bin/systemctl", &script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        Self { home }
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.home.run_with(arguments, &[("PATH", &self.home.file_path("bin"))])
    }

    /// Returns the commands since the last call.
    fn commands(&self) -> Vec<String> {
        let log = fs::read_to_string(self.home.file_path("systemctl.log")).unwrap_or_default();
        fs::remove_file(self.home.file_path("systemctl.log")).ok();
        log.lines().map(str::to_owned).collect()
    }
}

#[test]
fn service_is_installed_shown_and_removed() {
    let (session, library) = (Session::new(""), Library::with_lanterns());
    let data = library.data_folder();
    let data = ["--data", data.to_str().unwrap()];
    let status = session.run(&["service", "status", data[0], data[1]]);
    assert!(status.code == 1 && status.stdout.contains("not installed"), "{status:?}");
    let done = session.run(&["service", "install", data[0], data[1]]);
    assert!(done.code == 0 && done.stdout.contains("enable-linger"), "{done:?}");
    let start = ["--user daemon-reload", "--user enable --now vademecum.service"];
    assert_eq!(session.commands(), start);
    let unit = session.home.read_file(UNIT);
    let command = format!(" \"serve\" \"--data\" \"{}\"\n", data[1]);
    assert!(unit.contains(&command) && unit.contains("Restart=on-failure"), "{unit}");
    let printed = session.run(&["service", "install", "--print", data[0], data[1]]);
    assert_eq!(printed.stdout.trim_end(), unit.trim_end());
    assert!(session.commands().is_empty());
    // The status asks the server itself.
    let status = session.run(&["service", "status", data[0], data[1]]);
    assert!(status.code == 1 && status.stdout.contains("installed: "), "{status:?}");
    let server = library.serve();
    let status = session.run(&["service", "status", data[0], data[1]]);
    assert!(status.code == 0 && status.stdout.contains("a server runs on"), "{status:?}");
    drop(server);
    // A second installation replaces the first.
    assert_eq!(session.run(&["service", "install"]).code, 0);
    assert_eq!(session.commands()[0], "--user disable --now vademecum.service");
    assert!(!session.home.read_file(UNIT).contains("--data"));
    assert_eq!(session.run(&["service", "remove"]).code, 0);
    assert_eq!(
        session.commands(),
        ["--user disable --now vademecum.service", "--user daemon-reload"]
    );
    assert!(!session.home.file_path(UNIT).exists());
    assert!(session.run(&["service", "remove"]).stdout.contains("there is no service"));
    assert!(session.commands().is_empty());
}

#[test]
fn failed_installation_leaves_nothing() {
    let session = Session::new("echo 'no bus' >&2; exit 1");
    let refused = session.run(&["service", "install"]);
    assert!(refused.code == 1 && refused.stderr.contains("no bus"), "{refused:?}");
    assert!(!session.home.file_path(UNIT).exists());
    // Settings with which no server starts are not installed either.
    let session = Session::new("");
    let settings = session.home.write_file("a.toml", "[server]\nlisten = \"0.0.0.0:80\"\n");
    let refused = session.run(&["service", "install", "--config", settings.to_str().unwrap()]);
    assert!(refused.code == 1 && refused.stderr.contains("other machines"), "{refused:?}");
    assert!(session.commands().is_empty() && !session.home.file_path(UNIT).exists());
}

#[test]
fn foreign_unit_is_left_alone() {
    let session = Session::new("");
    session.home.write_file(UNIT, "[Service]\nExecStart=/bin/mine\n");
    for command in ["install", "remove", "status"] {
        let refused = session.run(&["service", command]);
        assert!(refused.code == 1 && refused.stderr.contains("not written by"), "{refused:?}");
    }
    assert!(session.home.read_file(UNIT).contains("/bin/mine") && session.commands().is_empty());
}
