//! How a file on a server is read.

use std::sync::Arc;
use std::time::Duration;

use ureq::{Agent, Timeout};

use super::kept::{CHUNK, PartStore};
use crate::{CONNECTION, Fault, Netrc, Proxies, agent, config};

/// How a file on a server is read. None of it changes the bytes that are read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Memory in bytes of the file: of what was read ahead, of requests in flight and of connections. At least 4 MiB are used.
    pub memory: usize,
    /// Maximum number of simultaneous requests.
    pub connections: usize,
    /// Maximum number of tries without progress.
    pub tries: u32,
    /// The pause before the second try. It doubles with each further try, up to 16 times.
    pub pause: Duration,
    /// The longest time that a server may ask to wait.
    pub longest_wait: Duration,
    /// Maximum time of a connection and of the head of an answer.
    pub answer: Duration,
    /// Maximum time of the bytes of an answer.
    pub body: Duration,
    /// Names and passwords for servers.
    pub netrc: Netrc,
    pub proxies: Proxies,
    /// Whether a thread may be started to look up the name of the server, so that this has a time limit.
    pub threads: bool,
    /// Keeps what is read, for later runs. Nothing is kept of a file without a strong `ETag` and without `Last-Modified`.
    pub store: Option<Arc<dyn PartStore>>,
}

impl HttpOptions {
    /// Memory of a file by default, bytes.
    pub const MEMORY: usize = 24 << 20;
    /// Least memory of a file, bytes.
    const MEMORY_LEAST: usize = 4 << 20;

    /// Bytes of the largest request: a twelfth of the memory. All requests in flight therefore take less than half of it by default.
    pub(super) fn largest_request(&self) -> u64 {
        (self.memory.max(HttpOptions::MEMORY_LEAST) / 12) as u64
    }

    /// Bytes for what was read: what requests in flight, one that is being stored, and connections do not need.
    pub(super) fn pages(&self) -> usize {
        let connections = self.connections.max(1);
        // A chunk as it is kept, and its pages.
        let chunks = if self.store.is_some() { 2 * connections * CHUNK as usize } else { 0 };
        let requests = (connections + 1) * self.largest_request() as usize + connections * CONNECTION + chunks;
        self.memory.max(HttpOptions::MEMORY_LEAST).saturating_sub(requests)
    }

    /// An agent with these time limits, which does not accept compressed answers.
    pub(crate) fn agent(&self) -> Agent {
        let config = config()
            .accept_encoding("identity")
            .timeout_connect(Some(self.answer))
            .timeout_send_request(Some(self.answer))
            .timeout_recv_response(Some(self.answer))
            .timeout_recv_body(Some(self.body))
            .timeout_global(Some(2 * self.answer + self.body))
            .max_idle_connections(self.connections)
            .max_idle_connections_per_host(self.connections);
        agent(config, self.threads)
    }

    /// The fault of a request of such an agent.
    pub(crate) fn fault(&self, error: ureq::Error) -> Fault {
        Fault::of_client(error, |part| match part {
            Timeout::RecvBody => self.body,
            Timeout::Global | Timeout::PerCall => 2 * self.answer + self.body,
            _ => self.answer,
        })
    }
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            memory: HttpOptions::MEMORY,
            connections: 5,
            tries: 5,
            pause: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            answer: Duration::from_secs(30),
            body: Duration::from_secs(60),
            netrc: Netrc::default(),
            proxies: Proxies::default(),
            threads: true,
            store: None,
        }
    }
}
