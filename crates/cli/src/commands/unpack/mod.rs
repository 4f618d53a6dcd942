//! `packline unpack` unpacks an image, a tar, a cpio or zip archive, or a .lrz file to a directory or a tar.

mod report;
pub mod tar;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use packline::requests::{ContentKind, Destination, FileKind, ImagePlace, UnpackRequest, UnpackSummary};
use packline::{Error, RestoreAttributes};
use packline_image::{Duplicates, OpenedImage};
use packline_tree::destination::{DeviceRefused, OwnerRefused};

use crate::args::cache::ReadCache;
use crate::args::image::{PlnOpener, StreamArgs, Unopened};
use crate::args::keys::OpeningKeys;
use crate::args::patterns::{self, Exclude};
use crate::args::run_options::{Machine, NAMES, Reporting, SchedulingOptions};
use crate::args::text_list::Ending;
use crate::args::value::one_of;
use crate::args::{Command, Invocation, remote, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;
use crate::ui::password::password_of;
use crate::ui::target::target;

/// Unpack an image, an archive or a .lrz file to a directory or a tar
#[derive(Debug, clap::Args)]
pub struct Unpack {
    #[command(flatten)]
    place: StreamArgs,
    /// A new or empty directory, or a tar (.tar, .tar.gz, .tar.xz, .tar.zst, .tar.bz2, or - for standard output) [default: IMAGE's name
    /// without its ending]
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    dest: Option<PathBuf>,
    /// Unpack only what matches one of these patterns, and everything below it. A pattern that matches nothing is an error
    #[arg(value_name = "PATTERN")]
    patterns: Vec<OsString>,
    #[command(flatten)]
    entries: Entries,
    #[command(flatten)]
    attributes: Attributes,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
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
    /// Read patterns (--exclude-from) that end with a NUL byte instead of a line feed
    #[arg(short = '0', long)]
    null: bool,
    /// Unpack only the contents of this directory of the image; patterns are relative to DIR
    #[arg(long, value_name = "DIR")]
    subdir: Option<OsString>,
    /// Report what fails, continue, and exit with status 3. In a damaged file, zeros replace what cannot be read
    #[arg(long = "continue")]
    continue_on_error: bool,
    /// Leave out block and character devices
    #[arg(long)]
    no_devices: bool,
    /// Write holes as zeros
    #[arg(long)]
    no_sparse: bool,
    /// Write identical files as copies, reflinks (shared blocks), or hard links if all attributes are equal
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
    /// Do not set owners and groups. If run by root, this also clears set-user-id and set-group-id bits
    #[arg(long)]
    no_owner: bool,
    /// Leave out extended attributes
    #[arg(long)]
    no_xattrs: bool,
    /// Do not set times
    #[arg(long)]
    no_times: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct Output {
    /// Choose what to write, instead of deriving it from DEST's name
    #[arg(long, value_name = "WHAT", value_parser = one_of([("directory", TargetKind::Directory), ("tar", TargetKind::Tar)]))]
    to: Option<TargetKind>,
    /// Compress a tar with none, gzip, xz, zstd or bzip2, each with an optional :level=N [default: from DEST's name]
    #[arg(short, long, value_name = "CODEC")]
    compress: Option<String>,
    /// Unpack into a directory that is not empty, replacing files and keeping directories; or replace a tar
    #[arg(short, long)]
    force: bool,
    /// Sync all data to disk before the output gets the name DEST
    #[arg(long)]
    sync: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    Directory,
    Tar,
}

impl Command for Unpack {
    const NAME: &'static str = "unpack";
    const ALIASES: &'static [&'static str] = &["extract"];
    const ESSENTIAL: &'static [&'static str] =
        &["exclude", "exclude-from", "subdir", "continue", "owner", "no-xattrs", "compress", "force", "quiet", "json"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline unpack root.sqfs root/",
        "packline unpack root.sqfs etc/ --subdir etc -x '*.bak'",
        "packline unpack -f root.sqfs sysroot/ usr/bin 'usr/lib/lib*'",
        "packline unpack root.sqfs root.tar.zst -x '/var/{cache,log}/**'",
        "packline unpack backup.tar.zst restored/ home/me/notes",
    ];

    fn details() -> String {
        format!(
            "DEST appears when it is complete; until then it is named .DEST.packline-partial.\n\
             # Destinations\n\
             In an existing directory each file appears when it is complete, what was written before a failure stays, and data \
             is synced only with --sync. The next run removes the files that a killed run left.\n\
             A DEST that ends like another format (.zip, .tar.lz4, .sqfs) is rejected unless --to is given or DEST ends in a \
             slash.\n\
             A DEST that is the path of an entry of the image is rejected, because it may be meant as a pattern; ./DEST and \
             DEST/ are always destinations.\n\
             No symbolic link in or below DEST is followed, whoever created it. Permissions are the permissions in the image, \
             whatever the umask.\n\
             Extended attributes that the user may not set, or that the file system cannot store, are left out, with one \
             warning for each kind (user., security., trusted.).\n\
             # Selection and checks\n\
             If a pattern matches nothing, nothing is unpacked; with --continue, packline unpacks the matches of the other \
             patterns.\n\
             IMAGE may be a tar or a cpio archive (plain or compressed), or a zip archive. A tar is read once, also from a pipe. The last entry of a name is unpacked. A pattern that matches nothing is an \
             error at the end of the tar; what was written then stays in an existing directory. With --continue, packline \
             keeps what comes before a fault of the tar.\n\
             A selected hard link to a file that is left out gets the content of the file if packline can still read the \
             content: always in a plain file, up to 16M in a pipe or a compressed tar. Otherwise the link is an error.\n\
             The tar in a .lrz file can be written as a tar only completely.\n\
             After reading a complete image, packline compares its data with the checksum that pack stored after the image. A \
             difference is an error: damage that no decoder noticed, in any file.\n\
             An image, a zip archive or a .lrz file from a pipe is stored first, in TMPDIR or /var/tmp; an encrypted .lrz file cannot come \
             from a pipe.\n\
             {}",
            patterns::LANGUAGE
        )
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        invocation.need(&[("null", "exclude-from")])?;
        self.cache.open([&self.place.image], invocation, io)?;
        let mut opener = PlnOpener::new(&self.keys, self.machine.resources(&io.host));
        let from = self.place.unopened(&mut opener, io)?;
        opener.refuse_unused_keys(invocation)?;
        let mut opened = None;
        if let (None, Unopened::Image(place)) = (&self.dest, &from) {
            // A fault of IMAGE is more important than a missing DEST.
            opened = Some(self.open(place, io).map_err(explain)?);
        }
        let destination = self.destination()?;
        let to_tar = self.to_tar(&destination)?;
        match &from {
            Unopened::Image(place) => {
                self.refuse_options(to_tar, invocation)?;
                opened = opened.or(self.check_for_entry(place, to_tar, io)?);
            }
            Unopened::Lrz(_) => self.refuse_options_for_lrz(&destination, to_tar, invocation)?,
            Unopened::Tar(tar) => self.refuse_options_for_tar(tar.content_kind(), to_tar, invocation)?,
        }
        let Reporting { quiet, json, stats, .. } = self.reporting;
        if to_tar && json && destination.as_os_str() == "-" {
            return Err(wrong("json", "the tar goes to standard output"));
        }
        let operands = [&*self.place.image, &*destination];
        let options = self.scheduling.start(stats, Some(self.output.force), &operands, io)?;
        let mut request = self.request(io)?;
        let is_lrz = matches!(from, Unopened::Lrz(_));
        let is_image = matches!(from, Unopened::Image(_));
        let resources = if is_lrz { self.machine.lrz_resources(&io.host) } else { opener.resources };
        request.resources = options.apply(resources);
        if to_tar && is_image && !request.subdirectory.is_empty() && !request.selection.is_all() {
            return Err(wrong("subdir", "cannot be used with patterns or --exclude if an image becomes a tar"));
        }
        let to = self.target(destination, to_tar, io)?;
        let password = match &from {
            Unopened::Lrz(place) if !place.is_stored() && !place.is_remote() => password_of(&place.path, io)?,
            _ => None,
        };
        let unpacked = with_observer(io, self.reporting.bar(), |observer| match (from, opened, to) {
            (_, Some(image), Destination::Directory(path)) => {
                Ok(UnpackSummary::Directory(packline_image::unpack(&image, request, path, observer)?))
            }
            (Unopened::Tar(tar), _, to) => packline::requests::unpack_tar(tar, request, to, observer),
            (Unopened::Image(place) | Unopened::Lrz(place), _, to) => {
                packline::requests::unpack(&place, request, to, password.as_deref(), observer)
            }
        });
        let peak = (io.host.peak_memory)();
        let (object, text, bytes, failed) =
            report::summary(&unpacked.map_err(|error| explain(error).of_incomplete_file())?, peak);
        options.report((json, quiet), object, text, bytes, io);
        options.write_trace_or_warn(invocation, io);
        if failed { Err(Failure::AlreadyReported(3)) } else { Ok(()) }
    }
}

