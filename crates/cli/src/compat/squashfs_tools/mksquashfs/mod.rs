//! `mksquashfs` packs sources into an image, with the options and defaults of squashfs-tools 4.7.

mod actions;
mod appending;
mod edits;
mod exclude;
mod idle;
mod named;
mod options;
mod packing;
mod priorities;
mod pseudo;
mod sources;
mod streaming;
mod values;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline_manifests::actions::Actions;
use packline_tree::{MountPoints, NotFollowed, ReadErrors, Symlinks};

use super::name_pattern::Language;
use super::posix_regex;
use crate::args::text_list::{Ending, TextList};
use crate::args::value::{number, one_of};
use crate::args::{Command, Compat, Invocation};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::target::is_stream;
use actions::ActionOptions;
use appending::Appending;
use edits::own_root;
use exclude::Excludes;
pub use idle::Idle;
use named::NamedEntries;
use packing::Paths;
pub use packing::{Input, Packing, Target, excludes};
use priorities::Priorities;
use sources::Reading;
pub use values::compressor_help;

/// Pack directories and files into a SquashFS image (drop-in for squashfs-tools)
#[derive(Debug, clap::Args)]
pub struct MkSquashFs {
    /// Directories and files to pack, or - with -tar, -p or -pf, then the image to write, or - for standard output
    #[arg(required_unless_present = "fix", num_args = 1.., value_name = "SOURCE... IMAGE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Replace the image if it exists, rather than append to it
    #[arg(long)]
    noappend: bool,
    /// Put all that is in the image that is appended to, and the attributes of its root, into this directory of the new root
    #[arg(long, value_name = "NAME")]
    root_becomes: Option<OsString>,
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
    /// Follow symbolic links, to wherever they lead; those that lead to nothing, or to a directory that they are in, are left out
    #[arg(long, overrides_with = "deref", conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    dereference: bool,
    /// Follow symbolic links; those that cannot be followed are kept as links (keep) or left out (delete)
    #[arg(long, value_name = "RESPONSE", overrides_with = "dereference", value_parser = one_of(RESPONSES))]
    #[arg(conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    deref: Option<NotFollowed>,
    /// Keep all names of the paths of sources, as tar does, not their last ones
    #[arg(long, alias = "tarstyle", conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    no_strip: bool,
    /// Read paths to pack from standard input, one a line, as cpio does: directories without what is below them
    #[arg(long, conflicts_with_all = ["tar", "cpiostyle0"])]
    cpiostyle: bool,
    /// As -cpiostyle; each path ends with a NUL byte (find -print0)
    #[arg(long, conflicts_with = "tar")]
    cpiostyle0: bool,
    /// Leave out what is at more than this many names below the root
    #[arg(long, value_name = "LEVELS", conflicts_with = "tar", value_parser = number::<usize>(0..=u32::MAX.into()))]
    max_depth: Option<usize>,
    /// Pack files in the order of the priorities in FILE, high ones first. A line has a path, as for -e, and a number from -32768 to
    /// 32767: that of a directory counts for all below it; without a line it is 0
    #[arg(long, value_name = "FILE", conflicts_with = "tar")]
    sort: Option<PathBuf>,
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
    /// Write a list of where the data of files and the fragment blocks begin in the image to FILE, with bytes from its start
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    actions: ActionOptions,
    #[command(flatten)]
    packing: Packing,
    #[command(flatten)]
    idle: Idle<false>,
}

const RESPONSES: [(&str, NotFollowed); 2] = [("keep", NotFollowed::Kept), ("delete", NotFollowed::LeftOut)];

