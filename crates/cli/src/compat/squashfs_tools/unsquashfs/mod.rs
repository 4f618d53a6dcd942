//! `unsquashfs` extracts an image or lists its entries, with the options, output and exit codes of squashfs-tools 4.7.5.

mod cat;
mod extract;
mod listing;
mod pseudo;
mod resolve;
mod restored;
mod selection;
mod stat;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use packline::Resources;
use packline::requests::{ImagePlace, SquashFsImage};
use packline_image::{OpenedImage, Selection, metadata_cache};
use packline_manifests::ModeChange;

use crate::args::image::place;
use crate::args::text_list::{Ending, TextList};
use crate::args::value::{number, size};
use crate::args::{Command, Compat, Invocation};
use crate::compat::squashfs_tools::name_pattern::Language;
use crate::compat::squashfs_tools::{parse_time, posix_regex};
use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use listing::{Form, Long};
use resolve::Resolver;
use selection::PathSelection;

pub use cat::cat;
pub use stat::compressor_name;

/// The maximum number of threads.
const WORKERS_MOST: usize = 1024;

/// Extract a SquashFS image, or list what is in it (drop-in for squashfs-tools)
#[derive(Debug, clap::Args)]
pub struct Unsquashfs {
    /// The image: a file, a block device or a pipe; - for standard input
    #[arg(value_name = "FILESYSTEM")]
    image: PathBuf,
    /// The files and directories to list or extract, or with -excludes to leave out; with -cat, the files to print. Wildcards match names,
    /// but not '/'; '... NAME' with -excludes matches NAME anywhere
    #[arg(value_name = "FILE", trailing_var_arg = true, allow_hyphen_values = true)]
    files: Vec<OsString>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    attributes: Attributes,
    #[command(flatten)]
    listing: Listing,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    errors: Errors,
}

/// Selection and destination of extraction and listing.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Filters")]
struct Filter {
    /// Extract to this directory; in listings, show it as the root
    // Not a `PathBuf` for clap, which refuses an empty one: in listings an empty text is usual.
    #[arg(long, visible_alias = "d", value_name = "DIR", default_value = "squashfs-root")]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    dest: PathBuf,
    /// Descend into at most this many levels of directories
    #[arg(long, visible_alias = "max", value_name = "LEVELS", value_parser = number::<usize>(0..=i64::from(i32::MAX)))]
    max_depth: Option<usize>,
    /// Leave out the files on the command line instead of everything else
    #[arg(long)]
    excludes: bool,
    /// Leave out these files; the list ends with ';'
    #[arg(long, visible_alias = "ex", value_name = "FILE", num_args = 1.., value_terminator = ";")]
    exclude_list: Vec<OsString>,
    /// Extract the files that FILE names, one per line; '#' begins a comment, and a backslash may precede a name
    #[arg(long, visible_aliases = ["ef", "e"], value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    extract_file: Vec<PathBuf>,
    /// Leave out the files that FILE names, one per line
    #[arg(long, visible_aliases = ["excf", "exc"], value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    exclude_file: Vec<PathBuf>,
    /// Fail if a file to extract or to leave out does not exist
    #[arg(long = "match", visible_alias = "missing", alias = "missing-symlinks")]
    missing: bool,
    /// Follow a symbolic link at the end of a path, and also extract the file it leads to
    #[arg(long = "follow-symlinks", visible_aliases = ["follow", "L"], alias = "follow-symlink")]
    follow: bool,
    /// Use names literally
    #[arg(long = "no-wildcards", visible_alias = "no-wild", conflicts_with = "regex")]
    no_wildcards: bool,
    /// Use names as POSIX extended regular expressions
    #[arg(long, visible_alias = "r")]
    regex: bool,
    /// Print the files to standard output
    #[arg(long)]
    cat: bool,
    /// Write the image to FILE as a pseudo file for mksquashfs -pf; - is standard output
    #[arg(long, visible_alias = "pf", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pseudo_file: Option<OsString>,
    /// Extract into existing directories, and replace files
    #[arg(long, visible_alias = "f")]
    force: bool,
}

