//! Options that locate an image or another archive, and functions that open it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use packline::requests::{Archive, ArchiveOptions, ContentKind, ImagePlace, OpenedFile, OpenedTar, TarOrStream};
use packline::{Input, Resources};

use super::keys::{OPENING, OpeningKeys};
use super::registry::{ContainerArgs, is_container_image};
use super::value::size;
use super::{Invocation, remote, wrong};
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
    /// The image, or a .pln file with the image: a file, a block device or a URL
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    #[command(flatten)]
    offset: Offset,
}

/// `IMAGE` and `--offset` of commands that also read an image, a tar, a cpio or zip archive, a .lrz or a .pln file from a stream.
#[derive(Debug, clap::Args)]
pub struct StreamArgs {
    /// The image, tar, cpio or zip archive, .lrz or .pln file: a file, a block device, a pipe or a URL; - for standard input
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    #[command(flatten)]
    offset: Offset,
}

/// `IMAGE` and `--offset` of commands that read every container, also from standard input.
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// An image, a block device with an image, a tar, a cpio or zip archive, a .lrz or .pln file, or a URL; - for standard input
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub offset: Offset,
}

/// `--offset` and `--device`.
#[derive(Debug, Clone, clap::Args)]
pub struct Offset {
    /// Read the image at this byte offset in the file [default: search for a superblock]
    #[arg(long, value_name = "BYTES", value_parser = size(0..=u64::MAX))]
    offset: Option<u64>,
    /// Read contents of an EROFS image from this device or file; once for each device, in the order of its table
    #[arg(long = "device", value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    devices: Vec<PathBuf>,
}

#[cfg(feature = "mount")]
impl ImageArgs {
    /// Returns the place of the image, which is not opened yet.
    pub fn unopened(&self) -> ImagePlace {
        ImagePlace::new(&self.image).at(self.offset.offset).with_devices(self.offset.devices.clone())
    }

    /// Returns the place of the image. A file on a server is opened.
    pub fn place(&self, io: &mut Io) -> Result<ImagePlace, Failure> {
        Ok(match remote::open(&self.image, io)? {
            Some(file) => ImagePlace::of_file(file).at(self.offset.offset).with_devices(self.offset.devices.clone()),
            None => self.unopened(),
        })
    }
}

impl ArchiveArgs {
    /// The archive at a path, without options.
    pub fn at(path: &Path) -> ArchiveArgs {
        ArchiveArgs { image: path.to_path_buf(), offset: Offset { offset: None, devices: Vec::new() } }
    }
}

/// An archive that is unpacked, with its format.
pub enum Unopened {
    Image(ImagePlace),
    Lrz(ImagePlace),
    Tar(OpenedTar),
}

impl StreamArgs {
    /// Returns the archive. A tar in a stream is not stored.
    pub fn unopened(&self, opener: &mut PlnOpener<'_>, io: &mut Io) -> Result<Unopened, Failure> {
        let Offset { offset, devices } = &self.offset;
        match unopened(&self.image, *offset, opener, io)? {
            Unopened::Image(place) => Ok(Unopened::Image(place.with_devices(devices.clone()))),
            Unopened::Lrz(_) if !devices.is_empty() => Err(no_devices(ContentKind::Lrz)),
            Unopened::Tar(tar) if !devices.is_empty() => Err(no_devices(tar.content_kind())),
            Unopened::Tar(tar) if offset.is_some() => {
                Err(wrong("offset", format!("has no effect on {}", tar.content_kind())))
            }
            other => Ok(other),
        }
    }
}

/// Opens .pln files.
pub struct PlnOpener<'a> {
    keys: &'a OpeningKeys,
    /// The readers of an open .pln file take a part of the memory.
    pub resources: Resources,
    opened: bool,
}

