//! The bytes of a file: bounds-checked and decrypted.

use std::sync::Arc;

use super::seal::Seal;
use crate::format::{Dialect, MAGIC_SIZE, Magic, Record, Width};
use crate::{Error, Input};

/// An open file, which all other code reads through.
pub(super) struct Bytes {
    input: Arc<dyn Input>,
    pub(super) magic: Magic,
    pub(super) seal: Seal,
    /// Whether chunk heads have a filter byte, which is so since 0.7.1.
    pub(super) filters: bool,
    /// Offset of the first chunk.
    pub(super) first: u64,
    /// Required end of the last chunk.
    pub(super) end: u64,
}

impl Bytes {
    pub(super) fn open(input: Arc<dyn Input>, password: Option<&[u8]>) -> Result<Bytes, Error> {
        let length = input.size();
        if length < MAGIC_SIZE as u64 {
            let expected = format!("at least {MAGIC_SIZE} bytes");
            return Err(Error::corrupt(length, "is not a .lrz file: it ends", expected));
        }
        let mut head = [0; MAGIC_SIZE];
        input.read_at(0, &mut head).map_err(Error::Input)?;
        let magic = Magic::decode(&head)?;
        let open = Seal::open(&magic, &*input, password)?;
        let first = MAGIC_SIZE as u64 + open.descriptor();
        let trailer = if magic.md5 { open.digest_size() } else { 0 };
        let end = length.checked_sub(trailer).filter(|&end| end >= first).ok_or_else(|| {
            Error::corrupt(length, "the end of the file", format!("an MD5 of {trailer} bytes after the chunks"))
        })?;
        Ok(Bytes { input, magic, seal: open, filters: magic.dialect == Dialect::V7, first, end })
    }

    /// Fills `into` with the bytes at `at`. They must end before the digest.
    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        self.check(at, into.len() as u64, "bytes")?;
        self.input.read_at(at, into).map_err(Error::Input)
    }

    /// Checks that `size` bytes of `what` exist at `at`.
    pub(super) fn check(&self, at: u64, size: u64, what: &str) -> Result<(), Error> {
        match at.checked_add(size) {
            Some(end) if end <= self.end => Ok(()),
            _ => Err(Error::corrupt(
                at,
                format!("a file that is cut off or damaged: {} of {size} {what}", self.end.saturating_sub(at)),
                "all of them",
            )),
        }
    }

    /// Returns the width of the numbers in the records of a chunk.
    pub(super) fn record_width(&self, chunk: Width) -> Width {
        match self.magic.dialect {
            Dialect::V6 | Dialect::V7 if !self.seal.is_encrypted() => chunk,
            _ => Width::FULL,
        }
    }

    /// Size of a record in the file, in bytes.
    pub(super) fn record_size(&self, width: Width) -> u64 {
        self.seal.record_size(Record::size(width) as u64)
    }

    /// Reads the record at `at`.
    pub(super) fn record(&self, at: u64, width: Width) -> Result<Record, Error> {
        let mut bytes = vec![0; self.record_size(width) as usize];
        self.check(at, bytes.len() as u64, "bytes of a record")?;
        self.read(at, &mut bytes)?;
        self.seal.unseal_record(at, &mut bytes).map(|plain| Record::decode(width, plain))
    }

    /// Reads the MD5 at the end of the file, if there is one.
    pub(super) fn digest(&self) -> Result<Option<[u8; 16]>, Error> {
        if !self.magic.md5 {
            return Ok(None);
        }
        let mut bytes = vec![0; self.seal.digest_size() as usize];
        self.input.read_at(self.end, &mut bytes).map_err(Error::Input)?;
        self.seal.unseal_digest(self.end, &mut bytes).map(Some)
    }
}
