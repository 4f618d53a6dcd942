//! `tar2sqfs` packs a tar from standard input into an image, with the options, defaults and exit codes of squashfs-tools-ng 1.3.

use std::ffi::OsString;
use std::path::PathBuf;

use packline::Source;
use packline::requests::{Changes, ImageRequest, NewRoot, PackRequest, Unsupported};
use packline_tree::path::canonical;
use packline_tree::{Glob, Slash};

use super::options::{self, ImageOptions, OutputOptions};
use super::statistics;
use crate::args::{Command, Compat, Invocation, wrong};
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{OutputStyle, run_pack};

/// Turn a tar on standard input into a SquashFS image (drop-in for squashfs-tools-ng)
#[derive(Debug, clap::Args)]
pub struct Tar2Sqfs {
    /// The image to write; - for standard output
    image: PathBuf,
    /// Pack only the contents of this directory of the tar, which becomes the root. Without it, an entry for './' or '/' describes the root
    #[arg(short, long, value_name = "DIR")]
    root_becomes: Option<OsString>,
    /// With --root-becomes=DIR, keep link targets /DIR/x instead of changing them to /x
    #[arg(short = 'S', long)]
    no_symlink_retarget: bool,
    /// Fail on unsupported attributes (with an unknown prefix) and on any fault of the tar, instead of continuing
    #[arg(short = 's', long)]
    no_skip: bool,
    /// Leave out extended attributes
    #[arg(short = 'x', long)]
    no_xattr: bool,
    /// Set the default time on everything instead of the times in the tar
    #[arg(short = 'k', long)]
    no_keep_time: bool,
    /// Leave out entries whose complete path matches; '*' also matches slashes
    #[arg(short = 'E', long, value_name = "GLOB")]
    exclude_dir: Vec<OsString>,
    #[command(flatten)]
    pub(crate) options: ImageOptions,
    #[command(flatten)]
    output: OutputOptions,
}

impl Command for Tar2Sqfs {
    const NAME: &'static str = "tar2sqfs";
    const COMPAT: Compat = Compat::ToolsNg;
    const DIFFERENCES: &'static [&'static str] = &[
        "A path that appears twice is not an error; the last entry wins.",
        "Hard links may come in any order.",
        "lz4, lzip and lzma inputs are accepted too.",
        "With -r, links that do not point below the new root stay unchanged, byte for byte.",
        "An input without a single block is an error; that release writes an empty image.",
        "Faults of a tar that lose nothing are warnings, unless -s is given.",
    ];

    fn details() -> String {
        format!(
            "{} The tar may be compressed with gzip, xz, zstd, bzip2, lz4, lzip or lzma.\n\
             An input that ends before its first block is an error, because the program that writes it has failed.\n\
             --queue-backlog limits the memory for blocks in flight to COUNT times the block size.",
            options::details()
        )
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let style = OutputStyle::ToolsNg { quiet: self.output.quiet, statistics };
        let request = self.request(io)?;
        run_pack(request, style, io).map(drop)
    }
}

impl Tar2Sqfs {
    fn request(self, io: &mut Io) -> Result<PackRequest, Failure> {
        let defaults = self.options.defaults(io)?;
        let mut options = self.options.image(defaults)?;
        options.xattrs = !self.no_xattr;
        let mut image = ImageRequest::new(options);
        image.entries.changes = self.changes(defaults.mtime.seconds())?;
        image.entries.defaults = defaults;
        image.entries.tar.lenient = !self.no_skip;
        image.entries.tar.strict = self.no_skip;
        let stream = io.take_stdin(Some(&self.image))?;
        let source = Source::TarStream { name: STDIN.to_string(), stream };
        let mut request = self.output.request(source, &self.image, image, io)?;
        request.resources = self.options.resources(&io.host);
        Ok(request)
    }

    fn changes(&self, default_time: i64) -> Result<Changes, Failure> {
        let new_root = |path: &OsString| NewRoot::new(path.as_encoded_bytes(), !self.no_symlink_retarget);
        let root = self.root_becomes.as_ref().map(new_root).transpose();
        let root = root.map_err(|error| wrong("root-becomes", error))?;
        Ok(Changes {
            root: root.map(|root| NewRoot { required: false, ..root }),
            mtime: self.no_keep_time.then_some(default_time),
            drop: self.excluded()?,
            unsupported: if self.no_skip { Unsupported::Refuse } else { Unsupported::Skip },
            ..Changes::default()
        })
    }

    /// Returns the patterns, in the form of the paths that they match.
    fn excluded(&self) -> Result<Vec<Glob>, Failure> {
        let compile = |raw: &OsString| match canonical(raw.as_encoded_bytes()) {
            Ok(pattern) => Ok(Glob::new(&pattern, Slash::Plain)),
            Err(fault) => Err(wrong("exclude-dir", format!("'{}': {fault}", raw.escaped()))),
        };
        self.exclude_dir.iter().map(compile).collect()
    }
}