impl<'a> PlnOpener<'a> {
    pub fn new(keys: &'a OpeningKeys, resources: Resources) -> PlnOpener<'a> {
        PlnOpener { keys, resources, opened: false }
    }

    /// Returns the place in the content of a .pln file. Another place is returned unchanged.
    pub fn content(&mut self, place: ImagePlace, io: &Io) -> Result<ImagePlace, Failure> {
        match place.content_kind() {
            Some(ContentKind::Pln | ContentKind::Encrypted) => {
                self.opened = true;
                Ok(place.in_pln(self.keys.identities(io)?, &mut self.resources)?)
            }
            _ => Ok(place),
        }
    }

    /// Rejects keys if no .pln file was opened.
    pub fn refuse_unused_keys(&self, invocation: &Invocation) -> Result<(), Failure> {
        match OPENING.iter().find(|long| invocation.has(long)) {
            Some(long) if !self.opened => Err(wrong(long, "works only with a .pln file")),
            _ => Ok(()),
        }
    }
}

/// Returns the archive at a path, or in the .pln file at the path. A tar in a stream is not stored; another stream is.
pub fn unopened(
    path: &Path,
    offset: Option<u64>,
    opener: &mut PlnOpener<'_>,
    io: &mut Io,
) -> Result<Unopened, Failure> {
    let place = match located(path, offset, io)? {
        Located::Place(place) => place,
        Located::Stream(name, stream) => match OpenedTar::of_stream(&name, stream, &io.host.scratch)? {
            TarOrStream::Tar(tar) => return Ok(Unopened::Tar(tar)),
            TarOrStream::Stream(mut stream) => ImagePlace::of_stream(&name, offset, &mut stream, &io.host.scratch)?,
        },
    };
    let place = opener.content(place, io)?;
    Ok(match OpenedTar::at(&place) {
        Some(tar) => Unopened::Tar(tar),
        None if place.content_kind() == Some(ContentKind::Lrz) => Unopened::Lrz(place),
        None => Unopened::Image(place),
    })
}

/// The fault of `--device` with another container than an image.
fn no_devices(kind: ContentKind) -> Failure {
    wrong("device", format!("has no effect on {kind}"))
}

impl Offset {
    /// Opens what is at `path`, which may be a container image too, to read it once.
    pub fn open(
        &self,
        path: &Path,
        container: &ContainerArgs,
        resources: &Resources,
        io: &mut Io,
    ) -> Result<Archive, Failure> {
        match self.container_image(path, container, io)? {
            Some(archive) => Ok(archive),
            None => self.open_input(path, input(path, io)?, false, resources, io),
        }
    }

    /// Opens a container image. `None` if something else is at `path`.
    pub fn container_image(
        &self,
        path: &Path,
        container: &ContainerArgs,
        io: &mut Io,
    ) -> Result<Option<Archive>, Failure> {
        if let Some(long) = self.given().filter(|_| is_container_image(path)) {
            return Err(wrong(long, "has no effect on a container image"));
        }
        match container.place(path, true, io)? {
            Some(place) => {
                let platform = container.platform.clone();
                Ok(Some(Archive::container_image(place, platform, path.to_path_buf())?))
            }
            None => Ok(None),
        }
    }

    /// Opens an `input` that [`input`] opened at `path`. Asks for the password of an encrypted file. `again` is whether a tar is read more
    /// than once.
    pub fn open_input(
        &self,
        path: &Path,
        input: Input,
        again: bool,
        resources: &Resources,
        io: &mut Io,
    ) -> Result<Archive, Failure> {
        let file = input.opened_file().cloned();
        let opened = self.open_with(input, again, resources, None);
        if opened.as_ref().is_err_and(wants_password) {
            if path.as_os_str() == "-" {
                let what = "standard input cannot provide both the content and a password (expected a file)";
                return Err(Failure::failed(what));
            }
            let Some(file) = file else {
                let what = "is a stream, which cannot be read again with the password (expected a file)";
                return Err(Failure::failed(format!("{}: {what}", path.escaped())));
            };
            let password = password::ask(io, false)?;
            return self.with_devices(self.open_with(Input::Opened(file), again, resources, Some(&password))?);
        }
        match opened? {
            // The image may be in it.
            pln @ Archive::Pln(_) => Ok(pln),
            archive => self.with_devices(archive),
        }
    }

