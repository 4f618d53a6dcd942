//! Where an image is, and how it is opened.

use std::path::PathBuf;

use packline::Resources;
use packline_image::{ContentKind, ImagePlace, OpenedImage};

use super::value::size;
use crate::ui::failure::Failure;

/// Size of the metadata cache, decompressed bytes.
const METADATA: usize = 8 << 20;

/// `IMAGE` and `--offset`.
#[derive(Debug, clap::Args)]
pub struct ImageArgs {
    /// The image: a file or a block device
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    /// Byte offset of the image in the file [default: search for a superblock]
    #[arg(long, value_name = "BYTES", value_parser = size(0..=u64::MAX))]
    pub offset: Option<u64>,
}

impl ImageArgs {
    /// The container of the file; none if `--offset` selects an image in it.
    pub fn container(&self) -> Option<ContentKind> {
        self.place().content_kind()
    }

    pub fn place(&self) -> ImagePlace {
        ImagePlace { path: self.image.clone(), offset: self.offset }
    }

    /// # Errors
    /// Those of opening it.
    pub fn open(&self) -> Result<OpenedImage, Failure> {
        Ok(self.place().open(METADATA)?)
    }

    /// For a command that also decodes contents, with a metadata cache that fits its memory limit.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn open_within(&self, resources: &Resources) -> Result<OpenedImage, Failure> {
        Ok(self.place().open(packline_image::metadata_cache(resources.memory))?)
    }
}

/// Opens an image of a drop-in, which has no option for its offset.
///
/// # Errors
/// Those of opening it.
pub fn open_path(path: PathBuf) -> Result<OpenedImage, Failure> {
    Ok(ImagePlace::new(path).open(METADATA)?)
}