impl Command for MkSquashFs {
    const NAME: &'static str = "mksquashfs";
    const COMPAT: Compat = Compat::SquashfsTools;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image is not appended to in place: what it has is packed anew, with what is appended, and then replaces it. So no recovery file is \
         written, and -recover is refused. A block device, and an image at an -offset, cannot be appended to.",
        "What is appended gets a new name (`_1`) only if the image has its own: in the order of names, after what keeps its name.",
        "An image called - goes to standard output, also without -stream.",
        "-stream writes an image that is whole, with its superblock at its start and each content once; until then it is in TMPDIR. With it, \
         an image other than - is an error, and -info, -percentage and -offset are not.",
        "-fix accepts an image that is whole.",
        "The summary has the sizes and numbers of squashfs-tools in their words, but one number for devices, fifos and sockets, and neither \
         the first lines nor the lists of uids and gids. -info prints paths alone: no kinds, no sizes and no DUPLICATE.",
        "Files whose size changes while they are packed are stored with a warning, and not read again each time that they grow.",
        "A file that two sources have without a hard link, because one source is in the other one, is packed twice; its content is stored once.",
        "Names of users and groups in a tar are not looked up.",
        "An entry of a tar for the root itself (./) gives the root its attributes; there it is passed over.",
        "A definition whose command fails is an error.",
        "Times are numbers, `now` or `inode`; `inode`, and so -repro, is refused for a tar and with definitions.",
        "Paths of -cpiostyle and -no-strip are all from /, or all from the same directory, and follow no symbolic link.",
        "With -sort or actions a file that cannot be read is an error.",
        "Actions are applied before definitions and before the other options that change entries: -xattrs-exclude is for attributes that \
         xattrs-add adds, too.",
        "A file that align() is for shares no data with an earlier one.",
        "Symbolic links that multiply the entries are an error: more than 4194304 below links to directories.",
        "-log lists data in its order in the image, no file of zeros alone, and a file that an action moved under its new path.",
        "Logs of actions come before the first lines, in the order of names.",
        "A number or an argument of an action that is out of range is an error.",
        "An attribute of a further name of a file (`x` after `L`) is an error in definitions.",
        posix_regex::DIFFERENCE,
        "A definition of a file of the host (`l`) has an inode of its own. There it is a hard link if the file is in the source \
         too.",
    ];

    const EXAMPLES: &'static [&'static str] = &[
        "mksquashfs rootfs/ rootfs.sqfs -noappend -comp xz -Xbcj x86",
        "mksquashfs rootfs/ rootfs.sqfs -wildcards -e '*.pyc' '... .git'",
    ];

    fn details() -> String {
        "An image that exists is replaced with -noappend, and appended to without it: it keeps all that it has, its block size, its compressor \
         and its other properties. The new image appears under its name only when it is whole.\n\
         SOURCE_DATE_EPOCH is the time of the image, and later times of entries become this one."
            .to_string()
    }

    fn run(mut self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.idle.refuse(invocation)?;
        if self.packing.streaming.fix()? {
            return Ok(());
        }
        let image = self.paths.pop().filter(|_| !self.paths.is_empty());
        let image = image.ok_or_else(|| Failure::usage("no image to write (expected SOURCE... IMAGE)"))?;
        let appending = if self.noappend { None } else { self.appending(&image, io)? };
        let replaces = self.noappend;
        let log = self.log.take();
        let target = Target { image, replaces, exportable: true, log, appending };
        let actions = self.actions.parse(invocation, io)?;
        let mut input = self.input(io)?;
        match &mut input {
            Input::Paths(_, reading) => reading.actions = actions,
            _ if actions.is_empty() => {}
            _ => return Err(Failure::usage("-action: the source is - (expected directories and files)")),
        }
        self.packing.run(input, target, invocation, io)
    }
}

impl MkSquashFs {
    /// Returns the existing image that is appended to.
    fn appending(&self, image: &Path, io: &Io) -> Result<Option<Appending>, Failure> {
        if is_stream(image) {
            return Ok(None);
        }
        let memory = self.packing.running.resources(&io.host).memory;
        let appending = Appending::open(image, self.root_becomes.as_ref(), memory)?;
        let wrong =
            [(self.tar, "tar"), (self.packing.layout.offset > 0, "offset")].into_iter().find(|(given, _)| *given);
        match wrong.filter(|_| appending.is_some()) {
            Some((_, long)) => {
                let expected = "expected -noappend to replace it, or another name";
                Err(Failure::failed(format!("{}: cannot be appended to with -{long} ({expected})", image.escaped())))
            }
            None => Ok(appending),
        }
    }

