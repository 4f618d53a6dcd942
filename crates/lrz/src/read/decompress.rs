//! Decompression of a file: chunk by chunk, opcode by opcode.

use std::sync::Arc;

use packline_runtime::hex;

use super::ahead::Ahead;
use super::bytes::Bytes;
use super::plain::Plain;
use super::plan::Plan;
use super::stream::Stream;
use super::sums::Summing;
use super::{ChunkInfo, ReadOptions, Unpacked};
use crate::format::{Dialect, OpcodeForm};
use crate::{Error, Observer, Resources, Sink};

/// Bytes of the longest opcode, which is one of version 0.4.
const LONGEST_OPCODE: usize = 17;

pub(super) fn decompress(
    bytes: &Arc<Bytes>,
    target: &mut dyn Sink,
    options: &ReadOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Unpacked, Error> {
    let stored_md5 = bytes.digest()?;
    let plan = Plan::new(resources)?;
    let summing = Summing::new(options.md5 || stored_md5.is_some(), resources.workers > 0);
    let mut ahead = Ahead::new(bytes, &plan, resources)?;
    let mut plain = Plain::new(target, observer, summing, bytes.magic.size, &plan, resources);
    let mut chunks = 0;
    while let Some(chunk) = ahead.next_chunk()? {
        plain.begin(&chunk)?;
        let streams = [0, 1].map(|index| Stream::new(index, bytes, &plan));
        let form = OpcodeForm::new(bytes.magic.dialect, chunk.width);
        Assembly { bytes, chunk: &chunk, form, ahead: &mut ahead, plain: &mut plain, streams }.run()?;
        chunks += 1;
    }
    let written = plain.written();
    let md5 = plain.finish()?;
    check_size(bytes, written)?;
    check_md5(bytes, md5, stored_md5)?;
    Ok(Unpacked { plain: written, md5, stored_md5, chunks })
}

fn check_size(bytes: &Bytes, found: u64) -> Result<(), Error> {
    match bytes.magic.size {
        Some(stated) if stated != found => {
            Err(Error::corrupt(6, format!("{found} bytes of plain data"), format!("{stated}, as the file states")))
        }
        _ => Ok(()),
    }
}

fn check_md5(bytes: &Bytes, found: Option<[u8; 16]>, stated: Option<[u8; 16]>) -> Result<(), Error> {
    match (found, stated) {
        (Some(found), Some(stated)) if found != stated => {
            let what = format!("plain data whose MD5 is {}", hex(&found));
            Err(Error::corrupt(bytes.end, what, format!("{}, as the file states", hex(&stated))))
        }
        _ => Ok(()),
    }
}

/// Reconstructs a chunk from its opcodes and literals.
struct Assembly<'a, 't> {
    bytes: &'a Bytes,
    chunk: &'a ChunkInfo,
    form: OpcodeForm,
    ahead: &'a mut Ahead,
    plain: &'a mut Plain<'t>,
    /// The streams of opcodes and of literals.
    streams: [Stream; 2],
}

/// The length of an opcode, and the distance of a match. A literal of length 0 is the end.
type Step = (u64, Option<u64>);

impl Assembly<'_, '_> {
    fn run(mut self) -> Result<(), Error> {
        loop {
            match self.step()? {
                (0, None) => break,
                (length, None) => self.literals(length)?,
                (length, Some(distance)) => self.repeat(length, distance)?,
            }
        }
        let crc = self.crc()?;
        self.check_used()?;
        self.plain.end(crc)
    }

    /// Returns the next opcode.
    #[inline]
    fn step(&mut self) -> Result<Step, Error> {
        let ready = self.streams[0].ready();
        if ready.len() < LONGEST_OPCODE {
            return self.step_across();
        }
        let (length, is_match) = self.form.decode_head(ready);
        let head = self.form.head();
        if !is_match {
            self.streams[0].advance(head);
            return Ok((length, None));
        }
        let distance = self.form.decode_tail(&ready[head..]);
        self.streams[0].advance(head + self.form.tail());
        Ok((length, Some(distance)))
    }

    /// Returns the next opcode, which may cross blocks.
    #[cold]
    fn step_across(&mut self) -> Result<Step, Error> {
        let mut bytes = [0; LONGEST_OPCODE];
        let head = self.form.head();
        self.take(&mut bytes[..head])?;
        let (length, is_match) = self.form.decode_head(&bytes);
        if !is_match {
            return Ok((length, None));
        }
        let tail = self.form.tail();
        self.take(&mut bytes[..tail])?;
        Ok((length, Some(self.form.decode_tail(&bytes))))
    }

    /// Fills `into` with the next bytes of stream 0.
    fn take(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let mut filled = 0;
        while filled < into.len() {
            if !self.streams[0].fill(self.ahead, self.plain)? {
                return Err(self.wrong("stream 0 ends", "an opcode"));
            }
            let ready = self.streams[0].ready();
            let size = ready.len().min(into.len() - filled);
            into[filled..filled + size].copy_from_slice(&ready[..size]);
            self.streams[0].advance(size);
            filled += size;
        }
        Ok(())
    }

    fn literals(&mut self, mut length: u64) -> Result<(), Error> {
        while length > 0 {
            if !self.streams[1].fill(self.ahead, self.plain)? {
                return Err(self.wrong("stream 1 ends", format!("{length} more literals")));
            }
            let ready = self.streams[1].ready();
            let size = usize::try_from(length).unwrap_or(usize::MAX).min(ready.len());
            self.plain.literals(&ready[..size])?;
            self.streams[1].advance(size);
            length -= size as u64;
        }
        Ok(())
    }

    fn repeat(&mut self, length: u64, distance: u64) -> Result<(), Error> {
        if distance == 0 || distance > self.plain.position() {
            let what = format!("a match that reaches {distance} bytes back");
            return Err(self.wrong(&what, format!("1 to {}, within the chunk", self.plain.position())));
        }
        if length == 0 {
            return Err(self.wrong("a match of 0 bytes", "at least 1"));
        }
        self.plain.repeat(distance, length)
    }

    /// Reads the CRC after the last opcode. Version 0.7 has no CRC.
    fn crc(&mut self) -> Result<Option<u32>, Error> {
        let dialect = self.bytes.magic.dialect;
        let may_lack = dialect == Dialect::V7 || self.bytes.magic.md5;
        if may_lack && !self.streams[0].fill(self.ahead, self.plain)? {
            return Ok(None);
        }
        let mut crc = [0; 4];
        self.take(&mut crc)?;
        Ok(Some(u32::from_le_bytes(crc)))
    }

    /// Checks that both streams are at their ends.
    fn check_used(&mut self) -> Result<(), Error> {
        for index in 0..2 {
            if self.streams[index].fill(self.ahead, self.plain)? {
                return Err(self.wrong(&format!("unused bytes in stream {index}"), "none"));
            }
        }
        Ok(())
    }

    fn wrong(&self, what: &str, expected: impl Into<String>) -> Error {
        let at = self.plain.position();
        let what = format!("{what}, after {at} bytes of plain data of the chunk that begins");
        Error::corrupt(self.chunk.offset, what, expected)
    }
}
