//! How blocks are compressed. Images of vendors do not say it: versions before 4.0 have no number for LZMA, and there are several forms of LZMA.

use packline_codec::{CodecError, Decoder, LzmaParams, METADATA_BLOCK_SIZE, Spec, WrappedLzma};
use packline_volume::{ReadAt, ReadError};

use super::metadata::DECODER_MEMORY;
use crate::format::layout::{ByteOrder, Layout};
use crate::format::superblock::Superblock;
use crate::format::wire::STORED;

/// Maximum number of metadata blocks that are tried for the order of their headers.
const HEADERS_MOST: usize = 1 << 10;

/// The codec of an image, and the form of its blocks.
#[derive(Debug, Clone)]
pub(crate) struct Coding {
    /// The codec with its parameters.
    pub(crate) spec: Spec,
    /// The form of LZMA, if it is not that of the codec.
    wrapped: Option<WrappedLzma>,
    /// Whether the superblock states the codec, and the blocks have its usual form.
    pub(crate) is_standard: bool,
}

impl Coding {
    /// Finds out how the metadata of an image is compressed whose superblock states `spec`. LZMA can have another form, and gzip can be LZMA in
    /// an image that is not of the current layout.
    pub(super) fn of_image(
        spec: Spec,
        superblock: &Superblock,
        layout: &Layout,
        read: ReadAt<'_>,
    ) -> Result<Coding, ReadError> {
        let is_gzip = matches!(spec, Spec::Gzip(_));
        let stated = Coding { spec, wrapped: None, is_standard: true };
        if is_gzip && layout.is_current() || !is_gzip && !matches!(stated.spec, Spec::Lzma(_)) {
            return Ok(stated);
        }
        let Superblock { inode_table, directory_table, bytes_used, .. } = *superblock;
        for (start, end) in [(inode_table, directory_table), (directory_table, bytes_used)] {
            let Some(mut block) = first_block(start, end, layout, read)? else { continue };
            // The end of the directory table is not known yet.
            block.is_full &= start == inode_table;
            let is_stated = if is_gzip { is_zlib(&block.payload) } else { block.is_decoded_by(&stated) };
            return Ok(if is_stated { stated } else { block.detected().unwrap_or(stated) });
        }
        Ok(stated)
    }

    /// Whether the decoded length of a block is known.
    pub(super) fn has_exact_blocks(&self) -> bool {
        self.wrapped.is_none()
    }

    /// A decoder for blocks of up to `block_size` bytes that uses at most `limit` bytes of memory.
    ///
    /// # Errors
    /// Errors of [`Spec::decoder`].
    pub(super) fn decoder(&self, block_size: usize, limit: usize) -> Result<Box<dyn Decoder>, CodecError> {
        self.wrapped.map_or_else(|| self.spec.decoder(block_size, limit), |form| Ok(form.decoder()))
    }
}

/// Returns the byte order of the headers of metadata blocks: that in which the blocks of the inode table end where the directory table starts.
pub(super) fn header_order(superblock: &Superblock, layout: &Layout, read: ReadAt<'_>) -> Result<ByteOrder, ReadError> {
    if layout.is_old() || layout.order == ByteOrder::Little {
        return Ok(layout.order);
    }
    let Superblock { inode_table, directory_table, .. } = *superblock;
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut at = inode_table;
        for _ in 0..HEADERS_MOST {
            let mut header = [0; 2];
            if at.saturating_add(2) < directory_table {
                read(at, &mut header)?;
            }
            let length = order.half(header) & !STORED;
            if length == 0 || usize::from(length) > METADATA_BLOCK_SIZE {
                break;
            }
            at += 2 + u64::from(length);
            if at == directory_table {
                return Ok(order);
            }
        }
    }
    Ok(layout.order)
}

/// The first metadata block of a table, if it is compressed.
struct FirstBlock {
    payload: Vec<u8>,
    /// Whether another block follows, so that this one is full.
    is_full: bool,
}

/// Returns `None` if the block is stored, or is not within the table.
fn first_block(start: u64, end: u64, layout: &Layout, read: ReadAt<'_>) -> Result<Option<FirstBlock>, ReadError> {
    let payload_start = start.saturating_add(layout.header_bytes());
    let mut header = [0; 2];
    if payload_start >= end {
        return Ok(None);
    }
    read(start, &mut header)?;
    let header = layout.header_order.half(header);
    let payload_end = payload_start.saturating_add(header.into());
    // The header of a stored block is larger, too.
    if header == 0 || usize::from(header) > METADATA_BLOCK_SIZE || payload_end > end {
        return Ok(None);
    }
    let mut payload = vec![0; header.into()];
    read(payload_start, &mut payload)?;
    Ok(Some(FirstBlock { payload, is_full: payload_end < end }))
}

impl FirstBlock {
    fn is_sound(&self, content: &[u8]) -> bool {
        !content.is_empty() && (!self.is_full || content.len() == METADATA_BLOCK_SIZE)
    }

    fn is_decoded_by(&self, coding: &Coding) -> bool {
        let mut content = [0; METADATA_BLOCK_SIZE];
        let decoder = coding.decoder(METADATA_BLOCK_SIZE, DECODER_MEMORY);
        let decoded = decoder.and_then(|mut decoder| decoder.decompress(&self.payload, &mut content));
        decoded.is_ok_and(|length| self.is_sound(&content[..length]))
    }

    /// Returns the first form of LZMA that decodes the block.
    fn detected(&self) -> Option<Coding> {
        let lzma = Coding { spec: Spec::Lzma(LzmaParams::default()), wrapped: None, is_standard: false };
        if self.is_decoded_by(&lzma) {
            return Some(lzma);
        }
        let form = WrappedLzma::of_block(&self.payload, METADATA_BLOCK_SIZE, |content| self.is_sound(content))?;
        Some(Coding { wrapped: Some(form), ..lzma })
    }
}

/// Whether a block has the header of zlib: the method deflate, a window of up to 32 KiB, and a check of both bytes.
fn is_zlib(block: &[u8]) -> bool {
    match *block {
        [method, flags, ..] => {
            method & 0xf == 8 && method >> 4 < 8 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        }
        _ => false,
    }
}
