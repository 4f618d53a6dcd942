//! Compresses a file, a stream or a tree to a .lrz file, and decompresses it.

mod list;
mod tar_stream;
pub(crate) mod tree;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_archives::cpio::{self, Plain};
use packline_archives::decompress::Limits;
use packline_archives::pipe::pipe_bytes;
use packline_archives::tar::empty_input;
use packline_image::{Output, idle_exclude};
use packline_lrz::{Archive, ReadOptions, Unpacked, WriteOptions, Written};
use packline_runtime::escape::Escape;
use packline_runtime::memory::enough;
use packline_runtime::{
    FileAttributes, FileIdentity, FileInput, MemoryFault, Observer, Resources, Sink, Temporaries, must_differ,
    unnamed_temp_file,
};
use packline_tree::destination::FileId;
use packline_tree::{Bytes, DirectoryOptions};

pub(crate) use list::read_tar;

use super::opened_input::OpenedInput;
use super::output_stream::{Checksum, OutputStream, refuse_target};
use super::request::CompressRequest;
use crate::container::archive::OpenedTar;
use crate::container::by_magic::ContentKind;
use crate::container::image_place::ImagePlace;
use crate::container::opened_file::OpenedFile;
use crate::container::recognise::{foreign_in, is_compressed, peeked, refuse_container};
use crate::container::scratch::scratch_for;
use crate::error::Error;
use crate::pack::request::{LrzRequest, no_lrz};
use crate::sources::source::Source;

/// Minimum of the largest supported dictionary of a compressed tar, bytes: enough for default levels.
const TAR_WINDOW_LEAST: u64 = 9 << 20;
/// Upper limit in bytes of the dictionary that a compressed tar may need.
const TAR_WINDOW_MOST: u64 = 128 << 20;
/// Bytes in flight while a tar is decompressed.
const TAR_BUFFERS: u64 = 4 << 20;
/// Chunks in flight between the thread that writes or reads a tar and the thread that compresses or decompresses it.
const PIPE_CHUNKS: usize = 4;
/// Memory of a pipe in bytes.
const PIPE_BYTES: u64 = pipe_bytes(PIPE_CHUNKS);

/// An open .lrz file.
pub struct OpenedLrz {
    /// The header and, if the file is encrypted, its key.
    pub archive: Archive,
    /// The path as the user gave it.
    pub display_path: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// Attributes of the file; `None` for a stream.
    about: Option<FileAttributes>,
}

impl OpenedLrz {
    /// Identifies its file, which a destination must not replace.
    fn file_id(&self) -> Option<FileId> {
        self.about.as_ref().map(FileAttributes::about).and_then(FileIdentity::of).and_then(FileId::of_identity)
    }
}

