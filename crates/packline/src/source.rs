//! Opens a source by its description.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_image::{ImagePlace, ImageSource, SourceDemand, SourcePlan, metadata_cache};
use packline_runtime::FileInput;
use packline_runtime::escape::Escape;
use packline_squashfs::read::DecodedBlocks;
use packline_tree::decompress::{self, Limits};
use packline_tree::tar::{self, TarOptions};
use packline_tree::{Bytes, ContentOrder, DirectoryOptions, DirectorySource, KeepRule, Meta, Replaced, Symlinks};

use crate::archive::scratch_for;
use crate::joined::{Joined, Part};
use crate::plain_file::may_be_empty_tar;
use crate::stacked::{GrantedStack, PreparedStack};
use crate::{ContentKind, Error, Image, Resources, Source};

/// Memory of a source without a decompressor, bytes.
const PLAIN: u64 = 1 << 20;
/// Largest dictionary of a compressed tar if memory is not limited, bytes.
const WINDOW_MOST: u64 = 128 << 20;
/// Minimum memory for a compressed tar: enough for the default levels of gzip, xz, zstd and bzip2.
pub(crate) const WINDOW_LEAST: u64 = 9 << 20;
/// Maximum bytes in flight between decompressing threads.
const BUFFERS_MOST: u64 = 32 << 20;
/// Minimum bytes in flight between them.
pub(crate) const BUFFERS_LEAST: u64 = 4 << 20;

/// The start of an input that may be the end of a tar.
const ZEROS: [u8; 8] = [0; 8];

/// Minimum read-ahead of a directory's readers, bytes.
const AHEAD_LEAST: usize = 128 << 10;

/// What decoded blocks of an image are reported to, if to anything.
pub(crate) type Watch = Option<Arc<dyn DecodedBlocks>>;

/// A source whose memory need is known.
pub(crate) enum Prepared {
    Directory { path: PathBuf, options: DirectoryOptions },
    Directories { parts: Vec<Part>, root: Meta },
    TarFile { path: PathBuf, compressed: bool },
    TarStream { name: String, stream: Box<dyn Read + Send>, compressed: bool },
    Image { image: Image, watch: Watch },
    Stack(Box<PreparedStack>),
    Entries { name: String, source: Box<dyn packline_tree::Source> },
}

/// A source whose share of the memory is known.
pub(crate) enum Granted {
    Directory { path: PathBuf, options: DirectoryOptions },
    Directories { parts: Vec<Part>, root: Meta },
    TarFile { path: PathBuf, limits: Limits },
    TarStream { name: String, stream: Box<dyn Read + Send>, limits: Limits },
    Image { image: Image, plan: SourcePlan, watch: Watch },
    Stack(Box<GrantedStack>),
    Entries { name: String, source: Box<dyn packline_tree::Source> },
}

/// How a source is opened.
pub(crate) struct Opening<'a> {
    /// How a tar is read, but for its name.
    pub(crate) tar: TarOptions,
    pub(crate) resources: &'a Resources,
    /// Which entries an image or a stack has; others leave out nothing.
    pub(crate) rule: KeepRule,
    /// Attributes of a root and of directories that a stack does not describe.
    pub(crate) root: Meta,
    pub(crate) defaults: Meta,
    /// The order of the contents of a stack, and the block size, which it may depend on.
    pub(crate) order: ContentOrder,
    pub(crate) block_size: u32,
    /// Gets how many bytes have been compared for that order, of how many.
    pub(crate) compared: &'a dyn Fn(u64, u64),
    /// Gets what is wrong with a stack or that order, before contents are read.
    pub(crate) warned: &'a dyn Fn(&str),
}

