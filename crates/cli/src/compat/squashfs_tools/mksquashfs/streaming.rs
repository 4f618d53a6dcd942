//! The options `-stream` and `-fix`.

use std::path::{Path, PathBuf};

use packline::Output;
use packline_image::restore_superblock;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::target;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources and output")]
pub struct Streaming {
    /// Write the image to standard output (IMAGE is -), and only warnings and errors to standard error. The image is complete and needs no
    /// -fix
    #[arg(long)]
    pub stream: bool,
    /// Move the superblock of FILE from its end to its start and exit. FILE is an image that -stream of squashfs-tools wrote; a complete
    /// image does not change
    #[arg(long, value_name = "FILE", exclusive = true)]
    fix: Option<PathBuf>,
}

impl Streaming {
    /// Repairs the image that `-fix` names. Returns `false` without the option.
    pub fn fix(&self) -> Result<bool, Failure> {
        self.fix.as_deref().map_or(Ok(false), |image| Ok(restore_superblock(image).map(|_| true)?))
    }

    /// Opens the output of the image.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a file with `-stream`.
    pub fn output(&self, image: &Path, replaces: bool, io: &mut Io) -> Result<Output, Failure> {
        if self.stream && !target::is_stdout(image) {
            let expected = "expected - as the image: standard output";
            return Err(Failure::usage(format!("-stream: {} is not written ({expected})", image.escaped())));
        }
        target::image(image, replaces, io)
    }
}
