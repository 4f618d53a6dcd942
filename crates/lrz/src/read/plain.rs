//! Plain data: it is reconstructed, written, and kept for later matches.
//!
//! The data is collected in slabs. A full slab goes to the target and to the checksums, and stays in memory if the limit allows. Older bytes
//! are read back from the target, or from an unnamed temporary file if the target cannot be read.

use std::collections::VecDeque;
use std::sync::Arc;

use packline_engine::CancelToken;
use packline_runtime::unless_cancelled;

use super::ChunkInfo;
use super::plan::{HISTORY_LEAST, Plan, SLAB};
use super::sums::Summing;
use super::unfilter::Unfilter;
use crate::spool::Spool;
use crate::{Error, Input, Observer, Progress, Resources, Sink};

/// The plain data of the current chunk.
pub(super) struct Plain<'t> {
    target: &'t mut dyn Sink,
    observer: &'t mut dyn Observer,
    summing: Summing,
    cancel: CancelToken,
    /// Size of the plain data, if the file states it.
    total: Option<u64>,
    /// Bytes written to the target.
    written: u64,
    /// Bytes written before this chunk.
    before: u64,
    /// Offset of the chunk in the file.
    offset: u64,
    /// Upper bound for the chunk's plain data, in bytes.
    bound: u64,
    /// The full slabs.
    slabs: VecDeque<Arc<Vec<u8>>>,
    /// Byte of the chunk at which the first full slab begins.
    first: u64,
    /// The slab that is being filled.
    current: Vec<u8>,
    /// Byte of the chunk at which the current slab begins.
    done: u64,
    /// Upper bound for the slabs in memory if no memory is lent.
    max_slabs: usize,
    /// Bytes of memory lent to blocks.
    lent: usize,
    /// Buffers for reuse.
    spares: Vec<Vec<u8>>,
    /// Reverses the chunk's filter, with the bytes that are not yet processed. Matches refer to filtered bytes.
    filter: Option<(Unfilter, Vec<u8>)>,
    /// The evicted slabs of this chunk, if the target cannot be read.
    evicted: Spool,
}

