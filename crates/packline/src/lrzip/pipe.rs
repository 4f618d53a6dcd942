//! Bytes from one thread to another, in order, a few pieces under way at once.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes of a piece.
const PIECE: usize = 256 << 10;
/// Pieces under way.
const PIECES: usize = 4;
/// Memory of a pipe, bytes.
pub(super) const PIPE_BYTES: u64 = (PIECES as u64 + 2) * PIECE as u64;

/// The end that is written to.
pub(super) struct Giver {
    to: SyncSender<io::Result<Vec<u8>>>,
    held: Vec<u8>,
}

/// The end that is read.
pub(super) struct Taker {
    from: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    /// Bytes of the piece that were taken.
    taken: usize,
}

/// A pipe. It ends when the giver is dropped without [`Giver::fail`].
pub(super) fn pipe() -> (Giver, Taker) {
    let (to, from) = sync_channel(PIECES);
    (Giver { to, held: Vec::new() }, Taker { from, piece: Vec::new(), taken: 0 })
}

impl Giver {
    /// The reader gets an error instead of an end.
    pub(super) fn fail(mut self) {
        self.held.clear();
        let broken = io::Error::other("what it comes from failed");
        let _: Result<(), _> = self.to.send(Err(broken));
    }

    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.held);
        self.to.send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Giver {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.reserve(PIECE - self.held.len());
        let now = bytes.len().min(PIECE - self.held.len());
        self.held.extend_from_slice(&bytes[..now]);
        if self.held.len() == PIECE {
            self.send()?;
        }
        Ok(now)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() { Ok(()) } else { self.send() }
    }
}

impl Read for Taker {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() {
            match self.from.recv() {
                Ok(piece) => (self.piece, self.taken) = (piece?, 0),
                Err(_) => return Ok(0),
            }
        }
        let now = into.len().min(self.piece.len() - self.taken);
        into[..now].copy_from_slice(&self.piece[self.taken..self.taken + now]);
        self.taken += now;
        Ok(now)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn sent(fails: bool) -> io::Result<Vec<u8>> {
        let (mut giver, mut taker) = pipe();
        let giving = std::thread::spawn(move || {
            (0..40).for_each(|number: u8| giver.write_all(&vec![number; 70_001]).unwrap());
            giver.flush().unwrap();
            if fails {
                giver.fail();
            }
        });
        let mut got = Vec::new();
        let read = taker.read_to_end(&mut got);
        giving.join().unwrap();
        read.map(|_| got)
    }

    #[test]
    fn everything_comes_in_order_and_a_failure_is_no_end() {
        let expected: Vec<u8> = (0..40u8).flat_map(|number| vec![number; 70_001]).collect();
        assert!(sent(false).unwrap() == expected);
        assert!(sent(true).is_err());
    }

    #[test]
    fn nobody_waits_for_a_reader_that_went() {
        let (mut giver, taker) = pipe();
        drop(taker);
        let written = giver.write_all(&vec![0; PIECE]);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
