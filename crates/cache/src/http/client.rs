//! Requests to a server.

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

use packline_http::{agent, config, ignore};
use ureq::Agent;
use ureq::http::StatusCode;

use super::{Url, action_result};

pub use packline_http::CONNECTION;

/// Maximum time of a request: looking up the name, connecting, sending, and reading the answer.
const REQUEST: Duration = Duration::from_secs(3);
/// Bytes that a server may add around an entry.
pub const ENVELOPE: usize = 1 << 10;
/// Number of idle connections that are kept: more than there are workers.
const CONNECTIONS: usize = 2048;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    #[error("no complete answer in {} s", REQUEST.as_secs())]
    Late,
    #[error("the answer is {0}")]
    Status(StatusCode),
    /// The server sent more bytes than an entry can have.
    #[error("the answer has more than {0} bytes")]
    Long(usize),
    #[error("the answer is not an entry of a block cache")]
    NoEntry,
    #[error("the answer is an entry that is damaged or of another block")]
    Wrong,
    /// Waiting for answers costs more than it saves.
    #[error("its answers take longer than compression")]
    Slow,
    /// The server cannot be reached.
    #[error("{0}")]
    Io(io::Error),
    /// Any other error.
    #[error("{0}")]
    Http(ureq::Error),
}

impl Failure {
    /// Whether the server answered in time with something other than the entry, which costs no more than an answer that the entry
    /// is missing.
    pub fn is_wrong_answer(&self) -> bool {
        matches!(self, Failure::NoEntry | Failure::Wrong)
    }
}

impl From<ureq::Error> for Failure {
    fn from(error: ureq::Error) -> Failure {
        match error {
            ureq::Error::Timeout(_) => Failure::Late,
            ureq::Error::Io(cause) => Failure::Io(cause),
            error => Failure::Http(error),
        }
    }
}

/// A server and the connections to it.
pub struct Client {
    url: Url,
    agent: Agent,
}

impl Client {
    /// Without `threads`, looking up the server's name has no time limit of ours.
    pub fn new(url: Url, threads: bool) -> Client {
        let config = config()
            .timeout_global(Some(REQUEST))
            .max_idle_connections(CONNECTIONS)
            .max_idle_connections_per_host(CONNECTIONS);
        Client { url, agent: agent(config, threads) }
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Reads an entry of up to `most` bytes into `bytes`. Returns false if there is none. After an error the contents of `bytes`
    /// are unspecified.
    pub fn get(&self, key: &str, most: usize, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
        bytes.clear();
        let mut request = self.agent.get(self.url.entry(key));
        if let Some(authorization) = self.url.authorization() {
            request = request.header("authorization", authorization);
        }
        let mut answer = request.call()?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                ignore(&mut answer);
                return Ok(false);
            }
            status => {
                ignore(&mut answer);
                return Err(Failure::Status(status));
            }
        }
        let most = most + ENVELOPE;
        answer.body_mut().as_reader().take(most as u64 + 1).read_to_end(bytes).map_err(ureq::Error::from)?;
        if bytes.len() > most {
            return Err(Failure::Long(most));
        }
        let entry = action_result::stdout_raw(bytes).ok_or(Failure::NoEntry)?;
        bytes.truncate(entry.end);
        bytes.drain(..entry.start);
        Ok(true)
    }

    /// Adds an entry, in an `ActionResult`.
    pub fn put(&self, key: &str, message: &[u8]) -> Result<(), Failure> {
        let mut request = self.agent.put(self.url.entry(key)).content_type("application/octet-stream");
        if let Some(authorization) = self.url.authorization() {
            request = request.header("authorization", authorization);
        }
        let mut answer = request.send(message)?;
        ignore(&mut answer);
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(Failure::Status(status)),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.url).finish()
    }
}

/// Asks a server for an entry that is almost certainly missing, to check that the server answers like a cache.
pub fn ping(url: &Url) -> Result<(), Failure> {
    Client::new(url.clone(), true).get(&"0".repeat(64), 0, &mut Vec::new()).map(|_| ())
}