impl<'t> Plain<'t> {
    pub(super) fn new(
        target: &'t mut dyn Sink,
        observer: &'t mut dyn Observer,
        summing: Summing,
        total: Option<u64>,
        plan: &Plan,
        resources: &Resources,
    ) -> Plain<'t> {
        Plain {
            target,
            observer,
            summing,
            cancel: resources.cancel.clone(),
            total,
            written: 0,
            before: 0,
            offset: 0,
            bound: 0,
            slabs: VecDeque::new(),
            first: 0,
            current: Vec::with_capacity(SLAB),
            done: 0,
            max_slabs: plan.history,
            lent: 0,
            spares: Vec::new(),
            filter: None,
            evicted: Spool::new(0, resources.scratch.as_deref()),
        }
    }

    /// Begins a chunk.
    pub(super) fn begin(&mut self, chunk: &ChunkInfo) -> Result<(), Error> {
        self.offset = chunk.offset;
        self.bound = chunk.max_plain();
        self.before = self.written;
        self.filter = chunk.filter.map(|filter| (Unfilter::new(filter), Vec::new()));
        self.evicted.clear()
    }

    /// The number of bytes of the chunk so far.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.done + self.current.len() as u64
    }

    /// The number of bytes of the file so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Appends literals.
    #[inline]
    pub(super) fn literals(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(SLAB - self.current.len()));
            self.current.extend_from_slice(now);
            bytes = later;
            if self.current.len() == SLAB {
                self.flush(false)?;
            }
        }
        Ok(())
    }

    /// Appends `length` bytes from `distance` bytes back. The distance is from 1 to [`Plain::position`].
    pub(super) fn repeat(&mut self, distance: u64, mut length: u64) -> Result<(), Error> {
        while length > 0 {
            let from = self.position() - distance;
            let fits = length.min((SLAB - self.current.len()) as u64) as usize;
            let size = if from >= self.done {
                self.repeat_current((from - self.done) as usize, fits);
                fits
            } else if from >= self.first {
                self.repeat_slab(from - self.first, fits)
            } else {
                self.repeat_older(from, fits.min((self.first - from).min(SLAB as u64) as usize))?
            };
            length -= size as u64;
            if self.current.len() == SLAB {
                self.flush(false)?;
            }
        }
        Ok(())
    }

    /// Repeats the bytes from `start` of the current slab until `size` bytes are appended.
    fn repeat_current(&mut self, start: usize, size: usize) {
        let wanted = self.current.len() + size;
        if let (&[byte], true) = (&self.current[start..], size > 1) {
            return self.current.resize(wanted, byte);
        }
        // The source and its repetitions are complete periods, so each step doubles the copied size.
        while self.current.len() < wanted {
            let end = self.current.len().min(start + wanted - self.current.len());
            self.current.extend_from_within(start..end);
        }
    }

    /// Repeats bytes of a full slab, and returns their number.
    fn repeat_slab(&mut self, from: u64, size: usize) -> usize {
        let slab = &self.slabs[from as usize / SLAB];
        let start = from as usize % SLAB;
        let size = size.min(slab.len() - start);
        self.current.extend_from_slice(&slab[start..start + size]);
        size
    }

    /// Repeats bytes that are no longer in memory, and returns their number.
    fn repeat_older(&mut self, from: u64, size: usize) -> Result<usize, Error> {
        let begin = self.current.len();
        self.current.resize(begin + size, 0);
        let into = &mut self.current[begin..];
        if needs_spool(self.target, &self.filter) {
            self.evicted.read_at(from, into).map_err(Error::Scratch)?
        } else {
            self.target.read_at(self.before + from, into).map_err(Error::Output)?
        }
        Ok(size)
    }

    /// Ends the chunk and checks its CRC.
    pub(super) fn end(&mut self, crc: Option<u32>) -> Result<(), Error> {
        self.flush(true)?;
        self.summing.end(self.offset, crc)?;
        while let Some(slab) = self.slabs.pop_front() {
            self.recycle(slab);
        }
        self.first = 0;
        self.done = 0;
        Ok(())
    }

    /// Returns the MD5 of all plain data, if it was requested.
    pub(super) fn finish(self) -> Result<Option<[u8; 16]>, Error> {
        self.summing.finish()
    }

    pub(super) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Returns an error after a cancellation.
    pub(super) fn check(&self) -> Result<(), Error> {
        Ok(unless_cancelled(&self.cancel)?)
    }

    /// Writes the current slab.
    fn flush(&mut self, last: bool) -> Result<(), Error> {
        self.check()?;
        let next = self.spares.pop().unwrap_or_else(|| Vec::with_capacity(SLAB));
        let slab = Arc::new(std::mem::replace(&mut self.current, next));
        self.done += slab.len() as u64;
        self.bounded()?;
        self.hand_on(&slab, last)?;
        self.slabs.push_back(slab);
        self.evict()
    }

    /// Checks that neither the chunk nor the file exceeds its size.
    fn bounded(&self) -> Result<(), Error> {
        let whole = self.before + self.done;
        let (found, most) = match self.total {
            Some(total) if whole > total => (whole, total),
            _ if self.done > self.bound => (self.done, self.bound),
            _ => return Ok(()),
        };
        let what = format!("{found} bytes of plain data and more in the chunk");
        Err(Error::corrupt(self.offset, what, format!("{most}, as the file states")))
    }

    fn hand_on(&mut self, slab: &Arc<Vec<u8>>, last: bool) -> Result<(), Error> {
        let slab = match &mut self.filter {
            None => Arc::clone(slab),
            Some((unfilter, rest)) => {
                let mut bytes = std::mem::take(rest);
                bytes.extend_from_slice(slab);
                let done = unfilter.undo(&mut bytes, last);
                *rest = bytes.split_off(done);
                Arc::new(bytes)
            }
        };
        self.target.append(&slab).map_err(Error::Output)?;
        self.written += slab.len() as u64;
        self.summing.bytes(slab)?;
        self.observer.advance(&Progress::of_source(self.written, self.total));
        Ok(())
    }

    /// Evicts slabs beyond the memory limit.
    fn evict(&mut self) -> Result<(), Error> {
        let allowed = self.max_slabs.saturating_sub(self.lent.div_ceil(SLAB)).max(HISTORY_LEAST);
        while self.slabs.len() > allowed {
            let Some(slab) = self.slabs.pop_front() else { break };
            self.first += slab.len() as u64;
            if needs_spool(self.target, &self.filter) {
                self.evicted.append(&slab)?;
            }
            self.recycle(slab);
        }
        Ok(())
    }

    fn recycle(&mut self, slab: Arc<Vec<u8>>) {
        let kept = self.spares.len() + self.slabs.len();
        if let Some(mut buffer) = Arc::into_inner(slab).filter(|_| kept < self.max_slabs && self.lent == 0) {
            buffer.clear();
            self.spares.push(buffer);
        }
    }

    /// Memory that can be lent to blocks, in bytes.
    pub(super) fn lendable(&self) -> usize {
        self.max_slabs.saturating_mul(SLAB).saturating_sub(self.lent).saturating_sub(HISTORY_LEAST * SLAB)
    }

    /// Memory lent to blocks, in bytes.
    pub(super) fn lent(&self) -> usize {
        self.lent
    }

    /// Lends memory to a block.
    pub(super) fn lend(&mut self, bytes: usize) -> Result<(), Error> {
        self.lent += bytes;
        if bytes > 0 {
            self.spares.clear();
        }
        self.evict()
    }

    /// Takes memory back.
    pub(super) fn take_back(&mut self, bytes: usize) -> Result<(), Error> {
        self.lent -= bytes;
        Ok(())
    }
}

/// Whether evicted slabs must be stored separately.
fn needs_spool<T>(target: &dyn Sink, filter: &Option<T>) -> bool {
    filter.is_some() || !target.reads_back()
}
