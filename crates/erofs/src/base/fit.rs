//! Whether the encoder of a new image wrote the blocks of an image.

use packline_runtime::FormatFault;
use packline_runtime::memory::size_at_most;
use packline_volume::{BaseError, ReadError};

use crate::Options;
use crate::format::algorithms::number_of;
use crate::format::record::start_of_hash;
use crate::format::recorded_options::RecordedOptions;
use crate::format::superblock::incompat;
use crate::options::{BLOCK, Form};
use crate::read::Image;
use crate::read::record::{PlacedRecord, read_options, read_record};
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
        Ok(Some(found)) => Err(match read_options(image, found)? {
            Some(found) => difference(&found, &RecordedOptions::of(options)),
            None => {
                let what = "is of another version, or its codec has other parameters or another block size";
                BaseError::fit(what, expected())
            }
        }),
        Ok(None) => Err(BaseError::fit("has no record of its encoder", expected())),
        Err(ReadError::Corrupt(FormatFault { what, expected, .. })) => Err(BaseError::fit(what, expected)),
        Err(error) => Err(error.into()),
    }
}

/// Returns an error that names each value of the base that another value in the new image makes useless.
fn difference(base: &RecordedOptions, new: &RecordedOptions) -> BaseError {
    let size = |bytes: u32| size_at_most(bytes.into());
    let differs = [
        (base.codec.to_string() != new.codec.to_string())
            .then(|| [base, new].map(|options| format!("codec {}", options.codec))),
        (base.block_size != new.block_size)
            .then(|| [base, new].map(|options| format!("blocks of {}", size(options.block_size)))),
        (base.block_size == new.block_size && base.cluster_most != new.cluster_most)
            .then(|| [base, new].map(|options| format!("clusters of up to {}", size(options.cluster_most)))),
    ];
    let values = |index: usize| differs.iter().flatten().map(|pair| &pair[index][..]).collect::<Vec<_>>().join(" and ");
    let [found, expected] = [0, 1].map(values);
    if found.is_empty() {
        return BaseError::fit(
            "was packed by another version, or with other options for fragments",
            "the version and the options of the new image",
        );
    }
    BaseError::fit(format!("was packed with {found}"), format!("{expected}, as in the new image"))
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
            (
                "has clusters of any number of bytes, for Linux 6.15 or later",
                "clusters of whole blocks, for Linux before 6.15, as in the new image",
            )
        } else {
            (
                "has clusters of whole blocks, for Linux before 6.15",
                "clusters of any number of bytes, for Linux 6.15 or later, as in the new image",
            )
        };
        return Err(BaseError::fit(what, expected));
    }
    Ok(())
}
