//! The stored data of a block, decrypted incrementally.

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
    /// Offset of the next byte.
    at: u64,
    /// Bytes left in the file, including padding.
    left: u64,
    /// Bytes left to return, without padding.
    wanted: u64,
    encrypted: Option<Encrypted>,
}

/// The decryption of the data, with the decrypted bytes.
struct Encrypted {
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
        let encrypted =
            decryption.map(|decryption| Encrypted { decryption: Some(decryption), piece: Vec::new(), used: 0 });
        Ok(Stored { bytes: Arc::clone(bytes), at, left: block.end() - at, wanted: block.stored, encrypted })
    }

    fn read_plain(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        self.bytes.read(self.at, into)?;
        self.at += into.len() as u64;
        Ok(into.len())
    }

    /// Decrypts the next piece, which consists of complete blocks of the cipher. The last two blocks belong to the last piece.
    fn decrypt_next(&mut self, encrypted: &mut Encrypted) -> Result<(), Error> {
        let size = if self.left > (PIECE + 2 * CIPHER_BLOCK) as u64 { PIECE } else { self.left as usize };
        encrypted.piece.resize(size, 0);
        encrypted.used = 0;
        self.bytes.read(self.at, &mut encrypted.piece)?;
        self.at += size as u64;
        self.left -= size as u64;
        match (&mut encrypted.decryption, self.left) {
            (Some(decryption), 1..) => decryption.piece(&mut encrypted.piece),
            (decryption, _) => {
                if let Some(decryption) = decryption.take() {
                    decryption.last(&mut encrypted.piece);
                }
            }
        }
        Ok(())
    }
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.wanted).unwrap_or(usize::MAX).min(into.len());
        let into = &mut into[..wanted];
        let size = match self.encrypted.take() {
            None => self.read_plain(into).map_err(io::Error::other)?,
            Some(mut encrypted) => {
                if encrypted.used == encrypted.piece.len() && wanted > 0 {
                    self.decrypt_next(&mut encrypted).map_err(io::Error::other)?;
                }
                let size = wanted.min(encrypted.piece.len() - encrypted.used);
                into[..size].copy_from_slice(&encrypted.piece[encrypted.used..encrypted.used + size]);
                encrypted.used += size;
                self.encrypted = Some(encrypted);
                size
            }
        };
        self.wanted -= size as u64;
        Ok(size)
    }
}
