//! Decodes lz4 frames and the legacy format, with the block decoder of `lz4_flex`. The frame decoder of `lz4_flex` treats an
//! input that ends before a block as the end of the frame, and rejects skippable frames.
//!
//! Formats: lz4 repository, `doc/lz4_Frame_format.md` 1.6.4, "General Structure of LZ4 Frame format" and "Legacy frame".

use std::hash::Hasher;
use std::mem;

use twox_hash::XxHash32;

use super::engines::{Engine, Failure, Step, Wrong};

/// Maximum distance from a block to earlier bytes that it refers to.
const HISTORY: usize = 64 << 10;
/// Size of each decoded block of the legacy format except the last.
const LEGACY_BLOCK: usize = 8 << 20;
const LEGACY_MAGIC: u32 = 0x184c_2102;

/// The field that is being collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Magic,
    SkippableSize,
    Skippable(u32),
    Flags,
    Descriptor,
    BlockSize,
    Block { stored: bool },
    ContentSum,
    Ended,
}

/// A decoder of one frame. The frame may be skippable.
pub(super) struct Lz4 {
    expect: Expect,
    gather: Gather,
    flags: u8,
    block_max: usize,
    content_size: Option<u64>,
    decoded: u64,
    sum: XxHash32,
    output: Output,
}

/// Collects the bytes of the next field from input of any sizes.
struct Gather {
    bytes: Vec<u8>,
    wanted: usize,
}

impl Gather {
    fn new(wanted: usize) -> Self {
        Self { bytes: Vec::new(), wanted }
    }

    /// Takes bytes from `input`. Returns their number, and the field when it is complete.
    fn take(&mut self, input: &[u8]) -> (usize, Option<Vec<u8>>) {
        let count = input.len().min(self.wanted - self.bytes.len());
        self.bytes.extend_from_slice(&input[..count]);
        let whole = self.bytes.len() == self.wanted;
        (count, whole.then(|| mem::take(&mut self.bytes)))
    }
}

/// Decoded bytes that are not output yet, and the 64 KiB before them.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    given: usize,
    history: Vec<u8>,
}

impl Output {
    fn give(&mut self, output: &mut [u8]) -> usize {
        let rest = &self.bytes[self.given..];
        let count = rest.len().min(output.len());
        output[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        count
    }

    fn is_empty(&self) -> bool {
        self.given == self.bytes.len()
    }

    /// Decodes a block to at most `limit` bytes. With `linked` the block may refer to earlier blocks.
    fn decode(&mut self, block: &[u8], limit: usize, linked: bool) -> Result<(), Wrong> {
        if linked {
            self.remember();
        }
        self.given = 0;
        self.bytes.resize(limit, 0);
        let dictionary = if linked { &self.history[..] } else { &[] };
        let length = lz4_flex::block::decompress_into_with_dict(block, &mut self.bytes, dictionary)
            .map_err(|_| "corrupt block".to_owned())?;
        self.bytes.truncate(length);
        Ok(())
    }

    fn store(&mut self, block: &[u8], linked: bool) {
        if linked {
            self.remember();
        }
        self.given = 0;
        self.bytes.clear();
        self.bytes.extend_from_slice(block);
    }

    fn remember(&mut self) {
        let tail = self.bytes.len().saturating_sub(HISTORY);
        self.history.extend_from_slice(&self.bytes[tail..]);
        let excess = self.history.len().saturating_sub(HISTORY);
        self.history.drain(..excess);
    }
}

impl Engine for Lz4 {
    fn step(&mut self, input: &[u8], output: &mut [u8], _last: bool) -> Result<Step, Failure> {
        let mut consumed = 0;
        while self.output.is_empty() && self.expect != Expect::Ended {
            let (count, field) = self.gather.take(&input[consumed..]);
            consumed += count;
            let Some(field) = field else { break };
            self.advance(&field).map_err(|what| (what, consumed))?;
        }
        let produced = self.output.give(output);
        let ended = self.output.is_empty() && self.expect == Expect::Ended;
        Ok(Step { consumed, produced, ended })
    }
}

impl Lz4 {
    pub fn new() -> Self {
        Self {
            expect: Expect::Magic,
            gather: Gather::new(4),
            flags: 0,
            block_max: 0,
            content_size: None,
            decoded: 0,
            sum: XxHash32::with_seed(0),
            output: Output::default(),
        }
    }

    fn await_field(&mut self, expect: Expect, bytes: usize) {
        self.expect = expect;
        self.gather.wanted = bytes;
    }

    fn advance(&mut self, field: &[u8]) -> Result<(), Wrong> {
        match self.expect {
            Expect::Magic => self.magic(word(field))?,
            Expect::SkippableSize => self.skip(word(field)),
            Expect::Skippable(rest) => self.skip(rest),
            Expect::Flags => self.flags(field)?,
            Expect::Descriptor => self.descriptor(field)?,
            Expect::BlockSize => self.block_size(word(field))?,
            Expect::Block { stored } => self.block(field, stored)?,
            Expect::ContentSum => self.content_sum(word(field))?,
            Expect::Ended => {}
        }
        Ok(())
    }

    fn magic(&mut self, magic: u32) -> Result<(), Wrong> {
        match magic {
            0x184d_2204 => self.await_field(Expect::Flags, 2),
            0x184d_2a50..=0x184d_2a5f => self.await_field(Expect::SkippableSize, 4),
            other => return Err(format!("unknown frame magic {other:08x}")),
        }
        Ok(())
    }

