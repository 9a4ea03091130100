//! The worst that one user of a server can do, for minutes, beside two users who search: the server and
//! its readers take bounded memory and keep little of it, and the quota holds.
//!
//! `VADEMECUM_TENANT_SECONDS` sets how long the user attacks. `tests/run --long` runs this test, and
//! shows the times of the others with and without the attack.

use std::{
    env, hint,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    Browser, HttpRequest, Library, McpClient as _, OAuthServer, Opcode, Server, child_processes,
    encode_frame, form_field, json_rpc_request, resident_mb,
};

/// Maximum memory of the server and its children, in MiB.
const MAX_TREE_MB: u64 = 2_048;
/// Maximum memory that stays after the attack, in MiB: the library of the attacker is open then, with
/// its caches.
const MAX_KEPT_MB: u64 = 192;
/// Quotas of the user who attacks.
const MAX_BYTES: u64 = 96 << 20;
const MAX_ITEMS: u64 = 2_000;
/// Maximum size of an uploaded file or a clip, in bytes, and what saving it takes at most (see
/// `STORED_SIZE_FACTOR` of `services`).
const FILE_BYTES: usize = 1 << 20;
const MAX_STORED_BYTES: u64 = 8 * FILE_BYTES as u64;
/// Number of sockets with an unfinished message, the declared size of its first frame, and the sent
/// part of it, in bytes.
const SOCKETS: usize = 1_000;
const FRAME_BYTES: usize = 1_000_000;
const SENT_BYTES: usize = 1_000;
/// Time for which they are held.
const HOLD: Duration = Duration::from_secs(10);
/// Number of threads of each kind of attack.
const UPLOADERS: usize = 3;
const CLIPPERS: usize = 1;
const SEARCHERS: usize = 4;
const WRITERS: usize = 1;
const ATTACKERS: usize = UPLOADERS + CLIPPERS + SEARCHERS + WRITERS;
/// Time after the attack in which the memory is given back.
const REST: Duration = Duration::from_secs(75);

/// The users: one attacks, the others search.
const ATTACKER: &str = "eve";
const OTHERS: [&str; 2] = ["ada", "bob"];

/// Texts that cost their readers most.
const SHAPES: [(&str, &str); 8] = [
    ("md", "["),
    ("md", "a\n"),
    ("md", "e\u{301}"),
    ("txt", "abcdefghij"),
    ("html", "<div><b a=1>"),
    ("json", "["),
    ("csv", "a,b,c\n"),
    ("eml", "From: a@example.com\nContent-Type: message/rfc822\n\n"),
];

/// What the threads of the test share.
struct Attack<'a> {
    server: &'a Server,
    token: String,
    /// Cookies of a browser in which the attacker is logged in, and the secret of its forms.
    cookies: String,
    csrf: String,
    is_over: AtomicBool,
    /// Number of answered requests of each status class.
    answers: [AtomicU64; 6],
}

impl Attack<'_> {
    /// Repeats an action until the attack is over.
    fn repeat(&self, mut act: impl FnMut(usize) -> Option<u16>) {
        for round in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            if let Some(count) = act(round).and_then(|it| self.answers.get(usize::from(it / 100))) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns a request of the attacker.
    fn request(&self, path: &str) -> HttpRequest<'_> {
        let bearer = format!("Bearer {}", self.token);
        self.server.request("POST", path).header("authorization", &bearer)
    }

    /// Calls a tool.
    fn call(&self, tool: &str, arguments: &Value) -> Option<u16> {
        let call = json!({ "name": tool, "arguments": arguments });
        let request = self.request("/mcp").header("accept", "application/json, text/event-stream");
        answer(request.json(&json_rpc_request("tools/call", &call))).0
    }

    /// Uploads files that are expensive to read.
    fn upload(&self, number: usize) {
        self.repeat(|round| {
            let (extension, unit) = SHAPES[(number + round) % SHAPES.len()];
            let text = format!("{round} {number}\n{}", unit.repeat(FILE_BYTES / unit.len()));
            let name = format!("{number}-{}.{extension}", round % 40);
            let body = format!(
                "--x\r\ncontent-disposition: form-data; name=\"csrf\"\r\n\r\n{}\r\n--x\r\n\
                 content-disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n{text}\r\n--x--\r\n",
                self.csrf
            );
            let kind = "multipart/form-data; boundary=x";
            let post = self.server.request("POST", "/imports/upload").host(OAuthServer::HOST);
            let post = post.header("cookie", &self.cookies).header("origin", OAuthServer::ISSUER);
            answer(post.header("content-type", kind).body(body)).0
        });
    }

    /// Saves web pages.
    fn clip(&self, number: usize) {
        self.repeat(|round| {
            let html = "<div><p a=1>x".repeat(FILE_BYTES / 13);
            let url = format!("https://a.example/{number}/{round}");
            let page = json!({ "title": "A page", "url": url, "html": html });
            answer(self.request("/clip").json(&page)).0
        });
    }

    /// Opens sockets with a message that never ends, holds them, and opens them again.
    fn hold_sockets(&self) {
        let mut frame = encode_frame(Opcode::Text, false, &vec![b'x'; FRAME_BYTES]);
        frame.truncate(SENT_BYTES);
        self.repeat(|_| {
            let mut open: Vec<TcpStream> = Vec::new();
            while open.len() < SOCKETS && !self.is_over.load(Ordering::Relaxed) {
                let bearer = format!("Bearer {}", self.token);
                let socket = self.server.request("GET", "/mcp/ws").upgrade();
                let mut socket = socket.header("authorization", &bearer).send_unread();
                let sent = socket
                    .set_write_timeout(Some(Duration::from_secs(2)))
                    .and_then(|()| socket.write_all(&frame));
                // Refused connections are closed by the server, which may come at any moment.
                open.extend(sent.is_ok().then_some(socket));
            }
            thread::sleep(HOLD);
            None
        });
    }

    /// Searches all sources for many words.
    fn search(&self, number: usize) {
        let words: Vec<String> = (0..30).map(|word| format!("quay{}", word + number)).collect();
        let arguments = json!({ "query": words.join(" "), "limit": 100 });
        self.repeat(|_| self.call("knowledge.search", &arguments));
    }

    /// Writes notes of the largest permitted size.
    fn write(&self, number: usize) {
        self.repeat(|round| {
            let content = format!("{round} {number} {}", "quay1 [[pier]] ".repeat(60_000));
            let arguments = json!({ "title": "A note", "content": content });
            self.call("notes.create", &arguments)
        });
    }
}

