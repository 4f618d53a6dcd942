//! The decoder of raw DEFLATE. libdeflate decodes complete blocks; zlib decodes the start of a block, at half the speed.

use super::inflate::StartInflater;
use super::{DECODER_MEMORY, DEFLATE, Inflater};
use crate::traits::check_filled;
use crate::{BlockPart, CodecError};

pub(crate) struct BareInflater {
    whole: Inflater,
    /// Created at its first use.
    start: Option<StartInflater>,
}

impl BareInflater {
    /// Memory of a decoder in bytes.
    pub(crate) const MEMORY: usize = DECODER_MEMORY + StartInflater::MEMORY;

    pub(crate) fn new() -> Result<BareInflater, CodecError> {
        Ok(BareInflater { whole: Inflater::new()?, start: None })
    }

    /// Fills `dst` with the content of a block, or with the start of it.
    pub(crate) fn fill(&mut self, src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
        let made = match part {
            BlockPart::Whole => self.whole.inflate_bare(src, dst)?,
            BlockPart::Start => self.start()?.inflate(src, dst)?,
        };
        check_filled(DEFLATE, src, made, dst)
    }

    fn start(&mut self) -> Result<&mut StartInflater, CodecError> {
        let start = match self.start.take() {
            Some(start) => start,
            None => StartInflater::new()?,
        };
        Ok(self.start.insert(start))
    }
}
