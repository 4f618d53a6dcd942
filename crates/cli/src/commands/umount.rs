//! `packline umount` ends mounts of packline.

use std::path::PathBuf;

use crate::args::{Command, Invocation};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Unmount images that packline mounted
#[derive(Debug, clap::Args)]
pub struct Umount {
    /// The mount points
    #[arg(value_name = "DIR", required = true, value_hint = clap::ValueHint::DirPath)]
    directories: Vec<PathBuf>,
}

impl Command for Umount {
    const NAME: &'static str = "umount";

    const EXAMPLES: &'static [&'static str] = &["packline umount /mnt"];

    fn details() -> String {
        "packline unmounts only its own mounts. An image that a process uses stays mounted, and the command fails."
            .to_string()
    }

    fn run(self, _: &Invocation, _: &mut Io) -> Result<(), Failure> {
        Ok(self.directories.iter().try_for_each(|directory| packline_image::unmount(directory))?)
    }
}
