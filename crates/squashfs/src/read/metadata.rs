//! Metadata blocks: decompressed on demand, cached within a limit, read across block boundaries.

use std::fmt;
use std::sync::Arc;

use packline_codec::{CodecError, Decoder, METADATA_BLOCK_SIZE, Spec};
use packline_runtime::{Input, Spares};
use packline_volume::ReadError;

use super::coding::Coding;
use super::metadata_cache::Cache;
use crate::format::layout::{Fields, Layout};
use crate::format::wire::{METADATA_HEADER, STORED};

/// Memory limit of a decoder: more than any sound image needs, and far less than a hostile image could demand.
pub(super) const DECODER_MEMORY: usize = 64 << 20;
/// Shortest possible block, bytes: a header and a byte.
const SHORTEST: u64 = METADATA_HEADER as u64 + 1;

/// A position in a table of metadata blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetaPlace {
    /// Position of the block's header, bytes from the start of the image.
    pub(crate) block: u64,
    /// Offset in the decompressed block.
    pub(crate) offset: u16,
}

/// The range of a table of metadata blocks. Every block of the table must be within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    /// Name in messages.
    pub(crate) name: &'static str,
    /// First byte.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Area {
    /// Returns the position of a reference: start of a block from the start of the table << 16, and offset in the block.
    pub(crate) fn place(&self, reference: u64) -> MetaPlace {
        MetaPlace { block: self.start.saturating_add(reference >> 16), offset: reference as u16 }
    }

    /// Returns the maximum number of bytes from the block at `block` on, however well they are compressed.
    pub(crate) fn space(&self, block: u64) -> u64 {
        (self.end.saturating_sub(block) / SHORTEST).saturating_mul(METADATA_BLOCK_SIZE as u64)
    }
}

/// A decompressed block.
pub(crate) struct MetaBlock {
    /// 1 to 8192 bytes.
    pub(crate) bytes: Vec<u8>,
    /// Position of the next block's header, bytes from the start of the image.
    pub(crate) next: u64,
}

/// Decoder and buffers, which one thread at a time uses.
struct Tool {
    decoder: Box<dyn Decoder>,
    /// A block as it is stored, header included.
    raw: Vec<u8>,
}

/// Reads an image's bytes, and its metadata blocks through a cache. Used by all threads.
pub(crate) struct Store {
    input: Arc<dyn Input>,
    origin: u64,
    layout: Layout,
    coding: Coding,
    cache: Cache,
    tools: Spares<Tool>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("origin", &self.origin).field("codec", &self.coding.spec).finish_non_exhaustive()
    }
}

impl Store {
    /// `origin`: start of the image in `input`; `cache`: bytes of metadata to cache.
    pub(super) fn new(input: Arc<dyn Input>, origin: u64, layout: Layout, coding: Coding, cache: usize) -> Store {
        Store { input, origin, layout, coding, cache: Cache::new(cache), tools: Spares::default() }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the byte of the input at which the image starts.
    pub(super) fn origin(&self) -> u64 {
        self.origin
    }

    /// Returns the bytes of the input from the image's first byte on.
    pub(crate) fn size(&self) -> u64 {
        self.input.size().saturating_sub(self.origin)
    }

    pub(super) fn codec(&self) -> &Spec {
        &self.coding.spec
    }

    pub(super) fn coding(&self) -> &Coding {
        &self.coding
    }

    /// Fills `buffer` from byte `offset` of the image.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let place = self.origin.saturating_add(offset);
        self.input.read_at(place, buffer).map_err(|cause| ReadError::input(offset, cause))
    }

    /// Tells the input that bytes of the image are read soon.
    pub(super) fn will_read(&self, offset: u64, length: u64) {
        self.input.will_read(self.origin.saturating_add(offset), length);
    }

    /// Returns the block whose header is at `offset`.
    pub(crate) fn block(&self, area: &Area, offset: u64) -> Result<Arc<MetaBlock>, ReadError> {
        if offset < area.start || offset.saturating_add(SHORTEST) > area.end {
            let what = format!("{}: a metadata block is wanted", area.name);
            return Err(ReadError::corrupt(offset, what, format!("one in bytes {} to {}", area.start, area.end)));
        }
        if let Some(block) = self.cache.get(offset) {
            return Ok(block);
        }
        let block = Arc::new(self.load(area, offset)?);
        self.cache.put(offset, &block);
        Ok(block)
    }

