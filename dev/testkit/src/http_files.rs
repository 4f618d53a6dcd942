//! A small HTTP server for files that are read by ranges, which can be set to misbehave.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::http::{Request, Server, locked, send, send_head};

/// A fault of the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection is cut before an answer.
    CutAtOnce,
    /// The connection is cut after this number of bytes of each answer.
    Cut(usize),
    /// Each answer takes this long.
    Delay(Duration),
    /// Bytes come in pieces of this number, with this pause before each.
    Drip(usize, Duration),
    /// Each answer has this status, and these headers, each with a line end.
    Status(u16, String),
    /// The range of each answer begins this number of bytes later, as the answer says.
    LaterRange(u64),
    /// The range of each answer is shorter by this number of bytes, as the answer says.
    ShorterRange(u64),
    /// Each answer has this text as its `Content-Range`; nothing for `None`.
    ContentRange(Option<String>),
    /// The announced length is larger than the sent one by this number.
    LongLength(usize),
    /// The announced length is smaller than the sent one by this number.
    ShortLength(usize),
    /// The answer never ends, and announces no length.
    Endless,
    /// The whole file is sent, with status 200.
    Whole,
    /// The bytes are announced as compressed.
    Encoded,
    /// No HTTP is sent.
    Nonsense,
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub path: String,
    pub authorization: Option<String>,
    /// First byte and the byte after the last one.
    pub range: Option<(u64, u64)>,
    pub conditional: bool,
}

/// A file with its validators.
#[derive(Debug, Clone, Default)]
pub struct Served {
    pub bytes: Arc<Vec<u8>>,
    /// `ETag`, with its quotes.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub modified: Option<String>,
}

/// A server with a separate address, in threads. Dropping it ends the server.
pub struct HttpFiles {
    server: Server,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    settings: Mutex<Settings>,
    ended: Arc<AtomicBool>,
}

#[derive(Default)]
struct Settings {
    /// By path without query.
    files: BTreeMap<String, Served>,
    redirects: BTreeMap<String, String>,
    fault: Option<Fault>,
    /// Answers without the fault before it, and with it.
    before: u64,
    times: u64,
    /// A file that replaces another one after this number of answers.
    change: Option<(u64, String, Served)>,
    authorization: Option<String>,
    seen: Vec<Seen>,
    bytes: u64,
}

impl HttpFiles {
    /// A server without files.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn start() -> io::Result<HttpFiles> {
        let state = Arc::new(State::default());
        let shared = state.clone();
        let answer = Box::new(move |request: &Request, stream: &mut TcpStream| shared.answer(request, stream));
        Ok(HttpFiles { server: Server::start(state.ended.clone(), answer)?, state })
    }

    /// `http://ADDRESS` and a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Serves a file, with an `ETag` that depends on its size.
    pub fn serve(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        let bytes: Vec<u8> = bytes.into();
        let etag = Some(format!("\"{:x}\"", bytes.len()));
        self.serve_as(path, Served { bytes: Arc::new(bytes), etag, modified: None });
    }

    pub fn serve_as(&self, path: &str, file: Served) {
        self.settings().files.insert(path.to_string(), file);
    }

    /// Redirects to another address, with status 302.
    pub fn redirect(&self, path: &str, location: &str) {
        self.settings().redirects.insert(path.to_string(), location.to_string());
    }

    /// Replaces a file after a number of further answers.
    pub fn change_after(&self, answers: u64, path: &str, file: Served) {
        self.settings().change = Some((answers, path.to_string(), file));
    }

    /// Misbehaves in `times` answers after the next `before` ones.
    pub fn set_fault(&self, fault: Fault, before: u64, times: u64) {
        let mut settings = self.settings();
        settings.fault = Some(fault);
        settings.before = before;
        settings.times = times;
    }

    /// Answers 401 to requests without this header.
    pub fn set_authorization(&self, value: &str) {
        self.settings().authorization = Some(value.to_string());
    }

    /// Returns the requests since the last call, and the number of bytes of their answers.
    pub fn take_seen(&self) -> (Vec<Seen>, u64) {
        let mut settings = self.settings();
        (std::mem::take(&mut settings.seen), std::mem::take(&mut settings.bytes))
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        locked(&self.state.settings)
    }
}

