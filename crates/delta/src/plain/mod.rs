//! Plain forms. `form.rs` maps the bytes of a plain form to the bytes of the file, `blocks.rs` finds the blocks of an image, `decoded.rs`
//! reads a plain form, and `scan.rs` decodes all of it on the workers.

mod blocks;
mod decoded;
mod form;
mod known;
pub(crate) mod scan;

use std::sync::Arc;

use packline_codec::Spec;
use packline_runtime::{Input, Resources};
use packline_squashfs::BlockSize;

pub(crate) use self::blocks::{FoundImage, find};
pub(crate) use self::decoded::DecodedInput;
pub(crate) use self::form::{Block, Form};
pub(crate) use self::known::KnownBlocks;
use crate::{Error, Head, Side};
pub(crate) use decoded::BlockDecoder;
pub(crate) use known::{apply_lengths, lengths_of};

/// A file and its plain form.
pub(crate) struct Plain {
    /// Reads the plain form.
    pub(crate) input: Arc<dyn Input>,
    pub(crate) form: Arc<Form>,
    /// The same input, if blocks are decoded when they are read.
    decoded: Option<Arc<DecodedInput>>,
}

impl Plain {
    /// Returns a file as its own plain form.
    pub(crate) fn itself(input: &Arc<dyn Input>) -> Plain {
        let form = Arc::new(Form::new(Vec::new(), input.size()));
        Plain { input: Arc::clone(input), form, decoded: None }
    }

    /// Returns the plain form of a file with an image. Blocks are decoded when they are read.
    pub(crate) fn decoded(input: &Arc<dyn Input>, form: Form, codec: &Spec, block_size: BlockSize) -> Plain {
        let form = Arc::new(form);
        let decoded = Arc::new(DecodedInput::new(input, &form, codec, block_size));
        Plain { input: Arc::<DecodedInput>::clone(&decoded), form, decoded: Some(decoded) }
    }

    /// Returns the plain form of a file with an image, stored in another file.
    pub(crate) fn stored(input: Arc<dyn Input>, form: Form) -> Plain {
        Plain { input, form: Arc::new(form), decoded: None }
    }

    /// Returns the plain form of OLD that a delta was made for.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this version decodes other blocks of the image than the version that wrote the delta; [`Error::Corrupt`] for
    /// wrong lengths, [`Error::Input`].
    pub(crate) fn of_old(
        old: &Arc<dyn Input>,
        head: &Head,
        lengths: &[u8],
        resources: &Resources,
    ) -> Result<Plain, Error> {
        if !head.old_is_image {
            return Ok(Plain::itself(old));
        }
        let other = || {
            Error::unsupported(
                "the delta was made with another method of decoding images",
                "a delta of this version of packline",
            )
        };
        let FoundImage { codec, block_size, blocks } = find(Side::Old, old, resources)?.ok_or_else(other)?;
        let blocks = apply_lengths(blocks, lengths).map_err(|(what, expected)| Error::corrupt(0, what, expected))?;
        let form = Form::new(blocks, old.size());
        if form.plain() != head.old.plain || form.digest() != head.old_form {
            return Err(other());
        }
        Ok(Plain::decoded(old, form, &codec, block_size))
    }

    /// Memory that does not depend on the number of workers, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.form.memory()
    }

    /// Memory for each worker that reads the plain form, in bytes.
    pub(crate) fn worker_memory(&self) -> u64 {
        self.decoded.as_ref().map_or(0, |decoded| decoded.worker_memory())
    }

    /// Prepares the plain form for reads by this many workers.
    pub(crate) fn set_workers(&self, workers: usize) {
        if let Some(decoded) = &self.decoded {
            decoded.set_workers(workers);
        }
    }
}
