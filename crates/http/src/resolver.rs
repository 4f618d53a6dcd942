//! Looks up the name of each server once, although the client asks for the addresses at each connection.
//!
//! The system's resolver has no time limit, and may take a minute if a name server is unreachable. A look-up therefore has a
//! thread of its own, which is abandoned when the time is up. Numeric addresses need no look-up.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver as Resolve};
use ureq::unversioned::transport::NextTimeout;
use ureq::{Error, Timeout};

/// Maximum number of addresses that are tried.
const MOST: usize = 16;

/// Maximum number of servers that are remembered. A redirect leads to another server.
const SERVERS: usize = 8;

/// The addresses of servers, once known.
pub struct Resolver {
    threads: bool,
    known: Mutex<VecDeque<Server>>,
}

struct Server {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
}

impl Resolver {
    pub fn new(threads: bool) -> Resolver {
        Resolver { threads, known: Mutex::default() }
    }

    fn addresses(&self, uri: &Uri, limit: Duration) -> Result<Vec<SocketAddr>, Error> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_string();
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        if let Some(known) = self.servers().iter().find(|server| server.host == host && server.port == port) {
            return Ok(known.addresses.clone());
        }
        let wanted = host.clone();
        let look_up = move || (&*wanted, port).to_socket_addrs().map(|found| found.take(MOST).collect());
        let addresses: Vec<SocketAddr> = if self.threads { limited(look_up, limit)? } else { look_up()? };
        let mut servers = self.servers();
        servers.truncate(SERVERS - 1);
        servers.push_front(Server { host, port, addresses: addresses.clone() });
        Ok(addresses)
    }

    fn servers(&self) -> MutexGuard<'_, VecDeque<Server>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `look_up` in a thread, or directly if the system cannot start a thread.
fn limited<F>(look_up: F, limit: Duration) -> Result<Vec<SocketAddr>, Error>
where
    F: Fn() -> io::Result<Vec<SocketAddr>> + Clone + Send + 'static,
{
    let (send, receive) = mpsc::sync_channel(1);
    let here = look_up.clone();
    let started = thread::Builder::new().name("look-up".into()).spawn(move || send.send(look_up()));
    if started.is_err() {
        return Ok(here()?);
    }
    match receive.recv_timeout(limit) {
        Ok(found) => Ok(found?),
        Err(RecvTimeoutError::Timeout) => Err(Error::Timeout(Timeout::Resolve)),
        Err(RecvTimeoutError::Disconnected) => Err(Error::HostNotFound),
    }
}

impl Resolve for Resolver {
    fn resolve(&self, uri: &Uri, _: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        self.addresses(uri, *timeout.after)?.into_iter().take(MOST).for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(uri: &str) -> Result<Vec<SocketAddr>, Error> {
        Resolver::new(true).addresses(&uri.parse().unwrap(), Duration::from_secs(60))
    }

    #[test]
    fn addresses_in_numbers_and_names() {
        assert_eq!(addresses("http://127.0.0.1/x").unwrap(), ["127.0.0.1:80".parse().unwrap()]);
        assert_eq!(addresses("https://[::1]/x").unwrap(), ["[::1]:443".parse().unwrap()]);
        assert!(addresses("http://no-such-host.invalid").is_err());
        let resolver = Resolver::new(true);
        let limit = Duration::from_secs(60);
        let port = |uri: &str| resolver.addresses(&uri.parse().unwrap(), limit).unwrap()[0].port();
        assert_eq!((port("http://127.0.0.1:81"), port("http://127.0.0.1:82")), (81, 82));
        if std::path::Path::new("/etc/hosts").exists() || packline_testkit::tools::skip("needs /etc/hosts") {
            assert!(addresses("http://localhost:8080").unwrap().iter().all(|address| address.port() == 8080));
        }
    }

    #[test]
    fn a_look_up_has_a_limit() {
        let slow = || {
            thread::sleep(Duration::from_secs(5));
            Ok(Vec::new())
        };
        assert!(matches!(limited(slow, Duration::from_millis(1)), Err(Error::Timeout(_))));
    }
}
