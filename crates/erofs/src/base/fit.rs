//! Whether the encoder of a new image wrote the blocks of an image.

use packline_runtime::FormatFault;
use packline_runtime::memory::size_at_most;
use packline_volume::{BaseError, ReadError};

use crate::Options;
use crate::format::algorithms::number_of;
use crate::format::record::start_of_hash;
use crate::format::superblock::incompat;
use crate::options::{BLOCK, Form};
use crate::read::Image;
use crate::read::record::{PlacedRecord, read_record};
use crate::write::encoder_form;

/// Returns the record of an image, if the encoder of `options` wrote its blocks.
pub(super) fn own_record(image: &Image, options: &Options) -> Result<PlacedRecord, BaseError> {
    check_fit(image, options)?;
    let expected = || {
        let size = size_at_most(u64::from(options.block_size));
        format!("an image that this version packed with codec {} and blocks of {size}", options.codec)
    };
    match read_record(image) {
        Ok(Some(found)) if found.record.encoder == start_of_hash(&encoder_form(options).hash.into()) => Ok(found),
        Ok(Some(_)) => {
            let what = "is of another version, or its codec has other parameters or another block size";
            Err(BaseError::fit(what, expected()))
        }
        Ok(None) => Err(BaseError::fit("has no record of its encoder", expected())),
        Err(ReadError::Corrupt(FormatFault { what, expected, .. })) => Err(BaseError::fit(what, expected)),
        Err(error) => Err(error.into()),
    }
}

/// Checks what the superblock says.
fn check_fit(image: &Image, options: &Options) -> Result<(), BaseError> {
    let Some(codec) = options.bare_codec() else {
        let what =
            "has no block that can be taken, because codec 'none' compresses nothing; use another codec, or no base";
        return Err(BaseError::fit(what, ""));
    };
    let superblock = image.superblock();
    if superblock.block_size() != BLOCK || superblock.algorithms & 1 << number_of(codec) == 0 {
        let names = image.contents().image().algorithms.names();
        let what = if names == "none" { "is not compressed".into() } else { format!("is compressed with {names}") };
        return Err(BaseError::fit(what, format!("{}, as in the new image", codec.name())));
    }
    let is_wide = superblock.has(incompat::WIDE);
    if is_wide != (options.form() == Form::Extents) {
        let (what, expected) = if is_wide {
            ("has clusters of any number of bytes", "clusters of whole blocks, as in the new image")
        } else {
            ("has clusters of whole blocks", "clusters of any number of bytes, as in the new image")
        };
        return Err(BaseError::fit(what, expected));
    }
    Ok(())
}
