//! `packline mount` mounts an image as a directory, in the background or in the foreground; `packline umount` ends mounts of packline.

pub mod words;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Child, Stdio};

use packline::Resources;
use packline::requests::ImagePlace;
use packline_image::{MountRequest, Mounted, metadata_cache};

use crate::args::cache::ReadCache;
use crate::args::image::{ImageArgs, PlnOpener};
use crate::args::keys::OpeningKeys;
use crate::args::value::{number, size};
use crate::args::{Command, Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Mount an image on a directory, read-only
#[derive(Debug, clap::Args)]
pub struct Mount {
    #[command(flatten)]
    place: ImageArgs,
    /// The directory to mount on
    #[arg(value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
    /// Stay in the foreground and report read errors until the image is unmounted
    #[arg(short, long, help_heading = MOUNT)]
    foreground: bool,
    /// Let other users access the mount, as far as permissions allow
    #[arg(long, help_heading = MOUNT)]
    allow_other: bool,
    /// Unmount even if this process is killed; needs fusermount3 or fusermount, and --allow-other unless you are root
    #[arg(long, help_heading = MOUNT)]
    auto_unmount: bool,
    /// Set options as in mount(8) and /etc/fstab, separated by commas, such as ro,uid=1000
    #[arg(short, long, value_name = "WORDS", help_heading = MOUNT)]
    options: Vec<String>,
    /// With --foreground, print a line once the image can be used, and leave the terminal. packline uses this internally
    #[arg(long, requires = "foreground", help_heading = MOUNT, hide_long_help = true)]
    announce: bool,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
    /// Run N worker threads [default: number of CPUs]
    #[arg(short, long, value_name = "N", help_heading = RESOURCES, value_parser = number::<usize>(1..=1024))]
    jobs: Option<usize>,
    /// Limit memory. With less memory, fewer threads run and fewer blocks are cached [default: what the system allows, with 256M of cached
    /// blocks]
    #[arg(long, value_name = "SIZE", help_heading = RESOURCES, value_parser = size(0..=u64::MAX))]
    mem: Option<u64>,
}

const MOUNT: &str = "Mount";
const RESOURCES: &str = "Resources";

impl Command for Mount {
    const NAME: &'static str = "mount";
    const ESSENTIAL: &'static [&'static str] =
        &["options", "foreground", "allow-other", "auto-unmount", "offset", "jobs", "mem"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline mount rootfs.sqfs /mnt",
        "packline mount rootfs.sqfs /mnt -o ro,noatime,uid=1000,allow_other",
        "packline mount -f -j 4 --mem 200M rootfs.sqfs /mnt",
    ];

    fn details() -> String {
        format!(
            "The command returns once the image can be used. umount DIR, fusermount -u DIR, and the signals SIGINT, \
             SIGTERM and SIGHUP end the mount. If the process is killed in another way, DIR returns errors until it is \
             unmounted; --auto-unmount prevents this.\n\
             Set-user-id bits and device files have no effect without -o suid or -o dev.\n\
             {}",
            words::help()
        )
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.cache.open([&self.place.image], invocation, io)?;
        // The process in the background opens a file on a server.
        let mut image = if self.foreground { self.place.place(io)? } else { self.place.unopened() };
        let mut request = self.request(&mut image, io)?;
        if !self.foreground {
            let first = ["mount", "--foreground", "--announce"].map(OsString::from);
            return start_background("packline", &[&first, &invocation.words], io);
        }
        let mut opener = PlnOpener::new(&self.keys, request.resources);
        let image = opener.content(image, io)?;
        opener.refuse_unused_keys(invocation)?;
        request.resources = opener.resources;
        let mounted = packline_image::mount(image.open(metadata_cache(request.resources.memory))?, &request)?;
        serve(mounted, "packline", self.announce, io)
    }
}

/// Waits in the foreground until an image is unmounted. Messages begin with `called`.
pub fn serve(mounted: Mounted, called: &str, announce: bool, io: &mut Io) -> Result<(), Failure> {
    let unmounter = mounted.unmounter();
    io.shutdown.set(move || u8::from(unmounter.unmount().is_err()));
    if announce {
        announce_ready(called, io)?;
    }
    Ok(mounted.wait(&mut |fault| io.eprintln(&format!("{called}: {fault}")))?)
}

