//! The zeros that holes refer to, in images whose format has no holes.

use std::sync::Arc;

use packline_blocks::{Coders as _, DataLayout, DataOptions, Error, Written, write};
use packline_runtime::{Sink, TaskError};

use super::coder::{ImageCoders, zeros};
use super::map::{ZeroCluster, Zeros};
use crate::options::{BLOCK, Form, Options};

/// Zeros after the data area.
pub(super) struct StoredZeros {
    pub(super) zeros: Zeros,
    /// The bytes in the image.
    pub(super) bytes: Vec<u8>,
}

/// The state of an image whose holes need zeros.
pub(super) struct Holes<'h> {
    pub(super) options: &'h Options,
    pub(super) data_options: &'h DataOptions,
    pub(super) coders: &'h Arc<ImageCoders>,
}

impl Holes<'_> {
    /// Stores zeros after the data area, if there are holes in clusters. Moves the end of the data area.
    ///
    /// # Errors
    /// Errors of the codec and the sink.
    pub(super) fn store(
        &self,
        layout: &mut DataLayout,
        sink: &mut dyn Sink,
        written: &mut Written,
    ) -> Result<Option<StoredZeros>, Error> {
        if self.options.form() != Form::Clusters || !layout.numbers.contains(&0) {
            return Ok(None);
        }
        let start = layout.end;
        let (cluster, mut bytes) = if self.has_block(layout) {
            let (content, bytes) = self.cluster()?;
            (Some(ZeroCluster { start, bytes: bytes.len() as u32, content: content as u32 }), bytes)
        } else {
            (None, Vec::new())
        };
        let zeros = Zeros { cluster, plain: start + bytes.len() as u64 };
        bytes.resize(bytes.len() + BLOCK as usize, 0);
        write(&mut *sink, start, &bytes)?;
        written.add_plain(start, &bytes);
        layout.end += bytes.len() as u64;
        Ok(Some(StoredZeros { zeros, bytes }))
    }

    /// Whether a hole has at least a block. Shorter ones do not refer to a cluster.
    fn has_block(&self, layout: &DataLayout) -> bool {
        let mut extents = layout.files.iter().flat_map(|file| layout.extents(file, self.data_options));
        extents.any(|extent| extent.place.is_hole() && u64::from(extent.length) >= BLOCK)
    }

    /// Returns the number of zeros in a cluster of one block, and its bytes.
    fn cluster(&self) -> Result<(u64, Vec<u8>), Error> {
        let mut coder = self.coders.coder();
        let mut content = u64::from(self.options.block_size);
        let mut cluster = zeros(&mut *coder, content as usize)?;
        // The map of a short hole has no entry for the number of blocks of its cluster, which is then 1.
        while cluster.len() as u64 > BLOCK && content > 2 * BLOCK {
            content /= 2;
            cluster = zeros(&mut *coder, content as usize)?;
        }
        if cluster.len() as u64 > BLOCK {
            return Err(Error::internal(format!("{content} zeros that take {} bytes", cluster.len())));
        }
        Ok((content, cluster))
    }
}
