//! What the HTTP servers of tests share: a listener in threads, and requests.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// By their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// Answers a request. Returns false if the connection is to be closed.
pub(crate) type Answer = dyn Fn(&Request, &mut TcpStream) -> io::Result<bool> + Send + Sync;

/// A server with a separate address, in threads. Dropping it ends the server.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    answer: Box<Answer>,
    connections: AtomicU64,
    ended: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server. `ended` becomes true when it ends, for answers that have no end.
    pub(crate) fn start(ended: Arc<AtomicBool>, answer: Box<Answer>) -> io::Result<Server> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { answer, connections: AtomicU64::new(0), ended });
        let server = Server { address, shared: shared.clone() };
        thread::Builder::new().name("http server".into()).spawn(move || shared.accept(&listener))?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn accept(self: Arc<Shared>, listener: &TcpListener) {
        while let Ok((stream, _)) = listener.accept() {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            self.connections.fetch_add(1, Ordering::Relaxed);
            let shared = self.clone();
            // The end of a connection concerns the client alone, whatever the reason.
            let serve = move || drop(shared.serve(stream));
            if thread::Builder::new().name("http connection".into()).spawn(serve).is_err() {
                return;
            }
        }
    }

    /// Answers requests of a connection until it ends.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        while let Some(request) = read_request(&mut reader)? {
            if self.ended.load(Ordering::Relaxed) || !(self.answer)(&request, &mut stream)? {
                break;
            }
        }
        Ok(())
    }
}

/// Locks what a server shares with a test. A test that panics does not matter to the server.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends an answer with a body.
pub(crate) fn send(stream: &mut TcpStream, status: u16, body: &[u8]) -> io::Result<()> {
    send_head(stream, status, &format!("Content-Length: {}\r\n", body.len()))?;
    stream.write_all(body)
}

/// Sends the head of an answer; each of `headers` ends with a line end.
pub(crate) fn send_head(stream: &mut TcpStream, status: u16, headers: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {status} Status\r\n{headers}\r\n").as_bytes())
}

/// Returns the next request, or `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let [method, path] = [(); 2].map(|()| words.next().unwrap_or_default().to_string());
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    if body.len() as u64 != length {
        return Ok(None);
    }
    Ok(Some(Request { method, path, headers, body }))
}
