//! Options of base images.

use std::path::PathBuf;

use packline::requests::{BaseBlocks, BaseImage, ImagePlace};

/// `--base` and `--base-any`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cache")]
pub struct BaseOptions {
    /// Copy compressed blocks from this earlier image where the content is the same. The output has the same bytes. May be repeated
    #[arg(long, value_name = "IMAGE", value_hint = clap::ValueHint::FilePath, conflicts_with = "dry_run")]
    base: Vec<PathBuf>,
    /// Also copy blocks that other programs, versions or levels compressed; the output may then have other bytes
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
