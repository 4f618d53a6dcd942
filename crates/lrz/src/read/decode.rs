//! Decompression of a block: at once, or incrementally.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use packline_codec::{CodecError, Decoder, RawLzmaReader, Spec, ZpaqReader};
use packline_engine::CancelToken;
use packline_runtime::{MemoryFault, unless_cancelled};

use super::BlockInfo;
use super::bytes::Bytes;
use super::stored::Stored;
use super::unfilter::{Unfilter, Unfiltered};
use crate::Error;
use crate::format::BackEnd;

/// The contexts of LZMA if a file states none. lrzip always uses them.
const LZMA_CONTEXTS: u8 = 0x5d;
/// Minimum size of a dictionary, in bytes.
const LEAST_DICT: u64 = 4096;
/// Memory limit for the model of a zpaq block, in bytes. It is slightly larger than the largest of lrzip's three models.
const ZPAQ_MEMORY: u64 = 256 << 20;
/// Memory of a bzip2 decoder, in bytes.
const BZIP2_MEMORY: u64 = 4 << 20;
/// Minimum growth of the buffer of plain data, in bytes.
const STEP: usize = 1 << 20;
/// Upper bound for the plain bytes of one compressed byte. The maximum is 1032 for zlib and 255 for LZO.
const MAX_RATIO: u64 = 1100;
/// Memory of the buffers of an incremental decoder, in bytes.
pub(super) const PIECE_BUFFERS: u64 = 2 << 20;
const INPUT_BUFFER: usize = 256 << 10;

/// Memory of a block's decoder without input and output, in bytes.
pub(super) fn decoder_memory(bytes: &Bytes, block: &BlockInfo) -> u64 {
    match block.back_end {
        BackEnd::None | BackEnd::Lzo | BackEnd::Gzip => 64 << 10,
        BackEnd::Bzip2 => BZIP2_MEMORY,
        BackEnd::Lzma => RawLzmaReader::memory(dictionary(bytes, block)) as u64,
        BackEnd::Zpaq => ZPAQ_MEMORY,
    }
}

/// Checks that a block's data could decompress to its size, before memory is allocated for it.
pub(super) fn plausible(block: &BlockInfo) -> Result<(), Error> {
    let bounded = matches!(block.back_end, BackEnd::Gzip | BackEnd::Lzo);
    if bounded && block.plain > block.stored.saturating_mul(MAX_RATIO) {
        return Err(wrong(block, &"it has too few bytes for its plain size"));
    }
    Ok(())
}

/// Whether a block can be decompressed incrementally. LZO cannot, because its matches reach anywhere in the block. Data that is authenticated
/// only at its end cannot either.
pub(super) fn in_pieces(bytes: &Bytes, block: &BlockInfo) -> bool {
    block.back_end != BackEnd::Lzo && bytes.seal.in_pieces()
}

/// Returns the size of a block's dictionary. lrzip omits the size when it writes to a pipe, but a match never reaches out of its block.
fn dictionary(bytes: &Bytes, block: &BlockInfo) -> u32 {
    let stated = bytes.magic.lzma.map_or(0, |lzma| u64::from(lzma.dict_size));
    let needed = if stated < LEAST_DICT { block.plain } else { stated.min(block.plain) };
    u32::try_from(needed.max(LEAST_DICT)).unwrap_or(u32::MAX)
}

/// Decoders that a thread reuses for each block.
pub(super) struct Tools {
    zlib: Result<Box<dyn Decoder>, CodecError>,
    lzo: Result<Box<dyn Decoder>, CodecError>,
}

impl Tools {
    pub(super) fn new() -> Tools {
        // These decoders ignore the block size and the memory limit.
        let decoder = |name| Spec::parse(name).and_then(|spec| spec.decoder(1 << 20, 64 << 20));
        Tools { zlib: decoder("gzip"), lzo: decoder("lzo") }
    }
}

/// Decompresses a block at once.
pub(super) fn whole(
    bytes: &Bytes,
    block: &BlockInfo,
    tools: &mut Tools,
    cancel: &CancelToken,
) -> Result<Vec<u8>, Error> {
    let stored = read(bytes, block)?;
    let mut plain = match block.back_end {
        BackEnd::None => stored,
        BackEnd::Gzip => at_once(&mut tools.zlib, block, &stored)?,
        BackEnd::Lzo => at_once(&mut tools.lzo, block, &stored)?,
        BackEnd::Bzip2 | BackEnd::Lzma | BackEnd::Zpaq => {
            let mut reader = reader(bytes, block, &stored[..], ZPAQ_MEMORY)?;
            gather(block, &mut *reader, cancel)?
        }
    };
    if let Some(filter) = block.filter {
        Unfilter::new(filter).undo(&mut plain, true);
    }
    Ok(plain)
}

/// Reads a part of a block that is neither compressed nor encrypted.
pub(super) fn part(bytes: &Bytes, block: &BlockInfo, from: u64, size: usize) -> Result<Vec<u8>, Error> {
    let mut plain = empty_buffer(block, size as u64)?;
    plain.resize(size, 0);
    bytes.read(block.data + from, &mut plain)?;
    Ok(plain)
}

/// Reads and decrypts the data of a block.
fn read(bytes: &Bytes, block: &BlockInfo) -> Result<Vec<u8>, Error> {
    let mut stored = empty_buffer(block, block.size)?;
    stored.resize(block.size as usize, 0);
    bytes.read(block.data, &mut stored)?;
    bytes.seal.unseal_data(block.data, stored, block.stored as usize)
}

/// Returns an empty buffer with the capacity for `size` bytes.
fn empty_buffer(block: &BlockInfo, size: u64) -> Result<Vec<u8>, Error> {
    let mut buffer = Vec::new();
    let size = usize::try_from(size).map_err(|_| too_large(block, size))?;
    buffer.try_reserve_exact(size).map_err(|_| too_large(block, size as u64))?;
    Ok(buffer)
}