/// Output.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Listings")]
struct Listing {
    /// Print the superblock
    #[arg(long, visible_alias = "s")]
    stat: bool,
    /// Print the creation time in seconds since 1970
    #[arg(long, visible_alias = "fstime")]
    mkfs_time: bool,
    /// Print the names of extracted entries
    #[arg(long, visible_alias = "i")]
    info: bool,
    /// Print extracted entries like ls -l
    #[arg(long, visible_alias = "li")]
    linfo: bool,
    /// List names without extracting
    #[arg(long, visible_alias = "l")]
    ls: bool,
    /// List entries like ls -l without extracting
    #[arg(long, visible_alias = "ll")]
    lls: bool,
    /// Same as -lls, with numbers for owners
    #[arg(long, visible_alias = "lln")]
    llnumeric: bool,
    /// Same as -ls, without directories that have entries
    #[arg(long)]
    lc: bool,
    /// Same as -lls, without directories that have entries
    #[arg(long)]
    llc: bool,
    /// Print times with seconds
    #[arg(long, visible_alias = "full")]
    full_precision: bool,
    /// Print times in UTC instead of local time
    #[arg(long = "UTC")]
    utc: bool,
    /// Print no counts
    #[arg(long, visible_alias = "q")]
    quiet: bool,
    /// Print no percentage. There is no progress bar
    #[arg(long, visible_alias = "n")]
    no_progress: bool,
    /// Print the finished percentage, one number per line
    #[arg(long)]
    percentage: bool,
}

/// The attributes of extracted entries.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Attributes")]
struct Attributes {
    /// Set the owner of everything, by number or name; needs root
    #[arg(long, value_name = "USER")]
    force_uid: Option<String>,
    /// Set the group of everything, by number or name; needs root
    #[arg(long, value_name = "GROUP")]
    force_gid: Option<String>,
    /// Set the permissions of everything except directories: octal, or as for chmod(1)
    #[arg(long, value_name = "MODE", value_parser = crate::args::value::text(ModeChange::parse))]
    force_file_mode: Option<ModeChange>,
    /// Set the permissions of directories
    #[arg(long, value_name = "MODE", value_parser = crate::args::value::text(ModeChange::parse))]
    force_dir_mode: Option<ModeChange>,
    /// Set the time of everything: seconds since 1970, or text that date(1) reads
    #[arg(long, visible_alias = "all", value_name = "TIME", value_parser = crate::args::value::text(parse_time))]
    all_time: Option<u32>,
    /// Leave out extended attributes
    #[arg(long, visible_alias = "no", overrides_with_all = ["xattrs", "user_xattrs", "xattrs_exclude", "xattrs_include"])]
    no_xattrs: bool,
    /// Set extended attributes (default)
    #[arg(long, visible_alias = "x", overrides_with = "no_xattrs")]
    xattrs: bool,
    /// Set only extended attributes in the user namespace
    #[arg(long, visible_alias = "u", overrides_with_all = ["no_xattrs", "xattrs_include"])]
    user_xattrs: bool,
    /// Leave out extended attributes whose names match
    #[arg(long, value_name = "REGEX", overrides_with = "no_xattrs")]
    xattrs_exclude: Option<OsString>,
    /// Set only extended attributes whose names match
    #[arg(long, value_name = "REGEX", overrides_with_all = ["no_xattrs", "user_xattrs"])]
    xattrs_include: Option<OsString>,
}

/// Processors, memory, and the offset of the image.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
pub struct Machine {
    /// Run this many threads [default: number of CPUs]
    #[arg(long, visible_alias = "p", value_name = "NUMBER", value_parser = number::<usize>(1..=i64::from(i32::MAX)))]
    processors: Option<usize>,
    /// Limit memory [default: what the system allows]
    #[arg(long, value_name = "SIZE", value_parser = size(2 << 20..=1 << 51))]
    mem: Option<u64>,
    /// Limit memory, in percent of the machine's memory
    #[arg(long, value_name = "PERCENT", value_parser = crate::args::value::text(percent))]
    mem_percent: Option<u64>,
    /// Accepted without effect: -mem limits all memory
    #[arg(long, visible_alias = "da", value_name = "MBYTES", value_parser = number::<u32>(1..=i64::from(i32::MAX)))]
    data_queue: Option<u32>,
    /// Accepted without effect: -mem limits all memory
    #[arg(long, visible_alias = "fr", value_name = "MBYTES", value_parser = number::<u32>(1..=i64::from(i32::MAX)))]
    frag_queue: Option<u32>,
    /// Accepted without effect: few files are open at a time
    #[arg(long, value_name = "NUMBER", value_parser = number::<u32>(1..=i64::from(i32::MAX)))]
    max_files: Option<u32>,
    /// Read the image at this byte of the file
    #[arg(long, visible_alias = "o", value_name = "BYTES", default_value = "0", value_parser = size(0..=u64::MAX))]
    offset: u64,
}