    fn load(&self, area: &Area, offset: u64) -> Result<MetaBlock, ReadError> {
        let mut tool = self.tool()?;
        let loaded = self.load_with(&mut tool, area, offset);
        self.tools.give(tool);
        loaded
    }

    fn load_with(&self, tool: &mut Tool, area: &Area, offset: u64) -> Result<MetaBlock, ReadError> {
        let header_bytes = self.layout.header_bytes();
        let longest = header_bytes + METADATA_BLOCK_SIZE as u64;
        tool.raw.resize((area.end - offset).min(longest) as usize, 0);
        self.read(offset, &mut tool.raw)?;
        let header = self.layout.header_order.half([tool.raw[0], tool.raw[1]]);
        let length = usize::from(header & !STORED);
        let space = tool.raw.get(header_bytes as usize..).unwrap_or_default();
        let payload = space.get(..length).filter(|payload| !payload.is_empty());
        let payload = payload.ok_or_else(|| bad_header(area, offset, length, space.len()))?;
        let bytes = match header & STORED {
            0 => decompress(tool.decoder.as_mut(), payload).map_err(|cause| bad_block(area, offset, &cause))?,
            _ => payload.to_vec(),
        };
        if bytes.is_empty() {
            let what = format!("{}: a metadata block of no bytes", area.name);
            return Err(ReadError::corrupt(offset, what, "1 to 8192"));
        }
        Ok(MetaBlock { bytes, next: offset + header_bytes + length as u64 })
    }

    fn tool(&self) -> Result<Tool, ReadError> {
        if let Some(tool) = self.tools.take() {
            return Ok(tool);
        }
        let decoder = self.coding.decoder(METADATA_BLOCK_SIZE, DECODER_MEMORY);
        let decoder = decoder.map_err(|cause| ReadError::unsupported(cause.to_string(), "memory for a decoder"))?;
        Ok(Tool { decoder, raw: Vec::new() })
    }
}

