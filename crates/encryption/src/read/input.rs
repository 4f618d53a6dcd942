//! The content of a sealed file at any offset. Only chunks that are touched are opened.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use packline_runtime::{Input, InputChange};

use super::OpenedHead;
use super::opened::{cut, extended, forged, impossible, malformed_padding, offset};
use crate::Error;
use crate::cipher::parse_header;
use crate::format::padding::{self, content_of};
use crate::format::{CHUNK_OVERHEAD, HEADER};

/// Bytes of content that are kept from partly read chunks, because the next read often takes the rest.
pub(crate) const RECENT: usize = 1 << 20;

/// The content of a sealed file. Several threads may read it at once; each opens the chunks that it reads.
pub struct PlainInput {
    head: OpenedHead,
    file: Arc<dyn Input>,
    /// The number of the last chunk.
    last: u64,
    /// Bytes of content.
    size: u64,
    /// Bytes of content and padding.
    sealed: u64,
    recent: Mutex<VecDeque<(u64, Arc<[u8]>)>>,
    opened: AtomicU64,
}

impl fmt::Debug for PlainInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainInput").field("head", &self.head).field("size", &self.size).finish_non_exhaustive()
    }
}

impl PlainInput {
    pub(super) fn new(mut head: OpenedHead, file: Arc<dyn Input>) -> Result<PlainInput, Error> {
        let stride = head.chunk.stride() as u64;
        let after_head = file.size().checked_sub(head.start).and_then(|sealed| sealed.checked_sub(CHUNK_OVERHEAD));
        let sealed = after_head.ok_or_else(|| cut(0, head.start))?;
        // A rest that is too short for a chunk belongs to the previous one.
        let last = sealed / stride;
        let rest = sealed % stride + CHUNK_OVERHEAD;
        let at = offset(head.start, last, head.chunk);
        let mut header = [0; HEADER];
        file.read_at(at, &mut header).map_err(Error::Input)?;
        let (length, is_last) = parse_header(header, last, head.chunk).ok_or_else(|| impossible(last, at))?;
        match (length as u64 + CHUNK_OVERHEAD).cmp(&rest) {
            _ if !is_last => return Err(cut(last + 1, at + stride.min(rest))),
            std::cmp::Ordering::Greater => return Err(cut(last, at)),
            std::cmp::Ordering::Less => return Err(extended(last, at + length as u64 + CHUNK_OVERHEAD)),
            std::cmp::Ordering::Equal => {}
        }
        let size = last * head.chunk.bytes() as u64 + length as u64;
        // Damage is not noted here: without the end of the file its size is unknown.
        let damage = head.damage.take();
        let recent = Mutex::default();
        let opened = AtomicU64::new(0);
        let mut input = PlainInput { head, file, last, size, sealed: size, recent, opened };
        input.chunk(last)?;
        if input.head.padded {
            input.size = input.without_padding()?;
        }
        input.head.damage = damage;
        Ok(input)
    }

    /// Bytes of content of a padded file, by the length at its end.
    fn without_padding(&self) -> Result<u64, Error> {
        let mut length = [0; padding::LENGTH];
        let malformed = || malformed_padding(self.head.start);
        let at = self.sealed.checked_sub(length.len() as u64).ok_or_else(malformed)?;
        self.read(at, &mut length)?;
        content_of(self.sealed, length).ok_or_else(malformed)
    }

    /// Checks the padding, which no read of the content touches.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the padding is malformed or damaged; [`Error::Input`].
    pub fn check_padding(&self) -> Result<(), Error> {
        let end = if self.head.padded { self.sealed - padding::LENGTH as u64 } else { self.size };
        let mut at = self.size;
        let mut zeros = vec![0; self.head.chunk.bytes()];
        while at < end {
            let now = (end - at).min((zeros.len() as u64) - at % zeros.len() as u64) as usize;
            self.read(at, &mut zeros[..now])?;
            if zeros[..now].iter().any(|&byte| byte != 0) {
                return Err(malformed_padding(self.head.start));
            }
            at += now as u64;
        }
        Ok(())
    }