fn too_large(block: &BlockInfo, needed: u64) -> Error {
    let what = format!("the block of {} bytes at byte {}", block.plain, block.offset);
    Error::Memory(MemoryFault { allowed: needed.saturating_sub(1), needed, what })
}

fn at_once(
    decoder: &mut Result<Box<dyn Decoder>, CodecError>,
    block: &BlockInfo,
    stored: &[u8],
) -> Result<Vec<u8>, Error> {
    let decoder = decoder.as_mut().map_err(|error| Error::Codec(error.clone()))?;
    plausible(block)?;
    let mut plain = empty_buffer(block, block.plain)?;
    plain.resize(block.plain as usize, 0);
    let size = decoder.decompress(stored, &mut plain).map_err(|error| wrong(block, &error))?;
    if size as u64 == block.plain { Ok(plain) } else { Err(wrong(block, &format!("it holds {size} bytes"))) }
}

/// Reads all output of a reader, which must have the block's size. Memory grows with the data.
fn gather(block: &BlockInfo, reader: &mut dyn Read, cancel: &CancelToken) -> Result<Vec<u8>, Error> {
    let mut plain = Vec::new();
    let size = usize::try_from(block.plain).map_err(|_| too_large(block, block.plain))?;
    while plain.len() < size {
        unless_cancelled(cancel)?;
        let begin = plain.len();
        let end = (begin + begin.max(STEP)).min(size);
        plain.try_reserve_exact(end - begin).map_err(|_| too_large(block, end as u64))?;
        plain.resize(end, 0);
        fill(block, reader, &mut plain[begin..])?;
    }
    ended(block, reader)?;
    Ok(plain)
}

/// Fills `into` from a reader.
pub(super) fn fill(block: &BlockInfo, reader: &mut dyn Read, into: &mut [u8]) -> Result<(), Error> {
    reader.read_exact(into).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong(block, &"it holds fewer bytes"),
        _ => from_reader(block, error),
    })
}

/// Checks that a reader is at its end.
pub(super) fn ended(block: &BlockInfo, reader: &mut dyn Read) -> Result<(), Error> {
    match reader.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(wrong(block, &"it holds more bytes")),
        Err(error) => Err(from_reader(block, error)),
    }
}

/// Returns the error for malformed data of a block.
fn wrong(block: &BlockInfo, reason: &dyn std::fmt::Display) -> Error {
    let what = format!("a {} block of {} bytes is wrong: {reason}", block.back_end.name(), block.stored);
    Error::corrupt(block.data, what, format!("{} bytes of plain data", block.plain))
}

/// Converts an error of a reader. Its cause is the underlying file, the memory limit, or the data.
fn from_reader(block: &BlockInfo, error: io::Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    match error.get_ref().and_then(|inner| inner.downcast_ref::<CodecError>()) {
        Some(&CodecError::Memory { needed, limit, .. }) if needed <= ZPAQ_MEMORY => {
            let what = format!("the model of the block at byte {}", block.offset);
            Error::Memory(MemoryFault { allowed: limit, needed, what })
        }
        Some(error @ CodecError::OutOfMemory { .. }) => Error::Codec(error.clone()),
        _ => wrong(block, &error),
    }
}

/// Returns a reader of a block's plain data, before filters, from the decrypted bytes.
fn reader<'a, R: BufRead + Send + 'a>(
    bytes: &Bytes,
    block: &BlockInfo,
    stored: R,
    memory: u64,
) -> Result<Box<dyn Read + Send + 'a>, Error> {
    Ok(match block.back_end {
        BackEnd::None | BackEnd::Lzo => Box::new(stored),
        BackEnd::Gzip => Box::new(flate2::bufread::ZlibDecoder::new(stored)),
        BackEnd::Bzip2 => Box::new(bzip2::bufread::BzDecoder::new(stored)),
        BackEnd::Zpaq => {
            Box::new(ZpaqReader::new(stored, usize::try_from(memory.min(ZPAQ_MEMORY)).unwrap_or(usize::MAX)))
        }
        BackEnd::Lzma => {
            let stated = bytes.magic.lzma.map_or(0, |lzma| lzma.contexts);
            let contexts = if stated == 0 { LZMA_CONTEXTS } else { stated };
            let reader = RawLzmaReader::new(stored, contexts, dictionary(bytes, block), block.plain);
            Box::new(reader.map_err(|error| wrong(block, &error))?)
        }
    })
}

/// Memory of the decoder of a block that is decompressed incrementally, in bytes. The error for a limit of 0 states the size of a zpaq model.
pub(super) fn piece_memory(bytes: &Arc<Bytes>, block: &BlockInfo) -> Result<u64, Error> {
    if block.back_end != BackEnd::Zpaq {
        return Ok(decoder_memory(bytes, block));
    }
    match fill(block, &mut pieces(bytes, block, 0)?, &mut [0]) {
        Err(Error::Memory(MemoryFault { needed, .. })) => Ok(needed),
        read => read.map(|()| 0),
    }
}

/// Returns a reader that decompresses a block incrementally. zpaq takes `memory` bytes, the other decoders [`decoder_memory`].
pub(super) fn pieces(bytes: &Arc<Bytes>, block: &BlockInfo, memory: u64) -> Result<Box<dyn Read + Send>, Error> {
    let stored = BufReader::with_capacity(INPUT_BUFFER, Stored::new(bytes, block)?);
    let plain = reader(bytes, block, stored, memory)?;
    Ok(match block.filter {
        Some(filter) => Box::new(Unfiltered::new(plain, filter)),
        None => plain,
    })
}
