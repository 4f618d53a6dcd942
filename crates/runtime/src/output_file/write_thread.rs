//! Writes to a file on a thread of its own, in the order of the calls.
//!
//! A write copies its bytes into the page cache, which takes a third of a second for 10^9 bytes. The thread that decides what is
//! written next would otherwise spend most of its time there.

use std::fmt;
use std::io;
use std::sync::Arc;

use packline_engine::{Config, Fault, OrderedMap, Permit, Pool, Scheduling, Task, Tracer};

use super::write_behind::Medium;
use crate::SharedBytes;

/// The thread, and the writes that it has not finished.
pub(super) struct WriteThread {
    map: OrderedMap<WriteTask>,
    /// Whether an error was returned. The pieces after it are dropped.
    pub(super) failed: bool,
}

/// Writes one piece.
struct WriteTask(Medium);

struct WriteJob {
    offset: u64,
    piece: Piece,
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

impl fmt::Debug for WriteThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteThread").finish_non_exhaustive()
    }
}

impl Task for WriteTask {
    type In = WriteJob;
    type Out = ();
    type Error = io::Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), job: WriteJob) -> io::Result<()> {
        self.0.write(job.offset, job.piece.bytes())
    }
}

impl WriteThread {
    /// Starts the thread. At most `queued` bytes wait for it, or one piece. The tracer records each write.
    pub(super) fn start(medium: Medium, queued: usize, tracer: Option<Arc<dyn Tracer>>) -> io::Result<WriteThread> {
        let pool = Pool::new(1, &Scheduling::default(), tracer)?;
        let map = OrderedMap::on(&pool, WriteTask(medium), Config::new(1, queued));
        Ok(WriteThread { map, failed: false })
    }

    /// Hands a piece over. Waits while too many bytes are queued. The error may be that of an earlier piece.
    pub(super) fn write(&mut self, offset: u64, piece: Piece) -> io::Result<()> {
        let reserved = self.map.reserve(piece.bytes().len(), &mut ignore);
        let written =
            reserved.and_then(|permit| self.map.submit(WriteJob { offset, piece, _permit: permit }, &mut ignore));
        self.result(written)
    }

    /// Waits until all pieces are written.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        let drained = self.map.drain(&mut ignore);
        self.result(drained)
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