impl Mount {
    fn request(&self, image: &mut ImagePlace, io: &Io) -> Result<MountRequest, Failure> {
        let mut request = MountRequest::new(self.dir.clone());
        let workers = self.jobs.unwrap_or_else(io.host.processors);
        let memory = self.mem.or_else(|| (io.host.memory_limit)(workers));
        request.resources = Resources::new(workers).memory_limit(io.host.left(memory));
        request.allow_other = self.allow_other;
        request.auto_unmount = self.auto_unmount;
        for word in self.options.iter().flat_map(|words| words.split(',')) {
            words::apply(word, &mut request, image).map_err(|what| wrong("options", what))?;
        }
        Ok(request)
    }
}

/// The output of `--announce`.
const READY: &str = "mounted\n";
/// The most bytes of a background process's messages that are shown.
const SHOWN: u64 = 64 << 10;

/// Starts this program in the background, with a program name and arguments, and waits until the image can be used. If it fails, its
/// messages are printed. The process must call [`announce_ready`] when it is ready.
pub fn start_background(called: &str, arguments: &[&[OsString]], io: &mut Io) -> Result<(), Failure> {
    let program = io.host.program.clone().ok_or_else(|| Failure::failed("cannot find the path of this program"))?;
    let mut command = process::Command::new(program);
    command.arg0(called).args(arguments.concat());
    match &io.host.log {
        Some(level) => command.env("PACKLINE_LOG", level),
        None => command.env_remove("PACKLINE_LOG"),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |cause| Failure::failed(format!("cannot start the background process: {cause}"));
    let mut child = command.spawn().map_err(failed)?;
    if is_ready(&mut child) { Ok(()) } else { Err(startup_failure(&mut child, io)) }
}

fn is_ready(child: &mut Child) -> bool {
    let Some(stdout) = child.stdout.take() else { return false };
    let mut line = String::new();
    BufReader::new(stdout.take(READY.len() as u64)).read_line(&mut line).is_ok() && line == READY
}

fn startup_failure(child: &mut Child, io: &mut Io) -> Failure {
    let mut messages = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // Messages that cannot be read cannot be shown.
        let _: std::io::Result<usize> = stderr.take(SHOWN).read_to_end(&mut messages);
    }
    let status = child.wait().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    if messages.is_empty() {
        return Failure::failed("the background process ended before the image was mounted");
    }
    io.eprint_lines(String::from_utf8_lossy(&messages).trim_end());
    Failure::AlreadyReported(status.filter(|&status| status != 0).unwrap_or(1))
}

/// Announces that the image can be used. Then leaves the session of the terminal, and the working directory, which could not be
/// unmounted otherwise. Leaving may fail without harm.
pub fn announce_ready(called: &str, io: &mut Io) -> Result<(), Failure> {
    io.print(READY)?;
    let _: rustix::io::Result<rustix::process::Pid> = rustix::process::setsid();
    if let Err(cause) = rustix::process::chdir("/") {
        io.eprintln(&format!("{called}: cannot leave the working directory: {cause}"));
    }
    Ok(())
}

/// Unmount images that packline mounted
#[derive(Debug, clap::Args)]
pub struct Umount {
    /// The mount points
    #[arg(value_name = "DIR", required = true, value_hint = clap::ValueHint::DirPath)]
    directories: Vec<PathBuf>,
}

impl Command for Umount {
    const NAME: &'static str = "umount";

    const EXAMPLES: &'static [&'static str] = &["packline umount /mnt"];

    fn details() -> String {
        "packline unmounts only its own mounts. An image that a process uses stays mounted, and the command fails."
            .to_string()
    }

    fn run(self, _: &Invocation, _: &mut Io) -> Result<(), Failure> {
        Ok(self.directories.iter().try_for_each(|directory| packline_image::unmount(directory))?)
    }
}