/// The formats that are unpacked, for messages.
const READ: &str = "a SquashFS or EROFS image, a tar, a cpio or zip archive, a .lrz or a .pln file";
/// The options with an effect on a .lrz file.
const OF_LRZ: [&str; 7] = ["to", "force", "quiet", "no-progress", "json", "jobs", "mem"];
/// The options with an effect on a .lrz file that is unpacked to a directory.
const OF_LRZ_TO_DIRECTORY: [&str; 11] = [
    "owner",
    "no-owner",
    "no-xattrs",
    "no-times",
    "no-devices",
    "no-sparse",
    "sync",
    "exclude",
    "exclude-from",
    "null",
    "subdir",
];
/// The options of directories.
const OF_DIRECTORIES: [&str; 6] = ["owner", "no-owner", "no-times", "no-devices", "dedupe", "sync"];

impl Unpack {
    /// Returns DEST, or the image's name without its ending, in the current directory, if that does not exist.
    pub(crate) fn destination(&self) -> Result<PathBuf, Failure> {
        if let Some(dest) = &self.dest {
            return Ok(dest.clone());
        }
        let image = remote::named(&self.place.image);
        let name = Path::new(image.file_name().unwrap_or_default());
        let name = without_ending(name).filter(|_| self.output.to != Some(TargetKind::Tar));
        let dest = name.ok_or_else(|| Failure::usage("the destination is missing: packline unpack IMAGE DEST"))?;
        match dest.symlink_metadata() {
            Ok(_) => {
                let hint = "name another directory: packline unpack IMAGE DEST";
                Err(Failure::failed(format!("{}: already exists; {hint}", dest.escaped())))
            }
            Err(_) => Ok(dest),
        }
    }

