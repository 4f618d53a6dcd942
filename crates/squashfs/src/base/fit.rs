//! Whether blocks of an image fit into another image, and whether the same encoder wrote them.

use packline_codec::{Spec, XzParams};
use packline_runtime::FormatFault;
use packline_runtime::memory::size_at_most;

use crate::format::compressor::compressor_id;
use crate::format::record::Record;
use crate::read::{Image, ReadError};
use crate::{BlockSize, Options};

use super::BaseError;

/// Checks that readers of a new image with `options` can decode the blocks of `image`.
pub(super) fn check_fit(image: &Image, options: &Options) -> Result<(), BaseError> {
    if matches!(options.codec, Spec::None) {
        let what =
            "has no block that can be taken, because codec 'none' compresses nothing; use another codec, or no base";
        return Err(BaseError::fit(what, ""));
    }
    if !image.is_current() {
        let layout = image.layout();
        let is = if layout.is_current() { "has LZMA in another form".to_string() } else { format!("is {layout}") };
        return Err(BaseError::fit(format!("{is}; pack it to an image of version 4.0 first, or use no base"), ""));
    }
    let superblock = image.superblock();
    let new =
        compressor_id(&options.codec).map_err(|error| BaseError::fit(error.to_string(), "a codec of SquashFS"))?;
    if superblock.compressor != new {
        let what = format!("is compressed with {}", image.codec().name());
        return Err(BaseError::fit(what, format!("{}, as in the new image", options.codec.name())));
    }
    if superblock.block_size != options.block_size {
        let [old, new] = [superblock.block_size, options.block_size].map(|size| size_at_most(size.into()));
        return Err(BaseError::fit(format!("has blocks of {old}"), format!("{new}, as in the new image")));
    }
    match (image.codec(), &options.codec) {
        (Spec::Xz(base), Spec::Xz(new)) => check_xz(base, new, options.block_size),
        _ => Ok(()),
    }
}

/// The kernel reserves a dictionary of the size in the image's options. A reader may lack filters that the options do not name.
fn check_xz(base: &XzParams, new: &XzParams, block_size: BlockSize) -> Result<(), BaseError> {
    let size = |params: &XzParams| {
        params.dict_size(block_size.bytes()).map_err(|error| BaseError::fit(error.to_string(), "a dictionary"))
    };
    let old = size(base)?;
    let most = size(new)?;
    if old > most {
        let [old, most] = [old, most].map(|size| size_at_most(size.into()));
        return Err(BaseError::fit(
            format!("has a dictionary of {old}"),
            format!("at most {most}, as in the new image"),
        ));
    }
    if base.filters.iter().any(|filter| !new.filters.iter().any(|other| other == filter)) {
        let what = format!("is compressed with {}", Spec::Xz(base.clone()));
        return Err(BaseError::fit(what, format!("only filters of the new image, {}", Spec::Xz(new.clone()))));
    }
    Ok(())
}

/// Returns the record of an image if the encoder of `options` wrote its blocks.
pub(super) fn own_record(image: &Image, options: &Options) -> Result<Record, BaseError> {
    let expected = || format!("an image that this version packed with codec {} and with padding", options.codec);
    match Record::read(image) {
        Ok(Some(record)) if record.is_of(options) => Ok(record),
        Ok(Some(record)) if record.is_of(&Options { codec: image.codec().clone(), ..options.clone() }) => {
            let what = format!("was packed with codec {}", image.codec());
            Err(BaseError::foreign(what, format!("codec {}, as in the new image", options.codec)))
        }
        Ok(Some(_)) => Err(BaseError::foreign("is of another version, or its codec has other parameters", expected())),
        Ok(None) => Err(BaseError::foreign("has no record of its encoder", expected())),
        Err(ReadError::Corrupt(FormatFault { what, expected, .. })) => Err(BaseError::foreign(what, expected)),
        Err(error) => Err(error.into()),
    }
}