fn decompress(decoder: &mut dyn Decoder, payload: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut bytes = vec![0; METADATA_BLOCK_SIZE];
    let length = decoder.decompress(payload, &mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn bad_header(area: &Area, offset: u64, length: usize, space: usize) -> ReadError {
    let what = format!("{}: the header of a metadata block says {length} bytes", area.name);
    ReadError::corrupt(offset, what, format!("1 to {space}"))
}

fn bad_block(area: &Area, offset: u64, cause: &CodecError) -> ReadError {
    let what = format!("{}: a metadata block does not decompress: {cause}", area.name);
    ReadError::corrupt(offset, what, "")
}

/// Reads a table from a position on, across blocks. Holds the current block, so that further reads take no lock. A clone continues from the
/// original's position. A block in the middle may be short, as the kernel allows, but every block must be within the table's area.
#[derive(Clone)]
pub(crate) struct Cursor {
    store: Arc<Store>,
    area: Area,
    /// Header of the current block.
    block: u64,
    /// Offset in the decompressed block.
    offset: usize,
    held: Option<Arc<MetaBlock>>,
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("area", &self.area).field("place", &self.place()).finish_non_exhaustive()
    }
}

impl Cursor {
    /// Returns a cursor at `place`; nothing is read yet.
    pub(crate) fn new(store: &Arc<Store>, area: Area, place: MetaPlace) -> Cursor {
        Cursor { store: Arc::clone(store), area, block: place.block, offset: usize::from(place.offset), held: None }
    }

    pub(crate) fn area(&self) -> &Area {
        &self.area
    }

    /// Seeks to another position of the table.
    pub(crate) fn seek(&mut self, place: MetaPlace) {
        let offset = usize::from(place.offset);
        if place.block != self.block || self.held.as_ref().is_some_and(|held| offset >= held.bytes.len()) {
            self.held = None;
        }
        self.block = place.block;
        self.offset = offset;
    }

    /// Returns the position of the next byte.
    pub(crate) fn place(&self) -> MetaPlace {
        match &self.held {
            Some(held) if self.offset == held.bytes.len() => MetaPlace { block: held.next, offset: 0 },
            _ => MetaPlace { block: self.block, offset: self.offset as u16 },
        }
    }

    /// Releases the current block, which is looked up again when it is needed.
    pub(crate) fn release(&mut self) {
        let place = self.place();
        self.held = None;
        self.block = place.block;
        self.offset = usize::from(place.offset);
    }

    /// Returns the maximum number of bytes that can still follow.
    pub(crate) fn space(&self) -> u64 {
        self.area.space(self.block)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut out = [0; N];
        self.read_exact(&mut out)?;
        Ok(out)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.store.layout
    }

    /// Reads a structure of `N` bytes.
    pub(crate) fn fields<const N: usize>(&mut self) -> Result<Fields<N>, ReadError> {
        let order = self.layout().order;
        self.array().map(|bytes| Fields::new(bytes, order))
    }

    /// Reads a number of two bytes.
    pub(crate) fn read_u16(&mut self) -> Result<u16, ReadError> {
        let order = self.layout().order;
        self.array().map(|bytes| order.half(bytes))
    }

    /// Reads a number of four bytes, such as a size word.
    pub(crate) fn read_u32(&mut self) -> Result<u32, ReadError> {
        let order = self.layout().order;
        self.array().map(|bytes| order.word(bytes))
    }

    /// Reads a number of eight bytes.
    pub(crate) fn read_u64(&mut self) -> Result<u64, ReadError> {
        let order = self.layout().order;
        self.array().map(|bytes| order.long(bytes))
    }

    #[inline]
    pub(crate) fn read_exact(&mut self, out: &mut [u8]) -> Result<(), ReadError> {
        if let Some(held) = &self.held
            && let Some(bytes) = held.bytes.get(self.offset..self.offset + out.len())
        {
            out.copy_from_slice(bytes);
            self.offset += out.len();
            return Ok(());
        }
        self.read_across(out)
    }

    fn read_across(&mut self, mut out: &mut [u8]) -> Result<(), ReadError> {
        while !out.is_empty() {
            let rest = self.rest()?;
            let length = rest.len().min(out.len());
            let (now, later) = out.split_at_mut(length);
            now.copy_from_slice(&rest[..length]);
            self.offset += length;
            out = later;
        }
        Ok(())
    }

    /// Appends `length` bytes to `out`, which grows only as bytes are read.
    pub(crate) fn read_to(&mut self, length: u64, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut left = length;
        while left > 0 {
            let rest = self.rest()?;
            let now = left.min(rest.len() as u64) as usize;
            out.extend_from_slice(&rest[..now]);
            self.offset += now;
            left -= now as u64;
        }
        Ok(())
    }

    pub(crate) fn skip(&mut self, length: u64) -> Result<(), ReadError> {
        let mut left = length;
        while left > 0 {
            let now = left.min(self.rest()?.len() as u64);
            self.offset += now as usize;
            left -= now;
        }
        Ok(())
    }

    /// Returns the rest of the current block, or the next block if the rest is empty.
    fn rest(&mut self) -> Result<&[u8], ReadError> {
        self.advance()?;
        Ok(self.held.as_ref().map_or(&[], |held| &held.bytes[self.offset..]))
    }

    /// Loads the block that contains the current offset.
    fn advance(&mut self) -> Result<(), ReadError> {
        if let Some(held) = &self.held {
            if self.offset < held.bytes.len() {
                return Ok(());
            }
            self.block = held.next;
            self.offset = 0;
            self.held = None;
        }
        let held = self.store.block(&self.area, self.block)?;
        if self.offset >= held.bytes.len() {
            let what = format!("{}: offset {} in a metadata block", self.area.name, self.offset);
            return Err(ReadError::corrupt(self.block, what, format!("less than its length, {}", held.bytes.len())));
        }
        self.held = Some(held);
        Ok(())
    }
}
