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
use crate::args::parser::bare_parser_of;
use crate::args::single_dash::option_of;
use crate::args::text_list::{Ending, TextList};
use crate::args::value::{number, one_of};
use crate::args::{Command, Compat, Entry, Invocation};
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
    /// The directories and files to pack, or - with -tar, -p or -pf; then the image to write, or - for standard output
    #[arg(required_unless_present = "fix", num_args = 1.., value_name = "SOURCE... IMAGE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Replace an existing image instead of appending to it
    #[arg(long)]
    noappend: bool,
    /// Put the content of the image that is appended to, with the attributes of its root, into this directory of the new root
    #[arg(long, value_name = "NAME")]
    root_becomes: Option<OsString>,
    /// Read a tar from standard input, plain or compressed
    #[arg(long)]
    tar: bool,
    /// Read the sources as zip archives. Later ones overlay earlier ones
    #[arg(long, conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0", "sort", "no_strip", "deref", "dereference"])]
    zip: bool,
    /// Put even a single source directory below a new root
    #[arg(long)]
    keep_as_directory: bool,
    /// Do not enter other file systems; mount points become empty directories
    #[arg(long)]
    one_file_system: bool,
    /// Same as -one-file-system, but leave out the empty directories
    #[arg(long)]
    one_file_system_x: bool,
    /// Follow symbolic links. A link that leads nowhere, or to a directory that contains the link, is left out
    #[arg(long, overrides_with = "deref", conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    dereference: bool,
    /// Follow symbolic links; keep links that cannot be followed (keep), or leave them out (delete)
    #[arg(long, value_name = "RESPONSE", overrides_with = "dereference", value_parser = one_of(RESPONSES))]
    #[arg(conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    deref: Option<NotFollowed>,
    /// Keep the complete paths of sources, like tar, instead of their last names
    #[arg(long, alias = "tarstyle", conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    no_strip: bool,
    /// Read the paths to pack from standard input, one per line, like cpio: directories without their contents
    #[arg(long, conflicts_with_all = ["tar", "cpiostyle0"])]
    cpiostyle: bool,
    /// Same as -cpiostyle, but each path ends with a NUL byte (find -print0)
    #[arg(long, conflicts_with = "tar")]
    cpiostyle0: bool,
    /// Leave out entries with more than this many names below the root
    #[arg(long, value_name = "LEVELS", conflicts_with = "tar", value_parser = number::<usize>(0..=u32::MAX.into()))]
    max_depth: Option<usize>,
    /// Pack files in the order of the priorities in FILE, highest first. A line has a path, as for -e, and a number from -32768 to 32767,
    /// which for a directory applies to everything below [default: 0]
    #[arg(long, value_name = "FILE", conflicts_with = "tar")]
    sort: Option<PathBuf>,
    /// Leave out these paths and everything below them; all following words are paths. A path that begins with /, ./ or ../ is on this
    /// machine, any other below each source
    #[arg(long = "e", value_name = "PATH", num_args = 1..)]
    e: Vec<OsString>,
    /// Leave out the paths in this file, one per line; '#' begins a comment
    #[arg(long, value_name = "FILE")]
    ef: Vec<PathBuf>,
    /// Use exclude paths as shell patterns of paths below the root, also with !(A|B) and similar; after '... ' they match in any directory
    #[arg(long, overrides_with = "regex")]
    wildcards: bool,
    /// Use exclude paths as POSIX extended regular expressions, one for each name of a path
    #[arg(long, overrides_with = "wildcards")]
    regex: bool,
    /// Write a list of the offsets of file data and fragment blocks in the image to FILE
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
        "Appending does not change the image in place: mksquashfs writes a new image with the old and the new content, which \
         replaces the old image. So no recovery file is written, and -recover is rejected. A block device, and an image at an \
         -offset, cannot be appended to.",
        "Appended entries get new names (`_1`) only if the image has their names. They are handled in the order of names, \
         after the entries that keep their names.",
        "An image named - goes to standard output, even without -stream.",
        "-stream writes a complete image, with its superblock at the start and each content once; until then the image is in \
         TMPDIR. With -stream, an image other than - is an error, and -info, -percentage and -offset are allowed.",
        "-fix accepts a complete image.",
        "The summary has the sizes and numbers of squashfs-tools in the same words, but one number for devices, fifos and \
         sockets, and neither the first lines nor the lists of uids and gids. -info prints only paths: no kinds, no sizes and \
         no DUPLICATE.",
        "A file whose size changes while it is packed is stored with a warning; it is not read again each time that it grows.",
        "If one source contains another, a file that both have is packed twice, without a hard link; its content is stored \
         once.",
        "Names of users and groups in a tar are ignored.",
        "With -zip, an entry that several archives have is not reported, and an existing image is not appended to.",
        "An entry of a tar for the root itself (./) sets the attributes of the root; squashfs-tools ignore it.",
        "A definition whose command fails is an error.",
        "Times are numbers, `now` or `inode`; `inode`, and so -repro, is rejected for a tar and with definitions.",
        "Paths of -cpiostyle and -no-strip all start from /, or all from the same directory, and follow no symbolic link.",
        "With -sort or actions, a file that cannot be read is an error.",
        "Actions are applied before definitions and before the other options that change entries, so that -xattrs-exclude \
         also applies to attributes that xattrs-add adds.",
        "A file with align() shares no data with an earlier file.",
        "Symbolic links that multiply the entries are an error: more than 4194304 entries below links to directories.",
        "-log lists data in the order of the image. It does not list files that contain only zeros, and lists a file that an \
         action moved under its new path.",
        "Logs of actions come before the first lines, in the order of names.",
        "An action's number or argument that is out of range is an error.",
        "In definitions, an attribute of a further name of a file (`x` after `L`) is an error.",
        posix_regex::DIFFERENCE,
        "A definition of a file of the host (`l`) has its own inode. In squashfs-tools it is a hard link if the source has \
         the file too.",
    ];

    const EXAMPLES: &'static [&'static str] = &[
        "mksquashfs rootfs/ rootfs.sqfs -noappend -comp xz -Xbcj x86",
        "mksquashfs rootfs/ rootfs.sqfs -wildcards -e '*.pyc' '... .git'",
    ];

    fn details() -> String {
        "-noappend replaces an existing image; without it, mksquashfs appends to the image, which keeps its entries, its \
         block size, its compressor and its other properties. The new image appears under its name when it is complete.\n\
         SOURCE_DATE_EPOCH sets the creation time of the image and clamps newer modification times to it."
            .to_string()
    }

    fn run(mut self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.idle.refuse(invocation)?;
        self.warn_of_excluded_options(io);
        if self.packing.streaming.fix()? {
            return Ok(());
        }
        let image = self.paths.pop().filter(|_| !self.paths.is_empty());
        let image = image.ok_or_else(|| Failure::usage("the image to write is missing: mksquashfs SOURCE... IMAGE"))?;
        let appending = if self.noappend { None } else { self.appending(&image, io)? };
        let replaces = self.noappend;
        let log = self.log.take();
        let target = Target { image, replaces, exportable: true, log, appending };
        let actions = self.actions.parse(invocation, io)?;
        let mut input = self.input(io)?;
        match &mut input {
            Input::Paths(_, reading) => reading.actions = actions,
            _ if actions.is_empty() => {}
            Input::Zips(..) => {
                return Err(Failure::usage("-action: the source is a zip archive (expected directories and files)"));
            }
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
        let wrong = [(self.tar, "tar"), (self.zip, "zip"), (self.packing.layout.offset > 0, "offset")]
            .into_iter()
            .find(|(given, _)| *given);
        match wrong.filter(|_| appending.is_some()) {
            Some((_, long)) => {
                let problem = format!("cannot be appended to with -{long}; -noappend replaces it");
                Err(Failure::failed(format!("{}: {problem}", image.escaped())))
            }
            None => Ok(appending),
        }
    }

    /// Warns of options, with their values, among the words after -e, which are all paths.
    fn warn_of_excluded_options(&self, io: &mut Io) {
        if !self.e.iter().any(|word| word.as_bytes().starts_with(b"-")) {
            return;
        }
        let parser = bare_parser_of(&Entry::of::<MkSquashFs>());
        let mut named = Vec::new();
        let mut words = self.e.iter();
        while let Some(word) = words.next() {
            let Some((_, option)) = option_of(&parser, word) else { continue };
            named.push(word);
            if option.get_action().takes_values() {
                named.extend(words.next());
            }
        }
        let named: Vec<String> = named.iter().map(|word| format!("'{}'", word.escaped())).collect();
        if !named.is_empty() {
            io.warn(&format!(
                "-e takes every word after it as a path, also {}; put options before -e",
                named.join(", ")
            ));
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
        if self.zip {
            return self.zips(none, leaves_out && language == Language::Exact, excludes);
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
                Err(Failure::usage("-e: the source is - (expected a directory as the source)"))
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

    /// Returns the sources of `-zip`. `none` is whether standard input is the only source, and `exact` whether paths of this machine are
    /// excluded.
    fn zips(&mut self, none: bool, exact: bool, excludes: Excludes) -> Result<Input, Failure> {
        if none {
            return Err(Failure::usage("-zip: the source is - (expected the names of zip archives)"));
        }
        if exact {
            let expected = "expected -wildcards or -regex, too";
            return Err(Failure::usage(format!("-e: a path of this machine is not in a zip archive ({expected})")));
        }
        Ok(Input::Zips(std::mem::take(&mut self.paths), excludes))
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
