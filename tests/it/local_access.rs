//! Servers for a single user: other accounts of the machine are refused, and the token in the data
//! folder opens the server to whoever can read it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{
    Browser, Library, McpClient, Server, form_field, json_rpc_request, terminate,
    vademecum_command, wait_until,
};

/// An account that owns nothing on this machine.
const OTHER_ACCOUNT: &str = "54321";

/// Sends a ping as another account, with a token if there is one, and returns the response.
fn ping_as_other_account(server: &Server, token: Option<&str>) -> String {
    let body = json_rpc_request("ping", &json!({})).to_string();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let head = format!("Content-Type: application/json\r\n{}", token.unwrap_or_default());
    send_as_other_account(server, "POST /mcp", &head, &body)
}

/// Sends a request with these header lines as another account and returns the response.
fn send_as_other_account(server: &Server, line: &str, head: &str, body: &str) -> String {
    send_to_address(server.address(), line, head, body)
}

/// Sends a request with these header lines to an address as another account and returns the response.
pub(crate) fn send_to_address(address: &str, line: &str, head: &str, body: &str) -> String {
    let (host, port) = address.rsplit_once(':').unwrap();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{head}Content-Length: {}\r\n\r\n\
         {body}",
        body.len()
    );
    let script = format!("exec 3<>/dev/tcp/{host}/{port}; cat >&3; cat <&3");
    let mut command = other_account();
    let command = command.args(["bash", "-c", &script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Returns a command that runs the program in its arguments as another account.
pub(crate) fn other_account() -> Command {
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", OTHER_ACCOUNT, "--regid", OTHER_ACCOUNT, "--clear-groups"]);
        return command;
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "-u", &format!("#{OTHER_ACCOUNT}")]);
    command
}

fn read_token(library: &Library) -> String {
    fs::read_to_string(library.data_folder().join("local.token")).unwrap()
}

#[test]
fn other_account_is_refused_without_token() {
    let library = Library::with_lanterns();
    let server = library.serve();
    assert_eq!(server.client().ping().status, 200);
    let refused = ping_as_other_account(&server, None);
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("account"), "{refused}");
    let refused = ping_as_other_account(&server, Some("wrong"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let accepted = ping_as_other_account(&server, Some(&read_token(&library)));
    assert!(accepted.starts_with("HTTP/1.1 200"), "{accepted}");
}

#[test]
fn pages_are_shown_to_own_account_only() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let listen = ["--config", &*listen_settings(&library, &server)].map(str::to_owned);
    let link = library.run(&["login", &listen[0], &listen[1]]).stdout;
    let code = link.trim().split_once("code=").unwrap().1;
    // The other account knows the code of the link, and later the cookie of the login.
    let page = send_as_other_account(&server, &format!("GET /login/code?code={code}"), "", "");
    let cookie = page.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let csrf = form_field(&page, "csrf").unwrap();
    let head = format!(
        "Cookie: {cookie}\r\nOrigin: http://{}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n",
        server.address()
    );
    let form = format!("csrf={csrf}&code={code}");
    let refused = send_as_other_account(&server, "POST /login/code", &head, &form);
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(refused.contains("another account of this computer"), "{refused}");
    let browser = Browser::of(&server);
    assert_eq!(browser.redeem_link(&link).status, 303, "the refused attempt left the code valid");
    assert!(browser.get("/search?q=lantern").body.contains("Lantern"));
    let head = format!("Cookie: {}\r\n", browser.cookie_header());
    let refused = send_as_other_account(&server, "GET /search?q=lantern", &head, "");
    assert!(refused.starts_with("HTTP/1.1 303") && !refused.contains("Lantern"), "{refused}");
    let again = Browser::of(&server).redeem_link(&link);
    assert!(again.status == 403 && again.body.contains("it was used"), "{again:?}");
}

/// Writes settings that name the address of a running server, and returns their path.
fn listen_settings(library: &Library, server: &Server) -> String {
    let settings = format!("[server]\nlisten = \"{}\"\n", server.address());
    library.write_file("settings.toml", &settings).to_str().unwrap().to_owned()
}

