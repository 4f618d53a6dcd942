//! `sqfstar` packs a tar from standard input into an image, with the options and defaults of squashfs-tools 4.7.5.

use std::ffi::OsString;
use std::path::PathBuf;

use packline_tree::Symlinks;

use super::mksquashfs::{Idle, Input, Packing, Target, excludes};
use super::name_pattern::Language;
use super::posix_regex;
use crate::args::{Command, Compat, Invocation};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::target::is_stream;

/// Turn a tar on standard input into a SquashFS image (drop-in for squashfs-tools)
#[derive(Debug, clap::Args)]
pub struct Sqfstar {
    /// The image to write, or - for standard output
    #[arg(value_name = "IMAGE", value_hint = clap::ValueHint::AnyPath, required_unless_present_any = ["stream", "fix"])]
    image: Option<PathBuf>,
    /// Leave out what matches these shell patterns of paths below the root, also with !(A|B) and similar; after '... ' they match in any
    /// directory
    #[arg(value_name = "EXCLUDE", trailing_var_arg = true, allow_hyphen_values = true)]
    excludes: Vec<OsString>,
    /// Replace an existing image
    #[arg(long)]
    force: bool,
    /// Leave out what matches the patterns in this file, one per line; '#' begins a comment
    #[arg(long, value_name = "FILE")]
    ef: Vec<PathBuf>,
    /// Use exclude patterns as POSIX extended regular expressions, one for each name of a path
    #[arg(long)]
    regex: bool,
    #[command(flatten)]
    packing: Packing,
    #[command(flatten)]
    idle: Idle<true>,
}

impl Command for Sqfstar {
    const NAME: &'static str = "sqfstar";
    const COMPAT: Compat = Compat::SquashfsTools;
    const DIFFERENCES: &'static [&'static str] = &[
        "The tar may be compressed.",
        "An image named - goes to standard output, even without -stream.",
        "-stream writes a complete image, with its superblock at the start and each content once; until then the image is in \
         TMPDIR. With -stream, an image other than - is an error, and -info, -percentage and -offset are allowed.",
        "-fix accepts a complete image.",
        "The summary has the sizes and numbers of squashfs-tools in the same words, but one number for devices, fifos and \
         sockets, and neither the first lines nor the lists of uids and gids. -info prints only paths: no kinds, no sizes and \
         no DUPLICATE.",
        "An entry of the tar for the root itself (./) sets the attributes of the root; squashfs-tools ignore it.",
        "Names of users and groups in a tar are ignored.",
        "Times are numbers or `now`; `inode`, and so -repro, is rejected.",
        posix_regex::DIFFERENCE,
    ];

    const EXAMPLES: &'static [&'static str] = &["tar -c rootfs | sqfstar -comp zstd rootfs.sqfs 'rootfs/var/cache/*'"];

    fn details() -> String {
        "Options come before IMAGE. -force replaces an existing image. The image appears under its name when it is complete.\n\
         SOURCE_DATE_EPOCH sets the creation time of the image and clamps newer modification times to it."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.idle.refuse(invocation)?;
        if self.packing.streaming.fix()? {
            return Ok(());
        }
        let image = self.image.unwrap_or_else(|| PathBuf::from("-"));
        if !self.force && !is_stream(&image) && image.metadata().is_ok() {
            return Err(Failure::failed(format!("{}: already exists; -force replaces it", image.escaped())));
        }
        let language = if self.regex { Language::Regex } else { Language::Wildcards };
        let excludes = excludes(&self.ef, self.excludes, language, (&[], Symlinks::Kept), io)?;
        let target = Target { image, replaces: self.force, exportable: false, log: None, appending: None };
        self.packing.run(Input::Tar(excludes), target, invocation, io)
    }
}
