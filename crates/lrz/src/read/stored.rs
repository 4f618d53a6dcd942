//! A block's stored data, decrypted incrementally.

use std::io::{self, Read};
use std::sync::Arc;

use super::BlockInfo;
use super::bytes::Bytes;
use crate::crypt::{CIPHER_BLOCK, Decryption};
use crate::{Error, crypt};

/// Bytes decrypted at a time.
const PIECE: usize = 64 << 10;

pub(super) struct Stored {
    bytes: Arc<Bytes>,
    /// Position of the next byte.
    at: u64,
    /// Bytes left in the file, with padding.
    left: u64,
    /// Bytes left to return, without padding.
    wanted: u64,
    lock: Option<Lock>,
}

/// Decryption of the stream.
struct Lock {
    decryption: Option<crypt::Decryption>,
    piece: Vec<u8>,
    used: usize,
}

impl Stored {
    pub(super) fn new(bytes: &Arc<Bytes>, block: &BlockInfo) -> Result<Stored, Error> {
        let mut before = vec![0; bytes.seal.before_data()];
        bytes.read(block.data, &mut before)?;
        let decryption: Option<Decryption> = bytes.seal.pieces(&before);
        let at = block.data + before.len() as u64;
        let lock = decryption.map(|decryption| Lock { decryption: Some(decryption), piece: Vec::new(), used: 0 });
        Ok(Stored { bytes: Arc::clone(bytes), at, left: block.end() - at, wanted: block.stored, lock })
    }

    fn open(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        self.bytes.read(self.at, into)?;
        self.at += into.len() as u64;
        Ok(into.len())
    }

    /// Decrypts the next piece: whole blocks of the cipher; the last two are held back for the end.
    fn unlock(&mut self, lock: &mut Lock) -> Result<(), Error> {
        let size = if self.left > (PIECE + 2 * CIPHER_BLOCK) as u64 { PIECE } else { self.left as usize };
        lock.piece.resize(size, 0);
        lock.used = 0;
        self.bytes.read(self.at, &mut lock.piece)?;
        self.at += size as u64;
        self.left -= size as u64;
        match (&mut lock.decryption, self.left) {
            (Some(decryption), 1..) => decryption.piece(&mut lock.piece),
            (decryption, _) => {
                if let Some(decryption) = decryption.take() {
                    decryption.last(&mut lock.piece);
                }
            }
        }
        Ok(())
    }
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.wanted).unwrap_or(usize::MAX).min(into.len());
        let into = &mut into[..most];
        let size = match self.lock.take() {
            None => self.open(into).map_err(io::Error::other)?,
            Some(mut lock) => {
                if lock.used == lock.piece.len() && most > 0 {
                    self.unlock(&mut lock).map_err(io::Error::other)?;
                }
                let size = most.min(lock.piece.len() - lock.used);
                into[..size].copy_from_slice(&lock.piece[lock.used..lock.used + size]);
                lock.used += size;
                self.lock = Some(lock);
                size
            }
        };
        self.wanted -= size as u64;
        Ok(size)
    }
}
