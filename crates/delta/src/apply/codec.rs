//! The codec that encodes the blocks of NEW.

use packline_codec::{METADATA_BLOCK_SIZE, ReferenceDecoder, Spec};

use super::parts::Parts;
use crate::format::part::PartKind;
use crate::{Error, Head, encoders};

/// Largest metadata block with its header, bytes.
const METADATA_MOST: usize = METADATA_BLOCK_SIZE + 2;

/// How blocks are encoded.
#[derive(Debug, Clone)]
pub(super) struct BlockCodec {
    pub(super) spec: Spec,
    /// Size of the largest data block, bytes.
    pub(super) block_size: usize,
}

impl BlockCodec {
    /// Reads it, if blocks are encoded.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this program's encoders are not those that the delta was made with.
    pub(super) fn read(parts: &mut Parts, head: &Head) -> Result<Option<BlockCodec>, Error> {
        if head.block_size == 0 {
            return Ok(None);
        }
        let part = parts.expect(PartKind::Codec, "the codec of the blocks")?;
        let offset = part.offset;
        let text = part.content(&mut ReferenceDecoder::default(), &[])?;
        let block_size = head.block_size as usize;
        let spec = usable(&text, block_size).ok_or_else(|| {
            let codec = String::from_utf8_lossy(&text).escape_default().to_string();
            let what = format!("the delta was made with the codec {codec} at byte {offset}");
            Error::unsupported(what, "a codec of this program")
        })?;
        if head.encoders != encoders(&spec, block_size) {
            return Err(Error::unsupported(
                "the delta was made with encoders of another version of packline",
                "the version that made it, whose blocks have the same bytes",
            ));
        }
        Ok(Some(BlockCodec { spec, block_size }))
    }

    /// Largest block, with its header, bytes.
    pub(super) fn largest(&self) -> usize {
        self.block_size.max(METADATA_MOST)
    }

    /// Memory of the encoders of a worker, bytes.
    pub(super) fn memory(&self) -> usize {
        self.spec.footprint(self.block_size).encoder + self.spec.footprint(METADATA_MOST).encoder
    }
}

fn usable(text: &[u8], block_size: usize) -> Option<Spec> {
    let spec = Spec::parse(std::str::from_utf8(text).ok()?).ok()?;
    let fits = block_size <= packline_squashfs::MAX_BLOCK_SIZE as usize && spec.validate(block_size).is_ok();
    fits.then_some(spec)
}