    fn input(&mut self, io: &mut Io) -> Result<Input, Failure> {
        let language = if self.wildcards {
            Language::Wildcards
        } else if self.regex {
            Language::Regex
        } else {
            Language::Exact
        };
        let leaves_out = !self.e.is_empty() || !self.ef.is_empty();
        let none = self.paths.iter().all(|path| path.as_os_str() == "-");
        let listed = self.cpiostyle || self.cpiostyle0;
        let below = if listed { &[PathBuf::from(".")][..] } else { &self.paths };
        let below = (below, self.symlinks());
        let mut excludes = excludes(&self.ef, std::mem::take(&mut self.e), language, below, io)?;
        excludes.max_depth = self.max_depth;
        if listed {
            return self.listed(none, excludes, io);
        }
        match (none, self.tar) {
            (false, true) => {
                Err(Failure::usage("-tar: a tar comes from standard input (expected - as the only source)"))
            }
            (true, true) if leaves_out && language == Language::Exact => {
                let expected = "expected -wildcards or -regex, too";
                Err(Failure::usage(format!("-e: a path of this machine is not in a tar ({expected})")))
            }
            (true, true) => Ok(Input::Tar(excludes)),
            (true, false) if leaves_out => {
                Err(Failure::usage("-e: the source is - (expected a directory to leave something out of)"))
            }
            (true, false) => Ok(Input::Definitions),
            (false, false) => {
                let reading = self.reading(excludes, &self.paths, io)?;
                let paths = std::mem::take(&mut self.paths);
                let whole = self.no_strip;
                let paths = if whole { Paths::Whole(named_sources(&paths)?) } else { Paths::Stripped(paths) };
                Ok(Input::Paths(paths, Box::new(reading)))
            }
        }
    }

    /// Returns the source of `-cpiostyle`. `none` is whether standard input is the only source.
    fn listed(&self, none: bool, excludes: Excludes, io: &mut Io) -> Result<Input, Failure> {
        if !none {
            return Err(Failure::usage("-cpiostyle: paths come from standard input (expected - as the only source)"));
        }
        if self.packing.pseudo.reads_stdin() {
            return Err(Failure::usage("-pf -: paths are on standard input (expected a file of definitions)"));
        }
        let list = TextList::read(Path::new("-"), Ending::of(self.cpiostyle0), io)?;
        let named = NamedEntries::alone(&list.name, list.items())?;
        let reading = self.reading(excludes, std::slice::from_ref(&named.directory), io)?;
        Ok(Input::Paths(Paths::Whole(named), Box::new(reading)))
    }

    fn symlinks(&self) -> Symlinks {
        match (self.deref, self.dereference) {
            (Some(otherwise), _) => Symlinks::Followed(otherwise),
            (None, true) => Symlinks::Followed(NotFollowed::LeftOut),
            (None, false) => Symlinks::Kept,
        }
    }

    fn reading(&self, excludes: Excludes, sources: &[PathBuf], io: &mut Io) -> Result<Reading, Failure> {
        let priorities =
            self.sort.as_deref().map(|file| Priorities::read(file, sources, self.symlinks(), io)).transpose()?;
        Ok(Reading {
            priorities,
            actions: Actions::default(),
            hard_links: true,
            xattrs: true,
            mount_points: if self.one_file_system_x {
                MountPoints::Skip
            } else if self.one_file_system {
                MountPoints::Empty
            } else {
                MountPoints::Enter
            },
            symlinks: self.symlinks(),
            errors: ReadErrors::EmptyFile,
            excludes,
            appending: None,
            keep_as_directory: self.keep_as_directory,
            root: own_root(&io.host),
        })
    }
}

/// Returns the sources of `-no-strip`, with all names of their paths.
fn named_sources(paths: &[PathBuf]) -> Result<NamedEntries, Failure> {
    NamedEntries::whole("sources", (1..).zip(paths.iter().map(|path| path.as_os_str().as_bytes())))
}