    /// Notes each damaged chunk of the file and malformed padding, if the head notes damage. Call it after all of the content was read.
    ///
    /// # Errors
    /// [`Error::Input`] if the file cannot be read.
    pub fn note_damage(&self) -> Result<(), Error> {
        let Some(damage) = &self.head.damage else { return Ok(()) };
        match self.check_padding() {
            Err(error) if error.is_of_file() => damage.note_other(error),
            checked => checked?,
        }
        let mut sealed = Vec::new();
        for number in (0..=self.last).take_while(|_| damage.is_seen()) {
            sealed.resize(self.length(number) + CHUNK_OVERHEAD as usize, 0);
            match self.open(number, &mut sealed) {
                Err(error) if error.is_of_file() => {
                    damage.note(number, offset(self.head.start, number, self.head.chunk));
                }
                opened => opened?,
            }
        }
        Ok(())
    }

    /// Number of chunks opened so far, for tests and statistics.
    pub fn chunks_opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Bytes of content and padding of a chunk.
    fn length(&self, number: u64) -> usize {
        let bytes = self.head.chunk.bytes() as u64;
        bytes.min(self.sealed - number * bytes) as usize
    }

    /// Reads and opens a chunk into `into`, which is as long as the sealed chunk. The content is then after the header.
    fn open(&self, number: u64, into: &mut [u8]) -> Result<(), Error> {
        let at = offset(self.head.start, number, self.head.chunk);
        self.file.read_at(at, into).map_err(Error::Input)?;
        self.opened.fetch_add(1, Ordering::Relaxed);
        // The header is authenticated too, but a valid one with another length cannot be the one written here.
        let header = into.first_chunk().copied().and_then(|header| parse_header(header, number, self.head.chunk));
        let is_last = number == self.last;
        if header != Some((self.length(number), is_last)) {
            return Err(forged(number, at));
        }
        self.head.key.open(number, is_last, into).map(drop).ok_or_else(|| forged(number, at))
    }

    /// The content of a chunk, from the recent chunks or opened.
    fn chunk(&self, number: u64) -> Result<Arc<[u8]>, Error> {
        let lock = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = lock().iter().find(|(known, _)| *known == number) {
            return Ok(found.clone());
        }
        let mut sealed = vec![0; self.length(number) + CHUNK_OVERHEAD as usize];
        self.open(number, &mut sealed)?;
        let content: Arc<[u8]> = sealed[HEADER..HEADER + self.length(number)].into();
        let mut recent = lock();
        recent.push_back((number, content.clone()));
        if recent.len() > (RECENT / self.head.chunk.bytes()).max(2) {
            recent.pop_front();
        }
        Ok(content)
    }

    fn read(&self, mut at: u64, mut into: &mut [u8]) -> Result<(), Error> {
        let bytes = self.head.chunk.bytes() as u64;
        let mut whole = Vec::new();
        while !into.is_empty() {
            let number = at / bytes;
            let within = (at % bytes) as usize;
            let length = (self.length(number) - within).min(into.len());
            let (now, rest) = std::mem::take(&mut into).split_at_mut(length);
            match (self.part(number, within, now, &mut whole), &self.head.damage) {
                (Err(error), Some(damage)) if error.is_of_file() => {
                    damage.see();
                    now.fill(0);
                }
                (read, _) => read?,
            }
            at += length as u64;
            into = rest;
        }
        Ok(())
    }

    /// Reads a part of a chunk. `whole` is a buffer for one sealed chunk.
    fn part(&self, number: u64, within: usize, into: &mut [u8], whole: &mut Vec<u8>) -> Result<(), Error> {
        if into.len() < self.head.chunk.bytes() {
            into.copy_from_slice(&self.chunk(number)?[within..within + into.len()]);
            return Ok(());
        }
        whole.resize(into.len() + CHUNK_OVERHEAD as usize, 0);
        self.open(number, whole)?;
        into.copy_from_slice(&whole[HEADER..HEADER + into.len()]);
        Ok(())
    }
}

impl Input for PlainInput {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        if at.checked_add(buffer.len() as u64).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read(at, buffer).map_err(Error::into_io)
    }

    fn change(&self) -> io::Result<InputChange> {
        self.file.change()
    }
}
