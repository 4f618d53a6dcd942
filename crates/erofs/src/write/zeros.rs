//! The zeros that holes refer to, in images whose format has no holes.

use std::sync::Arc;

use packline_blocks::{Coders as _, DataLayout, Error, Written, write};
use packline_runtime::{Sink, TaskError};

use super::coder::{ImageCoders, zeros};
use super::map::Zeros;
use crate::options::{BLOCK, Form, Options};

/// Zeros after the data area.
pub(super) struct StoredZeros {
    pub(super) zeros: Zeros,
    /// The bytes in the image.
    pub(super) bytes: Vec<u8>,
}

/// Stores zeros after the data area, if there are holes in clusters. Moves the end of the data area.
///
/// # Errors
/// Errors of the codec and the sink.
pub(super) fn store(
    options: &Options,
    coders: &Arc<ImageCoders>,
    layout: &mut DataLayout,
    sink: &mut dyn Sink,
    written: &mut Written,
) -> Result<Option<StoredZeros>, Error> {
    if options.form() != Form::Clusters || !layout.numbers.contains(&0) {
        return Ok(None);
    }
    let mut coder = coders.coder();
    let mut content = u64::from(options.block_size);
    let mut cluster = zeros(&mut *coder, content as usize)?;
    // The map of a short hole has no entry for the number of blocks of its cluster, which is then 1.
    while cluster.len() as u64 > BLOCK && content > 2 * BLOCK {
        content /= 2;
        cluster = zeros(&mut *coder, content as usize)?;
    }
    if cluster.len() as u64 > BLOCK {
        return Err(Error::internal(format!("{content} zeros that take {} bytes", cluster.len())));
    }
    let start = layout.end;
    let plain = start + cluster.len() as u64;
    let zeros = Zeros { start, bytes: cluster.len() as u32, content: content as u32, plain };
    let mut bytes = cluster;
    bytes.resize(bytes.len() + BLOCK as usize, 0);
    write(&mut *sink, start, &bytes)?;
    written.add_plain(start, &bytes);
    layout.end += bytes.len() as u64;
    Ok(Some(StoredZeros { zeros, bytes }))
}