    /// Returns whether the destination is a tar: by `--to`, or otherwise by its name, unless it is or must be a directory.
    fn to_tar(&self, destination: &Path) -> Result<bool, Failure> {
        match self.output.to {
            Some(to) => Ok(to == TargetKind::Tar),
            None if self.dest.is_none() => Ok(false),
            None => tar::is_name_of_tar(destination),
        }
    }

    fn open(&self, place: &ImagePlace, io: &Io) -> Result<OpenedImage, Error> {
        place.open(packline_image::metadata_cache(self.machine.resources(&io.host).memory))
    }

    /// Rejects a DEST that is the path of an entry, because DEST may be meant as the first pattern: without DIR, the complete image would be
    /// unpacked into a directory that often exists, such as `etc`. `./DIR`, `/DIR`, `DIR/` and the name of the directory that --subdir
    /// unpacks are destinations. Returns the image if it was opened.
    fn check_for_entry(&self, place: &ImagePlace, to_tar: bool, io: &Io) -> Result<Option<OpenedImage>, Failure> {
        let dest = self.dest.as_ref().filter(|_| !to_tar && self.entries.subdir.is_none());
        let Some(dest) = dest else { return Ok(None) };
        let typed = dest.as_os_str().as_encoded_bytes();
        if typed.starts_with(b"/") || typed.starts_with(b"./") || typed.ends_with(b"/") || typed == b"." {
            return Ok(None);
        }
        // A path or an image that is not valid is an error later.
        let Ok(path) = packline_tree::path::canonical(typed) else { return Ok(None) };
        let Ok(opened) = self.open(place, io) else { return Ok(None) };
        if !matches!(opened.volume.resolve(&path), Ok(Some(_))) {
            return Ok(Some(opened));
        }
        let image = place.path.escaped();
        let entry = dest.escaped();
        Err(Failure::usage(format!(
            "{entry} is an entry of the image, not a destination; packline unpack {image} DIR {entry} unpacks it; write \
             ./{entry} for a directory of this name"
        )))
    }

