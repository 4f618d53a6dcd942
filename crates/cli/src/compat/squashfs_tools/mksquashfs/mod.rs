//! `mksquashfs`: sources become an image, with the options and defaults of squashfs-tools 4.7.

mod edits;
mod exclude;
mod idle;
mod options;
mod sources;
mod values;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use packline::requests::{Changes, PackOptions, PackRequest};
use packline::{Output, Source};
use packline_tree::MountPoints;

use super::name_pattern::Language;
use crate::args::{Command, Compat, Invocation};
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::run_pack;
use exclude::{Excludes, lines_of};
use idle::Idle;
use options::{Compression, Layout, Owners, Running, TarOptions, Times, Xattrs, own_root};
use sources::{Reading, latest_time};
pub use values::compressor_help;

/// Pack directories and files into a SquashFS image (drop-in for squashfs-tools)
#[derive(Debug, clap::Args)]
pub struct MkSquashFs {
    /// Directories and files to pack, or - with -tar, then the image to write
    #[arg(required = true, num_args = 1.., value_name = "SOURCE... IMAGE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Replace the image if it exists
    #[arg(long)]
    noappend: bool,
    /// Read a tar from standard input, plain or compressed
    #[arg(long)]
    tar: bool,
    /// Put a single source directory below a new root, too
    #[arg(long)]
    keep_as_directory: bool,
    /// Do not cross file systems: mount points become empty directories
    #[arg(long)]
    one_file_system: bool,
    /// As -one-file-system, without the empty directories
    #[arg(long)]
    one_file_system_x: bool,
    /// Leave out what is at these paths, and all below: all words that follow. A path that begins with /, ./ or ../ is one of this
    /// machine, any other is below each source
    #[arg(long = "e", value_name = "PATH", num_args = 1..)]
    e: Vec<OsString>,
    /// Leave out what is at the paths in this file, one a line; '#' begins a comment
    #[arg(long, value_name = "FILE")]
    ef: Vec<PathBuf>,
    /// Paths to leave out are patterns of paths below the root, as a shell has them, with !(A|B) and the like; after '... ' they match
    /// in any directory
    #[arg(long, overrides_with = "regex")]
    wildcards: bool,
    /// Paths to leave out are POSIX extended regular expressions, one for each name of a path
    #[arg(long, overrides_with = "wildcards")]
    regex: bool,
    #[command(flatten)]
    compression: Compression,
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    owners: Owners,
    #[command(flatten)]
    xattrs: Xattrs,
    #[command(flatten)]
    of_tar: TarOptions,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    idle: Idle,
}

impl Command for MkSquashFs {
    const NAME: &'static str = "mksquashfs";
    const COMPAT: Compat = Compat::SquashfsTools;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image is never changed in place: nothing is appended to one.",
        "A file that cannot be read is left out, not stored as an empty one.",
        "Names of users and groups in a tar are not looked up.",
        "Times are numbers, `now` or `inode`.",
    ];

    const EXAMPLES: &'static [&'static str] = &[
        "mksquashfs rootfs/ rootfs.sqfs -noappend -comp xz -Xbcj x86",
        "mksquashfs rootfs/ rootfs.sqfs -wildcards -e '*.pyc' '... .git'",
    ];

    fn details() -> String {
        "An image that exists is replaced with -noappend; nothing is appended to one. The image appears under its name only when it is \
         whole.\n\
         SOURCE_DATE_EPOCH is the time of the image, and later times of entries become this one."
            .to_string()
    }

    fn run(mut self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.idle.refuse(invocation)?;
        let image = self.paths.pop().filter(|_| !self.paths.is_empty());
        let image = image.ok_or_else(|| Failure::usage("no image to write (expected SOURCE... IMAGE)"))?;
        if !self.noappend {
            refuse_existing(&image)?;
        }
        let style = self.running.style();
        let (block_size, quiet) = (self.compression.b, self.running.quiet);
        let request = self.request(image.clone(), invocation, io)?;
        if !quiet {
            announce(&image, request.resources.workers, block_size, io)?;
        }
        run_pack(request, style, io).map(drop)
    }
}

