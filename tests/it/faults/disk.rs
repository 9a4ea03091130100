//! Disks that are full, or that may only be read. Nobody need be root for it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::is_sound;
use crate::{
    support::{Library, McpClient, Server, terminate, vademecum_command},
    writing::{WRITE_ENABLED, create_note, search_uris},
};

/// Mounts a small disk in a mount namespace of its own, and goes on with a command there.
const ON_A_SMALL_DISK: &str = "mkdir -p \"$1\" && mount -t tmpfs -o size=\"$2\" tmpfs \"$1\" && \
                               shift 2 && exec \"$@\"";

/// A command on a data folder that is a small disk of its own.
fn on_a_small_disk(data: &Path, size: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", ON_A_SMALL_DISK, "sh"]).arg(data).arg(size);
    command.arg(vademecum_command().get_program());
    command
}

/// A command that sees a data folder as on a disk that may only be read.
fn read_only(data: &Path) -> Command {
    const BIND: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && \
                        exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", BIND, "sh"]).arg(data).arg(vademecum_command().get_program());
    command
}

/// Whether this machine lets its users mount a disk of their own.
#[expect(clippy::print_stdout, reason = "whoever reads the tests learns what was not looked at")]
fn can_mount() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "mount", "-t", "tmpfs", "tmpfs"]).arg(folder.path());
    let can = command.status().is_ok_and(|status| status.success());
    if !can {
        println!("not looked at: this machine lets its users mount nothing");
    }
    can
}

/// A folder as a process sees it.
fn seen_by(process: u32, folder: &Path) -> PathBuf {
    PathBuf::from(format!("/proc/{process}/root{}", folder.display()))
}

/// Writes until there is no room; then nothing of it is there, everything else is, and
/// all goes on as soon as there is room again.
fn refuses_until_there_is_room(server: &Server, fill: impl Fn(), free: impl Fn()) {
    let client = server.client();
    for number in 0..5 {
        create_note(&client, &format!("n{number}"), "A lantern.");
    }
    assert_eq!(search_uris(&client, "lantern").len(), 5);
    fill();
    let mut told = None;
    let mut kept = 5;
    for number in 0..100 {
        let note = json!({ "title": format!("m{number}"), "content": "A lantern. ".repeat(4_000) });
        let answer = client.tool_result("notes.create", &note);
        if answer["isError"] == true {
            told = Some((number, answer["content"][0]["text"].as_str().unwrap().to_owned()));
            break;
        }
        kept += 1;
    }
    let (refused, told) = told.expect("the disk is full at last");
    assert!(told.contains("disk is full") && told.contains("nothing was changed"), "{told}");
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
fn a_full_disk_refuses_writes_and_loses_nothing() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let server = library
        .serve_with_command(&mut on_a_small_disk(&library.data_folder(), "12m"), WRITE_ENABLED);
    let filler = seen_by(server.process(), &library.data_folder()).join("filler");
    let fill = || {
        // As much as goes in.
        fs::write(&filler, vec![0; 64 << 20]).unwrap_err();
    };
    refuses_until_there_is_room(&server, fill, || fs::remove_file(&filler).unwrap());
}

#[test]
fn files_that_may_grow_no_further_refuse_writes_and_lose_nothing() {
    let library = Library::new();
    // Who is told by a signal that a file may not grow would end without a word.
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
    refuses_until_there_is_room(&server, fill, || limit("unlimited"));
    drop(server.kill_and_read_log());
    is_sound(&library.run(&["check"]));
}

#[test]
fn a_disk_that_may_only_be_read_is_told_and_written_as_soon_as_it_may_be() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let server = library
        .serve_with_command(&mut on_a_small_disk(&library.data_folder(), "12m"), WRITE_ENABLED);
    let process = server.process().to_string();
    let remount = |way: &str| {
        let mut command = Command::new("nsenter");
        command.args(["-t", &process, "-U", "-m", "--preserve-credentials", "mount", "-o"]);
        let done =
            command.arg(format!("remount,{way}")).arg(library.data_folder()).status().unwrap();
        assert!(done.success(), "{way}");
    };
    // Nobody has a file open yet: a disk with open files stays as it is.
    remount("ro");
    let client = server.client();
    let note = json!({ "title": "Mooring", "content": "A lantern." });
    let told = client.expect_tool_error("notes.create", &note);
    assert!(told.contains("read-only") && told.contains("nothing was changed"), "{told}");
    let mut check = Command::new("nsenter");
    check.args(["-t", &process, "-U", "-m", "--preserve-credentials"]);
    check
        .arg(vademecum_command().get_program())
        .args(["check", "--data"])
        .arg(library.data_folder());
    let check = check.output().unwrap();
    let said = String::from_utf8(check.stdout).unwrap();
    assert!(said.contains("free; make room"), "a small disk has little room: {said}");
    remount("rw");
    let written = create_note(&client, "Mooring", "A lantern.");
    assert_eq!(search_uris(&client, "lantern"), [written["uri"].as_str().unwrap()]);
}

#[test]
fn a_library_on_a_disk_that_may_only_be_read_is_searched() {
    if !can_mount() {
        return;
    }
    let library = Library::new();
    let mut server = library.serve_with_settings(WRITE_ENABLED);
    create_note(&server.client(), "Mooring", "A lantern.");
    terminate(server.process());
    assert_eq!(server.wait_for_exit(), Some(0));
    is_found_and_kept(&library, 1);
    // What was written lately stands beside the file.
    let server = library.serve_with_settings(WRITE_ENABLED);
    create_note(&server.client(), "Quay", "A lantern.");
    drop(server.kill_and_read_log());
    is_found_and_kept(&library, 2);
}

/// On a disk that may only be read, so many notes are found, and no more are written.
fn is_found_and_kept(library: &Library, notes: usize) {
    let server = library.serve_with_command(&mut read_only(&library.data_folder()), WRITE_ENABLED);
    let client = server.client();
    assert_eq!(search_uris(&client, "lantern").len(), notes);
    let note = json!({ "title": "Pier", "content": "A lantern." });
    let told = client.expect_tool_error("notes.create", &note);
    assert!(told.contains("read-only") && told.contains("nothing was changed"), "{told}");
    assert_eq!(search_uris(&client, "lantern").len(), notes);
}
