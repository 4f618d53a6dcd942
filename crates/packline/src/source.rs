//! From the description of a source to the source.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline_tree::decompress::{self, Limits};
use packline_tree::tar::{self, TarOptions};
use packline_tree::{Bytes, DirectoryOptions, DirectorySource, Source};

use crate::{Error, SourceSpec};

/// Memory that a source without a decompressor takes, bytes: its buffers.
const PLAIN: u64 = 1 << 20;
/// Largest dictionary that a compressed tar may ask for where memory is not limited, bytes.
const WINDOW_MOST: u64 = 128 << 20;
/// Least that a compressed tar is granted: what the default levels of xz, zstd and bzip2 need.
const WINDOW_LEAST: u64 = 9 << 20;
/// Bytes under way between decompressing threads.
const BUFFERS_MOST: u64 = 32 << 20;
/// Least bytes under way between them.
const BUFFERS_LEAST: u64 = 4 << 20;

/// Least that a directory's readers read ahead, bytes.
const AHEAD_LEAST: usize = 128 << 10;

/// A source that is open, or as good as.
pub(crate) struct Opened {
    /// Its name in messages.
    pub(crate) name: String,
    /// Bytes of memory it takes.
    pub(crate) memory: u64,
    pub(crate) source: Box<dyn Source>,
}

/// Opens a source. `threads` may decompress it; `limit` is what the process may have resident.
///
/// # Errors
/// [`Error::Source`] if it cannot be opened, and [`Error::Tree`] if it cannot be listed.
pub(crate) fn open(spec: SourceSpec, threads: usize, limit: Option<u64>) -> Result<Opened, Error> {
    match spec {
        SourceSpec::Directory { path, options } => open_directory(&path, options, limit),
        SourceSpec::TarFile { path } => open_tar_file(&path, threads, limit),
        SourceSpec::TarStream { name, stream } => open_tar_stream(name, stream, threads, limit),
        SourceSpec::Entries { name, source } => Ok(Opened { name, memory: PLAIN, source }),
    }
}

fn open_directory(path: &Path, mut options: DirectoryOptions, limit: Option<u64>) -> Result<Opened, Error> {
    let share = limit.map_or(usize::MAX, |limit| (limit / 16) as usize);
    options.ahead_bytes = options.ahead_bytes.min(share).max(AHEAD_LEAST);
    let memory = PLAIN + if options.readers == 0 { 0 } else { options.ahead_bytes as u64 };
    let source = DirectorySource::open(path, options)?;
    Ok(Opened { name: path.display().to_string(), memory, source: Box::new(source) })
}

fn open_tar_file(path: &Path, threads: usize, limit: Option<u64>) -> Result<Opened, Error> {
    let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
    let found = fs::metadata(path).map_err(refused)?;
    if !found.is_file() {
        let stream = Box::new(File::open(path).map_err(refused)?);
        return open_tar_stream(path.display().to_string(), stream, threads, limit);
    }
    let head = decompress::read_head(&mut File::open(path).map_err(refused)?);
    let head = head.map_err(|cause| Error::Source { path: path.to_path_buf(), action: "cannot read", cause })?;
    let (limits, memory) = decompressor(&head, threads, limit);
    let source = tar::open_file(path, &limits)?;
    Ok(Opened { name: path.display().to_string(), memory, source })
}

fn open_tar_stream(
    name: String,
    mut stream: Box<dyn Read + Send>,
    threads: usize,
    limit: Option<u64>,
) -> Result<Opened, Error> {
    let unreadable = |cause| Error::Source { path: PathBuf::from(&name), action: "cannot read", cause };
    let head = decompress::read_head(&mut stream).map_err(unreadable)?;
    let (limits, memory) = decompressor(&head, threads, limit);
    let whole = Cursor::new(head).chain(stream);
    let source = tar::open_stream(whole, TarOptions::named(name.clone()), &limits)?;
    Ok(Opened { name, memory, source })
}

/// What a decompressor is granted, and how many bytes of memory the source then takes.
fn decompressor(head: &[u8], threads: usize, limit: Option<u64>) -> (Limits, u64) {
    if decompress::detect(head) == decompress::Format::Plain {
        return (Limits::default(), PLAIN);
    }
    let share = |part: u64| limit.map_or(u64::MAX, |limit| limit / part);
    let window = share(4).clamp(WINDOW_LEAST, WINDOW_MOST);
    let buffers = share(8).clamp(BUFFERS_LEAST, BUFFERS_MOST);
    (Limits { threads, window, buffers }, PLAIN + window + buffers)
}

/// The canonical path of `output` below `source`, if that is where it is: packing it would be packing the image itself.
pub(crate) fn place_within(source: &Path, output: &Path) -> Option<Bytes> {
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
    fn a_decompressor_gets_a_share_of_the_limit() {
        let gzip = b"\x1f\x8b\x08\0";
        assert_eq!(decompressor(b"", 2, Some(1 << 20)).1, PLAIN);
        let (limits, memory) = decompressor(gzip, 3, None);
        assert_eq!((limits.threads, limits.window, limits.buffers), (3, WINDOW_MOST, BUFFERS_MOST));
        assert_eq!(memory, PLAIN + WINDOW_MOST + BUFFERS_MOST);
        let (limits, _) = decompressor(gzip, 3, Some(64 << 20));
        assert_eq!((limits.window, limits.buffers), (16 << 20, 8 << 20));
        assert_eq!(decompressor(gzip, 1, Some(0)).0.window, WINDOW_LEAST);
    }
}
