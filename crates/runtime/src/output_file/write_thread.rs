//! Writes on a thread of its own, in the order of the calls.
//!
//! A write copies its bytes into the page cache or a pipe, which takes a third of a second for 10^9 bytes. The thread that decides what is
//! written next would otherwise spend most of its time there.

use std::fmt;
use std::io;
use std::sync::Arc;

use packline_engine::{Config, Fault, OrderedMap, Permit, Pool, Scheduling, Task, Tracer};

use crate::SharedBytes;

/// Maximum number of bytes that wait for the thread or are being written.
const QUEUED_MOST: usize = 1 << 20;

/// The thread, and the writes that it has not finished. `P` is what one write needs.
pub struct WriteThread<P: Send + 'static> {
    map: OrderedMap<WriteTask<P>>,
    /// Whether an error was returned. The pieces after it are dropped.
    failed: bool,
}

/// Writes one piece.
struct WriteTask<P>(Box<dyn Fn(P) -> io::Result<()> + Send + Sync>);

struct WriteJob<P> {
    piece: P,
    /// Memory of the piece in the budget of the thread.
    _permit: Permit,
}

/// Bytes to write.
pub(super) enum Piece {
    Own(Vec<u8>),
    Shared(SharedBytes),
}

impl Piece {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(bytes) => bytes.bytes(),
        }
    }
}

impl<P: Send + 'static> fmt::Debug for WriteThread<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteThread").finish_non_exhaustive()
    }
}

impl<P: Send + 'static> Task for WriteTask<P> {
    type In = WriteJob<P>;
    type Out = ();
    type Error = io::Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), job: WriteJob<P>) -> io::Result<()> {
        (self.0)(job.piece)
    }
}

impl<P: Send + 'static> WriteThread<P> {
    /// Starts the thread, which calls `write` for each piece. At most `queued` bytes, and at most 1 MiB, wait for it or are being written,
    /// or one piece. The tracer records each write.
    ///
    /// # Errors
    /// The system cannot start the thread.
    pub fn start(
        write: impl Fn(P) -> io::Result<()> + Send + Sync + 'static,
        queued: usize,
        tracer: Option<Arc<dyn Tracer>>,
    ) -> io::Result<WriteThread<P>> {
        let pool = Pool::new(1, &Scheduling::default(), tracer)?;
        if pool.workers() == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let map = OrderedMap::on(&pool, WriteTask(Box::new(write)), Config::new(1, queued.min(QUEUED_MOST)));
        Ok(WriteThread { map, failed: false })
    }

    /// Hands over a piece that keeps `bytes` of memory. Waits while too many bytes are queued.
    ///
    /// # Errors
    /// Returns the error of this piece or of an earlier one.
    pub fn write(&mut self, bytes: usize, piece: P) -> io::Result<()> {
        let reserved = self.map.reserve(bytes, &mut ignore);
        let written = reserved.and_then(|permit| self.map.submit(WriteJob { piece, _permit: permit }, &mut ignore));
        self.result(written)
    }

    /// Waits until all pieces are written.
    ///
    /// # Errors
    /// Returns the error of a piece.
    pub fn drain(&mut self) -> io::Result<()> {
        let drained = self.map.drain(&mut ignore);
        self.result(drained)
    }

    /// Whether an error was returned.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    fn result(&mut self, result: Result<(), Fault<io::Error>>) -> io::Result<()> {
        self.failed |= result.is_err();
        result.map_err(|fault| match fault {
            Fault::Work(cause) => cause,
            other => io::Error::other(other.to_string()),
        })
    }
}

fn ignore((): ()) -> io::Result<()> {
    Ok(())
}