/// A .lrz file to be decompressed.
#[non_exhaustive]
pub struct LrzUnpackRequest<'a> {
    /// The file.
    pub opened: &'a OpenedLrz,
    /// The destination of the content; `None` if the content is only checked.
    pub target: Option<Output>,
    /// Whether the MD5 of the content is computed even if the file has none.
    pub md5: bool,
    /// Whether the output is read again and compared with the content.
    pub check: bool,
    /// Whether the content must be a tar: then it is not empty.
    pub tar: bool,
    /// Whether an incomplete output is kept.
    pub keep_broken: bool,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl<'a> LrzUnpackRequest<'a> {
    /// Decompresses a file of any content; with all processors.
    pub fn new(opened: &'a OpenedLrz, target: Option<Output>) -> LrzUnpackRequest<'a> {
        LrzUnpackRequest {
            opened,
            target,
            md5: false,
            check: false,
            tar: false,
            keep_broken: false,
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}

/// Compresses a file or stream to a .lrz file. When this returns `Ok`, the file is complete and has its name. After an error an existing file is
/// unchanged.
///
/// # Errors
/// [`Error`], with the name of the file or entry and, if known, the offset.
pub fn lrz_pack(request: CompressRequest<WriteOptions>, observer: &mut dyn Observer) -> Result<Written, Error> {
    if request.cache.is_some() {
        return Err(no_lrz("a cache of blocks"));
    }
    #[cfg(feature = "recovery")]
    if request.recovery.is_some() {
        let what = "recovery data in a .lrz file".to_string();
        return Err(Error::Request { what, expected: "recovery data in a separate file".to_string() });
    }
    let is_stream = matches!(request.target, Output::Stream(..));
    let compress = |source: packline_lrz::Source<'_>,
                    sink: &mut dyn Sink,
                    options: &WriteOptions,
                    resources: &Resources,
                    observer: &mut dyn Observer| {
        let written = packline_lrz::compress(source, sink, options, resources, observer)?;
        // A stream cannot be read back.
        if is_stream && written.unsteady { Err(packline_lrz::Error::Changed) } else { Ok(written) }
    };
    request.run(OpenedInput::new, compress, |written: &Written| written.unsteady, is_whole, fault, observer)
}

/// Whether a file that was written has the content that was read.
fn is_whole(
    file: Arc<dyn packline_runtime::Input>,
    written: &Written,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<bool, packline_lrz::Error> {
    let password = options.password.as_ref().map(|password| password.bytes.as_slice());
    let read = Archive::open(file, password)?.verify(&ReadOptions { md5: true }, resources, observer)?;
    Ok(read.plain == written.plain && read.md5 == Some(written.md5))
}

/// Packs a directory, as a tar, or a tar into a .lrz file. A tar is decompressed if necessary and packed unchanged.
///
/// # Errors
/// As [`lrz_pack`]; [`Error::Request`] for another source, which must become a tar first.
pub(crate) fn pack_tree(
    source: Source,
    target: Output,
    request: LrzRequest,
    resources: &Resources,
    temporaries: &Temporaries,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let LrzRequest { write: options, prefix, .. } = request;
    if let (Source::TarFile { path: input, .. }, Output::File { path, .. }) = (&source, &target) {
        must_differ(input, path)?;
    }
    let open = || OutputStream::open(target, temporaries);
    let (name, stream): (_, Box<dyn Read + Send>) = match source {
        Source::Directory { path, options: directory } => {
            return pack_directory((path, directory, prefix), open()?, &options, resources, observer);
        }
        Source::TarStream { name, stream } => (name, stream),
        Source::TarFile { path, opened: Some(opened) } => (path.escaped(), opened.stream()),
        Source::TarFile { path, opened: None } => match File::open(&path) {
            Ok(file) => (path.escaped(), Box::new(file)),
            Err(cause) => return Err(Error::Source { path, action: "cannot open", cause }),
        },
        source => return Err(no_tar(&source.name())),
    };
    let mut output = open()?;
    let written = pack_tar(&name, stream, &mut output, &options, resources, observer)?;
    output.finish(None, observer)?;
    Ok(written)
}

fn pack_directory(
    (path, directory, prefix): (PathBuf, DirectoryOptions, Bytes),
    mut output: OutputStream,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let outputs = output.names();
    let excludes = directory.excludes.clone();
    let display_path = path.escaped();
    let tar = tar_stream::Tar { path, options: directory, prefix, outputs };
    let written = tar_stream::pack(tar, &mut output, options, resources, observer)?;
    if let Some(warning) = idle_exclude(&excludes, &display_path) {
        observer.warning(&warning);
    }
    output.finish(None, observer)?;
    Ok(written)
}

/// Opens a .lrz file. An encrypted file needs its password, and deriving the key takes a second.
///
/// # Errors
/// [`Error::Source`] if it cannot be opened, [`Error::Stream`] if it is not a .lrz file or another password is needed.
pub fn lrz_open(path: &Path, password: Option<&[u8]>) -> Result<OpenedLrz, Error> {
    let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
    let file = File::open(path).map_err(refused)?;
    let about = FileAttributes::of_source(&file).map_err(refused)?;
    let opened = lrz_open_input(path, Arc::new(FileInput::described(file, about.about())), password)?;
    Ok(OpenedLrz { about: Some(about), ..opened })
}

/// Opens a .lrz file, as [`lrz_open`] does, in a file that is open already.
pub(crate) fn lrz_open_file(file: &OpenedFile, password: Option<&[u8]>) -> Result<OpenedLrz, Error> {
    let about = if file.is_remote() { None } else { Some(file.attributes()?) };
    let opened = lrz_open_input(file.path(), Arc::new(file.clone()), password)?;
    Ok(OpenedLrz { about, ..opened })
}

/// Opens a .lrz file in a stream, which is stored first: in memory, or in an unnamed temporary file.
///
/// # Errors
/// As [`lrz_open`].
pub fn lrz_open_stream(
    name: &str,
    stream: &mut dyn Read,
    password: Option<&[u8]>,
    resources: &Resources,
) -> Result<OpenedLrz, Error> {
    let path = Path::new(name);
    let input = packline_lrz::spooled(stream, resources).map_err(|cause| fault(path, path, cause))?;
    lrz_open_input(path, Arc::new(input), password)
}

/// Opens a .lrz file that is read through `input`; the path is its name in messages.
pub(crate) fn lrz_open_input(
    path: &Path,
    input: Arc<dyn packline_runtime::Input>,
    password: Option<&[u8]>,
) -> Result<OpenedLrz, Error> {
    let size = input.size();
    let other = ContentKind::of_input(size, |head| input.read_at(0, head)).filter(|&found| found != ContentKind::Lrz);
    if let Some(other) = other {
        return Err(other.instead_of(path, "a .lrz file"));
    }
    let archive = Archive::open(input, password).map_err(|cause| fault(path, path, cause))?;
    Ok(OpenedLrz { archive, display_path: path.to_path_buf(), size, about: None })
}

/// Decompresses a .lrz file to another file, which has its name when this returns `Ok`, to a stream, or to nowhere.
///
/// # Errors
/// [`Error`]. An output file is removed, unless [`LrzUnpackRequest::keep_broken`] is set.
pub fn lrz_unpack(request: LrzUnpackRequest<'_>, observer: &mut dyn Observer) -> Result<Unpacked, Error> {
    let LrzUnpackRequest { opened, target, resources, temporaries, .. } = request;
    let options = ReadOptions { md5: request.md5 || request.check };
    let Some(target) = target else {
        let read = opened.archive.verify(&options, &resources, observer);
        return read.map_err(|cause| fault(&opened.display_path, &opened.display_path, cause));
    };
    refuse_target(opened.about.as_ref(), &opened.display_path, &target)?;
    let mut output = OutputStream::open(target, &temporaries)?;
    let display_path = output.display_path().to_path_buf();
    let decompressed = opened.archive.decompress(&mut output, &options, &resources, observer);
    let read = decompressed.map_err(|cause| fault(&opened.display_path, &display_path, cause));
    let checked = read.and_then(|unpacked| {
        if request.tar && unpacked.plain == 0 {
            return Err(empty_input(&opened.display_path.escaped()).into());
        }
        if request.check {
            output.check(unpacked.plain, unpacked.md5.map(Checksum::Md5))?
        }
        Ok(unpacked)
    });
    if checked.is_ok() || request.keep_broken {
        output.finish(opened.about.as_ref(), observer)?;
    }
    checked
}

/// Opens a .lrz file, which may be on a server or stored.
///
/// # Errors
/// As [`lrz_open`].
pub(crate) fn lrz_at(place: &ImagePlace, password: Option<&[u8]>) -> Result<OpenedLrz, Error> {
    if place.is_stored() || place.is_remote() {
        lrz_open_input(&place.path, place.input()?, password)
    } else {
        lrz_open(&place.path, password)
    }
}

/// Decompresses the tar in a .lrz file to an unnamed temporary file in [`Resources::scratch`].
///
/// # Errors
/// As [`lrz_unpack`]; [`Error::Request`] if the content is not a tar.
pub fn lrz_tar(
    place: &ImagePlace,
    password: Option<&[u8]>,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<OpenedTar, Error> {
    let opened = lrz_at(place, password)?;
    let path = opened.display_path.as_path();
    let refused = |cause| Error::Output { path: path.to_path_buf(), action: "cannot store", cause };
    let file = unnamed_temp_file(scratch_for(path, resources)?).map_err(refused)?;
    let target = Output::writer(path, file.try_clone().map_err(refused)?);
    let mut request = LrzUnpackRequest::new(&opened, Some(target));
    request.tar = true;
    request.resources = resources.clone();
    lrz_unpack(request, observer)?;
    OpenedTar::at(&ImagePlace::of_file(OpenedFile::of(path, Ok(file))?)).ok_or_else(|| {
        let what = format!("{}: a .lrz file whose content is not a tar", path.escaped());
        Error::Request { what, expected: "a tar".to_string() }
    })
}

fn pack_stream(
    name: &str,
    stream: &mut (dyn Read + Send),
    output: &mut OutputStream,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let display_path = output.display_path().to_path_buf();
    let written = packline_lrz::compress(packline_lrz::Source::Stream(stream), output, options, resources, observer);
    written.map_err(|cause| fault(Path::new(name), &display_path, cause))
}

/// Packs a tar without its own compression. The decompressor takes memory only for a compressed tar.
fn pack_tar(
    name: &str,
    stream: Box<dyn Read + Send>,
    output: &mut OutputStream,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let refused = |cause| Error::Source { path: PathBuf::from(name), action: "cannot read", cause };
    let (head, whole) = peeked(Path::new(name), stream)?;
    let (foreign, whole) = foreign_in(Path::new(name), &head, whole)?;
    refuse_container(Path::new(name), &head, || foreign)?;
    let compressed = is_compressed(&head);
    let besides = |memory| if compressed { tar_limits(memory).1 } else { 0 };
    let limits = tar_limits(resources.memory).0;
    let Plain { reader: mut plain, is_cpio } = cpio::plain(whole, &limits).map_err(refused)?;
    let less = resources.with_less_memory(besides(resources.memory));
    if is_cpio {
        return Err(no_tar(&format!("{name}, a cpio archive,")));
    }
    let packed = pack_stream(name, &mut plain, output, options, &less, observer);
    let written = packed.map_err(|error| needing_more(error, resources, |memory| besides(Some(memory))))?;
    if written.plain == 0 { Err(empty_input(name).into()) } else { Ok(written) }
}

/// The error for a source that is neither a tar nor a directory.
fn no_tar(what: &str) -> Error {
    Error::Request { what: format!("{what} is packed into a .lrz file"), expected: "a tar of its entries".to_string() }
}

/// The error for the reader of a pipe. The writing thread reports the cause.
fn source_failed() -> io::Error {
    io::Error::other("the source of the stream failed")
}

/// Limits of the decompressor of a tar, and the memory in bytes that it needs.
fn tar_limits(memory: Option<u64>) -> (Limits, u64) {
    let Some(memory) = memory else { return (Limits::default(), 0) };
    let limits =
        Limits { threads: 1, window: (memory / 8).clamp(TAR_WINDOW_LEAST, TAR_WINDOW_MOST), buffers: TAR_BUFFERS };
    (limits, limits.window + limits.buffers)
}

/// Restates an error of work that got only a part of the memory limit, in terms of the complete limit. `besides` returns the bytes that the
/// other parts need under a limit.
fn needing_more(error: Error, resources: &Resources, besides: impl Fn(u64) -> u64) -> Error {
    match (error, resources.memory) {
        (Error::Memory(MemoryFault { needed, what, .. }), Some(allowed)) => {
            let needed = enough(needed, |limit| needed.saturating_add(besides(limit)));
            Error::Memory(MemoryFault { allowed, needed, what })
        }
        (error, _) => error,
    }
}

/// An error of an input, an output or the work, with the path that it concerns.
pub(crate) fn fault(input: &Path, output: &Path, cause: packline_lrz::Error) -> Error {
    use packline_lrz::Error as Lrz;
    match cause {
        Lrz::Input(cause) => Error::Source { path: input.to_path_buf(), action: "cannot read", cause },
        Lrz::Output(cause) => Error::Output { path: output.to_path_buf(), action: "cannot write", cause },
        Lrz::Memory(MemoryFault { allowed, needed, what }) => {
            Error::Memory(MemoryFault { allowed, needed, what: format!("{what}, in {}", input.escaped()) })
        }
        cause => Error::stream(input, cause),
    }
}
