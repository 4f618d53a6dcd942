//! The codec that encodes the blocks of NEW.

use packline_codec::{METADATA_BLOCK_SIZE, ReferenceDecoder, Spec};
use packline_squashfs::BlockSize;

use super::reader::Parts;
use crate::format::part::PartKind;
use crate::{Error, Head, encoders};

/// The largest metadata block with its header, in bytes.
const METADATA_MOST: usize = METADATA_BLOCK_SIZE + 2;

/// The codec and block size of the blocks that are encoded.
#[derive(Debug, Clone)]
pub(super) struct BlockCodec {
    pub(super) spec: Spec,
    pub(super) block_size: BlockSize,
}

impl BlockCodec {
    /// Reads the codec, if blocks are encoded.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the encoders of this program differ from those that the delta was made with.
    pub(super) fn read(parts: &mut Parts, head: &Head) -> Result<Option<BlockCodec>, Error> {
        if head.block_size == 0 {
            return Ok(None);
        }
        let part = parts.expect(PartKind::Codec, "the codec of the blocks")?;
        let offset = part.offset;
        let text = part.content(&mut ReferenceDecoder::default(), &[])?;
        let (spec, block_size) = usable(&text, head.block_size).ok_or_else(|| {
            let codec = String::from_utf8_lossy(&text).escape_default().to_string();
            let what = format!("the delta was made with the codec {codec} at byte {offset}");
            Error::unsupported(what, "a codec of this program")
        })?;
        if head.encoders != encoders(&spec, block_size) {
            return Err(Error::unsupported(
                "the delta was made with encoders of another version of packline",
                "a version that encodes blocks to the same bytes",
            ));
        }
        Ok(Some(BlockCodec { spec, block_size }))
    }

    /// The largest block with its header, in bytes.
    pub(super) fn largest(&self) -> usize {
        self.block_size.bytes().max(METADATA_MOST)
    }

    /// Memory of a worker's encoders in bytes.
    pub(super) fn memory(&self) -> usize {
        self.spec.footprint(self.block_size.bytes()).encoder + self.spec.footprint(METADATA_MOST).encoder
    }
}

fn usable(text: &[u8], block_size: u32) -> Option<(Spec, BlockSize)> {
    let spec = Spec::parse(std::str::from_utf8(text).ok()?).ok()?;
    let block_size = BlockSize::new(block_size.into()).ok()?;
    spec.validate(block_size.bytes()).ok()?;
    Some((spec, block_size))
}
