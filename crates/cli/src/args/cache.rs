//! Options of the cache of compressed blocks.

use std::path::PathBuf;
use std::sync::Arc;

use packline_cache::{BlockCache, Error, Store};

use super::value::size;
use super::wrong;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// `--cache` and its size.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct CachePlace {
    /// Directory where compressed blocks are kept and found again by later runs, which then compress only what changed. The image has
    /// the same bytes [default: PACKLINE_CACHE, else none]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cache: Option<PathBuf>,
    /// Size of the cache at most: what was not used for longest is removed
    #[arg(long, value_name = "SIZE", default_value = "5G", value_parser = size(1 << 20..=1 << 60))]
    cache_size: u64,
}

/// Options of commands that pack.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct CacheOptions {
    #[command(flatten)]
    place: CachePlace,
    /// Use no cache, whatever PACKLINE_CACHE says
    #[arg(long, conflicts_with = "cache")]
    no_cache: bool,
}

impl CacheOptions {
    /// The cache, if there is to be one. Without a cache that cannot be opened, the work goes on: that is a warning.
    ///
    /// # Errors
    /// [`Failure::Failed`] for a directory with something else in it.
    pub fn open(&self, io: &mut Io) -> Result<Option<Arc<BlockCache>>, Failure> {
        let Some(directory) = self.place.directory(io).filter(|_| !self.no_cache) else { return Ok(None) };
        match BlockCache::open(&directory, self.place.cache_size, io.host.now.into()) {
            Ok(cache) => Ok(Some(Arc::new(cache))),
            Err(error @ Error::NotACache(_)) => Err(Failure::failed(error)),
            Err(error) => {
                io.warn(&format!("{error}; there is no cache in this run"));
                Ok(None)
            }
        }
    }
}

impl CachePlace {
    /// The files of a cache that exists.
    ///
    /// # Errors
    /// [`Failure::Usage`] if none is named; [`Failure::Failed`] if it cannot be opened.
    pub fn store(&self, io: &Io) -> Result<(PathBuf, Store), Failure> {
        let directory = self.directory(io).ok_or_else(|| wrong("cache", "missing, and PACKLINE_CACHE is not set"))?;
        let store = Store::existing(&directory, io.host.now.into()).map_err(Failure::failed)?;
        Ok((directory, store))
    }

    /// The most bytes that the cache may have.
    pub fn limit(&self) -> u64 {
        self.cache_size
    }

    fn directory(&self, io: &Io) -> Option<PathBuf> {
        self.cache.clone().or_else(|| io.host.cache.clone())
    }
}