impl<'a> Opening<'a> {
    /// With contents where they are, and the attributes of the root for all directories that are not described.
    pub(crate) fn in_place(tar: TarOptions, resources: &'a Resources, rule: KeepRule, root: Meta) -> Opening<'a> {
        let order = ContentOrder::default();
        let (compared, warned) = (&|_, _| {}, &|_: &str| {});
        Opening { tar, resources, rule, root, defaults: root, order, block_size: 0, compared, warned }
    }
}

/// An open source, or one whose opening is deferred.
pub(crate) struct Opened {
    /// Its name in messages.
    pub(crate) name: String,
    pub(crate) source: Box<dyn packline_tree::Source>,
    /// Of a stack in limited memory: bytes for its tree that were granted, and that it takes.
    pub(crate) tree: Option<(u64, u64)>,
    /// What layers replaced of those below them.
    pub(crate) replaced: Replaced,
}

impl Prepared {
    /// Examines the source of a request; reads the first bytes of a tar.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be opened or read.
    pub(crate) fn new(spec: Source) -> Result<Prepared, Error> {
        match spec {
            Source::Directory { path, options } => Ok(Prepared::Directory { path, options }),
            Source::Directories { parts, root } => Ok(Prepared::Directories { parts, root }),
            Source::TarFile { path } => prepare_file(path),
            Source::TarStream { name, stream } => prepare_stream(name, stream),
            Source::Image(image) => Ok(Prepared::Image { image, watch: None }),
            Source::Stack(stack) => Ok(Prepared::Stack(Box::new(PreparedStack::new(stack)?))),
            #[cfg(feature = "oci")]
            Source::Oci(image) => Prepared::new(Source::stack([Source::Oci(image)])),
            Source::Entries { name, source } => Ok(Prepared::Entries { name, source }),
        }
    }

    /// Passes each image that is read, and what it reports decoded blocks to.
    pub(crate) fn each_image(&mut self, work: &mut dyn FnMut(&mut Image, &mut Watch)) {
        match self {
            Prepared::Image { image, watch } => work(image, watch),
            Prepared::Stack(stack) => stack.each_image(work),
            _ => {}
        }
    }

    /// The minimum memory with which it works, bytes, if `limit` bytes are allowed in all.
    pub(crate) fn least(&self, limit: Option<u64>) -> u64 {
        match self {
            Prepared::Directory { options, .. } => directory_memory(options.readers, AHEAD_LEAST),
            Prepared::Directories { parts, .. } => {
                let readers = parts.iter().map(|part| part.options.readers).max();
                directory_memory(readers.unwrap_or(0), AHEAD_LEAST)
            }
            Prepared::TarFile { compressed: true, .. } | Prepared::TarStream { compressed: true, .. } => {
                PLAIN + WINDOW_LEAST + BUFFERS_LEAST
            }
            Prepared::Image { image, .. } => PLAIN + SourceDemand::new(image, limit).least(),
            Prepared::Stack(stack) => stack.least(limit),
            _ => PLAIN,
        }
    }

    /// How directories are read.
    pub(crate) fn directory_options(&mut self) -> Vec<&mut DirectoryOptions> {
        match self {
            Prepared::Directory { options, .. } => vec![options],
            Prepared::Directories { parts, .. } => parts.iter_mut().map(|part| &mut part.options).collect(),
            _ => Vec::new(),
        }
    }

    /// Bytes that each worker takes for it.
    pub(crate) fn tool(&self) -> u64 {
        match self {
            Prepared::Image { image, .. } => SourceDemand::new(image, None).tool(),
            Prepared::Stack(stack) => stack.tool(),
            _ => 0,
        }
    }

    /// Grants it memory beyond its minimum, a part of `spare`, bytes of `limit` that are unused; and its memory, bytes. `threads` may work
    /// for it.
    pub(crate) fn granted(self, threads: usize, limit: Option<u64>, spare: u64) -> (Granted, u64) {
        match self {
            Prepared::Directory { path, mut options } => {
                let memory = grant_ahead(&mut options, spare);
                (Granted::Directory { path, options }, memory)
            }
            // Parts are read one after the other, so that the largest takes most memory.
            Prepared::Directories { mut parts, root } => {
                let memory = parts.iter_mut().map(|part| grant_ahead(&mut part.options, spare)).max();
                (Granted::Directories { parts, root }, memory.unwrap_or(PLAIN))
            }
            Prepared::TarFile { path, compressed } => {
                let (limits, memory) = decompressor(compressed, threads, spare);
                (Granted::TarFile { path, limits }, memory)
            }
            Prepared::TarStream { name, stream, compressed } => {
                let (limits, memory) = decompressor(compressed, threads, spare);
                (Granted::TarStream { name, stream, limits }, memory)
            }
            Prepared::Image { image, watch } => {
                let demand = SourceDemand::new(&image, limit);
                let plan = demand.plan(threads, spare / 4);
                (Granted::Image { image, plan, watch }, PLAIN + demand.memory(&plan))
            }
            Prepared::Stack(stack) => {
                let (stack, memory) = stack.granted(threads, limit, spare);
                (Granted::Stack(Box::new(stack)), memory)
            }
            Prepared::Entries { name, source } => (Granted::Entries { name, source }, PLAIN),
        }
    }
}

impl Granted {
    /// Whether contents are decoded by the workers that compress.
    pub(crate) fn shares_workers(&self) -> bool {
        match self {
            Granted::Image { .. } => true,
            Granted::Stack(stack) => stack.shares_workers(),
            _ => false,
        }
    }

