//! `unsquashfs`: extracts an image or lists what is in it, with the options, output and exit codes of squashfs-tools 4.7.5.
//!
//! Differences, all on purpose: a destination that does not exist gets its name when everything is in it, and does not exist after a fatal
//! error; nothing is ever written through a symbolic link; `-info` prints the names before extraction rather than during it; a symbolic link
//! with an absolute target is extracted if it is named on the command line, which 4.7.5 refuses and 4.5.1 did.

mod cat;
mod extract;
mod listing;
mod resolve;
mod selection;
mod stat;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use packline::{Resources, Selection};
use packline_image::{ImagePlace, OpenedImage};

use crate::args::value::{number, size};
use crate::args::{Command, Compat, Invocation};
use crate::compat::squashfs_tools::name_pattern::Language;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::{Host, Io};
use listing::{Form, Long};
use resolve::Resolver;
use selection::Chosen;

pub use cat::cat;

/// Extract a SquashFS image, or list what is in it (drop-in for squashfs-tools)
#[derive(Debug, clap::Args)]
pub struct Unsquashfs {
    /// The image: a file or a block device
    #[arg(value_name = "FILESYSTEM")]
    image: PathBuf,
    /// Files and directories to list or extract, or with -excludes not to; with -cat, files to print. Wildcards match names, never a
    /// '/'; '... NAME' with -excludes leaves NAME out wherever it is
    #[arg(value_name = "FILE", trailing_var_arg = true, allow_hyphen_values = true)]
    files: Vec<OsString>,
    #[command(flatten)]
    filter: Filter,
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
    /// Directory to extract to; what stands for the root in listings
    // Not a `PathBuf` for clap, which refuses an empty one: in listings an empty text is usual.
    #[arg(long, visible_alias = "d", value_name = "DIR", default_value = "squashfs-root")]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    dest: PathBuf,
    /// Descend into at most so many levels of directories
    #[arg(long, visible_alias = "max", value_name = "LEVELS", value_parser = number::<usize>(0..=i64::from(i32::MAX)))]
    max_depth: Option<usize>,
    /// Leave out the files on the command line, rather than everything else
    #[arg(long)]
    excludes: bool,
    /// Leave out these files; the list ends with ';'
    #[arg(long, visible_alias = "ex", value_name = "FILE", num_args = 1.., value_terminator = ";")]
    exclude_list: Vec<OsString>,
    /// Abort if a file to extract or to leave out is not there
    #[arg(long = "match", visible_alias = "missing", alias = "missing-symlinks")]
    missing: bool,
    /// Follow a symbolic link at the end of a file's path, and extract what it points to as well
    #[arg(long = "follow-symlinks", visible_aliases = ["follow", "L"], alias = "follow-symlink")]
    follow: bool,
    /// Take names as they are
    #[arg(long = "no-wildcards", visible_alias = "no-wild", conflicts_with = "regex")]
    no_wildcards: bool,
    /// Take names as POSIX extended regular expressions
    #[arg(long, visible_alias = "r")]
    regex: bool,
    /// Print the files to standard output
    #[arg(long)]
    cat: bool,
    /// Extract into directories that exist, and replace files
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
    /// Print the time of creation, seconds since 1970
    #[arg(long, visible_alias = "fstime")]
    mkfs_time: bool,
    /// Print the names of what is extracted
    #[arg(long, visible_alias = "i")]
    info: bool,
    /// Print what is extracted, as ls -l has it
    #[arg(long, visible_alias = "li")]
    linfo: bool,
    /// List names; extract nothing
    #[arg(long, visible_alias = "l")]
    ls: bool,
    /// List as ls -l; extract nothing
    #[arg(long, visible_alias = "ll")]
    lls: bool,
    /// As -lls, with numbers for owners
    #[arg(long, visible_alias = "lln")]
    llnumeric: bool,
    /// As -ls, without directories that have entries
    #[arg(long)]
    lc: bool,
    /// As -lls, without directories that have entries
    #[arg(long)]
    llc: bool,
    /// Print times with seconds
    #[arg(long, visible_alias = "full")]
    full_precision: bool,
    /// Print times in UTC rather than in local time
    #[arg(long = "UTC")]
    utc: bool,
    /// Print no counts
    #[arg(long, visible_alias = "q")]
    quiet: bool,
    /// No progress bar
    #[arg(long, visible_alias = "n")]
    no_progress: bool,
}

/// Processors, memory, and the image's place.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
pub struct Machine {
    /// Number of threads [default: number of CPUs]
    #[arg(long, visible_alias = "p", value_name = "NUMBER", value_parser = number::<usize>(1..=i64::from(i32::MAX)))]
    processors: Option<usize>,
    /// Memory limit [default: what the cgroup allows]
    #[arg(long, value_name = "SIZE", value_parser = size(2 << 20..=1 << 51))]
    mem: Option<u64>,
    /// Memory limit in percent of the machine's memory
    #[arg(long, value_name = "PERCENT", value_parser = crate::args::value::text(percent))]
    mem_percent: Option<u64>,
    /// Has no effect: -mem limits memory as a whole
    #[arg(long, visible_alias = "da", value_name = "MBYTES", value_parser = number::<u32>(1..=i64::from(i32::MAX)))]
    data_queue: Option<u32>,
    /// Has no effect: -mem limits memory as a whole
    #[arg(long, visible_alias = "fr", value_name = "MBYTES", value_parser = number::<u32>(1..=i64::from(i32::MAX)))]
    frag_queue: Option<u32>,
    /// Byte at which the image starts in the file
    #[arg(long, visible_alias = "o", value_name = "BYTES", default_value = "0", value_parser = size(0..=u64::MAX))]
    offset: u64,
}

