//! Options of the cache of compressed blocks.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use clap::Arg;
use clap::builder::{OsStringValueParser, TypedValueParser};
use packline_cache::http::{Server, Url};
use packline_cache::{BlockCache, Error, Parts, Remote, Store};

use super::registry::is_in_registry;
use super::remote::is_remote;
use super::value::size;
use super::{Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// `--cache` and its size.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct CacheLocation {
    /// Reuse compressed blocks from a directory, a server's URL, or both as DIR,URL; see 'packline help cache' [default: PACKLINE_CACHE]
    #[arg(long, value_name = "PLACE", value_hint = clap::ValueHint::DirPath, value_parser = place())]
    cache: Option<OsString>,
    /// Limit the size of the cache directory; the least recently used blocks are removed first
    #[arg(long, value_name = "SIZE", default_value = "5G", value_parser = size(1 << 20..=1 << 60))]
    cache_size: u64,
}

/// Rejects an empty value, which a script passes if its variable is not set.
fn place() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|text| {
        if text.is_empty() {
            Err("the value is empty (expected a directory, the URL of a server, or both; --no-cache uses no cache)")
        } else {
            Ok(text)
        }
    })
}

/// Options of commands that pack.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct CacheOptions {
    #[command(flatten)]
    place: CacheLocation,
    /// Do not use a cache, even if PACKLINE_CACHE is set
    #[arg(long, conflicts_with = "cache")]
    no_cache: bool,
}

/// `--cache` of commands that read files on servers and images in registries.
#[derive(Debug, clap::Args)]
#[command(mut_args(with_help_of_reading))]
pub struct ReadCache {
    #[command(flatten)]
    options: CacheOptions,
}

fn with_help_of_reading(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "cache" => argument.value_name("DIR").help(
            "Keep what is read from servers and registries in a directory, for later runs [default: PACKLINE_CACHE]",
        ),
        "cache_size" => {
            argument.help("Limit the size of the cache directory; what was not used for longest is removed first")
        }
        _ => argument,
    }
}

/// Whether an operand is read from a server.
fn is_on_server(path: &Path) -> bool {
    is_remote(path) || is_in_registry(path)
}

/// The places of a cache; at least one of them is set.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CacheLocations {
    pub directory: Option<PathBuf>,
    /// The URL of the server, which may contain a password.
    pub server: Option<OsString>,
}

impl CacheOptions {
    /// Opens the cache, if one is requested. If the directory cannot be opened, a warning is printed and the command continues without
    /// it. `threads` is whether threads may be started.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the directory contains other files; [`Failure::Usage`] for an invalid URL.
    pub fn open(&self, threads: bool, io: &mut Io) -> Result<Option<Arc<BlockCache>>, Failure> {
        let Some(CacheLocations { directory, server }) = self.place.configured(io).filter(|_| !self.no_cache) else {
            return Ok(None);
        };
        let server = server.map(|url| self.place.server(&url)).transpose()?;
        let remote = server.map(|url| Box::new(Server::new(url, threads, io.host.wall_time)) as Box<dyn Remote>);
        let local = directory.map(|directory| self.place.open_directory(&directory, io)).transpose()?.flatten();
        let cache = match (local, remote) {
            (Some(local), Some(remote)) => local.with_remote(remote),
            (Some(local), None) => local,
            (None, Some(remote)) => BlockCache::shared(remote),
            (None, None) => return Ok(None),
        };
        Ok(Some(Arc::new(cache)))
    }

    /// Opens the directory of the cache, if one is requested and an operand is read from a server, to keep what is read.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the directory contains other files.
    pub fn keep_parts<'p>(&self, operands: impl IntoIterator<Item = &'p PathBuf>, io: &mut Io) -> Result<(), Failure> {
        let places = self.place.configured(io).filter(|_| !self.no_cache);
        let Some(directory) = places.and_then(|places| places.directory) else { return Ok(()) };
        if operands.into_iter().any(|path| is_on_server(path)) {
            // A mount in the background changes the working directory.
            let directory = path::absolute(&directory).unwrap_or(directory);
            let opened = Parts::open(&directory, self.place.cache_size, io.host.now.into());
            io.parts = usable(opened, io)?.map(Arc::new);
        }
        Ok(())
    }
}

impl ReadCache {
    /// The long names of the options.
    pub const NAMES: [&str; 3] = ["cache", "cache-size", "no-cache"];