    /// Opens it, on the pool of the resources if it is an image. Images and stacks leave out what the rule does not keep.
    ///
    /// # Errors
    /// [`Error::Tree`] if it cannot be opened or read.
    pub(crate) fn open(self, opening: &Opening<'_>) -> Result<Opened, Error> {
        let options = |name: &String| TarOptions { input_name: name.clone(), ..opening.tar.clone() };
        let opened = |name, source| Ok(Opened { name, source, tree: None, replaced: Replaced::default() });
        match self {
            Granted::Directory { path, options } => {
                let source = DirectorySource::open(&path, options)?;
                opened(path.escaped(), Box::new(source))
            }
            Granted::Directories { parts, root } => {
                let name = joined(parts.iter().map(|part| part.to.escaped()));
                opened(name, Box::new(Joined::new(parts, root)))
            }
            Granted::TarFile { path, limits } => {
                let name = path.escaped();
                let source = tar::open_file(&path, options(&name), &limits)?;
                opened(name, source)
            }
            Granted::TarStream { name, stream, limits } => {
                let source = tar::open_stream(stream, options(&name), &limits)?;
                opened(name, source)
            }
            Granted::Image { image, plan, watch } => {
                let name = image.display_path.escaped();
                let source = ImageSource::new(image, &plan, opening.resources, opening.rule.clone());
                let source = watch.into_iter().fold(source, ImageSource::reporting_to);
                opened(name, Box::new(source))
            }
            Granted::Stack(stack) => stack.open(opening),
            Granted::Entries { name, source } => opened(name, source),
        }
    }
}

pub(crate) fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn prepare_file(path: PathBuf) -> Result<Prepared, Error> {
    let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
    let mut file = File::open(&path).map_err(refused)?;
    if !file.metadata().map_err(refused)?.is_file() {
        return prepare_stream(path.escaped(), Box::new(file));
    }
    let head = head_of(&path, &mut file)?;
    let whole = FileInput::new(file).map_err(refused)?;
    refuse_container(&path, &head, || ContentKind::foreign(&whole))?;
    if head.starts_with(&ZEROS) && !may_be_empty_tar(&path) {
        // The content of a blank disk image must not be taken for the end of a tar.
        let what = "zeros at byte 0, as in a blank disk image";
        let expected = "a tar; the name of an empty tar ends in .tar";
        return Err(Error::Target { path, what: what.to_string(), expected: expected.to_string() });
    }
    let compressed = is_compressed(&head);
    Ok(Prepared::TarFile { path, compressed })
}

fn prepare_stream(name: String, stream: Box<dyn Read + Send>) -> Result<Prepared, Error> {
    let (head, stream) = peeked(Path::new(&name), stream)?;
    let (foreign, stream) = foreign_in(Path::new(&name), &head, stream)?;
    refuse_container(Path::new(&name), &head, || foreign)?;
    let compressed = is_compressed(&head);
    Ok(Prepared::TarStream { name, stream, compressed })
}

impl Source {
    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Directory { path, .. } | Source::TarFile { path } => path.escaped(),
            Source::Directories { parts, .. } => joined(parts.iter().map(|part| part.to.escaped())),
            Source::TarStream { name, .. } | Source::Entries { name, .. } => name.clone(),
            Source::Image(image) => image.display_path.escaped(),
            Source::Stack(stack) => joined(stack.layers.iter().map(Source::name)),
            #[cfg(feature = "oci")]
            Source::Oci(image) => image.name.clone(),
        }
    }

    /// Calls `change` for each directory that is read, with how it is read.
    pub fn for_each_directory(&mut self, change: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {
        match self {
            Source::Directory { path, options } => change(path, options),
            Source::Directories { parts, .. } => {
                parts.iter_mut().for_each(|part| change(&part.directory, &mut part.options));
            }
            Source::Stack(stack) => stack.layers.iter_mut().for_each(|layer| layer.for_each_directory(change)),
            _ => {}
        }
    }

    /// A directory, a tar or an image, by what is there. An image is found behind other data too, and is stored in a file without a name
    /// first if it comes through a pipe.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be opened or read, and the errors of opening an image.
    pub fn at(path: impl Into<PathBuf>, resources: &Resources) -> Result<Source, Error> {
        let path = path.into();
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let kind = fs::metadata(&path).map_err(refused)?.file_type();
        if kind.is_dir() {
            return Ok(Source::directory(path));
        }
        if kind.is_fifo() || kind.is_char_device() {
            let stream = File::open(&path).map_err(refused)?;
            return Source::reader(path.escaped(), stream, resources);
        }
        let place = ImagePlace::new(&path);
        let opened = match place.content_kind() {
            Some(ContentKind::SquashFs) => Some(place.open(metadata_cache(resources.memory))?),
            None => place.open(metadata_cache(resources.memory)).ok(),
            Some(_) => None,
        };
        Ok(opened.map_or_else(|| Source::tar_file(path), Source::Image))
    }

    /// A tar or an image from a stream, by its first bytes. An image is stored in a file without a name first.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be read, and the errors of opening an image.
    pub fn reader(
        name: impl Into<String>,
        stream: impl Read + Send + 'static,
        resources: &Resources,
    ) -> Result<Source, Error> {
        let name = name.into();
        let path = Path::new(&name);
        let (head, mut stream) = peeked(path, Box::new(stream))?;
        if ContentKind::of_head(&head) != Some(ContentKind::SquashFs) {
            return Ok(Source::TarStream { name, stream });
        }
        let place = ImagePlace::of_stream(path, None, &mut stream, scratch_for(path, resources)?)?;
        place.open(metadata_cache(resources.memory)).map(Source::Image)
    }
}

