//! The server of a cache of compressed blocks, in builds that know servers and those that do not.

use std::fmt;

use packline_cache::Remote;

use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[cfg(feature = "remote")]
type Url = packline_remote::Url;
/// There is none.
#[cfg(not(feature = "remote"))]
type Url = std::convert::Infallible;

/// The address of a server. It is shown without its password.
#[derive(Debug)]
pub struct CacheServer(Url);

#[cfg(feature = "remote")]
impl CacheServer {
    /// # Errors
    /// The text is no address of a server.
    pub fn parse(text: &str) -> Result<CacheServer, impl fmt::Display + use<>> {
        Url::parse(text).map(CacheServer)
    }

    /// `threads`: whether threads may be started.
    pub fn open(&self, threads: bool, io: &Io) -> Box<dyn Remote> {
        Box::new(packline_remote::Server::new(self.0.clone(), threads, io.host.wall_time))
    }

    /// # Errors
    /// [`Failure::Failed`] if it does not answer as a cache does.
    pub fn ping(&self) -> Result<(), Failure> {
        packline_remote::ping(&self.0).map_err(|failure| Failure::failed(format!("{self}: {failure}")))
    }
}

#[cfg(not(feature = "remote"))]
impl CacheServer {
    /// # Errors
    /// Always.
    pub fn parse(_: &str) -> Result<CacheServer, impl fmt::Display + use<>> {
        Err("this build knows no servers (expected a directory, or a build with the feature 'remote')")
    }

    pub fn open(&self, _: bool, _: &Io) -> Box<dyn Remote> {
        match self.0 {}
    }

    pub fn ping(&self) -> Result<(), Failure> {
        match self.0 {}
    }
}

impl fmt::Display for CacheServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