/// Returns the status and the rest of an answer, if one comes in time.
fn answer(request: HttpRequest<'_>) -> (Option<u16>, String) {
    let mut text = Vec::new();
    // A refused request may end in the middle of its answer.
    drop(request.send_unread().read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text).into_owned();
    (text.get(9..12).and_then(|status| status.parse().ok()), text)
}

/// Returns a browser in which the attacker is logged in.
fn log_in(server: &Server) -> Browser<'_> {
    let browser = Browser::at_public_address(server);
    let page = browser.get("/login");
    let fields = [("name", ATTACKER), ("password", OAuthServer::PASSWORD)];
    let done = browser.submit("/login", &page, &fields);
    assert_eq!(done.status, 303, "{done:?}");
    browser
}

/// Returns the resident memory of the server and its children, in MiB.
fn tree_mb(server: &Server) -> u64 {
    let children = child_processes(server.process());
    resident_mb(server.process()) + children.iter().map(|it| it.resident_mb).sum::<u64>()
}

/// Searches as each of the other users until `is_over`, and returns the times.
fn time_searches(server: &Server, tokens: &[String], is_over: &AtomicBool) -> Vec<Duration> {
    let search = |token: &String| {
        let bearer = format!("Bearer {token}");
        let call = json!({ "name": "notes.search", "arguments": { "query": "lantern" } });
        let mut times = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let request = server.request("POST", "/mcp").header("authorization", &bearer);
            let request = request.header("accept", "application/json, text/event-stream");
            let (_, found) = answer(request.json(&json_rpc_request("tools/call", &call)));
            assert!(found.is_empty() || found.contains("Lantern"), "{found}");
            times.push(begun.elapsed());
            thread::sleep(Duration::from_millis(50));
        }
        times
    };
    thread::scope(|scope| {
        let running: Vec<_> =
            tokens.iter().map(|token| scope.spawn(move || search(token))).collect();
        let mut times: Vec<Duration> =
            running.into_iter().flat_map(|it| it.join().unwrap()).collect();
        times.sort_unstable();
        times
    })
}

/// Returns the 99th percentile of sorted times.
fn percentile(times: &[Duration]) -> Duration {
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

/// Times the searches of the others on a machine that is as busy as under attack: as many threads
/// calculate as would attack.
fn time_without_attack(server: &Server, tokens: &[String], duration: Duration) -> Vec<Duration> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..ATTACKERS {
            scope.spawn(|| {
                let mut sum = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    sum = hint::black_box(sum.wrapping_mul(3) + 1);
                }
            });
        }
        let timed = scope.spawn(|| time_searches(server, tokens, &is_over));
        thread::sleep(duration);
        is_over.store(true, Ordering::Relaxed);
        timed.join().unwrap()
    })
}

/// Attacks for this time. Returns the times of the others, and the largest memory, in MiB.
fn time_with_attack(
    attack: &Attack<'_>,
    tokens: &[String],
    duration: Duration,
) -> (Vec<Duration>, u64) {
    thread::scope(|scope| {
        for number in 0..UPLOADERS {
            scope.spawn(move || attack.upload(number));
        }
        for number in 0..CLIPPERS {
            scope.spawn(move || attack.clip(number));
        }
        for number in 0..SEARCHERS {
            scope.spawn(move || attack.search(number));
        }
        for number in 0..WRITERS {
            scope.spawn(move || attack.write(number));
        }
        scope.spawn(|| attack.hold_sockets());
        let timed = scope.spawn(|| time_searches(attack.server, tokens, &attack.is_over));
        let (begun, mut peak) = (Instant::now(), 0);
        while begun.elapsed() < duration {
            peak = peak.max(tree_mb(attack.server));
            thread::sleep(Duration::from_millis(100));
        }
        attack.is_over.store(true, Ordering::Relaxed);
        (timed.join().unwrap(), peak)
    })
}