impl State {
    /// Answers a request. Returns false if the connection is to be closed.
    fn answer(&self, request: &Request, stream: &mut TcpStream) -> io::Result<bool> {
        let path = request.path.split('?').next().unwrap_or_default();
        let header = |name: &str| request.headers.get(name).cloned();
        let range = header("range").and_then(|range| parsed(&range));
        let (fault, redirect, file, authorization) = {
            let mut settings = locked(&self.settings);
            let authorization = header("authorization");
            let conditional = header("if-range").is_some();
            settings.seen.push(Seen { path: request.path.clone(), authorization, range, conditional });
            settings.change();
            let fault = settings.fault();
            let redirect = settings.redirects.get(path).cloned();
            (fault, redirect, settings.files.get(path).cloned(), settings.authorization.clone())
        };
        match &fault {
            Some(Fault::CutAtOnce) => return Ok(false),
            Some(Fault::Nonsense) => return stream.write_all(b"220 mail.example ESMTP\r\n\r\n").map(|()| false),
            Some(Fault::Delay(time)) => thread::sleep(*time),
            Some(Fault::Status(status, headers)) => {
                send_head(stream, *status, &format!("Content-Length: 0\r\n{headers}"))?;
                return Ok(true);
            }
            _ => {}
        }
        if let Some(location) = redirect {
            send_head(stream, 302, &format!("Content-Length: 0\r\nLocation: {location}\r\n"))?;
            return Ok(true);
        }
        if authorization.is_some() && header("authorization") != authorization {
            return send(stream, 401, b"who is it").map(|()| true);
        }
        let Some(file) = file else { return send(stream, 404, b"Not found\n").map(|()| true) };
        let is_same =
            header("if-range").is_none_or(|given| file.etag.as_ref().or(file.modified.as_ref()) == Some(&given));
        match range.filter(|_| is_same && fault != Some(Fault::Whole)) {
            Some(range) => self.send_range(stream, &file, range, fault),
            None => self.send_body(stream, (200, &file.validators()), &file.bytes, fault),
        }
    }

    fn send_range(
        &self,
        stream: &mut TcpStream,
        file: &Served,
        (start, end): (u64, u64),
        fault: Option<Fault>,
    ) -> io::Result<bool> {
        let size = file.bytes.len() as u64;
        let mut start = start;
        let mut end = end.min(size);
        match fault {
            Some(Fault::LaterRange(bytes)) => start += bytes,
            Some(Fault::ShorterRange(bytes)) => end -= bytes,
            _ => {}
        }
        if start >= end {
            let headers = format!("Content-Range: bytes */{size}\r\nContent-Length: 0\r\n{}", file.validators());
            return send_head(stream, 416, &headers).map(|()| true);
        }
        let content_range = match &fault {
            Some(Fault::ContentRange(text)) => text.clone(),
            _ => Some(format!("bytes {start}-{}/{size}", end - 1)),
        };
        let content_range = content_range.map_or(String::new(), |text| format!("Content-Range: {text}\r\n"));
        let encoding = if fault == Some(Fault::Encoded) { "Content-Encoding: gzip\r\n" } else { "" };
        let headers = format!("{content_range}{encoding}{}", file.validators());
        self.send_body(stream, (206, &headers), &file.bytes[start as usize..end as usize], fault)
    }

    fn send_body(
        &self,
        stream: &mut TcpStream,
        (status, headers): (u16, &str),
        bytes: &[u8],
        fault: Option<Fault>,
    ) -> io::Result<bool> {
        let announced = match &fault {
            Some(Fault::LongLength(more)) => bytes.len() + more,
            Some(Fault::ShortLength(less)) => bytes.len() - less,
            _ => bytes.len(),
        };
        if fault == Some(Fault::Endless) {
            send_head(stream, status, &format!("Transfer-Encoding: chunked\r\n{headers}"))?;
            let chunk = [&b"1000\r\n"[..], &[0x2a; 0x1000], b"\r\n"].concat();
            while !self.ended.load(std::sync::atomic::Ordering::Relaxed) {
                stream.write_all(&chunk)?;
            }
            return Ok(false);
        }
        send_head(stream, status, &format!("Content-Length: {announced}\r\n{headers}"))?;
        let (bytes, ends) = match &fault {
            Some(Fault::Cut(after)) => (&bytes[..bytes.len().min(*after)], bytes.len() > *after),
            Some(Fault::LongLength(_)) => (bytes, true),
            _ => (bytes, false),
        };
        match &fault {
            Some(Fault::Drip(piece, pause)) => bytes.chunks(*piece).try_for_each(|piece| {
                thread::sleep(*pause);
                stream.write_all(piece)
            })?,
            _ => stream.write_all(bytes)?,
        }
        locked(&self.settings).bytes += bytes.len() as u64;
        Ok(!ends)
    }
}

impl Settings {
    /// Returns the fault of the next answer.
    fn fault(&mut self) -> Option<Fault> {
        if self.before > 0 {
            self.before -= 1;
            return None;
        }
        self.times = self.times.checked_sub(1)?;
        self.fault.clone()
    }

    /// Replaces a file if it is time.
    fn change(&mut self) {
        match self.change.take() {
            Some((0, path, file)) => drop(self.files.insert(path, file)),
            Some((answers, path, file)) => self.change = Some((answers - 1, path, file)),
            None => {}
        }
    }
}

impl Served {
    fn validators(&self) -> String {
        let header = |name: &str, value: &Option<String>| {
            value.as_ref().map_or(String::new(), |value| format!("{name}: {value}\r\n"))
        };
        header("ETag", &self.etag) + &header("Last-Modified", &self.modified)
    }
}

/// Parses `bytes=FIRST-LAST`.
fn parsed(range: &str) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse::<u64>().ok()? + 1))
}
