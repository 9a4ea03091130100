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

use crate::support::{Library, McpClient, Server, json_rpc_request, terminate, vademecum_command};

/// An account that owns nothing on this machine.
const OTHER_ACCOUNT: &str = "54321";

/// Sends a ping as another account, with a token if there is one, and returns the response.
fn ping_as_other_account(server: &Server, token: Option<&str>) -> String {
    let (host, port) = server.address().rsplit_once(':').unwrap();
    let body = json_rpc_request("ping", &json!({})).to_string();
    let token = token.map(|token| format!("Authorization: Bearer {token}\\r\\n"));
    let script = format!(
        "exec 3<>/dev/tcp/{host}/{port}; printf 'POST /mcp HTTP/1.1\\r\\nHost: localhost\\r\\n\
         Connection: close\\r\\nContent-Type: application/json\\r\\n{}Content-Length: {}\\r\\n\\r\\n%s' \
         '{body}' >&3; cat <&3",
        token.unwrap_or_default(),
        body.len()
    );
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", OTHER_ACCOUNT, "--regid", OTHER_ACCOUNT, "--clear-groups"]);
        command
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", "-u", &format!("#{OTHER_ACCOUNT}")]);
        command
    };
    let done = command.args(["bash", "-c", &script]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
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