/// Returns the size of all files of the attacker, in bytes.
fn stored_bytes(data: &Path) -> u64 {
    fn size(folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let sizes = entries.map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            metadata => metadata.map_or(0, |it| it.len()),
        });
        sizes.sum()
    }
    let users = std::fs::read_dir(data.join("users")).unwrap().map(|entry| entry.unwrap().path());
    users.filter(|user| user.join("uploads").exists()).map(|user| size(&user)).sum()
}

/// Returns the number of items of the attacker, as `check` shows it.
fn count_items(library: &Library) -> u64 {
    let settings = library.file_path("settings.toml");
    let checked = library.run(&["check", "--config", settings.to_str().unwrap()]).stdout;
    let mut lines =
        checked.lines().skip_while(|line| !line.contains(&format!("use of {ATTACKER}")));
    let of = format!(" of {MAX_ITEMS} items");
    let line = lines.find_map(|line| line.split(&of).next().filter(|start| *start != line));
    let count = line.and_then(|start| start.rsplit(' ').next()?.parse().ok());
    count.unwrap_or_else(|| panic!("{checked}"))
}

#[expect(clippy::print_stdout, reason = "the figures are read by people")]
#[test]
#[ignore = "takes minutes; tests/run --long runs it"]
fn hostile_tenant_takes_and_keeps_bounded_memory() {
    let seconds = env::var_os("VADEMECUM_TENANT_SECONDS");
    let seconds = seconds.map_or(180, |text| text.to_str().unwrap().parse().unwrap());
    let duration = Duration::from_secs(seconds);
    let library = Library::new();
    for user in OTHERS {
        for number in 0..200 {
            let text = format!("# Lantern {number}\n\nA lantern of {user}, number {number}.\n");
            library.write_file(&format!("{user}/{number}.md"), text);
        }
        let folder = library.file_path(user);
        assert_eq!(library.run(&["user", "add", user]).code, 0);
        let done = library.run(&["import", "notes", folder.to_str().unwrap(), "--user", user]);
        assert_eq!(done.code, 0, "{done:?}");
    }
    library.import_for_user(ATTACKER, "notes", "note.md", "A quay1.");
    OAuthServer::add_user(&library, ATTACKER);
    let token = library.create_key_with(ATTACKER, &["--scope", "write"]);
    let tokens = OTHERS.map(|user| library.create_key(user));
    let OAuthServer { library, server } = OAuthServer::serve(
        library,
        &format!(
            "[tools]\nwrite = true\n[limits]\nrequests_per_minute = 0\n\
             calls_per_tool_per_minute = 0\n[quotas]\nmax_bytes = {MAX_BYTES}\n\
             max_items = {MAX_ITEMS}\n"
        ),
    );
    let without = time_without_attack(&server, &tokens, duration / 6);
    let before = tree_mb(&server);
    let browser = log_in(&server);
    let attack = Attack {
        server: &server,
        token,
        cookies: browser.cookie_header(),
        csrf: form_field(&browser.get("/imports").body, "csrf").unwrap(),
        is_over: AtomicBool::new(false),
        answers: <[AtomicU64; 6]>::default(),
    };
    let (with, peak) = time_with_attack(&attack, &tokens, duration);
    let stored = stored_bytes(&library.data_folder());
    let items = count_items(&library);
    let begun = Instant::now();
    let mut after = tree_mb(&server);
    while begun.elapsed() < REST {
        thread::sleep(Duration::from_secs(1));
        after = tree_mb(&server);
    }
    let answers = attack.answers.map(AtomicU64::into_inner);
    let (quiet, attacked) = (percentile(&without), percentile(&with));
    println!(
        "memory: {before} MB before, {peak} MB under attack, {after} MB {:?} later\n\
         p99 of others: {quiet:?} on a busy machine ({} searches), {attacked:?} under attack ({} \
         searches), ratio {:.2}\n\
         stored: {} MB of {} MB, {items} of {MAX_ITEMS} items\n\
         answers by status class: {answers:?}",
        begun.elapsed(),
        without.len(),
        with.len(),
        attacked.as_secs_f64() / quiet.as_secs_f64(),
        stored >> 20,
        MAX_BYTES >> 20,
    );
    assert!(peak < MAX_TREE_MB, "{peak} MB under attack");
    assert!(after <= before + MAX_KEPT_MB, "{before} MB before, {after} MB after");
    assert!(stored <= MAX_BYTES + MAX_STORED_BYTES, "{stored} bytes");
    assert!(items <= MAX_ITEMS + 1, "{items} items");
    assert!(answers[2] > 0 && answers[4] + answers[5] > 0, "{answers:?}");
    let client = server.client().with_bearer_token(&tokens[0]);
    assert_eq!(client.call_method("ping", &json!({})), json!({}));
}