/// The first bytes of an input, by which its compression is detected.
pub(crate) fn head_of(name: &Path, input: &mut impl Read) -> Result<Vec<u8>, Error> {
    let refused = |cause| Error::Source { path: name.to_path_buf(), action: "cannot read", cause };
    decompress::read_head(input).map_err(refused)
}

/// The first bytes of a stream, and the whole stream.
pub(crate) fn peeked(name: &Path, mut stream: Box<dyn Read + Send>) -> Result<(Vec<u8>, Box<dyn Read + Send>), Error> {
    let head = head_of(name, &mut stream)?;
    let whole = Cursor::new(head.clone()).chain(stream);
    Ok((head, Box::new(whole)))
}

/// The format of a stream with this start, if it is none of our containers and a known one; and the whole stream.
pub(crate) fn foreign_in(
    name: &Path,
    head: &[u8],
    mut stream: Box<dyn Read + Send>,
) -> Result<(Option<ContentKind>, Box<dyn Read + Send>), Error> {
    if ContentKind::of_head(head).is_some() {
        return Ok((None, stream));
    }
    let refused = |cause| Error::Source { path: name.to_path_buf(), action: "cannot read", cause };
    let mut more = Vec::new();
    let found = ContentKind::foreign_stream(&mut more, &mut stream).map_err(refused)?;
    Ok((found, Box::new(Cursor::new(more).chain(stream))))
}

/// Fails if an input that should be a tar is something else; `foreign` returns its format if it is a known one besides our containers. A
/// tar may begin with zeros, which end it, and the first header of one may be damaged, which is an error of its own.
pub(crate) fn refuse_container(
    name: &Path,
    head: &[u8],
    foreign: impl FnOnce() -> Option<ContentKind>,
) -> Result<(), Error> {
    match ContentKind::of_head(head).or_else(foreign) {
        None if !head.is_empty() && is_no_tar(head) => {
            let (what, expected) =
                ("neither a directory nor a tar: no header at byte 0", "either, or a compressed tar");
            Err(Error::Target { path: name.to_path_buf(), what: what.to_string(), expected: expected.to_string() })
        }
        None | Some(ContentKind::Tar | ContentKind::Compressed(_)) => Ok(()),
        Some(found) => Err(found.instead_of(name, "a directory or a tar")),
    }
}

/// Returns whether an input whose start no container has is not a tar either: zeros may be the end of a tar, and the first header may be
/// damaged.
fn is_no_tar(head: &[u8]) -> bool {
    !head.starts_with(&ZEROS) && !has_tar_magic(head)
}

