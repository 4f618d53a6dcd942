//! Options of base images.

use std::path::PathBuf;

use packline::requests::{BaseBlocks, BaseImage, ImagePlace};

/// `--base` and `--base-any`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct BaseOptions {
    /// Take blocks of this earlier image as they are, where the content is the same. The image has the same bytes. Several are allowed
    #[arg(long, value_name = "IMAGE", value_hint = clap::ValueHint::FilePath, conflicts_with = "dry_run")]
    base: Vec<PathBuf>,
    /// Take blocks of any program's images, and of other versions and levels: the image may have other bytes than without
    #[arg(long, requires = "base")]
    base_any: bool,
}

impl BaseOptions {
    pub fn images(&self) -> Vec<BaseImage> {
        let blocks = if self.base_any { BaseBlocks::Any } else { BaseBlocks::Exact };
        let image = |path: &PathBuf| {
            let mut image = BaseImage::new(ImagePlace::new(path));
            image.blocks = blocks;
            image
        };
        self.base.iter().map(image).collect()
    }
}
