//! `lrztar` and `lrzuntar` pack a directory as a tar in a .lrz file and unpack it, in one pass, without a shell or a tar program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::requests::{LrzRequest, PackRequest, PackSummary, UnpackRequest, lrz_unpack_tree};
use packline::{Output, RestoreAttributes, Source};
use packline_lrz::{WriteOptions, Written};
use packline_tree::DirectoryOptions;
use packline_tree::path::canonical;

use super::conf::Conf;
use super::open_asking;
use super::options::Options;
use super::settings::Settings;
use crate::args::{Command, Compat, Invocation, wrong};
use crate::commands::streams::Mode;
use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;
use crate::ui::password::{self, Secret};
use crate::ui::size::show_bytes;

/// Pack a directory into a .tar.lrz file, or unpack one (drop-in for lrztar)
#[derive(Debug, clap::Args)]
pub struct Lrztar {
    /// The directory to pack; with --decompress, the .tar.lrz file
    #[arg(value_name = "DIR")]
    path: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// Unpack a .tar.lrz file (drop-in for lrzuntar)
#[derive(Debug, clap::Args)]
pub struct Lrzuntar {
    /// The .tar.lrz file to unpack
    #[arg(value_name = "FILE")]
    path: PathBuf,
    #[command(flatten)]
    options: Options,
}

impl Command for Lrztar {
    const NAME: &'static str = "lrztar";
    const COMPAT: Compat = Compat::ExitTwo;

    fn details() -> String {
        details()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let mode = if self.options.decompress { Mode::Decompress } else { Mode::Compress };
        run(&self.path, self.options, mode, io)
    }
}

impl Command for Lrzuntar {
    const NAME: &'static str = "lrzuntar";
    const COMPAT: Compat = Compat::ExitTwo;

    fn details() -> String {
        details()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        run(&self.path, self.options, Mode::Decompress, io)
    }
}

fn details() -> String {
    "The output for DIR is DIR.tar.lrz in the current directory, or in the --outdir directory. Files are unpacked to the \
     current directory, or to the --outdir directory, which must exist. Without --force, the name of the file without \
     .tar.lrz must not exist there. No link is followed there, and nothing is written outside. Sockets are left out.\n\
     lrzip.conf is read as by lrzip."
        .to_string()
}

fn run(path: &Path, options: Options, mode: Mode, io: &mut Io) -> Result<(), Failure> {
    let settings = Settings::new(options, &Conf::read(&io.host)?, mode, &io.host)?;
    match (mode, &settings.style.output) {
        (Mode::Compress, _) => pack(path, &settings, io),
        (_, None) => unpack(path, &settings, io),
        (_, Some(_)) => Err(wrong("outfile", "files are unpacked into a directory; use --outdir")),
    }
}

// Packing.

fn pack(path: &Path, settings: &Settings, io: &mut Io) -> Result<(), Failure> {
    let password = match &settings.secret {
        Secret::None => None,
        Secret::Known(password) => Some(password.clone()),
        Secret::Ask => Some(password::ask(io, true)?),
    };
    let write = WriteOptions { password: password.map(password::for_writing), ..settings.options.clone() };
    let output = settings.style.output.clone().map_or_else(|| output_of(path, settings), Ok)?;
    let stream = output.as_os_str() == "-";
    if stream && io.out_terminal {
        return Err(Failure::usage("standard output is a terminal; redirect it to a file or a pipe"));
    }
    let target =
        if stream { io.stdout_target() } else { Output::File { path: output.clone(), force: settings.style.force } };
    let source = Source::Directory { path: path.to_path_buf(), options: DirectoryOptions::new(2) };
    let mut lrz = LrzRequest::new(write);
    lrz.prefix = prefix(path);
    let mut request = PackRequest::new(source, target, lrz);
    request.resources = settings.resources.clone();
    request.temporaries = io.temporaries.clone();
    let done = with_observer(io, settings.style.bar, |observer| packline::requests::pack(request, observer))?;
    if let (PackSummary::Lrz(written), false) = (done, settings.silent) {
        io.eprint_lines(&packed(settings, &output, &written));
    }
    Ok(())
}

/// Returns the prefix of the names in the tar: the path of the directory as typed, without leading `/` and `..`.
fn prefix(path: &Path) -> Vec<u8> {
    let name = canonical(path.as_os_str().as_bytes());
    let name = name.unwrap_or_else(|_| path.file_name().unwrap_or_default().as_bytes().to_vec());
    if name.is_empty() { name } else { [&name[..], b"/"].concat() }
}

fn output_of(path: &Path, settings: &Settings) -> Result<PathBuf, Failure> {
    let Some(name) = path.file_name() else {
        let what = "has no name from which to derive the output's name; use --outfile";
        return Err(Failure::usage(format!("{}: {what}", path.escaped())));
    };
    let mut name = name.to_os_string();
    name.push(".tar");
    name.push(&settings.style.suffix);
    Ok(settings.style.directory.as_deref().unwrap_or(Path::new(".")).join(name))
}

fn packed(settings: &Settings, output: &Path, written: &Written) -> String {
    let ratio = written.plain as f64 / written.stored.max(1) as f64;
    let mut text = format!("{} - Compression Ratio: {ratio:.3}.", output.escaped());
    if settings.verbosity > 0 {
        let plain = show_bytes(written.plain);
        let stored = show_bytes(written.stored);
        text = format!("{} chunks, {plain} to {stored}, {} workers\n{text}", written.chunks, written.workers);
    }
    if settings.hash || settings.verbosity > 0 {
        text.push_str(&format!("\nMD5: {}", hex(&written.md5)));
    }
    text
}

// Unpacking.

fn unpack(path: &Path, settings: &Settings, io: &mut Io) -> Result<(), Failure> {
    let into = settings.style.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    if !into.is_dir() {
        return Err(Failure::failed(format!(
            "{}: is not a directory (expected an existing directory)",
            into.escaped()
        )));
    }
    let made = into.join(name_of(path));
    if !settings.style.force && made.symlink_metadata().is_ok() {
        return Err(Failure::failed(format!("{}: already exists; --force replaces it", made.escaped())));
    }
    let opened = open_asking(path, &settings.secret, io)?;
    let root = rustix::process::geteuid().is_root();
    let mut request = UnpackRequest::default();
    request.force = true;
    request.restore = RestoreAttributes { owners: root, destination: false, ..RestoreAttributes::ALL };
    request.resources = settings.resources.clone();
    request.temporaries = io.temporaries.clone();
    let counts = with_observer(io, settings.style.bar, |observer| lrz_unpack_tree(&opened, request, into, observer))?;
    if !settings.silent {
        io.eprintln(&format!("{} entries, {} of content", counts.entries, show_bytes(counts.content_bytes)));
    }
    Ok(())
}

/// Returns the name of the directory that a file is likely to contain: the file's own name up to `.tar`.
fn name_of(path: &Path) -> &OsStr {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let end = name.windows(5).rposition(|part| part == b".tar.").unwrap_or(name.len());
    OsStr::from_bytes(&name[..end])
}
