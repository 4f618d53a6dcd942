//! The sealed bytes of a file, content and padding, from front to back, opened on workers.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use packline_engine::{Consumer, OrderedMap, Permit, Task};
use packline_runtime::{Resources, of_fault};

use super::opened::{cut, extended, forged, impossible, offset};
use super::{Damage, OpenedHead};
use crate::cipher::{PayloadKey, parse_header};
use crate::format::{CHUNK_OVERHEAD, HEADER, TAG};
use crate::memory::{self, batch, chunks};
use crate::{ChunkSize, Error};

/// Reads the sealed content of a file. Each byte is authentic before it is returned; an error follows the bytes before it.
pub(super) struct ChunkStream<R> {
    file: R,
    map: OrderedMap<OpenTask>,
    chunk: ChunkSize,
    start: u64,
    /// The number of the next chunk to be read.
    next: u64,
    /// Batches whose content was opened.
    ready: Ready,
    /// Whether reading ended, with the last chunk or an error.
    ended: bool,
    /// The error that is returned after the content that is ready.
    failed: Option<Error>,
    /// Whether an error was returned. Nothing is returned after it.
    over: bool,
    spare: Vec<Vec<u8>>,
    may_follow: Option<[u8; 8]>,
    /// Notes damage, after which reading continues.
    damage: Option<Arc<Damage>>,
}

impl<R> fmt::Debug for ChunkStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStream").field("next", &self.next).field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// Sealed chunks that are opened as one job.
struct Batch {
    first: u64,
    bytes: Vec<u8>,
    /// Whether the batch's last chunk is the last of the file.
    last: bool,
    permit: Permit,
}

/// An opened batch, as far as it is authentic.
struct Opened {
    bytes: Vec<u8>,
    /// Ranges of content that were not returned yet.
    content: VecDeque<Range<usize>>,
    /// Numbers of chunks that are not authentic. If reading continues after them, their content is zeros.
    damaged: Vec<u64>,
    _permit: Permit,
}

/// Opened batches in order.
#[derive(Default)]
struct Ready(VecDeque<Opened>);

impl Consumer<OpenTask> for Ready {
    fn consume(&mut self, opened: Opened) -> Result<(), Error> {
        self.0.push_back(opened);
        Ok(())
    }
}

struct OpenTask {
    key: Arc<PayloadKey>,
    chunk: ChunkSize,
    /// Whether a chunk that is not authentic is read as zeros.
    zeroes_damaged: bool,
}

impl Task for OpenTask {
    type In = Batch;
    type Out = Opened;
    type Error = Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), batch: Batch) -> Result<Opened, Error> {
        let Batch { first, mut bytes, last, permit } = batch;
        let stride = self.chunk.stride();
        let mut content = VecDeque::new();
        let mut damaged = Vec::new();
        let count = bytes.len().div_ceil(stride);
        for (within, chunk) in bytes.chunks_mut(stride).enumerate() {
            let number = first + within as u64;
            let opened = self.key.open(number, last && within + 1 == count, chunk);
            let range = opened.clone().unwrap_or(HEADER..chunk.len() - TAG);
            if opened.is_none() {
                damaged.push(number);
                if !self.zeroes_damaged {
                    break;
                }
                chunk[range.clone()].fill(0);
            }
            content.push_back(within * stride + range.start..within * stride + range.end);
        }
        Ok(Opened { bytes, content, damaged, _permit: permit })
    }

    fn bytes_in(&self, batch: &Batch) -> u64 {
        batch.bytes.len() as u64
    }
}

impl<R: Read + Send> ChunkStream<R> {
    pub(super) fn new(
        head: OpenedHead,
        file: R,
        resources: &Resources,
        may_follow: Option<[u8; 8]>,
    ) -> Result<ChunkStream<R>, Error> {
        let OpenedHead { key, chunk, start, damage, .. } = head;
        let map = memory::start(OpenTask { key, chunk, zeroes_damaged: damage.is_some() }, resources, chunk)?;
        let next = 0;
        let ready = Ready::default();
        let ended = false;
        let failed = None;
        let spare = Vec::new();
        Ok(ChunkStream { file, map, chunk, start, next, ready, ended, failed, over: false, spare, may_follow, damage })
    }

    /// Reads batches until an opened one is ready, or until the end.
    fn advance(&mut self) -> Result<(), Error> {
        if self.ended {
            return self.map.drain(&mut self.ready).map_err(of_fault);
        }
        let size = batch(self.chunk);
        let permit = self.map.reserve(size, &mut self.ready).map_err(of_fault)?;
        let first = self.next;
        let read = self.batch();
        let (bytes, last) = match read {
            Ok(read) => read,
            Err((bytes, error)) => {
                self.failed = Some(error);
                (bytes, false)
            }
        };
        self.ended = last || self.failed.is_some();
        if bytes.is_empty() {
            return Ok(());
        }
        self.map.submit(Batch { first, bytes, last, permit }, &mut self.ready).map_err(of_fault)
    }