#[test]
fn browser_gets_link_from_private_file() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let settings = listen_settings(&library, &server);
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let browser = folder.path().join("xdg-open");
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}.new && mv {0}.new {0}\n", seen.display());
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let mut path = folder.path().as_os_str().to_owned();
    path.push(":/usr/bin:/bin");
    let mut open = vademecum_command();
    let open = open.args(["open", "--config", &settings, "--data"]).arg(library.data_folder());
    let done = open.env("PATH", path).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    wait_until("the browser", || seen.exists());
    let arguments = fs::read_to_string(&seen).unwrap();
    let file = library.data_folder().join("open.html");
    assert_eq!(Path::new(arguments.trim()), file);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let page = fs::read_to_string(&file).unwrap();
    let link = page.split_once("0;url=").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(Browser::of(&server).redeem_link(link).status, 303, "{page}");
}

#[test]
fn open_server_accepts_every_account() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[auth]\nlocal = \"open\"\n");
    let accepted = ping_as_other_account(&server, None);
    assert!(accepted.starts_with("HTTP/1.1 200"), "{accepted}");
}

#[test]
fn token_server_requires_token_of_its_own_account() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[auth]\nlocal = \"token\"\n");
    let refused = server.client().ping();
    assert!(refused.status == 401 && refused.body.contains("local.token"), "{refused:?}");
    let token = read_token(&library);
    let client = server.client().with_bearer_token(&token);
    assert_eq!(client.ping().status, 200);
    let found = client.call_tool("knowledge.search", &json!({ "query": "lantern" }));
    assert!(found["results"].is_array(), "{found}");
    let socket = server.open_websocket_with_token(&token);
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
}

#[test]
fn connect_writes_required_token() {
    let library = Library::new();
    let settings = library.write_file("settings.toml", "[auth]\nlocal = \"token\"\n");
    let file = library.file_path("mcp.json");
    for client in ["cursor", "vscode", "claude-code"] {
        let done = library.run(&[
            "connect",
            client,
            "--http",
            "--write",
            "--config",
            settings.to_str().unwrap(),
            "--file",
            file.to_str().unwrap(),
        ]);
        assert_eq!(done.code, 0, "{done:?}");
        let written = fs::read_to_string(&file).unwrap();
        assert!(written.contains(&format!("Bearer {}", read_token(&library))), "{written}");
        fs::remove_file(&file).unwrap();
    }
}

/// Sends a request to a Unix socket and returns the response.
fn request_over_socket(path: &Path, message: &Value) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    let body = message.to_string();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

/// Starts a server on a Unix socket and waits until it listens.
fn serve_on_socket(library: &Library, path: &Path) -> KilledChild {
    let listen = format!("unix:{}", path.display());
    let mut child = vademecum_command()
        .args(["serve", "--listen", &listen, "--data"])
        .arg(library.data_folder())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with(&format!("listening on {listen}")), "{line}");
    KilledChild(child)
}

/// A process that is killed with this value.
struct KilledChild(Child);

impl Drop for KilledChild {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().unwrap();
    }
}

#[test]
fn unix_socket_serves_its_owner_only() {
    let library = Library::with_lanterns();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vademecum.sock");
    let search = json_rpc_request(
        "tools/call",
        &json!({ "name": "knowledge.search", "arguments": { "query": "lantern" } }),
    );
    // A killed server leaves its socket, which the next one replaces.
    drop(serve_on_socket(&library, &path));
    assert!(path.exists());
    let mut server = serve_on_socket(&library, &path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let response = request_over_socket(&path, &search).unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("lantern"), "{response}");
    let listen = format!("unix:{}", path.display());
    let second = library.run(&["serve", "--listen", &listen]);
    assert!(second.code == 1 && second.stderr.contains("cannot listen on unix:"), "{second:?}");
    terminate(server.0.id());
    assert!(server.0.wait().unwrap().success());
    assert!(!path.exists());
}
