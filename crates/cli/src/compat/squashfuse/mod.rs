//! `squashfuse` and `squashfuse_ll` mount an image as a directory, with the options and exit codes of squashfuse 0.6.1 and of libfuse 3,
//! the library that it uses.

mod notify;
mod settings;
pub mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use packline::Error;
use packline_image::{Mounted, metadata_cache};

use crate::args::{Command, Compat, Invocation};
use crate::commands::mount::{self, serve};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::logging;
use notify::NotifyPipe;
use settings::Settings;

/// Mount an image on a directory, read-only (drop-in for squashfuse)
#[derive(Debug, clap::Args)]
pub struct Squashfuse {
    #[command(flatten)]
    options: Options,
}

/// Mount an image on a directory, read-only (drop-in for squashfuse_ll)
#[derive(Debug, clap::Args)]
pub struct SquashfuseLl {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, clap::Args)]
struct Options {
    /// The image: a file or a block device
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    archive: PathBuf,
    /// The directory to mount on; or /dev/fd/N, an open /dev/fuse that is already mounted
    #[arg(value_hint = clap::ValueHint::DirPath)]
    mountpoint: PathBuf,
    /// Set options, separated by commas; a backslash makes a comma part of a word
    #[arg(short, long, value_name = "WORDS")]
    options: Vec<String>,
    /// Stay in the foreground and report read errors until the image is unmounted
    #[arg(short, long)]
    foreground: bool,
    /// Print each request of the kernel, in the foreground
    #[arg(short, long)]
    debug: bool,
    /// Use one processor: one thread answers requests, another one reads ahead
    #[arg(short, long)]
    single_thread: bool,
    /// Accepted without effect: a mount is always read-only
    #[arg(short = 'r', long = "read-only")]
    _read_only: bool,
    /// Accepted without effect: there is no table of mounts to write
    #[arg(short = 'n', long = "no-mtab")]
    _no_mtab: bool,
    /// With --foreground, print a line once the image can be used, and leave the terminal and the working directory. squashfuse starts its
    /// background process with this option
    #[arg(long, requires = "foreground", hide_short_help = true)]
    announce: bool,
}

/// The differences between the two programs.
#[derive(Debug)]
struct Program {
    name: &'static str,
    /// The exit status if the mount point does not exist.
    no_point: u8,
    /// The exit status if the mount fails.
    refused: u8,
    /// Whether an owner or group of 0 means each entry's own.
    zero_is_own: bool,
}

static SQUASHFUSE: Program = Program { name: "squashfuse", no_point: 1, refused: 4, zero_is_own: false };
static SQUASHFUSE_LL: Program = Program { name: "squashfuse_ll", no_point: 254, refused: 1, zero_is_own: true };

/// The exit status for an image that cannot be opened.
const NO_IMAGE: u8 = 255;
/// The exit status of wrong usage.
const USAGE: u8 = 254;

const DIFFERENCES: &[&str] = &[
    "Several threads answer, under both names, unless -s is given.",
    "The command returns, and 's' is written to a notify_pipe, when the first request would be answered.",
    "The kernel's mount is always read-only, whatever the options: writing fails with EROFS.",
    "Directory sizes and inode numbers are those that the kernel's SquashFS shows.",
    "If an image has a codec, a defect or a size with which that release stops, the entries that can be read are shown.",
    "Both names have all words: uid=, gid= and timeout= of squashfuse_ll, and the words of libfuse for squashfuse.",
    "subdir= follows symbolic links inside the image.",
    "auto_unmount needs allow_other or allow_root, except for root.",
    "An unknown word or option, or a missing operand, is wrong usage, with exit status 254. --help and --version print to \
     standard output, with exit status 0.",
    "In the foreground, SIGINT, SIGTERM and SIGHUP unmount lazily, and the exit status is 0.",
];

impl Command for Squashfuse {
    const NAME: &'static str = "squashfuse";
    const COMPAT: Compat = Compat::Squashfuse;
    const DIFFERENCES: &'static [&'static str] = DIFFERENCES;
    const EXAMPLES: &'static [&'static str] =
        &["squashfuse rootfs.sqfs /mnt", "squashfuse -o subdir=usr,uid=1000,allow_other rootfs.sqfs /mnt"];

    fn details() -> String {
        words::help()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.options.run(&SQUASHFUSE, invocation, io)
    }
}

impl Command for SquashfuseLl {
    const NAME: &'static str = "squashfuse_ll";
    const COMPAT: Compat = Compat::Squashfuse;
    const DIFFERENCES: &'static [&'static str] = DIFFERENCES;
    const EXAMPLES: &'static [&'static str] =
        &["squashfuse_ll -f -o ro,offset=4096 rootfs.sif /mnt", "squashfuse_ll -o timeout=60 rootfs.sqfs /mnt"];

    fn details() -> String {
        words::help()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.options.run(&SQUASHFUSE_LL, invocation, io)
    }
}

impl Options {
    fn run(self, program: &'static Program, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let words: Vec<String> = self.options.iter().flat_map(|list| words::split(list)).collect();
        // The pipe must also receive the failure of a rejected word.
        let pipe = words.iter().rev().find_map(|word| word.strip_prefix("notify_pipe=")).map(NotifyPipe::new);
        let started = self.start(program, &words, invocation, io);
        match (&started, pipe) {
            (Ok(Some(_)), Some(pipe)) => pipe.ready(program.name, io),
            // The foreground process sees the failure, and writes to the pipe.
            (Err(_), Some(pipe)) if !self.announce => pipe.failed(program.name, io),
            _ => {}
        }
        match started? {
            Some(mounted) => serve(mounted, program.name, self.announce, io),
            None => Ok(()),
        }
    }

    /// Mounts the image. Returns `None` if a background process mounted it.
    fn start(
        &self,
        program: &'static Program,
        words: &[String],
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<Option<Mounted>, Failure> {
        let settings = Settings::new(self, program, words, &io.host)?;
        if !self.foreground && !settings.debug {
            let first = ["--foreground", "--announce"].map(OsString::from);
            return mount::start_background(program.name, &[&first, &invocation.words], io).map(|()| None);
        }
        if settings.debug {
            logging::start_requests(io);
        }
        let opened = settings.image.open_squashfs(metadata_cache(settings.request.resources.memory));
        let image = opened.map_err(|error| Failure::Exit(NO_IMAGE, Box::new(error.into())))?;
        let mounted = packline_image::mount(image.into(), &settings.request).map_err(Error::from);
        Ok(Some(mounted.map_err(|error| program.refuse(error, &self.mountpoint))?))
    }
}

impl Program {
    /// Returns the failure to mount on a directory, with the exit status of the replaced program.
    fn refuse(&self, error: Error, point: &Path) -> Failure {
        let is_missing = || fs::metadata(point).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound);
        let status = match &error {
            Error::Output { .. } if is_missing() => self.no_point,
            Error::Output { .. } => self.refused,
            Error::Target { path, .. } if path == point => self.refused,
            Error::Request { .. } => USAGE,
            _ => NO_IMAGE,
        };
        Failure::Exit(status, Box::new(error.into()))
    }
}
