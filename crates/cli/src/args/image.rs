//! Options that locate an image or another archive, and functions that open it.

use std::fs::File;
use std::path::{Path, PathBuf};

use packline::requests::ImagePlace;
use packline::requests::{Archive, ArchiveOptions};
use packline::{Input, Resources};

use super::keys::{OPENING, OpeningKeys};
use super::value::size;
use super::{Invocation, wrong};
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::{Io, take_stdin};
use crate::ui::password::{self, wants_password};
use crate::ui::target::is_pipe;

/// Rejects keys if the archive is not a .pln file.
pub fn refuse_keys(archive: &Archive, invocation: &Invocation) -> Result<(), Failure> {
    match OPENING.iter().find(|long| invocation.has(long)) {
        Some(long) if !matches!(archive, Archive::Pln(_)) => {
            Err(wrong(long, format!("has no effect on {}", archive.content_kind())))
        }
        _ => Ok(()),
    }
}

/// `IMAGE` and `--offset`.
#[cfg(feature = "mount")]
#[derive(Debug, clap::Args)]
pub struct ImageArgs {
    /// The image: a file or a block device
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    #[command(flatten)]
    offset: Offset,
}

/// `IMAGE` and `--offset` of commands that also read an image, or a tar in a .lrz file, from a stream.
#[derive(Debug, clap::Args)]
pub struct StreamArgs {
    /// The image: a file, a block device or a pipe; - for standard input
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    #[command(flatten)]
    offset: Offset,
}

/// `IMAGE` and `--offset` of commands that read every container, also from standard input.
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// The file to read: an image (or a block device with one), a tar, a .lrz or .pln file; - for standard input
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub offset: Offset,
}

/// `--offset`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Offset {
    /// Read the image at this byte offset in the file [default: search for a superblock]
    #[arg(long, value_name = "BYTES", value_parser = size(0..=u64::MAX))]
    offset: Option<u64>,
}

#[cfg(feature = "mount")]
impl ImageArgs {
    pub fn place(&self) -> ImagePlace {
        ImagePlace::new(&self.image).at(self.offset.offset)
    }
}

impl StreamArgs {
    pub fn place(&self, io: &mut Io) -> Result<ImagePlace, Failure> {
        place(&self.image, self.offset.offset, io)
    }
}

impl Offset {
    /// Opens a file, or standard input if `path` is `-`. Asks for the password of an encrypted file. `again` is whether a tar is read
    /// more than once.
    pub fn open(self, path: &Path, again: bool, resources: &Resources, io: &mut Io) -> Result<Archive, Failure> {
        let opened = self.open_with(path, again, resources, None, io)?;
        if opened.as_ref().is_err_and(wants_password) {
            if path.as_os_str() == "-" {
                let what = "standard input cannot provide both the content and a password (expected a file)";
                return Err(Failure::failed(what));
            }
            let password = password::ask(io, false)?;
            return Ok(self.open_with(path, again, resources, Some(&password), io)??);
        }
        Ok(opened?)
    }

    /// Opens the content of a .pln file. May ask for keys.
    pub fn open_in_pln(
        self,
        file: Input,
        keys: &OpeningKeys,
        resources: &Resources,
        io: &Io,
    ) -> Result<Archive, Failure> {
        let mut options = ArchiveOptions::new(resources);
        options.offset = self.offset;
        Ok(Archive::in_pln(file, keys.identities(io)?, &options)?)
    }

    /// Like [`Offset::open`], but asks for nothing.
    ///
    /// # Errors
    /// Standard input cannot be read. The inner result has the error of the library.
    pub fn open_with(
        self,
        path: &Path,
        again: bool,
        resources: &Resources,
        password: Option<&[u8]>,
        io: &mut Io,
    ) -> Result<Result<Archive, packline::Error>, Failure> {
        let mut options = ArchiveOptions::new(resources);
        options.offset = self.offset;
        options.again = again;
        options.password = password;
        Ok(Archive::open(input(path, io)?, &options))
    }

    pub fn is_given(self) -> bool {
        self.offset.is_some()
    }
}

/// Returns the file, or standard input if `path` is `-`. A regular file is read at any offset.
fn input(path: &Path, io: &mut Io) -> Result<Input, Failure> {
    if path.as_os_str() != "-" {
        return Ok(Input::File(path.to_path_buf()));
    }
    let stream = take_stdin(None, io)?;
    Ok(io.streams.stdin_path.map_or_else(|| Input::Stream(STDIN.to_string(), stream), Input::file))
}

/// Returns the place of an image: a file, standard input if `path` is `-`, or a pipe. The content of a stream is stored first.
pub fn place(path: &Path, offset: Option<u64>, io: &mut Io) -> Result<ImagePlace, Failure> {
    let directory = io.host.scratch.clone();
    if path.as_os_str() == "-" {
        let mut stream = take_stdin(None, io)?;
        return Ok(match io.streams.stdin_path {
            Some(path) => ImagePlace::new(path).at(offset),
            None => ImagePlace::of_stream(Path::new(STDIN), offset, &mut stream, &directory)?,
        });
    }
    if !is_pipe(path) {
        return Ok(ImagePlace::new(path).at(offset));
    }
    let pipe = File::open(path).map_err(|cause| Failure::failed(format!("{}: cannot open: {cause}", path.escaped())));
    Ok(ImagePlace::of_stream(path, offset, &mut pipe?, &directory)?)
}