/// The errors that end the program.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Errors")]
pub struct Errors {
    /// Continue after errors of writing files
    #[arg(long, visible_alias = "ig", conflicts_with = "strict_errors")]
    ignore_errors: bool,
    /// Stop at every error
    #[arg(long, visible_alias = "st", conflicts_with = "no_exit_code")]
    strict_errors: bool,
    /// Exit with 0 after errors that did not stop the program
    #[arg(long, visible_alias = "no-exit")]
    no_exit_code: bool,
}

impl Command for Unsquashfs {
    const NAME: &'static str = "unsquashfs";
    const COMPAT: Compat = Compat::SquashfsTools;
    const DIFFERENCES: &'static [&'static str] = &[
        "An image named - is read from standard input. An image in a pipe is first stored in TMPDIR.",
        "A destination that does not exist gets its name when it is complete. After a fatal error it does not exist.",
        "Nothing is ever written through a symbolic link.",
        "-info prints the names before extraction rather than during it.",
        "A symbolic link with an absolute target is extracted if it is named on the command line, which 4.7.5 rejects and \
         4.5.1 did.",
        "Permissions are those of the image, whatever the umask.",
        "A file whose owner cannot be set gets no set-id bits.",
        "With -ignore-errors, a file with damaged content is kept, with zeros for what cannot be read, and the rest is \
         extracted; 4.7.5 stops there.",
        "If the destination cannot have a hard link, a copy is extracted with a warning; 4.7.5 stops there.",
        "A destination that belongs to another user keeps its permissions and times, with a warning; 4.7.5 does not warn.",
        "-pf leaves out empty extended attributes with a warning, because no mksquashfs reads their definitions.",
        "A character device 0, 0 (a whiteout) is created even without root, which Linux permits.",
        "The message about a device that only root may create is \"failed to create\" even without root, because callers look \
         for these words.",
        posix_regex::DIFFERENCE,
    ];

    fn details() -> String {
        "Options come before FILESYSTEM.".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let image = self.machine.open(&self.image, io)?;
        if self.listing.mkfs_time {
            return io.print(&format!("{}\n", image.image.superblock().created));
        }
        if self.listing.stat {
            return stat::print(&image, self.listing.utc_offset(&io.host), io);
        }
        let resources = self.machine.resources(&io.host);
        if self.filter.cat {
            return cat(&image, self.filter.language(), &self.files, (&resources, &self.errors), io);
        }
        let selection = self.selection(&image, io)?;
        if let Some(long) = self.listing.lists() {
            return self.print(&image, &selection, long, io);
        }
        if let Some(file) = &self.filter.pseudo_file {
            let restored = self.attributes.restored(rustix::process::geteuid().is_root(), &io.host)?;
            let xattrs = !self.attributes.no_xattrs;
            return pseudo::write(&image, &selection, (&restored, xattrs), &resources, file, io);
        }
        if self.filter.dest.as_os_str().is_empty() {
            return Err(Failure::usage("-dest: the directory has no name (expected '.' for the current directory)"));
        }
        self.extract(&image, selection, resources, io)
    }
}

impl Unsquashfs {
    /// Resolves the files on the command line.
    fn selection(&self, image: &SquashFsImage, io: &mut Io) -> Result<Selection, Failure> {
        let filter = &self.filter;
        let resolver = Resolver { image, language: filter.language(), follow_last: filter.follow };
        let excluded = Resolver { follow_last: false, ..resolver };
        let mut chosen = PathSelection::new(filter.max_depth);
        let (extracts, excludes) = if filter.excludes { (&[][..], &*self.files) } else { (&*self.files, &[][..]) };
        for path in excludes.iter().chain(&filter.exclude_list) {
            self.missing(chosen.exclude(pathname(path)?, &excluded)?, path, io)?;
        }
        for path in extracts {
            self.missing(chosen.extract(pathname(path)?, &resolver)?, path, io)?;
        }
        for path in names_in(&filter.exclude_file, io)? {
            self.missing(chosen.exclude(pathname(&path)?, &excluded)?, &path, io)?;
        }
        for path in names_in(&filter.extract_file, io)? {
            self.missing(chosen.extract(pathname(&path)?, &resolver)?, &path, io)?;
        }
        Ok(chosen.selection())
    }

