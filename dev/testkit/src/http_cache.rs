//! A small HTTP server for entries of caches, like bazel-remote, that can be set to misbehave.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::http::{Request, Server, locked, send, send_head};

/// A fault of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A bit of each entry is inverted. The name of the entry decides which bit.
    WrongBytes,
    /// Each answer is another entry.
    OtherEntry,
    /// Each answer is a page for people and not an entry.
    Page,
    /// The connection is cut in the middle of an entry.
    Cut,
    /// The connection is cut before an answer.
    CutAtOnce,
    /// Each answer takes this long.
    Delay(Duration),
    /// An entry comes in pieces, with this pause between two pieces.
    Drip(Duration),
    /// Each answer has this status.
    Status(u16),
    /// Each answer to an entry that is added has this status.
    PutStatus(u16),
    /// The announced length is larger than the sent one by this number.
    LongLength(usize),
    /// The announced length is smaller than the sent one by this number.
    ShortLength(usize),
    /// An entry never ends.
    Endless,
    /// No HTTP is sent.
    Nonsense,
}

/// A server with a separate address, in threads. Dropping it ends the server.
pub struct HttpCache {
    server: Server,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// By path.
    entries: Mutex<BTreeMap<String, Vec<u8>>>,
    fault: Mutex<Option<Fault>>,
    /// The required header `Authorization`.
    authorization: Mutex<Option<String>>,
    gets: AtomicU64,
    puts: AtomicU64,
    ended: Arc<AtomicBool>,
}

impl HttpCache {
    /// An empty cache without faults.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn start() -> io::Result<HttpCache> {
        let state = Arc::new(State::default());
        let shared = state.clone();
        let answer = Box::new(move |request: &Request, stream: &mut TcpStream| shared.answer(request, stream));
        Ok(HttpCache { server: Server::start(state.ended.clone(), answer)?, state })
    }

    /// `http://ADDRESS`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// `ADDRESS`.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Misbehaves from now on.
    pub fn set_fault(&self, fault: Fault) {
        *locked(&self.state.fault) = Some(fault);
    }

    /// Refuses requests without this header.
    pub fn set_authorization(&self, value: &str) {
        *locked(&self.state.authorization) = Some(value.to_string());
    }

    /// Returns the entries by path.
    pub fn entries(&self) -> BTreeMap<String, Vec<u8>> {
        locked(&self.state.entries).clone()
    }

    /// Replaces the entries.
    pub fn set_entries(&self, entries: BTreeMap<String, Vec<u8>>) {
        *locked(&self.state.entries) = entries;
    }

    /// Requests so far: GET and PUT.
    pub fn requests(&self) -> (u64, u64) {
        (self.state.gets.load(Ordering::Relaxed), self.state.puts.load(Ordering::Relaxed))
    }

    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.server.connections()
    }
}

impl State {
    /// Answers a request. Returns false if the connection is to be closed.
    fn answer(&self, request: &Request, stream: &mut TcpStream) -> io::Result<bool> {
        let fault = locked(&self.fault).unwrap_or(Fault::None);
        let is_put = request.method == "PUT";
        let counter = if is_put { &self.puts } else { &self.gets };
        counter.fetch_add(1, Ordering::Relaxed);
        match fault {
            Fault::CutAtOnce => return Ok(false),
            Fault::Nonsense => return stream.write_all(b"220 mail.example ESMTP\r\n\r\n").map(|()| false),
            Fault::Delay(time) => thread::sleep(time),
            Fault::Status(status) => return send(stream, status, b"refused").map(|()| true),
            Fault::PutStatus(status) if is_put => return send(stream, status, b"refused").map(|()| true),
            _ => {}
        }
        let wanted = locked(&self.authorization).clone();
        if wanted.is_some_and(|wanted| request.headers.get("authorization") != Some(&wanted)) {
            return send(stream, 401, b"who is it").map(|()| true);
        }
        if is_put {
            locked(&self.entries).insert(request.path.clone(), request.body.clone());
            return send(stream, 200, b"").map(|()| true);
        }
        let entry = locked(&self.entries).get(&request.path).cloned();
        match (entry, fault) {
            (Some(entry), _) => self.send_entry(stream, &request.path, entry, fault),
            (None, _) => send(stream, 404, b"Not found\n").map(|()| true),
        }
    }

    fn send_entry(&self, stream: &mut TcpStream, path: &str, mut entry: Vec<u8>, fault: Fault) -> io::Result<bool> {
        match fault {
            Fault::WrongBytes => {
                let bit = path.bytes().fold(7_usize, |sum, byte| sum * 31 % 1_000_003 + usize::from(byte))
                    % (entry.len() * 8);
                entry[bit / 8] ^= 1 << (bit % 8);
            }
            Fault::OtherEntry => {
                let entries = locked(&self.entries);
                let other =
                    entries.range::<str, _>((std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded)).next();
                entry = other.or_else(|| entries.iter().next()).map(|(_, other)| other.clone()).unwrap_or_default();
            }
            Fault::Page => entry = b"<html><body>Sign in</body></html>".to_vec(),
            Fault::Cut => {
                send_head(stream, 200, &length(entry.len()))?;
                stream.write_all(&entry[..entry.len() / 2])?;
                return Ok(false);
            }
            Fault::Drip(time) => {
                send_head(stream, 200, &length(entry.len()))?;
                for byte in entry {
                    thread::sleep(time);
                    stream.write_all(&[byte])?;
                }
                return Ok(true);
            }
            Fault::LongLength(more) => {
                send_head(stream, 200, &length(entry.len() + more))?;
                stream.write_all(&entry)?;
                return Ok(false);
            }
            Fault::ShortLength(less) => {
                send_head(stream, 200, &length(entry.len().saturating_sub(less)))?;
                return stream.write_all(&entry).map(|()| true);
            }
            Fault::Endless => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                let chunk = [&b"1000\r\n"[..], &[0x2a; 0x1000], b"\r\n"].concat();
                while !self.ended.load(Ordering::Relaxed) {
                    stream.write_all(&chunk)?;
                }
                return Ok(false);
            }
            _ => {}
        }
        send(stream, 200, &entry).map(|()| true)
    }
}

fn length(bytes: usize) -> String {
    format!("Content-Length: {bytes}\r\n")
}
