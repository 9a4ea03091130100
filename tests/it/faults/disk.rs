//! Fault tests of full and read-only disks. They need no root privileges.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::assert_healthy;
use crate::{
    support::{Library, McpClient, Server, terminate, vademecum_command, wait_until},
    writing::{WRITE_ENABLED, create_note, search_uris},
};

/// Shell script that mounts a small tmpfs in a separate mount namespace and then executes the given
/// command.
const SMALL_DISK_SCRIPT: &str = "mkdir -p \"$1\" && mount -t tmpfs -o size=\"$2\" tmpfs \"$1\" && \
                               shift 2 && exec \"$@\"";

/// Returns a command that runs the program with the data folder on a small disk.
fn small_disk_command(data: &Path, size: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", SMALL_DISK_SCRIPT, "sh"]).arg(data).arg(size);
    command.arg(vademecum_command().get_program());
    command
}

/// Returns a command that runs the program with the data folder on a disk that is full.
fn full_disk_command(data: &Path) -> Command {
    const FULL: &str = "mkdir -p \"$1\" && mount -t tmpfs -o size=4m tmpfs \"$1\" && \
                        ! head -c 8m /dev/zero 2>/dev/null >\"$1/filler\" && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", FULL, "sh"]).arg(data).arg(vademecum_command().get_program());
    command
}

/// Returns a command that runs the program with the data folder on a read-only mount.
fn read_only_command(data: &Path) -> Command {
    const BIND: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && \
                        exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", BIND, "sh"]).arg(data).arg(vademecum_command().get_program());
    command
}

/// Returns true if unprivileged users may mount a file system on this machine.
#[expect(clippy::print_stdout, reason = "reports a skipped test")]
fn can_mount() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "mount", "-t", "tmpfs", "tmpfs"]).arg(folder.path());
    let can = command.status().is_ok_and(|status| status.success());
    if !can {
        println!("skipped: unprivileged users cannot mount file systems on this machine");
    }
    can
}

/// Returns the path of a folder in the mount namespace of a process.
fn path_in_namespace(process: u32, folder: &Path) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/root{}", folder.display()))
}

/// Writes until the disk is full. The failed write must leave no traces, all previous writes must
/// be kept, and writing must work again as soon as there is space.
fn assert_writes_fail_while_full(server: &Server, fill: impl Fn(), free: impl Fn()) {
    let client = server.client();
    for number in 0..5 {
        create_note(&client, &format!("n{number}"), "A lantern.");
    }
    assert_eq!(search_uris(&client, "lantern").len(), 5);
    fill();
    let mut error = None;
    let mut kept = 5;
    for number in 0..100 {
        let note = json!({ "title": format!("m{number}"), "content": "A lantern. ".repeat(4_000) });
        let answer = client.tool_result("notes.create", &note);
        if answer["isError"] == true {
            error = Some((number, answer["content"][0]["text"].as_str().unwrap().to_owned()));
            break;
        }
        kept += 1;
    }
    let (refused, error) = error.expect("the disk must be full eventually");
    assert!(error.contains("disk is full") && error.contains("nothing was changed"), "{error}");
    assert_eq!(
        client.search_uris("knowledge.search", &json!({ "query": "lantern", "limit": 100 })).len(),
        kept
    );
    assert!(search_uris(&client, &format!("m{refused}")).is_empty());
    assert_eq!(search_uris(&client, "n3").len(), 1);
    free();
    let note = create_note(&client, &format!("m{refused}"), "A lantern again.");
    assert_eq!(search_uris(&client, &format!("m{refused}")), [note["uri"].as_str().unwrap()]);
    assert_eq!(
        client.search_uris("knowledge.search", &json!({ "query": "lantern", "limit": 100 })).len(),
        kept + 1
    );
}

#[test]
fn full_disk_rejects_writes_without_data_loss() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let server = library
        .serve_with_command(&mut small_disk_command(&library.data_folder(), "12m"), WRITE_ENABLED);
    let filler = path_in_namespace(server.process(), &library.data_folder()).join("filler");
    let fill = || {
        // Writes as much as fits.
        fs::write(&filler, vec![0; 64 << 20]).unwrap_err();
    };
    assert_writes_fail_while_full(&server, fill, || fs::remove_file(&filler).unwrap());
}

#[test]
fn server_started_on_full_disk_says_so() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let data = library.data_folder();
    let server = library.serve_with_command(&mut full_disk_command(&data), WRITE_ENABLED);
    let client = server.client();
    let note = json!({ "title": "A", "content": "A lantern." });
    let media = json!({ "title": "A", "content": "A lantern." });
    for (tool, arguments) in [("notes.create", &note), ("media.add", &media)] {
        let problem = client.expect_tool_error(tool, arguments);
        assert!(problem.contains("disk is full") && problem.contains("free space"), "{problem}");
    }
    let answer = client.tool_result("knowledge.search", &json!({ "query": "lantern" }));
    let text = answer.to_string();
    assert!(answer["isError"] == false || text.contains("full"), "{answer}");
    assert!(!text.contains("internal server error"), "{answer}");
    fs::remove_file(path_in_namespace(server.process(), &data).join("filler")).unwrap();
    create_note(&client, "n0", "A lantern.");
    assert_eq!(search_uris(&client, "lantern").len(), 1);
}

