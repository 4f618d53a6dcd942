//! The record after the metadata, for later images that reuse blocks of this one.

use packline_blocks::{DataLayout, Error};

use super::coder::encoder_form;
use super::output::Output;
use crate::format::record::{LENGTHS_MOST, RECORD_BYTES, Record, start_of_hash};
use crate::format::recorded_options::RecordedOptions;
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

/// A record, and the lengths and the text before it.
pub(crate) struct EndRecord {
    record: Record,
    tail: Vec<u8>,
}

impl EndRecord {
    /// Returns the record of an image. `None` if nothing is compressed, or the packed inode is too large.
    pub(super) fn new(options: &Options, layout: &DataLayout, data: &DataFacts) -> Option<EndRecord> {
        options.bare_codec()?;
        let mut tail: Vec<u8> = match options.form() {
            // Other blocks are extents.
            Form::Clusters => layout.fragments.iter().flat_map(|fragment| fragment.length.to_le_bytes()).collect(),
            Form::Flat | Form::Extents => Vec::new(),
        };
        let count = if tail.is_empty() { 0 } else { layout.fragments.len() };
        let text = RecordedOptions::of(options).to_string();
        // The parameters of every codec fit. Options that do not fit are left out.
        let text_bytes = u8::try_from(text.len()).unwrap_or(0);
        tail.extend_from_slice(&text.as_bytes()[..text_bytes.into()]);
        let record = Record {
            checksum: data.checksum,
            has_metadata: true,
            data_end: data.end,
            all_tried: data.all_tried,
            encoder: start_of_hash(&encoder_form(options).hash.into()),
            lengths: u32::try_from(count).ok()?,
            text_bytes,
            tail_sum: crc32fast::hash(&tail),
        };
        (count <= LENGTHS_MOST).then_some(EndRecord { record, tail })
    }

    /// Adds bytes that follow the data area.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let mut checksum = crc32fast::Hasher::new_with_initial(self.record.checksum);
        checksum.update(bytes);
        self.record.checksum = checksum.finalize();
    }

    /// Returns the CRC-32 of all bytes so far.
    pub(super) fn checksum(&self) -> u32 {
        self.record.checksum
    }

    /// Appends the record so that it ends with a block.
    pub(super) fn put(&self, out: &mut Output<'_>) -> Result<(), Error> {
        let bytes = (self.tail.len() + RECORD_BYTES) as u64;
        out.fill((out.position() + bytes).next_multiple_of(BLOCK) - bytes)?;
        let record = Record { checksum: out.checksum(), ..self.record }.encode();
        out.put(&self.tail)?;
        out.put(&record)
    }
}