    /// Reports parts of a pathname that do not exist; with `-match` they are a failure.
    fn missing(&self, faults: Vec<String>, path: &OsString, io: &mut Io) -> Result<(), Failure> {
        let none = faults.is_empty();
        faults.iter().for_each(|fault| io.eprintln(&format!("unsquashfs: {fault}")));
        if self.filter.missing && !none {
            Err(Failure::failed(format!(
                "a part of '{}' does not exist, or nothing matches it (-match was given)",
                path.escaped()
            )))
        } else {
            Ok(())
        }
    }

    fn print(&self, image: &OpenedImage, selection: &Selection, long: bool, io: &mut Io) -> Result<(), Failure> {
        let listing = &self.listing;
        let long = long.then(|| Long {
            names: (!listing.llnumeric).then(io.host.names),
            full_precision: listing.full_precision,
            utc_offset: listing.utc_offset(&io.host),
        });
        let form = Form { long, concise: listing.lc || listing.llc, root: &self.filter.dest };
        listing::print(image, selection, &form, io)
    }
}

/// Reads the pathnames in files. Leading blanks are ignored, lines that begin with `#` are comments, and a backslash at the start makes
/// the line literal.
fn names_in(files: &[PathBuf], io: &mut Io) -> Result<Vec<OsString>, Failure> {
    let mut names = Vec::new();
    for file in files {
        let list = TextList::read(file, Ending::Line, io)?;
        for (_, line) in list.items() {
            let line = line.trim_ascii_start();
            let name = line.strip_prefix(b"\\").unwrap_or(line);
            if !line.starts_with(b"#") && !name.is_empty() {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
    }
    Ok(names)
}

/// Checks a pathname of the command line.
fn pathname(path: &OsString) -> Result<&[u8], Failure> {
    if path.is_empty() {
        Err(Failure::usage("a file on the command line has no name (expected a pathname)"))
    } else {
        Ok(path.as_bytes())
    }
}

impl Filter {
    fn language(&self) -> Language {
        Language::of(self.no_wildcards, self.regex)
    }
}

impl Listing {
    /// Returns whether entries are listed rather than extracted, and if so, whether the listing is like `ls -l`.
    fn lists(&self) -> Option<bool> {
        let long = self.lls || self.llnumeric || self.llc || self.linfo;
        (self.ls || self.lc || self.lls || self.llnumeric || self.llc).then_some(long)
    }

    /// Returns whether the names of extracted entries are printed.
    fn shows_names(&self) -> bool {
        self.info || self.linfo
    }

    fn utc_offset(&self, host: &Host) -> fn(i64) -> i64 {
        if self.utc { |_| 0 } else { host.utc_offset }
    }
}

impl Machine {
    pub fn open(&self, image: &Path, io: &mut Io) -> Result<SquashFsImage, Failure> {
        Ok(self.place(image, io)?.open_squashfs(metadata_cache(self.mem))?)
    }

    fn place(&self, image: &Path, io: &mut Io) -> Result<ImagePlace, Failure> {
        place(image, Some(self.offset), io)
    }

    pub fn resources(&self, host: &Host) -> Resources {
        let share = self.mem_percent.and_then(|percent| Some((host.machine_memory)()? / 100 * percent));
        host.resources_or(self.processors.map(|wanted| wanted.min(WORKERS_MOST)), self.mem.or(share))
    }
}

/// Parses a percentage from 1 to 75, with or without a percent sign.
fn percent(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok().filter(|percent| (1..=75).contains(percent));
    number.ok_or_else(|| format!("'{text}' is not a percentage (expected 1 to 75)"))
}

impl Errors {
    /// Returns exit status 2 after errors that were reported and did not stop the program, unless it is not wanted.
    pub fn ended(&self, failed: bool) -> Result<(), Failure> {
        if failed && !self.no_exit_code { Err(Failure::AlreadyReported(2)) } else { Ok(()) }
    }
}