    /// Reads the next chunks in sealed form. Returns them, and whether the last of them is the last of the file. An error comes with the
    /// chunks before it.
    fn batch(&mut self) -> Result<(Vec<u8>, bool), (Vec<u8>, Error)> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        for _ in 0..chunks(self.chunk) {
            match self.sealed(&mut bytes) {
                Ok(false) => {}
                Ok(true) => return Ok((bytes, true)),
                Err(error) => return Err((bytes, error)),
            }
        }
        Ok((bytes, false))
    }

    /// Appends the next chunk in sealed form. Returns whether it is the last. After an error nothing was appended.
    fn sealed(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Error> {
        let number = self.next;
        let at = offset(self.start, self.next, self.chunk);
        let cut_off = |cause: io::Error| match cause.kind() {
            io::ErrorKind::UnexpectedEof => cut(number, at),
            _ => Error::Input(cause),
        };
        let mut header = [0; HEADER];
        self.file.read_exact(&mut header).map_err(cut_off)?;
        let header_fields = parse_header(header, number, self.chunk);
        // A damaged chunk that is skipped is taken to be full, as most are.
        let parsed = header_fields.or_else(|| self.damage.as_ref().map(|_| (self.chunk.bytes(), false)));
        let (length, last) = parsed.ok_or_else(|| impossible(number, at))?;
        let before = bytes.len();
        bytes.extend_from_slice(&header);
        bytes.resize(before + HEADER + length + TAG, 0);
        let read = self.file.read_exact(&mut bytes[before + HEADER..]).map_err(cut_off);
        let read =
            read.and_then(|()| if last { self.end(number, at + length as u64 + CHUNK_OVERHEAD) } else { Ok(()) });
        if let Err(error) = read {
            bytes.truncate(before);
            return Err(error);
        }
        self.next += 1;
        Ok(last)
    }

    /// Checks that nothing else follows the last chunk.
    fn end(&mut self, number: u64, at: u64) -> Result<(), Error> {
        let mut behind = Vec::new();
        self.file.by_ref().take(8).read_to_end(&mut behind).map_err(Error::Input)?;
        match self.may_follow {
            _ if behind.is_empty() => Ok(()),
            Some(magic) if behind == magic => io::copy(&mut self.file, &mut io::sink()).map(drop).map_err(Error::Input),
            _ => Err(extended(number, at)),
        }
    }

    /// Copies content of the first ready batch. Returns `None` if no batch is ready.
    fn take(&mut self, into: &mut [u8]) -> Option<usize> {
        let opened = self.ready.0.front_mut()?;
        let range = opened.content.front_mut()?;
        let length = range.len().min(into.len());
        into[..length].copy_from_slice(&opened.bytes[range.start..range.start + length]);
        range.start += length;
        if range.start == range.end {
            opened.content.pop_front();
        }
        Some(length)
    }

    /// Drops batches that were returned. Returns an error for their damaged chunks, unless damage is noted.
    fn retire(&mut self) -> Result<(), Error> {
        while self.ready.0.front().is_some_and(|opened| opened.content.is_empty()) {
            let Some(opened) = self.ready.0.pop_front() else { break };
            self.spare.push(opened.bytes);
            for number in opened.damaged {
                let at = offset(self.start, number, self.chunk);
                match &self.damage {
                    Some(damage) => damage.note(number, at),
                    None => return Err(forged(number, at)),
                }
            }
        }
        Ok(())
    }

    /// Ends a file that is incomplete: returns the error, unless damage is noted.
    fn end_in(&self, error: Error) -> Result<usize, Error> {
        match &self.damage {
            Some(damage) if error.is_of_file() => damage.note_other(error),
            _ => return Err(error),
        }
        Ok(0)
    }

    fn read_some(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        loop {
            self.retire()?;
            match self.take(into) {
                Some(0) => {
                    // This is the only chunk of an empty content.
                    if let Some(opened) = self.ready.0.front_mut() {
                        opened.content.pop_front();
                    }
                }
                Some(length) => return Ok(length),
                None => {
                    let was_ended = self.ended;
                    self.advance()?;
                    if was_ended && self.ready.0.is_empty() {
                        return self.failed.take().map_or(Ok(0), |error| self.end_in(error));
                    }
                }
            }
        }
    }
}

impl<R: Read + Send> Read for ChunkStream<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.over {
            return Err(io::Error::other("read after an error"));
        }
        let read = self.read_some(into);
        self.over = read.is_err();
        read.map_err(Error::into_io)
    }
}
