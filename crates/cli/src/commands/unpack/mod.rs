//! `packline unpack`: an image becomes a directory again, or a tar.

mod lrz;
pub mod tar;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use packline::requests::FileKind;
use packline::{Error, RestoreAttributes};
use packline_image::{ContentKind, Duplicates, UnpackRequest, UnpackSummary};
use packline_tree::destination::DeviceRefused;
use serde_json::{Value, json};

use crate::args::image::ImageArgs;
use crate::args::machine::Machine;
use crate::args::patterns::{self, Exclude};
use crate::args::reporting::Reporting;
use crate::args::run_options::{RunOptions, SchedulingOptions};
use crate::args::value::one_of;
use crate::args::{Command, Invocation, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::report;
use crate::ui::size::{count, show_bytes};

/// Unpack an image, or a tar in a .lrz file, to a directory or a tar
#[derive(Debug, clap::Args)]
pub struct Unpack {
    #[command(flatten)]
    place: ImageArgs,
    /// The directory to make; an existing one must be empty, or --force given. Or a tar: a name that ends in .tar or .tar.gz,
    /// .tar.xz, .tar.zst, .tar.bz2, or - for standard output [default: IMAGE's name without its ending, a new directory]
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    dest: Option<PathBuf>,
    /// Unpack only entries that match one of these patterns, and all below them; one that matches nothing is an error
    #[arg(value_name = "PATTERN")]
    patterns: Vec<OsString>,
    #[command(flatten)]
    entries: Entries,
    #[command(flatten)]
    attributes: Attributes,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    scheduling: SchedulingOptions,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    reporting: Reporting,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Entries")]
struct Entries {
    #[command(flatten)]
    exclude: Exclude,
    /// Unpack what is below this directory of the image; patterns start there too
    #[arg(long, value_name = "DIR")]
    subdir: Option<OsString>,
    /// Report what fails and continue with the rest; the exit status is then 2
    #[arg(long = "continue")]
    continue_on_error: bool,
    /// Leave out block and character devices
    #[arg(long)]
    no_devices: bool,
    /// Write holes as zeros
    #[arg(long)]
    no_sparse: bool,
    /// How to write identical files: copy, reflink (share blocks, where the file system can), hardlink (if all attributes are
    /// equal too)
    #[arg(long, value_name = "HOW", default_value = "copy")]
    #[arg(value_parser = one_of([("copy", Duplicates::Copy), ("reflink", Duplicates::Reflink), ("hardlink", Duplicates::HardLink)]))]
    dedupe: Duplicates,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Attributes")]
struct Attributes {
    /// Set owners and groups [default: if run by root]
    #[arg(long, conflicts_with = "no_owner")]
    owner: bool,
    /// Do not set owners and groups; run by root, set-user-id and set-group-id bits are cleared too
    #[arg(long)]
    no_owner: bool,
    /// Leave extended attributes out
    #[arg(long)]
    no_xattrs: bool,
    /// Do not set times
    #[arg(long)]
    no_times: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    /// What to write, instead of the choice by DEST's name
    #[arg(long, value_name = "WHAT", value_parser = one_of([("directory", To::Directory), ("tar", To::Tar)]))]
    to: Option<To>,
    /// Codec of a tar, instead of the choice by DEST's name: none, or gzip, xz, zstd, bzip2 with an optional :level=N
    #[arg(short, long, value_name = "CODEC")]
    compress: Option<String>,
    /// Unpack into a directory that is not empty: files are replaced, directories kept; replace a tar
    #[arg(short, long)]
    force: bool,
    /// fsync all data before renaming to DEST
    #[arg(long)]
    sync: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Directory,
    Tar,
}

impl Command for Unpack {
    const NAME: &'static str = "unpack";
    const ALIASES: &'static [&'static str] = &["extract"];

    fn details() -> String {
        format!(
            "{}\n\
             DEST appears when everything is in it: until then it is called .DEST.packline-partial. In an existing directory, each \
             file appears when it is whole. What a killed run left is removed by the next one.\n\
             No symbolic link is followed in or below DEST, whoever made it. Permissions are those of the image, whatever the umask.\n\
             Extended attributes that the user may not set, or the file system does not store, are left out with a warning for each \
             kind (user., security., trusted.).\n\
             A name that ends as that of another format (.zip, .tar.lz4, .sqfs) is refused unless --to is given, or it ends in a slash.\n\
             The tar in a .lrz file is unpacked as a whole; options of images are refused for it.\n\
             If a pattern matches nothing, nothing is unpacked; with --continue the rest is.\n\
             In an existing directory, what was written before a failure stays. A directory's data is synced only with --sync.\n\
             Examples: packline unpack root.sqfs root/\n          \
             packline unpack root.sqfs etc/ --subdir etc -x '*.bak'\n          \
             packline unpack -f root.sqfs sysroot/ usr/bin 'usr/lib/lib*'\n          \
             packline unpack root.sqfs root.tar.zst -x '/var/{{cache,log}}/**'",
            patterns::LANGUAGE
        )
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let destination = self.destination()?;
        let to_tar = self.to_tar(&destination)?;
        let is_lrz = self.place.container() == Some(ContentKind::Lrz);
        self.refuse_options(is_lrz, to_tar, invocation)?;
        let Reporting { json, stats, .. } = self.reporting;
        if to_tar && json && destination.as_os_str() == "-" {
            return Err(wrong("json", "standard output is taken by the tar"));
        }
        let operands = [&*self.place.image, &*destination];
        let options = self.scheduling.start(stats, Some(self.output.force), &operands, io)?;
        let status = match (is_lrz, to_tar) {
            (true, _) => lrz::run(&self, destination, to_tar, &options, io)?,
            (false, true) => tar::run(&self, destination, &options, io)?,
            (false, false) => self.to_directory(destination, &options, io)?,
        };
        options.write_trace_or_warn(invocation, io);
        match status {
            Outcome::Whole => Ok(()),
            Outcome::WithErrors => Err(Failure::AlreadyReported(2)),
        }
    }
}

/// What was unpacked, if unpacking did not fail as a whole.
pub(crate) enum Outcome {
    Whole,
    /// With `--continue`: some entries failed, and have been reported.
    WithErrors,
}

/// Options that mean something for a .lrz file.
const OF_LRZ: [&str; 7] = ["to", "force", "quiet", "no-progress", "json", "jobs", "mem"];
/// Those that do if it becomes a directory.
const OF_LRZ_TO_DIRECTORY: [&str; 6] = ["owner", "no-owner", "no-xattrs", "no-times", "no-devices", "sync"];
/// Options of directories only.
const OF_DIRECTORIES: [&str; 6] = ["owner", "no-owner", "no-times", "no-devices", "dedupe", "sync"];

impl Unpack {
    /// DEST, or the image's name without its ending, in the current directory, if nothing is there.
    pub(crate) fn destination(&self) -> Result<PathBuf, Failure> {
        if let Some(dest) = &self.dest {
            return Ok(dest.clone());
        }
        let name = Path::new(self.place.image.file_name().unwrap_or_default());
        let name = without_ending(name).filter(|_| self.output.to != Some(To::Tar));
        let dest = name.ok_or_else(|| Failure::usage("missing argument: DEST"))?;
        match dest.symlink_metadata() {
            Ok(_) => {
                Err(Failure::failed(format!("{}: exists already (expected DEST on the command line)", dest.escaped())))
            }
            Err(_) => Ok(dest),
        }
    }

    /// Whether the destination is a tar: by `--to`, or else by its name, unless it is or must be a directory.
    fn to_tar(&self, destination: &Path) -> Result<bool, Failure> {
        match self.output.to {
            Some(to) => Ok(to == To::Tar),
            None if self.dest.is_none() => Ok(false),
            None => tar::is_name_of_tar(destination),
        }
    }

    /// Refuses options without effect.
    fn refuse_options(&self, is_lrz: bool, to_tar: bool, invocation: &Invocation) -> Result<(), Failure> {
        if is_lrz {
            return lrz::refuse_options(&self.patterns, to_tar, invocation);
        }
        match (to_tar, OF_DIRECTORIES.iter().find(|long| invocation.has(long))) {
            (true, Some(long)) => Err(wrong(long, "only a directory can be unpacked so (DEST is a tar)")),
            (false, _) if self.output.compress.is_some() => {
                Err(wrong("compress", "only a tar can be compressed (DEST is a directory)"))
            }
            _ => Ok(()),
        }
    }

    fn to_directory(&self, destination: PathBuf, options: &RunOptions, io: &mut Io) -> Result<Outcome, Failure> {
        let mut request = self.request(destination, io)?;
        request.resources = options.apply(request.resources);
        let unpacked = watched(io, self.reporting.bar(), |observer| packline_image::unpack(request, observer));
        let summary = unpacked.map_err(explain)?;
        let peak = (io.host.peak_memory)();
        let Reporting { quiet, json, .. } = self.reporting;
        options.report((json, quiet), as_json(&summary, peak), as_text(&summary, peak), io);
        Ok(if summary.counts.errors > 0 { Outcome::WithErrors } else { Outcome::Whole })
    }

    fn request(&self, destination: PathBuf, io: &Io) -> Result<UnpackRequest, Failure> {
        Ok(UnpackRequest {
            force: self.output.force,
            subdirectory: self.entries.subdirectory()?,
            selection: self.entries.exclude.selection(&self.patterns)?,
            continue_on_error: self.entries.continue_on_error,
            restore: self.attributes.kept(),
            devices: !self.entries.no_devices,
            sparse: !self.entries.no_sparse,
            duplicates: self.entries.dedupe,
            sync: self.output.sync,
            resources: self.machine.resources(&io.host),
            temporaries: io.temporaries.clone(),
            ..UnpackRequest::new(self.place.place(), destination)
        })
    }
}

/// A name without the ending of its format; none if it has no such ending, or is nothing else. A tar's ending goes too.
fn without_ending(name: &Path) -> Option<PathBuf> {
    FileKind::of_path(name)?;
    let stem = PathBuf::from(name.file_stem()?);
    let tar = matches!(FileKind::of_path(&stem), Some(FileKind::Tar(_)));
    if tar { stem.file_stem().map(PathBuf::from) } else { Some(stem) }
}

impl Entries {
    /// The directory of the image that is unpacked, canonical; empty for the root.
    fn subdirectory(&self) -> Result<Vec<u8>, Failure> {
        let Some(raw) = &self.subdir else { return Ok(Vec::new()) };
        packline_tree::path::canonical(raw.as_encoded_bytes())
            .map_err(|fault| wrong("subdir", format!("{fault} (expected {})", fault.expected())))
    }
}

impl Attributes {
    /// Which attributes are set.
    fn kept(&self) -> RestoreAttributes {
        let owners = !self.no_owner && (self.owner || is_root());
        RestoreAttributes {
            permissions: true,
            owners,
            set_id: owners || !is_root(),
            xattrs: !self.no_xattrs,
            times: !self.no_times,
            destination: true,
        }
    }
}

/// Adds the way out to an error about what only root may do.
fn explain(error: Error) -> Failure {
    let is_device = |cause: &io::Error| cause.get_ref().is_some_and(|source| source.is::<DeviceRefused>());
    let device = matches!(&error, Error::Output { cause, .. } if is_device(cause) && !is_root());
    if device {
        return Failure::failed(format!("{error} (devices need root; --no-devices leaves them out)"));
    }
    error.into()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_text(summary: &UnpackSummary, peak: Option<u64>) -> String {
    let counts = &summary.counts;
    let mut lines = vec![
        report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special),
        format!(
            "{} of content, {} read, {} written",
            show_bytes(counts.content_bytes),
            show_bytes(counts.read_bytes),
            show_bytes(counts.written_bytes)
        ),
    ];
    if counts.shared > 0 {
        lines.push(format!("{} with the content of others", count(counts.shared, "file")));
    }
    if counts.errors > 0 {
        lines.push(count(counts.errors, "error"));
    }
    lines.push(report::workers(summary.workers, summary.workers_wanted, peak));
    lines.join("\n")
}

fn as_json(summary: &UnpackSummary, peak: Option<u64>) -> Value {
    let counts = &summary.counts;
    json!({
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "special": counts.special,
        "devices_left_out": counts.devices_left_out,
        "shared_files": counts.shared,
        "content_bytes": counts.content_bytes,
        "read_bytes": counts.read_bytes,
        "written_bytes": counts.written_bytes,
        "fragment_blocks_decoded": counts.fragments.decoded,
        "fragment_blocks_put_away": counts.fragments.spilled,
        "errors": counts.errors,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
        "peak_memory_bytes": peak,
    })
}
