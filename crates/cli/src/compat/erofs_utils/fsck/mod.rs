//! `fsck.erofs` checks an EROFS image or extracts it, with the options, texts and exit codes of erofs-utils 1.9.3.

mod check;
mod extract;
mod ratio;

use std::ffi::OsString;

use packline::requests::{ErofsImage, SuperblockChecksum};
use packline_volume::NodeId;

use super::{ChosenInode, ImageOptions};
use crate::args::value::number;
use crate::args::{Command, Compat, Invocation};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The verbosity from which success is reported.
const INFORMATION: u8 = 3;

/// Check an EROFS image, or extract it (drop-in for erofs-utils)
#[derive(Debug, clap::Args)]
pub struct FsckErofs {
    #[command(flatten)]
    place: ImageOptions,
    #[command(flatten)]
    checks: Checks,
    #[command(flatten)]
    extraction: Extraction,
}

#[derive(Debug, clap::Args)]
struct Checks {
    /// Print more: from 3 on a line about success, and what is unusual. Errors are always printed
    #[arg(short = 'd', value_name = "LEVEL", default_value = "2", value_parser = number::<u8>(0..=9))]
    level: u8,
    /// Print the size of stored blocks in percent of the content, with -d3
    #[arg(short = 'p')]
    ratio: bool,
    /// Continue if the superblock has a wrong checksum
    #[arg(long)]
    no_sbcrc: bool,
    /// Compare the content of files with their SHA-256 in the image
    #[arg(long)]
    xattr_inode_digest: bool,
    /// Accepted without effect: packline repairs nothing
    #[arg(short = 'a', short_aliases = ['A', 'y'])]
    answers: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Extraction")]
struct Extraction {
    /// Decode the content of all files; with DIR, also extract it to that directory
    #[arg(long, value_name = "DIR", require_equals = true)]
    extract: Option<Option<OsString>>,
    /// Permit --extract=/
    #[arg(long)]
    force: bool,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// Same as --preserve-owner --preserve-perms
    #[arg(long)]
    preserve: bool,
    /// Set owners and groups [default: if run by root]
    #[arg(long)]
    preserve_owner: bool,
    /// Set permissions whatever the umask [default: if run by root]
    #[arg(long)]
    preserve_perms: bool,
    /// Same as --no-preserve-owner --no-preserve-perms
    #[arg(long)]
    no_preserve: bool,
    /// Do not set owners and groups
    #[arg(long)]
    no_preserve_owner: bool,
    /// Apply the umask to permissions
    #[arg(long)]
    no_preserve_perms: bool,
    /// Set extended attributes
    #[arg(long, overrides_with = "no_xattrs")]
    xattrs: bool,
    /// Leave out extended attributes (default)
    #[arg(long, overrides_with = "xattrs")]
    no_xattrs: bool,
}

impl Command for FsckErofs {
    const NAME: &'static str = "fsck.erofs";
    const COMPAT: Compat = Compat::ErofsUtils;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        "All faults are reported, not only the first one. Each has its offset in the image.",
        "A wrong checksum of the superblock is an error with exit status 1; 1.9.3 exits with 0.",
        "Link counts are compared with the names.",
        "An image with fragments is extracted completely; 1.9.3 fails with --extract=DIR unless --path=/ is given.",
        "A file that ends in a hole is extracted with its complete size; 1.9.3 leaves out the hole.",
        "Extended attributes with empty values are set; 1.9.3 leaves out all further attributes of the file.",
        "Extraction uses all processors. A destination that does not exist gets its name when it is complete.",
        "Nothing is ever written through a symbolic link.",
        "A file whose owner is not set, for example with --no-preserve-owner, gets no set-id bits; 1.9.3 sets them.",
        "--nid=N with --extract=DIR needs an inode that has a name.",
    ];

    fn details() -> String {
        "Without --extract, everything except the content of files is read: superblock, directories, inodes, extended \
         attributes, and the positions of contents.\n\
         A file that --path or --nid names is extracted under the name DIR."
            .to_string()
    }

    fn run(mut self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.extraction.check()?;
        self.place = self.place.with_zero_for_root();
        use SuperblockChecksum::{Compare, Ignore};
        let image = self.place.open(if self.checks.no_sbcrc { Ignore } else { Compare }, io)?;
        let chosen = self.place.chosen(&image)?;
        let ended = match &self.extraction.extract {
            Some(Some(directory)) => self.extract(&image, chosen.as_ref(), directory, invocation, io),
            _ => self.check(&image, chosen.as_ref(), io),
        };
        let text = if self.extraction.is_to_directory() {
            ("Extracted filesystem successfully", "Failed to extract filesystem")
        } else {
            ("No errors found", "Found some filesystem corruption")
        };
        match ended {
            Ok(()) if self.checks.level >= INFORMATION => {
                io.eprintln(&format!("<I> erofs: {}", text.0));
                if self.checks.ratio {
                    let ratio = ratio::of(&image, chosen.as_ref())?;
                    io.eprintln(&format!("<I> erofs: Compression ratio: {ratio:.2}(%)"));
                }
                Ok(())
            }
            Err(failure) => {
                io.eprintln(&format!("<E> erofs: {}", text.1));
                Err(failure)
            }
            Ok(()) => Ok(()),
        }
    }
}

impl Extraction {
    fn is_to_directory(&self) -> bool {
        matches!(self.extract, Some(Some(_)))
    }

    /// Rejects options that need a directory, without one.
    fn check(&self) -> Result<(), Failure> {
        let usage = |text: &str| Err(Failure::usage(text));
        let Some(Some(directory)) = &self.extract else {
            let preserves = [self.preserve, self.preserve_owner, self.preserve_perms];
            let others = [self.no_preserve, self.no_preserve_owner, self.no_preserve_perms];
            let given = [
                (self.force, "--force must be used together with --extract=X"),
                (self.overwrite, "--overwrite must be used together with --extract=X"),
                (
                    preserves.into_iter().chain(others).any(|given| given),
                    "--[no-]preserve[-owner/-perms] must be used together with --extract=X",
                ),
            ];
            return given.into_iter().find(|(given, _)| *given).map_or(Ok(()), |(_, text)| usage(text));
        };
        let bytes = directory.as_encoded_bytes();
        if bytes.is_empty() {
            return usage("empty value given for --extract=X");
        }
        if bytes.iter().all(|byte| *byte == b'/') && !self.force {
            return usage("--extract=/ must be used together with --force");
        }
        Ok(())
    }
}

/// Returns the inode from which the image is read.
fn start(image: &ErofsImage, chosen: Option<&ChosenInode>) -> NodeId {
    chosen.map_or(image.volume.root(), |chosen| chosen.node)
}