#[test]
fn full_disk_of_folder_delays_written_note() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let folder = library.file_path("vault");
    let settings = format!("{WRITE_ENABLED}\n[[folders]]\npath = {folder:?}\ntwo_way = true");
    let server = library.serve_with_command(&mut small_disk_command(&folder, "1m"), &settings);
    let client = server.client();
    let inside = path_in_namespace(server.process(), &folder);
    fs::write(inside.join("a.md"), "# A\n").unwrap();
    wait_until("the import", || !search_uris(&client, "a").is_empty());
    let filler = inside.join(".filler");
    fs::write(&filler, vec![0; 4 << 20]).unwrap_err();
    let note = client.call_tool("notes.get", &json!({ "title": "A" }));
    let text = format!("# A\n{}\n", "More. ".repeat(2_000));
    let change = json!({ "note_id": note["meta"]["id"], "version": 1, "content": text });
    let written = client.call_tool("notes.update", &change);
    let problem = written["file_problem"].as_str().unwrap();
    assert!(problem.contains("No space left"), "{written}");
    assert_eq!(fs::read_to_string(inside.join("a.md")).unwrap(), "# A\n");
    fs::remove_file(&filler).unwrap();
    wait_until("the file to be written", || {
        fs::read_to_string(inside.join("a.md")).is_ok_and(|found| found == text)
    });
    let names: Vec<_> = fs::read_dir(&inside).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["a.md"], "no temporary file is left");
}

#[test]
fn file_size_limit_rejects_writes_without_data_loss() {
    let library = Library::new();
    // Ignores SIGXFSZ, so that writing beyond the file size limit fails with an error instead of
    // ending the process.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(vademecum_command().get_program());
    let server = library.serve_with_command(&mut command, WRITE_ENABLED);
    let limit = |most: &str| {
        let process = server.process().to_string();
        let size = format!("--fsize={most}:");
        let set = Command::new("prlimit").args(["--pid", &process, &size]).status().unwrap();
        assert!(set.success());
    };
    let log = library.data_folder().join("users/local/chacha.db-wal");
    let fill = || limit(&(fs::metadata(&log).unwrap().len() + 20_000).to_string());
    assert_writes_fail_while_full(&server, fill, || limit("unlimited"));
    drop(server.kill_and_read_log());
    assert_healthy(&library.run(&["check"]));
}

#[test]
fn read_only_disk_is_reported_until_remounted() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let server = library
        .serve_with_command(&mut small_disk_command(&library.data_folder(), "12m"), WRITE_ENABLED);
    let process = server.process().to_string();
    let remount = |way: &str| {
        let mut command = Command::new("nsenter");
        command.args(["-t", &process, "-U", "-m", "--preserve-credentials", "mount", "-o"]);
        let done =
            command.arg(format!("remount,{way}")).arg(library.data_folder()).status().unwrap();
        assert!(done.success(), "{way}");
    };
    // No file is open for writing yet; otherwise the disk could not be remounted read-only.
    remount("ro");
    let client = server.client();
    let note = json!({ "title": "Mooring", "content": "A lantern." });
    let error = client.expect_tool_error("notes.create", &note);
    assert!(error.contains("read-only") && error.contains("nothing was changed"), "{error}");
    let mut check = Command::new("nsenter");
    check.args(["-t", &process, "-U", "-m", "--preserve-credentials"]);
    check
        .arg(vademecum_command().get_program())
        .args(["check", "--data"])
        .arg(library.data_folder());
    let check = check.output().unwrap();
    let output = String::from_utf8(check.stdout).unwrap();
    assert!(
        output.contains("free; free some space"),
        "`check` must warn of low disk space: {output}"
    );
    remount("rw");
    let written = create_note(&client, "Mooring", "A lantern.");
    assert_eq!(search_uris(&client, "lantern"), [written["uri"].as_str().unwrap()]);
}

#[test]
fn library_on_read_only_disk_is_searchable() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let mut server = library.serve_with_settings(WRITE_ENABLED);
    create_note(&server.client(), "Mooring", "A lantern.");
    terminate(server.process());
    assert_eq!(server.wait_for_exit(), Some(0));
    assert_readable_but_not_writable(&library, 1);
    // The latest writes are still in the write-ahead log, beside the database file.
    let server = library.serve_with_settings(WRITE_ENABLED);
    create_note(&server.client(), "Quay", "A lantern.");
    drop(server.kill_and_read_log());
    assert_readable_but_not_writable(&library, 2);
}

/// Asserts that on a read-only disk `notes` notes are found and writes are rejected.
fn assert_readable_but_not_writable(library: &Library, notes: usize) {
    let server =
        library.serve_with_command(&mut read_only_command(&library.data_folder()), WRITE_ENABLED);
    let client = server.client();
    assert_eq!(search_uris(&client, "lantern").len(), notes);
    let note = json!({ "title": "Pier", "content": "A lantern." });
    let error = client.expect_tool_error("notes.create", &note);
    assert!(error.contains("read-only") && error.contains("nothing was changed"), "{error}");
    assert_eq!(search_uris(&client, "lantern").len(), notes);
}