    /// Rejects devices unless the archive is an image.
    fn with_devices(&self, archive: Archive) -> Result<Archive, Failure> {
        if self.devices.is_empty() || matches!(archive, Archive::Image(_)) {
            return Ok(archive);
        }
        Err(no_devices(archive.content_kind()))
    }

    /// Opens the content of a .pln file. May ask for keys.
    pub fn open_in_pln(
        &self,
        file: Input,
        keys: &OpeningKeys,
        resources: &Resources,
        io: &Io,
    ) -> Result<Archive, Failure> {
        let content = OpenedFile::in_pln(file, keys.identities(io)?, self.offset.is_some(), resources)?;
        self.with_devices(self.open_with(Input::Opened(content), false, resources, None)?)
    }

    /// Opens `input`, which may be encrypted, without asking for a password.
    ///
    /// # Errors
    /// [`packline::Error::Stream`] if another password is needed, and the other errors of [`Archive::open`].
    pub fn open_with(
        &self,
        input: Input,
        again: bool,
        resources: &Resources,
        password: Option<&[u8]>,
    ) -> Result<Archive, packline::Error> {
        let mut options = ArchiveOptions::new(resources);
        options.offset = self.offset;
        options.devices = &self.devices;
        options.again = again;
        options.password = password;
        Archive::open(input, &options)
    }

    /// Returns the name of an option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let device = (!self.devices.is_empty()).then_some("device");
        self.offset.map(|_| "offset").or(device)
    }
}

/// Rejects a container image.
fn refuse_container_image(path: &Path) -> Result<(), Failure> {
    if !is_container_image(path) {
        return Ok(());
    }
    let hint = "only packline pack, list, cat, info, du and diff read container images; pack it first";
    Err(Failure::usage(format!("{}: {hint}", path.escaped())))
}

/// Opens a file, a file on a server, or standard input if `path` is `-`. A regular file is read at any offset.
pub fn input(path: &Path, io: &mut Io) -> Result<Input, Failure> {
    refuse_container_image(path)?;
    if let Some(file) = remote::open(path, io)? {
        return Ok(Input::Opened(file));
    }
    if path.as_os_str() != "-" {
        return Ok(Input::open(path)?);
    }
    let stream = take_stdin(None, io)?;
    match io.streams.stdin_path {
        Some(path) => {
            let failed = |cause| Failure::failed(format!("{STDIN}: cannot open: {cause}"));
            Ok(Input::stdin(STDIN, File::open(path).map_err(failed)?)?)
        }
        None => Ok(Input::Stream(STDIN.to_string(), stream)),
    }
}

/// A file, or a stream with its name in messages.
enum Located {
    Place(ImagePlace),
    Stream(PathBuf, Box<dyn Read + Send>),
}

/// Returns the place of an image: a file, a file on a server, standard input if `path` is `-`, or a pipe. The content of a stream is stored
/// first.
pub fn place(path: &Path, offset: Option<u64>, io: &mut Io) -> Result<ImagePlace, Failure> {
    match located(path, offset, io)? {
        Located::Place(place) => Ok(place),
        Located::Stream(name, mut stream) => Ok(ImagePlace::of_stream(&name, offset, &mut stream, &io.host.scratch)?),
    }
}

fn located(path: &Path, offset: Option<u64>, io: &mut Io) -> Result<Located, Failure> {
    refuse_container_image(path)?;
    if let Some(file) = remote::open(path, io)? {
        return Ok(Located::Place(ImagePlace::of_file(file).at(offset)));
    }
    if path.as_os_str() == "-" {
        let stream = take_stdin(None, io)?;
        return Ok(match io.streams.stdin_path {
            Some(path) => Located::Place(ImagePlace::new(path).at(offset)),
            None => Located::Stream(PathBuf::from(STDIN), stream),
        });
    }
    if !is_pipe(path) {
        return Ok(Located::Place(ImagePlace::new(path).at(offset)));
    }
    let pipe = File::open(path).map_err(|cause| Failure::failed(format!("{}: cannot open: {cause}", path.escaped())));
    Ok(Located::Stream(path.to_path_buf(), Box::new(pipe?)))
}