/// Returns whether an input begins with the header of a tar, sound or damaged.
pub(crate) fn has_tar_magic(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Whether an input with this start is compressed.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    decompress::detect(head) != decompress::Format::Plain
}

/// Limits the bytes that are read ahead; the memory of the source.
fn grant_ahead(options: &mut DirectoryOptions, spare: u64) -> u64 {
    let granted = (AHEAD_LEAST as u64).saturating_add(spare / 8);
    options.ahead_bytes = options.ahead_bytes.min(usize::try_from(granted).unwrap_or(usize::MAX)).max(AHEAD_LEAST);
    directory_memory(options.readers, options.ahead_bytes)
}

fn directory_memory(readers: usize, ahead: usize) -> u64 {
    PLAIN + if readers == 0 { 0 } else { ahead as u64 }
}

/// The limits of a decompressor, and the memory of the source in bytes: the minimum, and at most five eighths of the spare memory. Each
/// thread may need a window of its own.
pub(crate) fn decompressor(compressed: bool, threads: usize, spare: u64) -> (Limits, u64) {
    if !compressed {
        return (Limits::default(), PLAIN);
    }
    let share = spare / 4;
    let threads = (threads.max(1) as u64).min(1 + share / WINDOW_LEAST);
    let window = WINDOW_LEAST.saturating_add(share / threads).min(WINDOW_MOST);
    let buffers = BUFFERS_LEAST.saturating_add(spare / 8).min(BUFFERS_MOST);
    (Limits { threads: threads as usize, window, buffers }, PLAIN + window * threads + buffers)
}

/// Leaves an output out of a directory: by its path in it, and, if symbolic links may lead to it, by its number if it exists.
pub(crate) fn leave_out(output: &Path, directory: &Path, options: &mut DirectoryOptions) {
    options.without.extend(place_within(directory, output));
    if options.symlinks != Symlinks::Kept {
        options.without_inodes.extend(fs::metadata(output).ok().map(|found| (found.dev(), found.ino())));
    }
}

/// The canonical path of `output` below `source`, if it is there: packing it would be packing the image itself.
fn place_within(source: &Path, output: &Path) -> Option<Bytes> {
    let source = fs::canonicalize(source).ok()?;
    let name = output.file_name()?;
    let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let output = fs::canonicalize(directory).ok()?.join(name);
    Some(output.strip_prefix(&source).ok()?.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_inside_its_source_is_found() {
        let top = tempfile::tempdir().unwrap();
        let inner = top.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(place_within(top.path(), &inner.join("o")), Some(b"a/b/o".to_vec()));
        assert_eq!(place_within(&inner, &inner.join("../b/./o")), Some(b"o".to_vec()));
        assert_eq!(place_within(&inner, &top.path().join("o")), None);
        assert_eq!(place_within(&inner, &top.path().join("none/o")), None);
    }

    #[test]
    fn a_decompressor_gets_its_least_and_a_share_of_what_is_spare() {
        assert_eq!(decompressor(false, 2, 1 << 30).1, PLAIN);
        let (limits, memory) = decompressor(true, 3, u64::MAX);
        assert_eq!((limits.threads, limits.window, limits.buffers), (3, WINDOW_MOST, BUFFERS_MOST));
        assert_eq!(memory, PLAIN + 3 * WINDOW_MOST + BUFFERS_MOST);
        let least = PLAIN + WINDOW_LEAST + BUFFERS_LEAST;
        for spare in (0..400u64).map(|megabytes| megabytes << 20) {
            for threads in [0, 1, 7] {
                let (limits, memory) = decompressor(true, threads, spare);
                assert!(memory <= least + spare * 5 / 8 + 1, "{threads} {spare}: {limits:?}");
                assert!(limits.threads >= 1 && limits.window >= WINDOW_LEAST);
            }
        }
    }

    #[test]
    fn with_nothing_to_spare_a_source_takes_its_least() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("x");
        fs::write(&file, b"\x1f\x8b\x08\0").unwrap();
        let options = DirectoryOptions::new(2);
        let directory = Source::Directory { path: top.path().to_path_buf(), options };
        let stream = Source::TarStream { name: "s".to_string(), stream: Box::new(Cursor::new(vec![0; 1024])) };
        for spec in [directory, Source::TarFile { path: file }, stream] {
            let prepared = Prepared::new(spec).unwrap();
            let least = prepared.least(None);
            assert_eq!(prepared.granted(1, None, 0).1, least);
        }
    }
}
