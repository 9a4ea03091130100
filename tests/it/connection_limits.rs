//! End-to-end tests of the limits of open connections: idle connections make room for new ones.

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use actix_web::rt::System;
use serde_json::json;
use tokio::net::TcpSocket;

use crate::support::{Library, ReceivedFrame, Server, WebSocketClient, json_rpc_request};

const REQUEST: &[u8] = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn settings(in_all: usize, per_address: usize) -> String {
    format!("[server]\nmax_connections = {in_all}\nconnections_per_address = {per_address}\n")
}

/// Connects from an address of this machine.
fn connect_from(server: &Server, address: Ipv4Addr) -> TcpStream {
    let to: SocketAddr = server.address().parse().unwrap();
    let connected = System::new().block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((IpAddr::from(address), 0).into()).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    connected.set_nonblocking(false).unwrap();
    connected.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    connected
}

/// Sends a request on a connection that stays open, and returns the status of the response.
fn request_status(mut stream: &TcpStream) -> io::Result<u16> {
    stream.write_all(REQUEST)?;
    let mut buffer = [0; 4_096];
    let length = stream.read(&mut buffer)?;
    let response = String::from_utf8_lossy(&buffer[..length]);
    let status = response.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn open_idle(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(request_status(&stream).unwrap(), 200);
    stream
}

fn is_open(stream: &TcpStream) -> bool {
    request_status(stream).is_ok_and(|status| status == 200)
}

fn assert_answers(socket: &WebSocketClient) {
    socket.send_message(&json_rpc_request("ping", &json!({})));
    loop {
        match socket.read_frame() {
            ReceivedFrame::Text(_) => break,
            ReceivedFrame::Ping => {}
            other @ (ReceivedFrame::Pong(_) | ReceivedFrame::Closed(_)) => panic!("{other:?}"),
        }
    }
}

#[test]
fn idle_connections_of_one_address_make_room() {
    let frequent = format!("{}keep_alive_seconds = 1\n", settings(64, 32));
    let server = Library::new().serve_with_settings(&frequent);
    let socket = server.open_websocket();
    let mut stream = server.open_session().open_notification_stream();
    // More than four times as many as the address may have, each left open after its response.
    let idle: Vec<TcpStream> = (0..150).map(|_| open_idle(&server)).collect();
    server.assert_alive();
    let other = connect_from(&server, Ipv4Addr::new(127, 0, 0, 2));
    assert_eq!(request_status(&other).unwrap(), 200);
    assert!(idle[..100].iter().all(|stream| !is_open(stream)), "the oldest ones made room");
    assert!(idle[130..].iter().all(is_open), "the newest ones stay");
    assert_answers(&socket);
    stream.next_comment();
}

#[test]
fn idle_connections_of_many_addresses_make_room() {
    let server = Library::new().serve_with_settings(&settings(32, 16));
    let socket = server.open_websocket();
    let idle: Vec<TcpStream> = (2..102)
        .map(|host| {
            let stream = connect_from(&server, Ipv4Addr::new(127, 0, 0, host));
            assert_eq!(request_status(&stream).unwrap(), 200);
            stream
        })
        .collect();
    server.assert_alive();
    assert!(idle[..60].iter().all(|stream| !is_open(stream)));
    assert!(idle[80..].iter().all(is_open));
    assert_answers(&socket);
}

/// A client that connects and sends nothing is idle as well.
#[test]
fn silent_connections_make_room() {
    let server = Library::new().serve_with_settings(&settings(64, 8));
    let silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    // A busy server may register some of them after this connection, and close it in their favour.
    let is_answered = || {
        let stream = TcpStream::connect(server.address()).unwrap();
        request_status(&stream).is_ok_and(|status| status == 200)
    };
    assert!((0..10).any(|_| is_answered()));
    drop(silent);
}

#[test]
fn address_with_all_connections_in_use_is_refused() {
    let server = Library::new().serve_with_settings(&settings(64, 4));
    let sockets: Vec<WebSocketClient> = (0..4).map(|_| server.open_websocket()).collect();
    let refused = TcpStream::connect(server.address()).unwrap();
    let status = request_status(&refused);
    // The connection may be reset before the response was read.
    assert!(status.as_ref().map_or(true, |status| *status == 503), "{status:?}");
    let other = connect_from(&server, Ipv4Addr::new(127, 0, 0, 2));
    assert_eq!(request_status(&other).unwrap(), 200);
    sockets.iter().for_each(assert_answers);
    drop(sockets);
    // The server notices the end of a connection a moment later.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_open(&TcpStream::connect(server.address()).unwrap()) {
        assert!(Instant::now() < deadline, "the closed connections still count");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn connection_waits_until_another_one_ends() {
    let server = Library::new().serve_with_settings(&settings(4, 4));
    let mut sockets: Vec<WebSocketClient> = (0..4).map(|_| server.open_websocket()).collect();
    let waiting = connect_from(&server, Ipv4Addr::new(127, 0, 0, 2));
    let answer = thread::spawn(move || request_status(&waiting).unwrap());
    thread::sleep(Duration::from_millis(200));
    assert!(!answer.is_finished());
    sockets.pop();
    assert_eq!(answer.join().unwrap(), 200);
    sockets.iter().for_each(assert_answers);
}

#[test]
fn limit_of_address_spares_trusted_proxies() {
    let library = Library::new();
    library.create_key("ada");
    let proxies = "trusted_proxies = [\"127.0.0.1\"]\n";
    let server = library.serve_multi_user(&format!("{proxies}{}", settings(64, 4)));
    let idle: Vec<TcpStream> = (0..20).map(|_| open_idle(&server)).collect();
    assert!(idle.iter().all(is_open));
}
