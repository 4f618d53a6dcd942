//! libzstd's own search: a context whose parameters depend on the size of each block.

use super::context::{Context, context_size};
use super::library_params::{LibraryParams, MIN_SIZE_LOG, size_log};
use crate::CodecError;
use crate::bounded::Compressor;

pub(super) struct LibraryEncoder {
    context: Context,
    level: i32,
    /// Parameters for blocks of up to 2^([`MIN_SIZE_LOG`] + index) bytes.
    classes: Vec<LibraryParams>,
    /// The context's current parameters.
    current: Option<LibraryParams>,
    /// Whether frames end with a checksum of their content.
    checksum: bool,
}

impl LibraryEncoder {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(super) fn new(level: i32, block_size: usize, checksum: bool) -> Result<Self, CodecError> {
        let context = Context::new(Self::memory(level, block_size))?;
        Ok(LibraryEncoder { context, level, classes: classes(level, block_size), current: None, checksum })
    }

    /// Memory of an encoder in bytes.
    pub(super) fn memory(level: i32, block_size: usize) -> usize {
        classes(level, block_size).iter().map(context_size).max().unwrap_or(0)
    }

    fn prepare(&mut self, size: usize) -> Result<(), CodecError> {
        let class = (size_log(size) - MIN_SIZE_LOG) as usize;
        let search = self.classes.get(class).copied();
        if self.current != search {
            search.map_or(Ok(()), |search| self.context.configure(self.level, &search, self.checksum))?;
            self.current = search;
        }
        Ok(())
    }
}

impl Compressor for LibraryEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.prepare(src.len())?;
        self.context.compress(src, out)
    }
}

fn classes(level: i32, block_size: usize) -> Vec<LibraryParams> {
    (MIN_SIZE_LOG..=size_log(block_size)).map(|log| LibraryParams::new(level, log)).collect()
}
