//! A proxy between the servers and their archive. It drops connections and answers on request.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// A TCP proxy on a port of its own. Its threads end with the process.
pub(super) struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_closed: AtomicBool,
    /// Number of writes whose answers are to be lost.
    swallow: AtomicUsize,
    /// Number of connections that were refused.
    refused: AtomicUsize,
    connections: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Starts a proxy for the server at a loopback port.
    pub(super) fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.is_closed.load(Ordering::SeqCst) {
                    shared.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let server = SocketAddr::from(([127, 0, 0, 1], target));
                let Ok(server) = TcpStream::connect(server) else { continue };
                let both = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                shared.connections.lock().unwrap().extend(both);
                serve(client, server, &shared);
            }
        });
        Self { port, state }
    }

    /// Returns the port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections and refuses others, or accepts them again.
    pub(super) fn set_closed(&self, is_closed: bool) {
        self.state.is_closed.store(is_closed, Ordering::SeqCst);
        if is_closed {
            for connection in self.state.connections.lock().unwrap().drain(..) {
                connection.shutdown(Shutdown::Both).ok();
            }
        }
    }

    /// Returns the number of connections that were refused so far.
    pub(super) fn refused(&self) -> usize {
        self.state.refused.load(Ordering::SeqCst)
    }

    /// Has the next writes reach the server, and their answers be lost with the connections.
    pub(super) fn swallow_answers(&self, count: usize) {
        self.state.swallow.store(count, Ordering::SeqCst);
    }

    /// Returns the number of answers that are still to be lost.
    pub(super) fn unswallowed(&self) -> usize {
        self.state.swallow.load(Ordering::SeqCst)
    }
}

/// Copies both directions in threads.
fn serve(client: TcpStream, server: TcpStream, state: &Arc<State>) {
    let is_muted = Arc::new(AtomicBool::new(false));
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (muted, shared) = (Arc::clone(&is_muted), Arc::clone(state));
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            // A write carries the name of a table of the library.
            let is_write = buffer[..length].windows(8).any(|bytes| bytes == b"note_fts");
            if is_write && shared.swallow.load(Ordering::SeqCst) > 0 {
                shared.swallow.fetch_sub(1, Ordering::SeqCst);
                muted.store(true, Ordering::SeqCst);
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
    });
    let (mut from, mut to) = (server, client);
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            // The server has answered, so the write is stored.
            if is_muted.load(Ordering::SeqCst) || to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
        from.shutdown(Shutdown::Both).ok();
    });
}
