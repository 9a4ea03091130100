//! The door of a desktop: while `open` logs browsers in, another account reads the arguments and the
//! environment of all programs, and tries each code that it learns.
//!
//! `VADEMECUM_FAULT_ROUNDS` sets the number of starts: eight for each round, 1,000 in the long run.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    faults::round_count,
    local_access::{other_account, send_to_address},
    support::{Browser, Library, form_field, terminate, vademecum_command, wait_until},
};

/// Passes over all programs for ever. Prints each one-time code that it finds, and then `pass`.
const SPY: &str = r"
while :; do
    cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null |
        tr '\0' '\n' | grep -aoE '[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{4}' | sort -u
    echo pass
done";
/// Argument of a program by which the spy proves that it reads arguments.
const DECOY: &str = "AAAA-BBBB-CCCC-DDDD";

/// Another account that reads the arguments and the environment of all programs.
struct Spy {
    process: Child,
    passes: Arc<AtomicUsize>,
    found: Arc<Mutex<BTreeSet<String>>>,
}

impl Spy {
    fn start() -> Self {
        let mut command = other_account();
        let command = command.args(["bash", "-c", SPY]).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let (passes, found) = (Arc::<AtomicUsize>::default(), Arc::default());
        let (passed, codes) = (Arc::clone(&passes), Arc::clone(&found));
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line == "pass" {
                    passed.fetch_add(1, Ordering::SeqCst);
                } else {
                    Mutex::<BTreeSet<String>>::lock(&codes).unwrap().insert(line);
                }
            }
        });
        let spy = Self { process, passes, found };
        let mut shown = Command::new("sh");
        let shown = shown.args(["-c", "read line", DECOY]).stdin(Stdio::piped());
        let mut shown = shown.spawn().unwrap();
        wait_until("the spy to see an argument", || spy.found().contains(DECOY));
        shown.kill().unwrap();
        shown.wait().unwrap();
        spy
    }

    /// Waits until the spy has read all programs that run now.
    fn wait_for_pass(&self) {
        let begun = self.passes.load(Ordering::SeqCst);
        wait_until("a pass of the spy", || self.passes.load(Ordering::SeqCst) > begun + 1);
    }

    fn found(&self) -> BTreeSet<String> {
        self.found.lock().unwrap().clone()
    }
}

impl Drop for Spy {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A folder with a browser that keeps running, with its arguments, until it is let go.
struct SlowBrowser(tempfile::TempDir);

impl SlowBrowser {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (at, program) = (folder.path().display(), folder.path().join("xdg-open"));
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > {at}/new && mv {at}/new {at}/seen\n\
             while [ -e {at}/seen ]; do sleep 0.01; done\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        Self(folder)
    }

    /// Starts `vademecum open` with this browser.
    fn open(&self, library: &Library, settings: &Path) -> Child {
        let mut path = self.0.path().as_os_str().to_owned();
        path.push(":/usr/bin:/bin");
        let mut open = vademecum_command();
        let open = open.arg("open").arg("--config").arg(settings).arg("--data");
        let open = open.arg(library.data_folder()).env("PATH", path);
        open.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Waits for the browser and returns the link in the file that it shows.
    fn link(&self) -> String {
        wait_until("the browser", || self.seen().exists());
        let file = fs::read_to_string(self.seen()).unwrap();
        let page = fs::read_to_string(file.trim()).unwrap();
        page.split_once("0;url=").unwrap().1.split_once('"').unwrap().0.to_owned()
    }

    fn seen(&self) -> PathBuf {
        self.0.path().join("seen")
    }

    fn let_go(&self) {
        fs::remove_file(self.seen()).unwrap();
    }
}

/// Has the other account redeem a code, and read the library with whatever cookie it gets. Returns
/// the responses.
fn try_code(address: &str, code: &str) -> [String; 2] {
    let page = send_to_address(address, &format!("GET /login/code?code={code}"), "", "");
    let cookie = page.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let csrf = form_field(&page, "csrf").unwrap();
    let kind = "application/x-www-form-urlencoded";
    let head = format!("Cookie: {cookie}\r\nOrigin: http://{address}\r\nContent-Type: {kind}\r\n");
    let form = format!("csrf={csrf}&code={code}");
    let redeemed = send_to_address(address, "POST /login/code", &head, &form);
    let given = redeemed.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next());
    let head = format!("Cookie: {}\r\n", given.unwrap_or(cookie));
    [redeemed, send_to_address(address, "GET /search?q=lantern", &head, "")]
}

fn code_of(link: &str) -> String {
    link.trim().split_once("code=").unwrap().1.to_owned()
}

fn write_settings(library: &Library, address: &str) -> PathBuf {
    library.write_file("settings.toml", format!("[server]\nlisten = \"{address}\"\n"))
}

#[test]
fn starts_leak_no_code_to_other_account() {
    let spy = Spy::start();
    let (library, browser) = (Library::with_lanterns(), SlowBrowser::new());
    let server = library.serve();
    let settings = write_settings(&library, server.address());
    let starts = round_count() * 8;
    let (mut own, mut tried) = (BTreeSet::new(), BTreeSet::new());
    let (mut redemptions, mut pages) = (0, 0);
    for number in 0..starts {
        let mut open = browser.open(&library, &settings);
        let link = browser.link();
        spy.wait_for_pass();
        own.insert(code_of(&link));
        // What was leaked, and in every tenth start the code itself, as if it had been.
        let mut codes: BTreeSet<String> = spy.found().difference(&tried).cloned().collect();
        codes.extend((number % 10 == 0).then(|| code_of(&link)));
        for code in codes {
            let [redeemed, page] = try_code(server.address(), &code);
            redemptions += usize::from(!redeemed.starts_with("HTTP/1.1 403"));
            pages += usize::from(page.contains("Lantern"));
            tried.insert(code);
        }
        assert!(open.wait().unwrap().success());
        assert_eq!(Browser::of(&server).redeem_link(&link).status, 303, "the owner is let in");
        browser.let_go();
    }
    let leaked: Vec<_> = spy.found().intersection(&own).cloned().collect();
    assert_eq!((leaked, redemptions, pages), (Vec::new(), 0, 0), "after {starts} starts");
}

#[test]
fn first_start_leaks_no_code_to_other_account() {
    let spy = Spy::start();
    let (library, browser) = (Library::with_lanterns(), SlowBrowser::new());
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let settings = write_settings(&library, &address);
    let mut open = browser.open(&library, &settings);
    let link = browser.link();
    spy.wait_for_pass();
    assert!(!spy.found().contains(&code_of(&link)));
    let [redeemed, page] = try_code(&address, &code_of(&link));
    assert!(redeemed.starts_with("HTTP/1.1 403") && !page.contains("Lantern"), "{redeemed}");
    browser.let_go();
    terminate(open.id());
    open.wait().unwrap();
}
