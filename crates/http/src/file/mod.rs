//! A file on a server that is read at any offset, by several threads.

mod kept;
mod options;
mod pages;
mod requests;
mod version;

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use packline_runtime::Input;

use self::kept::{Found, Kept};
use self::pages::Pages;
use self::requests::Requests;
use crate::{Address, Fault};

pub use self::kept::PartStore;
pub use self::options::HttpOptions;
pub(crate) use self::requests::PROGRESS;
pub(crate) use self::version::{ContentRange, text};

/// Bytes of the first request, which also tells the size of the file.
const FIRST: u64 = 8 << 10;

/// What was requested of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of requests, redirects and further tries included.
    pub requests: u64,
    /// Bytes of the contents of all answers.
    pub bytes: u64,
}

/// A file on a server. Its size is the size of the first answer, and all later answers must be about the same version of the file.
pub struct HttpFile {
    address: Address,
    requests: Requests,
    /// What earlier runs kept of this version.
    kept: Option<Kept>,
    size: u64,
    /// Maximum number of requests in flight.
    connections: usize,
    state: Mutex<State>,
    /// Signals that a request was answered.
    answered: Condvar,
}

struct State {
    pages: Pages,
    /// The file changed: nothing is read any more.
    changed: Option<Fault>,
}

impl HttpFile {
    /// Sends a first request.
    ///
    /// # Errors
    /// [`Fault`] if the server cannot be reached, has no such file, or does not support ranges.
    pub fn open(address: Address, options: HttpOptions) -> Result<HttpFile, Fault> {
        let connections = options.connections.max(1);
        let memory = options.pages();
        let most = options.largest_request();
        let store = options.store.clone();
        let requests = Requests::new(address.clone(), options);
        let first = requests.fetch(0..FIRST)?;
        let version = requests.version();
        let size = version.map_or(0, |version| version.size);
        if size > 0 && !version.is_some_and(|version| version.has_validator()) {
            log::warn!(
                "{address}: the server sends neither ETag nor Last-Modified; a changed file of the same size is not noticed"
            );
        }
        let kept = store.and_then(|store| Some(Kept::new(store, requests.lasting_name()?, size)));
        let mut pages = Pages::new(size, memory, most);
        pages.answered(&(0..FIRST.min(size)), &first);
        let state = Mutex::new(State { pages, changed: None });
        Ok(HttpFile { address, requests, kept, size, connections, state, answered: Condvar::new() })
    }

    /// The address, which shows neither its user nor its query.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns what was requested so far.
    pub fn counts(&self) -> Counts {
        self.requests.counts()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a range, or its first pages, from what is kept or from the server.
    fn obtain(&self, range: &Range<u64>) -> Result<Vec<u8>, Fault> {
        let Some(kept) = &self.kept else { return self.requests.fetch(range.clone()) };
        match kept.find(range) {
            Found::Bytes(bytes) => Ok(bytes),
            Found::Missing(range) => {
                let bytes = self.requests.fetch(range.clone())?;
                kept.keep(range.start, &bytes);
                Ok(bytes)
            }
        }
    }

    /// Reads at least one byte from `offset` on. Waits if another thread requests it, or if enough requests are in flight.
    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Fault> {
        let mut state = self.lock();
        let range = loop {
            if let Some(fault) = &state.changed {
                return Err(fault.clone());
            }
            let copied = state.pages.copy(offset, buffer);
            if copied > 0 {
                return Ok(copied);
            }
            if !state.pages.is_awaited(offset) && state.pages.in_flight() < self.connections {
                break state.pages.request(&(offset..offset + buffer.len() as u64));
            }
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let fetched = self.obtain(&range);
        let mut state = self.lock();
        state.pages.answered(&range, fetched.as_deref().unwrap_or_default());
        if let Err(fault @ Fault::Changed(_)) = &fetched {
            state.changed = Some(fault.clone());
        }
        drop(state);
        self.answered.notify_all();
        // The bytes are taken from the answer: by now their pages may have been evicted.
        let fetched = fetched?;
        let rest = fetched.get((offset - range.start) as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl Input for HttpFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn will_read(&self, offset: u64, length: u64) {
        self.lock().pages.announce(offset..offset.saturating_add(length));
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < buffer.len() {
            match self.read_some(offset + done as u64, &mut buffer[done..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}

impl Drop for HttpFile {
    fn drop(&mut self) {
        let Counts { requests, bytes } = self.counts();
        log::info!("{}: {requests} requests, {bytes} of {} bytes", self.address, self.size);
    }
}

impl fmt::Debug for HttpFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFile").field("address", &self.address).field("size", &self.size).finish_non_exhaustive()
    }
}