/// Which errors end the program.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Errors")]
pub struct Errors {
    /// Go on after errors of writing files
    #[arg(long, visible_alias = "ig", conflicts_with = "strict_errors")]
    ignore_errors: bool,
    /// End at every error
    #[arg(long, visible_alias = "st", conflicts_with = "no_exit_code")]
    strict_errors: bool,
    /// Exit with 0 after errors that did not end the program
    #[arg(long, visible_alias = "no-exit")]
    no_exit_code: bool,
}

impl Command for Unsquashfs {
    const NAME: &'static str = "unsquashfs";
    const COMPAT: Compat = Compat::SquashfsTools;

    fn details() -> String {
        "Options come before FILESYSTEM.".to_string()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let image = self.machine.open(&self.image)?;
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
        if self.filter.dest.as_os_str().is_empty() {
            return Err(Failure::usage("-dest: the directory has no name (expected '.' for the current directory)"));
        }
        if self.listing.info || self.listing.linfo {
            self.print(&image, &selection, self.listing.linfo, io)?;
        }
        self.extract(&image, selection, resources, io)
    }
}

impl Unsquashfs {
    /// Resolves the files on the command line.
    fn selection(&self, image: &OpenedImage, io: &mut Io) -> Result<Selection, Failure> {
        let filter = &self.filter;
        let resolver = Resolver { image, language: filter.language(), follow_last: filter.follow };
        let mut chosen = Chosen::new(filter.max_depth);
        for path in &filter.exclude_list {
            let exact = Resolver { follow_last: false, ..resolver };
            self.missing(chosen.exclude(pathname(path)?, &exact)?, path, io)?;
        }
        for path in &self.files {
            let faults = match filter.excludes {
                true => chosen.exclude(pathname(path)?, &Resolver { follow_last: false, ..resolver })?,
                false => chosen.extract(pathname(path)?, &resolver)?,
            };
            self.missing(faults, path, io)?;
        }
        Ok(chosen.selection())
    }

    /// Reports parts of a pathname that lead nowhere: a failure with `-match`.
    fn missing(&self, faults: Vec<String>, path: &OsString, io: &mut Io) -> Result<(), Failure> {
        let none = faults.is_empty();
        faults.iter().for_each(|fault| io.eprintln(&format!("unsquashfs: {fault}")));
        match self.filter.missing && !none {
            true => Err(Failure::failed(format!("not all of '{}' is there (-match was given)", path.escaped()))),
            false => Ok(()),
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

/// A pathname of the command line.
fn pathname(path: &OsString) -> Result<&[u8], Failure> {
    match path.is_empty() {
        true => Err(Failure::usage("a file on the command line has no name (expected a pathname)")),
        false => Ok(path.as_bytes()),
    }
}

impl Filter {
    fn language(&self) -> Language {
        Language::of(self.no_wildcards, self.regex)
    }
}

impl Listing {
    /// Whether entries are listed rather than extracted, and if so, whether as `ls -l` has them.
    fn lists(&self) -> Option<bool> {
        let long = self.lls || self.llnumeric || self.llc || self.linfo;
        (self.ls || self.lc || self.lls || self.llnumeric || self.llc).then_some(long)
    }

    fn utc_offset(&self, host: &Host) -> fn(i64) -> i64 {
        if self.utc { |_| 0 } else { host.utc_offset }
    }
}

impl Machine {
    /// # Errors
    /// Those of opening the image.
    pub fn open(&self, image: &Path) -> Result<OpenedImage, Failure> {
        let place = ImagePlace { path: image.to_path_buf(), offset: Some(self.offset) };
        Ok(place.open(packline_image::metadata_cache(self.mem))?)
    }

    pub fn resources(&self, host: &Host) -> Resources {
        let share = self.mem_percent.zip(host.machine_memory).map(|(percent, all)| all / 100 * percent);
        let mut resources = host.resources();
        resources.workers = self.processors.unwrap_or(host.processors);
        resources.memory_limit(self.mem.or(share).or(host.memory_limit))
    }
}

/// 1 to 75, with or without a percent sign.
fn percent(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok().filter(|percent| (1..=75).contains(percent));
    number.ok_or_else(|| format!("'{text}' is not a percentage (expected 1 to 75)"))
}

impl Errors {
    /// The end after errors that were reported and did not stop the program.
    ///
    /// # Errors
    /// Status 2, unless it is not wanted.
    pub fn ended(&self, failed: bool) -> Result<(), Failure> {
        if failed && !self.no_exit_code { Err(Failure::AlreadyReported(2)) } else { Ok(()) }
    }
}
