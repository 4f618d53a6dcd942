//! The two checksums of plain data: MD5 of the file, CRC-32 of each chunk.

use std::io;

use md5::{Digest, Md5};
use packline_longrange::Window;

use super::view::View;

/// Bytes that both checksums process in turn, while a cache holds them.
const PIECE: usize = 128 << 10;

/// The checksums of the chunks so far.
pub(super) struct Sums {
    md5: Md5,
}

impl Sums {
    pub(super) fn new() -> Sums {
        Sums { md5: Md5::new() }
    }

    /// Adds a chunk to the MD5, and returns the chunk's CRC as lrzip calculates it: the usual CRC-32, but it begins with 0 and is not
    /// inverted at the end. Returns `None` if stopped.
    ///
    /// # Errors
    /// Returns an error if the chunk cannot be read.
    pub(super) fn chunk(&mut self, view: &View, stop: &dyn Fn() -> bool) -> io::Result<Option<u32>> {
        let mut crc = crc32fast::Hasher::new_with_initial(u32::MAX);
        let mut buffer = vec![0; if view.bytes().is_some() { 0 } else { PIECE }];
        let mut at = 0;
        while at < view.length() {
            if stop() {
                return Ok(None);
            }
            let size = (view.length() - at).min(PIECE as u64) as usize;
            let piece = match view.bytes() {
                Some(bytes) => &bytes[at as usize..at as usize + size],
                None => {
                    view.read(at, &mut buffer[..size])?;
                    &buffer[..size]
                }
            };
            self.md5.update(piece);
            crc.update(piece);
            at += size as u64;
        }
        Ok(Some(!crc.finalize()))
    }

    /// Returns the MD5 of all chunks.
    pub(super) fn finish(self) -> [u8; 16] {
        self.md5.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn checksums_equal_those_of_lrzip() {
        let mut sums = Sums::new();
        // The CRC of "abc" that begins with 0 and is not inverted, by the polynomial's definition.
        let crc = sums.chunk(&View::memory(&Arc::new(b"abc".to_vec())), &|| false).unwrap();
        assert_eq!(crc, Some(bitwise(b"abc")));
        let long: Vec<u8> = (0..300_000u32).map(|number| ((number * 7) >> 3) as u8).collect();
        assert_eq!(sums.chunk(&View::memory(&Arc::new(long.clone())), &|| false).unwrap(), Some(bitwise(&long)));
        assert_eq!(sums.chunk(&View::memory(&Arc::default()), &|| true).unwrap(), Some(0));
        assert_eq!(sums.finish(), <[u8; 16]>::from(Md5::digest([b"abc".as_slice(), &long].concat())));
    }

    fn bitwise(bytes: &[u8]) -> u32 {
        let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        bytes.iter().fold(0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
    }
}