    /// Skips in pieces, because a field is collected in memory.
    fn skip(&mut self, bytes: u32) {
        match bytes.min(64 << 10) {
            0 => self.expect = Expect::Ended,
            piece => self.await_field(Expect::Skippable(bytes - piece), piece as usize),
        }
    }

    fn flags(&mut self, field: &[u8]) -> Result<(), Wrong> {
        let flags = field[0];
        let block = field[1];
        if flags >> 6 != 1 || flags & 0b10 != 0 || block & 0x8f != 0 {
            return Err(format!("unsupported frame descriptor {flags:02x} {block:02x}"));
        }
        self.block_max = match block >> 4 {
            size @ 4..=7 => 1 << (8 + 2 * size),
            size => return Err(format!("unknown block size {size}")),
        };
        self.flags = flags;
        self.sum.write(field);
        let size = if self.has(0x08) { 8 } else { 0 };
        let dictionary = if self.has(0x01) { 4 } else { 0 };
        self.await_field(Expect::Descriptor, size + dictionary + 1);
        Ok(())
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn descriptor(&mut self, field: &[u8]) -> Result<(), Wrong> {
        let (body, sum) = field.split_at(field.len() - 1);
        let mut header = mem::replace(&mut self.sum, XxHash32::with_seed(0));
        header.write(body);
        if (header.finish_32() >> 8) as u8 != sum[0] {
            return Err("wrong checksum of the frame header".into());
        }
        if self.has(0x01) {
            return Err("needs a dictionary, which is not supported,".into());
        }
        self.content_size = body.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
        self.await_field(Expect::BlockSize, 4);
        Ok(())
    }

    fn block_size(&mut self, word: u32) -> Result<(), Wrong> {
        let stored = word >> 31 != 0;
        let size = (word & 0x7fff_ffff) as usize;
        if word == 0 {
            return self.end();
        }
        if size > self.block_max {
            return Err(format!("block of {size} bytes, more than the frame allows,"));
        }
        let sum = if self.has(0x10) { 4 } else { 0 };
        self.await_field(Expect::Block { stored }, size + sum);
        Ok(())
    }

    fn block(&mut self, field: &[u8], stored: bool) -> Result<(), Wrong> {
        let block = if self.has(0x10) { checked(field)? } else { field };
        let linked = !self.has(0x20);
        if stored {
            self.output.store(block, linked);
        } else {
            self.output.decode(block, self.block_max, linked)?;
        }
        self.decoded += self.output.bytes.len() as u64;
        if self.has(0x04) {
            self.sum.write(&self.output.bytes);
        }
        self.await_field(Expect::BlockSize, 4);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Wrong> {
        if self.content_size.is_some_and(|size| size != self.decoded) {
            return Err(format!("frame of {} bytes does not have the size it states", self.decoded));
        }
        if self.has(0x04) {
            self.await_field(Expect::ContentSum, 4);
        } else {
            self.expect = Expect::Ended;
        }
        Ok(())
    }

    fn content_sum(&mut self, sum: u32) -> Result<(), Wrong> {
        self.expect = Expect::Ended;
        if self.sum.finish_32() == sum { Ok(()) } else { Err("wrong checksum of the content".into()) }
    }
}

/// Checks a block against the checksum after it, and returns the block.
fn checked(field: &[u8]) -> Result<&[u8], Wrong> {
    let (block, sum) = field.split_at(field.len() - 4);
    let right = XxHash32::oneshot(0, block) == word(sum);
    if right { Ok(block) } else { Err("wrong checksum of a block".into()) }
}

fn word(field: &[u8]) -> u32 {
    field.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// A decoder of a legacy file, which ends at the end of the input.
pub(super) struct Lz4Legacy {
    /// Whether a block, and not its size, is being collected.
    in_block: bool,
    gather: Gather,
    output: Output,
}

impl Lz4Legacy {
    pub fn new() -> Self {
        Self { in_block: false, gather: Gather::new(4), output: Output::default() }
    }

    fn advance(&mut self, field: &[u8]) -> Result<(), Wrong> {
        if mem::take(&mut self.in_block) {
            self.gather.wanted = 4;
            return self.output.decode(field, LEGACY_BLOCK, false);
        }
        match word(field) {
            // The magic at the start, or of another file appended to this one.
            LEGACY_MAGIC => {}
            size if size as usize <= LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16 && size > 0 => {
                self.in_block = true;
                self.gather.wanted = size as usize;
            }
            size => return Err(format!("block of {size} bytes")),
        }
        Ok(())
    }

    fn is_between(&self) -> bool {
        !self.in_block && self.gather.bytes.is_empty()
    }
}

impl Engine for Lz4Legacy {
    fn step(&mut self, input: &[u8], output: &mut [u8], last: bool) -> Result<Step, Failure> {
        let mut consumed = 0;
        while self.output.is_empty() && consumed < input.len() {
            let (count, field) = self.gather.take(&input[consumed..]);
            consumed += count;
            let Some(field) = field else { break };
            self.advance(&field).map_err(|what| (what, consumed))?;
        }
        let produced = self.output.give(output);
        let ended = last && consumed == input.len() && self.output.is_empty() && self.is_between();
        Ok(Step { consumed, produced, ended })
    }
}
