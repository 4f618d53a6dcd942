//! The record after the metadata, for later images that reuse blocks of this one.

use packline_blocks::{DataLayout, Error};

use super::coder::encoder_form;
use super::output::Output;
use crate::format::record::{LENGTHS_MOST, Record, start_of_hash};
use crate::options::{BLOCK, Form, Options};

/// Facts about the data area.
pub(super) struct DataFacts {
    /// Offset of the end.
    pub(super) end: u64,
    /// CRC-32 of all bytes.
    pub(super) checksum: u32,
    /// Whether the encoder tried to compress each block.
    pub(super) all_tried: bool,
}

/// A record, and the lengths before it.
pub(crate) struct EndRecord {
    record: Record,
    lengths: Vec<u8>,
}

impl EndRecord {
    /// Returns the record of an image. `None` if nothing is compressed, or the packed inode is too large.
    pub(super) fn new(options: &Options, layout: &DataLayout, data: &DataFacts) -> Option<EndRecord> {
        options.bare_codec()?;
        let lengths = match options.form() {
            // Other blocks are extents.
            Form::Clusters => layout.fragments.iter().flat_map(|fragment| fragment.length.to_le_bytes()).collect(),
            Form::Flat | Form::Extents => Vec::new(),
        };
        let count = if lengths.is_empty() { 0 } else { layout.fragments.len() };
        let record = Record {
            data: data.checksum,
            data_end: data.end,
            all_tried: data.all_tried,
            encoder: start_of_hash(&encoder_form(options).hash.into()),
            lengths: (u32::try_from(count).ok()?, crc32fast::hash(&lengths)),
        };
        (count <= LENGTHS_MOST).then_some(EndRecord { record, lengths })
    }

    /// Appends the record so that it ends with a block.
    pub(super) fn put(&self, out: &mut Output<'_>) -> Result<(), Error> {
        let record = self.record.encode();
        let bytes = (self.lengths.len() + record.len()) as u64;
        out.fill((out.position() + bytes).next_multiple_of(BLOCK) - bytes)?;
        out.put(&self.lengths)?;
        out.put(&record)
    }
}
