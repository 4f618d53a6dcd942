//! Plain data: reconstructed, written, and kept for later matches.
//!
//! It is collected in slabs. A full slab goes to the target and to the checksums, and stays while there is memory; older bytes are read back
//! from the target, or from a file without a name if the target does not support that.

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

/// Plain data of the current chunk.
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
    /// Upper bound of the chunk's plain data, bytes.
    bound: u64,
    /// Full slabs, the first of which begins at byte `first` of the chunk, and the one being filled, which begins at `done`.
    slabs: VecDeque<Arc<Vec<u8>>>,
    first: u64,
    current: Vec<u8>,
    done: u64,
    /// Maximum number of slabs kept if no memory was lent.
    most: usize,
    /// Bytes of memory lent to blocks.
    given: usize,
    /// Buffers for reuse.
    spares: Vec<Vec<u8>>,
    /// Reverses the chunk's filter; with the bytes not yet processed. Matches refer to filtered bytes.
    filter: Option<(Unfilter, Vec<u8>)>,
    /// Evicted slabs of this chunk, if the target cannot be read.
    aside: Spool,
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
            most: plan.history,
            given: 0,
            spares: Vec::new(),
            filter: None,
            aside: Spool::new(0, resources.scratch.as_deref()),
        }
    }

    /// Begins a chunk.
    pub(super) fn begin(&mut self, chunk: &ChunkInfo) -> Result<(), Error> {
        self.offset = chunk.offset;
        self.bound = chunk.most();
        self.before = self.written;
        self.filter = chunk.filter.map(|filter| (Unfilter::new(filter), Vec::new()));
        self.aside.clear()
    }

    /// Bytes of the chunk so far.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.done + self.current.len() as u64
    }

    /// Bytes of the whole file so far.
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

    /// Appends `length` bytes from `distance` back: from 1 to [`Plain::position`].
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
        // The source and its repetitions are whole periods: each step doubles the copied size.
        while self.current.len() < wanted {
            let end = self.current.len().min(start + wanted - self.current.len());
            self.current.extend_from_within(start..end);
        }
    }

    /// Repeats bytes of a full slab; returns their number.
    fn repeat_slab(&mut self, from: u64, size: usize) -> usize {
        let slab = &self.slabs[from as usize / SLAB];
        let start = from as usize % SLAB;
        let size = size.min(slab.len() - start);
        self.current.extend_from_slice(&slab[start..start + size]);
        size
    }

    /// Repeats bytes that are no longer in memory; returns their number.
    fn repeat_older(&mut self, from: u64, size: usize) -> Result<usize, Error> {
        let begin = self.current.len();
        self.current.resize(begin + size, 0);
        let into = &mut self.current[begin..];
        if is_aside(self.target, &self.filter) {
            self.aside.read_at(from, into).map_err(Error::Scratch)?
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
            self.spare(slab);
        }
        self.first = 0;
        self.done = 0;
        Ok(())
    }

    /// The MD5 of everything, if requested.
    pub(super) fn finish(self) -> Result<Option<[u8; 16]>, Error> {
        self.summing.finish()
    }

    pub(super) fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Fails if the cancel token is set.
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
        Err(Error::corrupt(self.offset, what, format!("{most}, as the file says")))
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
        let most = self.most.saturating_sub(self.given.div_ceil(SLAB)).max(HISTORY_LEAST);
        while self.slabs.len() > most {
            let Some(slab) = self.slabs.pop_front() else { break };
            self.first += slab.len() as u64;
            if is_aside(self.target, &self.filter) {
                self.aside.append(&slab)?;
            }
            self.spare(slab);
        }
        Ok(())
    }

    fn spare(&mut self, slab: Arc<Vec<u8>>) {
        let kept = self.spares.len() + self.slabs.len();
        if let Some(mut buffer) = Arc::into_inner(slab).filter(|_| kept < self.most && self.given == 0) {
            buffer.clear();
            self.spares.push(buffer);
        }
    }

    /// Memory that can be lent to blocks, bytes.
    pub(super) fn can_give(&self) -> usize {
        self.most.saturating_mul(SLAB).saturating_sub(self.given).saturating_sub(HISTORY_LEAST * SLAB)
    }

    /// Memory lent to blocks, bytes.
    pub(super) fn given(&self) -> usize {
        self.given
    }

    /// Lends memory to a block.
    pub(super) fn give_way(&mut self, bytes: usize) -> Result<(), Error> {
        self.given += bytes;
        if bytes > 0 {
            self.spares.clear();
        }
        self.evict()
    }

    /// Takes memory back.
    pub(super) fn take_back(&mut self, bytes: usize) -> Result<(), Error> {
        self.given -= bytes;
        Ok(())
    }
}

/// Whether evicted slabs must be stored separately.
fn is_aside<T>(target: &dyn Sink, filter: &Option<T>) -> bool {
    filter.is_some() || !target.reads_back()
}
