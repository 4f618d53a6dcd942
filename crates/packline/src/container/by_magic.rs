//! Detects the container of a file by its first bytes.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use packline_archives::decompress::{Format as Compression, HEAD, detect};
use packline_archives::{FOREIGN_HEAD, cpio, foreign_format, tar, zip};
use packline_image::FileSystem;
use packline_runtime::Input;
use packline_runtime::escape::Escape;

use crate::error::Error;

/// Offset of the magic number of an EROFS image in bytes. The bytes before it may be anything, zeros as a rule.
const EROFS_MAGIC: usize = packline_erofs::read::SUPERBLOCK_START as usize;
/// The first bytes of a .lrz file.
const LRZ_MAGIC: &[u8] = b"LRZI";
/// The first bytes of a .pln file.
const PLN_MAGIC: &[u8] = b"\x8bPLN\r\n\x1a\n";
/// The first bytes of an encrypted .pln file.
const ENCRYPTED_MAGIC: &[u8] = b"\x8bPLE\r\n\x1a\n";
/// The first bytes of a delta.
const DELTA_MAGIC: &[u8] = b"\x8bPLD\r\n\x1a\n";

/// Container of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentKind {
    /// A SquashFS image that starts at the first byte.
    SquashFs,
    /// An EROFS image that starts at the first byte.
    Erofs,
    /// lrzip's container.
    Lrz,
    /// Our container of one file or stream.
    Pln,
    /// The same, encrypted.
    Encrypted,
    /// A delta, from which one file is rebuilt from another.
    Delta,
    /// A tar that is not compressed.
    Tar,
    /// A cpio archive that is not compressed.
    Cpio,
    /// A zip archive.
    Zip,
    /// The layers of a container image, which has no first bytes.
    ContainerImage,
    /// Compressed data, most likely a tar or a cpio archive.
    Compressed(Compression),
    /// A format that is not read, with its article.
    Foreign(&'static str),
}

impl ContentKind {
    /// The container of a file with this start; 1028 bytes are enough. `None` if it is unknown.
    pub fn of_head(head: &[u8]) -> Option<ContentKind> {
        // A tar begins with a name, which may look like any magic; but its header has a checksum.
        if tar::is_header(head) {
            return Some(ContentKind::Tar);
        }
        if packline_squashfs::MAGICS.iter().any(|magic| head.starts_with(magic)) {
            return Some(ContentKind::SquashFs);
        }
        if head.starts_with(LRZ_MAGIC) {
            return Some(ContentKind::Lrz);
        }
        if head.starts_with(PLN_MAGIC) {
            return Some(ContentKind::Pln);
        }
        if head.starts_with(ENCRYPTED_MAGIC) {
            return Some(ContentKind::Encrypted);
        }
        if head.starts_with(DELTA_MAGIC) {
            return Some(ContentKind::Delta);
        }
        if head.get(EROFS_MAGIC..).is_some_and(|rest| rest.starts_with(&packline_erofs::read::MAGIC_BYTES)) {
            return Some(ContentKind::Erofs);
        }
        if cpio::is_start(head) {
            return Some(ContentKind::Cpio);
        }
        if zip::is_start(head) {
            return Some(ContentKind::Zip);
        }
        Some(detect(head)).filter(|&compression| compression != Compression::Plain).map(ContentKind::Compressed)
    }

    /// Recognises an input of `size` bytes that `read` reads from its start.
    pub fn of_input(size: u64, read: impl FnOnce(&mut [u8]) -> io::Result<()>) -> Option<ContentKind> {
        let mut head = [0; HEAD];
        let head = &mut head[..size.min(HEAD as u64) as usize];
        read(head).ok()?;
        ContentKind::of_head(head)
    }

    /// The format of an input that is not one of these containers, if the format is known.
    pub fn foreign(input: &dyn Input) -> Option<ContentKind> {
        foreign_format(input).map(ContentKind::Foreign)
    }

    /// As [`ContentKind::foreign`], for a stream that begins with `head`. More bytes of the stream are appended to `head`.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub fn foreign_stream(head: &mut Vec<u8>, stream: &mut dyn Read) -> io::Result<Option<ContentKind>> {
        stream.take((FOREIGN_HEAD.saturating_sub(head.len())) as u64).read_to_end(head)?;
        Ok(ContentKind::foreign(head))
    }

    /// Whether it is an image of a file system.
    pub fn is_image(self) -> bool {
        matches!(self, ContentKind::SquashFs | ContentKind::Erofs)
    }

    /// The error for a file `path` of this container, where another was expected.
    pub fn instead_of(self, path: &Path, expected: &str) -> Error {
        Error::Container { path: path.to_path_buf(), found: self, expected: expected.to_string() }
    }
}