    /// Opens the directory, if one is requested.
    ///
    /// # Errors
    /// [`Failure::Usage`] if an option is given and nothing is read from a server, or if the place is not a directory; [`Failure::Failed`] if the
    /// directory contains other files.
    pub fn open<'p>(
        &self,
        operands: impl IntoIterator<Item = &'p PathBuf> + Clone,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let given = ReadCache::NAMES.into_iter().find(|long| invocation.has(long));
        if let Some(long) = given.filter(|_| !operands.clone().into_iter().any(|path| is_on_server(path))) {
            return Err(wrong(long, "works only with a file on a server or an image in a registry"));
        }
        if self.options.place.cache.as_deref().is_some_and(|place| CacheLocations::parse(place).server.is_some()) {
            return Err(wrong("cache", "a server keeps only compressed blocks (expected a directory)"));
        }
        self.options.keep_parts(operands, io)
    }
}

/// Returns what was opened. If the directory cannot be used, a warning is printed.
///
/// # Errors
/// [`Failure::Failed`] if the directory contains other files.
fn usable<T>(opened: Result<T, Error>, io: &mut Io) -> Result<Option<T>, Failure> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error @ Error::NotACache(_)) => Err(Failure::failed(error)),
        Err(error) => {
            io.warn(&format!("{error}; this run does not use the cache"));
            Ok(None)
        }
    }
}

impl CacheLocation {
    /// Returns the places of the cache.
    ///
    /// # Errors
    /// [`Failure::Usage`] if neither the option nor the variable names a cache.
    pub fn locations(&self, io: &Io) -> Result<CacheLocations, Failure> {
        self.configured(io).ok_or_else(|| wrong("cache", "missing, and PACKLINE_CACHE is not set"))
    }

    /// Returns the files of an existing cache.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the directory is not a cache.
    pub fn store(directory: &Path, io: &Io) -> Result<Store, Failure> {
        Store::existing(directory, io.host.now.into()).map_err(Failure::failed)
    }

    /// Returns the size limit of the directory in bytes.
    pub fn limit(&self) -> u64 {
        self.cache_size
    }

    pub fn server(&self, url: &OsStr) -> Result<Url, Failure> {
        Url::parse(&url.to_string_lossy()).map_err(|error| match &self.cache {
            Some(_) => wrong("cache", error),
            None => Failure::usage(format!("PACKLINE_CACHE: {error}")),
        })
    }

    fn configured(&self, io: &Io) -> Option<CacheLocations> {
        self.cache.as_deref().or(io.host.cache.as_deref()).map(CacheLocations::parse)
    }

    fn open_directory(&self, directory: &Path, io: &mut Io) -> Result<Option<BlockCache>, Failure> {
        usable(BlockCache::open(directory, self.cache_size, io.host.now.into()), io)
    }
}

impl CacheLocations {
    /// Splits the value. A URL begins at the start or after a comma, with `SCHEME://`.
    fn parse(text: &OsStr) -> CacheLocations {
        let bytes = text.as_bytes();
        let scheme_of = |end: usize| {
            let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
            end - bytes[..end].iter().rev().take_while(|byte| is_of_scheme(byte)).count()
        };
        let colon = bytes.windows(3).position(|three| three == b"://");
        // `://` without a name before it is not a scheme.
        let start = colon.map(|end| (scheme_of(end), end)).filter(|(start, end)| start < end).map(|(start, _)| start);
        let path = |bytes: &[u8]| Some(PathBuf::from(OsString::from_vec(bytes.to_vec())));
        let url = |bytes: &[u8]| Some(OsString::from_vec(bytes.to_vec()));
        match start {
            Some(0) => CacheLocations { directory: None, server: url(bytes) },
            Some(1) if bytes[0] == b',' => CacheLocations { directory: None, server: url(&bytes[1..]) },
            Some(start) if bytes[start - 1] == b',' => {
                CacheLocations { directory: path(&bytes[..start - 1]), server: url(&bytes[start..]) }
            }
            _ => CacheLocations { directory: path(bytes), server: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_directory_url_or_both() {
        let cases = [
            ("dir", Some("dir"), None),
            ("a,b c", Some("a,b c"), None),
            ("http://h", None, Some("http://h")),
            ("s3://bucket,x", None, Some("s3://bucket,x")),
            ("/a b,https://u:p,w@h/x", Some("/a b"), Some("https://u:p,w@h/x")),
            ("a,b,http://h", Some("a,b"), Some("http://h")),
            (",http://h", None, Some("http://h")),
            ("/x/http://h", Some("/x/http://h"), None),
            ("://", Some("://"), None),
        ];
        for (text, directory, server) in cases {
            let expected =
                CacheLocations { directory: directory.map(PathBuf::from), server: server.map(OsString::from) };
            assert_eq!(CacheLocations::parse(OsStr::new(text)), expected, "{text}");
        }
    }
}
