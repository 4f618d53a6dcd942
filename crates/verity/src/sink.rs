//! A sink that hashes the written bytes on the workers, while the next bytes are produced.
//!
//! Writers go forward and return to the superblock. Blocks that are written again after they were hashed are read back at the end.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use packline_engine::{Class, Config, OrderedMap};
use packline_runtime::{Sink, TaskError, WorkFault, zeros};

use crate::hashing::{BATCH, Batch, BatchHashes, Content, HashTask, Salted, pass_window};
use crate::layout::{BLOCK, BLOCK_BYTES};
use crate::{Error, Leaves, Salt};

/// Passes an image on to another sink, and returns the hashes of its blocks at the end.
pub struct HashingSink<S> {
    inner: S,
    salt: Salt,
    config: Config,
    /// Created with the salt, when the first batch is complete.
    map: Option<OrderedMap<HashTask>>,
    results: Results,
    /// The last bytes, which are not being hashed yet.
    batch: Vec<u8>,
    /// Offset of these bytes. All bytes before it were hashed or are being hashed.
    hashed: u64,
    /// End of the last append.
    appended: u64,
    /// Blocks that were written again after they were hashed.
    again: BTreeSet<u64>,
}

/// Collects the hashes of batches.
struct Results {
    leaves: Leaves,
    spare: Vec<Vec<u8>>,
}

impl Results {
    fn take(&mut self, hashed: BatchHashes) -> Result<(), Error> {
        self.leaves.push(&hashed.digests)?;
        self.spare.push(hashed.buffer);
        Ok(())
    }
}

impl<S: Sink> HashingSink<S> {
    /// Passes the image to `inner`, which is empty and must support reading back. `spool` is an empty file for the hashes. `config` has the
    /// workers; its budget is ignored.
    pub fn new(inner: S, salt: Salt, spool: File, config: Config) -> HashingSink<S> {
        let results = Results { leaves: Leaves::new(spool), spare: Vec::new() };
        let config = Config { budget: pass_window(), ..config };
        let batch = Vec::with_capacity(BATCH);
        let again = BTreeSet::new();
        HashingSink { inner, salt, config, map: None, results, batch, hashed: 0, appended: 0, again }
    }

    /// Waits for the hashes of all blocks and returns them.
    ///
    /// # Errors
    /// [`Error::Size`] if the written bytes are not a multiple of the block size; errors of reading back and of the temporary file.
    pub fn finish(mut self) -> Result<Leaves, Error> {
        let bytes = self.hashed + self.batch.len() as u64;
        if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) {
            return Err(Error::Size { bytes });
        }
        if !self.batch.is_empty() {
            self.submit()?;
        }
        let mut map = self.map.take().ok_or_else(|| Error::internal("nothing was hashed".into()))?;
        map.drain(&mut |hashed| self.results.take(hashed))?;
        self.rehash()?;
        Ok(self.results.leaves)
    }

    /// Replaces the hashes of blocks that were written again.
    fn rehash(&mut self) -> Result<(), Error> {
        let salted = Salted::new(self.results.leaves.salt());
        let mut block = [0; BLOCK];
        for number in std::mem::take(&mut self.again) {
            self.inner.read_at(number * BLOCK_BYTES, &mut block).map_err(Error::Image)?;
            self.results.leaves.replace(number, &salted.digest(&block))?;
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), Error> {
        let mut map = match self.map.take() {
            Some(map) => map,
            None => self.begin()?,
        };
        let results = &mut self.results;
        let mut consumer = |hashed: BatchHashes| results.take(hashed);
        let permit = map.reserve(BATCH, &mut consumer)?;
        let bytes = std::mem::take(&mut self.batch);
        self.hashed += bytes.len() as u64;
        // The writer of the image waits for the hashes sooner or later, and they take little time next to the compression of a block.
        map.submit_as(Class::Now, Batch { content: Content::Bytes(bytes), permit }, &mut consumer)?;
        self.batch = self.results.spare.pop().unwrap_or_default();
        self.batch.clear();
        self.batch.reserve_exact(BATCH);
        self.map = Some(map);
        Ok(())
    }

    fn begin(&mut self) -> Result<OrderedMap<HashTask>, Error> {
        let salt = self.salt.bytes(&self.batch[..self.batch.len().min(BLOCK)]);
        let salted = Salted::new(&salt);
        self.results.leaves.set_salt(salt);
        Ok(OrderedMap::new(HashTask(salted), self.config.clone()).map_err(WorkFault::workers)?)
    }

    /// Adds bytes that were appended.
    fn add(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BATCH - self.batch.len()));
            self.batch.extend_from_slice(now);
            bytes = later;
            if self.batch.len() == BATCH {
                self.submit()?;
            }
        }
        Ok(())
    }

    /// Adds bytes that were written at an offset.
    fn written(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let end = self.hashed + self.batch.len() as u64;
        zeros(offset.saturating_sub(end)).try_for_each(|batch| self.add(batch))?;
        let over = (end.saturating_sub(offset)).min(bytes.len() as u64) as usize;
        let (again, new) = bytes.split_at(over);
        self.write_again(offset, again);
        self.add(new)
    }

    /// Replaces earlier bytes, in the batch or in blocks that were already hashed.
    fn write_again(&mut self, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let before = self.hashed.saturating_sub(offset).min(bytes.len() as u64) as usize;
        if before > 0 {
            self.again.extend(offset / BLOCK_BYTES..=(offset + before as u64 - 1) / BLOCK_BYTES);
        }
        let at = (offset + before as u64).saturating_sub(self.hashed) as usize;
        let bytes = &bytes[before..];
        self.batch[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl<S: Sink> Sink for HashingSink<S> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.append(bytes)?;
        self.written(self.appended, bytes).map_err(io::Error::other)?;
        self.appended += bytes.len() as u64;
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        if !self.inner.write_at(offset, bytes)? {
            return Ok(false);
        }
        self.written(offset, bytes).map_err(io::Error::other)?;
        Ok(true)
    }

    fn reads_back(&self) -> bool {
        self.inner.reads_back()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }
}