impl From<&FileSystem> for ContentKind {
    fn from(file_system: &FileSystem) -> ContentKind {
        match file_system {
            FileSystem::SquashFs(_) => ContentKind::SquashFs,
            FileSystem::Erofs(_) => ContentKind::Erofs,
        }
    }
}

/// Logs what the first bytes of an input are.
pub(crate) fn log_kind(name: &Path, found: Option<ContentKind>) {
    match found {
        Some(found) => log::debug!("{}: recognised as {found} by its first bytes", name.escaped()),
        None => log::debug!("{}: the first bytes match no known container", name.escaped()),
    }
}

impl fmt::Display for ContentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContentKind::SquashFs => f.write_str("a SquashFS image"),
            ContentKind::Erofs => f.write_str("an EROFS image"),
            ContentKind::Lrz => f.write_str("a .lrz file"),
            ContentKind::Pln => f.write_str("a .pln file"),
            ContentKind::Encrypted => f.write_str("an encrypted .pln file"),
            ContentKind::Delta => f.write_str("a delta"),
            ContentKind::Tar => f.write_str("a tar"),
            ContentKind::Cpio => f.write_str("a cpio archive"),
            ContentKind::Zip => f.write_str("a zip archive"),
            ContentKind::ContainerImage => f.write_str("a container image"),
            ContentKind::Compressed(compression) => write!(f, "a file compressed with {compression}"),
            ContentKind::Foreign(format) => f.write_str(format),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::opened_file::OpenedFile;

    fn tar_with(name: &str) -> Vec<u8> {
        let mut block = vec![0; HEAD];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }

    #[test]
    fn the_first_bytes_decide() {
        let cases: [(&[u8], Option<ContentKind>); 14] = [
            (b"hsqs", Some(ContentKind::SquashFs)),
            (b"sqsh", Some(ContentKind::SquashFs)),
            (b"shsq", Some(ContentKind::SquashFs)),
            (b"LRZI\0\x06", Some(ContentKind::Lrz)),
            (b"\x8bPLN\r\n\x1a\n", Some(ContentKind::Pln)),
            (b"\x8bPLE\r\n\x1a\n", Some(ContentKind::Encrypted)),
            (b"\x8bPLD\r\n\x1a\n", Some(ContentKind::Delta)),
            (b"\x1f\x8b\x08\0", Some(ContentKind::Compressed(Compression::Gzip))),
            (b"PK\x03\x04", Some(ContentKind::Zip)),
            (b"PK\x05\x06", Some(ContentKind::Zip)),
            (b"PK\x01\x02", None),
            (b"\x8bPLN\n", None),
            (b"", None),
            (&[0; HEAD], None),
        ];
        for (head, container) in cases {
            assert_eq!(ContentKind::of_head(head), container, "{}", head.escape_ascii());
        }
        let erofs = |start: &[u8]| {
            let mut head = [start, &[0; EROFS_MAGIC]].concat();
            head.truncate(EROFS_MAGIC);
            ContentKind::of_head(&[&head[..], &packline_erofs::read::MAGIC_BYTES].concat())
        };
        assert_eq!((erofs(b""), erofs(b"\x1f\x8b\x08")), (Some(ContentKind::Erofs), Some(ContentKind::Erofs)));
        assert_eq!(erofs(b"hsqs"), Some(ContentKind::SquashFs));
        for name in ["file", "hsqs", "LRZI", "BZh91AY&SY", "PK\x03\x04"] {
            let mut tar = tar_with(name);
            assert_eq!(ContentKind::of_head(&tar), Some(ContentKind::Tar), "{name}");
            tar[EROFS_MAGIC..].copy_from_slice(&packline_erofs::read::MAGIC_BYTES);
            assert_eq!(ContentKind::of_head(&tar), Some(ContentKind::Tar), "{name}");
        }
    }

    #[test]
    fn only_files_and_block_devices_have_a_kind() {
        for path in ["/dev/null", "/", "/none"] {
            assert!(OpenedFile::open(path).is_err(), "{path}");
        }
    }
}