impl MkSquashFs {
    fn request(self, image: PathBuf, invocation: &Invocation, io: &mut Io) -> Result<PackRequest, Failure> {
        let mut options = self.compression.image()?;
        self.layout.apply(&mut options, true, self.tar);
        options.xattrs = self.xattrs.stored();
        let language = match () {
            () if self.wildcards => Language::Wildcards,
            () if self.regex => Language::Regex,
            () => Language::Exact,
        };
        let mut excluded = Vec::new();
        for file in &self.ef {
            excluded.extend(lines_of(file)?);
        }
        excluded.extend(self.e);
        let none = self.paths.iter().all(|path| path.as_os_str() == "-");
        match (none, self.tar) {
            (false, true) => {
                return Err(Failure::usage("-tar: a tar comes from standard input (expected - as the only source)"));
            }
            (true, false) => {
                return Err(Failure::usage("the source is - (expected -tar, with a tar on standard input)"));
            }
            _ => {}
        }
        if self.tar && language == Language::Exact && !excluded.is_empty() {
            return Err(Failure::usage(
                "-e: a path of this machine is not in a tar (expected -wildcards or -regex, too)",
            ));
        }
        let excludes = Excludes::new(&excluded, language, &self.paths, io)?;
        let mut edits = self.owners.edits(&self.xattrs, invocation, io)?;
        let clock = self.times.clock(&io.host)?;
        let mut changes = Changes::default();
        let (source, defaults) = if self.tar {
            let defaults = self.of_tar.defaults(&mut edits, io)?;
            changes.filter = excludes.filter(b"");
            let stream = io.take_stdin(Some(&image))?;
            (Source::TarStream { name: STDIN.to_string(), stream }, defaults)
        } else {
            let reading = Reading {
                hard_links: !self.layout.no_hardlinks,
                xattrs: options.xattrs,
                mount_points: match () {
                    () if self.one_file_system_x => MountPoints::Skip,
                    () if self.one_file_system => MountPoints::Empty,
                    () => MountPoints::Enter,
                },
                continue_on_error: !self.running.exit_on_error,
                excludes,
                keep_as_directory: self.keep_as_directory,
                root: own_root(&io.host),
            };
            (reading.source(&self.paths, io)?, reading.root)
        };
        let latest = if clock.needs_latest() { latest_time(&source)? } else { 0 };
        options.created = clock.created(latest, &io.host);
        clock.apply(latest, &io.host, &mut edits);
        let mut request = PackRequest::new(
            source,
            Output::File { path: image, force: self.noappend },
            PackOptions::SquashFs(options),
        );
        // What the source does not describe passes no change.
        let changed = edits.meta(defaults, true, false);
        request.defaults =
            changed.ok_or_else(|| Failure::failed("-uid-gid-offset: the own user is out of range with it"))?;
        changes.edit = Some(edits.into_edit());
        request.changes = changes;
        request.offset = self.layout.offset;
        request.resources = self.running.resources(&io.host);
        request.temporaries = io.temporaries.clone();
        Ok(request)
    }
}

/// The first lines of mksquashfs.
fn announce(image: &Path, workers: usize, block_size: u32, io: &mut Io) -> Result<(), Failure> {
    let plural = if workers == 1 { "" } else { "s" };
    io.print(&format!(
        "Parallel mksquashfs: Using {workers} processor{plural}\nCreating 4.0 filesystem on {}, block size {block_size}.\n",
        image.escaped()
    ))
}

/// Without `-noappend` a file is not replaced, and nothing is appended to an image.
fn refuse_existing(image: &Path) -> Result<(), Failure> {
    let Ok(found) = fs::metadata(image) else { return Ok(()) };
    let name = image.escaped();
    if !found.is_file() && !found.file_type().is_block_device() {
        return Err(Failure::failed(format!("{name}: neither a file nor a block device (expected one of them)")));
    }
    let mut magic = [0; 4];
    let is_image = File::open(image).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"hsqs";
    Err(Failure::failed(match is_image {
        true => format!(
            "{name}: appending to an image is not supported yet (expected -noappend to replace it, or another name)"
        ),
        false => format!(
            "{name}: not a SquashFS image, will not be overwritten (expected -noappend to replace it, or another name)"
        ),
    }))
}