    /// Rejects options without effect.
    fn refuse_options(&self, to_tar: bool, invocation: &Invocation) -> Result<(), Failure> {
        match (to_tar, OF_DIRECTORIES.iter().find(|long| invocation.has(long))) {
            (true, Some(long)) => Err(wrong(long, "works only when DEST is a directory (DEST is a tar)")),
            (false, _) if self.output.compress.is_some() => {
                Err(wrong("compress", "only a tar can be compressed (DEST is a directory)"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the destination.
    fn target(&self, destination: PathBuf, to_tar: bool, io: &mut Io) -> Result<Destination, Failure> {
        if !to_tar {
            return Ok(Destination::Directory(destination));
        }
        let compression = tar::compression(self.output.compress.as_deref(), &destination)?;
        Ok(Destination::Tar(target(&destination, self.output.force, &self.place.image, io)?, compression))
    }

    /// Rejects options without effect on a tar.
    fn refuse_options_for_tar(&self, kind: ContentKind, to_tar: bool, invocation: &Invocation) -> Result<(), Failure> {
        if invocation.has("dedupe") {
            return Err(wrong("dedupe", "works only with an image"));
        }
        if to_tar && invocation.has("continue") {
            let why = format!("works only when DEST is a directory, because the source is {kind}");
            return Err(wrong("continue", why));
        }
        self.refuse_options(to_tar, invocation)
    }

    /// Rejects options without effect on a .lrz file.
    fn refuse_options_for_lrz(&self, destination: &Path, to_tar: bool, invocation: &Invocation) -> Result<(), Failure> {
        let of_directories: &[&str] = if to_tar { &[] } else { &OF_LRZ_TO_DIRECTORY };
        if let Some(long) =
            invocation.explicit_except(&[&OF_LRZ[..], of_directories, &NAMES, &ReadCache::NAMES].concat())
        {
            return Err(wrong(long, "is not supported for .lrz files"));
        }
        if to_tar && !self.patterns.is_empty() {
            return Err(Failure::usage("the tar in a .lrz file can be written as a tar only completely"));
        }
        match FileKind::of_path(destination) {
            Some(kind) if to_tar && kind.is_compressed() => Err(Failure::usage(
                "the tar in a .lrz file cannot be compressed again; choose a name that ends in .tar",
            )),
            _ => Ok(()),
        }
    }

    fn request(&self, io: &mut Io) -> Result<UnpackRequest, Failure> {
        let mut request = UnpackRequest::default();
        request.force = self.output.force;
        request.sync = self.output.sync;
        request.subdirectory = self.entries.subdirectory()?;
        request.selection = self.entries.exclude.selection(&self.patterns, Ending::of(self.entries.null), io)?;
        request.continue_on_error = self.entries.continue_on_error;
        request.restore = self.attributes.kept();
        request.devices = !self.entries.no_devices;
        request.sparse = !self.entries.no_sparse;
        request.duplicates = self.entries.dedupe;
        request.temporaries = io.temporaries.clone();
        Ok(request)
    }
}

/// Returns a name without the ending of its format, including .tar and .erofs; `None` without such an ending, and if nothing would remain.
fn without_ending(name: &Path) -> Option<PathBuf> {
    let kind = FileKind::of_path(name)?;
    let stem = PathBuf::from(name.file_stem()?);
    if kind == FileKind::Pln {
        return without_ending(&stem).or(Some(stem));
    }
    let is_ending = matches!(FileKind::of_path(&stem), Some(FileKind::Tar(_) | FileKind::Erofs));
    if is_ending { stem.file_stem().map(PathBuf::from) } else { Some(stem) }
}

impl Entries {
    /// Returns the directory of the image that is unpacked, in canonical form; empty for the root.
    fn subdirectory(&self) -> Result<Vec<u8>, Failure> {
        let Some(raw) = &self.subdir else { return Ok(Vec::new()) };
        packline_tree::path::canonical(raw.as_encoded_bytes())
            .map_err(|fault| wrong("subdir", format!("{fault} (expected {})", fault.expected())))
    }
}

impl Attributes {
    /// Returns which attributes are restored.
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

/// Adds a hint: to an error about what only root may do, an option; to an error about the container, what can be unpacked.
fn explain(error: Error) -> Failure {
    if let Error::Container { path, found, .. } = &error {
        return found.instead_of(path, READ).into();
    }
    if let Error::Unrecognized { path, what, .. } = error {
        return Error::Unrecognized { path, what, expected: READ.to_string() }.into();
    }
    let Error::Output { path, action, cause } = &error else { return error.into() };
    let source = cause.get_ref();
    if *action == "cannot open" && cause.kind() == ErrorKind::NotFound && source.is_none() {
        return Failure::failed(format!("{}: the directory does not exist", path.escaped()));
    }
    // Even root in a user namespace cannot create devices, and can set only the owners that the namespace maps.
    if source.is_some_and(|source| source.is::<DeviceRefused>()) {
        let way = "creating devices needs root outside a user namespace; --no-devices leaves them out";
        return Failure::failed(format!("{error}; {way}"));
    }
    if source.is_some_and(|source| source.is::<OwnerRefused>()) {
        let way = "setting owners needs root, and a user namespace sets only owners that it maps; --no-owner leaves owners out";
        return Failure::failed(format!("{error}; {way}"));
    }
    error.into()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
